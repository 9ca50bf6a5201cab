"""From a file of one's own to what a trained model says, on the command line."""

import json
import math

import pytest

from deepnlp.training import load
from tests.cli.conftest import TINY

SENTENCE = "Der Hund sieht die {} Katzen, und sie laufen weg."
SMALL = ["--embed-size", "8", "--hidden-size", "8", "--epochs", "2"]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "letters.csv"
    rows = "".join(f'{n},"{SENTENCE.format(n % 7)}"\n' for n in range(60))
    path.write_text(f"id,text\n{rows}", encoding="cp1252")
    return path


def test_a_column_of_a_table_in_another_encoding(deepnlp, table, tmp_path):
    run = tmp_path / "run"
    train = ["train", "--corpus", table, "--out", run, "--keep-case", *TINY]
    refused = deepnlp(*train)
    assert refused.code == 2
    assert "has the columns id, text: say" in refused.err
    done = deepnlp(*train, "--column", "text", "--encoding", "cp1252")
    assert done.code == 0
    assert "unknown tokens: 0.0% of train, 0.0% of valid, 0.0% of test; train has" in done.err
    assert "Hund" in load(run).vocab
    assert deepnlp("evaluate", run, "--json").json["corpus"] == "letters.csv"
    same = deepnlp("evaluate", run, "--corpus", table, "--column", "text")
    assert same.out == deepnlp("evaluate", run).out
    assert deepnlp("generate", run, "--prompt", "Der Hund").code == 0


def test_bits_stand_beside_perplexity(deepnlp, table, tmp_path):
    run = tmp_path / "run"
    done = deepnlp("train", "--corpus", table, "--column", "text", "--out", run, *TINY)
    found = json.loads((run / "result.json").read_text(encoding="utf-8"))
    assert "\n  bits/byte " in done.out
    assert "\n  bits/word " in done.out
    bits = {split: found["bits_per_byte"][split] for split in ("valid", "test")}
    facts = deepnlp("evaluate", run, "--json").json
    assert facts["bits_per_byte"] == bits["test"]
    text = "".join(f"{SENTENCE.format(n % 7)}\n" for n in range(60))
    size = len(text.encode()) / 20
    targets = facts["targets"] * math.log2(facts["perplexity"])
    assert facts["bits_per_byte"] == pytest.approx(targets / size, rel=0.2)
    assert "bits per word" in deepnlp("evaluate", run).out


def test_own_sentences_have_defaults_of_their_own(deepnlp, tmp_path):
    for end, text in (("de", SENTENCE), ("en", "The dog sees the {} cats, and they run away.")):
        lines = "".join(text.format(n) + "\n" for n in range(60))
        (tmp_path / f"talks.{end}").write_text(lines, encoding="utf-8")
    pair = f"{tmp_path / 'talks.de'},{tmp_path / 'talks.en'}"
    run = tmp_path / "run"
    command = ["train", "--task", "seq2seq", "--corpus", pair, "--out", run, *SMALL]
    done = deepnlp(*command)
    assert done.code == 0, done.err
    config = (run / "config.toml").read_text(encoding="utf-8")
    assert 'metric = "perplexity"' in config
    assert "bidirectional = true" in config
    assert "best validation after epoch 2" in done.out
    assert deepnlp("translate", run, SENTENCE.format(3)).code == 0
    shown = deepnlp("train", "--task", "seq2seq", "--corpus", pair, "--help-all").out
    assert "(default perplexity)" in shown
    assert "(default exact_match)" in deepnlp("train", "--task", "seq2seq", "--help-all").out


def test_a_large_file_is_announced_before_it_is_read(deepnlp, table, monkeypatch):
    monkeypatch.setattr("deepnlp.cli.train.LARGE", 1000)
    done = deepnlp("train", "--corpus", table, "--column", "text", "--dry-run", *TINY)
    assert done.err.startswith(f"reading {table}, 3.")


def test_a_plan_says_how_long_it_takes(deepnlp, table):
    plan = ["train", "--corpus", table, "--column", "text", "--dry-run", *TINY]
    done = deepnlp(*plan)
    assert "steps in all, about 00:0" in done.out
    assert 0 < deepnlp(*plan, "--json").json["seconds"] < 60


def test_a_plan_that_may_not_fit_into_memory_makes_no_step(deepnlp, table, monkeypatch):
    monkeypatch.setattr("deepnlp.training.runs.MOST_TIMED", 0)
    monkeypatch.setattr("deepnlp.training.trainer.Trainer.train_step", None)
    plan = ["train", "--corpus", table, "--column", "text", "--dry-run", *TINY]
    assert deepnlp(*plan).out.endswith(" steps in all\n")
    assert deepnlp(*plan, "--json").json["seconds"] is None
