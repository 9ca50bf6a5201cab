"""Lines that run forward and backward: a flat script, or the calls of code in any other form.

Each array ``v`` for which the lines compute a gradient ``dv`` is checked: it is changed right
behind the line that assigns it, and the lines up to the loss are run again. So every value on the
way is checked, not the weights alone, and the first wrong one shows the wrong line.
"""

import ast
import builtins
import contextlib
import io
import linecache
import math
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy

from deepnlp.gradcheck.causes import UNKNOWN, Cause, say
from deepnlp.gradcheck.cells import text_of, without_commands
from deepnlp.gradcheck.names import DATA, GRAD, GRADIENT, GRADS, LOSSES, PARAMS
from deepnlp.gradcheck.report import Row
from deepnlp.gradcheck.rules import error_of, sizes
from deepnlp.gradcheck.translating import (
    NotTranslatedError,
    in_function,
    names_of,
    written_in,
)  # fmt: skip
from deepnlp.gradcheck.variables import gradient_names
from deepnlp.gradcheck.walking import (
    generators,
    is_box,
    is_node,
    is_tensor,
    items,
    mapped,
    name_of,
    plain,
    same,
    states_kept,
)

Names = dict[str, Any]
_MANY = 60  # paths to numbers without a gradient that are tried


class Lines:
    """Lines of Python, with the values that they compute.

    Parameters
    ----------
    text : str or Path
        The lines, or the file in which they are.
    names : dict
        What they may use.
    table : mapping of str to str
        Names of gradients that are not called ``dv`` or the like.

    Attributes
    ----------
    values, gradients : dict of str to array
        Of each array that is checked, in the order in which backward computes them.
    sources : dict of str to str
        The name of each gradient.
    places : dict of str to str
        The line that computes each gradient.
    codes : list of code
        Of each line.
    """

    def __init__(self, text: str | Path, names: Names, table: Mapping[str, str]) -> None:
        file = str(text) if isinstance(text, Path) else "<lines>"
        source = text_of(text) if isinstance(text, Path) else without_commands(text)
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        self._rng = numpy.random.default_rng(0x5EED)
        self._names = {"np": numpy, **names}
        self._drawn: Names = {}
        self._spots: dict[str, int] = {}  # behind which line each value stands, before the output
        self._states = generators([])
        self._body = body = _unrolled(ast.parse(source, file).body)
        self._file = file
        self.codes = [compile(ast.Module([node], []), file, "exec") for node in body]
        self._assigned = [sorted(names_of(node)[1] | written_in(node)) for node in body]
        self._read = dict[str, list[tuple[int, set[str]]]]()  # by line
        self._writing = dict[str, list[ast.stmt]]()  # the statements that write a name
        for node in [n for one in body for n in ast.walk(one) if isinstance(n, ast.stmt)]:
            if not hasattr(node, "body"):
                read, stored = names_of(node)
                for name in stored | written_in(node):
                    self._read.setdefault(name, []).append((node.lineno, read - {name}))
                    self._writing.setdefault(name, []).append(node)
        end = self._run({}, len(body))
        pairs = {**_pairs(end), **table}
        last = {name: k for k, some in enumerate(self._assigned) for name in some}
        order = sorted(pairs, key=lambda name: last.get(_root(pairs[name]), -1))
        rounds = [n for one in body for n in ast.walk(one) if isinstance(n, ast.For)]
        passing = {name for one in rounds for name in names_of(one.target)[1]}
        held = {id(eval(n, end)) for n in pairs if n not in passing and _root(n) in end}
        known = [n for n in order if _root(n) in end]  # but a loop's name for what a list holds
        known = [n for n in known if n not in passing or id(end[n]) not in held]
        losses = [name for name in LOSSES if name in last and _is_loss(end.get(name))]
        self.loss = max(losses, key=lambda name: len(self._reads(name)), default="")
        self._output = self.loss or next((n for n in known if n.isidentifier()), "")
        if not self._output:
            raise ValueError(say("no lines", file=file))
        self._until = last.get(self._output, -1) + 1
        checked = [n for n in known if n != self._output]
        at_loss = self._find_spots(checked)
        if strange := [name for name in table if name in checked and name not in self._spots]:
            raise ValueError(say("no spot", name=strange[0], output=self._output))
        checked = [n for n in checked if n in self._spots]
        self._weight = 1.0 if self.loss else plain(eval(pairs[self._output], end))
        self.moved: Names = {}  # what is exchanged from the start, aside of a kink
        self._checked, self._pairs = checked, pairs
        self._evaluate(at_loss)
        self.sources = {n: pairs[n] for n in checked}
        spots = {n: (self._writing.get(_root(pairs[n])) or body)[-1] for n in checked if body}
        quoted = {n: ast.get_source_segment(source, node) or "" for n, node in spots.items()}
        self.places = {
            n: f"{Path(file).name}:{node.lineno}: {' '.join(quoted[n].split())}"
            for n, node in spots.items()
        }

    def _evaluate(self, at_loss: Names) -> None:
        """The values that are checked, and their gradients, also as they are before a clip."""
        self.values = {
            n: numpy.array(plain(eval(n, at_loss)), dtype="float64") for n in self._checked
        }
        self.unclipped: Names = {}
        before: Names = {}

        def look(k: int, names: Names) -> None:
            for name in self._checked if k >= self._until - 1 else ():
                with contextlib.suppress(Exception):  # there is none yet
                    now = numpy.array(plain(eval(self._pairs[name], names)))
                    is_changed = name in before and not same(now, before[name])
                    if is_changed and self._clips(k) and name not in self.unclipped:
                        self.unclipped[name] = before[name]
                    before[name] = now

        end = self._run(self.moved, len(self._body), look)
        self.gradients = {n: plain(eval(self._pairs[n], end)) for n in self._checked}
        self._first = self._scalar(end)

    def _clips(self, k: int) -> bool:
        """Return whether a line changes gradients by a number that is computed from gradients."""
        node, gradients = self._body[k], {_root(self._pairs[n]) for n in self._checked}
        read = set().union(*(names_of(n)[0] for n in ast.walk(node) if isinstance(n, ast.stmt)))
        is_named = any("clip" in ast.unparse(n) for n in ast.walk(node) if isinstance(n, ast.Call))
        return is_named or any(self._reads(name) & gradients for name in read - gradients)

    def move(self, rng: numpy.random.Generator, step: float = 0.01) -> Names:
        """Go aside with what the lines begin from; return what was exchanged before."""
        at_first = {n: v for n, v in self.values.items() if not self._is_inner(n)}
        kept = self.moved
        self.put({n: v + step * sizes(v) * rng.normal(size=v.shape) for n, v in at_first.items()})
        return kept

    def put(self, moved: Names) -> None:
        """Begin from other values, and compute all anew."""
        self.moved = moved
        self._evaluate(self._run(moved, self._until))

    def _is_inner(self, name: str) -> bool:
        """Return whether a value is computed, before the loss, from others that are checked."""
        end = self._writing[self._output][-1].lineno if self._output in self._writing else 0
        return bool(
            self._reads(_root(name), end) & {_root(n) for n in self._checked} - {_root(name)}
        )

    def unpaired(self) -> list[str]:
        """Yield the values that reach the loss without a gradient, computed from nothing else."""
        end = self._run({}, self._until)
        known = {_root(n) for n in (*self._checked, *self._pairs.values())} | {"np", self._output}
        inside = {n: v for n, v in end.items() if n not in known and not n.startswith("_")}
        paths = [path for name, value in inside.items() for path in _paths(name, value)]
        own = [
            p for p in paths[:_MANY] if not self._reads(_root(p)) & {*known, *inside} - {_root(p)}
        ]
        self._find_spots(own)
        return [path for path in own if path in self._spots and self._reaches(path, end)]

    def _reaches(self, path: str, names: Names) -> bool:
        """Return whether the loss is another with other numbers."""
        value = numpy.asarray(eval(path, names), dtype="float64")
        step = 0.125 * numpy.cos(numpy.arange(value.size)).reshape(value.shape)
        with contextlib.suppress(Exception), numpy.errstate(all="ignore"):
            return bool(
                self._scalar(self._run({path: 1.25 * value + step}, self._until)) != self._first
            )
        return False

    def forward(self, *values: Any) -> tuple[Any, dict[str, Any]]:
        """The loss where some values are others, and the gradients that the lines computed."""
        pairs = zip(self.values.items(), values, strict=True)
        other = {n: new for (n, old), new in pairs if not numpy.array_equal(old, new)}
        given = {**self.moved, **other}
        loss = self._scalar(self._run(given, self._until)) if other else self._first
        return loss, self.gradients

    def as_function(self, name: str) -> Any:
        """The lines as a function of one array that gives the loss and its gradient."""
        source, output = self.sources[name], self._output
        if not (output and name.isidentifier()):
            raise NotTranslatedError(name)
        # What stands behind the gradient, such as an update of the weights, does not count.
        end = 1 + max(k for k, some in enumerate(self._assigned) if _root(source) in some)
        names = {**self._run(self.moved, end), "_weight": self._weight}
        returned = f"{self.loss or f'(_weight * {output}).sum()'}, {source}"
        function = in_function(self._file, self._body[:end], names, name, returned)
        others = {_root(source) for n, source in self.sources.items() if n != name}
        end = self._writing[output][-1].lineno
        function.lines = {
            node.lineno for own, nodes in self._writing.items() for node in nodes
            if node.lineno > end and own not in others
        }  # fmt: skip
        return function

    def forgive(self, rows: list[Row]) -> list[str]:
        """Values on the way that are not what they are called, while all they lead to is right.

        So ``dscores`` may hold a factor of the next line already.
        """
        for row in rows:  # of another shape, such as (H,) for (1, H)
            one, other = row.analytic, row.numeric
            is_row = other.shape == (1,) * (other.ndim - one.ndim) + one.shape
            may_differ = is_row or self._is_inner(row.name)
            if may_differ and one.shape != other.shape and one.size == other.size:
                error, _ = error_of(one.ravel(), other.ravel())
                row.ok, row.error = error <= 1e-5, min(row.error, error)
        named = []
        for row in reversed([row for row in rows if row.is_wrong and self._is_inner(row.name)]):
            own = self.sources[row.name]
            behind = self._is_read(row, rows)
            if behind and not any(other.is_wrong for other in behind):
                row.noted = say("on the way", gradient=own, name=row.name)
                named.append(row.name)
        return named

    def _is_read(self, row: Row, rows: list[Row]) -> list[Row]:
        """The rows whose gradient is computed from that of a row."""
        own = self.sources[row.name]
        return [r for r in rows if r is not row and own in self._reads(self.sources[r.name])]

    def _reads(self, name: str, until: float = math.inf) -> set[str]:
        """All names that a value is computed from, in the lines up to one."""
        found, waiting = set[str](), [name]
        while waiting:
            lines = self._read.get(waiting.pop(), [])
            new = set().union(*(read for line, read in lines if line <= until)) - found
            found |= new
            waiting += new
        return found

    def told(self, bad: Row, rows: list[Row]) -> Cause:
        """The first wrong value, and those before it that are right."""
        right = [row.name for row in rows[: rows.index(bad)]]
        so_far = f"; right so far: the gradients of {', '.join(right)}" if right else ""
        where = self.places.get(bad.name, "")
        told = say("first wrong", name=bad.name, where=where, so_far=so_far)
        return Cause(UNKNOWN, told, place=where)

    def _scalar(self, names: Names) -> Any:
        return (self._weight * numpy.asarray(plain(names[self._output]))).sum()

    def _run(self, other: Names, until: int, look: Any = None) -> Names:
        """The names after some of the lines, where the arrays in ``other`` are exchanged."""
        names = {"__name__": "__lines__", **mapped(_copied, self._names), **self._drawn}
        quiet = contextlib.redirect_stdout(io.StringIO())
        with contextlib.ExitStack() as undone, states_kept(self._states), quiet:
            for k in range(-1, until):
                if k >= 0:
                    self._run_line(k, names)
                for name in other:
                    if self._spots[name] == k:
                        undone.callback(_exchange(names, name, other[name]))
                if look is not None:
                    look(k, names)
            if other:  # before a node has its old numbers again
                names[self._output] = numpy.array(plain(names[self._output]))
        return names

    def _find_spots(self, checked: list[str]) -> Names:
        """Find the last line before the output that gives each value; return all names there."""
        before: dict[str, Any] = {}

        def look(k: int, names: Names) -> None:
            for name in checked if k < self._until - 1 or self._until == 0 else ():
                is_new = k >= 0 and name in self._assigned[k]
                with contextlib.suppress(Exception):  # there is none yet
                    now = numpy.array(plain(eval(name, names)))
                    if is_new or name not in before or not same(now, before[name]):
                        self._spots[name], before[name] = k, now

        return self._run({}, self._until, look)

    def _run_line(self, k: int, names: Names) -> None:
        try:
            exec(self.codes[k], names)
        except NameError as error:
            name = getattr(error, "name", "")
            output = next((v for v in names if name in gradient_names(v)), None)
            if output is None or hasattr(builtins, name):
                raise
            shape = numpy.shape(plain(names[output]))
            self._drawn[name] = names[name] = self._rng.normal(size=shape)
            self._run_line(k, names)


