"""Standard output and standard error as commands write to them: shown safely, or to nowhere."""

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from typing import Any

# Control characters but tab and line feed: on a terminal they move the cursor, or do worse.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
CONTROLS_BESIDE_A_BAR = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")  # a bar needs \r


class Output:
    r"""Standard output, in which control characters are shown and errors have a name.

    They are shown as ``\u001b``, which JSON reads as the character that it stands for.

    >>> print("a\x1b[31mb", file=Output(sys.stdout))
    a\u001b[31mb
    """

    name, controls = "standard output", CONTROLS

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write a text; gives its length."""
        shown = self.controls.sub(lambda control: f"\\u{ord(control[0]):04x}", text)
        self._do(self.stream.write, shown)
        return len(text)

    def flush(self) -> None:
        """Write what is still kept back."""
        self._do(self.stream.flush)

    def _do(self, function: Any, *arguments: Any) -> None:
        try:
            function(*arguments)
        except OSError as error:
            error.filename = self.name
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class Remarks(Output):
    """Standard error: where nobody can read it, the work goes on without."""

    name, controls = "standard error", CONTROLS_BESIDE_A_BAR

    def _do(self, function: Any, *arguments: Any) -> None:
        with contextlib.suppress(OSError, ValueError):
            function(*arguments)


@contextlib.contextmanager
def standard_streams() -> Iterator[None]:
    """Context with three standard streams that can be used; a closed one leads to nowhere.

    Were its number left free, the next file to be opened would get it, and all that is written to
    standard error.
    """
    for number, (name, mode) in enumerate({"stdin": "r", "stdout": "w", "stderr": "w"}.items()):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, number)
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    before = sys.stdout, sys.stderr
    for stream in before:  # for words that the terminal cannot show
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.stdout, sys.stderr = Output(sys.stdout), Remarks(sys.stderr)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        for stream in before:
            try:
                stream.flush()
            except (OSError, ValueError):  # else the interpreter would try again at its end
                with contextlib.suppress(OSError, ValueError):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
