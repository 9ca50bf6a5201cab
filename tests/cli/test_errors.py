"""What a user can get wrong: one line on standard error, exit code 2, nothing written."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from deepnlp import DeepNLPError
from deepnlp.checkpoint import model_file
from deepnlp.cli.commands import COMMANDS
from deepnlp.cli.main import main
from deepnlp.cli.shared import Model
from tests.cli.conftest import TINY, contents


@pytest.fixture
def workplace(tmp_path, run_folder, text_file, monkeypatch):
    """A folder with a run, a text and several broken things; the tests stand in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    for path in run_folder.iterdir():
        (tmp_path / "run" / path.name).write_bytes(path.read_bytes())
    (tmp_path / "empty").mkdir()
    (tmp_path / "cats.txt").write_bytes(text_file.read_bytes())
    (tmp_path / "short.txt").write_text("too short", encoding="utf-8")
    (tmp_path / "nul.txt").write_bytes(b"a cat sat\n" * 30 + bytes(4096))
    (tmp_path / "wide.txt").write_bytes("a cat sat\n".encode("utf-16-le") * 30)
    (tmp_path / "marked.txt").write_bytes(("a cat sat\n" * 30).encode("utf-16")[:-1])
    (tmp_path / "latin.txt").write_bytes("naïve\n".encode("latin-1") * 30)
    whole = (run_folder / "best.npz").read_bytes()
    (tmp_path / "alone.npz").write_bytes(whole)
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.npz").write_text("no archive", encoding="utf-8")
    (tmp_path / "bad.toml").write_text("epochs = 'many'", encoding="utf-8")
    return tmp_path


