"""Ninety places in which a weight may be kept: a wrong gradient is found in each."""

# ruff: noqa: B008, N815

import functools
import threading
import types
from collections import ChainMap, OrderedDict, UserDict, defaultdict, deque, namedtuple
from contextvars import ContextVar
from dataclasses import dataclass, field

import numpy as np
import pytest

from deepnlp.gradcheck import check_gradients

X = np.random.default_rng(0).normal(size=(5, 4))


def weight():
    return np.random.default_rng(1).normal(size=(4, 3))


class Base:
    """x W, with W and dW wherever get and put say; the gradient is k times the right one."""

    def __init__(self, k):
        self.k = k

    def forward(self, x):
        self.x = x
        return x @ self.get()

    def backward(self, dy):
        dx = dy @ self.get().T
        self.put(self.k * self.x.T @ dy)
        return dx


class Attribute(Base):
    def __init__(self, k):
        super().__init__(k)
        self.W = weight()

    def get(self):
        return self.W

    def put(self, dW):
        self.dW = dW


class Private(Base):
    def __init__(self, k):
        super().__init__(k)
        self._W = weight()

    def get(self):
        return self._W

    def put(self, dW):
        self._dW = dW


class Slots:
    __slots__ = ("W", "dW", "k", "x")

    def __init__(self, k):
        self.k, self.W = k, weight()

    def forward(self, x):
        self.x = x
        return x @ self.W

    def backward(self, dy):
        self.dW = self.k * self.x.T @ dy
        return dy @ self.W.T


class SlotsBelow(Slots):
    __slots__ = ("b",)


class SlotsAndDict(Slots):
    pass


@dataclass
class Data(Base):
    k: float
    W: np.ndarray = field(default_factory=weight)
    dW: np.ndarray | None = None

    get, put = Attribute.get, Attribute.put


@dataclass(slots=True)
class SlottedData:
    k: float
    W: np.ndarray = field(default_factory=weight)
    dW: np.ndarray | None = None
    x: np.ndarray | None = None

    def forward(self, x):
        self.x = x
        return x @ self.W

    def backward(self, dy):
        self.dW = self.k * self.x.T @ dy
        return dy @ self.W.T


class OfClass(Base):
    W = weight()

    get, put = Attribute.get, Attribute.put


class OfBaseClass(OfClass):
    pass


class GradientOfClass(Base):
    W, dW = weight(), np.zeros((4, 3))

    def get(self):
        return type(self).W

    def put(self, dW):
        type(self).dW = dW


class Kept(Base):
    """In a container of a kind, under params and grads."""

    def __init__(self, k, kind):
        super().__init__(k)
        self.params, self.grads = kind({"W": weight()}), kind({"W": np.zeros((4, 3))})

    def get(self):
        return self.params["W"]

    def put(self, dW):
        self.grads["W"] = dW


class Listed(Base):
    def __init__(self, k, kind):
        super().__init__(k)
        self.params, self.grads = kind([weight()]), [np.zeros((4, 3))]

    def get(self):
        return self.params[0]

    def put(self, dW):
        self.grads[0][...] = dW


Pair = namedtuple("Pair", "W other")


class Named(Base):
    def __init__(self, k):
        super().__init__(k)
        self.params = Pair(weight(), None)

    def get(self):
        return self.params.W

    def put(self, dW):
        self.grads = [dW]


class Nested(Base):
    """A list of lists, and one of gradients beside it."""

    def __init__(self, k):
        super().__init__(k)
        self.weights, self.grads = [[weight()]], [[np.zeros((4, 3))]]

    def get(self):
        return self.weights[0][0]

    def put(self, dW):
        self.grads[0][0] = dW


class DictOfDicts(Base):
    def __init__(self, k):
        super().__init__(k)
        self.cell = {"first": {"W": weight()}}

    def get(self):
        return self.cell["first"]["W"]

    def put(self, dW):
        self.cell["first"]["dW"] = dW


class Box:
    def __init__(self, name, start):
        setattr(self, name, weight())
        self.grad = start


class Boxed(Base):
    def __init__(self, k, name, start, keep):
        super().__init__(k)
        self.name, self.box = name, keep(Box(name, start))

    def held(self):
        return next(iter(self.box)) if isinstance(self.box, set | frozenset | deque) else self.box

    def get(self):
        return getattr(self.held(), self.name)

    def put(self, dW):
        self.held().grad = dW


class Namespace(Base):
    def __init__(self, k):
        super().__init__(k)
        self.store = types.SimpleNamespace(W=weight(), dW=None)

    def get(self):
        return self.store.W

    def put(self, dW):
        self.store.dW = dW


