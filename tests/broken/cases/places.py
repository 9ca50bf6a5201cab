"""111 places where a weight and its gradient may be kept: python -m tests.broken.cases.places.

Each layer computes y = x W and gives dx right; its dW is wrong (twice too large, or of another
shape). None of them may pass. With --right the same layers are right, and none may be accused.
"""

import argparse
import json
import sys
import threading
import warnings
import weakref
from array import array
from collections import ChainMap, OrderedDict, UserDict, UserList, defaultdict, deque, namedtuple
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType, SimpleNamespace

import numpy as np

PLACES = {}
FACTOR = 2.0


def place(maker):
    PLACES[maker.__name__] = maker
    return maker


def grad(x, dy):
    """The gradient of W, wrong by the factor."""
    return FACTOR * (x.T @ dy)


def named(weight, gradient):
    """A layer with two attributes of these names."""

    class Named:
        def __init__(self, W):
            setattr(self, weight, W)
            setattr(self, gradient, np.zeros_like(W))

        def forward(self, x):
            self.x = x
            return x @ getattr(self, weight)

        def backward(self, dy):
            setattr(self, gradient, grad(self.x, dy))
            return dy @ getattr(self, weight).T

    return Named


for first, second in (
    ("W", "dW"), ("w", "dw"), ("W", "grad_W"), ("W", "W_grad"), ("W", "gW"), ("W", "dLdW"),
    ("W", "Wgrad"), ("W", "W_gradient"), ("kernel", "kernel_grad"), ("theta", "dtheta"),
    ("weight", "grad_weight"), ("weights", "dweights"), ("_W", "_dW"), ("W", "nabla_W"),
    ("W", "delta_W"), ("A", "A_bar"), ("θ", "dθ"), ("W1", "D1"), ("W", "dl_dW"), ("Wxh", "dWxh"),
):  # fmt: skip
    PLACES[f"attributes {first} {second}"] = named(first, second)


class Store:
    """A layer whose subclasses say where W is kept (read) and where dW goes (write)."""

    def __init__(self, W):
        self.keep(W)

    def forward(self, x):
        self.x = x
        return x @ self.read()

    def backward(self, dy):
        self.write(grad(self.x, dy))
        return dy @ self.read().T


@place
class dict_same_key(Store):
    def keep(self, W):
        self.params, self.grads = {"W": W}, {}

    def read(self):
        return self.params["W"]

    def write(self, dW):
        self.grads["W"] = dW


@place
class dict_d_key(dict_same_key):
    def write(self, dW):
        self.grads["dW"] = dW


@place
class dict_parameters_gradients(Store):
    def keep(self, W):
        self.parameters, self.gradients = {"W1": W}, {}

    def read(self):
        return self.parameters["W1"]

    def write(self, dW):
        self.gradients["dW1"] = dW


@place
class dict_of_dicts(Store):
    def keep(self, W):
        self.params, self.grads = {"layer1": {"W": W}}, {"layer1": {}}

    def read(self):
        return self.params["layer1"]["W"]

    def write(self, dW):
        self.grads["layer1"]["W"] = dW


@place
class dict_of_lists(Store):
    def keep(self, W):
        self.params, self.grads = {"W": [W]}, {"W": [np.zeros_like(W)]}

    def read(self):
        return self.params["W"][0]

    def write(self, dW):
        self.grads["W"][0] = dW


@place
class dict_of_pairs(Store):
    def keep(self, W):
        self.w = {"W": {"value": W, "grad": np.zeros_like(W)}}

    def read(self):
        return self.w["W"]["value"]

    def write(self, dW):
        self.w["W"]["grad"] = dW


@place
class one_dict(Store):
    def keep(self, W):
        self.state = {"W": W, "dW": np.zeros_like(W)}

    def read(self):
        return self.state["W"]

    def write(self, dW):
        self.state["dW"] = dW