TRAIN = ["train", "--corpus", "cats.txt", "--out", "new", *TINY]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "required: COMMAND (see deepnlp --help)"),
        (["trian"], "did you mean train"),
        (["--no-such-option"], "see deepnlp --help"),
        # training
        ([*TRAIN, "--corpus", "nonesuch"], "unknown corpus 'nonesuch': expected pydocs"),
        ([*TRAIN, "--corpus", "missing.txt"], "no file or folder missing.txt"),
        ([*TRAIN, "--corpus", "short.txt"], "give it more text"),
        ([*TRAIN, "--corpus", "latin.txt"], "UTF-8"),
        ([*TRAIN, "--corpus", "nul.txt"], "nul.txt is not UTF-8 text: byte 0x00 at position 300"),
        ([*TRAIN, "--corpus", "wide.txt"], "wide.txt is not UTF-8 text: byte 0x00 at position 1"),
        ([*TRAIN, "--corpus", "marked.txt"], "marked.txt is not UTF-16 text: byte 0x0a"),
        ([*TRAIN, "--min-count", "1000000000"], "min_count is 1000000000, which leaves out every"),
        ([*TRAIN, "--forget-bias", "1e39"], "--forget-bias: should be a number, -1000 or more and"),
        ([*TRAIN, "--lr", "inf"], "--lr: should be a number, above 0"),
        ([*TRAIN, "--out", ""], "the folder of a run has no name"),
        (["train", "--out", "", "--resume"], "the folder of a run has no name"),
        ([*TRAIN, "--corpus", "empty"], "holds no .txt file"),
        ([*TRAIN, "--hidden-size", "-3"], "--hidden-size: should be a whole number, 1 or more"),
        ([*TRAIN, "--hidden-size", "8,x"], "1 or more, or a list of such, got '8,x'"),
        ([*TRAIN, "--hidden-size", "8,8,8,8"], "one for each of 1 layer"),
        ([*TRAIN, "--batch-size", "0"], "--batch-size: should be a whole number, 1 or more"),
        ([*TRAIN, "--dropout", "1.5"], "--dropout: should be a number, 0 or more and below 1"),
        ([*TRAIN, "--lr", "nan"], "--lr: should be a number, above 0"),
        ([*TRAIN, "--epochs", "many"], "1 or more, got 'many' (see deepnlp train"),
        ([*TRAIN, "--epoch", "3"], "unrecognized arguments: --epoch 3"),
        ([*TRAIN, "--cell", "elman"], "--cell: invalid choice: 'elman'"),
        ([*TRAIN, "--hidden-size", "9"], "tie='tied+L'"),
        ([*TRAIN, "--cell", "lstm", "--no-input-matrix"], "input_matrix=False"),
        ([*TRAIN, "--batch-size", "5000"], "too few"),
        ([*TRAIN, "--hidden-size", "10000000000000", "--tie", "none"], "out of memory"),
        ([*TRAIN, "--recipe", "nonesuch"], "unknown recipe 'nonesuch': expected one of "),
        ([*TRAIN, "--recipe", "missing.toml"], "no configuration missing.toml"),
        ([*TRAIN, "--recipe", "bad.toml"], "bad.toml: epochs should be a whole number"),
        ([*TRAIN, "--out", "run"], "run already holds a run"),
        ([*TRAIN, "--out", "cats.txt"], "cats.txt is a file"),
        (["train", "--out", "run", "--resume", "--overwrite"], "choose one"),
        (["train", "--resume"], "--resume needs the folder"),
        (["train", "--resume", "--out", "empty"], "no run to resume in empty"),
        (["train", "--resume", "--out", "run", "--lr", "3"], "cannot resume run with lr = 3.0"),
        # a trained model
        (["info", "missing"], "no checkpoint missing"),
        (["info", "empty"], "no checkpoint in the folder empty"),
        (["info", "cut.npz"], "cut.npz is damaged"),
        (["info", "text.npz"], "text.npz is damaged"),
        (["info"], "RUN_OR_CHECKPOINT"),
        (["info", "run", "--recipe", "default"], "not allowed with"),
        (["info", "run", "--vocab-size", "5"], "--vocab-size goes with --recipe"),
        (["evaluate", "alone.npz"], "say which with --corpus"),
        (["evaluate", "run", "--corpus", "missing.txt"], "no file or folder missing.txt"),
        (["evaluate", "run", "--split", "dev"], "invalid choice: 'dev'"),
        (["evaluate", "run", "--batch-size", "0"], "should be a whole number, 1 or more, got '0'"),
        (["generate", "missing.npz"], "no checkpoint missing.npz"),
        (["generate", "run", "--temperature", "0"], "use greedy instead"),
        (["generate", "run", "--top-k", "0"], "top_k should be 1 or more, got 0"),
        (["generate", "run", "--top-p", "1.2"], "top_p should be above 0 and at most 1"),
        (["generate", "run", "--length", "-4"], "0 or more and at most 1,000,000, got '-4'"),
        (["generate", "run", "--seed", "-4"], "should be a whole number, 0 or more, got '-4'"),
        (["generate", "run", "--samples", "none"], "should be a whole number, 1 or more"),
        (["score", "run"], "TEXT --file"),
        (["score", "run", ""], "holds no words"),
        (["score", "run", "--file", "missing.txt"], "missing.txt: no such file or directory"),
        (["score", "run", "--file", "latin.txt"], "latin.txt is not UTF-8 text"),
        (["score", "run", "--file", "nul.txt"], "nul.txt is not UTF-8 text: byte 0x00"),
        (["score", "run", "--file", "wide.txt"], "wide.txt is not UTF-8 text: byte 0x00"),
        (["score", "run", "the cat", "--file", "cats.txt"], "not allowed with"),
        # gradient checks
        (["gradcheck", "--layer", "Nonesuch"], "unknown layer 'Nonesuch': expected one of"),
        (["gradcheck", "--method", "guess"], "invalid choice: 'guess'"),
        (["gradcheck", "--seed", "x"], "should be a whole number, 0 or more"),
        (["--backend", "abacus", "info", "run"], "invalid choice: 'abacus'"),
    ],
)
def test_one_line_and_nothing_written(deepnlp, workplace, arguments, text):
    before = contents(workplace)
    done = deepnlp(*arguments)
    assert done.code == 2
    assert done.err.startswith("deepnlp: error: ")
    assert done.err.count("\n") == 1
    assert done.err.endswith("\n")
    assert text in done.err
    assert done.out == ""
    assert contents(workplace) == before
    assert not (workplace / "new").exists()


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (PermissionError(13, "Permission denied", "new"), "new: permission denied"),
        (
            NotADirectoryError(20, "Not a directory", "cats.txt/new"),
            "cats.txt/new: not a directory",
        ),
    ],
)
def test_a_folder_that_cannot_be_made(deepnlp, workplace, monkeypatch, error, text):
    def refuse(*arguments, **options):
        raise error  # what the system says to everyone but root

    monkeypatch.setattr(Path, "mkdir", refuse)
    done = deepnlp(*TRAIN)
    assert (done.code, done.err) == (2, f"deepnlp: error: {text}\n")


