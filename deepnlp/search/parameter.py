"""A parameter of a search: an option, and the values that are tried."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from deepnlp.options import Option
from deepnlp.reproduce.declared import made
from deepnlp.training import TrainConfig
from deepnlp.training.config import option_groups

DIGITS = 4  # of a number that is drawn, so that it can be read and typed again


@dataclass(frozen=True)
class Values:
    """What a parameter may be, as its table in the TOML file: choices, or a range.

    ``step`` divides the range; ``log`` says that it is searched on a logarithmic scale.
    """

    choices: Sequence[Any] = ()
    low: float | None = None
    high: float | None = None
    step: float | None = None
    log: bool = False


@dataclass(frozen=True)
class Parameter:
    """One option, or several joined by ``+`` that are given the same value.

    >>> lr = parameter("lr", {"low": 5, "high": 40, "log": True}, TrainConfig())
    >>> lr.said()
    '5 to 40 on a logarithmic scale'
    >>> lr.tidy(17.382911)
    17.38
    """

    name: str
    values: Values
    kind: type

    @property
    def options(self) -> list[str]:
        """The names of the options."""
        return self.name.split("+")

    def points(self) -> list[Any] | None:
        """All values in their order; None if there is no end of them."""
        v = self.values
        if v.choices:
            return list(v.choices)
        step = v.step or (1 if self.kind is int and not v.log else None)
        if step is None:
            return None
        first, last, gap = (Decimal(repr(number)) for number in (*self._ends(), step))
        return [self.kind(first + k * gap) for k in range(int((last - first) / gap) + 1)]

    def contains(self, value: Any) -> bool:
        """Whether it is one of the values."""
        points = self.points()
        if points is not None:
            return value in points
        low, high = self._ends()
        return isinstance(value, int | float) and low <= value <= high

    def tidy(self, value: Any) -> Any:
        """The value that was meant by a drawn one: the nearest point, or few digits."""
        points = self.points()
        if points is None:
            low, high = self._ends()
            value = min(max(float(f"{value:.{DIGITS}g}"), low), high)
            return round(value) if self.kind is int else value
        return value if self.values.choices else min(points, key=lambda point: abs(point - value))

    def said(self) -> str:
        """The values in words."""
        v = self.values
        if v.choices:
            return ", ".join(map(text, v.choices))
        steps = "" if v.step is None else f" in steps of {text(v.step)}"
        return f"{text(v.low)} to {text(v.high)}{steps}{' on a logarithmic scale' * v.log}"

    def _ends(self) -> tuple[float, float]:
        assert self.values.low is not None
        assert self.values.high is not None
        return self.values.low, self.values.high


def parameter(name: str, spec: Mapping[str, Any], config: TrainConfig) -> Parameter:
    """The parameter of a name, or an error that says which value cannot be tried."""
    if not isinstance(spec, Mapping):
        raise ValueError(f"{name} should be a table with choices, or low and high, got {spec!r}")
    known = {n: o for group in option_groups(config.task).values() for n, o in group.items()}
    found = []
    for option in name.split("+"):
        if option not in known:
            raise ValueError(f"no option {option!r} to search: expected one of {', '.join(known)}")
        found.append(known[option])
    values: Values = made(Values, spec, name)
    if values.choices:
        if spec.keys() != {"choices"}:
            raise ValueError(f"{name} has choices and a range: one of them is enough")
        values = Values(choices=_choices(name, values.choices, found))
    else:
        values = _range(name, values, found)
    return Parameter(name, values, found[0].kind)


def _choices(name: str, choices: Any, options: Sequence[Option]) -> list[Any]:
    if not isinstance(choices, list):
        raise ValueError(f"the choices of {name} should be a list, got {choices!r}")
    for option in options:
        choices = [option.check(value) for value in choices]
    if any(value is None or isinstance(value, list) for value in choices):
        raise ValueError(f"each choice of {name} should be one value, got {choices}")
    if len({*choices}) < len(choices):
        raise ValueError(f"a choice of {name} is there twice: {', '.join(map(text, choices))}")
    return choices


def _range(name: str, values: Values, options: Sequence[Option]) -> Values:
    """The same range, in the type of the options."""
    if options[0].kind not in (int, float):
        raise ValueError(f"{name} is no number, so it needs choices and has no range")
    low, high, step = values.low, values.high, values.step
    if low is None or high is None:
        raise ValueError(f"{name} needs choices, or low and high")
    for option in options:
        low, high = option.check(low), option.check(high)
    if low >= high:
        raise ValueError(f"low should be below high, {name} has {text(low)} and {text(high)}")
    if values.log and (step is not None or low <= 0):
        raise ValueError(f"{name} is on a logarithmic scale: it has no step, and is above 0")
    if step is not None:
        kind = "a whole number" if options[0].kind is int else "a number"
        fits = isinstance(step, int if options[0].kind is int else int | float)
        if not fits or isinstance(step, bool) or not 0 < step < math.inf:
            raise ValueError(f"the step of {name} should be {kind} above 0, got {step!r}")
        step = options[0].kind(step)
        if (Decimal(repr(high)) - Decimal(repr(low))) % Decimal(repr(step)):
            raise ValueError(
                f"steps of {text(step)} do not lead from {text(low)} to {text(high)} in {name}"
            )
    return Values(low=low, high=high, step=step, log=values.log)


def parse(said: str) -> tuple[str, dict[str, Any]]:
    """A parameter as it is written on the command line: its name and its table.

    >>> parse("dropout=0.1:0.5:0.1")
    ('dropout', {'low': 0.1, 'high': 0.5, 'step': 0.1})
    >>> parse("lr=5:40:log")
    ('lr', {'low': 5, 'high': 40, 'log': True})
    >>> parse("cell=lstm,gru")
    ('cell', {'choices': ['lstm', 'gru']})
    """
    name, equals, values = said.partition("=")
    if not (name and equals and values):
        raise ValueError(
            f"a parameter should be OPTION=LOW:HIGH, OPTION=LOW:HIGH:STEP, OPTION=LOW:HIGH:log or "
            f"OPTION=VALUE,VALUE,..., got {said!r}"
        )
    parts = values.split(":")
    if not 2 <= len(parts) <= 3:
        return name, {"choices": [_value(value) for value in values.split(",")]}
    spec = dict(zip(("low", "high", "step"), map(_value, parts), strict=False))
    if spec.get("step") == "log":
        spec = {"low": spec["low"], "high": spec["high"], "log": True}
    for value in spec.values():
        if isinstance(value, str):
            raise ValueError(f"a range has numbers, got {value!r} in {said!r}")
    return name, spec


def _value(said: str) -> Any:
    """A number, true or false, or else a text."""
    if said in ("true", "false"):
        return said == "true"
    for kind in (int, float):
        try:
            return kind(said)
        except ValueError:
            continue
    return said


def text(value: Any) -> str:
    """A value as a person writes it.

    >>> text(20.0), text(0.30000000000000004), text("lstm"), text(True)
    ('20', '0.3', 'lstm', 'yes')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
