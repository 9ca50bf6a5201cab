"""Everything public says what it is; what users import says what it takes, gives and raises."""

import dataclasses
import importlib
import inspect
import pkgutil
import re

import deepnlp
from deepnlp import kernels, layers
from deepnlp.layer import Layer

MODULES = ["deepnlp"] + [
    info.name
    for info in pkgutil.walk_packages(deepnlp.__path__, "deepnlp.")
    if not info.name.endswith("__main__")
]
IMPORT_PATHS = [
    "deepnlp",
    *(
        f"deepnlp.{name}"
        for name in (
            "layers", "models", "optimizers", "gradcheck", "text", "vectors", "counting",
            "datasets", "training", "tasks", "generation", "evaluation", "backend", "exchange",
        )
    ),
]  # fmt: skip
"""Where users import from: the contract. What they find there is described in full."""


def public_objects():
    """Public classes and functions of the package by their full names, each where defined."""
    for name in MODULES:
        for key, value in vars(importlib.import_module(name)).items():
            if not (inspect.isclass(value) or inspect.isfunction(value)):
                continue
            is_form = name.startswith("deepnlp.kernels.") and key in kernels.NAMES
            if is_form:
                continue  # a quick form: the plain one says what it does
            if not key.startswith("_") and value.__module__ == name:
                yield f"{name}.{key}", value


OBJECTS = dict(public_objects())


def imported_by_users():
    """What an import path offers: the names of its `__all__`, or else what it defines."""
    for path in set(IMPORT_PATHS) & set(MODULES):
        module = importlib.import_module(path)
        for key in getattr(module, "__all__", vars(module)):
            value = getattr(module, key)
            full = f"{getattr(value, '__module__', '')}.{getattr(value, '__name__', '')}"
            if full in OBJECTS and (hasattr(module, "__all__") or value.__module__ == path):
                yield full, value


USERS = dict(imported_by_users())


def section(text: str, title: str) -> str:
    """The lines of a numpydoc section, empty if there is none."""
    match = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", text, re.M | re.S)
    return match.group(1) if match else ""


def undescribed(callable_: object, text: str) -> list[str]:
    """Parameters that the sections Parameters and Attributes leave out; what is only passed on
    need not be there."""
    described = section(text, "Parameters") + section(text, "Attributes")
    described += section(text, "Other Parameters")
    lines = [line for line in described.splitlines() if line and not line.startswith(" ")]
    names = {part.strip().lstrip("*") for line in lines for part in line.split(" : ")[0].split(",")}
    names |= {"self", "cls", "args", "kwargs"}
    return [name for name in inspect.signature(callable_).parameters if name not in names]


def first_line(text: str | None) -> str | None:
    """What is wrong with the first line of a docstring."""
    summary, *rest = inspect.cleandoc(text or "").splitlines() or [""]
    if not summary:
        return "no docstring"
    if not re.search(r"[.:?]$", summary):
        return f"the first line is no sentence: {summary!r}"
    return "no blank line follows the first" if rest and rest[0] else None


def all_first_lines():
    for name in MODULES:
        if not inspect.getdoc(importlib.import_module(name)):
            yield name, "no docstring"
    for name, value in OBJECTS.items():
        yield name, first_line(value.__doc__)
        for key, method in vars(value).items() if inspect.isclass(value) else ():
            inner = getattr(method, "__func__", getattr(method, "fget", method))
            if inspect.isfunction(inner) and not key.startswith("_"):
                yield f"{name}.{key}", None if inspect.getdoc(inner) else "no docstring"


def all_descriptions():
    for name, value in USERS.items():
        text = inspect.getdoc(value)
        if inspect.isfunction(value):
            yield name, undescribed(value, text)
            gives = value.__annotations__.get("return")
            if gives not in (None, "None") and "contextmanager" not in inspect.getsource(value):
                told = section(text, "Returns") or section(text, "Yields")
                yield name, None if told else "does not say what it returns"
            continue
        is_record = hasattr(value, "_fields") or dataclasses.is_dataclass(value)  # fields speak
        plain = issubclass(value, Exception) or value is Layer or is_record
        if "__init__" in vars(value) and not plain:
            yield name, undescribed(value, text)


def all_layers():
    for name in layers.__all__:
        text = inspect.getdoc(getattr(layers, name))
        if ">>> " not in section(text, "Examples"):
            yield name, "has no example"
        if name not in ("Layer", "Sequential"):
            yield name, None if section(text, "Raises") else "does not say what it raises"
            yield name, None if ".. math::" in text else "does not state its equation"


def failures(found) -> str:
    return "\n".join(f"{name}: {what}" for name, what in found if what)


def test_every_public_object_begins_with_one_line():
    assert len(OBJECTS) > 200
    assert not failures(all_first_lines())


def test_what_users_import_says_what_it_takes_and_gives():
    assert {
        "deepnlp.layer.Sequential",
        "deepnlp.backend.arrays.asarray",
        "deepnlp.optimizers.adaptive.Adam",
    } <= {*USERS}
    assert not failures(all_descriptions())


def test_every_layer_has_an_equation_an_example_and_its_errors():
    assert not failures(all_layers())


def test_what_is_missing_is_noticed():
    text = inspect.cleandoc(
        """Sum.

        Parameters
        ----------
        a, b : float
            Two numbers.
        *rest : float

        Returns
        -------
        float
        """
    )
    assert section(text, "Returns") == "float"
    assert section(text, "Raises") == ""
    assert undescribed(lambda a, b, c, *rest: None, text) == ["c"]
    assert (
        first_line("A sentence\nand no blank line.")
        == "the first line is no sentence: 'A sentence'"
    )
    assert first_line("A sentence.\nNo blank line.") == "no blank line follows the first"
    assert first_line(None) == "no docstring"
    assert first_line("A sentence.") is None
