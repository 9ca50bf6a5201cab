"""Every public object says what it is, what it takes and what it gives."""

import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator

import pytest

import deepnlp
import deepnlp.layers
from deepnlp import kernels
from deepnlp.layer import Layer

MODULES = [
    info.name
    for info in pkgutil.walk_packages(deepnlp.__path__, "deepnlp.")
    if not info.name.endswith("__main__")
]


def public_objects() -> Iterator[tuple[str, object]]:
    """Public classes and functions of the package with their full names, each where defined."""
    for name in ["deepnlp", *MODULES]:
        module = importlib.import_module(name)
        for key, value in vars(module).items():
            is_object = inspect.isclass(value) or inspect.isfunction(value)
            is_form = name.startswith("deepnlp.kernels.") and key in kernels.NAMES
            if is_form and name != "deepnlp.kernels.plain":
                continue  # another form of a kernel: the plain one says what it does
            if is_object and not key.startswith("_") and value.__module__ == name:
                yield f"{name}.{key}", value


OBJECTS = dict(public_objects())
CLASSES = {name: value for name, value in OBJECTS.items() if inspect.isclass(value)}
FUNCTIONS = {name: value for name, value in OBJECTS.items() if inspect.isfunction(value)}


def section(text: str, title: str) -> str:
    """The lines of a numpydoc section, empty if there is none."""
    match = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", text, re.M | re.S)
    return match.group(1) if match else ""


def parameters_of(callable_: object) -> list[str]:
    """Names of what a function or a constructor takes; what is only passed on is not listed."""
    passed_on = ("self", "cls", "args", "kwargs")
    return [name for name in inspect.signature(callable_).parameters if name not in passed_on]


def undescribed(callable_: object, text: str) -> list[str]:
    """Parameters that the sections Parameters and Attributes leave out."""
    described = section(text, "Parameters") + section(text, "Attributes")
    described += section(text, "Other Parameters")
    lines = [line for line in described.splitlines() if line and not line.startswith(" ")]
    names = {part.strip().lstrip("*") for line in lines for part in line.split(" : ")[0].split(",")}
    return [name for name in parameters_of(callable_) if name not in names]


@pytest.mark.parametrize("name", ["deepnlp", *MODULES])
def test_every_module_says_what_it_is_about(name):
    assert inspect.getdoc(importlib.import_module(name))


@pytest.mark.parametrize("name", OBJECTS)
def test_every_object_begins_with_one_line_and_a_full_stop(name):
    text = inspect.cleandoc(OBJECTS[name].__doc__ or "")
    assert text, f"{name} has no docstring"
    summary, *rest = text.splitlines()
    assert re.search(r"[.:?]$", summary), f"{name}: the first line is one sentence: {summary!r}"
    assert not rest or rest[0] == "", f"{name}: a blank line follows the first"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_describes_what_it_takes_and_gives(name):
    function = FUNCTIONS[name]
    text = inspect.getdoc(function)
    assert not undescribed(function, text), f"{name}: undescribed {undescribed(function, text)}"
    gives = function.__annotations__.get("return")
    if gives not in (None, "None") and "contextmanager" not in inspect.getsource(function):
        told = section(text, "Returns") or section(text, "Yields")
        assert told, f"{name} does not say what it returns"


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_describes_its_constructor(name):
    cls = CLASSES[name]
    if issubclass(cls, Exception) or cls is Layer:
        return
    is_record = hasattr(cls, "_fields") or dataclasses.is_dataclass(cls)  # the fields speak
    text = inspect.getdoc(cls)
    if "__init__" in vars(cls) and not is_record:
        assert not undescribed(cls, text), f"{name}: undescribed {undescribed(cls, text)}"


@pytest.mark.parametrize("name", CLASSES)
def test_every_public_method_has_a_docstring(name):
    for key, value in vars(CLASSES[name]).items():
        inner = getattr(value, "__func__", getattr(value, "fget", value))
        if inspect.isfunction(inner) and not key.startswith("_"):
            assert inspect.getdoc(inner), f"{name}.{key} has no docstring"


@pytest.mark.parametrize("name", deepnlp.layers.__all__)
def test_every_layer_has_an_example_and_its_errors(name):
    text = inspect.getdoc(getattr(deepnlp.layers, name))
    assert ">>> " in section(text, "Examples"), f"{name} has no example"
    if name not in ("Layer", "Sequential"):
        assert section(text, "Raises"), f"{name} does not say what it raises"
        assert ".. math::" in text, f"{name} does not state its equation"


def test_a_section_is_found():
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
