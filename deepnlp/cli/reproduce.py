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

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from deepnlp.cli.interrupted import INTERRUPTED
from deepnlp.cli.output import answer, aside, table
from deepnlp.cli.parser import add_json, option

if TYPE_CHECKING:
    from deepnlp.studies.search import Search
    from deepnlp.studies.table import Table

RUNS, RESULTS = "runs/reproduce", "docs/results"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    option(parser, "--only ROW", "only these rows, or runs (ROW-SEED)", default=[], nargs="+")
    option(parser, "--runs DIR", f"run folders (default {RUNS})", default=RUNS)
    what = add_study(parser, "table")
    rerun = "replace runs that were made with other options than the table states"
    option(what, "--rerun", rerun, bool)


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked for one table, or list all."""
    from deepnlp.studies.logs import NOT_RUN, Logs
    from deepnlp.studies.running import run_table
    from deepnlp.studies.table import load_table

    if arguments.name is None:
        return list_studies(arguments, "table", load_table)
    chosen = load_table(arguments.name)
    runs, results = Path(arguments.runs), Path(arguments.results)

    def begin(say: Callable[[str], None]) -> str:
        options = {"only": arguments.only, "rerun": arguments.rerun}
        return run_table(chosen, runs, results, say=say, **options)

    def report(state: str) -> int:
        """The page; or the state of every run, and of one that has begun its epoch."""
        if state != "status":
            return show_page(arguments, chosen, state)
        logs, ours = Logs(chosen, results / chosen.folder), Logs(chosen, runs / chosen.name)
        states = {name: logs.state(name) for name in chosen.run_names}
        for run in ours.all_begun():
            if states[run.name] == NOT_RUN:
                planned = run.config.get("epochs", 1)  # of a model that is counted, one
                states[run.name] = f"{len(run.history)} of {planned} epochs"
        facts = {"table": chosen.name, "runs": states}
        return answer(arguments, facts, table(["run", "state"], states.items()))

    return work_on(arguments, chosen, begin, report)


# --- What a search has in common with a table ---------------------------------------------------


def add_study(parser: argparse.ArgumentParser, kind: str) -> argparse._MutuallyExclusiveGroup:
    """Add the name of a study, and what can be done with it instead of running it."""
    what = f"a {kind}, or the path of a .toml file of one"
    option(parser, f"name {kind.upper()}", what, nargs="?")
    option(parser, "--results DIR", f"logs and pages (default {RESULTS})", default=RESULTS)
    group = parser.add_mutually_exclusive_group()
    option(group, "--status", "only say how far the runs are", bool)
    option(group, "--take DIR", "take in the logs of the runs in a folder, and write the page")
    option(group, "--page", "only write the page from the logs", bool)
    add_json(parser)
    return group


def list_studies(
    arguments: argparse.Namespace, kind: str, load: "Callable[[str], Table | Search]"
) -> int:
    """A line for each table or search: name, title, and how many of its runs have ended."""
    from deepnlp.studies.logs import FINISHED, Logs
    from deepnlp.studies.study import declared_names

    facts, lines = [], []
    for study in map(load, declared_names(kind)):
        logs = Logs(study, Path(arguments.results) / study.folder)
        states = [*map(logs.state, study.run_names)]
        words = study.words
        counts = {words["done"]: states.count(FINISHED), f"{words['run']}s": len(states)}
        facts.append({"name": study.name, "title": study.title, **counts})
        lines.append([study.name, study.title, "{} of {}".format(*counts.values())])
    headings = [kind, "title", f">{words['done']}"]
    return answer(arguments, {words["plural"]: facts}, table(headings, lines))


def work_on(
    arguments: argparse.Namespace,
    study: "Table | Search",
    begin: Callable[[Callable[[str], None]], str],
    report: Callable[[str], int],
) -> int:
    """Begin to run a study, or what else was asked for, and report on it; gives the exit code."""
    from deepnlp.studies.logs import Logs

    def say(line: str) -> None:
        print(line, file=aside(arguments), flush=True)

    if arguments.status:
        return report("status")
    if arguments.take is not None:
        logs = Logs(study, Path(arguments.results) / study.folder)
        say(f"taken in: {', '.join(logs.take(Path(arguments.take)))}")
    if arguments.take is not None or arguments.page:
        return show_page(arguments, study)
    state = begin(say)
    return report(state) or (INTERRUPTED if state == "interrupted" else 0)


def show_page(
    arguments: argparse.Namespace, study: "Table | Search", state: str = "finished"
) -> int:
    """Write the page of a study, and say where it is."""
    from deepnlp.studies.figure import write_page

    page = write_page(study, Path(arguments.results))
    facts = {study.kind: study.name, "page": str(page), "state": state}
    return answer(arguments, facts, f"page: {page}")
