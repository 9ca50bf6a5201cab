"""``evaluate``, ``generate``, ``score``, ``info``: each against what Python says."""

import io
import math
import shutil

import numpy as np
import pytest

from deepnlp import checkpoint
from deepnlp.datasets import load_corpus
from deepnlp.evaluation import perplexity, score
from deepnlp.evaluation.dynamic_evaluation import dynamic_perplexity
from deepnlp.evaluation.neural_cache import cache_perplexity
from deepnlp.generation import generate
from deepnlp.models import GPT
from deepnlp.models.ngrams import baselines
from deepnlp.training import load


@pytest.fixture
def model(run_folder):
    return load(run_folder)


# --- evaluate --------------------------------------------------------------------------------


def test_evaluate_is_perplexity_on_the_corpus_of_the_run(deepnlp, run_folder, text_file, model):
    corpus = load_corpus(text_file, vocab=model.vocab)
    found = deepnlp("evaluate", run_folder, "--json").json
    assert found["perplexity"] == perplexity(model, corpus.test)
    assert found["split"] == "test"
    assert found["targets"] == len(corpus.test) - 1
    assert found["fingerprint"] == corpus.fingerprint
    assert found["baselines"] == {}


def test_evaluate_another_split_in_streams_with_baselines(deepnlp, run_folder, text_file, model):
    corpus = load_corpus(text_file, vocab=model.vocab)
    options = ["--split", "valid", "--batch-size", 3, "--baselines"]
    found = deepnlp("evaluate", run_folder / "checkpoint.npz", *options, "--json").json
    assert found["perplexity"] == perplexity(load(run_folder / "checkpoint.npz"), corpus.valid, 3)
    expected = baselines(corpus.train, {"valid": corpus.valid}, len(model.vocab))
    assert found["baselines"] == {name: value["valid"] for name, value in expected.items()}

    shown = deepnlp("evaluate", run_folder, *options).out
    rows = [line.split() for line in shown.splitlines()]
    assert ["valid", "perplexity"] in rows
    assert ["trigram", f"{expected['trigram']['valid']:.2f}"] in rows


def test_evaluate_with_a_cache_and_dynamically(deepnlp, run_folder, text_file, model):
    corpus = load_corpus(text_file, vocab=model.vocab)
    options = ["--cache", 20, "--cache-flatness", 0.5, "--cache-share", 0.3]
    options += ["--dynamic", 0.001, "--dynamic-decay", 0.01]
    found = deepnlp("evaluate", run_folder, *options, "--json").json
    assert found["perplexity"] == perplexity(model, corpus.test)
    assert found["adaptive"] == {
        "cache": cache_perplexity(model, corpus.test, 20, 0.5, 0.3),
        "dynamic": dynamic_perplexity(model, corpus.test, corpus.train, 0.001, 0.01),
    }
    assert len({found["perplexity"], *found["adaptive"].values()}) == 3
    shown = deepnlp("evaluate", run_folder, *options).out
    for name, value in found["adaptive"].items():
        assert [line.split()[-1] for line in shown.splitlines() if name in line] == [f"{value:.2f}"]
    assert deepnlp("evaluate", run_folder, "--json").json["adaptive"] == {}
    wrong = deepnlp("evaluate", run_folder, "--cache", 5, "--cache-share", 1)
    assert (wrong.code, wrong.out) == (2, "")
    assert "--cache-share: should be a number, 0 or more and below 1, got" in wrong.err