@place
class dict_number_keys(Store):
    def keep(self, W):
        self.params, self.grads = {0: W}, {0: np.zeros_like(W)}

    def read(self):
        return self.params[0]

    def write(self, dW):
        self.grads[0] = dW


@place
class dict_tuple_keys(Store):
    def keep(self, W):
        self.params, self.grads = {("dense", 1): W}, {}

    def read(self):
        return self.params["dense", 1]

    def write(self, dW):
        self.grads["dense", 1] = dW


@place
class ordered_dict(dict_same_key):
    def keep(self, W):
        self.params, self.grads = OrderedDict(W=W), OrderedDict()


@place
class default_dict(dict_same_key):
    def keep(self, W):
        self.params, self.grads = {"W": W}, defaultdict(lambda: 0)

    def write(self, dW):
        self.grads["W"] = dW


@place
class mapping_proxy(dict_same_key):
    def keep(self, W):
        self.params, self.grads = MappingProxyType({"W": W}), {}


@place
class chain_map(dict_same_key):
    def keep(self, W):
        self.params, self.grads = ChainMap({}, {"W": W}), {}


@place
class user_dict(dict_same_key):
    def keep(self, W):
        self.params, self.grads = UserDict(W=W), UserDict()


@place
class list_of_arrays(Store):
    def keep(self, W):
        self.params, self.grads = [W], [np.zeros_like(W)]

    def read(self):
        return self.params[0]

    def write(self, dW):
        self.grads[0][...] = dW


@place
class list_entry_bound_anew(list_of_arrays):
    def write(self, dW):
        self.grads[0] = dW


@place
class list_of_lists(Store):
    def keep(self, W):
        self.params, self.grads = [[W]], [[np.zeros_like(W)]]

    def read(self):
        return self.params[0][0]

    def write(self, dW):
        self.grads[0][0] = dW


@place
class list_of_pairs(Store):
    def keep(self, W):
        self.weights = [[W, np.zeros_like(W)]]

    def read(self):
        return self.weights[0][0]

    def write(self, dW):
        self.weights[0][1] = dW


@place
class list_of_dicts(Store):
    def keep(self, W):
        self.layers = [{"W": W, "dW": np.zeros_like(W)}]

    def read(self):
        return self.layers[0]["W"]

    def write(self, dW):
        self.layers[0]["dW"] = dW


@place
class deques(Store):
    def keep(self, W):
        self.params, self.grads = deque([W]), deque([np.zeros_like(W)])

    def read(self):
        return self.params[0]

    def write(self, dW):
        self.grads[0] = dW


@place
class user_list(list_of_arrays):
    def keep(self, W):
        self.params, self.grads = UserList([W]), UserList([np.zeros_like(W)])


@place
class tuples(list_of_arrays):
    def keep(self, W):
        self.params, self.grads = (W,), (np.zeros_like(W),)


Weights = namedtuple("Weights", "W b")


@place
class named_tuples(Store):
    def keep(self, W):
        self.params, self.grads = Weights(W, None), None

    def read(self):
        return self.params.W

    def write(self, dW):
        self.grads = Weights(dW, None)


@place
class named_tuple_in_place(named_tuples):
    def keep(self, W):
        self.params, self.grads = Weights(W, None), Weights(np.zeros_like(W), None)

    def write(self, dW):
        self.grads.W[...] = dW


@place
class object_array(Store):
    def keep(self, W):
        self.params, self.grads = np.empty(1, dtype=object), np.empty(1, dtype=object)
        self.params[0] = W

    def read(self):
        return self.params[0]

    def write(self, dW):
        self.grads[0] = dW


@place
class flat_vector(Store):
    def keep(self, W):
        self.shape = W.shape
        self.flat, self.dflat = W.ravel().copy(), np.zeros(W.size)

    def read(self):
        return self.flat.reshape(self.shape)

    def write(self, dW):
        self.dflat[...] = dW.ravel()


