"""Texts in the columns of a table: CSV, TSV, or a JSON object on each line."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from deepnlp.datasets.files import numbered_lines, read_text
from deepnlp.files.reading import NO_TEXT

JSON, TABLES = (".jsonl", ".ndjson"), (".csv", ".tsv", ".jsonl", ".ndjson")

csv.field_size_limit((1 << 31) - 1)  # a cell may hold a book


def is_table(path: Path, kinds: Sequence[str] = TABLES) -> bool:
    """Return whether the name of a file says that it is a table.

    >>> is_table(Path("letters.csv.gz")), is_table(Path("letters.txt"))
    (True, False)
    """
    return path.name.lower().removesuffix(".gz").endswith(tuple(kinds))


def text_in(
    paths: Iterable[Path],
    column: str | None = None,
    encoding: str | None = None,
    keep_returns: bool = False,
) -> str:
    """Return the lines of files in a row, each with its end; of a table those of one column."""
    texts = []
    for path in paths:
        if is_table(path):
            texts += [text for _, (text,) in rows(path, column, ("text",), encoding)]
        elif column:
            raise ValueError(f"{path} is no table: column goes with {', '.join(TABLES)}")
        else:
            texts.append(read_text(path, encoding, keep_returns))
    return "".join(text.removesuffix("\n") + "\n" for text in texts)


def rows(
    path: Path, columns: str | None, sides: Sequence[str], encoding: str | None = None
) -> Iterator[tuple[int, list[str]]]:
    """Return the number and the wanted columns of each row of a table.

    Columns have the names of the first row, or of the keys in JSON, with commas between; or they
    are numbers from 1, where the first row is no heading. ``sides`` is what they should hold.
    """
    wanted = columns.split(",") if columns else []
    headless = bool(wanted) and all(map(str.isdigit, wanted))
    for number, record in _records(path, encoding, headless):
        lacking = [f" and no {name!r} in line {number}" for name in wanted if name not in record]
        if len(wanted) != len(sides) or lacking:
            names, need = [*map(str, record)], " and ".join(sides)
            raise ValueError(
                f"{path} has the columns {', '.join(names)}{''.join(lacking[:1])}: say with "
                f"--column what holds the {need}, such as --column {','.join(names[-len(sides) :])}"
            )
        texts = [record[name] for name in wanted]
        if not all(isinstance(text, str) and not NO_TEXT.search(text) for text in texts):
            raise ValueError(f"{path}, line {number}: expected texts in {columns}, got {texts}")
        yield number, texts


def _records(
    path: Path, encoding: str | None, headless: bool
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Return each row by the names of its columns; of one without a heading by their numbers."""
    if is_table(path, JSON):
        for number, line in numbered_lines(path, encoding):
            if not line.strip():
                continue
            try:
                yield number, dict(json.loads(line))
            except (ValueError, TypeError, RecursionError):
                raise ValueError(f"{path}, line {number}: expected a JSON object") from None
        return
    text = read_text(path, encoding)
    first = re.sub('"[^"]*"', "", text.partition("\n")[0])  # without what stands in quotes
    mark = max("\t;,", key=first.count)
    names = [str(k + 1) for k in range(first.count(mark) + 1)] if headless else None
    form: dict[str, Any] = {"delimiter": mark, "strict": True, "skipinitialspace": True}
    reader = csv.DictReader(io.StringIO(text), names, **form)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: {error}") from None
