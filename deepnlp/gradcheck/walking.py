"""Everything that code can reach: attributes, lists, classes, closures, and globals it names."""

from __future__ import annotations

import copy
import dis
import functools
import gc
import inspect
import pickle
import random
import sys
import sysconfig
import threading
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, NamedTuple

import numpy

from deepnlp.backend import Generator
from deepnlp.gradcheck.names import DATA, GRAD
from deepnlp.parameter import View

HostArray = numpy.ndarray[Any, Any]

_CLOSED = (numpy.generic, Generator, numpy.random.RandomState, random.Random)
_LEAVES = (str, bytes, int, float, complex, type(None), types.ModuleType)
_PLAIN = (numpy.ndarray, numpy.generic, str, bytes, int, float, complex, type(None), type)
_DEFAULTS = object()  # the place of what a function takes where nothing is given
_EMPTY = types.CellType()  # of a closure; a cell without a value is equal to it
_LARGEST = 2_000_000  # entries of a global array: a larger one is data, and too much to copy
_MAPPINGS = (dict, types.MappingProxyType)
# Modules of whose objects one looks inside.
_OPEN = ("builtins", "collections", "functools", "types", "_thread", "_contextvars")
LIBRARIES = {"numpy", "deepnlp", "torch", "cupy", "scipy", "pytest"}


