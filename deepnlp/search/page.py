"""The page of a search, from its declaration and the logs of its trials alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deepnlp.errors import DeepNLPError
from deepnlp.files.writing import replacing
from deepnlp.reproduce.found import NO_VALUE
from deepnlp.reproduce.page import markdown
from deepnlp.search.declaration import Search
from deepnlp.search.importance import can_be_estimated
from deepnlp.search.parameter import text
from deepnlp.search.trials import ENDED, Trial, best_of, folder_of, logs_of, read_trials
from deepnlp.training.result import figure_text

SAMPLERS = {
    "tpe": "The values of a trial are chosen by a tree-structured Parzen estimator (Bergstra et "
    "al. 2011), those of the first {startup_trials} trials at random (seed {sampler_seed}).",
    "random": "The values of each trial are drawn at random (seed {sampler_seed}).",
    "grid": "The trials are the points of a grid.",
}
PRUNERS = {
    "median": "A trial is ended (pruned) after an epoch, from epoch {first} on, if its best "
    "validation is worse than the median of the finished trials at that epoch, of which there must "
    "be {startup_trials}.",
    "halving": "Trials are ended (pruned) by successive halving: at epochs that are three times as "
    "far each, a third of the trials goes on.",
    "none": "No trial is ended before its last epoch.",
}

IMPORTANCE = (
    "The importance of a parameter is the share of the difference between the finished trials that "
    "Optuna ascribes to it (PED-ANOVA: Watanabe, Bansal and Hutter 2023); of so few trials it is a "
    "rough estimate."
)


def render(search: Search, results: Path) -> str:
    """The text of the page; ``results`` is the folder of all results, such as ``docs/results``."""
    trials = read_trials(search, logs_of(search, results))
    best = best_of(search, trials)
    space = [[f"`{one.name}`", one.said()] for one in search.space]
    figures = [f"![{alt}](images/{file})" for file, alt in _figures(search)]
    parts = [
        f"# {search.title}",
        search.text.strip(),
        f"```\ndeepnlp search {search.name}\n```",
        _manner(search),
        markdown(["option", "values"], space, ["left", "left"]),
        f"{_progress(search, trials)} {_best(search, best)}".rstrip(),
        *(figures if trials else []),
        IMPORTANCE if can_be_estimated(search, trials) else "",
        search.notes.strip(),
        "## The trials",
        "Each links to its log, a line of figures an epoch; beside it are the options "
        "(`config.toml`) and the final figures (`result.json`).",
        _table(search, trials, best) if trials else "",
        f"This page is written from these logs by `deepnlp search {search.name} --page`.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def write_page(search: Search, results: Path) -> Path:
    """Write the page and its figures; gives the path of the page."""
    content = render(search, results)
    page = logs_of(search, results).with_suffix(".md")
    trials = read_trials(search, logs_of(search, results))
    if not trials:
        raise DeepNLPError(
            f"{logs_of(search, results)} holds no logs of trials: take them in with --take DIR"
        )
    from deepnlp.search.figure import draw_parameters, draw_trials  # matplotlib takes a second

    (results / "images").mkdir(exist_ok=True)
    for draw, (file, _) in zip((draw_trials, draw_parameters), _figures(search), strict=True):
        draw(search, trials, results / "images" / file)
    with replacing(page) as out:
        out.write(content.encode("utf-8"))
    return page


def _figures(search: Search) -> list[tuple[str, str]]:
    names = " and ".join(one.name for one in search.space)
    return [
        (f"search-{search.name}-trials.png", "Validation by epoch, and the best trial so far"),
        (f"search-{search.name}-parameters.png", f"The best validation of each trial by {names}"),
    ]


def _manner(search: Search) -> str:
    """How the space is searched, in sentences."""
    recipe = f"recipe `{search.recipe}`" if search.recipe else "options"
    found = {**vars(search), "first": search.warmup_epochs + 1}
    return " ".join(
        [
            f"The trials have the {recipe} in common, with {search.config.epochs} epochs at most.",
            SAMPLERS[search.sampler].format(**found),
            PRUNERS[search.pruner].format(**found),
            "The test split was not measured.",
        ]
    )


def _progress(search: Search, trials: Sequence[Trial]) -> str:
    states = [trial.status for trial in trials]
    counts = [f"{states.count(state)} {state}" for state in ENDED if state in states]
    if len(trials) == search.trials:
        return f"All {search.trials} trials have ended: {', '.join(counts)}."
    return f"{len(trials)} of {search.trials} trials have ended."


def _best(search: Search, best: Trial | None) -> str:
    if best is None:
        return ""
    return (
        f"The best of those that ran to their end is trial {best.number}, with {best.said()}: "
        f"validation {search.metric} {figure_text(best.best)} after epoch {best.best_epoch}."
    )


def _table(search: Search, trials: Sequence[Trial], best: Trial | None) -> str:
    """A line for each trial, the best in bold."""
    rows = []
    for trial in trials:
        seconds = trial.result.get("seconds")
        log = folder_of(logs_of(search, Path()), trial.number).metrics
        figure, number = figure_text(trial.best), f"{trial.number}"
        rows.append(
            [
                f"[{number}]({log.as_posix()})",
                *map(text, trial.values.values()),
                f"**{figure}**" if trial is best else figure,
                NO_VALUE if trial.best_epoch is None else str(trial.best_epoch),
                str(len(trial.curve)),
                NO_VALUE if seconds is None else f"{seconds / 60:.1f}",
                trial.status,
            ]
        )
    names = [f"`{one.name}`" for one in search.space]
    figure = f"best validation {search.metric}"
    headings = ["trial", *names, figure, "after epoch", "epochs", "minutes", "state"]
    return markdown(headings, rows, ["right"] * (len(headings) - 1) + ["left"])
