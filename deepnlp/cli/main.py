"""The command line: ``deepnlp COMMAND``, or ``python -m deepnlp COMMAND``.

One file a command, whose function ``run`` declares its arguments by signature and docstring and
returns an ``Answer``. With ``--json`` everything else that it prints goes to standard error. A
command's file is imported when the command is called, so that ``deepnlp --help`` is quick.

Exit codes: 0 done; 1 a check of gradients or of data failed; 2 an error that the user can correct,
reported in one line on standard error; 130 interrupted from the keyboard; 141 the reader of a pipe
has closed it.
"""

import contextlib
import sys
import traceback
from collections.abc import Sequence

from deepnlp.cli.commands import build_parser
from deepnlp.cli.interrupted import INTERRUPTED, MESSAGE, Interruption
from deepnlp.cli.mistakes import in_one_line, is_mistake
from deepnlp.cli.parser import Parser
from deepnlp.cli.shared import Answer
from deepnlp.cli.streams import Output, standard_streams
from deepnlp.files.reading import NO_TEXT

BROKEN_PIPE = 141  # 128 + SIGPIPE


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, by default that of the process's arguments; gives the exit code.

    >>> main(["--version"])
    deepnlp 0.1.0
    0
    """
    words = sys.argv[1:] if argv is None else list(argv)
    interruption = Interruption(last=argv is None)
    with standard_streams():
        try:
            with interruption:
                try:
                    code = _run(words)
                except SystemExit as stop:  # argparse, after --help or an error it has printed
                    code = stop.code if isinstance(stop.code, int) else 0
                sys.stdout.flush()
                return code
        except (Exception, KeyboardInterrupt) as error:
            # A module that was interrupted while it was imported may raise any error.
            if interruption.arrived or isinstance(error, KeyboardInterrupt):
                print(MESSAGE, end="", file=sys.stderr)
                return INTERRUPTED
            if isinstance(error, BrokenPipeError) and error.filename == Output.name:
                return BROKEN_PIPE
            if not is_mistake(error):
                raise
            if "--traceback" in words:
                traceback.print_exc()
            print(f"deepnlp: error: {in_one_line(error)}", file=sys.stderr)
            return 2


def _run(argv: list[str]) -> int:
    """Run a command, and print its answer."""
    for word in argv:
        if NO_TEXT.search(word):  # bytes of another encoding
            raise ValueError(f"{word}: expected arguments in UTF-8; give the file another name")
    argv = _with_own_cell(argv)
    parser = build_parser(argv)
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        parser.called.refuse(unknown)
    values = vars(arguments)
    command, chosen, as_json, _ = (values.pop(n) for n in ("run", "backend", "json", "traceback"))
    if chosen is not None:
        from deepnlp import backend

        backend.use(chosen)
    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        answer: Answer = command(**values)
    if as_json:
        from deepnlp.files.writing import to_json

        print(to_json(answer.facts, indent=2))
    elif answer.text is not None:
        print(answer.text)
    return answer.code


def _with_own_cell(argv: list[str]) -> list[str]:
    """Run the file of ``--cell FILE.py:NAME``, which every command takes; train gets its name."""
    if not any(".py:" in word for word in argv):
        return argv
    first = Parser(prog="deepnlp", add_help=False)
    first.add_argument("--cell", default="")
    known, words = first.parse_known_args(argv)
    if ".py:" not in known.cell:
        return argv
    from deepnlp.models.options import cell_of_file

    key = cell_of_file(known.cell)
    return [*words, "--cell", key] if words[:1] == ["train"] else words
