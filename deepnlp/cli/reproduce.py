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
from pathlib import Path
from typing import TYPE_CHECKING

from deepnlp.cli.output import answer, table
from deepnlp.cli.parser import option
from deepnlp.cli.studies import add_study, list_studies, show_page, work_on

if TYPE_CHECKING:
    from deepnlp.studies.table import Table

RUNS = "runs/reproduce"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    option(parser, "--only ROW", "only these rows, or runs (ROW-SEED)", default=[], nargs="+")
    option(parser, "--runs DIR", f"run folders (default {RUNS})", default=RUNS)
    what = add_study(parser, "table")
    rerun = "replace runs that were made with other options than the table states"
    option(what, "--rerun", rerun, bool)


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked for one table, or list all."""
    from deepnlp.studies.running import run_table
    from deepnlp.studies.table import load_table

    if arguments.name is None:
        return list_studies(arguments, "table")
    chosen = load_table(arguments.name)
    runs, results = Path(arguments.runs), Path(arguments.results)
    options = {"only": arguments.only, "rerun": arguments.rerun}
    return work_on(
        arguments,
        chosen,
        lambda say: run_table(chosen, runs, results, say=say, **options),
        lambda state: _report(arguments, chosen, state),
    )


def _report(arguments: argparse.Namespace, chosen: "Table", state: str) -> int:
    """The page; or the state of every run, and of one that has begun its epoch."""
    from deepnlp.studies.logs import NOT_RUN, Logs
    from deepnlp.training import RunFolder

    if state != "status":
        return show_page(arguments, chosen, state)
    logs, states = Logs(chosen, Path(arguments.results) / chosen.folder), {}
    for job in chosen.jobs:
        folder = RunFolder(Path(arguments.runs) / chosen.name / job.name)
        states[job.name], epochs = logs.state(job.name), len(folder.read_metrics())
        if states[job.name] == NOT_RUN and epochs:
            planned = job.config.get("epochs", 1)  # of a model that is counted, one
            states[job.name] = f"{epochs} of {planned} epochs"
    facts = {"table": chosen.name, "runs": states}
    return answer(arguments, facts, table(["run", "state"], states.items()))
