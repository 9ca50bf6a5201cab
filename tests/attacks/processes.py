"""Ctrl-C at random moments, and standard streams that are closed or full."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.attacks.workplace import TINY

FIRST = ("/deepnlp/__main__.py", "/deepnlp/cli/interrupted.py")  # up to the first line of the guard
COMMAND = [sys.executable, "-m", "deepnlp"]
TRAIN = ["train", "--corpus", "cats.txt", "--out", "interrupted", *TINY, "--epochs", "200"]
REDIRECTIONS = (">&-", "2>&-", "<&-", "<&- >&- 2>&-", ">/dev/full", "2>/dev/full", "2>&1 >&-")
COMMANDS = {
    "--help": 0,
    "info run": 0,
    "info nothing": 2,
    "generate run --length 500": 0,
    "generate run --length 5 --json": 0,
    "score run --file cats.txt": 0,
    "gradcheck --layer Affine": 0,
    "data list": 0,
    f"train --corpus cats.txt --out streams --overwrite {' '.join(TINY)}": 0,
}


def interruptions(count: int, seed: int) -> Iterator[tuple[str, str, str]]:
    """Kind, verdict and text of commands that get Ctrl-C at a random moment, or twice."""
    choose = random.Random(seed)
    for _ in range(count):
        line = choose.choice([["generate", "run", "--length", "1000000"], TRAIN])
        process = subprocess.Popen(
            [*COMMAND, *line], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        time.sleep(choose.choice([choose.uniform(0, 0.2), choose.uniform(0, 3)]))
        for _ in range(choose.choice([1, 1, 2])):
            process.send_signal(signal.SIGINT)
        try:
            _, err = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            _, err = process.communicate()
            err += "HUNG"
        shutil.rmtree("interrupted", ignore_errors=True)
        told = f"{process.returncode} {err[-500:]}"
        yield f"Ctrl-C in {line[0]}", _judge(process.returncode, err), told


def _judge(code: int, err: str) -> str:
    said = [line for line in err.splitlines() if line.startswith("deepnlp: interrupted")]
    if code == 130 and said == err.splitlines()[-1:] and said and "Traceback" not in err:
        return "ended with one line"
    own = [line for line in err.splitlines() if "/deepnlp/" in line]
    own = [line for line in own if not any(file in line for file in FIRST)]
    if not said and not own and code in (1, -signal.SIGINT):
        return "ended while Python itself started"
    return "CRASHED" if "HUNG" not in err else "HUNG"


def streams() -> Iterator[tuple[str, str, str]]:
    """Kind, verdict and text of commands without one of their streams."""
    for command, expected in COMMANDS.items():
        for redirection in REDIRECTIONS:
            done = subprocess.run(
                ["sh", "-c", f'"$PYTHON" -m deepnlp {command} {redirection}'],
                env={**os.environ, "PYTHON": sys.executable},
                capture_output=True,
                check=False,
                encoding="utf-8",
            )
            kind, lines = f"streams of {command.split()[0]}", done.stderr.splitlines()
            full = redirection == ">/dev/full" and not expected
            if "Traceback" in done.stderr or "Exception ignored" in done.stderr:
                verdict = "CRASHED"
            elif done.returncode != (2 if full else expected):
                verdict = f"CODE {done.returncode}"
            elif full and "standard output: no space left" not in lines[-1]:
                verdict = "NO REASON"
            elif command[:5] == "train" and not (full or Path("streams/result.json").exists()):
                verdict = "UNTRAINED"
            else:
                verdict = "said why" if full or expected else "done"
            yield kind, verdict, f"{command} {redirection}: {done.returncode} {done.stderr[-300:]}"
            shutil.rmtree("streams", ignore_errors=True)
