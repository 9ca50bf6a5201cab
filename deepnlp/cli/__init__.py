"""The command line: ``deepnlp COMMAND``, or ``python -m deepnlp COMMAND``.

One file a command, each with ``configure(parser)``, which adds its options, and
``run(arguments)``, which returns the exit code. A command's file, and the parts of the
framework that it needs, are imported when the command is called, so that ``deepnlp --help`` is
quick.

Exit codes: 0 done; 1 a check of gradients or of data failed; 2 an error that the user can correct,
reported in one line on standard error; 130 interrupted from the keyboard; 141 the reader of a pipe
has closed it.
"""

import os
import sys
import traceback
from collections.abc import Sequence

from deepnlp.cli.parser import Parser, build_parser
from deepnlp.errors import DeepNLPError

__all__ = ["Parser", "build_parser", "main"]

INTERRUPTED = 130  # 128 + SIGINT, as in shells
BROKEN_PIPE = 141  # 128 + SIGPIPE


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, by default that of the process's arguments; gives the exit code.

    >>> main(["--version"])
    deepnlp 0.1.0
    0
    """
    argv = sys.argv[1:] if argv is None else list(argv)
    for stream in (sys.stdout, sys.stderr):  # for words that the terminal cannot show
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(argv)
        sys.stdout.flush()  # here, so that a broken pipe is noticed inside this try
        return code
    except SystemExit as stop:  # argparse: after --help, --version or an error it has printed
        return stop.code if isinstance(stop.code, int) else 0
    except KeyboardInterrupt:
        print("deepnlp: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # What is left in the buffer would raise once more when the interpreter closes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except (DeepNLPError, ValueError, TypeError, OSError, MemoryError) as error:
        if "--traceback" in argv:
            traceback.print_exc()
        print(f"deepnlp: error: {in_one_line(error)}", file=sys.stderr)
        return 2


def _run(argv: list[str]) -> int:
    arguments = build_parser(argv).parse_args(argv)
    if arguments.backend is not None:
        from deepnlp import backend

        backend.use(arguments.backend)
    code: int = arguments.run(arguments)
    return code


def in_one_line(error: Exception) -> str:
    """The message of an exception, on one line.

    >>> in_one_line(PermissionError(13, "Permission denied", "runs/first"))
    'runs/first: permission denied'
    """
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror[0].lower()}{error.strerror[1:]}"
    if isinstance(error, MemoryError):
        said = f": {error}" if str(error) else ""
        return f"out of memory{said}; try a smaller --batch-size, --hidden-size or --vocab-size"
    return " ".join(str(error).split()) or type(error).__name__