class Lazy(Attribute):
    def __init__(self, k):
        self.k, self.W = k, None

    def forward(self, x):
        if self.W is None:
            self.W = weight()
        return super().forward(x)


class LazyInside(Base):
    def __init__(self, k):
        super().__init__(k)
        self.inner = None

    def get(self):
        if self.inner is None:
            self.inner = types.SimpleNamespace(W=weight())
        return self.inner.W

    def put(self, dW):
        self.inner.dW = dW


class Returned(Attribute):
    def backward(self, dy):
        return dy @ self.W.T, self.k * self.x.T @ dy


class ReturnedDict(Attribute):
    def backward(self, dy):
        return {"dx": dy @ self.W.T, "dW": self.k * self.x.T @ dy}


def closure(k):
    W, saved = weight(), {}

    def forward(x):
        saved["x"] = x
        return x @ W

    def backward(dy):
        return dy @ W.T, k * saved["x"].T @ dy

    return forward, backward


def closure_of_closures(k):
    forward, backward = closure(k)
    return lambda x: forward(x), lambda dy: backward(dy)


def two_closures(k):
    first, second = closure(1), closure(k)
    head = np.random.default_rng(2).normal(size=(3, 4))

    def forward(x):
        return second[0](first[0](x) @ head)

    def backward(dy):
        dh, dsecond = second[1](dy)
        dx, dfirst = first[1](dh @ head.T)
        return dx, [dfirst, dsecond]

    return forward, backward


GLOBAL = weight()
GLOBALS = {"W": weight()}


def global_forward(x):
    return x @ GLOBAL, x


def global_backward(dy, cache, k=1):
    return dy @ GLOBAL.T, k * cache.T @ dy


def global_dict_forward(x):
    return x @ GLOBALS["W"], x


def global_dict_backward(dy, cache, k=1):
    return {"dx": dy @ GLOBALS["W"].T, "dW": k * cache.T @ dy}


class Method(Base):
    """A function of the module, reached by a method, names the weight."""

    def get(self):
        return the_weight()

    def backward(self, dy):
        return dy @ GLOBAL.T, self.k * self.x.T @ dy


def the_weight():
    return GLOBAL


def default_argument(k):
    def forward(x, W=weight()):
        return x @ W, (x, W)

    def backward(dy, cache):
        x, W = cache
        return dy @ W.T, k * x.T @ dy

    return forward, backward


def keyword_default(k):
    def forward(x, *, W=weight()):
        return x @ W, (x, W)

    def backward(dy, cache):
        x, W = cache
        return dy @ W.T, k * x.T @ dy

    return forward, backward


def partial_backward(backward):
    return lambda k: lambda dy, cache: backward(dy, cache, k)


def kept(kind):
    return lambda k: Kept(k, kind)


def boxed(name, start=None, keep=lambda box: box):
    return lambda k: Boxed(k, name, start, keep)


class InProxy(Base):
    def __init__(self, k):
        super().__init__(k)
        self.params, self.grads = types.MappingProxyType({"W": weight()}), {}

    def get(self):
        return self.params["W"]

    def put(self, dW):
        self.grads["W"] = dW


class InObjects(Base):
    def __init__(self, k):
        super().__init__(k)
        self.params, self.grads = np.empty(1, dtype=object), np.empty(1, dtype=object)
        self.params[0] = weight()

    def get(self):
        return self.params[0]

    def put(self, dW):
        self.grads[0] = dW


class OfThread(Base):
    def __init__(self, k):
        super().__init__(k)
        self.local = threading.local()
        self.local.W = weight()

    def get(self):
        return self.local.W

    def put(self, dW):
        self.local.dW = dW


class OfContext(Base):
    def __init__(self, k):
        super().__init__(k)
        self.weight, self.gradient = ContextVar("weight"), ContextVar("gradient")
        self.weight.set(weight())

    def get(self):
        return self.weight.get()

    def put(self, dW):
        self.gradient.set(dW)


