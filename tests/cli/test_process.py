"""The process of a command: its standard streams, and Ctrl-C at any time."""

import importlib
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deepnlp import checkpoint
from deepnlp.cli.interrupted import Interruption
from deepnlp.cli.main import main
from deepnlp.cli.shared import Model
from deepnlp.models import RNNLM
from deepnlp.text import Vocabulary
from tests.cli.conftest import TINY

COMMAND = [sys.executable, "-m", "deepnlp"]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="shells and signals of another kind")


def in_shell(line, *arguments, **options):
    """Run the command with redirections: ``"info run 2>&-"``, arguments as $1, $2 ..."""
    return subprocess.run(
        ["sh", "-c", f'"$PYTHON" -m deepnlp {line}', "sh", *map(str, arguments)],
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        check=False,
        encoding="utf-8",
        **options,
    )


@pytest.mark.parametrize(
    ("line", "code", "err"),
    [
        ('info "$1" <&- >&- 2>&-', 0, ""),
        ("info nothing 2>/dev/full", 2, ""),
        ("info nothing >&-", 2, "deepnlp: error: no checkpoint nothing\n"),
        ('score "$1" - <&-', 2, "deepnlp: error: the text to score holds no words\n"),
        ('info "$1" >/dev/full', 2, "deepnlp: error: standard output: no space left on device: "),
        ("train --help >/dev/full", 2, "deepnlp: error: standard output: no space left on device"),
    ],
)
def test_streams_that_are_closed_or_full(run_folder, line, code, err):
    done = in_shell(line, run_folder)
    assert done.returncode == code
    assert done.stderr.startswith(err)
    assert done.stderr.count("\n") == bool(err)


def test_training_goes_on_without_streams(tmp_path, text_file):
    out = tmp_path / "run"
    options = " ".join(TINY)
    line = f'train --corpus "$1" --out "$2" {options} <&- >&- 2>&-'
    assert in_shell(line, text_file, out).returncode == 0
    assert (out / "result.json").exists()
    for path in out.iterdir():  # none of them was opened under the number of standard error
        assert b"epoch 1/1" not in path.read_bytes()


