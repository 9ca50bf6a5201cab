"""Every file that deepnlp reads, with mistakes in it: a result, or one sentence of ours.

Finds are kept as explicit examples.
"""

import functools
import gzip
import importlib.util
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepnlp import checkpoint
from deepnlp.backend.shapes import shape
from deepnlp.datasets import load_analogies, load_corpus, load_pairs, load_similarity, load_tagged
from deepnlp.evaluation import score
from deepnlp.exchange import read_model, write_model
from deepnlp.generation import generate
from deepnlp.models import GPT, RNNLM
from deepnlp.options import to_toml
from deepnlp.text import BPE, Vocabulary
from deepnlp.training import TrainConfig, recipe
from deepnlp.training.result import Result
from deepnlp.training.runfolder import RunFolder
from deepnlp.vectors import WordVectors
from studies.page import render
from studies.parameter import parse
from studies.search import load_search
from studies.table import load_table
from tests.properties.damage import changed, damaged
from tests.properties.tools import check_ours

ROOT = Path(__file__).parents[2]
LOGS = ROOT / "docs" / "results" / "book" / "rnnlm-0"
VOCAB = Vocabulary(["the", "<eos>", "cat", "<unk>"], [3, 2, 1, 0])
VOCAB_OF_BYTES = Vocabulary.build([], tokenizer=BPE([("t", "h"), ("th", "e")]))


class Parser(NamedTuple):
    """A file by its name, a whole one, and what reads it."""

    name: str
    whole: Callable[[], bytes]
    read: Callable[[Path], Any]


def model() -> Any:
    made = RNNLM(4, 2, 2, layers=1)
    made.vocab = VOCAB
    return made


def written(write: Callable[..., None], name: str) -> Callable[[], bytes]:
    """The bytes that a function writes for the model."""

    def whole() -> bytes:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder) / name, model())
            return (Path(folder) / name).read_bytes()

    return whole


@functools.cache
def gpt2() -> dict[str, bytes]:
    """The files of a GPT-2 by name."""
    made = GPT(len(VOCAB_OF_BYTES), 4, layers=1, heads=2, context=3)
    made.vocab = VOCAB_OF_BYTES
    with TemporaryDirectory() as folder:
        write_model(folder, made, "gpt2")
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def file_of_gpt2(name: str) -> Parser:
    """One of these, which is read together with the others; an error names it or the folder."""

    def read(path: Path) -> Any:
        with TemporaryDirectory(suffix=name) as folder:
            for other, content in (gpt2() | {name: path.read_bytes()}).items():
                Path(folder, other).write_bytes(content)
            return read_model(folder)

    return Parser(name, lambda: gpt2()[name], read)


def vectors(format: str | None) -> Callable[[Path], Any]:
    return lambda path: WordVectors.load(path, format)


def run_folder(read: Callable[[RunFolder], Any]) -> Callable[[Path], Any]:
    return lambda path: read(RunFolder(path.parent))


def page_of_logs(path: Path, table: str) -> str:
    """The page of a table, of whose runs one has such a result."""
    run = path.parent / table / "rnnlm-0"
    shutil.copytree(LOGS, run, dirs_exist_ok=True)
    (run / "result.json").write_bytes(path.read_bytes())
    return render(load_table(table), path.parent)


SENTENCE = "The cat, which sat on the mat, saw {} dogs.\n"
TEXT = "".join(SENTENCE.format(n) for n in range(30)).encode()
PAIRS = "".join(f"{n} cats\t{n} gatos\tmore\n" for n in range(40)).encode()
GLOVE = b"the 0.25 -1.5e-3 3\ncat 1 2 3\nnew york 4 5 6\n"
ONES = np.ones(3, "<f4").tobytes()
BINARY = b"2 3\nthe " + ONES + b"\ncat " + ONES + b"\n"
CONFIG = to_toml(recipe("book-rnnlm")).encode()
RECIPE = (ROOT / "deepnlp" / "recipes" / "book-rnnlm.toml").read_bytes()
TABLE = (ROOT / "studies" / "tables" / "book.toml").read_bytes()
SEARCH = (ROOT / "studies" / "searches" / "pydocs-small.toml").read_bytes()


def npy() -> bytes:
    file = io.BytesIO()
    np.save(file, np.ones((2, 3), "float32"))
    return file.getvalue()


