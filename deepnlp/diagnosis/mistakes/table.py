"""The table of mistakes, read from ``table.toml``: causes, sentences and formulas."""

import math
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy

from deepnlp.backend import HostArray
from deepnlp.diagnosis.problem import Guess


def no_formula() -> None:
    """Stand in a row for a formula that it does not have."""


@dataclass(frozen=True)
class Row:
    """One mistake: a cause, its sentence, and the formula it uses where it is one.

    Attributes
    ----------
    key : str
        Where it stands in the table.
    cause : str
        A name of the list; empty where it depends on the place.
    says : str
        The sentence, with names of what is known at the place in braces.
    formula : callable
        Of numbers by name, such as ``p``, ``a``, ``b`` and ``y``.
    text : str
        The formula as it is written.
    """

    key: str
    cause: str
    says: str
    formula: Callable[..., Any] = no_formula
    text: str = ""

    def guess(
        self, gradients: Any, *, cause: str = "", tier: int = 0, edit: Any = None, **details: Any
    ) -> Guess:
        """A guess with the row's cause and sentence, and what the mistake would give."""
        told, factor = self.says.format_map({"is": self.text, **details}), details.pop("factor", "")
        key = (self.key, *(word for word in details.values() if isinstance(word, str)))
        cause = cause or self.cause
        return Guess(cause, told, gradients, edit, tier=tier, key=key, factor=factor)


def say(key: str, gradients: Any, **details: Any) -> Guess:
    """A guess by the row of that key in ``[sentences]``; see :meth:`Row.guess`."""
    cause, says = _table()["sentences"][key]
    return Row(key, cause, says).guess(gradients, **details)


def phrase(key: str, **details: Any) -> str:
    """A part of a sentence, by a row of ``[words]``."""
    told: str = _table()["words"][key]
    return told.format_map(details)


@cache
def rows(kind: str) -> tuple[Row, ...]:
    """The formulas of a kind, which stand in place of the right one."""
    return tuple(
        Row(f"{kind}: {text}", cause, says, formula(text), text)
        for text, cause, says in _table()["formulas"].get(kind, [])
    )


@cache
def functions() -> dict[str, dict[str, Any]]:
    """Functions of one number, or of a row, by name: ``value``, ``slope`` and more."""
    return {
        name: {k: formula(v) if k in ("value", "slope", "back") else v for k, v in entry.items()}
        | {"right": entry.get("slope") or entry["back"]}
        for name, entry in _table()["functions"].items()
    }


@cache
def _table() -> dict[str, Any]:
    text = resources.files("deepnlp.diagnosis.mistakes").joinpath("table.toml")
    return tomllib.loads(text.read_text(encoding="utf-8"))


# --- Formulas -------------------------------------------------------------------------------------


def _sigmoid(x: HostArray) -> HostArray:
    return 0.5 * (1 + numpy.tanh(0.5 * x))


def _softmax(x: HostArray) -> HostArray:
    e = numpy.exp(x - x.max(axis=-1, keepdims=True))
    return numpy.asarray(e / e.sum(axis=-1, keepdims=True))


# SciPy has it too, but takes long to import.
_erfc = numpy.vectorize(math.erfc, otypes="d")


def _cdf(x: HostArray) -> HostArray:
    """That of the normal distribution, to 1e-16."""
    return numpy.asarray(_erfc(-math.sqrt(0.5) * x) / 2)


NAMES: dict[str, Any] = {
    **{name: getattr(numpy, name) for name in ("exp", "log", "tanh", "sqrt", "sin", "cos", "cosh",
       "arctan", "sinh", "abs", "where", "logaddexp", "pi", "log1p", "sum", "mean")},
    "sigmoid": _sigmoid, "softmax": _softmax, "cdf": _cdf, "min": min,
    "total": lambda a, axis=-1: numpy.sum(a, axis=axis, keepdims=True),
    "slope": lambda name, x: functions()[name]["slope"](x=x, y=functions()[name]["value"](x=x)),
    "average": lambda a, axis=-1: numpy.mean(a, axis=axis, keepdims=True),
}  # fmt: skip
"""What a formula may use besides the numbers at its place."""


@cache
def formula(text: str) -> Callable[..., Any]:
    """A formula of the table as a function of numbers by name.

    Examples
    --------
    >>> formula("1 - y * y")(y=0.5)
    0.75
    """
    code = compile(text, "<table.toml>", "eval")
    return lambda **numbers: eval(code, {"__builtins__": {}}, {**NAMES, **numbers})
