"""Finding and reading the files of a corpus: text, gzip read in place."""

import os
import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from deepnlp.datasets.manifest import set_with
from deepnlp.files.reading import decode, unpacked

MOST_TIMES = 100  # no text unpacks to more; about 3 times its size is usual
LEAST_BOUND = 1 << 26  # bytes that are read of any file
MOST_FILES = 200_000  # in a folder

NameOrPath = str | os.PathLike[str]
Folder = NameOrPath | None

#: By kind and name, the files in the data folder and how they are read.
SOURCES: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("sources.toml").read_text(encoding="utf-8")
)
SPLIT_WORDS: dict[str, list[str]] = SOURCES.pop("splits")  # in a file's name say which split it is


def data_folder(data: Folder = None) -> Path:
    """Return the folder that holds the data sets.

    Parameters
    ----------
    data : path, optional
        The folder; by default the environment variable ``DEEPNLP_DATA``, else ``datasets`` in the
        working directory.

    Returns
    -------
    Path
        The folder, which need not exist.

    Examples
    --------
    >>> data_folder("my-data").name
    'my-data'
    """
    return Path(data or os.environ.get("DEEPNLP_DATA") or "datasets")


def find_file(folder: Path, relative: str) -> Path:
    """Return the path of a file of a known data set, or of the same file with ``.gz`` added.

    >>> find_file(Path(__file__).parent, "files.py").name
    'files.py'
    """
    plain = folder / relative
    path = located(plain)
    if path is not None:
        return path
    known = set_with(relative)
    to = "" if folder == data_folder() else f" --to {shlex.quote(str(folder))}"
    get = f"`deepnlp data fetch {known.name}{to}` fetches it" if known else "put it there"
    raise FileNotFoundError(
        f"missing {plain.name}: expected {plain}, as it is or with .gz; {get}, or set DEEPNLP_DATA"
        f" to the folder that holds {plain.parent.name}/"
    )


def located(plain: Path) -> Path | None:
    """Return the file that is read in place of a path: itself, or packed with ``.gz`` added.

    >>> located(Path(__file__)).name
    'files.py'
    """
    paths = (plain, plain.with_name(plain.name + ".gz"))
    return next((path for path in paths if path.is_file()), None)


def files_of(
    name_or_path: NameOrPath, kind: str, what: str, data: Folder = None, ending: str | None = None
) -> tuple[str, dict[str, list[Path]]]:
    """Return the name and files, by split, of a known source of a kind, or of a path.

    With an ending also of several paths, with commas between, or of a folder. Where the names in a
    folder do not say which split they are, those with the ending stand under ``all``.
    """
    name, path, known = str(name_or_path), Path(name_or_path), SOURCES[kind]
    if name in known:
        folder, splits = data_folder(data), known[name]["files"].items()
        return name, {split: [find_file(folder, file) for file in files] for split, files in splits}
    if ending is not None and path.is_dir():
        return path.resolve().name, _files_in(path, ending)
    is_one = ending is None or path.exists()
    paths = [path_of(each, known, what) for each in ([name] if is_one else name.split(","))]
    return ",".join(path.name for path in paths), {"all": paths}


def _files_in(path: Path, ending: str) -> dict[str, list[Path]]:
    """Find files of a folder by split, or under ``all`` where their names do not say it."""
    paths = [*islice(path.rglob("*"), MOST_FILES + 1)]
    if len(paths) > MOST_FILES:
        limit = f"more than {MOST_FILES:,} files"
        raise ValueError(f"the folder {path} holds {limit}: name a smaller one")
    inside = {file: file.relative_to(path) for file in sorted(paths) if file.is_file()}
    files = [file for file, name in inside.items() if not any(p[0] == "." for p in name.parts)]
    # Where a file is there both packed and unpacked, the unpacked one is read.
    files = [f for f in files if not (f.suffix == ".gz" and f.with_suffix("") in inside)]

    def named(file: Path) -> list[str]:
        words = set(re.split("[^a-z]+", str(inside[file]).lower()))
        return [split for split, marks in SPLIT_WORDS.items() if words.intersection(marks)]

    splits = {split: [file for file in files if named(file) == [split]] for split in SPLIT_WORDS}
    missing = [split for split in splits if not splits[split]]
    if not missing:
        return splits
    if len(missing) < len(splits):
        raise ValueError(
            f"the folder {path} has no file for {' and '.join(missing)}: name all splits, or none"
        )
    texts = [file for file in files if file.name.endswith((ending, f"{ending}.gz"))]
    if not texts:
        raise FileNotFoundError(f"the folder {path} holds no {ending} file: expected text in it")
    return {"all": texts}


def path_of(name_or_path: NameOrPath, known: Iterable[str], what: str) -> Path:
    """Return the file that a path names, or raise an error that lists the known names.

    >>> path_of("nothing", ["simlex"], "similarity set")
    Traceback (most recent call last):
        ...
    ValueError: unknown similarity set 'nothing': expected simlex or a path
    """
    path = Path(name_or_path)
    if path.is_file():
        return path
    if path.exists():
        raise ValueError(f"{path} is no regular file: check the path of the {what}")
    if len(path.parts) > 1 or path.suffix:
        raise FileNotFoundError(f"no file or folder {path}: check the path of the {what}")
    raise ValueError(f"unknown {what} {str(path)!r}: expected {', '.join(known)} or a path")


def read_text(path: Path, encoding: str | None = None, keep_returns: bool = False) -> str:
    r"""Read the text of a file by :func:`decode`, unpacked where its name ends in ``.gz``.

    >>> "def read_text" in read_text(Path(__file__))
    True
    """
    most = max(LEAST_BOUND, MOST_TIMES * path.stat().st_size) if path.suffix == ".gz" else -1
    with unpacked(path) as file:
        content = file.read(most)
        if len(content) == most:
            raise ValueError(
                f"{path} unpacks to more than {MOST_TIMES} times its size, which no text does"
            )
    if not content.strip():
        raise ValueError(f"{path} is empty: expected UTF-8 text")
    return decode(content, str(path), encoding, keep_returns)


def lines_of(text: str) -> list[str]:
    r"""Return lines of a text, blank ones included.

    Only a line feed ends a line: :meth:`str.splitlines` would also cut at characters that corpora
    have inside their lines, such as U+2028.

    >>> lines_of("a\n\nb\n")
    ['a', '', 'b']
    """
    return text.removesuffix("\n").split("\n")


def numbered_lines(path: Path, encoding: str | None = None) -> Iterator[tuple[int, str]]:
    """Return lines of a text file with their numbers, from 1; blank ones at its end are none.

    >>> next(numbered_lines(Path(__file__)))[0]
    1
    """
    return iter(enumerate(lines_of(read_text(path, encoding).rstrip()), start=1))
