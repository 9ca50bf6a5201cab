"""A file as it is: its training loop, cut into the batches, the step, and what surrounds it.

What stands above the loop is run. Of the body of the loop, the lines above the first one that
calls the model make the batch; those from there on are the step. Lines that print, draw or save
are left out.
"""

import ast
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy

from deepnlp.checkup.forms import is_module, scores_of
from deepnlp.checkup.program import Program, StepError, hushed, is_optimizer
from deepnlp.checkup.report import Report
from deepnlp.checkup.training import broken, examine
from deepnlp.gradcheck.cells import text_of
from deepnlp.gradcheck.loading import run_statement, statements_of
from deepnlp.gradcheck.names import LOSSES

_RATE = r"-?[\w.]*(lr|rate|eta|alpha|step_size)\b"
_UPDATE = re.compile(
    r"\.(step|update)\(|train_(step|batch|on_batch)\(|\bstep\(|update\w*\(|-=|\+= *-"
    rf"|\+= *{_RATE}|= *[\w.\[\]'\"]+ *[-+] *{_RATE}"
)
_FORWARD = re.compile(
    r"loss|forward|predict|lossFun|cost|train_(step|batch)|\bstep\(", re.IGNORECASE
)
_MODEL = re.compile(r"zero_grad|\.forward\(|loss|lossFun|cost|backward|train_(step|batch)|\bstep\(")
_SHOWS = re.compile(
    r"print\(|plt\.|save|savez|dump\(|open\(|write\(|tqdm|input\(|savefig|sys\.exit|exit\("
)
_EVALUATION = re.compile(
    r"(\w+_)?(eval\w*|test\w*|valid\w*|accuracy|perplexity|check_accuracy|estimate_loss)"
)
_BATCHES = (
    "batches",
    "get_batches",
    "train_batches",
    "iterate",
    "loader",
    "train_loader",
    "batch_iter",
)
_STEPS = ("step", "train_step", "training_step", "train_batch", "update")

Body = list[ast.stmt]


def program_of_file(
    path: str | Path,
    step: str | None = None,
    model: str | None = None,
    batches: str | None = None,
    evaluate: str | None = None,
) -> tuple[Program, dict[str, str]]:
    """Return the training in a file, and what was taken for what.

    Parameters
    ----------
    path : path
        Of a program or a notebook.
    step, model, batches, evaluate : str, optional
        Names in the file, or expressions, where what is customary is not what is meant.

    Raises
    ------
    ValueError
        If no training loop is there, and no function that makes a step.
    """
    script = _Script(Path(path))
    named = {"step": step, "model": model, "batches": batches, "evaluate": evaluate}
    return script.program({name: text for name, text in named.items() if text})


def check_file(path: str | Path, **named: str | None) -> Report:
    """Return what experiments with the training in a file show.

    Parameters
    ----------
    path : path
    **named : str
        As of :func:`program_of_file`.
    """
    try:
        program, taken = program_of_file(path, **named)
    except StepError as error:
        return Report(Path(path).name, [broken(error)])
    return examine(program, taken)


