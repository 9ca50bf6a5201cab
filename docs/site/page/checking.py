"""What the page runs in its worker: code as a text goes in, a report as JSON comes out."""

import ast
import contextlib
import io
import json
import re
import shlex
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path

NAME = "yours"
SHAPES = ["x=5,4"]  # of a first input of which nothing is said
GRADIENT = re.compile(r"d[A-Za-z]\w*|grads?|gradients?")
OWN = re.compile(r"^#\s*check:(.*)$", re.MULTILINE)
HELP = """Say in a comment what to check, such as  # check: affine --input "x=5,4" --weight "w=4,3"
Or paste below your code the cell that tries it, with a call of its forward on arrays."""


class _Parser(ArgumentParser):
    def error(self, message):
        raise ValueError(f"# check: {message}")


def _parser():
    parser = _Parser(prog="# check:", add_help=False, allow_abbrev=False)
    parser.add_argument("name", nargs="?")
    for option in ("input", "weight", "constant", "gradient"):
        parser.add_argument(f"--{option}", action="append", default=[])
    parser.add_argument("--call")
    parser.set_defaults(is_guess=False)  # whether the page chose the shapes
    return parser


def targets(code):
    """The checks that a code asks for: its comments, or all that goes forward and backward.

    >>> targets("def f_forward(x): ...")[0].name
    'f'
    """
    parser = _parser()
    if stated := OWN.findall(code):
        return [parser.parse_args(shlex.split(line)) for line in stated]
    from deepnlp.gradcheck.cells import without_commands

    found, tree = [], ast.parse(without_commands(code))
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            methods = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
            found += [node.name] if methods & {"backward", "__call__", "forward"} else []
        elif isinstance(node, ast.FunctionDef) and node.name.endswith("_forward"):
            found.append(node.name.removesuffix("_forward"))
        elif isinstance(node, ast.FunctionDef) and _gives_gradients(node):
            found.append(node.name)
    return [parser.parse_args([name]) for name in found] or [parser.parse_args([])]


def _gives_gradients(function):
    """Whether a function ends in ``return loss, dW`` or ``return loss, grads``.

    >>> _gives_gradients(ast.parse("def f(x): return loss, dW").body[0])
    True
    """
    last = function.body[-1]
    values = last.value.elts if isinstance(getattr(last, "value", None), ast.Tuple) else []
    are_gradients = [bool(GRADIENT.fullmatch(ast.unparse(value))) for value in values]
    return "backward" not in function.name and are_gradients[:1] == [False] and any(are_gradients)


def _report(path, options):
    import numpy

    from deepnlp.gradcheck import check_gradients
    from deepnlp.gradcheck.loading import call_of, failures_in_one_line, load_own, own_call
    from deepnlp.gradcheck.own import build_own

    rng = numpy.random.default_rng(0)
    gradients = dict(text.split("=", 1) for text in options.gradient)
    settings = {"rng": rng, "constants": options.constant, "gradients": gradients, "quiet": True}
    own = load_own(f"{path}:{options.name}" if options.name else str(path))
    with failures_in_one_line(own):
        if isinstance(own, Path):
            return check_gradients(own, **settings)
        is_unsaid = not (options.call or options.input or options.weight)
        if is_unsaid:
            options.call = own_call(own)
        if options.call is None:
            options.is_guess, shapes = is_unsaid, SHAPES if is_unsaid else options.input
            made, inputs, named, _ = build_own(own, shapes, options.weight, rng)
        else:
            made, inputs, named = call_of(own, options.call, {"np": numpy, "rng": rng})
        return check_gradients(made, *inputs, **settings, **named)


def _marks(cause):
    """What the editor shows of a cause: each line to be changed, or the line where it is."""
    from deepnlp.gradcheck import CAUSES

    words = {"name": cause.name, "evidence": cause.evidence}
    words["sentence"] = CAUSES.get(cause.name, "")
    repairs = re.findall(r"in line (\d+), `([^`]+)` should be `([^`]+)`", cause.evidence)
    if cause.name == "unknown":
        words["name"] = "a wrong value, the reason not known"
    marks = [words | {"line": int(n), "wrong": a, "right": b} for n, a, b in repairs]
    place = re.match(rf"{NAME}\.py:(\d+)", cause.place)
    place = place or re.search(rf"in line (\d+) of {NAME}\.py", cause.evidence)
    return marks or [words | {"line": int(place[1]) if place else None}]


def _line_of(error):
    """The last line of the code that an error went through."""
    if isinstance(error, SyntaxError):
        return error.lineno
    line, trace = None, error.__traceback__
    while trace:
        if Path(trace.tb_frame.f_code.co_filename).stem == NAME:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line or (_line_of(error.__cause__ or error.__context__) if error.__context__ else None)


def check(code):
    """Check a code; a JSON with ``ok``, ``text``, ``marks`` for the editor and what it printed."""
    printed, texts, marks, ok, options = io.StringIO(), [], [], True, None
    sys.modules.pop(NAME, None)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
        path = Path(folder) / f"{NAME}.py"
        path.write_text(code, encoding="utf-8")
        try:
            for options in targets(code):
                report = _report(path, options)
                texts.append(str(report))
                likeliest = [row.causes[0] for row in report.rows if row.causes and not row.ok]
                for cause in dict.fromkeys(likeliest or report.causes):
                    marks += _marks(cause)
                ok = ok and report.ok
        except BaseException as error:  # whatever the code raises is an answer
            ok, line = None, _line_of(error)
            told = (
                f"{type(error).__name__}: {error}" if not isinstance(error, ValueError) else error
            )
            texts += [str(told), *([] if OWN.search(code) else [HELP])]
            if line and not (options and options.is_guess):  # the line may be right
                marks.append({"line": line, "name": "no verdict", "evidence": str(told)})
    once = {(mark["line"], mark.get("right")): mark for mark in reversed(marks)}  # of two gradients
    answer = {"ok": ok, "text": "\n\n".join(texts), "marks": [*once.values()][::-1]}
    return json.dumps({**answer, "printed": printed.getvalue()[:20_000]})