@place
class stacked(Store):
    def keep(self, W):
        self.W = np.stack([W, np.zeros_like(W)])
        self.dW = np.zeros_like(self.W)

    def forward(self, x):
        self.x = x
        return x @ self.W[0] + 0 * (x @ self.W[1])

    def read(self):
        return self.W[0]

    def write(self, dW):
        self.dW[0] = dW


@place
class buffer_of_the_array_module(Store):
    def keep(self, W):
        self.memory, self.dmemory = array("d", W.ravel()), array("d", [0.0] * W.size)
        self.shape = W.shape

    def read(self):
        return np.frombuffer(self.memory).reshape(self.shape)

    def write(self, dW):
        np.frombuffer(self.dmemory)[...] = dW.ravel()


class Box:
    def __init__(self, data):
        self.data = data
        self.grad = None


class ValueBox:
    def __init__(self, value):
        self.value = value
        self.grad = np.zeros_like(value)


class SlotBox:
    __slots__ = ("__weakref__", "data", "grad")

    def __init__(self, data):
        self.data = data
        self.grad = np.zeros_like(data)


@dataclass
class DataBox:
    value: np.ndarray
    gradient: np.ndarray = None


@dataclass(slots=True)
class SlottedData:
    value: np.ndarray
    grad: np.ndarray = None


@dataclass(frozen=True)
class FrozenBox:
    value: np.ndarray
    grad: np.ndarray


@place
class box_data(Store):
    def keep(self, W):
        self.W = Box(W)

    def read(self):
        return self.W.data

    def write(self, dW):
        self.W.grad = dW


@place
class box_value(Store):
    def keep(self, W):
        self.W = ValueBox(W)

    def read(self):
        return self.W.value

    def write(self, dW):
        self.W.grad += dW - self.W.grad


@place
class box_slots(box_data):
    def keep(self, W):
        self.W = SlotBox(W)


@place
class box_dataclass(Store):
    def keep(self, W):
        self.W = DataBox(W)

    def read(self):
        return self.W.value

    def write(self, dW):
        self.W.gradient = dW


@place
class box_dataclass_slots(box_value):
    def keep(self, W):
        self.W = SlottedData(W, np.zeros_like(W))


@place
class box_frozen(box_value):
    def keep(self, W):
        self.W = FrozenBox(W, np.zeros_like(W))

    def write(self, dW):
        self.W.grad[...] = dW


@place
class box_namespace(Store):
    def keep(self, W):
        self.p = SimpleNamespace(W=W, dW=None)

    def read(self):
        return self.p.W

    def write(self, dW):
        self.p.dW = dW


@place
class box_in_list(box_data):
    def keep(self, W):
        self.params = [Box(W)]
        self.other = None

    def read(self):
        return self.params[0].data

    def write(self, dW):
        self.params[0].grad = dW


@place
class box_in_dict(box_data):
    def keep(self, W):
        self.params = {"W": Box(W)}

    def read(self):
        return self.params["W"].data

    def write(self, dW):
        self.params["W"].grad = dW


@place
class box_in_set(box_data):
    def keep(self, W):
        self.params = {Box(W)}

    def read(self):
        return next(iter(self.params)).data

    def write(self, dW):
        next(iter(self.params)).grad = dW


@place
class box_in_frozenset(box_in_set):
    def keep(self, W):
        self.params = frozenset([Box(W)])


@place
class box_in_deque(box_in_list):
    def keep(self, W):
        self.params = deque([Box(W)])


@place
class box_in_tuple(box_in_list):
    def keep(self, W):
        self.params = (Box(W), "name")


class GradArray(np.ndarray):
    """An array that carries its gradient."""


@place
class array_with_attribute(Store):
    def keep(self, W):
        self.W = W.view(GradArray)

    def read(self):
        return np.asarray(self.W)

    def write(self, dW):
        self.W.grad = dW


