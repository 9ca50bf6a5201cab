"""Code lines by room: without docstrings, comments and blank lines.

python -m benchmarks.lines                          the package
python -m benchmarks.lines --before ../old-checkout   beside another checkout
"""

import argparse
import ast
from collections import Counter
from pathlib import Path

from deepnlp.files.tables import table

ROOT = Path(__file__).parents[1]


def code_lines(source: str) -> int:
    r"""How many lines of a source hold code.

    >>> code_lines("'''A module.'''\n\nx = 1  # one\n# two\n")
    1
    """
    docstrings = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            first = node.body[0]
            docstrings |= {*range(first.lineno, (first.end_lineno or first.lineno) + 1)}
    lines = enumerate(map(str.strip, source.splitlines()), start=1)
    return sum(bool(line) and not line.startswith("#") and n not in docstrings for n, line in lines)


def by_room(folder: Path) -> Counter[str]:
    """Code lines of the rooms and loose files of a folder."""
    counts: Counter[str] = Counter()
    for path in folder.rglob("*.py"):
        first, *others = path.relative_to(folder).parts
        counts[f"{first}/" if others else first] += code_lines(path.read_text(encoding="utf-8"))
    return counts


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", nargs="?", default="deepnlp", help="deepnlp, tests or another")
    parser.add_argument("--before", metavar="DIR", help="a checkout to compare with")
    arguments = parser.parse_args()
    now = by_room(ROOT / arguments.folder)
    columns = {"now": now}
    if arguments.before:
        columns = {"before": by_room(Path(arguments.before) / arguments.folder), "now": now}
    rooms = sorted({room for counts in columns.values() for room in counts}, key=lambda r: -now[r])
    rows = [[room, *(f"{counts[room]:,}" for counts in columns.values())] for room in rooms]
    checker = ("gradcheck/", "diagnosis/")
    sums = {
        "all": [sum(counts.values()) for counts in columns.values()],
        "gradcheck/ and diagnosis/": [sum(c[room] for room in checker) for c in columns.values()],
    }
    sums["without these"] = [a - b for a, b in zip(*sums.values(), strict=True)]
    rows += [[name, *(f"{count:,}" for count in counts)] for name, counts in sums.items()]
    print(table(["room", *(f">{name}" for name in columns)], rows))


if __name__ == "__main__":
    main()
