"""The grader's end: a process for a submission, and stand-ins for the objects that live there."""

from __future__ import annotations

import base64
import builtins
import os
import pickle
import queue
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from deepnlp.grading import wire
from deepnlp.layer import Layer

WAIT = 10  # times its processor time an answer may take on the wall clock, and a minute at least
START = 120.0  # seconds in which a process should have loaded NumPy and the submission
PATHS = [str(Path(path).resolve()) for path in sys.path]  # before any solution is loaded
COMMAND = f"import sys; sys.path[:] = {PATHS}; from deepnlp.grading.worker import main; main()"


class EndedError(BaseException):
    """The process of a submission is gone, or was ended; no code of the grader goes on from it."""

    def __init__(self, diagnosis: str, text: str) -> None:
        super().__init__(text)
        self.diagnosis, self.text = diagnosis, text


class Remote:
    """An object that lives in the process of a submission: calls, attributes and copies go there.

    Parameters
    ----------
    session : Session
    described : dict
        Its number there, and the name of its type.
    """

    def __init__(self, session: Session, described: dict[str, Any]) -> None:
        self._session, self._key = session, int(described["key"])
        self._type = str(described["type"])

    def __call__(self, *given: Any, **named: Any) -> Any:
        """What a call gives there; weights come back where the exercise is to change them."""
        value, left = self._session.ask("call", self, given, named)
        if self._session.may_change_layers:
            layers = [each for each in given if isinstance(each, Layer)]
            for layer, arrays in zip(layers, left, strict=True):
                for parameter, array in zip(layer.parameters(), arrays, strict=True):
                    parameter.value[...] = array
        return value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._session.ask("attribute", self, name)

    def __deepcopy__(self, memo: Any) -> Any:
        return self._session.ask("copy", self)


class Session:
    """The process of a submission, started when the first question is asked.

    Parameters
    ----------
    task : dict
        ``cells``, the texts of the submission; ``lessons`` and ``imports``, what is loaded before
        it; ``memory`` in megabytes and ``seconds`` of processor time for all of it.
    seconds : float
        Processor time for the questions about one answer.
    """

    def __init__(self, task: dict[str, Any], seconds: float) -> None:
        self.task, self.seconds = task, seconds
        self.may_change_layers = False
        self.kind = ""
        self.process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """The time of an answer begins."""
        self.deadline = time.monotonic() + max(60.0, WAIT * self.seconds)
        self.before = self._processor_time()

    def ask(self, name: str, *given: Any) -> Any:
        """The reply to a question; an error of the submission is raised here under its name."""
        if self.process is None:
            self._start()
            self.begin()
        self._send([name, *given])
        return self._reply(self.seconds)

    def end(self) -> None:
        """End the process, whatever it is doing."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for stream in filter(None, (self.process.stdin, self.process.stdout)):
                with suppress(OSError, ValueError):
                    stream.close()
            self.process = None
            self.folder.cleanup()

    def _start(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="deepnlp-grade-")
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        system = {n: os.environ[n] for n in ("SYSTEMROOT", "LD_LIBRARY_PATH") if n in os.environ}
        self.process = subprocess.Popen(
            [sys.executable, "-IBc", COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self.folder.name,
            env=dict.fromkeys(names, "1") | system,
        )
        self.replies: queue.Queue[bytes | Exception] = queue.Queue(maxsize=2)
        threading.Thread(target=self._read, args=(self.process, self.replies), daemon=True).start()
        self.deadline, self.before = time.monotonic() + START, 0.0
        self._send(self.task)
        self.kind = str(self._reply(START))

    @staticmethod
    def _read(process: subprocess.Popen[bytes], replies: queue.Queue[bytes | Exception]) -> None:
        """Put messages, and at last the error that ends them, where they can be waited for."""
        assert process.stdout is not None
        try:
            while True:
                replies.put(wire.receive(process.stdout))
        except Exception as error:
            replies.put(error)

    def _send(self, value: Any) -> None:
        assert self.process is not None
        assert self.process.stdin is not None
        with suppress(OSError):  # that it is gone is seen when the reply is read
            self.process.stdin.write(wire.pack(value, _described))
            self.process.stdin.flush()

    def _reply(self, seconds: float) -> Any:
        while True:
            try:
                message = self.replies.get(timeout=0.1)
                break
            except queue.Empty:
                spent = self._processor_time() - self.before
                if spent > seconds or time.monotonic() > self.deadline:
                    self.end()
                    text = f"It did not end within {seconds:g} seconds."
                    raise EndedError("endless", text) from None
        try:
            if isinstance(message, Exception):
                raise message
            reply = wire.unpack(message, lambda described: Remote(self, described))
            if "value" in reply:
                return reply["value"]
            kind, text, line = map(str, reply["error"])
        except (EOFError, wire.BrokenMessageError, LookupError, TypeError, ValueError) as error:
            self.end()
            if isinstance(error, EOFError):
                text = "It ended the process that it ran in, or the system did."
                raise EndedError("ended", text) from None
            raise EndedError("ended", "It wrote what is no answer on the grader's pipe.") from None
        raise _as_error(kind, text, line)

    def _processor_time(self) -> float:
        """Seconds that the process has computed; 0 where the system does not tell."""
        if self.process is None:
            return 0.0
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError, AttributeError, IndexError):
            return 0.0


def _described(value: Any) -> dict[str, Any]:
    """An object for the process of a submission, which trusts the grader."""
    if isinstance(value, Remote):
        return {"key": value._key}
    return {"pickle": base64.b64encode(pickle.dumps(value)).decode()}


def _as_error(kind: str, text: str, line: str) -> Exception:
    """The error of that name, or one that says it; with the line that raised it."""
    known: Any = getattr(builtins, kind, None)
    is_error = isinstance(known, type) and issubclass(known, Exception)
    kinds = {"UnicodeDecodeError", "UnicodeEncodeError", "UnicodeTranslateError"}
    if not is_error or kind in kinds or kind.endswith("Group"):
        return RuntimeError(f"{kind}: {text} {line}".strip())
    error: Exception = known(f"{text} {line}".strip())
    return error
