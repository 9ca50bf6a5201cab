"""A user's class or functions from a file, a package or a notebook."""

import ast
import contextlib
import importlib
import importlib.util
import inspect
import linecache
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from deepnlp.errors import DeepNLPError
from deepnlp.gradcheck.cells import cells_of, text_of
from deepnlp.gradcheck.translating import names_of

Own = Any
"""A class with a forward, a function, or a pair of functions."""


def load_own(target: str) -> Own:
    """Load the object of ``FILE.py:NAME`` or ``FILE.ipynb:NAME``, or a file's only class or pair.

    A name may be that of a class, of a function, of two functions ``affine_forward`` and
    ``affine_backward`` with or without their ending, or of two functions with a comma between them.
    A file of lines without classes and functions is given back as its path.
    """
    path, _, name = target.rpartition(":") if target.count(":") else (target, "", "")
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"no file {path}: expected a target such as mylayer.py:MyLayer")
    if not name and _is_flat(file):
        return file
    module = _module(file)
    defined = {
        key: value
        for key, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__ and callable(value)
    }
    first, comma, second = (part.strip() for part in name.partition(","))
    if comma and callable(defined.get(first)) and callable(defined.get(second)):
        return defined[first], defined[second]
    found: dict[str, Own] = {
        key: value
        for key, value in defined.items()
        if inspect.isclass(value)
        and any(name in vars(k) for k in value.__mro__ for name in ("forward", "loss", "__call__"))
    }
    for key, value in defined.items():
        for other in {key.replace("forward", "backward"), f"{key}_backward"} - {key}:
            if other in defined:
                found[key.replace("_forward", "")] = (value, defined[other])
    alike = name.replace("_forward", "").replace("_backward", "")
    if name in found or alike in found:
        return found.get(name, found.get(alike))
    if inspect.isfunction(defined.get(name)):
        return defined[name]
    if not name and len(found) == 1:
        return next(iter(found.values()))
    known = ", ".join(found) or "none"
    raise ValueError(
        f"{path} has no class {name!r} with forward and backward, and no functions {name}_forward "
        f"and {name}_backward; it has: {known}"
    )


@contextmanager
def failures_in_one_line(own: Own) -> Iterator[None]:
    """Context that turns an error in a user's code into a ValueError with its file and line."""
    kind = own[0] if isinstance(own, tuple) else own
    try:
        yield
    except (Exception, SystemExit) as error:
        file = str(own) if isinstance(own, Path) else inspect.getfile(kind)
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == file]
        if not lines and isinstance(error, ValueError | TypeError | DeepNLPError):
            raise
        place = f"{file}, line {lines[-1]}" if lines else file
        told = f"{type(error).__name__}: {error}"
        name = getattr(kind, "__name__", "it")
        raise ValueError(f"{place}: {name} raised {told}") from error


def in_python(own: Own) -> str:
    """The lines of Python that check the same, for arguments that only Python can give."""
    pair = own if isinstance(own, tuple) else (own,)
    names = [one.__name__ for one in pair]
    forward: Any = getattr(pair[0], "forward", pair[0])
    given = [n for n in inspect.signature(forward).parameters if n not in ("self", "ctx")]
    made = f"({', '.join(names)})" if len(names) > 1 else names[0]
    is_made = inspect.isclass(own) and "self" in inspect.signature(forward).parameters
    called = f"{names[0]}({', '.join(given)})"
    if is_made:
        taken = [n for n, p in inspect.signature(own).parameters.items() if p.default is p.empty]
        called = f"{names[0]}({', '.join(taken)}).forward({', '.join(given)})"
    return (
        f'say the whole call: --call "{called}",\n'
        "  with np.random.randn(3, 4) and the like for names that the file does not have\n"
        f"or check it in Python, with {', '.join(given)} of yours:\n"
        "  from deepnlp.gradcheck import check_gradients\n"
        f"  from {pair[0].__module__.removeprefix('own_')} import {', '.join(names)}\n"
        f"  print(check_gradients({', '.join([made + ('(...)' if is_made else ''), *given])}))"
    )


def _is_flat(file: Path) -> bool:
    """Return whether a file has lines that compute and defines no layer."""
    with contextlib.suppress(SyntaxError, UnicodeDecodeError):
        nodes = ast.parse(text_of(file)).body
        named = [n.name for n in nodes if isinstance(n, ast.ClassDef | ast.FunctionDef)]
        own = [one.name for n in nodes for one in ast.walk(n) if isinstance(one, ast.FunctionDef)]
        return bool(nodes) and not any("backward" in name for name in named + own)
    return False


def _module(file: Path) -> ModuleType:
    """The module in a file, as if it were imported in its folder, or in its package."""
    folder = file.resolve().parent
    name, parts = f"own_{file.stem}", [file.stem]
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    sys.path[:0] = [one for one in (str(folder), str(Path.cwd())) if one not in sys.path]
    try:
        if len(parts) > 1:
            return importlib.import_module(".".join(parts))
        module = ModuleType(name)
        module.__file__ = str(file)
        sys.modules[name] = module
        if file.suffix == ".ipynb":
            _run_cells(file, module)
        else:
            _run_file(file, module)
        return module
    except (Exception, SystemExit) as error:
        told = f"{file} cannot be loaded: {type(error).__name__}: {error}"
        raise ValueError(told) from error


_PLOTS = re.compile(r"matplotlib|pylab|seaborn|plotly|IPython|ipywidgets|tqdm")
#: What runs of a notebook: no training, and no plots.
DEFINED = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)