class Fields(MutableMapping[str, Any]):
    """Named values that stand in no dict of their own: slots, cells of a closure, globals.

    Parameters
    ----------
    owner : object
        A function, a class, or an object with slots.
    """

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self._places: dict[str, tuple[Any, str]] = {}  # a mapping or an object, and the key in it
        if isinstance(owner, types.FunctionType):
            space = owner.__globals__
            cells = zip(owner.__code__.co_freevars, owner.__closure__ or (), strict=True)
            named = [n for n in globals_of(owner.__code__) if n in space]
            self._places = {n: (cell, "cell_contents") for n, cell in cells if cell != _EMPTY}
            self._places |= {name: (_DEFAULTS, name) for name in _defaults(owner)}
            self._places |= {name: (owner, name) for name in vars(owner)}
            self._places |= {n: (space, n) for n in named if not _is_large(space[n])}
        elif isinstance(owner, type):
            kept = vars(owner)  # what is set goes through the class
            self._places = {name: (kept, name) for name in kept if not name.startswith("__")}
        else:
            slots = [s for k in type(owner).__mro__ for s in _names(vars(k).get("__slots__", ()))]
            slots = [s for s in slots if hasattr(owner, s) and not s.startswith("__")]
            named = [*slots, *getattr(owner, "__dict__", ())]
            self._places = {name: (owner, name) for name in named}

    def __deepcopy__(self, memo: dict[int, Any]) -> Fields:
        """Those of the copy; of a function or a class, which are not copied, the same."""
        return Fields(copy.deepcopy(self.owner, memo))

    def __getitem__(self, name: str) -> Any:
        place, key = self._places[name]
        if place is _DEFAULTS:
            return _defaults(self.owner)[key]
        return place[key] if type(place) in _MAPPINGS else getattr(place, key)

    def __setitem__(self, name: str, value: Any) -> None:
        place, key = self._places.get(name, (self.owner, name))
        if place is _DEFAULTS:
            named = self.owner.__kwdefaults__ or {}
            given = {**_defaults(self.owner), key: value}
            self.owner.__defaults__ = tuple(v for n, v in given.items() if n not in named) or None
            for name in named:
                named[name] = given[name]
        elif type(place) is dict:
            place[key] = value
        else:
            setattr(self.owner if type(place) in _MAPPINGS else place, key, value)

    def __delitem__(self, name: str) -> None:
        delattr(self.owner, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class _Contextual(dict[str, Any]):
    """The value of a variable of a context, as a box keeps it."""

    def __init__(self, owner: ContextVar[Any]) -> None:
        super().__init__({"kept": owner.get(None)})
        self.owner = owner

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self.owner.set(value)


class Holder(NamedTuple):
    """An object with attributes, a list, a tuple, a dict, a class or a function.

    Attributes
    ----------
    path : str
        Such as ``"layers.0."``; empty for the object itself.
    owner : object
    up : Holder
        What it stands in; None for the object itself.
    key : str or int
        Where it stands there; None for a class or a function that belongs to ``up``.
    """

    path: str
    owner: Any
    up: Holder | None = None
    key: Any = None

    @property
    def entries(self) -> Any:
        """Its attributes, as a dict, or the list itself."""
        # Not kept: the attributes of a copied object are not the copied dict of its attributes.
        return entries_of(self.owner)

    @property
    def is_replaceable(self) -> bool:
        """True if another tuple can stand in the place of this one."""
        up = self.up
        return type(self.owner) is tuple and up is not None and isinstance(up.entries, dict | list)

    @property
    def is_shared(self) -> bool:
        """True if the place is no part of a copied object: a class, a closure, globals."""
        return isinstance(self.owner, type | types.FunctionType)


def entries_of(owner: Any) -> Any:
    """The attributes of an object, as a dict; a list, tuple or dict itself; None of others."""
    if isinstance(owner, list | dict | tuple | deque) and (owner or not has_attributes(owner)):
        return owner
    if isinstance(owner, set | frozenset):
        return tuple(owner)
    if isinstance(owner, types.MappingProxyType):
        return gc.get_referents(owner)[0]  # the dict behind it
    if isinstance(owner, numpy.ndarray):
        return owner.reshape(-1)  # of objects
    if isinstance(owner, ContextVar):
        return _Contextual(owner)
    if isinstance(owner, functools.partial):
        return owner.keywords
    if isinstance(owner, _LEAVES):
        return None
    kind: Any = type(owner)
    if _has_slots(kind) or isinstance(owner, type | types.FunctionType):
        return Fields(owner)
    return getattr(owner, "__dict__", None)


@cache
def _has_slots(kind: Any) -> bool:
    return any("__slots__" in vars(one) for one in kind.__mro__[:-1])


def has_attributes(owner: Any) -> bool:
    """Return whether an object has attributes of its own, as a subclass of dict may have."""
    return bool(getattr(owner, "__dict__", None))


def holders(*owners: Any, shared: bool = False, cells: bool = False) -> list[Holder]:
    """All of some objects, the outer ones first.

    Parameters
    ----------
    *owners : object
    shared : bool
        Whether their classes, functions, closures and globals belong to it.
    cells : bool
        Whether what their functions enclose does, as in the nodes of an engine.
    """
    found: dict[int, Holder] = {}
    waiting = deque(Holder("", owner) for owner in owners)
    while waiting:
        holder = waiting.popleft()
        value = holder.owner
        if id(value) in found or _is_closed(value):
            continue
        if inspect.isroutine(value) or isinstance(value, type):
            if not shared:
                closed = (getattr(value, "__closure__", None) or ()) if cells else ()
                waiting += [Holder("", cell.cell_contents) for cell in closed if cell != _EMPTY]
                found[id(value)] = holder
                continue
            waiting.append(holder._replace(owner=getattr(value, "__self__", None)))
            value = inspect.unwrap(getattr(value, "__func__", value))
            if not _is_written(value) or id(value) in found:
                continue
            holder = holder._replace(owner=value)
        if isinstance(value, functools.partial):
            waiting += [holder._replace(owner=value.func), Holder(holder.path, value.args)]
        kind: Any = type(value)
        room = kind.__module__.split(".")[0]
        entries = None if room not in _OPEN and _is_of_python(kind) else holder.entries
        if entries is None:
            continue
        found[id(value)] = holder
        inside = [(key, one) for key, one in list(items(entries)) if not isinstance(one, _LEAVES)]
        waiting += [Holder(f"{holder.path}{key}.", one, holder, key) for key, one in inside]
        if shared and not isinstance(value, type):
            kinds = [kind for kind in type(value).__mro__ if _is_written(kind)]
            waiting += [Holder(holder.path, kind, holder) for kind in kinds]
    return [one for one in found.values() if shared or not inspect.isroutine(one.owner)]


def places(found: list[Holder]) -> Iterator[tuple[Holder, Any, Any]]:
    """All places in these, each with its key and what stands there."""
    for holder in found:
        for key, value in list(items(holder.entries)):
            yield holder, key, value


def items(entries: Any) -> Iterable[tuple[Any, Any]]:
    """Keys and values of a dictionary, positions and values of a list."""
    return entries.items() if hasattr(entries, "items") else enumerate(entries)


def replace(found: list[Holder], old: Any, new: Any) -> None:
    """Put a value in the place of another, wherever one of these holds it."""
    for holder, key, held in places(found):
        if held is old and not isinstance(holder.entries, tuple):
            holder.entries[key] = new
        elif type(held) is tuple and any(one is old for one in held):
            holder.entries[key] = tuple(new if one is old else one for one in held)


def is_real(value: Any) -> bool:
    """Return whether a value is an array of floating-point numbers."""
    return isinstance(value, numpy.ndarray) and value.dtype.kind == "f"


def name_of(names: tuple[str, ...], owner: Any) -> str:
    """The first of these names that an object has; an empty one if it has none."""
    return next((name for name in names if hasattr(owner, name)), "")


def is_node(value: Any) -> bool:
    """Return whether an object keeps numbers and their gradient, and can go backward."""
    return has_gradient(value) and hasattr(value, "backward")


def has_gradient(value: Any) -> bool:
    """Return whether an object keeps numbers and their gradient; others may go backward."""
    return is_box(value) and (is_tensor(value) or bool(name_of(GRAD, value)))


def is_tensor(value: Any) -> bool:
    """Return whether a value is a tensor of torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_box(value: Any) -> bool:
    """Return whether a value is an object that keeps numbers."""
    is_array = isinstance(value, _PLAIN) or hasattr(type(value), "__array_function__")
    return not is_array and bool(name_of(DATA, value))


def plain(value: Any) -> Any:
    """The numbers of a node or a box; other values as they are."""
    if not is_box(value):
        return value
    if is_tensor(value):
        return value.detach().resolve_conj().numpy()
    return plain(getattr(value, name_of(DATA, value)))


def same(one: Any, other: HostArray) -> bool:
    """Return whether two arrays hold the same numbers."""
    return numpy.array_equal(one, other, equal_nan=other.dtype.kind in "fc")


def near(one: HostArray, other: HostArray, rtol: float = 1e-6, atol: float = 1e-9) -> bool:
    """Return whether two arrays have one shape, and about the same numbers."""
    return one.shape == other.shape and numpy.allclose(one, other, rtol, atol, equal_nan=True)


def copy_of(value: Any) -> Any:
    """Return a deep copy, also of objects that keep values where a copy looks for none."""
    try:
        return copy.deepcopy(value)
    except (TypeError, KeyError):  # of a __getattr__ that knows its own names alone
        memo: dict[int, Any] = {}
        for holder in reversed(holders(value)):  # what stands inside first
            owner = holder.owner
            if isinstance(owner, types.MappingProxyType):
                memo[id(owner)] = types.MappingProxyType(copy.deepcopy(dict(owner), memo))
            elif isinstance(owner, threading.local):
                memo[id(owner)] = made = threading.local()
                vars(made).update(copy.deepcopy(vars(owner), memo))
            elif isinstance(owner, ContextVar):
                memo[id(owner)] = variable = ContextVar[Any](owner.name)
                variable.set(copy.deepcopy(owner.get(None), memo))
        return copy.deepcopy(value, memo)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield the leaves of nested dicts, lists and tuples, with the keys that lead to them."""
    if isinstance(value, dict | list | tuple):
        for key, one in items(value):
            yield from leaves(one, (*path, key))
    else:
        yield path, value


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """The same nested dicts, lists and tuples, with a function of everything in them."""
    if isinstance(value, dict):
        new = copy.copy(value)  # of its own kind
        for key, one in value.items():
            new[key] = mapped(function, one)
        return new
    if isinstance(value, list | tuple):
        given = [mapped(function, one) for one in value]
        return type(value)(*given) if hasattr(value, "_fields") else type(value)(given)
    return function(value)


@cache
def globals_of(code: types.CodeType) -> tuple[str, ...]:
    """Names of globals that a function reads or writes."""
    names = [i.argval for i in dis.get_instructions(code) if i.opname.endswith("_GLOBAL")]
    inner = [name for c in code.co_consts if inspect.iscode(c) for name in globals_of(c)]
    return tuple(dict.fromkeys(names + inner))


def _defaults(function: types.FunctionType) -> dict[str, Any]:
    """Return the defaults of a function, by name."""
    given = function.__defaults__ or ()
    positional = function.__code__.co_varnames[: function.__code__.co_argcount]
    named = dict(zip(positional[len(positional) - len(given) :], given, strict=True))
    return named | (function.__kwdefaults__ or {})


def _is_numeric(value: Any) -> bool:
    """Return whether a value is an array, and none of objects."""
    return isinstance(value, numpy.ndarray) and value.dtype.kind != "O"


def _is_closed(value: Any) -> bool:
    """Return whether there is nothing to look for inside."""
    return _is_numeric(value) or isinstance(value, _CLOSED + _LEAVES)


def _is_large(value: Any) -> bool:
    return isinstance(value, numpy.ndarray) and value.size > _LARGEST


def _is_written(value: Any) -> bool:
    """Return whether a function or a class is somebody's own, and of no library."""
    module = getattr(value, "__module__", None) or ""
    is_kind, room = isinstance(value, type | types.FunctionType), module.split(".")[0]
    return is_kind and room not in LIBRARIES and not _is_of_python(value)


_HOME = sysconfig.get_path("stdlib")


@cache
def _is_of_python(kind: Any) -> bool:
    """Return whether a class or function is Python's own, not of a module named alike."""
    room = (getattr(kind, "__module__", None) or "").split(".")[0]
    methods = [kind] if inspect.isfunction(kind) else [*vars(kind).values()]
    files = [one.__code__.co_filename for one in methods if inspect.isfunction(one)]
    is_there = all(f.startswith((_HOME, "<")) for f in files) and "site-packages" not in str(files)
    return room in sys.stdlib_module_names and (not files or is_there)


def _names(slots: Any) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)


