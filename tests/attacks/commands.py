"""Odd command lines, and what became of each."""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deepnlp.cli.commands import build_parser
from deepnlp.cli.main import main
from tests.attacks.workplace import TINY

SECONDS, BYTES = 60, 6 << 30  # of address space, of which NumPy and its libraries take 2
ODD = [
    *("", " ", "-1", "0", "1", "3", "nan", "inf", "-inf", "1e308", "1e-320", "2.5", "9" * 12),
    *("9" * 5000, "a", "é😀", "\x1b[31m", "../../x", "x" * 300, "[1]", "{}", "%s", "a=b", "a:b:c"),
    *("/dev/zero", "/dev/null", "/", ".", "..", "run", "cats.txt", "random.txt", "deep.toml"),
    *("half.npz", "bomb.npz", "empty.txt", "zeros.txt", "translator.npz", "vectors.txt", "fifo"),
    *("loop", "folder", "--", "--json", "a\nb", "x.png", "a.png/", "1,2,3", ",", "lr=1:2"),
]
MODELS = ["run", "translator.npz", "tagger.npz", "vectors.npz"]
# What makes a command quick: given last, so that it counts.
BEGINNINGS: dict[str, tuple[list[str], list[str]]] = {
    "train": (["train", "--corpus", "cats.txt", *TINY], ["--epochs", "1"]),
    "dry": (["train", "--corpus", "cats.txt", *TINY], ["--dry-run"]),
    "evaluate": (["evaluate", "run"], []),
    "generate": (["generate", "run"], ["--length", "20"]),
    "translate": (["translate", "translator.npz", "abc"], ["--max-length", "20"]),
    "score": (["score", "run"], []),
    "info": (["info"], []),
    "gradflow": (["gradflow", "run", "--steps", "3"], ["--batch-size", "2"]),
    "gradcheck": (["gradcheck"], ["--layer", "Affine"]),
    "vectors": (["vectors", "neighbours", "vectors.txt", "cat"], []),
    "plot": (["vectors", "plot", "vectors.txt"], []),
    "convert": (["vectors", "convert", "vectors.txt"], []),
    "demo": (["demo"], ["none"]),
    "reproduce": (["reproduce"], ["--status"]),
    "search": (["search"], ["--status"]),
    "export": (["export", "run"], []),
    "import": (["import"], []),
}


@dataclass
class Outcome:
    """What became of a command line."""

    kind: str
    arguments: list[str]
    code: int
    err: str
    seconds: float
    changed: list[str]

    @property
    def verdict(self) -> str:
        """``done``, ``refused``, or what is wrong."""
        lines = self.err.splitlines()
        if self.changed:
            return "WROTE OVER"
        if self.code == -signal.SIGKILL:
            return "HUNG"
        if "Traceback" in self.err or "Warning" in self.err or self.code < 0:
            return "CRASHED"
        if self.code == 2:
            said = [line for line in lines if line.startswith("deepnlp: error: ")]
            return "refused" if said == lines[-1:] and said else "NOT ONE LINE"
        return "done" if self.code in (0, 1) else f"CODE {self.code}"


def fixed() -> Iterator[tuple[str, list[str]]]:
    """Each command on each odd file, and each broken run."""
    files = sorted(path.name for path in Path().iterdir() if path.is_file() or path.is_fifo())
    odd = ["/dev/zero", "/dev/null", "/", "loop", "folder", "fifo", "", "no\x1b[31m\nsuch"]
    for name in [*odd, *(name for name in files if not name.endswith((".py", ".json")))]:
        suffix = Path(name).suffix
        if suffix in ("", ".txt", ".gz"):
            yield "text", ["score", "run", "--file", name]
            yield "text", ["translate", "translator.npz", "--file", name]
            yield "corpus", ["train", "--corpus", name, "--out", "new", *TINY]
            yield "corpus", ["evaluate", "run", "--corpus", name]
        if suffix in ("", ".npz"):
            yield "model", ["info", name]
            yield "model", ["generate", name, "--length", "5"]
            yield "model", ["train", "--corpus", "cats.txt", "--start-from", name, *TINY]
        if suffix in ("", ".toml"):
            yield "table", ["train", "--recipe", f"{name}", "--dry-run"]
            yield "table", ["reproduce", name, "--status"]
            yield "table", ["search", name, "--status"]
        if suffix in ("", ".txt", ".gz", ".bin", ".vec", ".npy"):
            yield "vectors", ["vectors", "neighbours", name, "cat"]
        if suffix in ("", ".safetensors", ".pt", ".txt"):
            yield "import", ["import", name, "--out", "imported.npz"]
    for name in files:
        if name.endswith(".py"):
            yield "layer", ["gradcheck", f"{name}:A", "--input", "N=3,D=4"]
    for run in sorted(Path("runs-broken").iterdir()):
        for line in (["info"], ["evaluate"], ["generate"], ["gradflow", "--steps", "2"]):
            yield "run", [line[0], str(run), *line[1:]]
        yield "run", ["train", "--resume", "--out", str(run), "--epochs", "2"]


def drawn(count: int, seed: int) -> Iterator[tuple[str, list[str]]]:
    """Commands with options at random, and odd values for them."""
    choose = random.Random(seed)
    for _ in range(count):
        kind = choose.choice([*BEGINNINGS])
        before, after = BEGINNINGS[kind]
        options = [action for action in _options(before) if action.option_strings]
        line = []
        for action in choose.sample(options, min(len(options), choose.randint(1, 3))):
            line.append(choose.choice(action.option_strings))
            if action.nargs != 0:
                line.append(choose.choice(ODD))
        if choose.random() < 0.3:
            line.append(choose.choice(ODD))
        if choose.random() < 0.2:
            before = [before[0], choose.choice([*MODELS, *ODD]), *before[2:]]
        yield kind, [*before, *line, *after]


def _options(line: list[str]) -> list[argparse.Action]:
    """The options of the command that a line begins with."""
    parser = build_parser(line)
    for word in line:
        chosen = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
        if chosen and word in chosen[0].choices:
            parser = chosen[0].choices[word]
    left_out = {"--help", "--traceback"}
    return [a for a in parser._actions if not left_out & {*a.option_strings}]


def attack(kind: str, arguments: list[str]) -> Outcome:
    """Run a command in a process of its own, which has all imports already."""
    before = _state()
    out, err = Path("../out"), Path("../err")
    begun = time.monotonic()
    child = os.fork()
    if not child:
        _become(arguments, out, err)
    code = _wait(child)
    told = err.read_text(encoding="utf-8", errors="replace")
    after = _state()
    changed = [name for name in before if before[name] != after.get(name)]
    allowed = arguments[:2] == ["train", "--resume"] or "--overwrite" in arguments
    return Outcome(
        kind, arguments, code, told, time.monotonic() - begun, [] if allowed else changed
    )


def _become(arguments: list[str], out: Path, err: Path) -> None:
    """Turn this process into the command."""
    code = 70
    try:
        for number, path in ((1, out), (2, err)):
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdin = open(0)  # noqa: SIM115
        sys.stdout, sys.stderr = open(1, "w"), open(2, "w")  # noqa: SIM115
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        sys.argv = ["deepnlp", *arguments]
        code = main()
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


def _wait(child: int) -> int:
    """The exit code, negative for a signal; the process is killed after a while."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _state() -> dict[str, tuple[int, int]]:
    """Size and time of all files that were there from the beginning."""
    found = {}
    for path in Path().rglob("*"):
        if path.is_file() and not path.name.startswith("."):
            stat = path.stat()
            found[str(path)] = stat.st_size, stat.st_mtime_ns
    return found
