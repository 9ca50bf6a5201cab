"""``deepnlp search``: search for the best options of a model, on the validation split.

Without a name: a list of the searches that are declared. A study goes into the folder --study, a
run folder for each trial, and search.html, a page with its trials as pictures. After Ctrl-C, or a
crash of the machine, the same command goes on. The same command on another machine that has the
folder, or beside this one, takes part. The test split is not measured. Options of a training run
that are given hold for all trials. A search with a name is declared in a file; its logs and its
page go where tables of results go.

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
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from deepnlp.cli import train
from deepnlp.cli.interrupted import INTERRUPTED
from deepnlp.cli.parser import Parser, declare, flag
from deepnlp.cli.shared import Answer
from deepnlp.files.tables import table
from deepnlp.options import Option, options_of
from deepnlp.training.result import figure_text
from studies.commands.reproduce import RESULTS, Results, Take, What, list_studies, say, write_page
from studies.logs import Logs
from studies.parameter import parse, text
from studies.running import run_search
from studies.search import DECLARED, Search, begun_search, build_search, load_search

STUDIES = "runs/search"


def configure(parser: Parser, argv: Sequence[str]) -> None:
    """Add the manner of a search, which is declared with it, and the options of its trials."""
    declare(parser, Search, default=argparse.SUPPRESS, required=False)
    train.configure(parser, argv)


def run(
    name: Annotated[str | None, Option(metavar="SEARCH")] = None,
    *,
    study: Annotated[str | None, Option(metavar="DIR")] = None,
    workers: Annotated[int, Option("processes", low=1, high=64)] = 1,
    space: Annotated[Sequence[str], Option(metavar="OPTION=VALUES")] = (),
    results: Results = RESULTS,
    status: What = False,
    take: Take = None,
    page: What = False,
    task: train.Task = None,
    recipe: train.Recipe = None,
    **options: Any,
) -> Answer:
    """Search, or do what else was asked for.

    Parameters
    ----------
    name : str, optional
        a search, or the path of a .toml file of one.
    study : str, optional
        the folder of the study (default runs/search/SEARCH).
    space : sequence of str
        an option of the training run to search, and its values: OPTION=LOW:HIGH[:STEP|:log] or
        OPTION=VALUE,...; OPTION+OPTION=... for options that have the same value; may be repeated.
    status : bool
        only list the trials.
    take : str, optional
        take in the logs of a study of SEARCH, and write the page.
    page : bool
        only write the page from the logs.
    task : str, optional
        what to train for; with --help after it, its options are shown (default lm).
    **options
        The manner of the search, and options of all trials.
    """
    manner = {name: options.pop(name) for name in options_of(Search) if name in options}
    manner |= {} if recipe is None else {"recipe": recipe}
    search = _search(name, study, task, [parse(point) for point in space], manner, options)
    if search is None:
        return list_studies("search", load_search, results)
    folder = Path(study or f"{STUDIES}/{search.name}")
    if status:
        return _report(search, folder, "status")
    if take is not None or page:
        return write_page(search, results, take)
    return _report(search, folder, run_search(search, folder, workers, say))


def _search(
    name: str | None,
    study: str | None,
    task: str | None,
    space: Sequence[tuple[str, Any]],
    manner: dict[str, Any],
    options: dict[str, Any],
) -> Search | None:
    """The search of a file, of the folder of a study, or of the command line; None for a list."""
    given = [*(["space"] if space else []), *manner, *options]
    if name is not None:
        _leave_out(f"search {name} are in its file", given)
        return load_search(name)
    if space and study is None:
        raise ValueError("--space needs a folder for the trials: --study DIR")
    if space and study is not None:
        if len({*dict(space)}) < len(space):
            twice = ", ".join(name for name, _ in space)
            raise ValueError(f"--space has an option twice: {twice}")
        task = task or train.defaults_of(recipe=manner.get("recipe")).task
        content = {**manner, "space": dict(space), "options": {"task": task, **options}}
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


def _report(search: Search, folder: Path, state: str) -> Answer:
    """The trials of a study and the best of them."""
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
    if ended and state != "status":
        from studies.figure import write_search  # matplotlib takes a second to import

        lines.append(f"page of the search: {write_search(search, folder, ended)}")
    about = {
        **{"search": search.name, "study": str(folder), "state": state},
        "trials": [*facts.values()],
        "best": None if best is None else facts[best.name],
    }
    return Answer(about, "\n".join(lines), INTERRUPTED if state == "interrupted" else 0)
