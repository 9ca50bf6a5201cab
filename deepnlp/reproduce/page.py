"""The page of a table, from its declaration and the committed logs alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deepnlp.files.writing import replacing
from deepnlp.reproduce.found import NO_VALUE, NOT_RUN, Found, found_in
from deepnlp.reproduce.logs import Logs
from deepnlp.reproduce.table import Table


def render(table: Table, results: Path) -> str:
    """The text of the page.

    Parameters
    ----------
    table : Table
    results : path
        The folder of all results, such as ``docs/results``.

    Returns
    -------
    str

    Raises
    ------
    DeepNLPError
        If a log is not that of the run which the table states.
    """
    logs = Logs(table, results)
    logs.check()
    found = found_in(table, logs)
    shown = [one for one in found if one.row.shown]
    done, count = sum(len(one.runs) for one in found), len(table.jobs())
    parts = [
        f"# {table.title}",
        table.text.strip(),
        f"```\ndeepnlp reproduce {table.name}\n```",
        f"{_progress(done, count)} {_spread(table)}".rstrip(),
        markdown(
            [column.heading for column in table.columns],
            [[one.text(column.text) for column in table.columns] for one in shown],
            [column.align for column in table.columns],
        ),
        *([f"![{table.figure.title}](images/{table.name}.png)"]
          if table.figure and any(one.runs for one in shown) else []),
        *([table.notes.strip()] if table.notes else []),
        "## The runs",
        "Each links to its log, a line of figures an epoch; beside it are the options "
        "(`config.toml`) and the final figures (`result.json`).",
        _runs(table, found),
        f"This page is written from these logs by `deepnlp reproduce {table.name} --page`.",
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def write_page(table: Table, results: Path) -> Path:
    """Write the page, and its figure where the table has one and a row has run.

    Parameters
    ----------
    table : Table
    results : path

    Returns
    -------
    Path
        Of the page.
    """
    text = render(table, results)
    results.mkdir(parents=True, exist_ok=True)
    page = results / f"{table.name}.md"
    if table.figure is not None:
        from deepnlp.reproduce.figure import draw  # matplotlib takes a second to import

        shown = [one for one in found_in(table, Logs(table, results)) if one.row.shown]
        if any(one.runs for one in shown):
            (results / "images").mkdir(exist_ok=True)
            draw(table.figure, shown, results / "images" / f"{table.name}.png")
    with replacing(page) as file:
        file.write(text.encode("utf-8"))
    return page


def markdown(headings: Sequence[str], rows: Sequence[Sequence[str]], aligns: Sequence[str]) -> str:
    """A table in Markdown, in which a ``|`` in a cell is escaped.

    >>> print(markdown(["row", "test"], [["tied", "86.6"]], ["left", "right"]))
    | row | test |
    |:--|--:|
    | tied | 86.6 |
    """
    rule = "".join("--:|" if align == "right" else ":--|" for align in aligns)
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in rows]
    return "\n".join(["| " + " | ".join(headings) + " |", f"|{rule}", *lines])


def _runs(table: Table, found: Sequence[Found]) -> str:
    rows = []
    for one in found:
        for job, result in one.runs:
            versions = result["versions"]
            rows.append(
                [
                    f"[{job.name}]({table.name}/{job.name}/metrics.jsonl)",
                    str(job.seed),
                    str(result["epochs"]),
                    f"{result['steps']:,}",
                    f"{result['seconds'] / 60:.1f}",
                    f"{cpu / 60:.1f}" if (cpu := result.get("cpu_seconds")) else NO_VALUE,
                    f"{result.get('peak_memory_mb') or 0:,.0f}",
                    f"{versions['backend']}, Python {versions['python']}",
                    str(versions.get("processor") or NO_VALUE),
                ]
            )
    headings = ["run", "seed", "epochs", "updates", "minutes", "of the processor", "memory (MB)"]
    headings += ["with", "processor"]
    return markdown(headings, rows, ["left", *["right"] * 6, "left", "left"]) if rows else ""


def _progress(done: int, count: int) -> str:
    if done == count:
        return f"All {count} runs have finished."
    return f'{done} of {count} runs have finished; a row of which none has says "{NOT_RUN}".'


def _spread(table: Table) -> str:
    seeds = max(len(table.seeds if row.seeds is None else row.seeds) for row in table.rows)
    if seeds == 1:
        return ""
    return "Figures that differ between seeds are given as mean ± standard deviation of the runs."
