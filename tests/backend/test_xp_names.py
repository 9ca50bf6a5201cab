"""What the package asks of `xp` exists in CuPy, and nothing goes around `xp`."""

import ast
import inspect
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

import deepnlp
from tests.test_architecture import imported_modules

PACKAGE = Path(deepnlp.__file__).parent
SOURCES = {
    path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(PACKAGE.rglob("*.py"))
}

ON_THE_DEVICE = [
    file
    for file in SOURCES
    if file.startswith(("layers/", "optimizers/"))
    or file
    in (
        "kernels/__init__.py",
        "kernels/fast.py",
        "backend/functions.py",
        "backend/products.py",
        "parameter.py",
        "layer.py",
        "models/rnnlm.py",
        "models/simple_rnnlm.py",
        "models/word2vec.py",
    )
]
"""Files that compute on whatever backend is in use: they may not know NumPy."""

UFUNC_KEYWORDS = {"out", "dtype", "casting"}


def dotted(node: ast.AST) -> str | None:
    """`add.at` for the expression `xp.add.at`; None if it does not begin with `xp`."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    is_xp = isinstance(node, ast.Name) and node.id == "xp"
    return ".".join(reversed(names)) if is_xp and names else None


def names_of_xp(source: str) -> set[tuple[str, frozenset[str]]]:
    """Every name of `xp` in a source, with the keywords that a call of it uses."""
    nodes = [*ast.walk(ast.parse(source))] if "xp." in source else []
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    inner = {id(node.value) for node in attributes}
    names = {
        (name, frozenset())
        for node in attributes
        if id(node) not in inner and (name := dotted(node))
    }
    return names | {
        (name, frozenset(keyword.arg for keyword in node.keywords if keyword.arg))
        for node in nodes
        if isinstance(node, ast.Call) and (name := dotted(node.func))
    }


def private(name: str) -> bool:
    """Names of our own switch, such as `xp._module`."""
    return name.startswith("_")


@cache
def uses() -> list[tuple[str, tuple[str, ...]]]:
    """What the package asks of `xp`: names, and the keywords of their calls."""
    asked = {use for source in SOURCES.values() for use in names_of_xp(source)}
    return sorted((name, tuple(sorted(keywords))) for name, keywords in asked if not private(name))


def test_the_reader_finds_names_and_keywords():
    source = "xp.add.at(a, i, b)\ny = xp.sum(x, axis=0, keepdims=True)\nf = xp.tanh\nnp.sin(x)"
    assert names_of_xp(source) == {
        ("add.at", frozenset()),
        ("sum", frozenset()),
        ("sum", frozenset({"axis", "keepdims"})),
        ("tanh", frozenset()),
    }
    assert len(uses()) > 20


def test_cupy_has_the_names_and_takes_the_keywords():
    cupy = pytest.importorskip("cupy")

    def takes(name: str, keywords: tuple[str, ...]) -> bool:
        here = cupy
        for part in name.split("."):
            here = getattr(here, part, None)
        if isinstance(here, cupy.ufunc):
            return set(keywords) <= UFUNC_KEYWORDS
        if here is None or not keywords:
            return here is not None
        parameters = inspect.signature(here).parameters
        takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        return takes_any or set(keywords) <= set(parameters)

    assert takes("add.at", ())
    assert not takes("no_such_name", ())
    assert not takes("zeros", ("no_such_keyword",))
    assert [use for use in uses() if not takes(*use)] == []


def importing(files: Iterable[str], *packages: str) -> list[str]:
    """Those of the files that import one of these packages."""

    def roots(file: str) -> set[str]:
        return {module.split(".")[0] for module in imported_modules(SOURCES[file])}

    return [file for file in files if roots(file) & {*packages}]


def test_only_the_backend_imports_cupy():
    assert importing(SOURCES, "cupy", "cupyx") == ["backend/arrays.py"]


def test_what_computes_on_the_device_does_not_know_numpy():
    assert importing(ON_THE_DEVICE, "numpy") == []
    assert importing(SOURCES, "numpy") != []


def test_the_list_of_device_files_is_not_empty():
    assert {
        "layers/lstm.py",
        "kernels/fast.py",
        "optimizers/clipping.py",
        "models/rnnlm.py",
    } <= set(ON_THE_DEVICE)
