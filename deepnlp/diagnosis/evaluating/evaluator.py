"""Running a learner's functions in a form in which they can do nothing but compute.

A function is read as a syntax tree and evaluated node by node. The :class:`Evaluator` knows
arithmetic, indexing, attributes, control flow, and the calls that :class:`Guard` lets pass; it
evaluates the learner's own functions in the same way, and refuses all else. It counts its steps and
the numbers that it makes, and writes to copies only.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any, TypeAlias

from deepnlp.diagnosis.evaluating.guard import Computed, Guard, LimitError, RefusedError
from deepnlp.diagnosis.evaluating.sources import tree_of

_BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.MatMult: "matmul", ast.LShift: "lshift",
    ast.RShift: "rshift", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor",
}  # fmt: skip
_UNARY: dict[type, Callable[[Any], Any]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
    ast.Not: operator.not_,
}  # fmt: skip
_COMPARED: dict[type, Callable[[Any, Any], Any]] = {
    ast.Gt: operator.gt, ast.Lt: operator.lt, ast.GtE: operator.ge, ast.LtE: operator.le,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip
_DEEPEST = 60
_BREAK, _CONTINUE = object(), object()


class _Returned:
    """The value of a ``return``."""

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
    body : callable, optional
        Gives the value of a lambda.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        tree: Any,
        function: FunctionType,
        outer: Frame | None = None,
        defaults: tuple[Any, Any] = ((), {}),
        body: Code | None = None,
    ) -> None:
        self.evaluator, self.tree, self.function, self.outer = evaluator, tree, function, outer
        self.defaults, self.body = defaults, body
        self.__name__ = function.__name__
        takes = tree.args
        self._names = [one.arg for one in (*takes.posonlyargs, *takes.args)]
        self._is_simple = not (takes.vararg or takes.kwonlyargs or takes.kwarg)

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Evaluate its body."""
        evaluator = self.evaluator
        evaluator.guard.tick()
        if self._is_simple and not options and len(args) == len(self._names):
            names = dict(zip(self._names, args))
        else:
            names = self._bound(args, options)
        frame = Frame(self, names, self.outer)
        if self.body is not None:
            return self.body(frame)
        evaluator.depth += 1
        if evaluator.depth > _DEEPEST:
            raise LimitError("it calls itself too often")
        found = evaluator.run(self.tree.body, frame)
        evaluator.depth -= 1
        if evaluator.on_return is not None:
            evaluator.on_return(self, frame)
        return found.value if type(found) is _Returned else None

    def _bound(self, args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
        """Arguments by name."""
        takes, names = self.tree.args, self._names
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
        for name, value in (*zip(names[::-1], (given or ())[::-1]), *(by_name or {}).items()):
            found.setdefault(name, value)
        if missing := own - found.keys():
            raise TypeError(f"{self.__name__} needs {', '.join(missing)}")
        return found


class Frame:
    """The variables of a function that runs."""

    __slots__ = ("caller", "function", "names", "outer")

    def __init__(
        self, function: Evaluated, names: dict[str, Any], outer: Frame | None = None
    ) -> None:
        self.function, self.names, self.outer = function, names, outer
        self.caller = function.evaluator.at


Code: TypeAlias = Callable[[Frame], Any]
"""Gives the value of an expression in a frame."""


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
    at : (node, Frame), optional
        What is evaluated, where that is noted.
    watched : ast.AST
        An expression that is handed to ``watcher``, with the frame, in place of being evaluated.
        The statement that holds it has to be read anew before and after.
    """

    def __init__(self, prepare: Callable[[FunctionType, Any], Any] | None = None) -> None:
        self.guard = self._new_guard()
        self.at: tuple[Any, Frame] | None = None
        self.on_return: Callable[[Evaluated, Frame], None] | None = None
        self.on_statement: Callable[[ast.stmt, Frame], None] | None = None
        self.watched: Any = None
        self.watcher: Callable[[Frame], Any] | None = None
        self.depth = 0
        self._known: dict[int, Any] | None = None  # values by the id of their node
        self._is_learning = False  # whether they are noted
        self._codes: dict[Any, Code] = {}  # by statement, and by expression that was asked for
        self._prepare = prepare
        self._trees: dict[CodeType, Any] = {}
        self._made: dict[FunctionType, Evaluated] = {}
        guard = self.guard
        self._binary = {kind: guard.binary(getattr(operator, n)) for kind, n in _BINARY.items()}
        self._in_place = {
            kind: guard.binary(getattr(operator, f"i{n.strip('_')}")) for kind, n in _BINARY.items()
        }
        self._makers = {
            getattr(ast, name.removeprefix("_of_")): getattr(self, name)
            for name in dir(self)
            if name.startswith("_of_")
        }

    def _new_guard(self) -> Guard:
        return Guard(self)

    def function(self, function: FunctionType) -> Evaluated:
        """The form of a learner's function that only computes."""
        known = self._made.get(function)
        if known is None:
            code = function.__code__
            if code not in self._trees:
                tree = tree_of(code)
                if tree is None:
                    raise RefusedError(f"the source of {code.co_name} is not known")
                if self._prepare is not None:
                    tree = self._prepare(function, tree)
                self._trees[code] = tree
            copied = self.guard.copied
            tree = self._trees[code]
            made = Evaluated(self, tree, function)
            names = zip(code.co_freevars, function.__closure__ or ())
            cells = {name: copied(cell.cell_contents) for name, cell in names}
            made.outer = Frame(made, cells) if cells else None
            made.defaults = (copied(function.__defaults__), copied(function.__kwdefaults__))
            known = self._made[function] = made
        return known

    def forget(self) -> None:
        """Forget what was copied, for objects that have run forward again."""
        self._made.clear()
        self.guard.copies.clear()

    # --- Statements -------------------------------------------------------------------------

    def run(self, body: list[ast.stmt], frame: Frame) -> Any:
        """Run statements; what ends them early, or None."""
        guard, codes, noted = self.guard, self._codes, self.on_statement
        for node in body:
            guard.steps += 1
            ended = (codes.get(node) or self._read(node))(frame)
            if noted is not None:
                noted(node, frame)
            if ended is not None:
                return ended
        return None

    def _read(self, node: Any) -> Code:
        """Return the code that runs a statement or evaluates an expression, and keep it."""
        code = self._codes[node] = self.code(node)
        return code

    def changed(self, nodes: Iterable[Any]) -> None:
        """Read statements anew when they run next."""
        for node in nodes:
            self._codes.pop(node, None)

    def _of_Expr(self, node: ast.Expr) -> Code:
        value = self._code(node.value)

        def run(frame: Frame) -> None:
            value(frame)

        return run

    def _of_Assign(self, node: ast.Assign) -> Code:
        value, stores = self._code(node.value), list(map(self._store, node.targets))

        def assign(frame: Frame) -> None:
            found = value(frame)
            for store in stores:
                store(found, frame)

        return assign

    def _of_AnnAssign(self, node: ast.AnnAssign) -> Code:
        if node.value is None:
            return self._of_Pass(node)
        value, store = self._code(node.value), self._store(node.target)
        return lambda frame: store(value(frame), frame)

    def _of_AugAssign(self, node: ast.AugAssign) -> Code:
        target, change, guard = node.target, self._in_place[type(node.op)], self.guard
        value = self._code(node.value)
        if isinstance(target, ast.Name):
            held, name = self._of_Name(target), target.id

            def change_name(frame: Frame) -> None:
                frame.names[name] = change(held(frame), value(frame))

            return change_name
        owner_of = self._code(target.value)
        if isinstance(target, ast.Attribute):
            attribute = target.attr

            def change_attribute(frame: Frame) -> None:
                owner, name = owner_of(frame), _private(attribute, frame)
                guard.set(owner, name, change(guard.get(owner, name), value(frame)))

            return change_attribute
        index_of = self._code(target.slice)

        def change_item(frame: Frame) -> None:
            owner, index = guard.own(owner_of(frame)), index_of(frame)
            owner[index] = change(guard.item(owner, index), value(frame))

        return change_item

    def _store(self, target: Any) -> Callable[[Any, Frame], None]:
        """Return the code that stores a value in a target."""
        kind, own, put = type(target), self.guard.own, self.guard.set
        if kind is ast.Name:
            name = target.id

            def store_name(value: Any, frame: Frame) -> None:
                frame.names[name] = value

            return store_name
        if kind is ast.Attribute:
            owner_of, attribute = self._code(target.value), target.attr

            def store_attribute(value: Any, frame: Frame) -> None:
                put(owner_of(frame), _private(attribute, frame), value)

            return store_attribute
        if kind is ast.Subscript:
            array_of, index_of = self._code(target.value), self._code(target.slice)

            def store_item(value: Any, frame: Frame) -> None:
                array = own(array_of(frame))
                array[index_of(frame)] = value

            return store_item
        if kind is ast.Tuple or kind is ast.List:
            if all(type(one) is ast.Name for one in target.elts):
                names = [one.id for one in target.elts]
                return lambda value, frame: frame.names.update(zip(names, value, strict=True))
            stores = list(map(self._store, target.elts))
            starred = [k for k, one in enumerate(target.elts) if type(one) is ast.Starred]

            def unpack(value: Any, frame: Frame) -> None:
                values = list(value)
                for k in starred:
                    more = len(values) - len(stores) + 1
                    values[k : k + more] = [values[k : k + more]]
                for store, one in zip(stores, values, strict=True):
                    store(one, frame)

            return unpack
        if kind is ast.Starred:
            store = self._store(target.value)
            return lambda value, frame: store(list(value), frame)
        raise RefusedError(f"an assignment in line {target.lineno}")

    def _of_Return(self, node: ast.Return) -> Code:
        value = self._code(node.value or ast.Constant(None))
        return lambda frame: _Returned(value(frame))

    def _of_If(self, node: ast.If) -> Code:
        test, run, body, other = self._code(node.test), self.run, node.body, node.orelse
        return lambda frame: run(body if test(frame) else other, frame)

    def _of_For(self, node: ast.For) -> Code:
        values, store = self._code(node.iter), self._store(node.target)

        def rounds(frame: Frame) -> Iterator[None]:
            for one in values(frame):
                self.guard.tick()
                store(one, frame)
                yield

        return self._loop(node, rounds)

    def _of_While(self, node: ast.While) -> Code:
        test = self._code(node.test)

        def rounds(frame: Frame) -> Iterator[None]:
            while test(frame):
                self.guard.tick()
                yield

        return self._loop(node, rounds)

    def _loop(self, node: Any, rounds: Callable[[Frame], Iterator[None]]) -> Code:
        """Return the code that runs the body of a loop in each round."""
        run, body, behind = self.run, node.body, node.orelse

        def loop(frame: Frame) -> Any:
            for _ in rounds(frame):
                ended = run(body, frame)
                if ended is _BREAK:
                    return None
                if ended is not None and ended is not _CONTINUE:
                    return ended
            return run(behind, frame)

        return loop

    def _of_Pass(self, node: ast.stmt) -> Code:
        return lambda frame: None

    def _of_Break(self, node: ast.Break) -> Code:
        return lambda frame: _BREAK

    def _of_Continue(self, node: ast.Continue) -> Code:
        return lambda frame: _CONTINUE

    def _of_Assert(self, node: ast.Assert) -> Code:
        test = self._code(node.test)

        def check(frame: Frame) -> None:
            if not test(frame):
                raise AssertionError

        return check

    def _of_Raise(self, node: ast.Raise) -> Code:
        def fail(frame: Frame) -> None:
            raise ValueError("raised by the learner")

        return fail

    def _of_Delete(self, node: ast.Delete) -> Code:
        deletes = list(map(self._delete, node.targets))

        def delete(frame: Frame) -> None:
            for one in deletes:
                one(frame)

        return delete

    def _delete(self, target: Any) -> Code:
        """Return the code that deletes a target."""
        own = self.guard.own
        if isinstance(target, ast.Name):
            return lambda frame: frame.names.__delitem__(target.id)
        if not isinstance(target, ast.Attribute | ast.Subscript):
            raise RefusedError(f"del in line {target.lineno}")
        owner = self._code(target.value)
        if isinstance(target, ast.Attribute):
            return lambda frame: delattr(own(owner(frame)), _private(target.attr, frame))
        index = self._code(target.slice)
        return lambda frame: own(owner(frame)).__delitem__(index(frame))

    def _of_With(self, node: ast.With) -> Code:
        if not all("errstate(" in ast.unparse(one.context_expr) for one in node.items):
            raise RefusedError(f"with in line {node.lineno}")
        run, body = self.run, node.body
        return lambda frame: run(body, frame)  # trials are silent as they are

    def _of_Import(self, node: ast.Import) -> Code:
        def load(frame: Frame) -> None:
            for one in node.names:
                module = self.guard.module(one.name if one.asname else one.name.partition(".")[0])
                frame.names[one.asname or one.name.partition(".")[0]] = module

        return load

    def _of_ImportFrom(self, node: ast.ImportFrom) -> Code:
        def load(frame: Frame) -> None:
            for one in node.names:
                module = self.guard.module(node.module or "")
                frame.names[one.asname or one.name] = getattr(module, one.name)

        return load

    def _of_FunctionDef(self, node: ast.FunctionDef) -> Code:
        if node.decorator_list:
            raise RefusedError(f"a decorator in line {node.lineno}")
        made = self._inner(node)

        def define(frame: Frame) -> None:
            frame.names[node.name] = made(frame)

        return define

    def _inner(self, node: Any, body: Code | None = None) -> Callable[[Frame], Evaluated]:
        """Return the code that makes a function defined inside another."""
        takes = node.args
        given = list(map(self._code, takes.defaults))
        pairs = zip(takes.kwonlyargs, takes.kw_defaults)
        by_name = {a.arg: self._code(one) for a, one in pairs if one is not None}

        def make(frame: Frame) -> Evaluated:
            defaults = [one(frame) for one in given], {k: v(frame) for k, v in by_name.items()}
            return Evaluated(self, node, frame.function.function, frame, defaults, body)

        return make

    # --- Expressions ------------------------------------------------------------------------

    def value(self, node: Any, frame: Frame) -> Any:
        """The value of an expression, which is not changed later."""
        return (self._codes.get(node) or self._read(node))(frame)

    def code(
        self, node: Any, known: dict[int, Any] | None = None, is_learning: bool = False
    ) -> Code:
        """Return the code that evaluates an expression, or runs a statement.

        Parameters
        ----------
        node : ast.expr or ast.stmt
        known : dict of int to value, optional
            Values of parts of it, by the ``id`` of their node.
        is_learning : bool
            Whether the values of its parts are noted there.
        """
        before = self._known, self._is_learning
        self._known, self._is_learning = known, is_learning
        try:
            return self._code(node)
        finally:
            self._known, self._is_learning = before

    def _code(self, node: Any) -> Code:
        known, key = self._known, id(node)
        if known is not None and key in known:
            value = known[key]
            return lambda frame: value
        make = self._makers.get(type(node))
        if make is None:
            raise RefusedError(f"{type(node).__name__.lower()} in line {node.lineno}")
        code: Code = make(node)
        if node is self.watched and (watcher := self.watcher) is not None:
            return lambda frame: (watcher if node is self.watched else code)(frame)
        if known is None or not self._is_learning:
            return code

        def learn(frame: Frame) -> Any:
            known[key] = found = code(frame)
            return found

        return learn

    def _of_Constant(self, node: ast.Constant) -> Code:
        value = node.value
        return lambda frame: value

    def _of_Name(self, node: ast.Name) -> Code:
        name, of_module = node.id, self.guard.name

        def look_up(frame: Frame) -> Any:
            try:
                return frame.names[name]
            except KeyError:
                if frame.outer is None:
                    return of_module(name, frame.function.function)
                return look_up(frame.outer)

        return look_up

    def _of_Attribute(self, node: ast.Attribute) -> Code:
        owner, name, get = self._code(node.value), node.attr, self.guard.get
        if name.startswith("__") and not name.endswith("__"):
            return lambda frame: get(owner(frame), _private(name, frame))
        return lambda frame: get(owner(frame), name)

    def _of_Subscript(self, node: ast.Subscript) -> Code:
        held, index, item = self._code(node.value), self._code(node.slice), self.guard.item
        return lambda frame: item(held(frame), index(frame))

    def _of_Slice(self, node: ast.Slice) -> Code:
        if node.lower is node.upper is node.step is None:
            whole = slice(None)
            return lambda frame: whole
        bounds = [one or ast.Constant(None) for one in (node.lower, node.upper, node.step)]
        lower, upper, step = map(self._code, bounds)
        return lambda frame: slice(lower(frame), upper(frame), step(frame))

    def _of_BinOp(self, node: ast.BinOp) -> Code:
        left, right = self._code(node.left), self._code(node.right)
        apply = self._binary[type(node.op)]
        return lambda frame: apply(left(frame), right(frame))

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Code:
        operand, apply = self._code(node.operand), self.guard.unary(_UNARY[type(node.op)])
        return lambda frame: apply(operand(frame))

    def _of_Compare(self, node: ast.Compare) -> Code:
        first, others = self._code(node.left), list(map(self._code, node.comparators))
        pairs = list(zip([_COMPARED[type(one)] for one in node.ops], others))

        def compare(frame: Frame) -> Any:
            left, found = first(frame), True
            for k, (apply, other) in enumerate(pairs):
                right = other(frame)
                found = apply(left, right)
                if k + 1 < len(pairs) and not found:
                    break
                left = right
            return found

        return compare

    def _of_BoolOp(self, node: ast.BoolOp) -> Code:
        values, ends_at = list(map(self._code, node.values)), isinstance(node.op, ast.Or)

        def combine(frame: Frame) -> Any:
            found: Any = None
            for one in values:
                found = one(frame)
                if bool(found) is ends_at:
                    break
            return found

        return combine

    def _of_IfExp(self, node: ast.IfExp) -> Code:
        test, body, other = map(self._code, (node.test, node.body, node.orelse))
        return lambda frame: body(frame) if test(frame) else other(frame)

    def _of_NamedExpr(self, node: ast.NamedExpr) -> Code:
        value, name = self._code(node.value), node.target.id

        def name_it(frame: Frame) -> Any:
            frame.names[name] = found = value(frame)
            return found

        return name_it

    def _of_Tuple(self, node: ast.Tuple) -> Code:
        each = self._each(node.elts)
        return lambda frame: tuple(each(frame))

    def _of_List(self, node: ast.List) -> Code:
        return self._each(node.elts)

    def _of_Set(self, node: ast.Set) -> Code:
        each = self._each(node.elts)
        return lambda frame: set(each(frame))

    def _each(self, nodes: list[ast.expr]) -> Callable[[Frame], list[Any]]:
        if not any(isinstance(one, ast.Starred) for one in nodes):
            codes = list(map(self._code, nodes))
            if len(codes) == 2:  # as most are
                first, second = codes
                return lambda frame: [first(frame), second(frame)]
            return lambda frame: [one(frame) for one in codes]
        parts = [
            self._code(one.value if isinstance(one, ast.Starred) else ast.List([one], ast.Load()))
            for one in nodes
        ]
        return lambda frame: [value for one in parts for value in one(frame)]

    def _of_Dict(self, node: ast.Dict) -> Code:
        values = list(map(self._code, node.values))
        keys = [None if one is None else self._code(one) for one in node.keys]

        def build(frame: Frame) -> Any:
            found: dict[Any, Any] = {}
            for key, value in zip(keys, values):
                found |= value(frame) if key is None else {key(frame): value(frame)}
            return found

        return build

    def _of_JoinedStr(self, node: ast.JoinedStr) -> Code:
        each, plain = self._each(node.values), self.guard.plain
        return lambda frame: "".join(str(plain(one)) for one in each(frame))

    def _of_FormattedValue(self, node: ast.FormattedValue) -> Code:
        value, how = self._code(node.value), self._code(node.format_spec or ast.Constant(""))
        return lambda frame: format(self.guard.plain(value(frame)), how(frame))

    def _of_Lambda(self, node: ast.Lambda) -> Code:
        return self._inner(node, self.code(node.body))

    def _of_Call(self, node: ast.Call) -> Code:
        each, call = self._each(node.args), self.guard.call
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            own = self._of_Name(ast.Name("__class__"))
            return lambda frame: super(*(each(frame) or (own(frame), _first(frame))))
        function = self._code(node.func)
        if not node.keywords:
            return lambda frame: call(function(frame), each(frame), {})
        keys: Any = [None if one.arg is None else ast.Constant(one.arg) for one in node.keywords]
        options = self._of_Dict(ast.Dict(keys, [one.value for one in node.keywords]))
        return lambda frame: call(function(frame), each(frame), options(frame))

    def _rounds(self, node: Any) -> Callable[[Frame], Iterator[Frame]]:
        """The rounds of a comprehension."""
        parts = [
            (self._store(part.target), self.code(part.iter), list(map(self.code, part.ifs)))
            for part in node.generators
        ]

        def go(inner: Frame, k: int) -> Iterator[Frame]:
            if k == len(parts):
                yield inner
                return
            store, values, tests = parts[k]
            for one in values(inner):
                self.guard.tick()
                store(one, inner)
                if all(test(inner) for test in tests):
                    yield from go(inner, k + 1)

        return lambda frame: go(Frame(frame.function, {}, frame), 0)

    def _of_ListComp(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Code:
        rounds, value = self._rounds(node), self.code(node.elt)
        return lambda frame: [value(inner) for inner in rounds(frame)]

    def _of_GeneratorExp(self, node: ast.GeneratorExp) -> Code:
        values = self._of_ListComp(node)
        return lambda frame: iter(values(frame))

    def _of_SetComp(self, node: ast.SetComp) -> Code:
        values = self._of_ListComp(node)
        return lambda frame: set(values(frame))

    def _of_DictComp(self, node: ast.DictComp) -> Code:
        rounds, key, value = self._rounds(node), self.code(node.key), self.code(node.value)
        return lambda frame: {key(inner): value(inner) for inner in rounds(frame)}


def _first(frame: Frame) -> Any:
    """The first argument of a function, ``self`` of a method."""
    return frame.names[frame.function.function.__code__.co_varnames[0]]


def _private(name: str, frame: Frame) -> str:
    """The name of an attribute; one with two underscores belongs to the class it is written in."""
    if name.startswith("__") and not name.endswith("__"):
        parts = frame.function.function.__qualname__.split(".")
        return f"_{parts[-2].lstrip('_')}{name}" if len(parts) > 1 else name
    return name
