"""``--tokens``: a run on byte pairs from training to a file for another program."""

import json

import pytest

from deepnlp.datasets import load_corpus
from deepnlp.training import load
from tests.cli.conftest import TINY, contents

BPE = ["--tokens", "bpe", "--vocab-size", "290"]
PROMPT = "The café,\n\n\nand 貓"


@pytest.fixture(scope="module")
def run(tmp_path_factory, text_file):
    from deepnlp.cli.main import main

    folder = tmp_path_factory.mktemp("runs") / "bpe"
    command = ["train", "--corpus", str(text_file), "--out", str(folder), *BPE, *TINY]
    assert main([*command, "--output-dropout", "0.1"]) == 0
    return folder


def test_the_merges_are_kept_with_the_run_and_cut_the_corpus_in_the_same_way(run, text_file):
    vocab = load(run).vocab
    assert (vocab.tokenizer, len(vocab)) == ("bpe", 290)
    corpus = load_corpus(text_file, tokens="bpe", vocab_size=290)
    assert corpus.vocab == vocab
    assert load_corpus(text_file, vocab=vocab).fingerprint == corpus.fingerprint
    text = text_file.read_text(encoding="utf-8")
    parts = corpus.splits.values()
    assert "".join(vocab.detokenize(vocab.decode(ids)) for ids in parts) == text
    assert 'tokens = "bpe"' in (run / "config.toml").read_text(encoding="utf-8")


def test_a_run_on_byte_pairs_is_measured_in_bits_per_byte(deepnlp, run, text_file):
    facts = deepnlp("evaluate", run, "--json").json
    assert facts["unknown"] == 0
    assert facts["bits_per_byte"] > 0
    assert deepnlp("evaluate", run / "best.npz", "--corpus", text_file, "--json").json == facts


def test_no_letter_is_unknown_to_it(deepnlp, run):
    done = deepnlp("generate", run, "--prompt", PROMPT, "--length", 40, "--seed", 1)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(PROMPT)
    several = deepnlp("generate", run, "--prompt", PROMPT, "--samples", 2, "--stop-at-eos")
    assert several.out.count(PROMPT) == 2
    scored = deepnlp("score", run, PROMPT, "--json").json
    assert scored["unknown"] == 0
    assert len(scored["lines"]) == 2
    vocab = load(run).vocab
    words = [row["word"] for line in scored["lines"] for row in line["words"]]
    shown = PROMPT.replace("\n\n\n", "\n")  # without the empty lines
    assert vocab.detokenize(words) == f"{shown}\n"


def test_resuming_takes_the_same_tokens(deepnlp, run, text_file, tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    start = ["train", "--corpus", text_file, *BPE, *TINY]
    assert deepnlp(*start, "--out", whole, "--epochs", 2).code == 0
    assert deepnlp(*start, "--out", parts).code == 0
    assert deepnlp("train", "--out", parts, "--resume", "--epochs", 2).code == 0
    best, other = (contents(folder)[folder / "best.npz"] for folder in (whole, parts))
    assert best == other
    refused = deepnlp("train", "--out", parts, "--resume", "--tokens", "word")
    assert "cannot resume" in refused.err


@pytest.mark.parametrize("ending", ["pt", "safetensors"])
def test_it_goes_to_another_program_and_back(ending, deepnlp, run, tmp_path):
    pytest.importorskip("torch" if ending == "pt" else "safetensors")
    file, back = tmp_path / f"a.{ending}", tmp_path / "back.npz"
    assert deepnlp("export", run, "--out", file).code == 0
    assert deepnlp("import", file, "--out", back).code == 0
    assert load(back).vocab == load(run).vocab


def test_what_byte_pairs_have_not_is_an_error(deepnlp, text_file, tmp_path):
    start = ["train", "--corpus", text_file, *BPE, *TINY, "--out", tmp_path / "run"]
    refused = deepnlp(*start, "--output-words", 20)
    assert refused.code == 2
    assert "output_words" in refused.err
    refused = deepnlp(*start[:-2], "--vocab-size", 100)
    assert "vocab_size should be" in refused.err


def test_a_gpt_of_byte_pairs_becomes_a_gpt_2_and_comes_back(deepnlp, text_file, tmp_path):
    pytest.importorskip("safetensors")
    run, folder, back = tmp_path / "run", tmp_path / "gpt2", tmp_path / "back.npz"
    options = {"model": "gpt", "layers": 1, "heads": 2, "embed-size": 8, "context": 10}
    options |= {"activation": "gelu_tanh", "batch-size": 4, "time-size": 10, "epochs": 1}
    recipe = tmp_path / "gpt.toml"
    lines = (f"{name.replace('-', '_')} = {json.dumps(v)}\n" for name, v in options.items())
    recipe.write_text("".join(lines), encoding="utf-8")
    start = ["train", "--recipe", recipe, "--corpus", text_file, *BPE, "--out", run]
    assert deepnlp(*start).code == 0
    done = deepnlp("export", run, "--to", "gpt2", "--out", folder)
    assert (done.code, done.err) == (0, "")
    assert deepnlp("export", run, "--to", "gpt2", "--out", folder).code == 2
    assert deepnlp("export", run, "--to", "gpt2", "--out", folder, "--overwrite").code == 0
    assert deepnlp("import", folder, "--out", back).code == 0
    for command in (["score", PROMPT], ["evaluate", "--corpus", text_file, "--json"]):
        one, other = (deepnlp(command[0], model, *command[1:]) for model in (run, back))
        assert one.code == 0
        assert one.out == other.out
    (folder / "merges.txt").unlink()
    missing = deepnlp("import", folder, "--out", tmp_path / "b.npz")
    assert missing.code == 2
    assert "missing in" in missing.err
    assert "merges.txt" in missing.err


def test_a_corpus_has_one_choice_of_tokens_where_nothing_is_said(text_file):
    assert load_corpus(text_file).vocab.tokenizer == "words"
    assert load_corpus(text_file, tokens="word").vocab == load_corpus(text_file).vocab
    assert load_corpus(text_file, tokens="character").vocab.tokenizer == "chars"
    with pytest.raises(ValueError, match="tokens should be one of 'word'"):
        load_corpus(text_file, tokens="chars")