def test_a_backend_that_is_not_installed(deepnlp, workplace, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    for arguments in (["--backend", "cupy", "info", "run"], ["info", "run", "--backend", "cupy"]):
        done = deepnlp(*arguments)
        assert done.code == 2
        assert "python -m pip install 'cupy-cuda13x[ctk]'" in done.err
        assert done.err.count("\n") == 1


def python_m_deepnlp(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "deepnlp", *map(str, arguments)],
        capture_output=True,
        check=False,
        encoding="utf-8",
        **options,
    )


def test_the_environment_names_an_unknown_backend(run_folder):
    environment = {**os.environ, "DEEPNLP_BACKEND": "abacus"}
    done = python_m_deepnlp("info", run_folder, env=environment)
    assert done.returncode == 2
    assert done.stderr == (
        "deepnlp: error: DEEPNLP_BACKEND: unknown backend 'abacus': choose 'numpy' or 'cupy'\n"
    )


def test_diverged_training_stops_with_advice(workplace):
    done = python_m_deepnlp(*TRAIN, "--optimizer", "sgd", "--lr", "1e38", "--max-norm", "0")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("deepnlp: error: training diverged at step")
    assert "Warning" not in done.stderr
    assert "Traceback" not in done.stderr


def test_traceback_shows_where(deepnlp, workplace):
    for arguments in (["info", "missing", "--traceback"], ["--traceback", "info", "missing"]):
        done = deepnlp(*arguments)
        assert done.code == 2
        assert "Traceback (most recent call last)" in done.err
        assert done.err.splitlines()[-1].startswith("deepnlp: error: no checkpoint missing")


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (KeyboardInterrupt(), 130, "deepnlp: interrupted\n"),
        (MemoryError(), 2, "deepnlp: error: out of memory; try a smaller --batch-size"),
        (DeepNLPError("first\nsecond"), 2, "deepnlp: error: first second\n"),
        (DeepNLPError(), 2, "deepnlp: error: DeepNLPError\n"),
    ],
)
def test_what_a_command_raises(deepnlp, monkeypatch, error, code, text):
    def raises(model: Model):
        raise error

    monkeypatch.setattr("deepnlp.cli.info.run", raises)
    done = deepnlp("info", "anything")
    assert (done.code, done.err[: len(text)]) == (code, text)


@pytest.mark.parametrize(
    "mistake", [lambda: {}["ours"], lambda: int("ours"), lambda: len(7), lambda: model_file(None)]
)
def test_an_error_of_the_program_itself_is_not_hidden(monkeypatch, mistake):
    """A ValueError or a TypeError is the user's only where deepnlp raises it by a statement."""

    def run(model: Model):
        mistake()

    monkeypatch.setattr("deepnlp.cli.info.run", run)
    with pytest.raises((KeyError, ValueError, TypeError)):
        main(["info", "anything"])


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="pipes of another kind")
def test_a_reader_that_goes_away(run_folder):
    command = [sys.executable, "-m", "deepnlp", "generate", str(run_folder), "--length", "1000000"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 141


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(deepnlp, command):
    done = deepnlp(command, "--help")
    assert done.code == 0
    assert f"deepnlp {command}" in done.out.split("examples:")[1]
    assert "--json" in done.out
    assert "--backend" in done.out


def test_help_and_version_are_quick():
    code = (
        "import sys; from deepnlp.cli.main import main;"
        "assert main(['--help']) == 0 and main(['--version']) == 0;"
        "slow = {'matplotlib', 'tqdm', 'deepnlp.training', 'deepnlp.datasets'} & set(sys.modules);"
        "assert not slow, slow"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    for command in COMMANDS:
        assert command.encode() in done.stdout
