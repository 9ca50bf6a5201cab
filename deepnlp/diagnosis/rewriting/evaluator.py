"""Running a learner's functions in a form in which they can do nothing but compute.

A function is read as a syntax tree and evaluated node by node. The :class:`Evaluator` knows
arithmetic, indexing, attributes, control flow, and the calls that :class:`Guard` lets pass; it
evaluates the learner's own functions in the same way, and refuses all else. It counts its steps and
the numbers that it makes, and writes to copies only.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any

from deepnlp.diagnosis.rewriting.guard import Computed, Guard, LimitError, RefusedError
from deepnlp.diagnosis.rewriting.sources import tree_of

_BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.MatMult: "matmul", ast.LShift: "lshift",
    ast.RShift: "rshift", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor",
}  # fmt: skip
_UNARY = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
          ast.Not: operator.not_}  # fmt: skip
_COMPARED: dict[type, Callable[[Any, Any], Any]] = {
    ast.Gt: operator.gt, ast.Lt: operator.lt, ast.GtE: operator.ge, ast.LtE: operator.le,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip
_DEEPEST = 60
_BREAK, _CONTINUE = object(), object()
_ABSENT = object()


class _Returned:
    """What a ``return`` gives."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Evaluated(Computed):
    """A function of the learner that is evaluated when it is called.

    Parameters
    ----------
    evaluator : Evaluator
    tree : ast.FunctionDef or ast.Lambda
    function : function
        Of the learner, with the module that it sees.
    outer : Frame, optional
        That of the function in which it was defined.
    defaults : tuple of (list, dict)
        Values of arguments that are not given.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        tree: Any,
        function: FunctionType,
        outer: Frame | None = None,
        defaults: tuple[Any, Any] = ((), {}),
    ) -> None:
        self.evaluator, self.tree, self.function, self.outer = evaluator, tree, function, outer
        self.defaults = defaults
        self.__name__ = function.__name__
        self.__wrapped__ = function

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Evaluate its body."""
        evaluator = self.evaluator
        evaluator.guard.tick()
        frame = Frame(self, self._bound(args, options), self.outer)
        with evaluator.apart():
            if isinstance(self.tree, ast.Lambda):
                return evaluator.value(self.tree.body, frame)
            found = evaluator.run(self.tree.body, frame)
        if evaluator.on_return is not None:
            evaluator.on_return(self, frame)
        return found.value if type(found) is _Returned else None

    def _bound(self, args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
        """Arguments by name."""
        takes = self.tree.args
        names = [one.arg for one in (*takes.posonlyargs, *takes.args)]
        found = dict(zip(names, args))
        if takes.vararg is not None:
            found[takes.vararg.arg] = args[len(names) :]
        elif len(args) > len(names):
            raise TypeError(f"{self.__name__} takes {len(names)} arguments")
        own = {*names, *(one.arg for one in takes.kwonlyargs)}
        found |= {name: value for name, value in options.items() if name in own}
        rest = {name: value for name, value in options.items() if name not in own}
        if takes.kwarg is not None:
            found[takes.kwarg.arg] = rest
        elif rest:
            raise TypeError(f"{self.__name__} takes no {next(iter(rest))}")
        given, by_name = self.defaults
        for name, value in zip(names[::-1], (given or ())[::-1]):
            found.setdefault(name, value)
        for name, value in (by_name or {}).items():
            found.setdefault(name, value)
        if missing := own - found.keys():
            raise TypeError(f"{self.__name__} needs {', '.join(missing)}")
        return found


class Frame:
    """The variables of a function that runs."""

    __slots__ = ("function", "names", "outer")

    def __init__(
        self, function: Evaluated, names: dict[str, Any], outer: Frame | None = None
    ) -> None:
        self.function, self.names, self.outer = function, names, outer


class Evaluator:
    """Evaluates functions of a learner, node by node.

    Parameters
    ----------
    prepare : callable, optional
        Gives the tree of a function; that of its source by default.

    Attributes
    ----------
    guard : Guard
    on_return : callable, optional
        Is called with a function and its frame when it returns.
    on_statement : callable, optional
        Is called with a statement that was run and the frame.
    watched : ast.AST
        An expression that is handed to ``watcher``, with the frame, in place of being evaluated.
    """

    def __init__(self, prepare: Callable[[FunctionType, Any], Any] | None = None) -> None:
        self.guard = Guard(self)
        self.on_return: Callable[[Evaluated, Frame], None] | None = None
        self.on_statement: Callable[[ast.stmt, Frame], None] | None = None
        self.watched: Any = None
        self.watcher: Callable[[Frame], Any] | None = None
        self.known: dict[int, Any] | None = None  # values by the id of their node
        self.is_learning = False  # whether they are noted
        self.depth = 0
        self._prepare = prepare
        self._trees: dict[CodeType, Any] = {}
        self._made: dict[FunctionType, Evaluated] = {}
        guard = self.guard
        self._binary = {kind: guard.binary(getattr(operator, n)) for kind, n in _BINARY.items()}
        self._in_place = {
            kind: guard.binary(getattr(operator, f"i{n.strip('_')}")) for kind, n in _BINARY.items()
        }
        self._values = {
            getattr(ast, name.removeprefix("_of_")): getattr(self, name)
            for name in dir(self)
            if name.startswith("_of_")
        }
        self._statements = {
            getattr(ast, name.removeprefix("_run_")): getattr(self, name)
            for name in dir(self)
            if name.startswith("_run_")
        }

    def function(self, function: FunctionType) -> Evaluated:
        """The form of a learner's function that only computes."""
        if function not in self._made:
            code = function.__code__
            if code not in self._trees:
                tree = tree_of(code)
                if tree is None:
                    raise RefusedError(f"the source of {code.co_name} is not known")
                if self._prepare is not None:
                    tree = self._prepare(function, tree)
                self._trees[code] = tree
            copied = self.guard.copied
            made = Evaluated(self, self._trees[code], function)
            names = zip(code.co_freevars, function.__closure__ or ())
            cells = {name: copied(cell.cell_contents) for name, cell in names}
            made.outer = Frame(made, cells) if cells else None
            made.defaults = (copied(function.__defaults__), copied(function.__kwdefaults__))
            self._made[function] = made
        return self._made[function]

    def forget(self) -> None:
        """Forget what was copied, for objects that have run forward again."""
        self._made.clear()
        self.guard.copies.clear()

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Evaluate nodes that have several values: the body of a function, of a comprehension."""
        known, self.known = self.known, None
        self.depth += 1
        try:
            if self.depth > _DEEPEST:
                raise LimitError("it calls itself too often")
            yield
        finally:
            self.known = known
            self.depth -= 1

    # --- Statements -------------------------------------------------------------------------

    def run(self, body: list[ast.stmt], frame: Frame) -> Any:
        """Run statements; what ends them early, or None."""
        guard, noted = self.guard, self.on_statement
        for node in body:
            guard.steps += 1
            run = self._statements.get(type(node))
            if run is None:
                raise RefusedError(f"{type(node).__name__.lower()} in line {node.lineno}")
            ended = run(node, frame)
            if noted is not None:
                noted(node, frame)
            if ended is not None:
                return ended
        return None

    def _run_Expr(self, node: ast.Expr, frame: Frame) -> None:
        self.value(node.value, frame)

    def _run_Assign(self, node: ast.Assign, frame: Frame) -> None:
        value = self.value(node.value, frame)
        for target in node.targets:
            self.assign(target, value, frame)

    def _run_AnnAssign(self, node: ast.AnnAssign, frame: Frame) -> None:
        if node.value is not None:
            self.assign(node.target, self.value(node.value, frame), frame)

    def _run_AugAssign(self, node: ast.AugAssign, frame: Frame) -> None:
        target, change = node.target, self._in_place[type(node.op)]
        if isinstance(target, ast.Name):
            held = self._of_Name(target, frame)
            frame.names[target.id] = change(held, self.value(node.value, frame))
            return
        owner = self.guard.own(self.value(target.value, frame))
        if isinstance(target, ast.Attribute):
            name = _private(target.attr, frame)
            held = self.guard.get(owner, name)
            setattr(owner, name, change(held, self.value(node.value, frame)))
        else:
            index = self.value(target.slice, frame)
            held = self.guard.item(owner, index)
            owner[index] = change(held, self.value(node.value, frame))

    def assign(self, target: Any, value: Any, frame: Frame) -> None:
        """Store a value."""
        if isinstance(target, ast.Name):
            frame.names[target.id] = value
        elif isinstance(target, ast.Attribute):
            owner = self.guard.own(self.value(target.value, frame))
            setattr(owner, _private(target.attr, frame), value)
        elif isinstance(target, ast.Subscript):
            owner = self.guard.own(self.value(target.value, frame))
            owner[self.value(target.slice, frame)] = value
        elif isinstance(target, ast.Tuple | ast.List):
            values, names = list(value), target.elts
            starred = [k for k, one in enumerate(names) if isinstance(one, ast.Starred)]
            if starred:
                k, more = starred[0], len(values) - len(names) + 1
                values[k : k + more] = [values[k : k + more]]
            for one, each in zip(names, values, strict=True):
                self.assign(one.value if isinstance(one, ast.Starred) else one, each, frame)
        else:
            raise RefusedError(f"an assignment in line {target.lineno}")

    def _run_Return(self, node: ast.Return, frame: Frame) -> _Returned:
        return _Returned(None if node.value is None else self.value(node.value, frame))

    def _run_If(self, node: ast.If, frame: Frame) -> Any:
        return self.run(node.body if self.value(node.test, frame) else node.orelse, frame)

    def _run_For(self, node: ast.For, frame: Frame) -> Any:
        for one in self.value(node.iter, frame):
            self.guard.tick()
            self.assign(node.target, one, frame)
            ended = self.run(node.body, frame)
            if ended is _BREAK:
                return None
            if ended is not None and ended is not _CONTINUE:
                return ended
        return self.run(node.orelse, frame)

    def _run_While(self, node: ast.While, frame: Frame) -> Any:
        while self.value(node.test, frame):
            self.guard.tick()
            ended = self.run(node.body, frame)
            if ended is _BREAK:
                return None
            if ended is not None and ended is not _CONTINUE:
                return ended
        return self.run(node.orelse, frame)

    def _run_Pass(self, node: ast.Pass, frame: Frame) -> None:
        pass

    def _run_Break(self, node: ast.Break, frame: Frame) -> Any:
        return _BREAK

    def _run_Continue(self, node: ast.Continue, frame: Frame) -> Any:
        return _CONTINUE

    def _run_Assert(self, node: ast.Assert, frame: Frame) -> None:
        if not self.value(node.test, frame):
            raise AssertionError

    def _run_Raise(self, node: ast.Raise, frame: Frame) -> None:
        raise ValueError("raised by the learner")

    def _run_Delete(self, node: ast.Delete, frame: Frame) -> None:
        for one in node.targets:
            if isinstance(one, ast.Name):
                del frame.names[one.id]
            elif isinstance(one, ast.Attribute):
                delattr(self.guard.own(self.value(one.value, frame)), _private(one.attr, frame))
            elif isinstance(one, ast.Subscript):
                del self.guard.own(self.value(one.value, frame))[self.value(one.slice, frame)]

    def _run_With(self, node: ast.With, frame: Frame) -> Any:
        if not all("errstate(" in ast.unparse(one.context_expr) for one in node.items):
            raise RefusedError(f"with in line {node.lineno}")
        return self.run(node.body, frame)  # trials are silent as they are

    def _run_Import(self, node: ast.Import, frame: Frame) -> None:
        for one in node.names:
            module = self.guard.module(one.name if one.asname else one.name.partition(".")[0])
            frame.names[one.asname or one.name.partition(".")[0]] = module

    def _run_ImportFrom(self, node: ast.ImportFrom, frame: Frame) -> None:
        for one in node.names:
            module = self.guard.module(node.module or "")
            frame.names[one.asname or one.name] = getattr(module, one.name)

    def _run_FunctionDef(self, node: ast.FunctionDef, frame: Frame) -> None:
        if node.decorator_list:
            raise RefusedError(f"a decorator in line {node.lineno}")
        frame.names[node.name] = self._inner(node, frame)

    def _inner(self, node: Any, frame: Frame) -> Evaluated:
        takes = node.args
        given = [self.value(one, frame) for one in takes.defaults]
        pairs = zip(takes.kwonlyargs, takes.kw_defaults)
        by_name = {a.arg: self.value(one, frame) for a, one in pairs if one is not None}
        return Evaluated(self, node, frame.function.function, frame, (given, by_name))

    # --- Expressions ------------------------------------------------------------------------

    def value(self, node: Any, frame: Frame) -> Any:
        """The value of an expression, or of what stands in brackets."""
        if node is self.watched and self.watcher is not None:
            return self.watcher(frame)
        guard = self.guard
        guard.steps += 1
        if guard.steps > guard.most:
            raise LimitError("it takes too many steps")
        known = self.known
        if known is not None and id(node) in known:
            return known[id(node)]
        evaluate = self._values.get(type(node))
        if evaluate is None:
            raise RefusedError(f"{type(node).__name__.lower()} in line {node.lineno}")
        found = evaluate(node, frame)
        if self.is_learning and known is not None:
            known[id(node)] = found
        return found

    def _of_Constant(self, node: ast.Constant, frame: Frame) -> Any:
        return node.value

    def _of_Name(self, node: ast.Name, frame: Frame) -> Any:
        name, inside = node.id, frame
        while True:
            found = inside.names.get(name, _ABSENT)
            if found is not _ABSENT:
                return found
            if inside.outer is None:
                return self.guard.name(name, frame.function.function)
            inside = inside.outer

    def _of_Attribute(self, node: ast.Attribute, frame: Frame) -> Any:
        return self.guard.get(self.value(node.value, frame), _private(node.attr, frame))

    def _of_Subscript(self, node: ast.Subscript, frame: Frame) -> Any:
        return self.guard.item(self.value(node.value, frame), self.value(node.slice, frame))

    def _of_Slice(self, node: ast.Slice, frame: Frame) -> slice:
        bounds = (node.lower, node.upper, node.step)
        return slice(*(None if one is None else self.value(one, frame) for one in bounds))

    def _of_BinOp(self, node: ast.BinOp, frame: Frame) -> Any:
        left = self.value(node.left, frame)
        return self._binary[type(node.op)](left, self.value(node.right, frame))

    def _of_UnaryOp(self, node: ast.UnaryOp, frame: Frame) -> Any:
        return _UNARY[type(node.op)](self.guard.plain(self.value(node.operand, frame)))

    def _of_Compare(self, node: ast.Compare, frame: Frame) -> Any:
        left: Any = self.value(node.left, frame)
        found: Any = True
        for kind, one in zip(node.ops, node.comparators):
            right = self.value(one, frame)
            found = _COMPARED[type(kind)](left, right)
            if len(node.ops) > 1 and not found:
                break
            left = right
        return found

    def _of_BoolOp(self, node: ast.BoolOp, frame: Frame) -> Any:
        ends_at = isinstance(node.op, ast.Or)
        found: Any = None
        for one in node.values:
            found = self.value(one, frame)
            if bool(found) is ends_at:
                break
        return found

    def _of_IfExp(self, node: ast.IfExp, frame: Frame) -> Any:
        return self.value(node.body if self.value(node.test, frame) else node.orelse, frame)

    def _of_NamedExpr(self, node: ast.NamedExpr, frame: Frame) -> Any:
        frame.names[node.target.id] = found = self.value(node.value, frame)
        return found

    def _of_Tuple(self, node: ast.Tuple, frame: Frame) -> Any:
        return tuple(self._each(node.elts, frame))

    def _of_List(self, node: ast.List, frame: Frame) -> Any:
        return self._each(node.elts, frame)

    def _of_Set(self, node: ast.Set, frame: Frame) -> Any:
        return set(self._each(node.elts, frame))

    def _each(self, nodes: list[ast.expr], frame: Frame) -> list[Any]:
        found: list[Any] = []
        for one in nodes:
            if type(one) is ast.Starred:
                found += self.value(one.value, frame)
            else:
                found.append(self.value(one, frame))
        return found

    def _of_Dict(self, node: ast.Dict, frame: Frame) -> Any:
        found: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values):
            if key is None:
                found |= self.value(value, frame)
            else:
                found[self.value(key, frame)] = self.value(value, frame)
        return found

    def _of_JoinedStr(self, node: ast.JoinedStr, frame: Frame) -> str:
        return "".join(str(self.guard.plain(self.value(one, frame))) for one in node.values)

    def _of_FormattedValue(self, node: ast.FormattedValue, frame: Frame) -> Any:
        value = self.guard.plain(self.value(node.value, frame))
        told = "" if node.format_spec is None else self.value(node.format_spec, frame)
        return format(value, told)

    def _of_Lambda(self, node: ast.Lambda, frame: Frame) -> Any:
        return self._inner(node, frame)

    def _of_Call(self, node: ast.Call, frame: Frame) -> Any:
        function = node.func
        if isinstance(function, ast.Name) and function.id == "super":
            return self._super(node, frame)
        called = self.value(function, frame)
        args = self._each(node.args, frame)
        options: dict[str, Any] = {}
        for one in node.keywords:
            if one.arg is None:
                options |= self.value(one.value, frame)
            else:
                options[one.arg] = self.value(one.value, frame)
        return self.guard.call(called, args, options)

    def _super(self, node: ast.Call, frame: Frame) -> Any:
        if node.args:
            return super(*self._each(node.args, frame))
        made = frame.function
        kind = self._of_Name(ast.Name("__class__"), frame)
        return super(kind, frame.names[made.function.__code__.co_varnames[0]])

    def _rounds(self, node: Any, frame: Frame) -> Iterator[Frame]:
        """The rounds of a comprehension."""
        inner = Frame(frame.function, {}, frame)

        def go(k: int) -> Iterator[Frame]:
            if k == len(node.generators):
                yield inner
                return
            part = node.generators[k]
            for one in self.value(part.iter, inner):
                self.guard.tick()
                self.assign(part.target, one, inner)
                if all(self.value(test, inner) for test in part.ifs):
                    yield from go(k + 1)

        return go(0)

    def _of_ListComp(self, node: ast.ListComp, frame: Frame) -> Any:
        with self.apart():
            return [self.value(node.elt, inner) for inner in self._rounds(node, frame)]

    _of_GeneratorExp = _of_ListComp

    def _of_SetComp(self, node: ast.SetComp, frame: Frame) -> Any:
        return set(self._of_ListComp(node, frame))  # type: ignore[arg-type]

    def _of_DictComp(self, node: ast.DictComp, frame: Frame) -> Any:
        key, value = node.key, node.value
        with self.apart():
            rounds = self._rounds(node, frame)
            return {self.value(key, inner): self.value(value, inner) for inner in rounds}


def _private(name: str, frame: Frame) -> str:
    """The name of an attribute; one with two underscores belongs to the class it is written in."""
    if name.startswith("__") and not name.endswith("__"):
        parts = frame.function.function.__qualname__.split(".")
        return f"_{parts[-2].lstrip('_')}{name}" if len(parts) > 1 else name
    return name
