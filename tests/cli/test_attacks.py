"""Odd options and files: what was found by attacking the command line, one case each."""

import gzip
import json
import math
import os
import subprocess
import sys

import pytest
from matplotlib.figure import Figure

from deepnlp import checkpoint
from deepnlp.backend.initialisers import uniform
from deepnlp.cli.shared import Answer, Model
from deepnlp.models import Seq2Seq
from deepnlp.plots.style import saved
from deepnlp.text import Vocabulary
from deepnlp.training import Result, RunFolder
from tests.cases import together
from tests.cli.conftest import TINY, contents

TRAIN = ["train", "--out", "new", *TINY]


@pytest.fixture
def workplace(tmp_path, run_folder, text_file, monkeypatch):
    """A folder with a run and its text; the tests stand in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    for path in run_folder.iterdir():
        (tmp_path / "run" / path.name).write_bytes(path.read_bytes())
    (tmp_path / "cats.txt").write_bytes(text_file.read_bytes())
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([*TRAIN, "--layers", "1000000000"], "1 or more and at most 100, got '1000000000'"),
        (
            [*TRAIN, "--embed-bound", "1e308"],
            "--embed-bound: should be a number, above 0 and",
        ),
        ([*TRAIN, "--embed-bound", "nan"], "--embed-bound: should be a number"),
        (["generate", "run", "--samples", "1000000000"], "at most 1000, got '1000000000'"),
        (["generate", "run", "--samples", "1" * 5000], "at most 1000, got '1111"),
        (["generate", "run", "--length", "1" * 20], "at most 1,000,000, got"),
        (["evaluate", "run", "--cache", "1000000000000"], "at most 100,000, got"),
        (
            ["evaluate", "run", "--cache", "5", "--cache-flatness", "inf"],
            "should be a number, 0 or",
        ),
        (["evaluate", "run", "--dynamic", "nan"], "should be a number, above 0, got 'nan'"),
        (["generate", "run", "--samples", "1000", "--length", "100000"], "are 100,000,000 words"),
        (["demo", "vanishing", "--seed", "9" * 20], "at most 4,294,967,295, got"),
        (["evaluate", "run", "--corpus", "/dev/zero"], "/dev/zero is no regular file"),
        (["search", "--workers", "100000"], "1 or more and at most 64, got"),
        (["gradcheck", "--museum", "--shapes", "1000000"], "at most 1000, got"),
        (["info", "--recipe", "default", "--vocab-size", "1" * 15], "at most 10,000,000, got"),
        (["train", "--task", "ngrams", "--order", "1000000"], "at most 20, got '1000000'"),
        (["train", "--task", "seq2seq", "--beam", "1000000"], "at most 1000, got '1000000'"),
        (["train", "--task", "seq2seq", "--examples", "1" * 15], "at most 10,000,000, got"),
    ],
)
def test_numbers_beyond_all_bounds(deepnlp, workplace, arguments, text):
    before = contents(workplace)
    done = deepnlp(*arguments)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert text in done.err
    assert contents(workplace) == before


def test_help_shows_the_limits(deepnlp):
    for command, limit in (
        (["generate"], "1 or more and at most 1000"),
        (["train"], "1 or more and at most 100]"),
        (["evaluate"], "0 or more and below 1"),
        (["train", "--task", "seq2seq"], "at most 10,000,000"),
    ):
        shown = "--help-all" if command[0] == "train" else "--help"
        assert limit in " ".join(deepnlp(*command, shown).out.split())


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/urandom", "fifo"])
@pytest.mark.parametrize("command", ["score", "translate"])
def test_only_regular_files_are_scored(deepnlp, workplace, command, path, translator):
    model = translator if command == "translate" else "run"
    os.mkfifo("fifo")
    done = deepnlp(command, model, "--file", path)
    assert (done.code, done.out) == (2, "")
    assert f"{path} is no regular file: expected one, or - for standard input" in done.err


@pytest.fixture
def translator(tmp_path):
    """A model that translates, untrained."""
    vocab = Vocabulary.build("abc", tokenizer="chars")
    model = Seq2Seq(len(vocab), len(vocab), 4, 4)
    model.source_vocab = model.target_vocab = vocab
    checkpoint.save(tmp_path / "translator.npz", model)
    return tmp_path / "translator.npz"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"a = " + b"[" * 5000 + b"]" * 5000, "nested too deeply"),
        (os.urandom(100) + b"\xff", "not a TOML file"),
        (b"epochs = 1\nepochs = 2\n", "not a TOML file"),
        (b"", None),
    ],
)
def test_recipes_and_configs_that_are_none(deepnlp, workplace, content, text):
    for name in ("odd.toml", "run/config.toml"):
        (workplace / name).write_bytes(content)
    for arguments, name in (
        ([*TRAIN, "--recipe", "odd.toml"], "odd.toml"),
        (["info", "--recipe", "odd.toml"], "odd.toml"),
        (["train", "--resume", "--out", "run"], "run/config.toml"),
        (["evaluate", "run"], "run/config.toml"),
        (["reproduce", "odd.toml"], "odd.toml"),
        (["search", "odd.toml"], "odd.toml"),
    ):
        if text is not None:
            done = deepnlp(*arguments)
            assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
            assert name in done.err
            assert text in done.err or "is not a file of a run" in done.err
    if text is None:
        done = deepnlp("evaluate", "run")
        assert "run/config.toml names no corpus: say which with --corpus" in done.err


@together(
    content=[
        b"",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b"[" * 100_000,
        b'{"status": 3, "epochs": 1}',
        b'{"status": "finished", "epochs": "one"}',
        b'{"status": "finished", "epochs": true}',
        b'{"status": "finished", "epochs": 1, "baselines": []}',
        b'{"status": "finished", "epochs": 1, "corpus": 5}',
        b'{"status": "finished", "epochs": 1, "perplexity": {"valid": "low"}}',
        b'{"status": "finished", "epochs": 1, "baselines": {"unigram": {"valid": []}}}',
    ]
)
def test_results_that_are_none(deepnlp, workplace, content):
    (workplace / "run" / "result.json").write_bytes(content)
    for command in ("info", "evaluate"):
        done = deepnlp(command, "run")
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert "result.json" in done.err
        assert "damaged" in done.err


def test_a_result_with_little_in_it():
    result = Result.from_dict({"status": "out of memory", "epochs": 0, "error": "no room"})
    assert "out of memory after 0 epochs, 0 steps" in result.table()
    assert Result.of(RunFolder("runs/none-of-that-name")) is None


def test_a_run_goes_on_in_another_folder(deepnlp, workplace, monkeypatch):
    code = deepnlp("train", "--corpus", "cats.txt", "--out", "moved", *TINY).code
    assert code == 0
    (workplace / "elsewhere").mkdir()
    monkeypatch.chdir(workplace / "elsewhere")
    resume = ["train", "--resume", "--out", "../moved", "--epochs", "2"]
    before = contents(workplace)
    lost = deepnlp(*resume)
    assert (lost.code, lost.err.count("\n")) == (2, 1)
    assert "no file or folder cats.txt" in lost.err
    assert "with --corpus" in lost.err
    assert contents(workplace) == before
    (workplace / "other.txt").write_text("Another text altogether.\n" * 99, encoding="utf-8")
    assert "not the one the run began with" in deepnlp(*resume, "--corpus", "../other.txt").err
    assert deepnlp(*resume, "--corpus", "../cats.txt").code == 0
    assert len(RunFolder("../moved").read_metrics()) == 2


@together(name=["../../x", "/tmp/x", "a/b", "", "..", ".hidden", "a\nb", "\x1b[2J"])
def test_a_name_stays_in_its_folder(deepnlp, workplace, name):
    before = contents(workplace.parent)
    done = deepnlp("train", "--corpus", "cats.txt", "--name", name, *TINY)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "--name: should be a name without folders, got" in done.err
    assert contents(workplace.parent) == before


def test_names_from_python_stay_in_their_folder(workplace):
    with pytest.raises(ValueError, match="the name of a folder should be text in UTF-8"):
        RunFolder("new\udcff")
    for name in ("../x", "/tmp/x", "", "a/b"):
        with pytest.raises(ValueError, match="name of a run"):
            RunFolder.of(None, name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.png/", "should end in .png, .pdf or .svg"),
        ("a.png/.", "should end in"),
        ("folder.png", "cannot write folder.png: it is a folder"),
        (".png", "should end in"),
        ("nowhere/a.png", "there is no folder nowhere"),
    ],
)
def test_names_of_figures_that_cannot_be(deepnlp, workplace, name, text):
    (workplace / "folder.png").mkdir()
    (workplace / "a.png").mkdir()
    done = deepnlp("vectors", "plot", "run", "--figure", name)
    assert (done.code, done.out) == (2, "")
    assert text in done.err
    assert not list((workplace / "a.png").iterdir())


@pytest.mark.parametrize("name", ["a.PNG", "a.b.svg", " a.pdf", "ä.png"])
def test_a_figure_has_the_name_it_says(deepnlp, workplace, name):
    done = deepnlp("vectors", "plot", "run", "--figure", name)
    assert done.out == f"figure: {name}\n"
    assert (workplace / name).stat().st_size > 1000


def test_a_figure_that_cannot_be_written_leaves_the_old_one(workplace, monkeypatch):
    (workplace / "old").write_bytes(b"old")
    figure = Figure()
    saved(figure, workplace / "old.png")
    assert (workplace / "old.png").read_bytes().startswith(b"\x89PNG")
    saved(figure, workplace / "old")  # as it is named, without an ending
    assert (workplace / "old").read_bytes().startswith(b"\x89PNG")
    before = contents(workplace)

    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", full)
    with pytest.raises(OSError, match="No space left"):
        saved(figure, workplace / "old.png")
    assert contents(workplace) == before


# --- gradcheck --museum --------------------------------------------------------------------------


MUSEUM = """
prelude = "{prelude}"