def _root(path: str) -> str:
    """The name that a path such as ``"layer.W"`` or ``"grads['dW']"`` begins with."""
    return path.split(".")[0].split("[")[0]


def _is_loss(value: Any) -> bool:
    """Return whether a value is a single number with a fraction: 2 may be the number of layers."""
    value = plain(value)
    return numpy.size(value) == 1 and getattr(numpy.asarray(value).dtype, "kind", "") == "f"


def _paths(name: str, value: Any, depth: int = 4) -> Iterator[str]:
    """The paths to all numbers in a value, in lists, dicts and plain objects."""
    is_number = isinstance(value, float | numpy.floating)
    if is_number or (isinstance(value, numpy.ndarray) and value.dtype.kind in "fiu"):
        yield name
    elif depth and isinstance(value, list | tuple | dict):
        for key, one in items(value):
            yield from _paths(f"{name}[{key!r}]", one, depth - 1)
    elif depth and hasattr(value, "__dict__") and not isinstance(value, type | types.ModuleType):
        for key, one in list(vars(value).items()) if not callable(value) else ():
            yield from _paths(f"{name}.{key}", one, depth - 1)


class _Once(ast.NodeTransformer):
    """Takes ``break`` and ``continue`` out of a loop that runs once."""

    def visit_For(self, node: ast.For) -> ast.For:
        """Leave loops inside as they are."""
        return node

    def visit_While(self, node: ast.While) -> ast.While:
        """Leave loops inside as they are."""
        return node

    def visit_Break(self, node: ast.Break | ast.Continue) -> ast.Pass:
        """Go on."""
        return ast.copy_location(ast.Pass(), node)

    visit_Continue = visit_Break  # noqa: N815