@place
class slots(Store):
    __slots__ = ("W", "dW", "x")

    def keep(self, W):
        self.W = W

    def read(self):
        return self.W

    def write(self, dW):
        self.dW = dW


class SlotsAlone:
    __slots__ = ("W", "dW", "x")

    def __init__(self, W):
        self.W = W

    def forward(self, x):
        self.x = x
        return x @ self.W

    def backward(self, dy):
        self.dW = grad(self.x, dy)
        return dy @ self.W.T


PLACES["slots alone"] = SlotsAlone


class SlotsInherited(SlotsAlone):
    __slots__ = ("name",)


PLACES["slots inherited"] = SlotsInherited


@place
class slots_nested(Store):
    def keep(self, W):
        self.inner = SlotsAlone(W)

    def forward(self, x):
        return self.inner.forward(x)

    def backward(self, dy):
        return self.inner.backward(dy)


@dataclass
class as_dataclass:
    W: np.ndarray
    dW: np.ndarray = field(default=None)

    forward = Store.forward
    backward = Store.backward

    def read(self):
        return self.W

    def write(self, dW):
        self.dW = dW


@dataclass(slots=True)
class as_dataclass_slots:
    W: np.ndarray
    dW: np.ndarray = None
    x: np.ndarray = None

    def forward(self, x):
        self.x = x
        return x @ self.W

    def backward(self, dy):
        self.dW = grad(self.x, dy)
        return dy @ self.W.T


place(as_dataclass)
place(as_dataclass_slots)


@place
def class_attribute(W):
    class Shared(Store):
        def keep(self, W):
            type(self).W = W

        def read(self):
            return self.W

        def write(self, dW):
            type(self).dW = dW

    return Shared(W)


@place
def class_dict(W):
    class Shared(Store):
        params, grads = {}, {}

        def keep(self, W):
            self.params["W"] = W

        def read(self):
            return self.params["W"]

        def write(self, dW):
            self.grads["W"] = dW

    return Shared(W)


@place
def metaclass_attribute(W):
    class Meta(type):
        pass

    Meta.W = W

    class Shared(Store, metaclass=Meta):
        def keep(self, W):
            pass

        def read(self):
            return type(self).W

        def write(self, dW):
            Meta.dW = dW

    return Shared(W)


W_GLOBAL = np.zeros((4, 3))
DW_GLOBAL = np.zeros((4, 3))
TABLE = {}
ROWS = [None, None]


@place
class module_global(Store):
    def keep(self, W):
        global W_GLOBAL
        W_GLOBAL = W

    def read(self):
        return W_GLOBAL

    def write(self, dW):
        global DW_GLOBAL
        DW_GLOBAL = dW


@place
class global_dict(Store):
    def keep(self, W):
        TABLE["W"] = W

    def read(self):
        return TABLE["W"]

    def write(self, dW):
        TABLE["dW"] = dW


@place
class global_list(Store):
    def keep(self, W):
        ROWS[0] = W

    def read(self):
        return ROWS[0]

    def write(self, dW):
        ROWS[1] = dW


@place
def closure_cells(W):
    dW = np.zeros_like(W)
    saved = []

    class Functions:
        @staticmethod
        def forward(x):
            saved[:] = [x]
            return x @ W

        @staticmethod
        def backward(dy):
            dW[...] = grad(saved[0], dy)
            return dy @ W.T

    return Functions()


@place
def closure_nonlocal(W):
    dW = None
    x_seen = None

    def forward(x):
        nonlocal x_seen
        x_seen = x
        return x @ W

    def backward(dy):
        nonlocal dW
        dW = grad(x_seen, dy)
        return dy @ W.T

    return SimpleNamespace(forward=forward, backward=backward)


