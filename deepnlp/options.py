"""Options: declared once, in the signature of the class or function that they configure.

.. code-block:: python

    def __init__(self, p: Annotated[float, Option("probability of zeroing", low=0, below=1)] = 0.5):

The default is the signature's. The command line, recipes, ``config.toml`` and checkpoints read
signatures with :func:`options_of`, call them with :func:`fill` and read objects with
:func:`values_of`.
"""

import dataclasses
import functools
import inspect
import json
import math
import operator
import re
from collections.abc import Callable, Collection, Mapping
from numbers import Integral, Real
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

Made = TypeVar("Made")

KINDS: dict[type, tuple[str, type]] = {  # in words, and what counts as one
    str: ("a text", str),
    int: ("a whole number", Integral),
    float: ("a number", Real),
    bool: ("true or false", bool),
}
LIMITS = {
    "low": ("{} or more", operator.ge),
    "above": ("above {}", operator.gt),
    "high": ("at most {}", operator.le),
    "below": ("below {}", operator.lt),
}


@dataclasses.dataclass(frozen=True)
class Option:
    """A description of an argument, for ``Annotated[type, Option(...)]``.

    Without a ``help`` its text is the first sentence on the argument in the docstring. The fields
    from ``argument`` on are filled in by :func:`options_of`. ``name`` is given where the option has
    another name than the argument. ``metavar`` and ``details`` are for argparse; of the arguments
    of a command with the same ``either`` one is given at most, and one at least if the first is
    given by position. ``resume`` says which value a resumed run may have: ``"same"``,
    ``"larger"``, ``"any"``, or ``"moved"``, another path to the same file; see :meth:`may_become`.
    """

    help: str = ""
    choices: Collection[str] = ()
    low: float | None = None
    above: float | None = None
    high: float | None = None
    below: float | None = None
    name: str = ""
    metavar: str = ""
    either: str = ""
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    resume: str = "same"
    argument: str = ""
    kind: type = str
    optional: bool = False  # may be None
    several: bool = False  # may be a list of such values
    default: Any = None  # None where it is not optional: there is no default

    def check(self, value: Any, name: str = "") -> Any:
        """Return the value in its type, or a ValueError that says what was expected."""
        if self.optional and (value is None or (self.kind is str and value == "")):
            return None
        if self.several and isinstance(value, list | tuple) and value:
            return [dataclasses.replace(self, several=False).check(part, name) for part in value]
        kind = KINDS[self.kind][1]
        fits = isinstance(value, kind) and isinstance(value, bool) == (self.kind is bool)
        if not fits or not self.in_range(value):
            name = name or self.name
            raise ValueError(f"{name} should be {self.expected()}, got {value!r}")
        return self.kind(value)

    def in_range(self, value: Any) -> bool:
        """Return whether a value is one of the choices, or a number between the limits."""
        if self.choices:
            return value in self.choices
        if self.kind is float and not math.isfinite(value):
            return False
        limits = ((getattr(self, key), test) for key, (_, test) in LIMITS.items())
        return all(limit is None or test(value, limit) for limit, test in limits)

    def may_become(self, then: Any, now: Any) -> bool:
        """Return whether a run that began with one value may be resumed with another."""
        is_larger = self.resume == "larger" and now > then
        return then == now or is_larger or self.resume in ("any", "moved")

    def expected(self) -> str:
        """Describe the allowed values in words.

        >>> Option("learning rate", above=0, high=1, kind=float).expected()
        'a number, above 0 and at most 1'
        """
        if self.choices:
            return (
                "one of "
                + ", ".join(map(repr, self.choices))
                + getattr(self.choices, "expected", "")
            )
        limits = self.limits()
        expected = f"{KINDS[self.kind][0]}, {limits}" if limits else KINDS[self.kind][0]
        return f"{expected}, or a list of such" if self.several else expected

    def limits(self) -> str:
        """Return the limits of a number, in words.

        >>> Option("size of a word vector", low=1, high=100_000).limits()
        '1 or more and at most 100,000'
        """
        limits = {key: getattr(self, key) for key in LIMITS}
        return " and ".join(
            LIMITS[key][0].format(f"{limit:,}" if limit >= 10_000 else f"{limit:g}")
            for key, limit in limits.items()
            if limit is not None
        )


class Choice:
    """One of several classes, chosen by its name in lower case, or by another name."""

    def __init__(
        self, help: str, *alternatives: Callable[..., Any], **named: Callable[..., Any]
    ) -> None:
        self.help = help
        self.alternatives = {**{a.__name__.lower(): a for a in alternatives}, **named}

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self.alternatives[name]

    def options(self, name: str, chosen: str | None = None) -> dict[str, Option]:
        """Return the choice itself under its name, then the options of every alternative.

        Where alternatives share an option, the default is that of the chosen one.
        """
        names = tuple(self.alternatives)
        table = {name: Option(self.help, names, name=name, default=names[0])}
        for alternative in self.alternatives.values():
            table = {**table, **options_of(alternative), **table}
        table |= options_of(self.alternatives.get(chosen or names[0], self[names[0]]))
        for key, option in table.items():
            owners = [n for n, a in self.alternatives.items() if key in options_of(a)]
            if owners and len(owners) < len(names):
                table[key] = dataclasses.replace(option, help=f"{', '.join(owners)}: {option.help}")
        return table


