"""The page on speed: its prose from ``page.md``, its numbers from the results alone."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from string import Template

from benchmarks.figures import FIGURES
from benchmarks.records import Goal
from benchmarks.results import Result, read_all
from benchmarks.suites import SUITES

TEMPLATE = Path(__file__).with_name("page.md")
NOTES = "notes.md"
IMAGES = "images"

CAPTIONS = {
    "speed": "Tokens a second of deepnlp, PyTorch and the bare products by hidden size",
    "profile": "Shares of the parts of a training step by hidden size",
    "roofline": "Parts of a training step under the limits of the processor and the memory",
    "techniques": "How much longer a step takes without each technique",
    "bottleneck": "Cost of the softmax against the size of the embedding",
    "scaling": "Time of a training step against T, N, H and V",
    "processes": "How much quicker a step is with 1 to 1,024 processes, by the model",
}


def write_page(path: str | PathLike[str], results: str | PathLike[str]) -> list[Path]:
    """Write the page, and its figures into the folder ``images`` beside it.

    What is written by hand about goals that were missed comes from ``notes.md`` beside the folder
    of the results.

    Parameters
    ----------
    path : str or path
        Of the page.
    results : str or path
        Folder of the results.

    Returns
    -------
    list of path
        What was written.

    Raises
    ------
    FileNotFoundError
        If there are no results.
    """
    found = read_all(Path(results))
    notes = Path(results).parent / NOTES
    text = render(found, notes.read_text(encoding="utf-8") if notes.exists() else "")
    page = Path(path)
    images = page.parent / IMAGES
    images.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")
    written = [page]
    for suite, figures in FIGURES.items():
        for name, draw in figures.items():
            if suite in found:
                written.append(images / image(name))
                draw(found[suite]).savefig(written[-1], metadata={"Software": None})
    return written


def image(name: str) -> str:
    """Name of the file of a figure.

    Examples
    --------
    >>> image("roofline")
    'performance-roofline.png'
    """
    return f"performance-{name}.png"


def render(results: Mapping[str, Result], notes: str = "") -> str:
    """The text of the page.

    Parameters
    ----------
    results : mapping of str to Result
        As :func:`benchmarks.results.read_all` gives them.
    notes : str
        Written by hand: what was tried where a goal is missed.
    """
    blanks = {suite: section(suite, results.get(suite)) for suite in SUITES}
    blanks |= {
        "conditions": conditions(results),
        "goals": missed(results),
        "notes": notes.strip(),
        "gpu": gpu(results),
    }
    lines = Template(TEMPLATE.read_text(encoding="utf-8")).substitute(blanks).split("\n")
    kept = [line for k, line in enumerate(lines) if line or k == 0 or lines[k - 1]]
    return "\n".join(kept)


def section(suite: str, result: Result | None, figures: bool = True) -> str:
    """Figures and tables of a suite, or a sentence that it was not run."""
    if result is None:
        return f"Not measured yet: `deepnlp bench {suite}`."
    pictures = [
        f"![{CAPTIONS[name]}]({IMAGES}/{image(name)})"
        for name in (FIGURES.get(suite, {}) if figures else {})
    ]
    tables = [
        f"**{table.title}**\n\n{table.markdown()}\n\n{source(result)}"
        for table in SUITES[suite].tables(result)
    ]
    return "\n\n".join([*pictures, *tables])


def source(result: Result) -> str:
    """The command that repeats a table, with the date and the commit."""
    facts = result.facts
    told = [f"`{facts['command']}`", facts["date"]]
    if facts["commit"]:
        told.append(f"commit {facts['commit'][:7]}{' with changes' if facts['dirty'] else ''}")
    return ", ".join(told)


def conditions(results: Mapping[str, Result]) -> str:
    """Machines, versions and threads, each combination once."""
    lines: dict[str, list[str]] = {}
    for name, result in results.items():
        lines.setdefault(_condition(result), []).append(name)
    return "\n".join(f"- {', '.join(names)}: {text}" for text, names in lines.items())


def _condition(result: Result) -> str:
    machine, versions = result.facts["machine"], result.facts["versions"]
    caches = ", ".join(f"{level} {size}" for level, size in machine["caches"].items())
    told = [f"{machine['cpu']}, {machine['cores']} cores" + (f" ({caches})" if caches else "")]
    if machine["memory_gb"]:
        told.append(f"{machine['memory_gb']} GB")
    if machine["gpu"]:
        told.append(f"{machine['gpu']}, TF32 {'on' if result.options['tf32'] else 'off'}")
    told.append(machine["os"])
    named = [f"{name} {number}" for name, number in versions.items() if name != "deepnlp"]
    threads = result.options["threads"]
    return f"{'; '.join(told)}; {', '.join(named)}; {threads} thread{'s' * (threads > 1)}"


def missed(results: Mapping[str, Result]) -> str:
    """Which goals were missed, and by how much."""
    goals = [goal for one in results.values() for goal in SUITES[one.suite].goals(one)]
    short = [goal for goal in goals if not goal.met]
    if not goals:
        return "No goal is set for what was measured."
    if not short:
        return f"All {len(goals)} goals are met."
    told = f"Of {len(goals)} goals {len(short)} are not met in every round:"
    return "\n".join([told, "", *map(_missed_line, short)])


def _missed_line(goal: Goal) -> str:
    return f"- {goal.what}: {goal.reached}, wanted {goal.verdict()}"


def gpu(results: Mapping[str, Result]) -> str:
    """Return the measurements of a GPU, or a sentence that there are none."""
    timed = {name: one for name, one in results.items() if one.options["backend"] == "cupy"}
    if not timed:
        return (
            "No GPU was timed: there is no result of `deepnlp bench --backend cupy`. That the CUDA "
            "kernels compile and what they compute is tested; how fast they are is not known."
        )
    names = ", ".join(dict.fromkeys(one.facts["machine"]["gpu"] for one in timed.values()))
    parts = [section(one.suite, one, figures=False) for one in timed.values()]
    return "\n\n".join([f"Timed on {names}.", *parts])
