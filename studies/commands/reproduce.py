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

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

from deepnlp.cli.interrupted import INTERRUPTED
from deepnlp.cli.shared import Answer
from deepnlp.files.tables import table
from deepnlp.options import Option
from deepnlp.training.result import FINISHED
from studies.logs import NOT_RUN, Logs
from studies.running import run_table
from studies.search import Search
from studies.study import declared_names
from studies.table import Table, load_table

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
        return list_studies("table", load_table, results)
    chosen = load_table(name)
    if status:
        return _status(chosen, Path(runs), Path(results))
    if take is not None or page:
        return write_page(chosen, results, take)
    state = run_table(chosen, Path(runs), Path(results), only=only, rerun=rerun, say=say)
    return write_page(chosen, results, state=state)


def _status(chosen: Table, runs: Path, results: Path) -> Answer:
    """The state of every run; of one that has begun, its epoch."""
    logs, ours = Logs(chosen, results / chosen.folder), Logs(chosen, runs / chosen.name)
    states = {name: logs.state(name) for name in chosen.run_names}
    for run in ours.all_begun():
        if states[run.name] == NOT_RUN:
            planned = run.config.get("epochs", 1)  # of a model that is counted, one
            states[run.name] = f"{len(run.history)} of {planned} epochs"
    facts = {"table": chosen.name, "runs": states}
    return Answer(facts, table(["run", "state"], states.items()))


# --- What a search has in common with a table ---------------------------------------------------


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


def list_studies(kind: str, load: Callable[[str], Table | Search], results: str) -> Answer:
    """A line for each table or search: name, title, and how many of its runs have ended."""
    facts, lines = [], []
    for study in map(load, declared_names(kind)):
        logs = Logs(study, Path(results) / study.folder)
        states, words = [*map(logs.state, study.run_names)], study.words
        counts = {words["done"]: states.count(FINISHED), f"{words['run']}s": len(states)}
        facts.append({"name": study.name, "title": study.title, **counts})
        lines.append([study.name, study.title, "{} of {}".format(*counts.values())])
    headings = [kind, "title", f">{words['done']}"]
    return Answer({words["plural"]: facts}, table(headings, lines))


def write_page(
    study: Table | Search, results: str, take: str | None = None, state: str = "finished"
) -> Answer:
    """Write the page of a study, with the runs of another folder taken in, and say where it is."""
    if take is not None:
        taken = Logs(study, Path(results) / study.folder).take(Path(take))
        say(f"taken in: {', '.join(taken)}")
    from studies import figure  # matplotlib takes a second to import

    page = figure.write_page(study, Path(results))
    facts = {study.kind: study.name, "page": str(page), "state": state}
    return Answer(facts, f"page: {page}", INTERRUPTED if state == "interrupted" else 0)
