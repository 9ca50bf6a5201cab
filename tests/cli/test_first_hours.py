"""What new users do in their first hours: misspelt words, runs that are not there, odd settings."""

import numpy as np
import pytest

from deepnlp.checkpoint import save
from deepnlp.exchange import files
from deepnlp.models import GPT
from deepnlp.tasks import Task
from deepnlp.text import BPE, Vocabulary
from deepnlp.training import Result
from tests.cli.conftest import TINY


@pytest.fixture
def byte_pairs(tmp_path):
    """The checkpoint of a GPT over byte pairs."""
    cut = BPE.learn("Über the cat sat on the mat " * 3, vocab_size=270)
    vocab = Vocabulary.build([], tokenizer=cut)
    model = GPT(len(vocab), 4, layers=1, heads=2, context=24)
    save(tmp_path / "gpt.npz", model, vocab)
    return tmp_path / "gpt.npz"


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("trian", "train"),
        ("train --optimizer admw", "adamw"),
        ("train --optimiser adam", "--optimizer"),
        ("train --cell lsmt", "lstm"),
        ("train --model gtp", "gpt"),
        ("train --task seqseq", "seq2seq"),
        ("demo explodin", "exploding"),
        ("data show", ""),
    ],
)
def test_what_is_spelt_so_is_named(deepnlp, words, meant):
    refused = deepnlp(*words.split())
    assert refused.code == 2
    assert ("did you mean " + meant in refused.err) == bool(meant)


def test_runs_that_exist_are_named(deepnlp, run_folder):
    refused = deepnlp("info", run_folder.parent / "nope")
    assert refused.code == 2
    assert f"there are {run_folder}" in refused.err


def test_several_texts_are_translated(deepnlp):
    out = deepnlp("translate", "dates", "AUG 19, 2003", "MAY 1, 1999").out
    assert out.split() == ["2003-08-19", "1999-05-01"]
    assert deepnlp("translate", "dates", "AUG 19, 2003", "--file", "a.txt").code == 2
    assert deepnlp("translate", "dates").code == 2


def test_byte_pairs_are_shown_as_text(deepnlp, byte_pairs):
    out = deepnlp("score", byte_pairs, "Über the cat").out
    assert not {*"ĠĊÃ"} & {*out}
    assert "' the'" in out or "the" in out


def test_import_says_what_it_has_in_two_lines(deepnlp, byte_pairs, tmp_path):
    pytest.importorskip("safetensors")
    made = tmp_path / "gpt.safetensors"
    assert deepnlp("export", byte_pairs, "--out", made).code == 0
    out = deepnlp("import", made, "--out", tmp_path / "again.npz").out
    assert len(out.splitlines()) == 2
    assert "parameters" in out


def test_a_failed_export_leaves_nothing(deepnlp, byte_pairs, tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "write_safetensors", refuse)
    before = {*tmp_path.iterdir()}
    assert deepnlp("export", byte_pairs, "--out", tmp_path / "gpt", "--to", "gpt2").code == 2
    assert {*tmp_path.iterdir()} == before


def test_a_backend_of_matplotlib_that_is_none_costs_the_figure_alone(
    deepnlp, text_file, tmp_path, monkeypatch
):
    def refuse(*_):
        raise ValueError("'nix' is not a valid value for backend")

    monkeypatch.setattr(Task, "draw", refuse)
    done = deepnlp("train", "--corpus", text_file, "--out", tmp_path / "run", *TINY)
    assert done.code == 0
    assert done.err.count("no figure is drawn: 'nix' is not") == 1
    assert {"result.json", "best.npz"} <= {path.name for path in (tmp_path / "run").iterdir()}


@pytest.mark.parametrize("size", [1e0, 1e5, 3e7, 1e12, 1e300])
def test_the_columns_of_a_result_stand_apart(size):
    figures = {"perplexity": {"valid": size, "test": 2 * size}}
    result = Result("finished", 1, 10, 1, figures, {"a long name of one": figures["perplexity"]})
    heading, *rows = [line.split() for line in result.table().splitlines()[:3]]
    assert heading == ["valid", "test"]
    numbers = [[float(number.replace(",", "")) for number in row[-2:]] for row in rows]
    assert np.allclose(numbers, [size, 2 * size])
