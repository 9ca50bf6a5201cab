"""The base of tables of results and searches: their declarations in TOML files."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from deepnlp.files.reading import read_toml
from deepnlp.training import TrainConfig

STUDIES = Path(__file__).parent
PAGES = read_toml(STUDIES / "pages.toml")
FOLDERS = {"table": STUDIES / "tables", "search": STUDIES / "searches"}
Declared = TypeVar("Declared")


@dataclass(frozen=True)
class Column:
    """A column: its heading, and a text with figures in braces, such as ``{perplexity.test:.1f}``.

    A figure is the path of a number in ``result.json``; ``config.NAME`` is an option of the run and
    ``row.NAME`` a key of the row in the TOML file, such as ``published``. ``{a - b:+.1f}`` is a
    difference; ``before.perplexity.test`` is a figure of the row that this one comes after. Where
    runs with different seeds differ, their mean and spread are shown.
    """

    heading: str
    text: str
    align: str = "right"


@dataclass(frozen=True, kw_only=True)
class Study:
    """A plan of runs and what its page says; a subclass says which runs."""

    kind: ClassVar[str]
    stops_at_failure: ClassVar[bool]  # as the runs are alike

    name: str
    title: str = ""
    text: str = ""
    notes: str = ""

    @property
    def words(self) -> Mapping[str, str]:
        """The words of pages and messages for the parts of a study of this kind."""
        words: dict[str, str] = PAGES[self.kind]["words"]
        return words

    @property
    def folder(self) -> str:
        """The name of the folder with its logs, and of its page."""
        return self.name

    @property
    def run_names(self) -> Sequence[str]:
        """The names of the folders of its runs."""
        raise NotImplementedError

    def changes(self, name: str, config: TrainConfig) -> list[str]:
        """The options of a run that are not those of the study, each as a text."""
        raise NotImplementedError

    def needs(self, name: str) -> Sequence[str]:
        """The runs whose folders a run reads."""
        return ()


def differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Describe what has changed, each change as a text; of another task only that."""
    names = ["task"] if then["task"] != now["task"] else {**then, **now}
    return [
        f"{name} was {then.get(name)!r}, is {now.get(name)!r}"
        for name in names
        if then.get(name) != now.get(name)
    ]


def declared_names(kind: str) -> list[str]:
    """Names of the tables, or of the searches, that come with deepnlp.

    >>> declared_names("search")
    ['dropout-200', 'pydocs-small']
    """
    return sorted(path.stem for path in FOLDERS[kind].glob("*.toml"))


def _read(kind: str, name: str) -> tuple[str, dict[str, Any]]:
    """The file of a name, or of a path that ends in .toml, and its content."""
    if name.endswith(".toml"):
        return name, read_toml(name)
    if name not in declared_names(kind):
        raise ValueError(
            f"unknown {kind} {name!r}: expected one of {', '.join(declared_names(kind))}, or the "
            "path of a .toml file"
        )
    return _read(kind, str(FOLDERS[kind] / f"{name}.toml"))


def load_declared(
    kind: str, name: str, build: Callable[[str, Mapping[str, Any]], Declared]
) -> Declared:
    """Build a declaration by ``build``; its errors name the file."""
    path, content = _read(kind, name)
    try:
        if "like" in content:  # another declaration, of which this one changes a part
            _, other = _read(kind, content.pop("like"))
            options = {**other.get("options", {}), **content.get("options", {})}
            content = {**other, **content, "options": options}
        return build(Path(path).stem, content)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


def check_keys(part: Mapping[str, Any], known: Collection[str], what: str) -> None:
    """An error that names a key of a TOML table which is not known."""
    for key in part:
        if key not in known:
            raise ValueError(f"{what} has no {key!r}: expected {', '.join(sorted(known))}")


def build_part(kind: Callable[..., Declared], part: Mapping[str, Any], what: str) -> Declared:
    """A dataclass from a TOML table, or an error that names the wrong or missing key."""
    check_keys(part, {field.name for field in fields(kind)}, what)  # type: ignore[arg-type]
    try:
        return kind(**part)
    except TypeError as error:
        raise ValueError(f"{what}: {str(error).replace('__init__() ', '')}") from error
