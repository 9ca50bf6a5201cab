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
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deepnlp.cli.interrupted import INTERRUPTED
from deepnlp.cli.output import aside, print_json, table
from deepnlp.cli.parser import add_json, option

if TYPE_CHECKING:
    from deepnlp.studies.logs import Logs
    from deepnlp.studies.search import Search
    from deepnlp.studies.table import Table

RUNS, RESULTS = "runs/reproduce", "docs/results"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    option(parser, "name TABLE", "a table, or the path of a .toml file of one", nargs="?")
    option(parser, "--only ROW", "only these rows, or runs (ROW-SEED)", default=[], nargs="+")
    option(parser, "--runs DIR", f"run folders (default {RUNS})", default=RUNS)
    option(parser, "--results DIR", f"logs and pages (default {RESULTS})", default=RESULTS)
    what = parser.add_mutually_exclusive_group()
    option(what, "--page", "only write the page from the logs", bool)
    option(what, "--status", "only say which runs have finished", bool)
    option(what, "--take DIR", "take in the finished runs in the run folders of a machine")
    option(
        what,
        "--rerun",
        "replace runs that were made with other options than the table states",
        bool,
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked for one table, or list all."""
    from deepnlp.studies.declaration import declared_names
    from deepnlp.studies.logs import FINISHED, Logs
    from deepnlp.studies.running import run_table
    from deepnlp.studies.table import load_table

    results = Path(arguments.results)
    if arguments.name is None:
        rows = []
        for known in map(load_table, declared_names("table")):
            states = [*map(Logs(known, results / known.folder).state, known.run_names)]
            rows.append((known.name, known.title, states.count(FINISHED), len(states)))
        return list_studies(arguments, "tables", ("table", ">finished"), ("finished", "runs"), rows)
    chosen = load_table(arguments.name)
    logs, state = Logs(chosen, results / chosen.folder), "finished"
    if arguments.status:
        return _status(arguments, chosen, logs)
    if arguments.take is not None:
        print(f"taken in: {', '.join(logs.take(Path(arguments.take)))}", file=aside(arguments))
    elif not arguments.page:
        state = run_table(
            chosen,
            Path(arguments.runs),
            results,
            only=arguments.only,
            rerun=arguments.rerun,
            say=lambda line: print(line, file=aside(arguments), flush=True),
        )
    return write_page(arguments, chosen, state=state)


def write_page(arguments: argparse.Namespace, study: "Table | Search", **more: str) -> int:
    """Write the page of a study, and say where it is; gives the exit code."""
    from deepnlp.studies.page import write_page as write

    page = write(study, Path(arguments.results))
    if arguments.json:
        print_json({study.kind: study.name, "page": str(page), **more})
    else:
        print(f"page: {page}")
    return INTERRUPTED if more.get("state") == "interrupted" else 0


def list_studies(
    arguments: argparse.Namespace,
    plural: str,
    headings: tuple[str, str],
    keys: tuple[str, str],
    rows: Sequence[tuple[str, str, int, int]],
) -> int:
    """A line for each table or search: name, title, and how many of its runs have ended."""
    if arguments.json:
        names = ("name", "title", *keys)
        print_json({plural: [dict(zip(names, row, strict=True)) for row in rows]})
    else:
        text = [[name, title, f"{done} of {count}"] for name, title, done, count in rows]
        print(table([headings[0], "title", headings[1]], text))
    return 0


def _status(arguments: argparse.Namespace, chosen: "Table", logs: "Logs") -> int:
    """The state of every run; of one that has begun, its epoch."""
    from deepnlp.studies.logs import NOT_RUN
    from deepnlp.training import RunFolder

    rows = []
    for job in chosen.jobs:
        folder = RunFolder(Path(arguments.runs) / chosen.name / job.name)
        state = logs.state(job.name)
        epochs = len(folder.read_metrics())
        if state == NOT_RUN and epochs:
            planned = job.config.get("epochs", 1)  # of a model that is counted, one
            state = f"{epochs} of {planned} epochs"
        rows.append([job.name, state])
    if arguments.json:
        print_json({"table": chosen.name, "runs": dict(rows)})
    else:
        print(table(["run", "state"], rows))
    return 0
