"""The house is built from the ground up: no file imports from a floor above its own."""

import ast
import functools
import graphlib
from pathlib import Path

import deepnlp

PACKAGE = Path(deepnlp.__file__).parent
ROOT = PACKAGE.parent

OUTSIDE = ("tests", "benchmarks", "studies", "chapters", "notebooks")

FLOORS = [
    {"errors.py", "options.py", "files/", "backend/"},
    {"parameter.py", "summaries.py", "views.py", "kernels/"},
    {"layer.py"},
    {"layers/"},
    {"optimizers/", "gradcheck/", "diagnosis/", "gradflow/", "text/", "vectors/", "datasets/"},
    {"models/"},
    {"__init__.py", "checkpoint.py", "evaluation/", "generation/", "plots/", "tasks/"},
    {"training/", "exchange/"},
    {"checkup/", "demos/", "examples/", "grading/", "lessons/", "reports/", "testing.py"},
    {"cli/", "__main__.py"},
]
"""The table of docs/design.md."""

FILES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def floor_of(file: str) -> int:
    """Number of the floor on which a file of the package lives."""
    entry = file.split("/")[0] + "/" if "/" in file else file
    floors = [number for number, entries in enumerate(FLOORS) if entry in entries]
    assert floors, f"{file} has no floor: give it one in docs/design.md and here"
    return floors[0]


def file_of(module: str) -> str | None:
    """The file of a module of the package, None if there is no such module."""
    base = PACKAGE.joinpath(*module.split(".")[1:])
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path.relative_to(PACKAGE).as_posix()
    return None


def named_modules(call: ast.Call) -> set[str]:
    """Modules that `import_module("a.b")` names; for `import_module(f"a.{b}")` all of a folder."""
    name = call.args[0]
    if isinstance(name, ast.Constant):
        return {name.value}
    if not isinstance(name, ast.JoinedStr) or not isinstance(name.values[0], ast.Constant):
        return (
            set()
        )  # what a user names, what a checkout holds, and the names of deepnlp/__init__.py
    start = name.values[0].value.rpartition(".")[0]
    folder = PACKAGE.joinpath(*start.split(".")[1:])
    return {
        f"{start}.{path.stem}"
        for path in folder.glob("*.py")
        if path.stem not in ("__init__", "main")
    }


@functools.cache
def imported_modules(source: str) -> set[str]:
    """Modules that a source imports, wherever in the text, by a statement or by a string."""
    modules = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            modules |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            modules |= named_modules(node)
    return modules


@functools.cache
def imported_files(source: str) -> set[str]:
    """Files of the package that a source imports."""
    files = set()
    for module in imported_modules(source):
        if module.split(".")[0] == "deepnlp":
            files.add(file_of(module) or file_of(module.rpartition(".")[0]) or module)
    return files


def imports_of(file: str) -> set[str]:
    files = imported_files((PACKAGE / file).read_text(encoding="utf-8"))
    if file == "__init__.py":  # what it imports when a name of it is first used
        files = files | {file_of(module) for module in deepnlp._HOMES.values()}
    return files


def test_no_import_goes_up():
    up = {
        file: sorted(name for name in imports_of(file) if floor_of(name) > floor_of(file))
        for file in FILES
    }
    assert not {file: names for file, names in up.items() if names}


def test_imports_run_one_way_within_a_floor():
    graph = {file: imports_of(file) - {file} for file in FILES}
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError with the circle


def test_nobody_imports_what_stands_outside():
    for file in FILES:
        modules = imported_modules((PACKAGE / file).read_text(encoding="utf-8"))
        assert not {m.split(".")[0] for m in modules} & {*OUTSIDE}, file


def test_the_table_is_that_of_the_design():
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:3] for line in text.splitlines() if line.startswith("| ")]
    rows = [(int(floor), files) for floor, files in rows if floor.strip().isdigit()]
    for number, entries in enumerate(FLOORS):
        for entry in entries - {"__init__.py"}:
            assert any(floor == number and f"`{entry}`" in files for floor, files in rows), entry


def test_the_reader_of_imports():
    for source, files in {
        "import deepnlp.backend": {"backend/__init__.py"},
        "from deepnlp.backend import xp": {"backend/__init__.py"},
        "from deepnlp import backend, no_backward": {"backend/__init__.py", "__init__.py"},
        "def f():\n    from deepnlp.layers import TimeLSTM": {"layers/__init__.py"},
        "from deepnlp.layers.dense import Affine": {"layers/dense.py"},
        "import numpy.linalg": set(),
        'import_module("deepnlp.layers.dense")': {"layers/dense.py"},
        'import_module(f"deepnlp.files.{name}")': {
            f"files/{name}.py" for name in ("archives", "reading", "tables", "writing")
        },
    }.items():
        assert imported_files(source) == files