def read_npy(path: Path) -> Any:
    path.with_name("v.words.json").write_text('["the", "cat"]')
    return WordVectors.load(path).neighbours("the", 1)


def read_words(path: Path) -> Any:
    path.with_name("v.npy").write_bytes(npy())
    return WordVectors.load(path.with_name("v.npy"))


PARSERS = {
    "corpus of words": Parser("c.txt", lambda: TEXT, lambda path: load_corpus(path)),
    "corpus of characters": Parser(
        "c.txt", lambda: TEXT, lambda path: load_corpus(path, tokens="character")
    ),
    "packed corpus": Parser("c.txt.gz", lambda: gzip.compress(TEXT, mtime=0), load_corpus),
    "pairs": Parser("p.tsv", lambda: PAIRS, load_pairs),
    "tagged text": Parser("t.txt", lambda: TEXT, load_tagged),
    "similarity set": Parser(
        "s.csv", lambda: b"Word 1,Word 2,Mean\ntiger,cat,7.35\nbook,paper,7.46\n", load_similarity
    ),
    "analogies": Parser("a.txt", lambda: b": family\nman woman king queen\n", load_analogies),
    "vectors as text": Parser("v.txt", lambda: GLOVE, vectors(None)),
    "vectors of GloVe": Parser("v.txt", lambda: GLOVE, vectors("glove")),
    "vectors with a header": Parser("v.vec", lambda: b"3 3\n" + GLOVE, vectors("word2vec")),
    "packed vectors": Parser("v.txt.gz", lambda: gzip.compress(GLOVE, mtime=0), vectors(None)),
    "vectors in binary": Parser("v.bin", lambda: BINARY, vectors(None)),
    "vectors of NumPy": Parser("v.npy", npy, read_npy),
    "words of vectors": Parser("v.words.json", lambda: b'["the", "cat"]', read_words),
    "recipe": Parser("r.toml", lambda: RECIPE, lambda path: recipe(str(path))),
    "config": Parser("config.toml", lambda: CONFIG, TrainConfig.load),
    "table of results": Parser("t.toml", lambda: TABLE, lambda path: load_table(str(path))),
    "search": Parser("s.toml", lambda: SEARCH, lambda path: load_search(str(path))),
    "metrics": Parser(
        "metrics.jsonl", (LOGS / "metrics.jsonl").read_bytes, run_folder(RunFolder.read_metrics)
    ),
    "result": Parser(
        "result.json",
        (LOGS / "result.json").read_bytes,
        run_folder(lambda folder: Result.of(folder).table()),
    ),
    "logs of a table": Parser(
        "result.json", (LOGS / "result.json").read_bytes, lambda path: page_of_logs(path, "book")
    ),
    "state_dict": Parser("m.pt", written(write_model, "m.pt"), read_model),
    "config of GPT-2": file_of_gpt2("config.json"),
    "tokens of GPT-2": file_of_gpt2("vocab.json"),
    "merges of GPT-2": file_of_gpt2("merges.txt"),
    "weights of GPT-2": file_of_gpt2("model.safetensors"),
    "safetensors": Parser("m.safetensors", written(write_model, "m.safetensors"), read_model),
    "checkpoint": Parser("m.npz", written(checkpoint.save, "m.npz"), checkpoint.load),
}


def check(parser: Parser, content: bytes, folder: Path) -> None:
    """Reading gives a result, or an error of ours in one line that names the file."""
    path = folder / parser.name
    path.write_bytes(content)
    try:
        parser.read(path)
    except Exception as error:
        check_ours(error, parser.name.removesuffix(".words.json"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged")


LIBRARIES = {"state_dict": "torch", "safetensors": "safetensors"}
LIBRARIES |= {name: "safetensors" for name in PARSERS if name.endswith("GPT-2")}
PARAMETERS = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            name in LIBRARIES and importlib.util.find_spec(LIBRARIES[name]) is None,
            reason="needs a library that is not installed",
        ),
    )
    for name in PARSERS
]


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_whole_file_is_read(name, folder):
    path = folder / PARSERS[name].name
    path.write_bytes(PARSERS[name].whole())
    PARSERS[name].read(path)


