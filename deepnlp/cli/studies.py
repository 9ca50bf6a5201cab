"""What ``reproduce`` and ``search`` have in common: a list of studies, their logs and pages."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from deepnlp.cli.interrupted import INTERRUPTED
from deepnlp.cli.output import answer, aside, table
from deepnlp.cli.parser import add_json, option

if TYPE_CHECKING:
    from deepnlp.studies.study import Study

RESULTS = "docs/results"
Report = Callable[[str], int]


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


def list_studies(arguments: argparse.Namespace, kind: str) -> int:
    """A line for each table or search: name, title, and how many of its runs have ended."""
    from deepnlp.studies.logs import FINISHED, Logs
    from deepnlp.studies.search import load_search
    from deepnlp.studies.study import declared_names
    from deepnlp.studies.table import load_table

    load: Callable[[str], Study] = {"table": load_table, "search": load_search}[kind]
    studies = [load(name) for name in declared_names(kind)]
    facts, rows = [], []
    for study in studies:
        logs = Logs(study, Path(arguments.results) / study.folder)
        states = [*map(logs.state, study.run_names)]
        done, count = states.count(FINISHED), len(states)
        about = {"name": study.name, "title": study.title}
        facts.append({**about, study.done: done, f"{study.run_kind}s": count})
        rows.append([study.name, study.title, f"{done} of {count}"])
    headings = [kind, "title", f">{studies[0].done}"]
    return answer(arguments, {studies[0].plural: facts}, table(headings, rows))


def work_on(
    arguments: argparse.Namespace,
    study: "Study",
    run: Callable[[Callable[[str], None]], str],
    report: Report,
) -> int:
    """Run a study, or what else was asked for; ``report`` says how far it is, after a state."""
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
    state = run(say)
    code = report(state)
    return INTERRUPTED if state == "interrupted" else code


def show_page(arguments: argparse.Namespace, study: "Study", state: str = "finished") -> int:
    """Write the page of a study, and say where it is."""
    from deepnlp.studies.page import write_page

    page = write_page(study, Path(arguments.results))
    facts = {study.kind: study.name, "page": str(page), "state": state}
    return answer(arguments, facts, f"page: {page}")
