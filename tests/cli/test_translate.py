"""``deepnlp translate``, and training and evaluating sequence-to-sequence models and taggers."""

import io
import json
import shutil

import pytest

from deepnlp.cli.main import main
from deepnlp.generation import translate
from deepnlp.tasks import TASKS
from deepnlp.training import TrainConfig, load
from tests.cli.conftest import contents

SMALL = ["--embed-size", "6", "--hidden-size", "8", "--epochs", "1", "--batch-size", "16"]
TEXT = "".join(
    f"Mary said that {n} cats sleep. Then we saw Paris and {n} of the dogs in NASA.\n"
    for n in range(30)
)


@pytest.fixture(scope="session")
def dates_run(tmp_path_factory):
    """A finished run with attention."""
    folder = tmp_path_factory.mktemp("runs") / "dates"
    command = ["train", "--task", "seq2seq", "--examples", "120", "--out", str(folder), *SMALL]
    assert main(command) == 0
    return folder


@pytest.fixture(scope="session")
def words_run(tmp_path_factory):
    """A finished run of words, without attention, judged by BLEU."""
    path = tmp_path_factory.mktemp("pairs") / "cats.tsv"
    lines = "".join(f"I see {n} cats.\tVeo {n} gatos.\n" for n in range(40))
    path.write_text(lines, encoding="utf-8")
    folder = tmp_path_factory.mktemp("runs") / "words"
    command = ["train", "--task", "seq2seq", "--corpus", str(path), "--out", str(folder), *SMALL]
    command += ["--attention", "none", "--metric", "bleu", "--beam", "2", "--min-count", "1"]
    assert main(command) == 0
    return folder


@pytest.fixture(scope="session")
def tag_run(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "names.txt"
    path.write_text(TEXT, encoding="utf-8")
    folder = tmp_path_factory.mktemp("runs") / "tags"
    command = ["train", "--task", "tag", "--corpus", str(path), "--out", str(folder), *SMALL]
    assert main(command) == 0
    return folder


def test_a_text_is_translated(deepnlp, dates_run):
    before = contents(dates_run)
    done = deepnlp("translate", dates_run, "AUG 19, 2003")
    assert done.code == 0
    assert (
        done.out == translate(load(dates_run), ["AUG 19, 2003"], max_length=101)[0][0].text + "\n"
    )
    assert done.err == ""
    assert contents(dates_run) == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([""], "there is no text to translate"),
        (["a", "--beam", "2", "--n-best", "5"], "--n-best 5 needs --beam 5 or more"),
        (["a", "--attention", "picture"], "should end in .png, .pdf or .svg, got 'picture'"),
        (["a", "--attention", "none/a.png"], "there is no folder none"),
    ],
)
def test_what_is_refused_before_anything_is_translated(deepnlp, dates_run, options, said):
    done = deepnlp("translate", dates_run, *options)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_a_translation_has_at_most_so_many_tokens(deepnlp, dates_run):
    whole = deepnlp("translate", dates_run, "AUG 19, 2003").out.strip()
    for most in (1, len(whole) - 1, len(whole)):
        done = deepnlp("translate", dates_run, "AUG 19, 2003", "--max-length", most)
        assert done.out.strip() == whole[:most]


def test_a_file_and_standard_input_are_translated_line_by_line(
    deepnlp, dates_run, tmp_path, monkeypatch
):
    path = tmp_path / "dates.txt"
    path.write_text("AUG 19, 2003\n\n2/10/93\n", encoding="utf-8")
    texts = ["AUG 19, 2003", "", "2/10/93"]
    expected = [best.text for (best,) in translate(load(dates_run), texts, beam=3, max_length=101)]
    done = deepnlp("translate", dates_run, "--file", path, "--beam", "3")
    assert done.out.split("\n") == [*expected, ""]
    monkeypatch.setattr("sys.stdin", io.StringIO(path.read_text(encoding="utf-8")))
    assert deepnlp("translate", dates_run, "-", "--beam", "3").out == done.out


def test_several_translations_with_their_scores(deepnlp, dates_run):
    done = deepnlp("translate", dates_run, "2/10/93", "--n-best", "3")
    found = translate(load(dates_run), ["2/10/93"], beam=3, n_best=3, max_length=101)[0]
    lines = done.out.rstrip("\n").split("\n")
    assert [line.strip().split("  ", 1)[1] for line in lines] == [one.text for one in found]
    assert [float(line.split()[0]) for line in lines] == pytest.approx(
        [one.score for one in found], abs=1e-3
    )
    told = deepnlp("translate", dates_run, "2/10/93", "--n-best", "3", "--json").json
    assert told["lines"][0]["source"] == "2/10/93"
    assert [one["text"] for one in told["lines"][0]["translations"]] == [one.text for one in found]


def test_the_attention_is_drawn(deepnlp, dates_run, tmp_path):
    path = tmp_path / "attention.png"
    done = deepnlp("translate", dates_run, "2/10/93", "--attention", path)
    assert done.out.endswith(f"attention: {path}\n")
    assert path.read_bytes().startswith(b"\x89PNG")
    done = deepnlp("translate", dates_run, "2/10/93", "--attention", path, "--json")
    assert len(done.json["lines"]) == 1


def test_unknown_words_are_named(deepnlp, words_run):
    done = deepnlp("translate", words_run, "I see 3 zebras.")
    assert done.code == 0
    assert done.err == "not in the vocabulary, read as <unk>: zebras\n"