class _Gone:
    """Stands for an attribute that is not there."""


class Kept(NamedTuple):
    """The content of a place, to be put back: a value, and a copy of its numbers.

    Attributes
    ----------
    owner : object
    key : str or int
        Of an attribute, or of an entry.
    value : object
    content : array, optional
        The numbers of an array.
    """

    owner: Any
    key: Any
    value: Any
    content: HostArray | None = None

    def put_back(self) -> None:
        """Put the numbers back into the array, and this into its place."""
        if self.content is not None:
            self.value[...] = self.content
        _put(self.owner, self.key, self.value)

    def now(self) -> Any:
        """Return what stands in the place now."""
        return _get(entries_of(self.owner), self.key)

    def differs(self, now: Any) -> bool:
        """Return whether a value is another object, or an array with other contents."""
        is_changed = self.content is not None and not same(self.value, self.content)
        return now is not self.value or is_changed


class KeptList(NamedTuple):
    """The content of a list, to be put back if its length has changed."""

    entries: Any
    values: list[Any]

    def put_back(self) -> None:
        """Put all of it back."""
        self.entries.clear()
        self.entries.extend(self.values)


def put_back(kept: Iterable[Any]) -> None:
    """Put back what was kept, in order."""
    for one in kept:
        one.put_back()


class Carried:
    """Hidden states, counters and lists of any object.

    What a forward changes of the attributes that were there before it is what it carries. An array
    that the first forward makes and the second leaves alone, such as a weight whose shape follows
    from the first input, belongs to the object and stays.

    Parameters
    ----------
    reached : callable
        Gives all that the object holds.
    forward : callable
        Runs one forward of it.
    """

    def __init__(self, reached: Callable[[], list[Holder]], forward: Callable[[], Any]) -> None:
        self._lists: list[KeptList] = []
        self._changed: list[Kept] = []
        self._made: list[tuple[Kept, HostArray]] = []
        before = _snapshot(reached())
        forward()
        once = _snapshot(reached())
        forward()
        for number, (owner, values) in before.items():
            entries = entries_of(owner)
            if isinstance(entries, list | deque) and len(entries) != len(values):
                self._lists.append(KeptList(entries, [kept.value for kept in values.values()]))
                self._lists[-1].put_back()
            for key in {**values, **dict(items(entries))}:
                kept, now = values.get(key, Kept(owner, key, _Gone)), _get(entries, key)
                if not kept.differs(now):
                    continue
                after_one = once[number][1].get(key) if number in once else None
                is_stable = after_one is not None and not after_one.differs(now)
                is_new = kept.value is None or kept.value is _Gone
                if not (is_new and is_stable and _is_left_alone(now, once)):
                    self._changed.append(kept)
                elif isinstance(now, numpy.ndarray):
                    self._made.append((kept, now))
        self.restore()

    def holds(self, holder: Holder | None, key: Any) -> bool:
        """Return whether a place, or one that it lies in, is among what forward writes."""
        if holder is None:
            return False
        owner = holder.owner
        is_written = any(owner is kept.owner and key == kept.key for kept in self._changed)
        is_grown = any(entries_of(owner) is one.entries for one in self._lists)
        return is_written or is_grown or self.holds(holder.up, holder.key)

    def restore(self) -> None:
        """Put everything back."""
        put_back([*self._lists, *self._changed])

    @contextmanager
    def as_at_first(self) -> Iterator[None]:
        """Without the arrays that the first forward made."""
        put_back(kept for kept, _ in self._made)
        try:
            yield
        finally:
            for kept, made in self._made:
                _put(kept.owner, kept.key, made)