@place
def closure_of_a_closure(W):
    def outer():
        dW = [None]
        kept = {}

        def forward(x):
            kept["x"] = x
            return x @ W

        def backward(dy):
            dW[0] = grad(kept["x"], dy)
            return dy @ W.T

        return forward, backward

    forward, backward = outer()
    return SimpleNamespace(forward=forward, backward=backward)


@place
def pair_with_closure(W):
    """Two functions with a cache; W is in a cell, its gradient in an attribute."""

    def forward(x):
        return x @ W, x

    def backward(dout, cache):
        backward.dW = grad(cache, dout)
        return dout @ W.T

    return forward, backward


@place
def function_attributes(W):
    def forward(x):
        forward.x = x
        return x @ forward.W

    def backward(dy):
        forward.dW = grad(forward.x, dy)
        return dy @ forward.W.T

    forward.W = W
    return SimpleNamespace(forward=forward, backward=backward)


@place
def default_argument(W):
    kept, given = {}, {}

    def forward(x, W=W):
        kept["x"] = x
        return x @ W

    def backward(dy, W=W, grads=given):
        grads["W"] = grad(kept["x"], dy)
        return dy @ W.T

    return SimpleNamespace(forward=forward, backward=backward, grads=given)


@place
def partial_keywords(W):
    kept, grads = {}, {}

    def forward(x, weight):
        kept["x"] = x
        return x @ weight

    def backward(dy, weight):
        grads["weight"] = grad(kept["x"], dy)
        return dy @ weight.T

    return SimpleNamespace(
        forward=partial(forward, weight=W), backward=partial(backward, weight=W), grads=grads
    )


@place
def bound_methods(W):
    inner = SlotsAlone(W)
    return SimpleNamespace(forward=inner.forward, backward=inner.backward)


@place
class thread_local(Store):
    def keep(self, W):
        self.local = threading.local()
        self.local.W = W

    def read(self):
        return self.local.W

    def write(self, dW):
        self.local.dW = dW


@place
class context_variables(Store):
    def keep(self, W):
        self.weight, self.gradient = ContextVar("weight"), ContextVar("gradient")
        self.weight.set(W)

    def read(self):
        return self.weight.get()

    def write(self, dW):
        self.gradient.set(dW)


@place
class behind_property(Store):
    def keep(self, W):
        self._store = {"W": W}

    @property
    def W(self):
        return self._store["W"]

    @property
    def dW(self):
        return self._store["gradient"]

    def read(self):
        return self.W

    def write(self, dW):
        self._store["gradient"] = dW


@place
class behind_cached_property(Store):
    def keep(self, W):
        self.make = lambda: W

    @cached_property
    def W(self):
        return self.make()

    def read(self):
        return self.W

    def write(self, dW):
        self.dW = dW


@place
class behind_getattr(Store):
    def keep(self, W):
        self.__dict__["_tensors"] = {"W": W}

    def __getattr__(self, name):
        if name in self.__dict__.get("_tensors", {}):
            return self._tensors[name]
        raise AttributeError(name)

    def read(self):
        return self.W

    def write(self, dW):
        self._tensors["dW"] = dW


@place
class behind_getitem(Store):
    def keep(self, W):
        self._all = [W, None]

    def __getitem__(self, key):
        return self._all[{"W": 0, "dW": 1}[key]]

    def read(self):
        return self["W"]

    def write(self, dW):
        self._all[1] = dW


@place
class name_mangled(Store):
    def keep(self, W):
        self.__W = W

    def read(self):
        return self.__W

    def write(self, dW):
        self.__dW = dW


HOLDERS = []


@place
class weak_reference(Store):
    def keep(self, W):
        HOLDERS.append(SlotBox(W))
        self.ref = weakref.ref(HOLDERS[-1])

    def read(self):
        return self.ref().data

    def write(self, dW):
        self.ref().grad = dW


@place
class weak_dictionary(Store):
    def keep(self, W):
        self.holder = Box(W)
        self.grads = weakref.WeakKeyDictionary()

    def read(self):
        return self.holder.data

    def write(self, dW):
        self.grads[self.holder] = dW


