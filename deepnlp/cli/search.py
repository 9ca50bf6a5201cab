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
from typing import TYPE_CHECKING, Any

from deepnlp.cli.interrupted import INTERRUPTED
from deepnlp.cli.output import aside, print_json, table
from deepnlp.cli.parser import Parser, add_json, at_least, option
from deepnlp.cli.reproduce import RESULTS, list_studies, write_page
from deepnlp.cli.training_options import (
    add_task_and_recipe,
    add_training_options,
    given_options,
)

if TYPE_CHECKING:
    from deepnlp.studies.search import Search
    from deepnlp.studies.trials import Trial

STUDIES = "runs/search"


def configure(parser: Parser) -> None:
    """Add the options of this command and those of the training runs."""
    from deepnlp.studies.search import PRUNERS, SAMPLERS

    parser.usage = "%(prog)s [SEARCH] [option ...]"
    option(parser, "name SEARCH", "a search, or the path of a .toml file of one", nargs="?")
    option(parser, "--study DIR", f"the folder of the study (default {STUDIES}/SEARCH)")
    option(parser, "--workers N", "processes", at_least(1, 64), 1)
    group = parser.add_argument_group("space")
    space = "OPTION=LOW:HIGH[:STEP|:log] or OPTION=VALUE,..."
    option(
        group,
        "--space OPTION=VALUES",
        f"an option of the training run to search, and its values: {space}; "
        "OPTION+OPTION=... for options that have the same value; may be repeated",
        many=True,
    )
    some, count = {"type": at_least(1, 1_000_000)}, {"type": at_least(0), "metavar": "N"}
    for name, kind, text in (
        ("trials", {**count, **some}, "number of trials; without it all points of the space"),
        ("sampler", {"choices": SAMPLERS}, "how values are chosen (default tpe)"),
        ("sampler_seed", count, "its seed (default 0)"),
        ("startup_trials", count, "trials before tpe and median begin (default 5)"),
        (
            "pruner",
            {"choices": PRUNERS},
            "how trials that are not promising are ended (default median)",
        ),
        ("warmup_epochs", count, "epochs in which none is ended (default 1)"),
    ):
        group.add_argument(_flag(name), help=text, **kind)
    logs = parser.add_argument_group("logs")
    option(logs, "--results DIR", f"logs and pages (default {RESULTS})", default=RESULTS)
    what = logs.add_mutually_exclusive_group()
    option(what, "--status", "only list the trials", bool)
    option(what, "--take DIR", "take in the logs of a study of SEARCH, and write the page")
    option(what, "--page", "only write the page from the logs", bool)
    add_json(parser)
    add_training_options(parser, add_task_and_recipe(parser))


def run(arguments: argparse.Namespace) -> int:
    """Search, or do what else was asked for."""
    from deepnlp.studies.logs import Logs
    from deepnlp.studies.running import run_search

    search = _search(arguments)
    if search is None:
        return _list(arguments)
    folder = Path(arguments.study or f"{STUDIES}/{search.name}")
    if arguments.status:
        return _report(arguments, search, folder, "status")
    if arguments.take is not None:
        taken = Logs(search, Path(arguments.results) / search.folder).take(Path(arguments.take))
        numbers = ", ".join(str(search.run_names.index(name)) for name in taken)
        print(f"taken in: trials {numbers}", file=aside(arguments))
    if arguments.take is not None or arguments.page:
        return write_page(arguments, search)
    state = run_search(
        search,
        folder,
        arguments.workers,
        say=lambda line: print(line, file=aside(arguments), flush=True),
    )
    if state == "interrupted":
        print("interrupted; the same command goes on", file=aside(arguments))
    return _report(arguments, search, folder, state)