Snapshot = dict[int, tuple[Any, dict[Any, Kept]]]
"""Objects by their number, each with what it held."""


def _snapshot(found: list[Holder]) -> Snapshot:
    """All values as they are, each with a copy of it if it is an array."""
    own = [one.owner for one in found if not isinstance(one.owner, View)]
    return {
        id(owner): (owner, {key: keep(owner, key, value) for key, value in items(entries)})
        for owner in own
        if not isinstance(entries := entries_of(owner), tuple)
    }


def keep(owner: Any, key: Any, value: Any) -> Kept:
    """Keep what stands in a place, with a copy of it if it is an array."""
    return Kept(owner, key, value, value.copy() if _is_numeric(value) else None)


def _is_left_alone(value: Any, once: Snapshot) -> bool:
    """Return whether a value is an array, or an object that the second forward left alone."""
    if isinstance(value, numpy.ndarray) or id(value) not in once:
        return isinstance(value, numpy.ndarray)
    owner, values = once[id(value)]
    entries = dict(items(entries_of(owner)))
    is_object = not isinstance(owner, list | dict | deque)
    return is_object and all(k in values and not values[k].differs(v) for k, v in entries.items())


def _put(owner: Any, key: Any, value: Any) -> None:
    entries = entries_of(owner)
    if value is _Gone:
        entries.pop(key, None)
    elif not isinstance(entries, tuple):
        entries[key] = value


