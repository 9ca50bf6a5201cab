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

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from deepnlp.cli.interrupted import INTERRUPTED
from deepnlp.cli.parser import flag
from deepnlp.cli.reproduce import RESULTS, Results, Take, What, list_studies, say, write_page
from deepnlp.cli.shared import Answer
from deepnlp.cli.train import Recipe, Task, configure, defaults_of
from deepnlp.files.tables import table
from deepnlp.options import Option
from deepnlp.studies.declaration import declared_names
from deepnlp.studies.logs import Logs
from deepnlp.studies.parameter import parse, text
from deepnlp.studies.running import run_search
from deepnlp.studies.sampling import DECLARED
from deepnlp.studies.search import PRUNERS, SAMPLERS, Search, build_search, load_search
from deepnlp.studies.trials import Trial, begun_trials, best_of, read_trials
from deepnlp.training.result import figure_text

__all__ = ["configure", "run"]

STUDIES = "runs/search"

Number = Annotated[int | None, Option(low=0)]


def run(
    name: Annotated[str | None, Option(metavar="SEARCH")] = None,
    *,
    study: Annotated[str | None, Option(metavar="DIR")] = None,
    workers: Annotated[int, Option("processes", low=1, high=64)] = 1,
    space: Annotated[Sequence[str], Option(metavar="OPTION=VALUES")] = (),
    trials: Annotated[int | None, Option(low=1, high=1_000_000)] = None,
    sampler: Annotated[str | None, Option(choices=SAMPLERS)] = None,
    sampler_seed: Number = None,
    startup_trials: Number = None,
    pruner: Annotated[str | None, Option(choices=PRUNERS)] = None,
    warmup_epochs: Number = None,
    results: Results = RESULTS,
    status: What = False,
    take: Take = None,
    page: What = False,
    task: Task = None,
    recipe: Recipe = None,
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
    trials : int, optional
        number of trials; without it all points of the space.
    sampler : str, optional
        how values are chosen (default tpe).
    sampler_seed : int, optional
        its seed (default 0).
    startup_trials : int, optional
        trials before tpe and median begin (default 5).
    pruner : str, optional
        how trials that are not promising are ended (default median).
    warmup_epochs : int, optional
        epochs in which none is ended (default 1).
    status : bool
        only list the trials.
    take : str, optional
        take in the logs of a study of SEARCH, and write the page.
    page : bool
        only write the page from the logs.
    task : str, optional
        what to train for; with --help after it, its options are shown (default lm).
    """
    manner = {
        "trials": trials,
        "sampler": sampler,
        "sampler_seed": sampler_seed,
        "startup_trials": startup_trials,
        "pruner": pruner,
        "warmup_epochs": warmup_epochs,
        "recipe": recipe,
    }
    manner = {key: value for key, value in manner.items() if value is not None}
    chosen = _search(name, study, task, space, manner, options)
    if chosen is None:
        return _list(Path(results))
    folder = Path(study or f"{STUDIES}/{chosen.name}")
    if status:
        return _report(chosen, folder, "status")
    if take is not None:
        taken = Logs(chosen, Path(results) / chosen.folder).take(Path(take))
        numbers = ", ".join(str(chosen.run_names.index(name)) for name in taken)
        print(f"taken in: trials {numbers}")
    if take is not None or page:
        return write_page(chosen, results)
    state = run_search(chosen, folder, workers, say=say)
    if state == "interrupted":
        print("interrupted; the same command goes on")
    return _report(chosen, folder, state)


def _search(
    name: str | None,
    study: str | None,
    task: str | None,
    space: Sequence[str],
    manner: dict[str, Any],
    options: dict[str, Any],
) -> Search | None:
    """The search of a file, of the folder of a study, or of the command line; None for a list."""
    given = [*({"space": 1} if space else {}), *manner, *options]
    if name is not None:
        _leave_out(f"search {name} are in its file", given)
        return load_search(name)
    if space:
        if study is None:
            raise ValueError("--space needs a folder for the trials: --study DIR")
        points = [parse(point) for point in space]
        names = [name for name, _ in points]
        if len({*names}) < len(names):
            raise ValueError(f"--space has an option twice: {', '.join(names)}")
        task = task or defaults_of(recipe=manner.get("recipe")).task
        content = {**manner, "space": dict(points), "options": {"task": task, **options}}
        return build_search(Path(study).name, content)
    if study is None:
        if given:
            raise ValueError(
                f"{flag(given[0])} needs a space to search: --space OPTION=LOW:HIGH, or "
                "OPTION=VALUE,..."
            )
        return None
    declared = Path(study) / DECLARED
    if not declared.exists():
        raise FileNotFoundError(
            f"no study in {study}: it has no {DECLARED}; begin one with --space"
        )
    begun = replace(load_search(str(declared)), name=Path(study).name)
    others = [name for name in given if name != "trials"]
    _leave_out(f"the study in {study} are in its {DECLARED}", others)
    return replace(begun, **manner)


def _leave_out(where: str, given: Iterable[str]) -> None:
    """An error if options were given that are known already."""
    if given:
        raise ValueError(f"the options of {where}: leave out {', '.join(map(flag, given))}")


def _list(results: Path) -> Answer:
    """All searches, and how many of their trials have ended."""
    rows = []
    for search in map(load_search, declared_names("search")):
        ended = Logs(search, results / search.folder).read_all()
        rows.append((search.name, search.title, len(ended), search.trials))
    return list_studies("searches", ("search", ">trials"), ("ended", "trials"), rows)


def _report(search: Search, folder: Path, state: str) -> Answer:
    """The trials of a study and the best of them."""
    trials = read_trials(search, folder)
    best = best_of(search, trials)
    facts = {
        **{"search": search.name, "study": str(folder), "state": state},
        "trials": [_as_json(search, trial) for trial in trials],
        "best": None if best is None else _as_json(search, best),
    }
    rows = [(t.number, t.values, figure_text(t.best), len(t.curve), t.status) for t in trials]
    for number, values, epochs in begun_trials(search, folder):
        rows.append((number, values, "-", epochs, "not ended"))
    cells = [
        [str(number), *map(text, values.values()), figure, str(epochs), status]
        for number, values, figure, epochs, status in sorted(rows, key=lambda row: row[0])
    ]
    names = [f">{parameter.name}" for parameter in search.space]
    lines = [table([">trial", *names, f">{search.metric}", ">epochs", "state"], cells)]
    lines.append(f"{len(trials)} of {search.trials} trials have ended")
    if best is not None:
        figure = f"{search.metric} {figure_text(best.best)}"
        lines.append(f"best: trial {best.number} ({best.describe()}), {figure}")
        run_folder = shlex.quote(str(best.run.folder.path))
        lines.append(f"on the test split: deepnlp evaluate {run_folder} --split test")
    return Answer(facts, "\n".join(lines), INTERRUPTED if state == "interrupted" else 0)


def _as_json(search: Search, trial: Trial) -> dict[str, Any]:
    return {
        "number": trial.number,
        "values": dict(trial.values),
        "status": trial.status,
        "epochs": len(trial.curve),
        "best_epoch": trial.best_epoch,
        search.metric: trial.best,
    }