@place
class in_a_generator(Store):
    def keep(self, W):
        def weights():
            kept = W
            while True:
                yield kept

        self.source = weights()

    def read(self):
        return next(self.source)

    def write(self, dW):
        self.dW = dW


@place
class returned_in_a_dict(Store):
    def keep(self, W):
        self.W = W

    def read(self):
        return self.W

    def backward(self, dy):
        return dy @ self.W.T, {"W": grad(self.x, dy)}


@place
class never_computed(Store):
    def keep(self, W):
        self.W, self.dW = W, np.zeros_like(W)

    def read(self):
        return self.W

    def write(self, dW):
        if FACTOR == 1:
            self.dW = dW


@place
class none_left(Store):
    def keep(self, W):
        self.params, self.grads = {"W": W}, {"W": None}

    def read(self):
        return self.params["W"]

    def write(self, dW):
        if FACTOR == 1:
            self.grads["W"] = dW


class Chain:
    """Layers one after the other; a chain is a layer too."""

    def __init__(self, *layers):
        self.layers = list(layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer.forward(x)
        return x

    def backward(self, dy):
        for layer in reversed(self.layers):
            dy = layer.backward(dy)
        return dy


class Wrapped:
    """A layer in an attribute."""

    def __init__(self, inner):
        self.inner = inner

    def forward(self, x):
        return self.inner.forward(x)

    def backward(self, dy):
        return self.inner.backward(dy)


class Block(Wrapped):
    """A layer in a dict."""

    def __init__(self, attention):
        self.parts = {"attention": attention}

    @property
    def inner(self):
        return self.parts["attention"]


def nested(wrap, depth):
    def make(W):
        layer = PLACES["attributes W dW"](W)
        for _ in range(depth):
            layer = wrap(layer)
        return layer

    return make


for depth in range(1, 9):
    PLACES[f"chain of depth {depth}"] = nested(Chain, depth)
for depth in (2, 4, 6, 8):
    PLACES[f"attribute of depth {depth}"] = nested(Wrapped, depth)
for depth in (2, 5, 8):
    PLACES[f"dict of depth {depth}"] = nested(Block, depth)


@place
def encoder(W):
    """encoder.blocks[0].attention.heads["first"].proj.W"""
    linear = PLACES["attributes W dW"](W)
    head = Wrapped(linear)
    return Wrapped(Chain(Block(Chain(Block(Wrapped(head))))))


def outcome(name, factor):
    """What the checker says of a place: ok, wrong or refused; and whether W is among its rows."""
    from deepnlp.gradcheck import check_gradients

    global FACTOR
    FACTOR = factor
    rng = np.random.default_rng(1)
    layer = PLACES[name](rng.normal(size=(4, 3)))
    inputs = [rng.normal(size=(5, 4))]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = check_gradients(layer, *inputs)
    except Exception as error:
        return "refused", f"{type(error).__name__}: {error}"
    return "ok" if report.ok else "wrong", str(report)


def main():
    parser = argparse.ArgumentParser(
        prog="python -m tests.broken.cases.places", description=__doc__
    )
    parser.add_argument("--right", action="store_true", help="the same layers without a mistake")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    rows, bad = [], {"ok": 0, "wrong": 0, "refused": 0}
    for name in list(PLACES)[:: options.every]:
        found, said = outcome(name, 1.0 if options.right else 2.0)
        rows.append({"place": name, "outcome": found, "said": said})
        bad[found] += 1
        if found != ("ok" if options.right else "wrong"):
            print(f"{name:32}{found:10}{said.splitlines()[0][:90] if found == 'refused' else ''}")
    print(f"{len(rows)} places: " + ", ".join(f"{k} {v}" for k, v in bad.items()))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    sys.modules.setdefault("tests.broken.cases.places", sys.modules["__main__"])
    main()
