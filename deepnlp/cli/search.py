"""``deepnlp search``: search for the best options of a model, on the validation split.

Without a name: a list of the searches that are declared. A study goes into the folder --study, a
run folder for each trial. After Ctrl-C, or a crash of the machine, the same command goes on. The
same command on another machine that has the folder, or beside this one, takes part. The test split
is not measured. Options of a training run that are given hold for all trials. A search with a name
is declared in a file; its logs and its page go where tables of results go.

examples:
  deepnlp search --study runs/dropout --space dropout=0.1:0.5:0.1 --sampler grid
  deepnlp search --study runs/sizes --recipe book-rnnlm --epochs 8 --workers 2 --trials 20
      --space lr=5:40:log --space embed_size+hidden_size=100:300:50 --space cell=lstm,gru
  deepnlp search --study runs/sizes --trials 30                 ten trials more
  deepnlp search pydocs-small --workers 2
  deepnlp search pydocs-small --take runs/search/pydocs-small   take in its logs, write the page
"""

import argparse
import shlex
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from deepnlp.cli.output import answer, table
from deepnlp.cli.parser import Parser, at_least, option
from deepnlp.cli.reproduce import add_study, list_studies, work_on
from deepnlp.cli.training_options import (
    add_declared,
    add_task_and_recipe,
    add_training_options,
    flag,
    given_options,
)

if TYPE_CHECKING:
    from deepnlp.studies.search import Search

STUDIES = "runs/search"


def configure(parser: Parser) -> None:
    """Add the options of this command and those of the training runs."""
    from deepnlp.options import options_of
    from deepnlp.studies.search import Search

    parser.usage = "%(prog)s [SEARCH] [option ...]"
    option(parser, "--study DIR", f"the folder of the study (default {STUDIES}/SEARCH)")
    option(parser, "--workers N", "processes", at_least(1, 64), 1)
    add_study(parser, "search")
    group = parser.add_argument_group("space")
    space = "OPTION=LOW:HIGH[:STEP|:log] or OPTION=VALUE,..."
    option(
        group,
        "--space OPTION=VALUES",
        f"an option of the training run to search, and its values: {space}; "
        "OPTION+OPTION=... for options that have the same value; may be repeated",
        many=True,
    )
    for declared in options_of(Search).values():
        add_declared(group, declared, declared.default)
    add_training_options(parser, add_task_and_recipe(parser))


def run(arguments: argparse.Namespace) -> int:
    """Search, or do what else was asked for."""
    from deepnlp.studies.running import run_search
    from deepnlp.studies.search import load_search

    search = _search(arguments)
    if search is None:
        return list_studies(arguments, "search", load_search)
    folder = Path(arguments.study or f"{STUDIES}/{search.name}")
    return work_on(
        arguments,
        search,
        lambda say: run_search(search, folder, arguments.workers, say),
        lambda state: _report(arguments, search, folder, state),
    )


def _search(arguments: argparse.Namespace) -> "Search | None":
    """The search of a file, of the folder of a study, or of the command line; None for a list."""
    from deepnlp.options import options_of
    from deepnlp.studies.parameter import parse
    from deepnlp.studies.search import DECLARED, Search, begun_search, build_search, load_search

    said, study, options = vars(arguments), arguments.study, given_options(arguments)
    names = [*options_of(Search), "recipe"]
    manner = {name: said[name] for name in names if said.get(name) is not None}
    space = [parse(text) for text in arguments.space]
    given = [*(["space"] if space else []), *manner, *options]
    if arguments.name is not None:
        _leave_out(f"search {arguments.name} are in its file", given)
        return load_search(arguments.name)
    if space and study is None:
        raise ValueError("--space needs a folder for the trials: --study DIR")
    if space:
        if len({*dict(space)}) < len(space):
            twice = ", ".join(name for name, _ in space)
            raise ValueError(f"--space has an option twice: {twice}")
        options = {"task": arguments.task, **options}
        content = {**manner, "space": dict(space), "options": options}
        return build_search(Path(study).name, content)
    if study is not None:
        begun = begun_search(Path(study))
        others = [name for name in given if name != "trials"]
        _leave_out(f"the study in {study} are in its {DECLARED}", others)
        return replace(begun, **manner)
    if given:
        raise ValueError(
            f"{flag(given[0])} needs a space to search: --space OPTION=LOW:HIGH, or "
            "OPTION=VALUE,..."
        )
    return None


def _leave_out(where: str, given: Iterable[str]) -> None:
    """An error if options were given that are known already."""
    if given:
        raise ValueError(f"the options of {where}: leave out {', '.join(map(flag, given))}")


def _report(arguments: argparse.Namespace, search: "Search", folder: Path, state: str) -> int:
    """The trials of a study and the best of them."""
    from deepnlp.studies.logs import Logs
    from deepnlp.studies.parameter import text
    from deepnlp.training.result import figure_text

    logs = Logs(search, folder)
    ended = logs.read_all()
    best, rows = search.best_of(ended), []
    facts = {trial.name: search.facts(trial) for trial in logs.all_begun()}
    for number, values, status, epochs, _, figure in (each.values() for each in facts.values()):
        words = [*map(text, values.values()), figure_text(figure), str(epochs), status]
        rows.append([str(number), *words])
    names = [f">{parameter.name}" for parameter in search.space]
    headings = [">trial", *names, f">{search.metric}", ">epochs", "state"]
    lines = [table(headings, rows), f"{len(ended)} of {search.trials} trials have ended"]
    if best is not None:
        run_folder, figure = shlex.quote(str(best.folder.path)), figure_text(best.best)
        said = f"trial {search.number(best)} ({search.describe(best)}), {search.metric} {figure}"
        lines += [
            f"best: {said}",
            f"on the test split: deepnlp evaluate {run_folder} --split test",
        ]
    about = {
        **{"search": search.name, "study": str(folder), "state": state},
        "trials": [*facts.values()],
        "best": None if best is None else facts[best.name],
    }
    return answer(arguments, about, "\n".join(lines))
