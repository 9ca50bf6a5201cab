"""The sets themselves: a right layer is right, each mistake is one, whatever the diagnosis says."""

from hashlib import sha1

import numpy as np
import pytest

from deepnlp.gradcheck import check_gradients
from tests.broken.collection import CASES, SETS, example, make, read, read_files

EVERY_SET = (*(name for name in SETS if name not in ("third", "fourth")), "exercise")
"""The third and the fourth set have their own test, test_sanity.py."""

STEPS = {"first": 3, "second": 3}
"""Of the frozen sets, which cannot have changed, every third layer is run."""

# Their mistakes make no difference with one sample, without an id twice, or to one direction.
SOMETIMES = {
    "AffineMeanBias", "AffineFirstSampleBias", "AffineMeanWeight", "GRUHalved", "ReLUWritesIntoDy",
    "RNNLastSampleBias", "SingleAffine", "SingleTanh", "TiedAddsOnce", "TimeLinearAssigns",
}  # fmt: skip


@pytest.fixture
def undiagnosed(monkeypatch):
    """The verdict alone."""
    monkeypatch.setattr("deepnlp.gradcheck.explaining._diagnose", lambda *_: None)


@pytest.mark.parametrize(
    ("name", "families", "cases", "pairs"),
    [
        ("first", 67, 289, 16),
        ("second", 69, 309, 20),
        ("third", 114, 345, 0),
        ("fourth", 12, 30, 0),
        ("museum", 31, 70, 0),
        ("repaired", 41, 115, 0),
        ("unseen", 22, 35, 0),
        ("exercise", 1, 5, 0),
    ],
)
def test_size_of_the_sets(name, families, cases, pairs):
    collection = read(name)
    assert len(collection.families) == families
    assert len({case.name for case in collection.cases}) == len(collection.cases) == cases
    assert len(collection.pairs) == pairs


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("first", "53bb13e2b4a88ae455fba9fc21feeeec1f7f2cf3"),
        ("second", "a67516b67c9475be741c25e13d8db48ebed7e2cd"),
        ("third", "d0b4ae6b4adc87a228d19ad3edc827b848645dfa"),
        ("fourth", "3e75215b9aca49d828164af4344c08ce1eea20d7"),
    ],
)
def test_a_frozen_set_is_as_it_was(name, digest):
    texts = [path.read_bytes() for path in sorted(CASES.joinpath(name).glob("*.toml"))]
    assert sha1(b"".join(texts)).hexdigest() == digest


@pytest.mark.parametrize("name", EVERY_SET)
@pytest.mark.usefixtures("undiagnosed")
def test_right_layers_are_right(name):
    for family in read(name).right[:: STEPS.get(name, 1)]:
        arguments, inputs = family.build(np.random.default_rng([11, 0]))
        report = check_gradients(make(family.layer, arguments), *inputs)
        assert report.ok, (family.name, report)


@pytest.mark.parametrize("name", EVERY_SET)
@pytest.mark.usefixtures("undiagnosed")
def test_broken_layers_are_wrong(name):
    collection = read(name)
    for case in [*collection.cases, *collection.pairs][:: STEPS.get(name, 1)]:
        layer, inputs = example(case, [11, 0])
        report = check_gradients(layer, *inputs, method="direction")
        assert not report.ok or case.name in SOMETIMES, case.name


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[layer]\n", "TOMLDecodeError"),
        ("layer = 3\n", "TypeError"),
        ("[[layer]]\nname = 'A'\n", "KeyError: 'source'"),
        (
            "[[layer]]\nname = 'A'\nsource = ''\n[[layer.family]]\nname = 'a'\nexample = ''\n"
            "[[layer.family.mistake]]\nname = 'b'\naccept = ['bad luck']\n",
            "b: 'bad luck' is not a cause",
        ),
    ],
)
def test_a_file_that_is_no_set(tmp_path, text, words):
    path = tmp_path / "a.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=words):
        read_files([path])
