"""Everything public says what it is, and describes no parameter that it has not."""

import ast
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import deepnlp
from deepnlp import kernels, layers

MODULES = ["deepnlp"] + [
    info.name
    for info in pkgutil.walk_packages(deepnlp.__path__, "deepnlp.")
    if not info.name.endswith("__main__")
]


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


def section(text: str, title: str) -> str:
    """The lines of a numpydoc section, empty if there is none."""
    match = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", text, re.M | re.S)
    return match.group(1) if match else ""


def strangers(callable_: object, text: str) -> list[str]:
    """Names in the section Parameters that are no parameters."""
    lines = section(text, "Parameters").splitlines()
    entries = [line.split(" : ")[0] for line in lines if line and not line.startswith(" ")]
    names = {name.strip().lstrip("*") for entry in entries for name in entry.split(",")}
    return sorted(names - {*inspect.signature(callable_).parameters})


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


def all_parameters():
    for name, value in OBJECTS.items():
        if inspect.isfunction(value) or "__init__" in vars(value):
            yield name, strangers(value, inspect.getdoc(value))


def all_layers():
    for name in layers.__all__:
        text = inspect.getdoc(getattr(layers, name))
        if ">>> " not in section(text, "Examples"):
            yield name, "has no example"
        if name not in ("Layer", "Sequential"):
            yield name, None if ".. math::" in text else "does not state its equation"


def failures(wrong) -> str:
    return "\n".join(f"{name}: {what}" for name, what in wrong if what)


ROOMS = [Path(__file__).parents[1] / room for room in ("deepnlp", "benchmarks", "studies")]
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef


def riddles(source: str):
    """Docstrings, of private objects too, that begin neither with a verb nor with a noun."""
    for node in ast.walk(ast.parse(source)):
        text = isinstance(node, DOCUMENTED) and ast.get_docstring(node)
        first = text.splitlines()[0] if text else ""
        if re.match(r"(Of|As many|Whether|What)\b", first) and "?" not in first:
            yield getattr(node, "name", "module"), first


def test_docstrings_begin_with_a_verb_or_a_noun():
    assert [*riddles("def f():\n    'Of a list.'")] == [("f", "Of a list.")]
    files = [path for room in ROOMS for path in room.rglob("*.py")]
    wrong = [
        (f"{path}, {name}", text)
        for path in files
        for name, text in riddles(path.read_text("utf-8"))
    ]
    assert not failures(wrong)


def test_every_public_object_begins_with_one_line():
    assert len(OBJECTS) > 200
    assert not failures(all_first_lines())


def test_what_is_described_is_a_parameter():
    assert not failures(all_parameters())


def test_every_layer_has_an_equation_and_an_example():
    assert not failures(all_layers())


def test_what_is_missing_is_noticed():
    text = inspect.cleandoc(
        """Sum.

        Parameters
        ----------
        a, b : float
            Two numbers.
        *rest : float
            More of them.

        Returns
        -------
        float
        """
    )
    assert section(text, "Returns") == "float"
    assert section(text, "Raises") == ""
    assert strangers(lambda a, b, *rest: None, text) == []
    assert strangers(lambda a, c: None, text) == ["b", "rest"]
    assert (
        first_line("A sentence\nand no blank line.")
        == "the first line is no sentence: 'A sentence'"
    )
    assert first_line("A sentence.\nNo blank line.") == "no blank line follows the first"
    assert first_line(None) == "no docstring"
    assert first_line("A sentence.") is None