def _get(entries: Any, key: Any) -> Any:
    return entries.get(key, _Gone) if hasattr(entries, "keys") else entries[key]


_ENTROPY = 0x5EED_0F_6AD_C4EC_0DD5_A11E_2B1D
"""No seed of a user gives the numbers that follow from it, beside his own."""

GENERATORS = (Generator, numpy.random.RandomState, random.Random)


def private(rng: Generator | None) -> Generator:
    """A generator whose numbers no seed gives; they follow from ``rng``, if there is one."""
    drawn = [] if rng is None else rng.integers(0, 2**32, size=4).tolist()
    return numpy.random.default_rng(numpy.random.SeedSequence([_ENTROPY, *drawn]))


class KeptState(NamedTuple):
    """The state of a generator of random numbers, to be put back.

    Attributes
    ----------
    get, put : callable
        Read the state, and set it.
    state : object
    """

    get: Callable[[], Any]
    put: Callable[[Any], Any]
    state: Any

    def put_back(self) -> None:
        """Put it back."""
        self.put(self.state)

    @property
    def is_changed(self) -> bool:
        """True if the content has changed."""
        return pickle.dumps(self.get()) != pickle.dumps(self.state)


def generators(found: list[Holder]) -> list[KeptState]:
    """The states of all generators that code can reach: those of modules, and those it holds."""
    states: list[tuple[Any, Any]] = [
        (random.getstate, random.setstate),
        (numpy.random.get_state, numpy.random.set_state),
    ]
    torch: Any = sys.modules.get("torch")
    states += [(torch.get_rng_state, torch.set_rng_state)] if torch is not None else []
    held: dict[int, Any] = {id(v): v for _, _, v in places(found) if isinstance(v, GENERATORS)}
    inner = (getattr(value, "bit_generator", value) for value in held.values())
    states += [(one.__getstate__, one.__setstate__) for one in inner]
    return [KeptState(get, put, get()) for get, put in states]


@contextmanager
def states_kept(first: Iterable[KeptState] = ()) -> Iterator[None]:
    """Context after which the generators of modules are as they were; before it as at ``first``."""
    now = generators([])
    try:
        put_back(first)
        yield
    finally:
        put_back(now)
