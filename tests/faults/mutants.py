"""A sample of changed lines of the package, each of which the tests should notice.

``sample.tsv`` holds mutants that were drawn, ``by_hand.tsv`` those that somebody wrote: the area,
the file where the line stood when it was drawn, the qualified name of its function or class, the
line, which of the equal lines of that function it is, and the line that stands there instead. The
place in the file is not kept, so that a mutant is found again after its function has moved, also
to another file.
"""

from __future__ import annotations

import ast
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from types import CodeType

import deepnlp

PACKAGE = Path(deepnlp.__file__).parent
SAMPLE = Path(__file__).with_name("sample.tsv")
BY_HAND = Path(__file__).with_name("by_hand.tsv")

#: By area, how many lines are drawn of which files.
AREAS: dict[str, tuple[int, tuple[str, ...]]] = {
    "losses": (60, ("layers/*loss*.py", "layers/negative_sampling.py", "layers/regular*.py")),
    "layers": (185, ("layer.py", "layers/*.py")),
    "optimizers": (95, ("optimizers/*.py",)),
    "views": (75, ("parameter.py", "views.py")),
    "trainer": (65, ("training/trainer.py", "training/s*.py", "training/resume.py")),
    "checkpoints": (45, ("checkpoint.py", "archives.py", "files.py", "training/*own*.py")),
    "kernels": (25, ("kernels/fast.py", "kernels/loops.py")),
    "arrays": (50, ("backend.py", "functions.py", "products.py", "initialisers.py")),
}
#: Functions that are drawn from more rarely: the loops over time.
RARELY = ("_forward", "_backward", "_forward_loop", "_backward_loop")

_PAIRS = "+ -, - +, * /, / *, // /, ** *, < <=, <= <, > >=, >= >, == !=, != ==, and or, or and"
EXCHANGED = dict(pair.split() for pair in _PAIRS.split(", "))
EXCHANGED |= {"is": "is not", "is not": "is", "in": "not in", "not in": "in"}
#: What is never changed: messages, imports, signatures, annotations.
LEFT_ALONE = (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.arguments, ast.AnnAssign)
SCOPES = (ast.FunctionDef, ast.ClassDef)
Change = tuple[int, int, int, str]  # line, columns from and to, what stands there instead


@dataclass(frozen=True)
class Mutant:
    """One line of a function, and the line that stands there instead, both without indentation."""

    area: str
    file: str
    function: str
    line: str
    occurrence: int
    changed: str

    def find(self, package: Package) -> tuple[str, int] | None:
        """The file and the number of the line; None if no function of the name has this line."""
        for file in [self.file, *package.files()]:
            lines = [k for k, name in enumerate(package.scopes(file)) if name == self.function]
            there = [k for k in lines if package.lines(file)[k].strip() == self.line]
            if self.occurrence < len(there):
                return file, there[self.occurrence]
        return None

    def text(self, package: Package) -> str:
        """The text of the file with the changed line."""
        file, number = self.find(package) or ("", 0)
        lines = list(package.lines(file))
        lines[number] = lines[number].replace(self.line, self.changed)
        return "\n".join(lines)


class Package:
    """The source of the package: lines, and the function or class that each stands in."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[list[str], list[str], set[str]]] = {}

    def files(self) -> list[str]:
        return sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))

    def lines(self, file: str) -> list[str]:
        return self._read(file)[0]

    def scopes(self, file: str) -> list[str]:
        return self._read(file)[1]

    def is_constant(self, file: str, line: int) -> bool:
        """Whether a line stands in no function: that of a constant of a module or a class."""
        return self.scopes(file)[line] not in self._read(file)[2]

    def _read(self, file: str) -> tuple[list[str], list[str], set[str]]:
        if file not in self._known:
            path = PACKAGE / file
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            scopes = [""] * (text.count("\n") + 1)
            nodes = [*functions(ast.parse(text))]
            for name, node in nodes:
                for line in range(node.lineno - 1, node.end_lineno or 0):
                    scopes[line] = name
            names = {name for name, node in nodes if isinstance(node, ast.FunctionDef)}
            self._known[file] = (text.split("\n"), scopes, names)
        return self._known[file]


def functions(
    node: ast.AST, prefix: str = ""
) -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    """Functions and classes with their qualified names, an outer one before the inner ones."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, SCOPES):
            yield prefix + child.name, child
            yield from functions(child, f"{prefix}{child.name}.")
        else:
            yield from functions(child, prefix)


