"""The sources of functions."""

import ast
import copy
import linecache
import sysconfig
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import numpy

from deepnlp.gradcheck.places import is_of_the_package, tree_of_file

_LIBRARIES = (sysconfig.get_path("stdlib"), str(Path(numpy.__file__).parent))


def is_foreign(code: CodeType) -> bool:
    """Return whether a code is not the learner's, but of a library or of this package."""
    return _is_foreign(code.co_filename)


@cache
def _is_foreign(file: str) -> bool:
    if file.startswith("<"):  # a cell of a notebook has lines
        return not linecache.getlines(file)
    return file.startswith(_LIBRARIES) or "site-packages" in file or is_of_the_package(file)


def tree_of(code: CodeType) -> Any:
    """The source of a function, as a tree of its own; None if it is not known.

    A lambda is written as a function that returns its value.
    """
    tree = copy.deepcopy(source_of_function(code))
    if isinstance(tree, ast.Lambda):
        returned = ast.copy_location(ast.Return(tree.body), tree.body)
        whole = ast.FunctionDef("<lambda>", tree.args, [returned], [])
        return ast.fix_missing_locations(ast.copy_location(whole, tree))
    return tree


@cache
def source_of_function(code: CodeType) -> ast.FunctionDef | ast.Lambda | None:
    """The function of a code object in its file."""
    found: list[ast.FunctionDef | ast.Lambda] = []
    for node in ast.walk(tree_of_file(code.co_filename)):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            if (getattr(node, "name", "<lambda>"), first) == (code.co_name, code.co_firstlineno):
                found.append(node)
    if len(found) > 1:  # lambdas in one line
        places = set(code.co_positions())
        found = [one for one in found if _place_of(one.body) in places]
    return found[0] if len(found) == 1 else None


def _place_of(node: Any) -> tuple[int, int, int, int]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