class _Script:
    """The statements of a file, and the namespace in which they run.

    Parameters
    ----------
    file : path
    """

    def __init__(self, file: Path) -> None:
        if not file.is_file():
            raise FileNotFoundError(f"no file {file}: expected a program such as train.py")
        self.file, self.title = file, str(file)
        self.module = sys.modules[f"own_{file.stem}"] = ModuleType(f"own_{file.stem}")
        self.module.__file__ = str(file)
        sys.path[:0] = [p for p in (str(file.resolve().parent),) if p not in sys.path]
        self.space = vars(self.module)
        self.body = self._flat(statements_of(text_of(file), self.title))
        self.rest: Body = []
        self.after: Body = []
        self.functions: dict[str, ast.FunctionDef] = {}

    def _flat(self, body: Body) -> Body:
        """The statements, those of the block of ``__main__`` in line with the others."""
        flat: Body = []
        for node in body:
            is_main = isinstance(node, ast.If) and "__main__" in ast.unparse(node.test)
            flat += node.body if isinstance(node, ast.If) and is_main else [node]
        return flat

    def run(self, nodes: Body) -> None:
        """Run some statements."""
        with hushed():
            for node in nodes:
                run_statement(node, self.title, self.module)

    def value(self, text: str) -> Any:
        """The value of an expression in the file."""
        with hushed():
            return eval(compile(text, "<checkup>", "eval"), self.space)

    # --- The loop ---------------------------------------------------------------------------------

    def _until_loop(self) -> list[Any]:
        """Run what is above the training; the loops around the step, the outermost first."""
        waiting = list(self.body)
        while waiting:
            node = waiting.pop(0)
            if isinstance(node, ast.For | ast.While) and _trains(node):
                self.rest = waiting
                return _chain(node)
            called = self._called(node)
            if called is not None and any(
                isinstance(n, ast.For | ast.While) and _trains(n) for n in ast.walk(called[0])
            ):
                function, call = called
                self._bind(function, call)
                waiting = [n for n in function.body if not _is_text(n)] + waiting
                continue
            if isinstance(node, ast.With):
                waiting = node.body + waiting
                continue
            if isinstance(node, ast.FunctionDef):
                self.functions[node.name] = node
            if isinstance(node, ast.Return) or (_shows(node) and not _is_definition(node)):
                continue
            try:
                self.run([node])
            except Exception as error:
                if _is_definition(node) or not isinstance(node, ast.Expr):
                    line = f"{self.file}, line {node.lineno}"
                    raise ValueError(f"{line}: {type(error).__name__}: {error}") from error
        return []

    def _called(self, node: ast.stmt) -> tuple[ast.FunctionDef, ast.Call] | None:
        """The function of the file that a statement calls, if it does no more than that."""
        call = getattr(node, "value", None)
        if isinstance(node, ast.Expr | ast.Assign) and isinstance(call, ast.Call):
            name = ast.unparse(call.func)
            if name in self.functions:
                return self.functions[name], call
        return None

    def _bind(self, function: ast.FunctionDef, call: ast.Call) -> None:
        """Give the arguments of a call their names, in the namespace of the file."""
        names = [arg.arg for arg in function.args.args]
        defaults = function.args.defaults
        given = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
        given |= dict(zip(names, call.args, strict=False))
        given |= {word.arg: word.value for word in call.keywords if word.arg}
        values = {name: self.value(ast.unparse(node)) for name, node in given.items()}
        self.space.update(values)

    # --- The program ------------------------------------------------------------------------------

    def program(self, named: dict[str, str]) -> tuple[Program, dict[str, str]]:
        """The program, and what was taken for what."""
        loops = [] if "step" in named else self._until_loop()
        if not loops and "step" in named:
            self._until_loop()
        taken: dict[str, str] = {}
        made: dict[str, Any]
        made = self._of_loops(loops, taken) if loops else self._of_names(named, taken)
        models = [n for n, v in self.space.items() if _is_model(v) and not n.startswith("_")]
        model = named.get("model") or next(iter(models), None)
        if model:
            taken["model"] = model
            with suppress(Exception):
                made["predict"] = scores_of(self.value(model))
        if "evaluate" in named or (found := self._evaluation()):
            text = named.get("evaluate", found)
            text = text if text.endswith(")") else f"{text}()"
            made["evaluate"] = lambda: self.value(text)
            taken["evaluation"] = text
        if "batches" in named:
            made["batches"] = lambda: _called_or_read(self.value(named["batches"]))
            taken["batches"] = named["batches"]
        optimizers = [n for n, v in self.space.items() if is_optimizer(v)]
        if optimizers:
            taken["optimizer"] = optimizers[0]
            made["optimizer"] = self.space[optimizers[0]]
        step, batches = made.pop("step"), made.pop("batches")
        name = self.file.name
        program = Program(step, batches, roots=[self.space], name=name, **made)
        return program, taken

    def _of_names(self, named: dict[str, str], taken: dict[str, str]) -> dict[str, Any]:
        """A function that makes a step, and one that gives batches."""
        step = named.get("step") or next((n for n in _STEPS if callable(self.space.get(n))), None)
        batches = named.get("batches") or next((n for n in _BATCHES if n in self.space), None)
        if step is None or batches is None:
            what = "training loop" if step is None else "batches"
            raise ValueError(
                f"{self.file} has no {what} that was found: say --step NAME and --batches NAME"
            )
        taken |= {"step": step, "batches": batches}
        return {
            "step": self.value(step),
            "batches": lambda: _called_or_read(self.value(batches)),
            "source": text_of(self.file),
        }

    def _of_loops(self, loops: list[Any], taken: dict[str, str]) -> dict[str, Any]:
        """Return what a loop says: where the batches come from, and the step."""
        loop, outer = loops[-1], loops[-2] if len(loops) > 1 else None
        for one in loops[:-1]:
            self._enter(one)
        begin: Body = []
        end: Body = []
        if outer is not None:
            at = next(k for k, n in enumerate(outer.body) if loop in ast.walk(n))
            begin = [n for n in outer.body[:at] if not _shows(n)]
            end = [n for n in outer.body[at + 1 :] if not _shows(n)]
        self.after = [*(outer.body if outer else []), *loop.body, *self.rest]
        body = [n for n in loop.body if not _shows(n) or _UPDATE.search(ast.unparse(n))]
        models = [re.escape(n) for n, v in self.space.items() if _is_model(v)]
        calls = re.compile("|".join([_MODEL.pattern, *(rf"\b{n}\b *[.(]" for n in models)]))
        learned = {n for n in _written(body) if _holds_floats(self.space.get(n))}
        cut = next(
            (
                k
                for k, n in enumerate(body)
                if calls.search(ast.unparse(n)) or learned & {*_names(n, ast.Load)}
            ),
            0,
        )
        first, rest = body[:cut], body[cut:]
        counts = [n for n in rest if _is_count(n)]
        rest = [n for n in rest if n not in counts and not _is_report(n)]
        targets = [loop.target] if isinstance(loop, ast.For) else []
        bound = {n for one in (*targets, *first) for n in _names(one, ast.Store)}
        loaded = [n for one in rest for n in _names(one, ast.Load) if n in bound]
        again = {n for one in rest for n in _names(one, ast.Store)}
        names = sorted(dict.fromkeys(loaded), key=again.__contains__)  # such as a state last
        if not names:
            raise ValueError(f"{self.file}, line {loop.lineno}: no batch was found in this loop")
        draw = _loop(first)
        work = _loop(rest)

        def batches() -> Iterator[tuple[Any, ...]]:
            self.run(begin)
            source = self.value(ast.unparse(loop.iter)) if targets else iter(int, 1)
            for item in source:
                if targets:
                    self.space["_item"] = item
                    self.run(ast.parse(f"{ast.unparse(loop.target)} = _item").body)
                self.run([draw] if first else [])
                yield tuple(_as_array(self.space[n]) for n in names if n in self.space)
                self.run(counts)

        losses = [n for one in rest for n in _names(one, ast.Store) if n in LOSSES or "loss" in n]
        result = losses[0] if losses else ""

        def step(*batch: Any) -> Any:
            self.space.update(zip(names, batch, strict=False))
            self.run([work])
            return self.space.get(result)

        with hushed():
            given = next(iter(batches()))
        parts = dict(zip(names, given, strict=False))
        names = sorted(names, key=lambda n: (n in again, not hasattr(parts.get(n), "dtype")))
        taken |= {"loop": f"line {loop.lineno}", "batch": ", ".join(names), "loss": result}
        made: dict[str, Any] = {"step": step, "batches": batches}
        made["source"] = "\n".join(ast.unparse(n) for n in loop.body)
        if outer is not None:
            made |= {"begin": lambda: self.run([n for n in begin if "train(" in ast.unparse(n)])}
            made |= {"end": lambda: self.run(end)} if end else {}
        return made

    def _enter(self, loop: Any) -> None:
        """Give the counter of an outer loop its first value."""
        if isinstance(loop, ast.For):
            with suppress(StopIteration):
                self.space["_item"] = next(iter(self.value(ast.unparse(loop.iter))))
                self.run(ast.parse(f"{ast.unparse(loop.target)} = _item").body)

    def _evaluation(self) -> str:
        """The first call of what is called an evaluation, in the loop or behind it."""
        for node in [*self.after, *self.rest, *self.body]:
            for one in ast.walk(node):
                if not isinstance(one, ast.Call) or isinstance(node, ast.FunctionDef):
                    continue
                name = ast.unparse(one.func)
                last = name.rpartition(".")[2]
                if name in self.functions and _EVALUATION.fullmatch(last):
                    return ast.unparse(one)
        return ""