def codes(code: CodeType) -> Iterator[CodeType]:
    """The code objects of a file, in their order."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def changes(node: ast.AST, source: list[str], inside: bool = False) -> Iterator[Change]:
    """All changes below a node; outside functions only of constants with a name."""
    if isinstance(node, LEFT_ALONE):
        return
    inside = inside or isinstance(node, ast.FunctionDef | ast.Assign)
    if inside and getattr(node, "lineno", 0) == getattr(node, "end_lineno", -1):
        yield from _changes_of(node, source[node.lineno - 1])
    for name, child in ast.iter_fields(node):
        if name not in ("decorator_list", "returns", "annotation"):
            for part in child if isinstance(child, list) else [child]:
                if isinstance(part, ast.AST):
                    yield from changes(part, source, inside)


def _changes_of(node: ast.AST, line: str) -> Iterator[Change]:
    """The changes of a node that stands in one line."""
    start, end, row = node.col_offset, node.end_col_offset, node.lineno
    match node:
        case ast.BinOp(left=a, right=b) | ast.Compare(left=a, comparators=[b]):
            yield from _exchanged(row, a.end_col_offset, b.col_offset, line)
        case ast.BoolOp(values=[a, b, *_]):
            yield from _exchanged(row, a.end_col_offset, b.col_offset, line)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield row, start, operand.col_offset, ""
        case ast.Constant(value=bool(value)):
            yield row, start, end, str(not value)
        case ast.Constant(value=int(value)):
            yield row, start, end, str(1 - value if value in (0, 1) else value + 1)
        case ast.Constant(value=float(value)):
            yield row, start, end, repr(value * 2 or 1.0)
        case ast.Attribute(attr="T", value=value):
            yield row, value.end_col_offset, end, ""
        case ast.AugAssign(target=target, value=value):
            yield from _exchanged(row, target.end_col_offset, value.col_offset, line)
            yield row, target.end_col_offset, value.col_offset, " = "
            yield row, start, end, "pass"
        case ast.Expr(value=ast.Call()) | ast.Assign(targets=[ast.Subscript()]):
            yield row, start, end, "pass"
        case ast.Call(args=[a, b, *_]) if not {type(a), type(b)} & {ast.Starred, ast.Constant}:
            yield row, a.col_offset, b.end_col_offset, _swapped(a, b, line)
        case ast.IfExp(test=test):
            yield row, test.col_offset, test.col_offset, "not "


def _exchanged(row: int, start: int, end: int, line: str) -> Iterator[Change]:
    """The operator between two columns exchanged."""
    text = line[start:end]
    old = text.strip(" ()") if text.strip(" ()") in EXCHANGED else text.strip(" ()=")
    if old in EXCHANGED:
        yield row, start, end, text.replace(old, EXCHANGED[old], 1)


def _swapped(a: ast.AST, b: ast.AST, line: str) -> str:
    first, second = line[a.col_offset : a.end_col_offset], line[b.col_offset : b.end_col_offset]
    return second + line[a.end_col_offset : b.col_offset] + first


def draw(seed: int) -> list[Mutant]:
    """A sample of lines, each with one change drawn for it."""
    rng, package, mutants, taken = random.Random(seed), Package(), [], set()
    for area, (count, patterns) in AREAS.items():
        files = sorted({path for pattern in patterns for path in PACKAGE.glob(pattern)} - taken)
        taken |= {*files}
        places = []
        for path in files:
            text = path.read_text(encoding="utf-8")
            lines, by_line = text.split("\n"), defaultdict(list)
            for row, start, end, new in changes(ast.parse(text), lines):
                if lines[row - 1].isascii():
                    by_line[row].append(lines[row - 1][:start] + new + lines[row - 1][end:])
            places += [(path, lines, row, sorted({*found})) for row, found in by_line.items()]
        drawn = []
        for path, lines, row, found in places:
            file = path.relative_to(PACKAGE).as_posix()
            name, line = package.scopes(file)[row - 1], lines[row - 1].strip()
            above = zip(package.scopes(file)[: row - 1], lines, strict=False)
            occurrence = sum(scope == name and text.strip() == line for scope, text in above)
            mutant = Mutant(area, file, name, line, occurrence, rng.choice(found).strip())
            drawn.append((rng.random() ** (4 if name.endswith(RARELY) else 1), mutant))
        drawn.sort(key=lambda pair: -pair[0])
        valid = (mutant for _, mutant in drawn if is_valid(mutant, package))
        mutants += [mutant for _, mutant in zip(range(count), valid, strict=False)]
    return mutants


def is_valid(mutant: Mutant, package: Package) -> bool:
    """Whether the changed file compiles to other code that can stand in the place of the old."""
    found = mutant.find(package)
    if found is None:
        return False
    try:
        new = ast.parse(text := mutant.text(package))
    except SyntaxError:
        return False
    old = "\n".join(package.lines(found[0]))
    pairs = [list(codes(compile(source, "file", "exec"))) for source in (old, text)]
    signatures = [[(c.co_name, c.co_freevars) for c in some] for some in pairs]
    return signatures[0] == signatures[1] and ast.dump(new) != ast.dump(ast.parse(old))


def read() -> list[Mutant]:
    """The sample, and the mutants that were written by hand."""
    text = SAMPLE.read_text(encoding="utf-8") + BY_HAND.read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines())
    return [Mutant(*row[:4], int(row[4]), row[5]) for row in rows]


def write(mutants: list[Mutant]) -> None:
    """Keep a sample."""
    rows = ["\t".join(map(str, astuple(mutant))) + "\n" for mutant in mutants]
    SAMPLE.write_text("".join(rows), encoding="utf-8")