def test_options_and_vocabularies_travel_with_a_checkpoint(deepnlp, dates_run, tmp_path):
    shutil.copy(dates_run / "best.npz", tmp_path / "alone.npz")
    model = load(tmp_path / "alone.npz")
    assert model.config()["reverse"] == load(dates_run).config()["reverse"] is True
    there = deepnlp("translate", dates_run, "2/10/93").out
    assert deepnlp("translate", tmp_path / "alone.npz", "2/10/93").out == there


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--length-penalty", "-1", "--beam", "2"],
            "--length-penalty: should be a number, 0 or more and at most 100, got '-1'",
        ),
        (["--beam", "0"], "should be a whole number, 1 or more and at most 1000, got '0'"),
    ],
)
def test_errors_in_one_line(deepnlp, dates_run, arguments, message):
    done = deepnlp("translate", dates_run, "2/10/93", *arguments)
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1


def test_what_has_no_picture(deepnlp, dates_run, words_run, tmp_path):
    path = tmp_path / "a.png"
    done = deepnlp("translate", words_run, "i see", "--attention", path)
    assert (done.code, path.exists()) == (2, False)
    assert "this model has no attention" in done.err
    done = deepnlp("translate", dates_run, "a\nb", "--attention", path)
    assert (done.code, path.exists()) == (2, False)
    assert "--attention draws one text, got 2 lines" in done.err


def test_models_of_other_kinds(deepnlp, run_folder, tag_run, dates_run):
    done = deepnlp("translate", run_folder, "a")
    assert done.code == 2
    assert "holds an RNNLM, expected a Seq2Seq (deepnlp train --task seq2seq)" in done.err
    done = deepnlp("generate", dates_run)
    assert done.code == 2
    assert "holds a Seq2Seq, expected an RNNLM" in done.err
    assert deepnlp("translate", tag_run, "a").code == 2


# --- Training and evaluating ------------------------------------------------------------------


def test_a_run_says_what_it_reached(dates_run):
    result = json.loads((dates_run / "result.json").read_text(encoding="utf-8"))
    assert set(result["exact_match"]) == {"valid", "test"}
    assert result["perplexity"]["test"] > 1
    config = TrainConfig.load(dates_run / "config.toml")
    assert (config.task, config.corpus, config.attention) == ("seq2seq", "dates", "dot")


@pytest.mark.parametrize("split", ["valid", "test"])
def test_evaluate_gives_the_figures_of_the_run(deepnlp, dates_run, words_run, tag_run, split):
    for folder in (dates_run, words_run, tag_run):
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        told = deepnlp("evaluate", folder, "--split", split, "--json").json
        for name in {"exact_match", "perplexity", "accuracy", "bleu", "f1"} & set(result):
            assert told[name] == pytest.approx(result[name][split], rel=1e-5), name
        assert told["fingerprint"] == result["corpus"]["fingerprint"]
        assert told.get("bleu_signature") == result.get("bleu_signature")
        done = deepnlp("evaluate", folder, "--split", split)
        assert done.code == 0
        assert "it has changed" not in done.err


def test_evaluate_with_another_beam(deepnlp, words_run):
    shown = deepnlp("evaluate", words_run, "--beam", "3").out
    assert "beam: 3" in shown
    assert "bleu_signature: nrefs:1|case:lc" in shown
    assert deepnlp("evaluate", words_run, "--json").json["beam"] == 2


def test_evaluate_a_tagger_beside_its_baseline(deepnlp, tag_run):
    shown = deepnlp("evaluate", tag_run, "--baselines").out
    assert "most frequent (accuracy)" in shown
    assert "\naccuracy" in shown


def test_evaluate_on_other_data(deepnlp, dates_run, tag_run, tmp_path):
    path = tmp_path / "other.tsv"
    lines = "".join(f"{n}/1/93\t1993-{n:02}-01\n" for n in range(1, 31))
    path.write_text(lines, encoding="utf-8")
    told = deepnlp("evaluate", dates_run, "--corpus", path, "--json").json
    assert told["corpus"] == "other.tsv"
    assert told["vocabulary"] == [
        len(load(dates_run).source_vocab),
        len(load(dates_run).target_vocab),
    ]
    alone = tmp_path / "alone.npz"
    shutil.copy(tag_run / "best.npz", alone)
    done = deepnlp("evaluate", alone)
    assert done.code == 2
    assert "say which with --corpus" in done.err
    text = tmp_path / "text.txt"
    text.write_text(TEXT, encoding="utf-8")
    assert deepnlp("evaluate", alone, "--corpus", text, "--json").json["corpus"] == "text.txt"


def test_info_shows_both_vocabularies(deepnlp, dates_run, tag_run):
    shown = deepnlp("info", dates_run).out
    assert "source vocabulary: " in shown
    assert "target vocabulary: " in shown
    assert set(deepnlp("info", dates_run, "--json").json["vocabulary"]) == {
        "source_vocab",
        "target_vocab",
    }
    assert deepnlp("info", tag_run).code == 0
    assert "Seq2Seq(" in deepnlp("info", "--recipe", "dates").out
    done = deepnlp("info", "--recipe", "dates", "--vocab-size", "9")
    assert (done.code, "language model" in done.err) == (2, True)


@pytest.mark.parametrize("task", ["seq2seq", "tag"])
def test_help_and_plans(deepnlp, tmp_path, task):
    shown = deepnlp("train", "--task", task, "--help-all").out
    assert "--order-seed" in shown
    assert task in TASKS
    path = tmp_path / "names.txt"
    path.write_text(TEXT, encoding="utf-8")
    corpus = ["--corpus", path] if task == "tag" else ["--examples", "120"]
    done = deepnlp("train", "--task", task, "--dry-run", *corpus, *SMALL)
    assert done.code == 0
    assert "memory (estimate)" in done.out