def test_output_into_a_file_that_fills_up_names_the_file(tmp_path, run_folder):
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    (tmp_path / "figure.png").symlink_to("/dev/full")
    done = in_shell('demo vanishing --out "$1"', tmp_path / "figure.png" / "no")
    assert done.returncode == 2
    assert str(tmp_path / "figure.png") in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_wrong_environment_is_one_line(run_folder):
    done = subprocess.run(
        [*COMMAND, "info", run_folder],
        env={**os.environ, "DEEPNLP_KERNELS": "fast"},
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    assert done.returncode == 2
    assert done.stderr.startswith("deepnlp: error: DEEPNLP_KERNELS: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("module", ["deepnlp.cli.parser", "numpy"])
def test_ctrl_c_while_modules_are_imported(run_folder, module):
    """It comes just after one of them, that is while the next ones are imported."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-X",
            "importtime",
            *COMMAND[1:],
            "generate",
            run_folder,
            "--length=1000000",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        bufsize=0,
    )
    for line in process.stderr:
        if line.decode().rpartition("|")[2].strip() == module:
            process.send_signal(signal.SIGINT)
            break
    _, err = process.communicate(timeout=60)
    said = [line for line in err.splitlines() if not line.startswith(b"import time:")]
    assert (process.returncode, said) == (130, [b"deepnlp: interrupted"])


def test_an_interruption_that_comes_as_another_error(deepnlp, monkeypatch):
    def raises(model: Model):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("half of a module") from None

    monkeypatch.setattr("deepnlp.cli.info.run", raises)
    done = deepnlp("info", "anything")
    assert (done.code, done.err) == (130, "deepnlp: interrupted\n")


def test_handlers_are_put_back():
    before = signal.getsignal(signal.SIGINT)
    with Interruption() as interruption:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert interruption.arrived
    assert signal.getsignal(signal.SIGINT) is before
    assert main(["--version"]) == 0
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interruption_that_cannot_be_raised_comes_later():
    class Ends:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    def end_and_wait():
        Ends()
        time.sleep(10)

    with Interruption() as interruption, pytest.raises(KeyboardInterrupt):
        end_and_wait()
    assert interruption.arrived


@pytest.fixture
def imported(tmp_path, monkeypatch):
    """Import a module that is interrupted at its beginning, and then does what is given."""

    def import_with(rest):
        text = f"import signal\ntry:\n    signal.raise_signal(signal.SIGINT)\n{rest}\n"
        (tmp_path / "interrupted_module.py").write_text(text)
        importlib.import_module("interrupted_module")

    monkeypatch.syspath_prepend(tmp_path)
    yield import_with
    sys.modules.pop("interrupted_module", None)


def test_an_interruption_waits_for_the_end_of_an_import(imported):
    def import_and_wait():
        imported("except BaseException:\n    pass\nwhole = True")
        time.sleep(10)

    with Interruption() as interruption, pytest.raises(KeyboardInterrupt):
        import_and_wait()
    assert interruption.arrived
    assert sys.modules["interrupted_module"].whole


def test_an_import_that_does_not_end_is_interrupted(imported, monkeypatch):
    monkeypatch.setattr("deepnlp.cli.interrupted.PATIENCE", 0.1)
    with Interruption() as interruption, pytest.raises(KeyboardInterrupt):
        imported("finally:\n    import time\n    time.sleep(10)")
    assert interruption.arrived
    assert "interrupted_module" not in sys.modules


def test_an_interruption_that_came_too_late_is_forgotten(imported):
    with Interruption() as interruption:
        imported("finally:\n    pass")
    time.sleep(0.1)
    assert not interruption.arrived


def test_interrupted_twice_says_so_once(run_folder):
    process = subprocess.Popen(
        [*COMMAND, "generate", run_folder, "--length", "1000000"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    time.sleep(1.5)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"deepnlp: interrupted\n")


# --- What tokens may hold ------------------------------------------------------------------------

ESCAPE = "\x1b[31mred\x1b]0;title\x07"


@pytest.fixture
def hostile(tmp_path):
    """A model whose words are escape sequences of terminals."""
    model = RNNLM(3, 4, 4)
    model.vocab = Vocabulary.build([ESCAPE, "\x9b2J"], tokenizer="whitespace")
    model = RNNLM(len(model.vocab), 4, 4)
    model.vocab = Vocabulary.build([ESCAPE, "\x9b2J"], tokenizer="whitespace")
    path = tmp_path / "hostile.npz"
    checkpoint.save(path, model)
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        ["generate", "--length", "30"],
        ["generate", "--length", "30", "--samples", "2"],
        ["generate", "--length", "30", "--json"],
        ["generate", "--prompt", "\x1b[2J"],
        ["score", f"{ESCAPE} \x9b2J \x1b[5m"],
        ["score", f"{ESCAPE} \x9b2J", "--json"],
        ["info", "--json"],
    ],
    ids=str,
)
def test_no_control_character_reaches_the_terminal(deepnlp, hostile, arguments):
    command, *options = arguments
    done = deepnlp(command, hostile, *options)
    assert done.code == 0
    for text in (done.out, done.err):
        assert not [c for c in text if (c < " " and c not in "\n\t") or "\x7f" <= c <= "\x9f"]
    if "--json" in options and command != "info":
        assert any(word in str(done.json) for word in (repr(ESCAPE)[1:-1], repr("\x9b2J")[1:-1]))


def test_file_names_in_errors_are_shown_too(deepnlp):
    done = deepnlp("info", "no\x1b[31m\nsuch")
    assert (done.code, done.err) == (2, "deepnlp: error: no checkpoint no\\u001b[31m such\n")


def test_on_a_terminal(hostile):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "generate", hostile, "--length", "20", "--seed", "1"],
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the end, as Linux says it
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait(timeout=60) == 0
    assert b"\\u001b[31mred" in shown or b"\\u009b2J" in shown
    assert b"\x1b" not in shown
    assert b"\xc2\x9b" not in shown


def test_an_argument_that_is_no_text_is_refused_at_once(tmp_path):
    done = subprocess.run(
        [*COMMAND, "train", "--out", b"new\xff"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    assert done.returncode == 2
    assert done.stderr == (
        "deepnlp: error: new\\udcff: expected arguments in UTF-8; give the file another name\n"
    )
    assert not list(tmp_path.iterdir())