def _unrolled(body: list[ast.stmt]) -> list[ast.stmt]:
    """The lines, with the first round of a training loop in the place of it."""
    found = list[ast.stmt]()
    for node in body:
        inner = node.body if isinstance(node, ast.For | ast.While) else []
        assigned = [names_of(one)[1] for one in inner]
        plain_ = [n for k, n in zip(inner, assigned, strict=True) if isinstance(k, ast.Assign)]
        every = set[str]().union(*assigned)
        has_loss = any({*LOSSES} & names for names in plain_)
        if not (has_loss and any(GRADIENT.match(name) for name in every - {*LOSSES})):
            found.append(node)
            continue
        if isinstance(node, ast.For):
            call = ast.Name("iter", ast.Load())
            first = ast.Call(ast.Name("next", ast.Load()), [ast.Call(call, [node.iter], [])], [])
            found.append(ast.copy_location(ast.Assign([node.target], first), node))
        found += [_Once().visit(one) for one in inner]
    return [ast.fix_missing_locations(node) for node in found]


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, numpy.ndarray) else value


def _pairs(names: Names) -> dict[str, str]:
    """The name of the gradient of every array that has one."""
    found: dict[str, str] = {}
    for name, value in names.items():
        found |= _twins(name, value, names)
        if is_node(value) and getattr(value, name_of(GRAD, value)) is not None:
            found.setdefault(name, f"{name}.{name_of(GRAD, value)}")
        if not (is_box(value) or isinstance(value, numpy.ndarray | numpy.generic | float)):
            continue
        array = numpy.asarray(plain(value))
        for other in _names_of_gradient(name) if array.dtype.kind in "fiu" else ():
            if other in names:
                found.setdefault(name, other)
    exact = {grad for name, grad in found.items() if name in grad}  # da is that of a, not of A
    return {n: grad for n, grad in found.items() if n in grad or grad not in exact}


