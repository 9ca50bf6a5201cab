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

from deepnlp.cli.output import aside, print_json, table
from deepnlp.cli.parser import add_json

if TYPE_CHECKING:
    from deepnlp.reproduce import Table

RUNS, RESULTS = "runs/reproduce", "docs/results"
INTERRUPTED = 130


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument(
        "name", nargs="?", metavar="TABLE", help="a table, or the path of a .toml file of one"
    )
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="ROW", help="only these rows, or runs (ROW-SEED)"
    )
    parser.add_argument("--runs", default=RUNS, metavar="DIR", help=f"run folders (default {RUNS})")
    parser.add_argument(
        "--results", default=RESULTS, metavar="DIR", help=f"logs and pages (default {RESULTS})"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--page", action="store_true", help="only write the page from the logs")
    what.add_argument("--status", action="store_true", help="only say which runs have finished")
    what.add_argument(
        "--take", metavar="DIR", help="take in the finished runs in the run folders of a machine"
    )
    what.add_argument(
        "--rerun",
        action="store_true",
        help="replace runs that were made with other options than the table states",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked for one table, or list all."""
    from deepnlp.reproduce import load_table, reproduce, write_page
    from deepnlp.reproduce.running import take

    results = Path(arguments.results)
    if arguments.name is None:
        return _list(arguments, results)
    chosen = load_table(arguments.name)
    if arguments.status:
        return _status(arguments, chosen, results)
    state = "finished"
    if arguments.take is not None:
        taken = take(chosen, Path(arguments.take), results)
        print(f"taken in: {', '.join(taken)}", file=aside(arguments))
    elif not arguments.page:
        state = reproduce(
            chosen,
            Path(arguments.runs),
            results,
            only=arguments.only,
            rerun=arguments.rerun,
            say=lambda line: print(line, file=aside(arguments), flush=True),
        )
    page = write_page(chosen, results)
    if arguments.json:
        print_json({"table": chosen.name, "page": str(page), "state": state})
    else:
        print(f"page: {page}")
    return INTERRUPTED if state == "interrupted" else 0


def _list(arguments: argparse.Namespace, results: Path) -> int:
    from deepnlp.reproduce import Logs, LogState, load_table, table_names

    rows = []
    for name in table_names():
        one = load_table(name)
        jobs = one.jobs()
        states = [Logs(one, results).state(job) for job in jobs]
        rows.append((name, one.title, states.count(LogState.FINISHED), len(jobs)))
    if arguments.json:
        keys = ("name", "title", "finished", "runs")
        print_json({"tables": [dict(zip(keys, row, strict=True)) for row in rows]})
    else:
        text = [[name, title, f"{done} of {count}"] for name, title, done, count in rows]
        print(table(["table", "title", ">finished"], text))
    return 0


def _status(arguments: argparse.Namespace, chosen: "Table", results: Path) -> int:
    """The state of every run; of one that has begun, its epoch."""
    from deepnlp.reproduce import Logs, LogState
    from deepnlp.training import RunFolder

    logs, rows = Logs(chosen, results), []
    for job in chosen.jobs():
        state = logs.state(job)
        epochs = len(RunFolder(Path(arguments.runs) / chosen.name / job.name).read_metrics())
        begun = state is LogState.MISSING and epochs
        planned = job.config.get("epochs", 1)  # of a model that is counted, one
        rows.append([job.name, f"{epochs} of {planned} epochs" if begun else state.value])
    if arguments.json:
        print_json({"table": chosen.name, "runs": dict(rows)})
    else:
        print(table(["run", "state"], rows))
    return 0