LEAVES = {
    "mapping proxy": InProxy, "array of objects": InObjects, "thread local": OfThread,
    "variable of a context": OfContext,
    "attribute": Attribute, "private": Private, "slots": Slots, "slots below": SlotsBelow,
    "slots and dict": SlotsAndDict, "dataclass": Data, "slotted dataclass": SlottedData,
    "class": OfClass, "base class": OfBaseClass, "gradient of class": GradientOfClass,
    "dict": kept(dict), "ordered dict": kept(OrderedDict),
    "defaultdict": kept(lambda d: defaultdict(list, d)), "user dict": kept(UserDict),
    "list": lambda k: Listed(k, list), "tuple": lambda k: Listed(k, tuple),
    "deque": lambda k: Listed(k, deque), "named tuple": Named, "list of lists": Nested,
    "dict of dicts": DictOfDicts, "box data": boxed("data"), "box value": boxed("value"),
    "box with zeros": boxed("value", np.zeros((4, 3))), "box array": boxed("array"),
    "box in a set": boxed("data", keep=lambda box: {box}),
    "box in a frozenset": boxed("data", keep=lambda box: frozenset([box])),
    "box in a deque": boxed("value", keep=lambda box: deque([box])), "namespace": Namespace,
    "lazy": Lazy, "lazy inside": LazyInside, "returned": Returned, "returned dict": ReturnedDict,
    "closure": closure, "closure of closures": closure_of_closures,
    "two closures": two_closures, "default argument": default_argument,
    "keyword default": keyword_default, "method": Method,
    "global": lambda k: (global_forward, partial_backward(global_backward)(k)),
    "global dict": lambda k: (global_dict_forward, partial_backward(global_dict_backward)(k)),
}  # fmt: skip


class Chain:
    def __init__(self, inner):
        self.inner = inner

    def forward(self, x):
        return self.layer.forward(x)

    def backward(self, dy):
        return self.layer.backward(dy)

    @property
    def layer(self):
        return self.inner


class InList(Chain):
    def __init__(self, inner):
        self.blocks = [inner]

    layer = property(lambda self: self.blocks[0])


class InTuple(Chain):
    def __init__(self, inner):
        self.blocks = (None, inner)

    layer = property(lambda self: self.blocks[1])


class InDict(Chain):
    def __init__(self, inner):
        self.blocks = {"first": inner}

    layer = property(lambda self: self.blocks["first"])


class InDeque(Chain):
    def __init__(self, inner):
        self.blocks = deque([inner])

    layer = property(lambda self: self.blocks[0])


class InSet(Chain):
    def __init__(self, inner):
        self.blocks = {inner}

    layer = property(lambda self: next(iter(self.blocks)))


class InSlots(Chain):
    __slots__ = ("hidden",)

    def __init__(self, inner):
        self.hidden = inner

    layer = property(lambda self: self.hidden)


class InLists(Chain):
    def __init__(self, inner):
        self.blocks = [[[inner]]]

    layer = property(lambda self: self.blocks[0][0][0])


class InNamespace(Chain):
    def __init__(self, inner):
        self.parts = types.SimpleNamespace(encoder=types.SimpleNamespace(block=inner))

    layer = property(lambda self: self.parts.encoder.block)


class InClosure(Chain):
    def __init__(self, inner):
        self.call = lambda: inner

    layer = property(lambda self: self.call())


class InMap(Chain):
    def __init__(self, inner):
        self.parts = ChainMap({"a": inner}, {})

    layer = property(lambda self: self.parts["a"])


class InPartial(Chain):
    def __init__(self, inner):
        self.call = functools.partial(lambda one: one, inner)

    layer = property(lambda self: self.call())


WRAPPERS = [
    Chain, InList, InTuple, InDict, InDeque, InSet, InSlots, InLists, InNamespace, InMap,
]  # fmt: skip
DEPTHS = (1, 3, 8)
INNER = {"attribute": Attribute, "slots": Slots}
NESTED = {
    f"{inner} in {wrapper.__name__}, depth {depth}": functools.partial(
        lambda k, wrapper, kind, depth: functools.reduce(
            lambda layer, _: wrapper(layer), range(depth), kind(k)
        ),
        wrapper=wrapper, kind=kind, depth=depth,
    )
    for inner, kind in INNER.items() for wrapper in WRAPPERS for depth in DEPTHS
}  # fmt: skip


@pytest.fixture(autouse=True)
def undiagnosed(monkeypatch):
    """The verdict alone."""
    monkeypatch.setattr("deepnlp.gradcheck.explaining._diagnose", lambda *_: None)


def test_there_are_ninety():
    assert len(LEAVES) + len(NESTED) >= 90


@pytest.mark.parametrize("places", [LEAVES, NESTED], ids=["leaves", "nested"])
def test_a_wrong_gradient_is_found_in_every_place(places):
    before = GLOBAL.copy(), GLOBALS["W"].copy(), OfClass.W.copy()
    silent, accused = [], []
    for name, make in places.items():
        right, wrong = check_gradients(make(1), X), check_gradients(make(1.5), X)
        if not right.ok or len(right.sources) < 2:
            accused.append(name)
        if wrong.ok:
            silent.append(name)
    assert (silent, accused) == ([], [])
    after = GLOBAL, GLOBALS["W"], OfClass.W
    assert all(map(np.array_equal, before, after))
