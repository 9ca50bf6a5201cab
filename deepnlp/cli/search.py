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
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnlp.cli.output import aside, print_json, table
from deepnlp.cli.parser import Parser, add_json, at_least
from deepnlp.cli.training_options import (
    add_task_and_recipe,
    add_training_options,
    given_options,
)

if TYPE_CHECKING:
    from deepnlp.search import Search, Trial

STUDIES, RESULTS = "runs/search", "docs/results"
MANNER = ("trials", "sampler", "sampler_seed", "startup_trials", "pruner", "warmup_epochs")
INTERRUPTED = 130


def configure(parser: Parser) -> None:
    """Add the options of this command and those of the training runs."""
    from deepnlp.search.declaration import PRUNERS, SAMPLERS

    parser.usage = "%(prog)s [SEARCH] [option ...]"
    parser.add_argument(
        "name", nargs="?", metavar="SEARCH", help="a search, or the path of a .toml file of one"
    )
    parser.add_argument(
        "--study", metavar="DIR", help=f"the folder of the study (default {STUDIES}/SEARCH)"
    )
    parser.add_argument(
        "--workers", type=at_least(1, 64), default=1, metavar="N", help="processes (default 1)"
    )
    group = parser.add_argument_group("space")
    space = "OPTION=LOW:HIGH[:STEP|:log] or OPTION=VALUE,..."
    group.add_argument(
        "--space",
        action="append",
        default=[],
        metavar="OPTION=VALUES",
        help=f"an option of the training run to search, and its values: {space}; "
        "OPTION+OPTION=... for options that have the same value; may be repeated",
    )
    for name, kind, text in (
        ("trials", at_least(1, 1_000_000), "number of trials; without it all points of the space"),
        ("sampler", None, "how values are chosen (default tpe)"),
        ("sampler_seed", at_least(0), "its seed (default 0)"),
        ("startup_trials", at_least(0), "trials before tpe and median begin (default 5)"),
        ("pruner", None, "how trials that are not promising are ended (default median)"),
        ("warmup_epochs", at_least(0), "epochs in which none is ended (default 1)"),
    ):
        choices = {"sampler": SAMPLERS, "pruner": PRUNERS}.get(name)
        options: dict[str, Any] = {"choices": choices} if kind is None else {"type": kind}
        metavar = None if kind is None else "N"
        group.add_argument(_flag(name), metavar=metavar, help=text, **options)
    logs = parser.add_argument_group("logs")
    logs.add_argument(
        "--results", default=RESULTS, metavar="DIR", help=f"logs and pages (default {RESULTS})"
    )
    what = logs.add_mutually_exclusive_group()
    what.add_argument("--status", action="store_true", help="only list the trials")
    what.add_argument(
        "--take", metavar="DIR", help="take in the logs of a study of SEARCH, and write the page"
    )
    what.add_argument("--page", action="store_true", help="only write the page from the logs")
    add_json(parser)
    add_training_options(parser, add_task_and_recipe(parser))


def run(arguments: argparse.Namespace) -> int:
    """Search, or do what else was asked for."""
    from deepnlp.search.running import run_search

    search = _search(arguments)
    if search is None:
        return _list(arguments)
    folder = Path(arguments.study or f"{STUDIES}/{search.name}")
    if arguments.status:
        _report(arguments, search, folder, "status")
        return 0
    if arguments.take is not None or arguments.page:
        return _page(arguments, search)
    state = run_search(
        search,
        folder,
        arguments.workers,
        say=lambda line: print(line, file=aside(arguments), flush=True),
    )
    if state == "interrupted":
        print("interrupted; the same command goes on", file=aside(arguments))
    _report(arguments, search, folder, state)
    return INTERRUPTED if state == "interrupted" else 0


def _page(arguments: argparse.Namespace, search: "Search") -> int:
    """Take in the logs of a study where that was asked for, and write the page."""
    from deepnlp.search import take
    from deepnlp.search.page import write_page

    results = Path(arguments.results)
    if arguments.take is not None:
        taken = take(search, Path(arguments.take), results)
        print(f"taken in: trials {', '.join(map(str, taken))}", file=aside(arguments))
    page = write_page(search, results)
    if arguments.json:
        print_json({"search": search.name, "page": str(page)})
    else:
        print(f"page: {page}")
    return 0


