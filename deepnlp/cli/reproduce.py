"""``deepnlp reproduce``: run the rows of a table of results, and write its page.

Without a name: a list of the tables. A run goes into RUNS/TABLE/ROW-SEED. After Ctrl-C, or a crash
of the machine, the same command goes on. When a run has finished, its options, its log and its
result are copied to RESULTS/TABLE/ROW-SEED, and the page RESULTS/TABLE.md is written from such
copies alone. Finished runs are not repeated; one with other options than the table's is refused.

examples:
  deepnlp reproduce
  deepnlp reproduce glove
  deepnlp reproduce glove --only frozen-tied-50 trained-tied-50-1   a row, and one run of another
  deepnlp reproduce table3 --take /mnt/other/runs      take in runs of another machine
  deepnlp reproduce table3 --page                      write the page from the logs
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from deepnlp.cli.interrupted import INTERRUPTED
from deepnlp.cli.shared import Answer
from deepnlp.files.tables import table
from deepnlp.options import Option
from deepnlp.studies.declaration import declared_names
from deepnlp.studies.logs import FINISHED, NOT_RUN, Logs
from deepnlp.studies.page import write_page as write
from deepnlp.studies.running import run_table
from deepnlp.studies.search import Search
from deepnlp.studies.table import Table, load_table
from deepnlp.training import RunFolder

Results = Annotated[str, Option("logs and pages", metavar="DIR")]
Take = Annotated[str | None, Option(metavar="DIR", either="what")]
What = Annotated[bool, Option(either="what")]
MANY = {"action": "extend", "nargs": "+"}
RESULTS = "docs/results"


def run(
    name: Annotated[str | None, Option(metavar="TABLE")] = None,
    *,
    only: Annotated[Sequence[str], Option(metavar="ROW", details=MANY)] = (),
    runs: Annotated[str, Option("run folders", metavar="DIR")] = "runs/reproduce",
    results: Results = RESULTS,
    page: What = False,
    status: What = False,
    take: Take = None,
    rerun: What = False,
) -> Answer:
    """Do what was asked for one table, or list all.

    Parameters
    ----------
    name : str, optional
        a table, or the path of a .toml file of one.
    only : sequence of str
        only these rows, or runs (ROW-SEED).
    page : bool
        only write the page from the logs.
    status : bool
        only say which runs have finished.
    take : str, optional
        take in the finished runs in the run folders of a machine.
    rerun : bool
        replace runs that were made with other options than the table states.
    """
    if name is None:
        rows = []
        for known in map(load_table, declared_names("table")):
            states = [*map(Logs(known, Path(results) / known.folder).state, known.run_names)]
            rows.append((known.name, known.title, states.count(FINISHED), len(states)))
        return list_studies("tables", ("table", ">finished"), ("finished", "runs"), rows)
    chosen = load_table(name)
    logs, state = Logs(chosen, Path(results) / chosen.folder), "finished"
    if status:
        return _status(chosen, logs, Path(runs))
    if take is not None:
        print(f"taken in: {', '.join(logs.take(Path(take)))}")
    elif not page:
        folders = Path(runs), Path(results)
        state = run_table(chosen, *folders, only=only, rerun=rerun, say=say)
    return write_page(chosen, results, state=state)


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


def write_page(study: Table | Search, results: str, **more: str) -> Answer:
    """Write the page of a study, and say where it is."""
    page = write(study, Path(results))
    code = INTERRUPTED if more.get("state") == "interrupted" else 0
    return Answer({study.kind: study.name, "page": str(page), **more}, f"page: {page}", code)


def list_studies(
    plural: str,
    headings: tuple[str, str],
    keys: tuple[str, str],
    rows: Sequence[tuple[str, str, int, int]],
) -> Answer:
    """A line for each table or search: name, title, and how many of its runs have ended."""
    facts = {plural: [dict(zip(("name", "title", *keys), row, strict=True)) for row in rows]}
    text = [[name, title, f"{done} of {count}"] for name, title, done, count in rows]
    return Answer(facts, table([headings[0], "title", headings[1]], text))


def _status(chosen: Table, logs: Logs, runs: Path) -> Answer:
    """The state of every run; of one that has begun, its epoch."""
    rows = []
    for job in chosen.jobs:
        state = logs.state(job.name)
        epochs = len(RunFolder(runs / chosen.name / job.name).read_metrics())
        if state == NOT_RUN and epochs:
            planned = job.config.get("epochs", 1)  # of a model that is counted, one
            state = f"{epochs} of {planned} epochs"
        rows.append([job.name, state])
    return Answer({"table": chosen.name, "runs": dict(rows)}, table(["run", "state"], rows))