def test_evaluate_on_another_text_counts_its_unknown_words(deepnlp, run_folder, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("the zebra sat on the mat .\n" * 20, encoding="utf-8")
    found = deepnlp("evaluate", run_folder, "--corpus", other, "--split", "train", "--json").json
    assert found["corpus"] == "other.txt"
    assert found["unknown"] == 18  # of 20 lines, 90 % are the train split


def test_evaluate_a_text_that_has_changed_since_says_so(deepnlp, run_folder, tmp_path, text_file):
    folder = tmp_path / "run"
    shutil.copytree(run_folder, folder)
    config = (folder / "config.toml").read_text(encoding="utf-8")
    other = tmp_path / "other.txt"
    other.write_text("the cat sat .\n" * 20, encoding="utf-8")
    moved = config.replace(str(text_file), str(other))
    (folder / "config.toml").write_text(moved, encoding="utf-8")
    assert "not the text the run was trained on" in deepnlp("evaluate", folder).err
    assert deepnlp("evaluate", run_folder).err == ""

    other.unlink()
    gone = deepnlp("evaluate", folder)
    assert gone.code == 2
    assert "--corpus" in gone.err


# --- generate --------------------------------------------------------------------------------


def test_generate_is_generate(deepnlp, run_folder, model):
    options = ["--temperature", 0.7, "--top-k", 5, "--top-p", 0.9, "--length", 12, "--seed", 4]
    printed = deepnlp("generate", run_folder, "--prompt", "The cat", *options).out
    text = generate(model, "The cat", 12, temperature=0.7, top_k=5, top_p=0.9, seed=4)
    assert printed == text + "\n"
    assert printed.startswith("the cat")


def test_generate_is_repeatable_by_its_seed(deepnlp, run_folder):
    first = deepnlp("generate", run_folder, "--json").json  # a seed of its own choice
    again = deepnlp("generate", run_folder, "--json", "--seed", first["seed"]).json
    assert again == first
    assert deepnlp("generate", run_folder, "--json").json["samples"] != first["samples"]


def test_generate_several(deepnlp, run_folder):
    options = ["--samples", 3, "--length", 5, "--seed", 1]
    samples = deepnlp("generate", run_folder, *options, "--json").json["samples"]
    assert len(set(samples)) == 3
    assert deepnlp("generate", run_folder, *options).out == "\n".join(s + "\n" for s in samples)


def test_generate_greedily_until_the_end_of_the_sentence(deepnlp, run_folder, model):
    printed = deepnlp("generate", run_folder, "--greedy", "--length", 30).out
    assert printed == generate(model, length=30, greedy=True) + "\n"
    options = ["--prompt", "the dog", "--length", 500, "--seed", 2, "--stop-at-eos"]
    stopped = deepnlp("generate", run_folder, *options).out
    assert stopped == generate(model, "the dog", 500, seed=2, stop_at_eos=True) + "\n"
    assert stopped.count("\n") == 2  # that of <eos>, and that of the end


def test_generate_names_words_of_the_prompt_it_does_not_know(deepnlp, run_folder):
    done = deepnlp("generate", run_folder, "--prompt", "a zebra saw a zebra", "--length", 2)
    assert done.code == 0
    assert done.err == "not in the vocabulary, read as <unk>: a, zebra\n"
    assert done.out.startswith("a zebra saw a zebra")


# --- score -----------------------------------------------------------------------------------


def test_score_is_score(deepnlp, run_folder, model):
    expected = score(model, "The cat saw a zebra")
    found = deepnlp("score", run_folder, "The cat saw a zebra", "--json").json
    (line,) = found["lines"]
    assert [row["word"] for row in line["words"]] == expected.tokens
    assert [row["bits"] for row in line["words"]] == expected.surprisals
    assert [row["unknown"] for row in line["words"]] == expected.unknown
    assert found["total_bits"] == expected.total == pytest.approx(line["total_bits"])
    assert found["perplexity"] == expected.perplexity
    assert found["unknown"] == 2
    assert found["words"] == 6
    assert math.log2(found["perplexity"]) == pytest.approx(found["bits_per_word"])


def test_score_draws_what_the_heads_of_a_gpt_look_at(deepnlp, run_folder, model, tmp_path):
    gpt = GPT(len(model.vocab), 8, layers=1, heads=2, context=8)
    checkpoint.save(tmp_path / "gpt.npz", gpt, model.vocab)
    picture = tmp_path / "heads.png"
    arguments = ["the cat saw", "--attention", picture]
    done = deepnlp("score", tmp_path / "gpt.npz", *arguments)
    assert done.out.endswith(f"attention: {picture}\n")
    assert picture.stat().st_size > 0
    refused = deepnlp("score", run_folder, *arguments)
    assert refused.code != 0
    assert "no heads of attention" in refused.err


def test_score_shows_a_table_and_marks_unknown_words(deepnlp, run_folder, model):
    shown = deepnlp("score", run_folder, "the zebra").out.splitlines()
    bits = score(model, "the zebra").surprisals
    assert shown[2].split() == ["the", f"{bits[0]:.2f}"]
    assert shown[3].split(maxsplit=2) == ["zebra", f"{bits[1]:.2f}", "not in the vocabulary"]
    assert shown[-1].startswith(f"total: {sum(bits):.2f} bits for 3 words")


def test_score_a_file_line_by_line(deepnlp, run_folder, tmp_path, monkeypatch):
    text = "the cat\n\nthe dog sat\n"
    path = tmp_path / "lines.txt"
    path.write_text(text, encoding="utf-8")
    found = deepnlp("score", run_folder, "--file", path, "--json").json
    words = [[row["word"] for row in line["words"]] for line in found["lines"]]
    assert words == [["the", "cat", "<eos>"], ["the", "dog", "sat", "<eos>"]]
    in_lines = sum(line["total_bits"] for line in found["lines"])
    assert found["words"] == 8  # the <eos> of the empty line counts, too
    assert found["total_bits"] > in_lines

    stream = io.TextIOWrapper(io.BytesIO(text.encode("utf-8")), encoding="ascii")
    monkeypatch.setattr("sys.stdin", stream)
    assert deepnlp("score", run_folder, "-", "--json").json == found


def test_score_reads_utf_8_whatever_the_platform_says(deepnlp, run_folder, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO("naïve".encode()), encoding="ascii")
    monkeypatch.setattr("sys.stdin", stream)
    found = deepnlp("score", run_folder, "-", "--json").json
    assert found["lines"][0]["words"][0]["word"] == "naïve"


# --- info ------------------------------------------------------------------------------------


def test_info_counts_a_tied_weight_once(deepnlp, run_folder, model):
    found = deepnlp("info", run_folder, "--json").json
    V, D = len(model.vocab), 8
    lstm = 8 * 32 + 8 * 32 + 32
    assert found["size"] == V * D + lstm + V == sum(p["size"] for p in found["parameters"])
    assert found["bytes"] == 4 * found["size"]
    first = found["parameters"][0]
    assert first == {
        "name": "layers.0.W",
        "shape": [V, D],
        "size": V * D,
        "dtype": "float32",
        "bytes": 4 * V * D,
    }
    assert [p["name"] for p in found["parameters"]] == [n for n, _ in model.named_parameters()]
    assert found["config"]["tie"] == "tied"
    shown = deepnlp("info", run_folder).out
    assert "= layers.0.W, transposed" in shown
    assert model.summary() in shown


def test_info_shows_the_result_of_the_run(deepnlp, run_folder):
    result = deepnlp("info", run_folder / "best.npz", "--json").json["result"]
    assert result["status"] == "finished"
    assert f"{result['baselines']['trigram']['test']:.2f}" in deepnlp("info", run_folder).out


def test_info_of_a_checkpoint_by_itself(deepnlp, run_folder, tmp_path):
    alone = tmp_path / "alone.npz"
    shutil.copy(run_folder / "best.npz", alone)
    assert deepnlp("info", alone, "--json").json["result"] is None
    assert "layers.0.W" in deepnlp("info", alone).out


def test_info_of_a_recipe(deepnlp):
    found = deepnlp("info", "--recipe", "book-rnnlm", "--vocab-size", 50, "--json").json
    assert found["parameters"][0]["shape"] == [50, 100]
    assert found["vocabulary"] is None
    assert found["size"] == int(np.sum([np.prod(p["shape"]) for p in found["parameters"]]))


def test_a_byte_order_mark_is_no_word(deepnlp, run_folder, tmp_path):
    text = "the cat sat on the mat .\nthe dog saw it .\n"
    path = tmp_path / "marked.txt"
    path.write_bytes(("\ufeff" + text.replace("\n", "\r\n")).encode("utf-8"))
    expected = deepnlp("score", run_folder, text, "--json").json
    assert deepnlp("score", run_folder, "--file", path, "--json").json == expected
    assert deepnlp("score", run_folder, "\ufeff" + text, "--json").json == expected