def _search(arguments: argparse.Namespace) -> "Search | None":
    """The search of a file, of the folder of a study, or of the command line; None for a list."""
    from deepnlp.search.declaration import load_search, search
    from deepnlp.search.study import DECLARED

    manner = {key: getattr(arguments, key) for key in MANNER}
    manner = {key: value for key, value in manner.items() if value is not None}
    options = given_options(arguments)
    recipe = {} if arguments.recipe is None else {"recipe": arguments.recipe}
    given = [*({"space": 1} if arguments.space else {}), *manner, *recipe, *options]
    if arguments.name is not None:
        if given:
            raise ValueError(
                f"the options of search {arguments.name} are in its file: leave out "
                f"{', '.join(map(_flag, given))}"
            )
        return load_search(arguments.name)
    if arguments.space:
        if arguments.study is None:
            raise ValueError("--space needs a folder for the trials: --study DIR")
        from deepnlp.search.parameter import parse

        space = [parse(said) for said in arguments.space]
        names = [name for name, _ in space]
        if len({*names}) < len(names):
            raise ValueError(f"--space has an option twice: {', '.join(names)}")
        content = {**manner, **recipe, "space": dict(space)}
        content["options"] = {"task": arguments.task, **options}
        return search(Path(arguments.study).name, content)
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
    found = replace(load_search(str(declared)), name=Path(arguments.study).name)
    if [*given] not in ([], ["trials"]):
        raise ValueError(
            f"the options of the study in {arguments.study} are in its {DECLARED}: leave out "
            f"{', '.join(_flag(name) for name in given if name != 'trials')}"
        )
    return replace(found, **manner)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _list(arguments: argparse.Namespace) -> int:
    """All searches, and how many of their trials have ended."""
    from deepnlp.search import load_search, read_trials, search_names
    from deepnlp.search.trials import logs_of

    rows = []
    for name in search_names():
        one = load_search(name)
        ended = len(read_trials(one, logs_of(one, Path(arguments.results))))
        rows.append((name, one.title, ended, one.trials))
    if arguments.json:
        keys = ("name", "title", "ended", "trials")
        print_json({"searches": [dict(zip(keys, row, strict=True)) for row in rows]})
    else:
        text = [[name, title, f"{ended} of {count}"] for name, title, ended, count in rows]
        print(table(["search", "title", ">trials"], text))
    return 0


def _report(arguments: argparse.Namespace, search: "Search", folder: Path, state: str) -> None:
    """The trials of a study and the best of them."""
    from deepnlp.search import best_of, read_trials
    from deepnlp.search.parameter import text
    from deepnlp.search.trials import begun, folder_of
    from deepnlp.training.result import figure_text

    trials = read_trials(search, folder)
    best = best_of(search, trials)
    if arguments.json:
        print_json(
            {
                **{"search": search.name, "study": str(folder), "state": state},
                "trials": [_as_table(search, trial) for trial in trials],
                "best": None if best is None else _as_table(search, best),
            }
        )
        return
    rows = [(t.number, t.values, figure_text(t.best), len(t.curve), t.status) for t in trials]
    for number, values, epochs in begun(search, folder):
        rows.append((number, values, "-", epochs, "not ended"))
    lines = [
        [str(number), *map(text, values.values()), figure, str(epochs), status]
        for number, values, figure, epochs, status in sorted(rows, key=lambda row: row[0])
    ]
    names = [f">{one.name}" for one in search.space]
    print(table([">trial", *names, f">{search.metric}", ">epochs", "state"], lines))
    print(f"{len(trials)} of {search.trials} trials have ended")
    if best is not None:
        run_folder = shlex.quote(str(folder_of(folder, best.number).path))
        print(
            f"best: trial {best.number} ({best.said()}), {search.metric} {figure_text(best.best)}"
        )
        print(f"on the test split: deepnlp evaluate {run_folder} --split test")


def _as_table(search: "Search", trial: "Trial") -> dict[str, Any]:
    return {
        "number": trial.number,
        "values": dict(trial.values),
        "status": trial.status,
        "epochs": len(trial.curve),
        "best_epoch": trial.best_epoch,
        search.metric: trial.best,
    }
