"""What a checkpoint says of its model is measured by what it holds, before anything is built."""

import numpy as np
import pytest

from deepnlp import DeepNLPError
from deepnlp.checkpoint import load, pack_model, save, write_npz
from deepnlp.examples import EXAMPLES
from deepnlp.models import CBOW, MODELS, RNNLM


@pytest.mark.parametrize(
    ("model", "lie"),
    [
        (lambda: RNNLM(5, 4, 4), {"vocab_size": 10**7, "embed_size": 10**5, "hidden_size": 10**5}),
        (lambda: RNNLM(5, 4, 4), {"hidden_size": 10**5, "embed_size": 10**5}),
        (lambda: RNNLM(5, 4, 4), {"layers": 100, "hidden_size": 5000, "embed_size": 5000}),
        (lambda: RNNLM(5, 4, [4, 4]), {"hidden_size": [10**5, 4]}),
        (lambda: CBOW(5, 4), {"vocab_size": 10**9}),
    ],
)
def test_a_description_that_is_larger_than_the_file_takes_no_memory(model, lie, tmp_path):
    arrays, meta = pack_model(model())
    meta["config"] |= lie
    write_npz(tmp_path / "m.npz", arrays, meta)
    with pytest.raises(
        DeepNLPError, match=r"m\.npz describes a \w+ of [\d,]+ weights or more, and"
    ):
        load(tmp_path / "m.npz")


@pytest.mark.parametrize("wrong", [[], {}, None, 3, "Nobody"])
def test_a_class_that_is_none_is_named(wrong, tmp_path):
    arrays, meta = pack_model(RNNLM(5, 4, 4))
    write_npz(tmp_path / "m.npz", arrays, meta | {"class": wrong})
    with pytest.raises(ValueError, match=r"m\.npz holds a .*, which was plugged together by hand"):
        load(tmp_path / "m.npz")


@pytest.mark.parametrize(
    "example", [one for one in EXAMPLES.values() if one.covers in MODELS.values()], ids=str
)
def test_every_model_is_as_large_as_is_asked_for_at_least(example, tmp_path):
    model, _ = example.make("float32")
    save(tmp_path / "m.npz", model)
    twin = load(tmp_path / "m.npz")
    for one, other in zip(model.parameters(), twin.parameters(), strict=True):
        np.testing.assert_array_equal(one.value, other.value)
