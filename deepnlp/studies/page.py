"""The page of a study, from its declaration and the committed logs alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deepnlp.errors import DeepNLPError
from deepnlp.files.writing import replacing
from deepnlp.studies.cells import Line, figures_of, markdown, table_lines
from deepnlp.studies.logs import ENDED, NOT_RUN, Logs, Run
from deepnlp.studies.parameter import text
from deepnlp.studies.sampling import can_estimate_importance
from deepnlp.studies.search import Search
from deepnlp.studies.study import Column
from deepnlp.studies.table import Table
from deepnlp.studies.trials import best_of, trials_of
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
SOME_RUNS = "runs have finished; a row of which none has says"
SEEDS = "Figures that differ between seeds are given as mean ± standard deviation of the runs."
IMPORTANCE = (
    "The importance of a parameter is the share of the difference between the finished trials that "
    "Optuna ascribes to it (PED-ANOVA: Watanabe, Bansal and Hutter 2023); of so few trials it is a "
    "rough estimate."
)


LOG = "({run.folder}/{run.name}/metrics.jsonl)"
RUNS = [
    Column("run", "[{run.name}]" + LOG, "left"),
    Column("seed", "{run.seed}"),
    Column("epochs", "{run.epochs}"),
    Column("updates", "{run.steps:,}"),
    Column("minutes", "{run.minutes:.1f}"),
    Column("of the processor", "{run.cpu_minutes:.1f}"),
    Column("memory (MB)", "{run.peak_memory_mb:,.0f}"),
    Column("with", "{run.versions.backend}, Python {run.versions.python}", "left"),
    Column("processor", "{run.versions.processor}", "left"),
]


def render(study: Table | Search, results: Path) -> str:
    """The text of the page.

    Parameters
    ----------
    study : Table or Search
    results : path
        The folder of all results, such as ``docs/results``.

    Raises
    ------
    DeepNLPError
        If a log is not that of the run which the study states.
    """
    return _page(study, Logs(study, results / study.folder).read_all())


def write_page(study: Table | Search, results: Path) -> Path:
    """Write the page and its figures; gives the path of the page.

    Parameters
    ----------
    study : Table or Search
    results : path

    Raises
    ------
    DeepNLPError
        As :func:`render`; and if a search has no logs, since there is nothing to draw.
    """
    folder = results / study.folder
    runs = Logs(study, folder).read_all()
    content = _page(study, runs)
    if isinstance(study, Search) and not runs:
        raise DeepNLPError(f"{folder} holds no logs of trials: take them in with --take DIR")
    files = [results / file for file, _ in _figures(study, runs)]
    (results / "images" if files else results).mkdir(parents=True, exist_ok=True)
    if files:
        from deepnlp.studies.figure import draw  # matplotlib takes a second to import

        draw(study, runs, files)
    page = results / f"{study.folder}.md"
    with replacing(page) as file:
        file.write(content.encode("utf-8"))
    return page


def _page(study: Table | Search, runs: Sequence[Run]) -> str:
    call = f"deepnlp {study.command} {study.name}"
    images = [f"![{alt}]({file})" for file, alt in _figures(study, runs)]
    if isinstance(study, Table):
        body, columns, lines = _table_parts(study, runs, images)
    else:
        body, columns, lines = _search_parts(study, runs, images)
    parts = [
        f"# {study.title}",
        study.text.strip(),
        f"```\n{call}\n```",
        *body,
        study.notes.strip(),
        f"## The {'runs' if isinstance(study, Table) else 'trials'}",
        "Each links to its log, a line of figures an epoch; beside it are the options "
        "(`config.toml`) and the final figures (`result.json`).",
        markdown(columns, lines),
        f"This page is written from these logs by `{call} --page`.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _figures(study: Table | Search, runs: Sequence[Run]) -> list[tuple[str, str]]:
    """The files of the figures of a page, and what each shows."""
    stem = f"images/{study.folder}"
    if isinstance(study, Table):
        shown = any(study.job_of(run.name).row.shown for run in runs)
        return [(f"{stem}.png", study.figure.title)] if study.figure and shown else []
    names = " and ".join(parameter.name for parameter in study.space)
    trials = f"{stem}-trials.png", "Validation by epoch, and the best trial so far"
    parameters = f"{stem}-parameters.png", f"The best validation of each trial by {names}"
    return [trials, parameters] if runs else []


Parts = tuple[list[str], list[Column], list[Line]]  # the body, and the table of runs below it


def _table_parts(table: Table, runs: Sequence[Run], images: Sequence[str]) -> Parts:
    """Of the page of a table."""
    lines = table_lines(table, runs)
    count = len(table.jobs)
    progress = f"All {count} runs have finished."
    if len(runs) < count:
        progress = f'{len(runs)} of {count} {SOME_RUNS} "{NOT_RUN}".'
    if max(len(table.seeds_of(row)) for row in table.rows) != 1:
        progress = f"{progress} {SEEDS}"
    shown = [line for line in lines if line.row["shown"]]
    body = [progress, markdown(table.columns, shown), *images]
    return body, RUNS, [Line([run]) for line in lines for run in line.runs]


def _search_parts(search: Search, runs: Sequence[Run], images: Sequence[str]) -> Parts:
    """Of the page of a search; the best trial is in bold."""
    trials = trials_of(search, runs)
    best, statuses = best_of(search, trials), [trial.status for trial in trials]
    recipe = f"recipe `{search.recipe}`" if search.recipe else "options"
    facts = {**vars(search), "first": search.warmup_epochs + 1}
    manner = [
        f"The trials have the {recipe} in common, with {search.config.epochs} epochs at most.",
        SAMPLERS[search.sampler].format(**facts),
        PRUNERS[search.pruner].format(**facts),
        "The test split was not measured.",
    ]
    counts = [f"{statuses.count(status)} {status}" for status in ENDED if status in statuses]
    progress = f"{len(trials)} of {search.trials} trials have ended."
    if len(trials) == search.trials:
        progress = f"All {search.trials} trials have ended: {', '.join(counts)}."
    if best is not None:
        progress += (
            f" The best of those that ran to their end is trial {best.number}, with "
            f"{best.describe()}: validation {search.metric} {figure_text(best.best)} after epoch "
            f"{best.best_epoch}."
        )
    option, values = (
        Column("option", "`{row.name}`", "left"),
        Column("values", "{row.values}", "left"),
    )
    space = [Line([], {"name": p.name, "values": p.describe()}) for p in search.space]
    importance = IMPORTANCE if can_estimate_importance(search, trials) else ""
    body = [" ".join(manner), markdown([option, values], space), progress, *images, importance]
    columns = [
        Column("trial", "[{run.number}]" + LOG),
        *(Column(f"`{p.name}`", f"{{run.values.{p.name}}}") for p in search.space),
        Column(f"best validation {search.metric}", "{run.best}"),
        Column("after epoch", "{run.best_epoch}"),
        Column("epochs", "{run.epochs}"),
        Column("minutes", "{run.minutes:.1f}"),
        Column("state", "{run.status}", "left"),
    ]
    lines = []
    for trial in trials:
        figure = figure_text(trial.best)
        chosen = {name: text(value) for name, value in trial.values.items()}
        own = {"number": trial.number, "values": chosen, "best_epoch": trial.best_epoch}
        own |= {"folder": search.folder, "best": f"**{figure}**" if trial is best else figure}
        lines.append(Line([figures_of(trial.run, **own)]))
    return body, columns, lines