def _trains(node: ast.AST) -> bool:
    text = ast.unparse(node)
    return bool(_UPDATE.search(text) and _FORWARD.search(text))


def _chain(loop: Any) -> list[Any]:
    """The loops from the outermost to that over batches."""
    inner = [
        n
        for one in loop.body
        for n in ast.walk(one)
        if isinstance(n, ast.For | ast.While) and _trains(n)
    ]
    return [loop, *(_chain(inner[0]) if inner else [])]


def _loop(body: Body) -> ast.stmt:
    """A loop that runs once, so that ``continue`` and ``break`` end it."""
    made: Any = ast.parse("for _once in (0,):\n    pass").body[0]
    made.body = [_WithoutReturn().visit(node) for node in body] or made.body
    return ast.fix_missing_locations(made)


class _WithoutReturn(ast.NodeTransformer):
    def visit_Return(self, node: ast.Return) -> ast.stmt:
        return ast.copy_location(ast.Break(), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node


def _names(node: ast.AST, context: type) -> list[str]:
    """The names that are read or written, in the order of the text."""
    every: list[Any] = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
    every.sort(key=lambda n: (n.lineno, n.col_offset))
    return [n.id for n in every if isinstance(n.ctx, context)]


def _written(body: Body) -> set[str]:
    """The names that statements write to, or into."""
    targets: list[Any] = []
    for node in (n for one in body for n in ast.walk(one)):
        targets += node.targets if isinstance(node, ast.Assign) else []
        targets += [node.target] if isinstance(node, ast.AugAssign) else []
    return {name.id for one in targets for name in ast.walk(one) if isinstance(name, ast.Name)}


def _holds_floats(value: Any) -> bool:
    return isinstance(value, numpy.ndarray) and value.dtype.kind == "f"


def _as_array(value: Any) -> Any:
    """A list of numbers as an array."""
    is_list = isinstance(value, list) and value and isinstance(value[0], int | float)
    return numpy.array(value) if is_list else value


def _shows(node: ast.stmt) -> bool:
    """Return whether a statement is there to print, draw or save."""
    return not _is_definition(node) and bool(_SHOWS.search(ast.unparse(node)))


def _is_report(node: ast.stmt) -> bool:
    """Return whether a statement of a step does something each so many steps, and no update."""
    return isinstance(node, ast.If) and "%" in ast.unparse(node.test) and not _trains(node)


def _is_count(node: ast.stmt) -> bool:
    """Return whether a statement goes on to the next batch."""
    if not isinstance(node, ast.AugAssign) or not isinstance(node.target, ast.Name):
        return False
    is_plain = isinstance(node.value, ast.Constant | ast.Name)
    return is_plain and "loss" not in ast.unparse(node)


def _is_definition(node: ast.stmt) -> bool:
    kinds = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    return isinstance(node, kinds)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_model(value: Any) -> bool:
    if isinstance(value, type):
        return False
    named = ("params", "forward", "predict")
    return is_module(value) or (
        hasattr(value, "__dict__") and any(hasattr(value, n) for n in named)
    )


def _called_or_read(value: Any) -> Any:
    return value() if callable(value) and not hasattr(value, "__iter__") else value