@pytest.mark.parametrize("name", PARAMETERS)
@given(data=st.data())
def test_a_file_with_mistakes(name, folder, data):
    check(PARSERS[name], data.draw(damaged(PARSERS[name].whole())), folder)


TREES = {
    "config": lambda: dict(recipe("book-rnnlm")),
    "metrics": lambda: json.loads((LOGS / "metrics.jsonl").read_text().splitlines()[0]),
    "config of GPT-2": lambda: json.loads(gpt2()["config.json"]),
    "result": lambda: json.loads((LOGS / "result.json").read_text()),
    "logs of a table": lambda: json.loads((LOGS / "result.json").read_text()),
}


@pytest.mark.parametrize("name", TREES)
@given(data=st.data())
def test_values_that_are_others(name, folder, data):
    tree = data.draw(changed(TREES[name]()))
    text = json.dumps(tree) + "\n"
    if name == "config":
        text = "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in tree.items())
    check(PARSERS[name], text.encode(), folder)


FINDS = [
    ("words of vectors", b"[" * 3000),
    ("state_dict", b"PK\x03\x04" + b"9" * 5000),
    ("result", b'{"status": "finished", "epochs": 1, "baselines": {"unigram": null}}'),
    ("vectors of GloVe", b"\x80new  0.25 1 3\n"),
    ("metrics", b"\x80"),
    ("metrics", b"3\n"),
    ("recipe", b"\x80"),
]
"""What was not in order when it was found."""


@pytest.mark.parametrize(("name", "content"), FINDS)
def test_what_was_found(name, content, folder):
    if name in LIBRARIES:
        pytest.importorskip(LIBRARIES[name])
    check(PARSERS[name], content, folder)


SPACES = ["dropout=0.1:0.5:0.1", "lr=5:40:log", "cell=lstm,gru"]
SHAPES = ["D,4H", "3,20", "N,T,D"]


@given(text=st.text(max_size=12) | st.sampled_from(SPACES), other=st.text(max_size=3))
def test_what_is_said_on_the_command_line(text, other):
    for said in (text, text.replace("=", other), text + other):
        for read in (parse, lambda said: shape(said, {"N": 2, "D": 3, "H": 5})):
            try:
                read(said)
            except Exception as error:
                check_ours(error)


@given(
    text=st.text(st.characters(), max_size=20), tokenizer=st.sampled_from(["words", "chars", "bpe"])
)
def test_texts_for_a_model(text, tokenizer):
    """Whatever a terminal may hand over, halves of surrogates too."""
    tokens = ["the", "<eos>" if tokenizer == "words" else "\n", "cat", "<unk>"]
    vocab = VOCAB_OF_BYTES if tokenizer == "bpe" else Vocabulary(tokens, tokenizer=tokenizer)
    made = RNNLM(len(vocab), 2, 2, layers=1)
    made.vocab = vocab
    try:
        found = score(made, text)
    except Exception as error:
        check_ours(error)
    else:
        assert found.total >= 0
    assert isinstance(generate(made, text, 2, greedy=True), str)


@given(data=st.data())
def test_a_checkpoint_that_says_something_else(folder, data):
    """Whole archives, with a right digest, whose text or arrays are others."""
    arrays, meta = checkpoint.pack_model(model())
    meta = data.draw(changed(meta))
    name = data.draw(st.sampled_from(sorted(arrays)))
    array = arrays[name]
    others = {
        "same": array,
        "turned": array.T,
        "nan": np.full_like(array, np.nan),
        "double": array.astype("float64"),
        "whole": array.astype("int64"),
        "text": array.astype("U9"),
        "true": array > 0,
        "dates": array.astype("int64").astype("M8[s]"),
        "empty": array[:0],
        "scalar": array.sum(),
    }
    arrays[name] = others[data.draw(st.sampled_from(sorted(others)))]
    if data.draw(st.booleans()):
        arrays[data.draw(st.text(max_size=4))] = array
    path = folder / "m.npz"
    try:
        checkpoint.write_npz(path, arrays, meta)
    except (ValueError, UnicodeEncodeError, TypeError):
        return  # what JSON or zip cannot hold
    try:
        read: Any = checkpoint.load(path)
    except Exception as error:
        check_ours(error, path.name)
        return
    assert all(np.isfinite(p.value).all() for p in read.parameters())
    assert read.logits(np.array([[0, 1]])).shape[-1] == read.output_size
