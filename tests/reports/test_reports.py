"""The pages of runs of each kind: what they show, that they are whole, safe and need nothing."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from deepnlp.checkpoint import load
from deepnlp.cli.main import main
from deepnlp.generation import gates, induction, lens
from deepnlp.models import GPT
from deepnlp.reports import page
from deepnlp.reports.page import choice, coloured, table, write_page
from deepnlp.reports.run import verdict
from deepnlp.training import RunFolder
from tests.training.conftest import quick_figures  # noqa: F401

EVIL = "<script>alert(\"1\")</script> & 'quote'"
TINY = ["--epochs", "1", "--embed-size", "8", "--batch-size", "4"]
LM = [*TINY, "--hidden-size", "8", "--layers", "1", "--time-size", "10", "--no-baselines"]
GPT_TOO = [
    "--layers",
    "1",
    "--heads",
    "2",
    "--context",
    "32",
    "--time-size",
    "16",
    "--schedule",
    "constant",
]
SLOW = ("rnn", "tag", "pairs")
ALWAYS = ["Learning curve", "Samples", "Gradients by layer", "Time and size", "Options"]
WORDS = ["Nearest neighbours", "Map of the word vectors"]
TEXT = "Validation text: the stronger the colour, the less expected the word"
KINDS = {
    "lstm": (
        [*LM, "--watch-gradients", "5"],
        [TEXT, *WORDS, "Gates", "How far gradients reach back"],
    ),
    "rnn": ([*LM, "--cell", "rnn"], [TEXT, *WORDS]),
    "gpt": (
        [*TINY, "--model", "gpt", "--tokens", "bpe", "--vocab-size", "280", *GPT_TOO],
        [TEXT, *WORDS, "Attention"],
    ),
    "vectors": (["--task", "vectors", "--epochs", "1", "--embed-size", "8"], WORDS),
    "tag": (
        ["--task", "tag", *TINY, "--hidden-size", "8"],
        [*WORDS, "Sentences as the model writes them"],
    ),
    "pairs": (
        [
            "--task",
            "seq2seq",
            "--corpus",
            "dates",
            "--examples",
            "200",
            *TINY,
            "--hidden-size",
            "8",
        ],
        ["Translations"],
    ),
}


@pytest.fixture(autouse=True, scope="module")
def quick():
    """Draw one sentence of those that can be chosen."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "LARGEST", 1)
        yield


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "cats.txt"
    names = ["cat", "dog", "cow", "hen", "pig", "fox", "owl", "bee", "ant", "elk"]
    lines = [f"The {names[i % 10]} saw {EVIL} and The {names[i % 7]} sat." for i in range(60)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(
    scope="module",
    params=[pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in KINDS],
)
def run(request, text, tmp_path_factory):
    """A run folder and the headings of its page."""
    options, headings = KINDS[request.param]
    folder = tmp_path_factory.mktemp("runs") / request.param
    corpus = [] if "--corpus" in options else ["--corpus", str(text)]
    assert main(["train", *corpus, *options, "--out", str(folder), "--sample-every", "3"]) == 0
    return folder, headings


class Reader(HTMLParser):
    """Which elements are open, and what is asked of others."""

    def __init__(self, html):
        super().__init__()
        self.open, self.addresses, self.headings, self.scripts = [], [], [], 0
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)
        self.scripts += tag == "script"
        self.addresses += [v[:19] for k, v in attributes if k in ("src", "href")]
        assert tag != "img" or dict(attributes)["alt"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.headings += [data] if self.open[-1:] == ["h2"] else []


def test_the_page_of_each_kind_of_run(run, capsys):
    folder, headings = run
    assert main(["report", str(folder), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    html = (folder / "report.html").read_text(encoding="utf-8")
    read = Reader(html)
    assert sorted(read.headings) == sorted(ALWAYS + headings)
    assert (read.open, read.scripts) == ([], 1)
    assert set(read.addresses) == {"data:image/svg+xml,"}
    assert facts["verdict"][0].startswith("Best validation ")
    assert 10_000 < len(html.encode()) < 3_000_000
    samples = [row["sample"] for row in RunFolder(folder).read_steps() if "sample" in row]
    assert samples
    (folder / "steps.jsonl").unlink()
    (folder / "best.npz").rename(folder / "moved.npz")
    (folder / "checkpoint.npz").unlink()
    assert main(["report", str(folder), "--out", str(folder / "less.html")]) == 0
    less = Reader((folder / "less.html").read_text(encoding="utf-8"))
    assert less.headings[-2:] == ["Time and size", "Options"]
    assert "Samples" not in less.headings
    (folder / "moved.npz").rename(folder / "best.npz")


def test_sampling_and_watching_change_no_weight(text, tmp_path):
    command = ["train", "--corpus", str(text), *LM, "--out"]
    assert main([*command, str(tmp_path / "a")]) == 0
    assert main([*command, str(tmp_path / "b"), "--sample-every", "1"]) == 0
    a, b = (dict(load(tmp_path / name).named_parameters()) for name in "ab")
    assert all((a[name].value == b[name].value).all() for name in a)


def test_the_page_grows_while_a_run_trains(text, tmp_path, monkeypatch):
    from deepnlp.reports import reporter, run

    calls = []
    monkeypatch.setattr(reporter, "SHORT", 0)
    monkeypatch.setattr(reporter, "SHARE", 1e9)
    monkeypatch.setattr(run, "write_report", lambda folder, *_, **how: calls.append(how))
    options = [*LM, "--epochs", "2"]
    assert main(["train", "--corpus", str(text), *options, "--out", str(tmp_path / "a")]) == 0
    assert calls == [{"sentences": 1}, {"sentences": 1}, {}]  # two epochs, and the end
    rows = RunFolder(tmp_path / "a").read_steps()
    assert sum("sample" in row for row in rows) == 2


@pytest.mark.parametrize("kind", ["lstm", pytest.param("gpt", marks=pytest.mark.slow)])
def test_the_inside_of_a_model(kind, text, tmp_path, capsys, monkeypatch):
    options, _ = KINDS[kind]
    folder = tmp_path / kind
    assert main(["train", "--corpus", str(text), *options, "--out", str(folder)]) == 0
    monkeypatch.chdir(tmp_path)
    assert main(["look", str(folder), "The <b> saw"]) == 0
    html = (tmp_path / "look.html").read_text(encoding="utf-8")
    parts = {"lstm": ["Gates"], "gpt": ["Attention"]}[kind]
    assert Reader(html).headings == ["What each layer would predict", *parts, "Tokens"]
    assert "<h1>The &lt;b&gt; saw</h1>" in html
    for wrong in (["look", str(folder), ""], ["look", "nothing", "a"]):
        capsys.readouterr()
        assert main(wrong) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_the_last_layer_of_a_lens_predicts_what_the_model_does(text, tmp_path):
    folder = tmp_path / "run"
    assert main(["train", "--corpus", str(text), *LM, "--out", str(folder)]) == 0
    model = load(folder)
    seen = lens(model, "the cat saw the dog", k=3)
    scores = model.logits(model.vocab.encode(seen.tokens)[None])[0]
    best = np.argsort(-scores, axis=1, kind="stable")[:, :3]
    assert seen.words[-1] == [model.vocab.decode(row) for row in best]
    assert (np.diff(seen.probabilities, axis=2) <= 0).all()
    _, means = gates(model, "the cat")
    assert all(((row > 0) & (row < 1)).all() for row in means.values())


def test_a_head_that_copies_what_followed_has_an_induction_score_of_1(monkeypatch):
    from deepnlp.generation import looking

    n = looking.REPEATED
    weights = np.zeros((1, 2, 2 * n, 2 * n))
    weights[0, 1, range(n, 2 * n), range(1, n + 1)] = 1
    monkeypatch.setattr(looking, "_weights", lambda model, ids: weights)
    model = GPT(9, 4, 1, heads=1, context=64)
    assert induction(model).tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize(
    ("values", "sign", "expected"),
    [
        ([], 1, ["No epoch has been finished yet."]),
        ([9.0, None, 7.0], 1, ["7.00, after epoch 3 of 3", "than a (8.00)", "no better than b"]),
        ([9.0, 7.5, 8.0, 8.1], 1, ["epoch 2 of 4", "better than a", "no better", "2 epochs since"]),
        ([50.0, 60.0], -1, ["60.00, after epoch 2 of 2", "better than a", "better than b"]),
    ],
)  # fmt: skip
def test_the_verdict(values, sign, expected):
    history = [{"epoch": e, "valid_bleu": v} for e, v in enumerate(values, start=1)]
    levels = {"a": {"valid": 8.0}, "b": {"valid": 7.0}, "c": {"valid": None}}
    said = verdict(history, levels, "bleu", sign)
    assert len(said) == len(expected)
    assert all(part in sentence for part, sentence in zip(expected, said))


def test_all_text_is_escaped_and_an_old_page_stays_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "page.html"
    parts = {
        EVIL: lambda: table([EVIL], [[EVIL]], EVIL),
        "b": lambda: choice(EVIL, [(EVIL, "")]),
        "c": lambda: coloured(["", EVIL], ["--s:1"], [EVIL]),
        "d": lambda: [][0].nothing if path.exists() else (_ for _ in ()).throw(ValueError),
    }
    write_page(path, EVIL, [EVIL], parts)
    html = path.read_text(encoding="utf-8")
    assert html.count("<script") == 1
    assert html.count("&lt;script&gt;") > 8
    assert Reader(html).headings.count("d") == 0
    with pytest.raises(IndexError):
        write_page(path, "new", [], parts)
    assert path.read_text(encoding="utf-8") == html
    assert not re.search(r"\$[a-z]", html)
