"""What the package asks of `xp` exists in CuPy, and nothing goes around `xp`."""

import ast
import inspect
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
        "functions.py",
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
    tree = ast.parse(source)
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names = {
        (name, frozenset())
        for node in ast.walk(tree)
        if id(node) not in inner and (name := dotted(node))
    }
    return names | {
        (name, frozenset(keyword.arg for keyword in node.keywords if keyword.arg))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and (name := dotted(node.func))
    }


def private(name: str) -> bool:
    """Names of our own switch, such as `xp._module`."""
    return name.startswith("_")


USES = sorted(
    {
        (name, tuple(sorted(keywords)))
        for source in SOURCES.values()
        for name, keywords in names_of_xp(source)
        if not private(name)
    }
)


def test_the_reader_finds_names_and_keywords():
    source = "xp.add.at(a, i, b)\ny = xp.sum(x, axis=0, keepdims=True)\nf = xp.tanh\nnp.sin(x)"
    assert names_of_xp(source) == {
        ("add.at", frozenset()),
        ("sum", frozenset()),
        ("sum", frozenset({"axis", "keepdims"})),
        ("tanh", frozenset()),
    }
    assert len(USES) > 20


@pytest.mark.parametrize(("name", "keywords"), USES, ids=str)
def test_cupy_has_the_name_and_takes_the_keywords(name, keywords):
    cupy = pytest.importorskip("cupy")
    found = cupy
    for part in name.split("."):
        assert hasattr(found, part), f"cupy has no {name}"
        found = getattr(found, part)
    if not keywords:
        return
    if isinstance(found, cupy.ufunc):
        assert set(keywords) <= UFUNC_KEYWORDS
        return
    parameters = inspect.signature(found).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    assert takes_any or set(keywords) <= set(parameters)


@pytest.mark.parametrize("file", SOURCES)
def test_only_the_backend_imports_cupy(file):
    roots = {module.split(".")[0] for module in imported_modules(SOURCES[file])}
    assert file == "backend/arrays.py" or not roots & {"cupy", "cupyx"}


@pytest.mark.parametrize("file", ON_THE_DEVICE)
def test_what_computes_on_the_device_does_not_know_numpy(file):
    roots = {module.split(".")[0] for module in imported_modules(SOURCES[file])}
    assert "numpy" not in roots


def test_the_list_of_device_files_is_not_empty():
    assert {
        "layers/lstm.py",
        "kernels/fast.py",
        "optimizers/clipping.py",
        "models/rnnlm.py",
    } <= set(ON_THE_DEVICE)