def statements_of(text: str, title: str) -> list[ast.stmt]:
    """The statements of a text, whose lines tracebacks find under its title."""
    lines = text.splitlines(True)
    linecache.cache[title] = (len(lines), None, lines, title)
    return ast.parse(text, title).body


def run_statement(node: ast.stmt, title: str, module: ModuleType) -> None:
    """Run a statement in a module."""
    exec(compile(ast.Module([node], []), title, "exec"), vars(module))


def _run_file(file: Path, module: ModuleType) -> None:
    """Run a file; where a plot, a print or a test fails in it, what it defines nevertheless."""
    source = text_of(file)
    names = dict(vars(module))
    try:
        exec(compile(source, str(file), "exec"), vars(module))
    except Exception:
        vars(module).clear()
        vars(module).update(names)
        for node in statements_of(source, str(file)):
            is_plot = isinstance(node, ast.Import | ast.ImportFrom) and _PLOTS.search(
                ast.unparse(node)
            )
            is_needed = isinstance(node, DEFINED) and not is_plot
            with contextlib.nullcontext() if is_needed else contextlib.suppress(Exception):
                run_statement(node, str(file), module)


def _run_cells(file: Path, module: ModuleType) -> None:
    """The definitions and imports in a notebook, as far as they run, and no training."""
    for number, text in enumerate(cells_of(file.read_text("utf-8"))):
        title = f"{file}:cell {number}"
        with contextlib.suppress(SyntaxError):
            for node in statements_of(text, title):
                if isinstance(node, DEFINED):
                    with contextlib.suppress(Exception):
                        run_statement(node, title, module)


def call_of(own: Own, call: str, names: dict[str, Any]) -> tuple[Own, list[Any], dict[str, Any]]:
    """Return the target and the arguments of a call such as ``"layer(x, {'mode': 'train'})"``.

    The names in it come from ``names`` or from the user's file, run as a program as far as needed.
    """
    module = _module_of(own)
    space = {**vars(module), **names}
    program = _program(module)
    try:
        node: Any = ast.parse(call, mode="eval").body
        assigned = {name for one in program for name in names_of(one)[1]}
        wanted = (names_of(node)[0] & assigned) - set(space)
        for one in program if wanted else ():
            if isinstance(one, DEFINED) or "seed(" in ast.unparse(one):
                exec(compile(ast.Module([one], []), str(module.__file__), "exec"), space)
            if wanted <= set(space):
                break
        space |= names
        function, node.func = node.func, ast.Name("_arguments", ast.Load())
        space["_arguments"] = lambda *positional, **named: ([*positional], named)
        positional, named = eval(compile(_expression(node), "--call", "eval"), space)
        is_method = isinstance(function, ast.Attribute)
        if is_method or isinstance(function, ast.Call) or _is_object(space, function, own):
            owner = function.value if is_method else function
            made = eval(compile(_expression(owner), "--call", "eval"), space)
            has_context = made is own and is_method and function.attr == "forward"
            return made, positional[has_context:], named
        return own, positional, named
    except (SyntaxError, AttributeError, NameError) as error:
        raise ValueError(
            f"--call should read like 'my_layer(x, w)', got {call!r}: {error}"
        ) from error


def _expression(node: Any) -> ast.Expression:
    return ast.fix_missing_locations(ast.Expression(node))


def _is_object(space: dict[str, Any], function: Any, own: Own) -> bool:
    """Return whether a name is that of an object of a class, which is called."""
    return inspect.isclass(own) and isinstance(space.get(ast.unparse(function)), own)


def own_call(own: Own) -> str | None:
    """The first call of its forward in the user's own program, such as ``"layer.forward(x)"``."""
    kind = own[0] if isinstance(own, tuple) else own
    nodes = [node for one in _program(_module_of(own)) for node in ast.walk(one)]
    objects = {kind.__name__}
    if inspect.isclass(kind):  # whoever made them
        objects |= {n for n, one in vars(_module_of(own)).items() if isinstance(one, kind)}
    for node in nodes:
        if isinstance(node, ast.Assign) and _called(node.value) == kind.__name__:
            objects |= {ast.unparse(target) for target in node.targets}
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        owner = function = node.func
        is_made = _called(node) == kind.__name__
        if isinstance(function, ast.Attribute):
            owner = function.value if function.attr in ("forward", "loss", "apply") else function
        is_run = not is_made and (_called(owner) or ast.unparse(owner)) in objects
        if is_run or (is_made and not inspect.isclass(kind)):  # of residual(layer)(x) all
            return ast.unparse(node)
    return None


def _called(node: ast.AST) -> str:
    """The name of the function that an expression calls; empty for other expressions."""
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def _module_of(own: Own) -> ModuleType:
    return sys.modules[(own[0] if isinstance(own, tuple) else own).__module__]


def _program(module: ModuleType) -> list[ast.stmt]:
    """Return what a file runs: the lines of its ``__main__`` block, then the others."""
    body = ast.parse(text_of(Path(str(module.__file__)))).body
    functions = {node.name: node.body for node in body if isinstance(node, ast.FunctionDef)}
    main, others = list[ast.stmt](), list[ast.stmt]()
    for node in body:
        if isinstance(node, ast.If) and "__main__" in ast.unparse(node.test):
            for one in node.body:  # the block may call main()
                inner = functions.get(_called(one.value)) if isinstance(one, ast.Expr) else None
                main += inner or [one]
        elif not isinstance(node, ast.FunctionDef | ast.ClassDef):
            others.append(node)
    return main + others