def _names_of_gradient(name: str) -> list[str]:
    """The usual names, and those that are usual in scripts: ``gW``, ``delta_W``, ``nabla_w``."""
    forms = ("g{}", "delta_{}", "nabla_{}")
    return [*gradient_names(name), *(f.format(n) for f in forms for n in (name, name.lower()))]


def _twins(name: str, value: Any, names: Names) -> dict[str, str]:
    """The numbers in a dict, list or object, each with that at the same place of its twin.

    So ``parameters["W1"]`` has its gradient in ``grads["dW1"]``, ``Ws[0]`` in ``dWs[0]``, and
    ``net.W`` in ``net.dW``.
    """
    if callable(value) or isinstance(value, types.ModuleType | numpy.ndarray):
        return {}
    paths = [path.removeprefix(name) for path in _paths(name, value)][:_MANY]
    if not paths or paths == [""]:
        return {}
    alike = {*_names_of_gradient(name), *(GRADS if name in PARAMS else ())} & {*names}
    others = [other for other, one in names.items() if type(one) is dict is type(value)]
    found: dict[str, str] = {}
    for other in [*alike, *others, name]:
        for path in paths:
            for twin in _at_place(path, is_alike=other in alike):
                with contextlib.suppress(Exception):  # nothing is there
                    gradient, held = eval(other + twin, names), eval(name + path, names)
                    if numpy.shape(plain(gradient)) == numpy.shape(plain(held)):
                        found.setdefault(name + path, other + twin)
    return found