def options_of(function: Callable[..., Any]) -> dict[str, Option]:
    """Return the options that a function, or the constructor of a class, declares, by their names.

    >>> from typing import Annotated
    >>> def f(x, p: Annotated[float, Option("probability", low=0)] = 0.5): ...
    >>> options_of(f)["p"].default
    0.5
    """
    return {option.name: option for option in _declared(function)}


@functools.cache  # signatures are slow to read, and a table of results asks for hundreds
def _declared(function: Callable[..., Any]) -> tuple[Option, ...]:
    owner: Any = function.__init__ if isinstance(function, type) else function  # type: ignore[misc]
    hints = get_type_hints(owner, include_extras=True)
    options, texts = [], dict[str, str]()
    for documented in function.__mro__[::-1] if isinstance(function, type) else [function]:
        texts |= _documented(inspect.getdoc(documented) or "")
    for argument, parameter in inspect.signature(function).parameters.items():
        for option in getattr(hints.get(argument), "__metadata__", ()):
            if not isinstance(option, Option):
                continue
            annotated = hints[argument].__origin__
            kinds = get_args(annotated) or (annotated,)
            default = None if parameter.default is parameter.empty else parameter.default
            default = [*default] if isinstance(default, tuple) else default  # as TOML has it
            option = dataclasses.replace(
                option,
                help=option.help or texts.get(argument, ""),
                name=option.name or argument,
                argument=argument,
                kind=next((kind for kind in kinds if kind in KINDS), type(default)),
                optional=type(None) in kinds,
                several=any(get_origin(kind) is list for kind in kinds),
                default=default,
            )
            options.append(option)
    return tuple(options)


def _documented(doc: str) -> dict[str, str]:
    r"""Return the first sentence on each parameter in a docstring, without its markup.

    >>> _documented("Sum.\n\nParameters\n----------\na, b : int\n    A ``term``. Any number.")
    {'a': 'A term', 'b': 'A term'}
    """
    section = doc.partition("\nParameters\n----------\n")[2].partition("\n\n")[0]
    texts: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", section):
        names, _, text = entry.partition("\n")
        sentence = re.split(r"\.(?= [A-Z`]|$)", " ".join(text.split()))[0]
        plain = re.sub(r" \(:class:.*?\)|`", "", sentence)
        if plain[1:2].islower():
            plain = plain[0].lower() + plain[1:]
        texts |= dict.fromkeys(names.partition(" : ")[0].split(", "), plain)
    return texts


def check_options(function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Raise a ValueError if one of the arguments by name is not what its option says."""
    for option in options_of(function).values():
        if option.argument in arguments:
            option.check(arguments[option.argument], option.argument)


def kept_at_resume(values: Mapping[str, Any], options: Mapping[str, Option]) -> dict[str, Any]:
    """Return the values that a resumed run must have too, with those that are no options."""
    return {n: v for n, v in values.items() if n not in options or options[n].resume == "same"}


def fill(
    function: Callable[..., Made], options: Mapping[str, Any], *args: Any, **kwargs: Any
) -> Made:
    """Call a function with those options that it declares, and with further arguments."""
    given = {}
    for name, option in options_of(function).items():
        value = options[name]
        if value is None and not option.optional:
            raise ValueError(f"{name} is missing: expected {option.expected()}")
        given[option.argument] = value
    return function(*args, **{**given, **kwargs})


def values_of(component: Any) -> dict[str, Any]:
    """Return the options of an object by name: each is an attribute of the argument's name."""
    declared = options_of(type(component)).items()
    return {name: getattr(component, option.argument) for name, option in declared}


def arguments_of(component: Any) -> dict[str, Any]:
    """Return the constructor's arguments that are plain attributes too, ready for JSON.

    Those that are options have the option's name.
    """
    names = {option.argument: name for name, option in options_of(type(component)).items()}
    arguments = {}
    for argument in inspect.signature(type(component)).parameters:
        value = getattr(component, argument, inspect.Parameter.empty)
        parts = value if isinstance(value, list | tuple) else [value]
        if all(part is None or isinstance(part, str | bool | int | float) for part in parts):
            arguments[names.get(argument, argument)] = value
    return arguments


# --- TOML ----------------------------------------------------------------------------------------


def to_toml(options: Mapping[str, Any]) -> str:
    """Return a flat table as TOML; None is left out, since TOML has no value for it.

    >>> print(to_toml({"name": "a", "lr": 0.5, "tied": True, "ids": [1, 2]}), end="")
    name = "a"
    lr = 0.5
    tied = true
    ids = [1, 2]
    """
    # Such values are written in TOML as in JSON, except that JSON leaves one character bare
    write = functools.partial(json.dumps, ensure_ascii=False, default=str)
    lines = [f"{name} = {write(v)}\n" for name, v in options.items() if v is not None]
    return "".join(lines).replace("\x7f", "\\u007f")