[[layer]]
name = "A"
source = "class A: ..."

[[layer.family]]
name = "a"
example = "inputs = []"

[[layer.family.mistake]]
name = "b"
accept = ["sign"]
"""


def test_no_file_of_a_folder_that_is_no_museum_is_run(deepnlp, tmp_path):
    ran = tmp_path / "ran"
    touch = f"import pathlib; pathlib.Path({str(ran)!r}).touch()"
    museum = MUSEUM.format(prelude=touch)
    for files in (
        {"script.py": touch},
        {"a.toml": museum, "script.toml": touch},
        {"a.toml": museum, "other.toml": "layer = [{name = 'A'}]"},
        {"a.toml": museum, "luck.toml": museum.replace("sign", "bad luck")},
        {"a.toml": museum, "deep.toml": "a = " + "[" * 10_000},
        {"a.toml": museum, "binary.toml": "a\0b"},
        {},
    ):
        folder = tmp_path / f"museum{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        done = deepnlp("gradcheck", "--museum", folder, "--shapes", 1)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert f"no bug museum in {folder}" in done.err
        assert not ran.exists()


def test_a_layer_that_cannot_be_loaded_is_named(deepnlp, tmp_path):
    (tmp_path / "a.toml").write_text(MUSEUM.format(prelude="x = 1 / 0"), encoding="utf-8")
    done = deepnlp("gradcheck", "--museum", tmp_path)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "a cannot be loaded: ZeroDivisionError" in done.err


def test_an_error_of_the_system_has_a_file_and_a_hint(deepnlp, monkeypatch):
    def raises(model: Model):
        raise OSError(28, "No space left on device", "runs/first/best.npz")

    monkeypatch.setattr("deepnlp.cli.info.run", raises)
    assert deepnlp("info", "a").err == (
        "deepnlp: error: runs/first/best.npz: no space left on device: make room there, or choose "
        "another folder\n"
    )


@pytest.mark.parametrize(
    "error", [RecursionError("too deep"), OverflowError("too large")], ids=repr
)
def test_other_errors_of_a_command_are_one_line(deepnlp, monkeypatch, error):
    def raises(model: Model):
        raise error

    monkeypatch.setattr("deepnlp.cli.info.run", raises)
    done = deepnlp("info", "a")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert str(error) in done.err


def test_json_with_control_characters_stays_json(deepnlp, monkeypatch):
    def answers(model: Model):
        return Answer({"word": "\x7f\x9b\x1b", "value": math.inf})

    monkeypatch.setattr("deepnlp.cli.info.run", answers)
    done = deepnlp("info", "a", "--json")
    assert json.loads(done.out) == {"word": "\x7f\x9b\x1b", "value": None}
    assert done.out.isascii()


@pytest.mark.parametrize(
    "content", [b"[]\n", b"{}\n", b"\xff\xfe\0\n", b'{"epoch": "one"}\n', b"[" * 100_000 + b"\n"]
)
def test_metrics_that_are_none(deepnlp, workplace, content):
    folder = workplace / "run"
    (folder / "metrics.jsonl").write_bytes(content)
    done = deepnlp("train", "--resume", "--out", "run", "--epochs", "2")
    assert (done.code, done.err.splitlines()[-1][:16]) == (2, "deepnlp: error: ")
    assert "metrics.jsonl is" in done.err
    assert "Traceback" not in done.err


def test_metrics_that_end_in_the_middle_of_a_line(workplace):
    folder = RunFolder("run")
    rows = folder.read_metrics()
    with folder.metrics.open("ab") as file:
        file.write(b'{"epoch": 2, "valid_')
    assert folder.read_metrics() == rows


def test_an_archive_that_fills_the_memory(deepnlp, workplace):
    (workplace / "bomb.txt.gz").write_bytes(gzip.compress(b"a b c\n" * 12_000_000))
    done = deepnlp("train", "--corpus", "bomb.txt.gz", "--out", "new", *TINY)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "bomb.txt.gz unpacks to more than 100 times its size" in done.err


def test_more_memory_than_there_is():
    with pytest.raises(MemoryError, match=r"takes .* GB, and there are|Unable to allocate"):
        uniform((10**9, 10**9), 0.1)


RESULTS = ["{}", "[]", "null", '{"status": 3}', '{"status": "finished"}', '{"epochs": 1}', "7", ""]
RESULTS += ['{"status": "running", "epochs": 1}', '{"status": "finished", "epochs": NaN}']


@pytest.mark.parametrize("content", RESULTS)
def test_a_result_that_says_nothing(deepnlp, workplace, content):
    (workplace / "run" / "result.json").write_text(content, encoding="utf-8")
    for command in (
        ["info", "run"],
        ["train", "--resume", "run"],
        ["evaluate", "run"],
        ["generate", "run", "--length", "2"],
        ["vectors", "run", "--like", "cat"],
    ):
        done = deepnlp(*command)
        assert done.code in (0, 2)
        assert done.code == 0 or done.err.count("\n") == 1, done.err


@pytest.mark.parametrize("kind", ["link", "pipe"])
@pytest.mark.parametrize("name", ["out.txt", "out.npz"])
def test_what_is_no_file_is_not_replaced(deepnlp, workplace, kind, name):
    mine, out = workplace / "mine", workplace / name
    mine.write_text("mine", encoding="utf-8")
    if kind == "link":
        out.symlink_to(mine)
    else:
        os.mkfifo(out)
    before = out.lstat()
    command = ["export", "run"] if name == "out.txt" else ["import", "v.txt", "--like", "run"]
    assert deepnlp("export", "run", "--out", "v.txt").code == 0
    done = deepnlp(*command, "--out", name, "--overwrite")
    assert done.code == 2
    assert ("is a symbolic link" if kind == "link" else "it is a device or a pipe") in done.err
    assert (out.lstat().st_ino, out.lstat().st_mode) == (before.st_ino, before.st_mode)
    assert mine.read_text(encoding="utf-8") == "mine"


def test_no_file_is_opened_in_the_encoding_of_the_system(workplace):
    own = [*TRAIN, "--corpus", "cats.txt"]
    command = [sys.executable, "-X", "warn_default_encoding", "-m", "deepnlp", *own]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    warned = [line for line in done.stderr.splitlines() if "EncodingWarning" in line]
    assert not [line for line in warned if f"deepnlp{os.sep}" in line]