def _at_place(path: str, is_alike: bool) -> list[str]:
    """The places of the gradient for a place such as ``"['l1']['W']"``: the same, or ``dW``."""
    named = re.fullmatch(r"(.*?)(\['|\.)(\w+)('\])?", path)
    if named is None:
        return [path] if is_alike else []
    before, start, key, end = named.groups(default="")
    own = [before + start + one + end for one in gradient_names(key)]
    return [path, *own] if is_alike else own


def _like(old: Any, new: Any) -> Any:
    """A value of the kind of another one."""
    if hasattr(old, "detach"):
        return sys.modules["torch"].from_numpy(numpy.array(new)).to(old.dtype)
    return new


def _exchange(names: Names, path: str, new: Any) -> Callable[[], Any]:
    """Put other numbers where a path such as ``layer.W`` leads to; gives what undoes it."""
    old = eval(path, names)
    if is_box(old) and not is_tensor(old):
        key = name_of(DATA, old)
        value = getattr(old, key)
        setattr(old, key, new.item() if isinstance(value, int | float) else new)
        return partial(setattr, old, key, value)
    if path.isidentifier():
        names[path] = _like(old, new)
        return lambda: None
    if isinstance(old, numpy.ndarray):
        content = old.copy()
        old[...] = new
        return partial(old.__setitem__, ..., content)
    exec(f"{path} = _new", {"_new": _like(old, new)}, names)
    return partial(exec, f"{path} = _old", {"_old": old}, names)