def _search(arguments: argparse.Namespace) -> "Search | None":
    """The search of a file, of the folder of a study, or of the command line; None for a list."""
    from deepnlp.studies.sampling import DECLARED
    from deepnlp.studies.search import SAMPLING, load_search

    manner = {key: getattr(arguments, key) for key in ("trials", *SAMPLING)}
    manner = {key: value for key, value in manner.items() if value is not None}
    options = given_options(arguments)
    recipe = {} if arguments.recipe is None else {"recipe": arguments.recipe}
    given = [*({"space": 1} if arguments.space else {}), *manner, *recipe, *options]
    if arguments.name is not None:
        _leave_out(f"search {arguments.name} are in its file", given)
        return load_search(arguments.name)
    if arguments.space:
        return _given_search(arguments, {**manner, **recipe}, options)
    if arguments.study is None:
        if given:
            raise ValueError(
                f"{_flag(given[0])} needs a space to search: --space OPTION=LOW:HIGH, or "
                "OPTION=VALUE,..."
            )
        return None
    declared = Path(arguments.study) / DECLARED
    if not declared.exists():
        raise FileNotFoundError(
            f"no study in {arguments.study}: it has no {DECLARED}; begin one with --space"
        )
    begun = replace(load_search(str(declared)), name=Path(arguments.study).name)
    others = [name for name in given if name != "trials"]
    _leave_out(f"the study in {arguments.study} are in its {DECLARED}", others)
    return replace(begun, **manner)


def _leave_out(where: str, given: Iterable[str]) -> None:
    """An error if options were given that are known already."""
    if given:
        raise ValueError(f"the options of {where}: leave out {', '.join(map(_flag, given))}")


def _given_search(
    arguments: argparse.Namespace, manner: dict[str, Any], options: dict[str, Any]
) -> "Search":
    """The search of the command line."""
    from deepnlp.studies.parameter import parse
    from deepnlp.studies.search import build_search

    if arguments.study is None:
        raise ValueError("--space needs a folder for the trials: --study DIR")
    space = [parse(text) for text in arguments.space]
    names = [name for name, _ in space]
    if len({*names}) < len(names):
        raise ValueError(f"--space has an option twice: {', '.join(names)}")
    options = {"task": arguments.task, **options}
    content = {**manner, "space": dict(space), "options": options}
    return build_search(Path(arguments.study).name, content)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _list(arguments: argparse.Namespace) -> int:
    """All searches, and how many of their trials have ended."""
    from deepnlp.studies.declaration import declared_names
    from deepnlp.studies.logs import Logs
    from deepnlp.studies.search import load_search

    rows = []
    for search in map(load_search, declared_names("search")):
        ended = Logs(search, Path(arguments.results) / search.folder).read_all()
        rows.append((search.name, search.title, len(ended), search.trials))
    return list_studies(arguments, "searches", ("search", ">trials"), ("ended", "trials"), rows)


def _report(arguments: argparse.Namespace, search: "Search", folder: Path, state: str) -> int:
    """The trials of a study and the best of them; gives the exit code."""
    from deepnlp.studies.parameter import text
    from deepnlp.studies.trials import begun_trials, best_of, read_trials
    from deepnlp.training.result import figure_text

    trials = read_trials(search, folder)
    best = best_of(search, trials)
    code = INTERRUPTED if state == "interrupted" else 0
    if arguments.json:
        print_json(
            {
                **{"search": search.name, "study": str(folder), "state": state},
                "trials": [_as_json(search, trial) for trial in trials],
                "best": None if best is None else _as_json(search, best),
            }
        )
        return code
    rows = [(t.number, t.values, figure_text(t.best), len(t.curve), t.status) for t in trials]
    for number, values, epochs in begun_trials(search, folder):
        rows.append((number, values, "-", epochs, "not ended"))
    lines = [
        [str(number), *map(text, values.values()), figure, str(epochs), status]
        for number, values, figure, epochs, status in sorted(rows, key=lambda row: row[0])
    ]
    names = [f">{parameter.name}" for parameter in search.space]
    print(table([">trial", *names, f">{search.metric}", ">epochs", "state"], lines))
    print(f"{len(trials)} of {search.trials} trials have ended")
    if best is not None:
        figure = f"{search.metric} {figure_text(best.best)}"
        print(f"best: trial {best.number} ({best.describe()}), {figure}")
        run_folder = shlex.quote(str(best.run.folder.path))
        print(f"on the test split: deepnlp evaluate {run_folder} --split test")
    return code


def _as_json(search: "Search", trial: "Trial") -> dict[str, Any]:
    return {
        "number": trial.number,
        "values": dict(trial.values),
        "status": trial.status,
        "epochs": len(trial.curve),
        "best_epoch": trial.best_epoch,
        search.metric: trial.best,
    }
