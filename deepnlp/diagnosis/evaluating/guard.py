"""The limits of an evaluated function: attributes, operators, calls and writes that compute.

Whatever is not on the lists of ``allowed`` is refused, and so are arrays that are too large. What a
module, a class or an enclosing function holds is copied before it is read.
"""

import builtins
import functools
import inspect
import math
import operator
import sys
import weakref
from collections import deque
from collections.abc import Callable
from types import FunctionType, MethodType, ModuleType, UnionType
from typing import Any

import numpy

from deepnlp.diagnosis.evaluating import allowed
from deepnlp.diagnosis.evaluating.snapshot import Snapshot
from deepnlp.diagnosis.evaluating.sources import is_foreign
from deepnlp.gradcheck.walking import copy_of


class RefusedError(Exception):
    """Something that may do more than compute; the message says what."""


class LimitError(Exception):
    """More steps, or a larger array, than a changed form may take."""


class Computed:
    """A function that is evaluated."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Evaluate it."""
        raise NotImplementedError


class Guard:
    """Lets pass what only computes.

    Parameters
    ----------
    evaluator : object
        With ``function``, which gives the form of a learner's function that is evaluated.

    Attributes
    ----------
    steps : int
        Nodes, calls and rounds of loops so far; a large array counts as several.
    most : int
        An error is raised when there are more.
    copies : dict of int to (object, copy, Snapshot)
        What was read from outside of the objects under test, by ``id``.
    kept : set of int
        The ``id`` of each of these objects.
    """

    def __init__(self, evaluator: Any) -> None:
        self.steps, self.most = 0, 1 << 60
        self.copies: dict[int, tuple[Any, Any, Snapshot]] = {}
        self.kept: set[int] = set()
        self._evaluated = evaluator.function
        self._attributes: dict[tuple[type, str], Any] = {}
        self._known: set[type] = set()
        self._listed: set[Any] = set()  # functions of libraries that were found on the lists

    # --- Limits -----------------------------------------------------------------------------

    def tick(self, count: int = 1) -> None:
        """Count steps."""
        self.steps += count
        if self.steps > self.most:
            raise LimitError("it takes too many steps")

    def grow(self, size: int) -> None:
        """Count the numbers that are about to be made."""
        if size > allowed.LARGEST:
            raise LimitError("it makes too large an array")
        if size > 1024:
            self.tick(size // 1024)

    # --- Values -----------------------------------------------------------------------------

    def plain(self, value: Any) -> Any:
        """A number, an array or a container; an error for objects with methods of their own."""
        if not _is_plain(value):
            self.expect_no_hooks(type(value))
        return value

    def own(self, value: Any) -> Any:
        """Return a value that may be written to: an array, a container, or a learner's object."""
        kind = type(value)
        if kind in allowed.PLAIN or kind in self._known:
            return value
        if isinstance(value, type | ModuleType | FunctionType | MethodType):
            raise RefusedError(f"a change of {getattr(value, '__name__', 'a function')}")
        self.expect_no_hooks(kind)
        return value

    def expect_no_hooks(self, kind: type) -> None:
        """An error for a class of the learner with methods that run without being called."""
        if kind in self._known:
            return
        for base in kind.__mro__:
            for name, held in vars(base).items():
                function = held.fset if isinstance(held, property) else held
                is_hook = name.startswith("__") and name.endswith("__") and name not in _EVALUATED
                if (is_hook or isinstance(held, property)) and _is_learners(function):
                    raise RefusedError(f"{kind.__name__}.{name}")
        self._known.add(kind)

    def copied(self, value: Any) -> Any:
        """A copy of data that is not of the objects under test, made once."""
        if id(value) in self.kept or not is_mutable(value):
            return value
        if id(value) not in self.copies:
            made = copy_of(value)
            self.copies[id(value)] = value, made, Snapshot([made])
        return self.copies[id(value)][1]

    def name(self, name: str, function: FunctionType) -> Any:
        """Return the value of a global or built-in name."""
        names = function.__globals__
        if name in names:
            value = names[name]
            return value if type(value) in _FIXED else self.copied(value)
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise NameError(name)

    def module(self, name: str) -> Any:
        """A module of the lists that is loaded."""
        is_listed = name.partition(".")[0] in ("numpy", *allowed.LIBRARIES)
        if not is_listed or name not in sys.modules:
            raise RefusedError(f"the import of {name}")
        return sys.modules[name]

    # --- Operators --------------------------------------------------------------------------

    def binary(self, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """An operator, with a look at the size of its result."""
        array = numpy.ndarray
        is_product = function in (operator.matmul, operator.imatmul)
        repeats = function in (operator.mul, operator.imul)
        grows = function in (operator.pow, operator.lshift, operator.ipow, operator.ilshift)

        plain = allowed.PLAIN

        def apply(a: Any, b: Any) -> Any:
            self.steps += 1
            one, other = type(a), type(b)
            if one is array and other is array:
                if a.size > _SMALL or b.size > _SMALL:
                    product = is_product and a.ndim and b.ndim
                    size = allowed.size_of_result("matmul", (a, b), {}) if product else 0
                    self.grow(size or _broadcast(a.shape, b.shape))
            elif one not in plain or other not in plain:
                return self._operated(function, a, b)
            elif repeats and (isinstance(a, _SEQUENCES) or isinstance(b, _SEQUENCES)):
                held, count = (a, b) if isinstance(a, _SEQUENCES) else (b, a)
                self.grow(len(held) * int(count) if numpy.ndim(count) == 0 else 1)
            elif grows and one is int and other is int:
                self.grow(abs(b) * max(abs(a), 2).bit_length())
            return function(a, b)

        return apply

    def unary(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """A sign or ``not``, also of the learner's own type of numbers."""
        name, plain = f"__{function.__name__.strip('_')}__", allowed.PLAIN

        def apply(a: Any) -> Any:
            if type(a) in plain:
                return function(a)
            found = self._static(type(a), name)
            return self._evaluated(found)(a) if _is_learners(found) else function(self.plain(a))

        return apply

    def _operated(self, function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        """An operator of the learner's own type of numbers."""
        if isinstance(a, _TYPES) and isinstance(b, _TYPES):
            return function(a, b)  # int | float
        for this, other, method in operators_of(function, a, b):
            found = self._static(type(this), method)
            if _is_learners(found):
                return self._evaluated(found)(this, other)
        name = function.__name__.strip("_")
        raise RefusedError(f"{name} of a {type(a).__name__} and a {type(b).__name__}")

    def item(self, held: Any, index: Any) -> Any:
        """``held[index]``."""
        if type(held) is numpy.ndarray:
            if type(index) in (tuple, list, numpy.ndarray):
                many = 1
                for one in index if type(index) is tuple else (index,):
                    if type(one) is numpy.ndarray:
                        many *= one.size
                if many > 64:
                    self.grow(many * max(held.size // max(held.shape[:1] or (1,)), 1))
        elif not _is_plain(held):
            found = self._static(type(held), "__getitem__")
            if _is_learners(found):
                return self._evaluated(found)(held, index)
        return held[index]

    # --- Attributes -------------------------------------------------------------------------

    def _static(self, kind: type, name: str) -> Any:
        """Return the entry of a class under a name; None if there is none."""
        key = kind, name
        try:
            return self._attributes[key]
        except KeyError:
            held = [vars(base)[name] for base in kind.__mro__ if name in vars(base)]
            return self._attributes.setdefault(key, held[0] if held else None)

    def get(self, owner: Any, name: str) -> Any:
        """``owner.name``: methods of the learner in the form that is evaluated."""
        kind = type(owner)
        if kind in allowed.PLAIN:
            return getattr(owner, name)
        if name.startswith("__") and name not in _DUNDERS:
            raise RefusedError(f"the attribute {name}")
        if kind in _OPEN:
            value = getattr(owner, name)
            return value if type(value) in _FIXED else self.copied(value)
        if isinstance(owner, type):
            held = inspect.getattr_static(owner, name)
            return held if isinstance(held, FunctionType) else self._bound(getattr(owner, name))
        if kind is super:
            return self._bound(getattr(owner, name))
        held = self._static(kind, name)
        own = getattr(owner, "__dict__", None)
        if held is None and own is not None and name in own:
            return own[name]
        if isinstance(held, property) and _is_learners(held.fget):
            return self._evaluated(held.fget)(owner)
        if own is not None and name in own:
            return own[name]
        hook = self._static(kind, "__getattr__" if held is None else "__getattribute__")
        if _is_learners(hook) or isinstance(held, functools.cached_property):
            raise RefusedError(f"{kind.__name__}.{name}, which is computed when it is read")
        is_of_class = held is not None and not hasattr(type(held), "__set__")
        return self._bound(getattr(owner, name)) if is_of_class else getattr(owner, name)

    def set(self, owner: Any, name: str, value: Any) -> None:
        """``owner.name = value``."""
        setattr(self.own(owner), name, value)

    def _bound(self, value: Any) -> Any:
        """A method of a class as it is, data as a copy."""
        return value if isinstance(value, MethodType) else self.copied(value)

    # --- Calls ------------------------------------------------------------------------------

    def call(self, function: Any, args: list[Any], options: dict[str, Any]) -> Any:
        """Call what only computes."""
        self.tick()
        kind = type(function)
        if kind is MethodType and _is_learners(function.__func__):
            return self._evaluated(function.__func__)(function.__self__, *args, **options)
        if kind is numpy.ufunc:
            self._expect_size(args)
            return function(*args, **options)
        is_method = kind is _METHOD and function.__self__ is not None
        if is_method and type(function.__self__) in allowed.PLAIN:
            name = function.__name__
            if name not in allowed.METHODS:
                raise RefusedError(f"the call of {name} of a {type(function.__self__).__name__}")
        else:
            made = self.callable(function)
            if made is not function or isinstance(made, Computed):
                return made(*args, **options)
            if kind in _HASHED and function in _SPECIAL:
                return _SPECIAL[function](self, *args, **options)
            name = getattr(function, "__name__", "")
        is_of_container = is_method and type(function.__self__) in CONTAINERS
        if not is_of_container and not (kind in _HASHED and function in HOLDERS):
            args = [self._argument(one) for one in args]
        options = {key: self._argument(one) for key, one in options.items()}
        if name in allowed.GROWS:
            is_method = is_method and not isinstance(function.__self__, ModuleType)
            sized = [function.__self__, *args] if is_method else args
            self.grow(allowed.size_of_result(name, tuple(sized), options))
        if name == "as_strided":
            _expect_inside(*args, **options)
        return function(*args, **options)

    def _expect_size(self, args: list[Any]) -> None:
        arrays = [one for one in args if type(one) is numpy.ndarray and one.size > _SMALL]
        if len(arrays) > 1:
            self.grow(_broadcast(arrays[0].shape, arrays[1].shape))

    def _argument(self, value: Any) -> Any:
        """Return an argument for a function that is not the learner's."""
        kind = type(value)
        if kind is numpy.ndarray:
            return value
        if kind in (list, tuple) and any(map(callable, value)):
            return kind(map(self._argument, value))
        is_layer = self._static(kind, "forward") is not None  # it stays itself, as in a list
        if callable(value) and not is_layer and not isinstance(value, type):
            return self.callable(value)
        return value

    def callable(self, function: Any) -> Any:
        """The form of something that is called that only computes; an error if there is none."""
        kind = type(function)
        if kind in _HASHED and function in self._listed:
            return function
        simple = numpy.ufunc | operator.itemgetter | Computed | weakref.ref | _DISPATCHED
        if isinstance(function, simple):
            if kind is _DISPATCHED:
                if not is_listed(function):
                    raise RefusedError(f"the call of numpy.{function.__name__}")
                self._listed.add(function)
            return function
        is_method = isinstance(function, MethodType)
        if is_method and (_is_learners(function.__func__) or _is_shared(function)):
            return functools.partial(self._evaluated(function.__func__), function.__self__)
        if _is_learners(function) or _is_shared(function):
            return self._evaluated(function)
        if isinstance(function, functools.partial):
            made = self.callable(function.func)
            return functools.partial(made, *function.args, **function.keywords)
        if is_listed(function):
            if kind is type or isinstance(getattr(function, "__self__", None), ModuleType):
                self._listed.add(function)
            return function
        if isinstance(function, type):
            return self._constructor(function)
        if kind is numpy.vectorize:  # what it applies to each number is evaluated
            return numpy.vectorize(self.callable(function.pyfunc), function.otypes or "d")
        called = self._static(type(function), "__call__")
        if _is_learners(called):
            return functools.partial(self._evaluated(called), function)
        module = _module_of(function)
        title = getattr(function, "__qualname__", type(function).__name__)
        raise RefusedError(f"the call of {module + '.' if module else ''}{title}")

    def _constructor(self, kind: type) -> Any:
        """Making an object of the learner's class."""
        start, new = self._static(kind, "__init__"), self._static(kind, "__new__")
        is_usual = type(kind) is type and not _is_learners(new)
        if not is_usual or not (_is_learners(start) or start is object.__init__):
            raise RefusedError(f"the making of a {kind.__name__}")
        self.expect_no_hooks(kind)

        def make(*args: Any, **options: Any) -> Any:
            one: Any = object.__new__(kind)
            if _is_learners(start):
                self._evaluated(start)(one, *args, **options)
            return one

        return make

    # --- Built-in functions that look behind names --------------------------------------------

    def _getattr(self, owner: Any, name: str, *default: Any) -> Any:
        if default and not hasattr(owner, name):
            return default[0]
        return self.get(owner, name)

    def _setattr(self, owner: Any, name: str, value: Any) -> None:
        self.set(owner, name, value)

    def _range(self, *bounds: int) -> range:
        found = range(*bounds)
        self.tick(len(found) // 8)
        return found


_SPECIAL: dict[Any, Any] = {
    getattr: Guard._getattr, setattr: Guard._setattr, range: Guard._range,
    inspect.isroutine: lambda guard, value: inspect.isroutine(value),
    pow: lambda guard, a, b: guard.binary(operator.pow)(a, b),
    print: lambda guard, *args, **options: None,  # silent where it is not the learner's own run
}  # fmt: skip
_TYPES = (type, UnionType)


def operators_of(function: Any, a: Any, b: Any) -> list[tuple[Any, Any, str]]:
    """The methods that an operator may call: of which operand, with which other, its name."""
    name = function.__name__.strip("_")
    bare = name.removeprefix("i") if name[1:] in _NAMES else name
    return [(a, b, f"__{name}__"), (a, b, f"__{bare}__"), (b, a, f"__r{bare}__")]


_OPEN = frozenset({ModuleType, FunctionType, MethodType, numpy.ufunc})
_FIXED = frozenset({ModuleType, FunctionType, type, int, float, bool, str, numpy.ufunc,
                    type(numpy.sum), type(len)})  # fmt: skip
_METHOD, _DISPATCHED = type(len), type(numpy.sum)
_HASHED = frozenset({_METHOD, _DISPATCHED, type, FunctionType})
_SMALL = 512  # arrays of fewer numbers can be multiplied in any way
HOLDERS = frozenset({list, tuple, set, dict, reversed, enumerate, zip, iter, next, len, id,
                     isinstance, type})  # fmt: skip
"""Built-in functions that call nothing of what they are given."""
_SEQUENCES = (list, tuple, str, bytes)
CONTAINERS = frozenset({list, set, dict, deque})
_NAMES = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift",
          "and", "or", "xor")  # fmt: skip
_DUNDERS = ("__class__", "__name__", "__len__", "__call__", "__init__", "__qualname__", "__dict__")
_EVALUATED = (
    "__init__", "__call__", "__getitem__", "__repr__", "__str__", "__neg__", "__pos__",
    *(f"__{prefix}{name}__" for name in _NAMES for prefix in ("", "r", "i")),
)  # fmt: skip
"""Special methods that are evaluated as others are, or that nothing here calls."""


def is_listed(function: Any) -> bool:
    """Return whether a function or a class of a library is on the lists of what only computes."""
    name, owner = getattr(function, "__name__", ""), getattr(function, "__self__", None)
    room = _module_of(function).partition(".")[0].removeprefix("_")
    if isinstance(function, type):
        if issubclass(function, numpy.generic | Exception):
            return True
    elif owner is not None and not isinstance(owner, ModuleType):
        of_numbers = _is_plain(owner) or isinstance(owner, numpy.ufunc)
        return (of_numbers and name in allowed.METHODS) or _is_of_the_package(function)
    if room == "builtins":
        return name in ("print", "pow", *allowed.BUILTINS) and getattr(builtins, name) is function
    if room == "numpy":
        return name in allowed.NUMPY
    return name in allowed.LIBRARIES.get(room, ()) or _is_of_the_package(function)


def is_mutable(value: Any) -> bool:
    """Return whether a value is data that can be changed: no function, class or number."""
    if isinstance(value, tuple):
        return any(map(is_mutable, value))
    if isinstance(value, dict | list | set | numpy.ndarray):
        return True
    immutable = (int, float, complex, str, bytes, type(None), type, ModuleType, numpy.generic,
                 numpy.ufunc, numpy.dtype, frozenset, slice, range, functools.partial)  # fmt: skip
    is_data = not isinstance(value, immutable) and not inspect.isroutine(value)
    return is_data and not _is_of_the_package(type(value)) and not isinstance(value, Computed)


def _is_plain(value: Any) -> bool:
    return type(value) in allowed.PLAIN or isinstance(value, Exception)


def _is_learners(function: Any) -> bool:
    return isinstance(function, FunctionType) and not is_foreign(function.__code__)


def _module_of(value: Any) -> str:
    """The module in which a function or a class is written, whatever it says of itself."""
    function = getattr(value, "__func__", value)
    names = getattr(function, "__globals__", {})
    return str(names.get("__name__") or getattr(value, "__module__", None) or "")


def _is_of_the_package(value: Any) -> bool:
    """Return whether a function or a class belongs to a room of this package that only computes."""
    room, _, part = _module_of(value).partition(".")
    is_walking = part == "gradcheck.walking"
    return room == "deepnlp" and (is_walking or part.partition(".")[0] in allowed.PACKAGE)


def is_written_for_learners(function: Any) -> bool:
    """Return whether a function of this package is evaluated where a forward is followed."""
    module = _module_of(function)
    is_of_forms = module.startswith("deepnlp.gradcheck") and "walking" not in module
    return is_of_forms or (_is_of_the_package(function) and "walking" not in module)


def _is_shared(function: Any) -> bool:
    """Return whether a function of this package calls the learner's: it is evaluated, too."""
    if _module_of(function).startswith("deepnlp.gradcheck") and not _is_of_the_package(function):
        return isinstance(function, FunctionType | MethodType)
    owner = getattr(function, "__self__", None)
    kind = owner if isinstance(owner, type) else type(owner)
    return owner is not None and _is_of_the_package(function) and not _is_of_the_package(kind)


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    return math.prod(a if a == b else numpy.broadcast_shapes(a, b))


def _expect_inside(
    x: Any, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True
) -> None:
    """An error where a view by strides would reach beyond its array."""
    shape, strides = shape or x.shape, strides or x.strides
    reach = [(n - 1) * step for n, step in zip(shape, strides, strict=True) if n > 0]
    low, high = numpy.lib.array_utils.byte_bounds(x)
    start = x.__array_interface__["data"][0]
    first = start + sum(one for one in reach if one < 0)
    last = start + sum(one for one in reach if one > 0) + x.itemsize
    if first < low or last > high:
        raise LimitError("as_strided reaches beyond its array")
