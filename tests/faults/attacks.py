"""Runs that are killed, disturbed, or two at once in one folder.

Every attempt is a process of its own, forked from this one: it begins a run, resumes one that was
stopped, or replaces one. Afterwards every file under its name must be whole, and the same command,
or ``--resume``, must end with the bits of a run that nobody has disturbed.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deepnlp.errors import DeepNLPError
from deepnlp.files.archives import read_npz
from deepnlp.files.writing import replacing
from deepnlp.tasks import Task
from deepnlp.training import RunFolder
from tests.faults.injecting import CALLS, ERRORS, KILL, SHORT, Injection
from tests.training.tools import STEPS_AN_EPOCH, end_of, stop_at, tiny_trainer

RATES = {"begin": 0.1, "resume": 0.1, "overwrite": 0.05}  # the learning rate tells runs apart
STARTS = tuple(RATES)
REFUSED = 3


class Attacks:
    """Attempts below a folder, and counts of how they ended."""

    def __init__(self, folder: Path, seed: int = 0) -> None:
        self.folder, self.rng = folder, random.Random(seed)
        Task.draw = picture  # type: ignore[method-assign]
        self.number = 0
        self.whole = {}
        for rate in {*RATES.values()}:
            tiny_trainer(folder / f"whole-{rate}", lr=rate).fit()
            self.whole[rate] = end_of(folder / f"whole-{rate}")
        stopped = tiny_trainer(folder / "stopped")
        stop_at(stopped, STEPS_AN_EPOCH + 5, "interrupt")
        began = time.monotonic()
        stopped.fit()
        self.seconds = time.monotonic() - began
        self.counts = {start: self._counted(start) for start in STARTS}

    # --- Kinds of attack -------------------------------------------------------------------------

    def kill_at_a_moment(self) -> str:
        """Kill at a random moment; how that ended."""
        folder, start = self._next()
        child = self._child(lambda: train(folder, start))
        time.sleep(self.rng.uniform(0, 2 * self.seconds))
        os.kill(child, signal.SIGKILL)
        return self._end(folder, child)

    def kill_at_a_call(self) -> str:
        """Kill in a call of the system."""
        folder, start = self._next()
        call, k = self._call(start)
        return self._end(folder, self._child(lambda: train(folder, start), folder, call, k, KILL))

    def fault(self) -> str:
        """Have a call fail, or all writes write less than they should."""
        folder, start = self._next()
        call, k = self._call(start)
        how = (*ERRORS, SHORT)[self.number % 4]
        return self._end(folder, self._child(lambda: train(folder, start), folder, call, k, how))

    def pair(self) -> str:
        """Two processes at once."""
        folder, _ = self._next("resume")
        starts = [("resume", "resume"), ("overwrite", "overwrite"), ("resume", "overwrite")]
        pair = starts[self.number % 3]
        # the second comes at once, or somewhere within the first
        wait = self.rng.choice([0.0, self.rng.uniform(0, self.seconds)])
        children = [self._child(lambda: train(folder, pair[0]))]
        time.sleep(wait)
        children.append(self._child(lambda: train(folder, pair[1])))
        codes = sorted(_code(os.waitpid(child, 0)[1]) for child in children)
        assert set(codes) <= {0, REFUSED}, (pair, codes)
        assert 0 in codes, (pair, codes)
        self._check(folder)
        return f"{pair[0]} and {pair[1]}: " + (
            "one went on, one was refused" if REFUSED in codes else "one after the other"
        )

    # --- What they share -------------------------------------------------------------------------

    def _next(self, start: str | None = None) -> tuple[Path, str]:
        self.number += 1
        start = start or STARTS[self.number % 3]
        folder = self.folder / str(self.number)
        if start != "begin":
            shutil.copytree(self.folder / "stopped", folder)
        return folder, start

    def _call(self, start: str) -> tuple[str, int]:
        """A call that this start makes, each kind equally often, and which of them."""
        counts = self.counts[start]
        call = self.rng.choice([call for call in CALLS if counts[call]])
        return call, self.rng.randint(1, counts[call])

    def _counted(self, start: str) -> Counter[str]:
        """How many calls of each kind a run makes that is not disturbed."""
        folder, reader = self.folder / f"counted-{start}", os.pipe()
        if start != "begin":
            shutil.copytree(self.folder / "stopped", folder)
        child = os.fork()
        if not child:
            injection = Injection(folder)
            injection.install()
            train(folder, start)
            os.write(reader[1], repr(dict(injection.counts)).encode())
            os._exit(0)
        os.waitpid(child, 0)
        counts: Counter[str] = Counter(eval(os.read(reader[0], 10_000)))
        return counts

    def _child(self, function: Callable[[], Any], *injected: Any) -> int:
        """A process that calls a function; its code says how that ended."""
        child = os.fork()
        if child:
            return child
        code = 1
        try:
            if injected:
                Injection(*injected).install()
            function()
            code = 0
        except (DeepNLPError, OSError) as error:
            named = not isinstance(error, OSError) or error.filename is not None
            code = REFUSED if named and "\n" not in str(error) else 1
            if code == 1:
                traceback.print_exc()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def _end(self, folder: Path, child: int) -> str:
        """Wait for the process, check what it left, and go on with it to the end."""
        code = _code(os.waitpid(child, 0)[1])
        assert code in (0, REFUSED, -signal.SIGKILL), (folder, code)
        self._check(folder)
        return {0: "finished", REFUSED: "error in one line"}.get(code, "killed")

    def _check(self, folder: Path) -> None:
        """Every file is whole, and the run goes on to the end it would have had."""
        with contextlib.suppress(FileNotFoundError), RunFolder(folder).held(resume=True):
            pass
        if (folder / "config.toml").exists():
            options = tomllib.loads((folder / "config.toml").read_text(encoding="utf-8"))
            rate = options["lr"]
            for name in ("checkpoint.npz", "best.npz"):
                if (folder / name).exists():
                    read_npz(folder / name)
            tiny_trainer(folder, lr=rate).fit(resume=True)
        else:
            rate = RATES["begin"]
            tiny_trainer(folder, lr=rate).fit()
        assert end_of(folder) == self.whole[rate], folder
        assert not [*folder.glob("*.tmp"), *folder.glob("*.next")], folder
        shutil.rmtree(folder)


def picture(task: Task, history: Any, baselines: Any, path: Path) -> None:
    """In place of a learning curve, whose drawing takes most of a run: written as it is."""
    with replacing(path) as file:
        for part in (b"\x89PNG\r\n\x1a\n", *[bytes(10_000)] * 4):
            file.write(part)


def train(folder: Path, start: str) -> None:
    """Begin, resume or replace a run."""
    trainer = tiny_trainer(folder, lr=RATES[start], overwrite=start == "overwrite")
    trainer.fit(resume=start == "resume")


def _code(status: int) -> int:
    return os.waitstatus_to_exitcode(status)
