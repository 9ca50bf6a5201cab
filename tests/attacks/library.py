"""Odd values for the functions and layers of the library, and what became of each call."""

from __future__ import annotations

import inspect
import linecache
import random
import signal
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import deepnlp
from deepnlp import DeepNLPError, Parameter, generation, layers, models, optimizers
from deepnlp.backend import initialisers
from deepnlp.examples import EXAMPLES
from deepnlp.models import RNNLM
from deepnlp.text import Vocabulary

HOUSE = str(Path(deepnlp.__file__).parent)
SECONDS = 20
VALUES: list[Any] = [
    *(None, True, -1, 0, 2.5, 10**15, float("nan"), float("inf"), 1e308, "a", "", b"a", [], (), {}),
    *([1], [None], ["a"], [[1.0], [1.0, 2.0]], object(), 1j, np.nan, np.float32(2), np.array(3)),
    *(np.array(["a"]), np.array([None]), np.zeros((0, 3)), np.zeros((2, 3), "M8[s]"), np.ones(3)),
    *(np.ones((2, 3)), np.ones((2, 3), complex), np.ones((2, 3), int), np.array([[7, -9]]), len),
]
ERRORS = (ValueError, TypeError, DeepNLPError, RuntimeError, MemoryError, FileNotFoundError)


class TookTooLong(BaseException):
    """Raised by the alarm."""


def calls(count: int, seed: int) -> Iterator[tuple[str, str, str]]:
    """Kind, verdict and text of every call."""
    choose = random.Random(seed)
    makers = [*_makers()]
    for k in range(count):
        kind, call = makers[k % len(makers)](choose)
        yield kind, *verdict(call)


def verdict(call: Callable[[], Any]) -> tuple[str, str]:
    """``done``, ``refused`` where an error of the house says why, or what is wrong."""

    def late(*_: object) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            call()
    except TookTooLong:
        return "HUNG", str(inspect.getclosurevars(call).nonlocals)
    except Exception as error:
        trace: Any = error.__traceback__
        while trace.tb_next is not None:
            trace = trace.tb_next
        ours = trace.tb_frame.f_code.co_filename.startswith(HOUSE)
        line = linecache.getline(trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        said = f"{type(error).__name__}: {error} ({inspect.getclosurevars(call).nonlocals})"
        if isinstance(error, MemoryError):
            return "refused", said
        if not (ours and isinstance(error, ERRORS)):
            return "NOT OUR SENTENCE", said
        return ("refused" if "raise" in line else "NOT OUR SENTENCE"), said
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return "done", ""


def _makers() -> Iterator[Callable[[random.Random], tuple[str, Callable[[], Any]]]]:
    """Functions that draw a call."""
    W = Parameter([[1.0, 2.0], [3.0, 4.0]])

    def input_of_a_layer(choose: random.Random) -> tuple[str, Callable[[], Any]]:
        example = EXAMPLES[choose.choice([*EXAMPLES])]
        layer, inputs = example.build(np.random.default_rng(0), example.sizes)
        place, value = choose.randrange(len(inputs)), choose.choice(VALUES)
        odd = [value if k == place else x for k, x in enumerate(inputs)]
        return "library, inputs of layers", lambda: (example, layer.forward(*odd))

    def gradient_of_a_layer(choose: random.Random) -> tuple[str, Callable[[], Any]]:
        example = EXAMPLES[choose.choice([*EXAMPLES])]
        layer, inputs = example.build(np.random.default_rng(0), example.sizes)
        outputs = layer.forward(*inputs)
        value = choose.choice(VALUES)
        if not isinstance(outputs, np.ndarray) or outputs.ndim == 0 or value is None:
            return "library, gradients of layers", lambda: None
        return "library, gradients of layers", lambda: (example, layer.backward(value))

    def size(choose: random.Random) -> tuple[str, Callable[[], Any]]:
        kinds = [getattr(layers, name) for name in layers.__all__]
        # the constructor of the one that is left out needs a probability besides
        kinds = [k for k in kinds if hasattr(k, "init") and k is not layers.EmbeddingDropout]
        kind = choose.choice(kinds)
        names = [
            name
            for name, one in inspect.signature(kind.init).parameters.items()
            if one.kind is one.POSITIONAL_OR_KEYWORD and one.default is one.empty
        ]
        values = {name: choose.choice([3, 3, choose.choice(VALUES)]) for name in names}
        return "library, sizes of layers", lambda: kind.init(**values)

    def optimizer(choose: random.Random) -> tuple[str, Callable[[], Any]]:
        kind = choose.choice([*optimizers.OPTIMIZERS.alternatives.values()])
        names = [name for name in inspect.signature(kind).parameters if name != "parameters"]
        values = {"lr": 0.1, choose.choice(names): choose.choice(VALUES)}
        return "library, optimizers", lambda: kind([W], **values)

    def parameter(choose: random.Random) -> tuple[str, Callable[[], Any]]:
        name, value = choose.choice(["make", "accumulate", "value", "grad", "rows"]), None
        value = choose.choice(VALUES)
        use = {
            "make": lambda: Parameter(value),
            "accumulate": lambda: W.accumulate(value),
            "value": lambda: setattr(W, "value", value),
            "grad": lambda: setattr(W, "grad", value),
            "rows": lambda: optimizers.clip_gradients([W], value),
        }[name]
        return "library, parameters", use

    def initial(choose: random.Random) -> tuple[str, Callable[[], Any]]:
        draw = choose.choice([initialisers.uniform, initialisers.normal])
        shape, width = choose.choice([(2, 3), (choose.choice(VALUES), 2)]), choose.choice(VALUES)
        return "library, fresh weights", lambda: draw(shape, width)

    model = RNNLM(4, 8, 8)
    model.vocab = Vocabulary.build(["ha", "ho"])

    def sample(choose: random.Random) -> tuple[str, Callable[[], Any]]:
        names = ["prompt", "length", "temperature", "top_k", "top_p", "seed"]
        values = {"length": 3, choose.choice(names): choose.choice(VALUES)}
        if isinstance(values["length"], int) and values["length"] > 100:
            values["length"] = 3
        return "library, generation", lambda: generation.generate(model, **values)

    def search(choose: random.Random) -> tuple[str, Callable[[], Any]]:
        names = ["width", "n_best", "length_penalty", "banned", "end_id"]
        values = {"start_id": 0, "end_id": 1, choose.choice(names): choose.choice(VALUES)}

        def step(ids: Any, state: Any) -> Any:
            return np.zeros((len(ids), 3)), state

        return "library, beam search", lambda: generation.beam_search(step, None, 1, **values)

    def make_model(choose: random.Random) -> tuple[str, Callable[[], Any]]:
        kind = choose.choice([RNNLM, models.CBOW, models.Seq2Seq, models.Tagger])
        names = [*inspect.signature(kind).parameters]
        sizes = {
            name: 3
            for name, one in inspect.signature(kind).parameters.items()
            if one.default is one.empty
        }
        values = {**sizes, choose.choice(names): choose.choice(VALUES)}
        return "library, models", lambda: kind(**values)

    yield from (input_of_a_layer, gradient_of_a_layer, size, optimizer, parameter, initial)
    yield from (sample, search, make_model)
