"""A parameter of a search: an option, and the values that are tried."""

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from deepnlp.options import Option
from deepnlp.training import TrainConfig
from deepnlp.training.config import all_options
from studies.study import check_keys

KEYS = ("choices", "low", "high", "step", "log")  # of its table in the TOML file
SYNTAX = "OPTION=LOW:HIGH, OPTION=LOW:HIGH:STEP, OPTION=LOW:HIGH:log or OPTION=VALUE,VALUE,..."
MOST_POINTS = 100_000  # of a range with steps
DIGITS = 4  # of a number that is drawn, so that it can be read and typed again


@dataclass(frozen=True)
class Parameter:
    """One option, or several joined by ``+`` that are given the same value; choices, or a range.

    ``step`` divides the range; ``log`` says that it is searched on a logarithmic scale.

    >>> lr = build_parameter("lr", {"low": 5, "high": 40, "log": True}, TrainConfig())
    >>> lr.describe()
    '5 to 40 on a logarithmic scale'
    >>> lr.tidy(17.382911)
    17.38
    """

    name: str
    kind: type
    choices: Sequence[Any] = ()
    low: Any = None
    high: Any = None
    step: Any = None
    log: bool = False

    @property
    def options(self) -> list[str]:
        """The names of the options."""
        return self.name.split("+")

    def points(self) -> list[Any] | None:
        """All values in their order; None if there is no end of them."""
        if self.choices:
            return list(self.choices)
        step = self.step or (1 if self.kind is int and not self.log else None)
        if step is None:
            return None
        first, last, gap = (Decimal(repr(number)) for number in (self.low, self.high, step))
        return [self.kind(first + k * gap) for k in range(int((last - first) / gap) + 1)]

    def contains(self, value: Any) -> bool:
        """Return whether a value is one of those of the parameter."""
        return value in self.choices if self.choices else bool(value == self.tidy(value))

    def tidy(self, value: Any) -> Any:
        """The value that was meant by a drawn one: the nearest point, or few digits."""
        points = self.points()
        if points is None:
            value = min(max(float(f"{value:.{DIGITS}g}"), self.low), self.high)
            return round(value) if self.kind is int else value
        return value if self.choices else min(points, key=lambda point: abs(point - value))

    def describe(self) -> str:
        """The values in words."""
        if self.choices:
            return ", ".join(map(text, self.choices))
        steps = "" if self.step is None else f" in steps of {text(self.step)}"
        scale = " on a logarithmic scale" * self.log
        return f"{text(self.low)} to {text(self.high)}{steps}{scale}"


def build_parameter(name: str, table: Mapping[str, Any], config: TrainConfig) -> Parameter:
    """The parameter of a name, or an error that says which value cannot be tried."""
    if not isinstance(table, Mapping):
        raise ValueError(f"{name} should be a table with choices, or low and high, got {table!r}")
    known, options = all_options(config.task), []
    for part in name.split("+"):
        if part not in known:
            raise ValueError(f"no option {part!r} to search: expected one of {', '.join(known)}")
        options.append(known[part])
    check_keys(table, KEYS, name)
    if not table.get("choices"):
        return _range(name, table, options)
    if table.keys() != {"choices"}:
        raise ValueError(f"{name} has choices and a range: one of them is enough")
    choices = table["choices"]
    if not isinstance(choices, list):
        raise ValueError(f"the choices of {name} should be a list, got {choices!r}")
    for option in options:
        choices = [option.check(value) for value in choices]
    if any(value is None or isinstance(value, list) for value in choices):
        raise ValueError(f"each choice of {name} should be one value, got {choices}")
    if len({*choices}) < len(choices):
        raise ValueError(f"a choice of {name} is there twice: {', '.join(map(text, choices))}")
    return Parameter(name, options[0].kind, choices)


def _range(name: str, table: Mapping[str, Any], options: Sequence[Option]) -> Parameter:
    """A parameter with a range in the type of the options."""
    kind = options[0].kind
    low, high, step, log = (table.get(key) for key in KEYS[1:])
    if kind not in (int, float):
        raise ValueError(f"{name} is no number, so it needs choices and has no range")
    if low is None or high is None:
        raise ValueError(f"{name} needs choices, or low and high")
    for option in options:
        low, high = option.check(low), option.check(high)
    if low >= high:
        raise ValueError(f"low should be below high, {name} has {text(low)} and {text(high)}")
    if log and (step is not None or low <= 0):
        raise ValueError(f"{name} is on a logarithmic scale: it has no step, and is above 0")
    if step is not None:
        step = Option(kind=kind, above=0).check(step, f"the step of {name}")
    gap = step or (1 if kind is int and not log else math.inf)
    if high - low > MOST_POINTS * gap:
        advice = "choices, a larger step or a logarithmic scale"
        raise ValueError(f"{name} has more than {MOST_POINTS:,} values: expected {advice}")
    if step and (Decimal(repr(high)) - Decimal(repr(low))) % Decimal(repr(step)):
        raise ValueError(
            f"steps of {text(step)} do not lead from {text(low)} to {text(high)} in {name}"
        )
    return Parameter(name, kind, low=low, high=high, step=step, log=bool(log))


def parse(argument: str) -> tuple[str, dict[str, Any]]:
    """A parameter as it is written on the command line: its name and its table.

    >>> parse("dropout=0.1:0.5:0.1")
    ('dropout', {'low': 0.1, 'high': 0.5, 'step': 0.1})
    >>> parse("lr=5:40:log")
    ('lr', {'low': 5, 'high': 40, 'log': True})
    >>> parse("cell=lstm,gru")
    ('cell', {'choices': ['lstm', 'gru']})
    """
    name, _, values = argument.partition("=")
    parts = [_value(part) for part in values.split(":")]
    if not (name and values):
        raise ValueError(f"a parameter should be {SYNTAX}, got {argument!r}")
    if len(parts) not in (2, 3):
        return name, {"choices": [_value(value) for value in values.split(",")]}
    table = dict(zip(KEYS[1:], parts, strict=False))
    if parts[2:] == ["log"]:
        table |= {"log": True}
        del table["step"]
    for value in table.values():
        if isinstance(value, str):
            raise ValueError(f"a range has numbers, got {value!r} in {argument!r}")
    return name, table


def _value(word: str) -> Any:
    """A number, true or false, or else the word itself."""
    if word in ("true", "false"):
        return word == "true"
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(word)
    return word


def text(value: Any) -> str:
    """A value as a person writes it.

    >>> text(20.0), text(0.30000000000000004), text("lstm"), text(True)
    ('20', '0.3', 'lstm', 'yes')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
