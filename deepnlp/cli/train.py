"""``deepnlp train``: train a model, and show what it reaches.

An option given here replaces that of the recipe. After Ctrl-C the current step is finished and a
checkpoint written; --resume continues from there with the same result as without a break.

examples:
  deepnlp train                                         the default model on the built-in corpus
  deepnlp train --corpus book.txt --epochs 10 --out runs/book
  deepnlp train --out runs/book --resume --epochs 20    continue it
  deepnlp train --corpus ptb --recipe book-rnnlm --dry-run
  deepnlp train --recipe multi30k-de-en --out runs/de-en       a translation
  deepnlp train --task tag --epochs 2                   restore capital letters
"""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnlp.cli.output import aside, print_json
from deepnlp.cli.parser import Parser, add_json, at_least, several

if TYPE_CHECKING:
    from deepnlp.options import Option
    from deepnlp.training import Result, TrainConfig

WATCH_EVERY = 50  # updates: a look costs about one, so a few percent


def configure(parser: Parser) -> None:
    """Add the options of this command and those of the task."""
    from deepnlp.tasks import TASKS
    from deepnlp.training.config import option_groups, recipe_names

    defaults = _defaults(parser.arguments)
    task = defaults.task
    parser.usage = "%(prog)s [option ...]"
    parser.add_argument(
        "--task",
        choices=[*TASKS],
        default=task,
        help="what to train for; with --help after it, its options are shown (default lm)",
    )
    recipes = ", ".join(recipe_names())
    parser.add_argument(
        "--recipe",
        metavar="NAME",
        help=f"options of a run whose result is known: {recipes}, or the path of a .toml file",
    )
    folder = parser.add_argument_group("run folder")
    folder.add_argument(
        "--out", metavar="DIR", help="the folder of the run; by default a new one, runs/NAME-TIME"
    )
    folder.add_argument("--name", help="NAME of a new folder; by default that of the corpus")
    folder.add_argument(
        "--resume",
        action="store_true",
        help="continue the run in --out; no option may change, except --epochs to a larger number",
    )
    folder.add_argument("--overwrite", action="store_true", help="replace the run in --out")
    folder.add_argument(
        "--dry-run", action="store_true", help="show the model and its memory, and stop"
    )
    folder.add_argument(
        "--watch-gradients",
        type=at_least(1),
        nargs="?",
        const=WATCH_EVERY,
        metavar="EVERY",
        help="every EVERY updates, record how far back gradients reach in gradients.npz and "
        f"gradient_flow.png (default {WATCH_EVERY})",
    )
    add_json(folder)
    for heading, options in option_groups(task).items():
        group = parser.add_argument_group(heading)
        for option in options.values():
            _add(group, option, defaults[option.name])
    for other in TASKS:
        for options in option_groups(other).values():
            for name in ("--" + option.replace("_", "-") for option in options):
                if name not in parser._option_string_actions:
                    tasks = f"{parser.elsewhere[name]} or" if name in parser.elsewhere else "--task"
                    parser.elsewhere[name] = f"{tasks} {other}"


def _defaults(argv: Sequence[str]) -> "TrainConfig":
    """The options of a call before its own: of the resumed run, the recipe or the task."""
    from deepnlp.training import TrainConfig, configure

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for name in ("--task", "--recipe", "--out"):
        parser.add_argument(name)
    parser.add_argument("--resume", action="store_true")
    try:
        said, _ = parser.parse_known_args(argv)
        if said.resume and said.out:
            return TrainConfig.load(Path(said.out) / "config.toml")
        return configure(said.recipe, task=said.task)
    except (argparse.ArgumentError, ValueError, OSError):
        return TrainConfig()  # the error is reported when the options are read again


def _add(group: Any, option: "Option", default: Any) -> None:
    """Add an option to a group; one that is not given is not in the namespace."""
    help_text = option.help.replace("%", "%%")
    details: dict[str, Any] = {"default": argparse.SUPPRESS}
    if option.kind is bool:
        details |= {"action": argparse.BooleanOptionalAction}
    else:
        kind = several(option.kind) if option.several else option.kind
        details |= {"type": kind, "choices": option.choices or None}
        if not option.choices:
            details["metavar"] = option.metavar or {int: "N", float: "X"}.get(option.kind)
    if default is not None:
        shown = {True: "yes", False: "no"}[default] if option.kind is bool else default
        help_text += f" (default {shown})"
    group.add_argument("--" + option.name.replace("_", "-"), help=help_text, **details)


def run(arguments: argparse.Namespace) -> int:
    """Train, or with ``--dry-run`` only show what would be trained."""
    from deepnlp.training import RunFolder, plan
    from deepnlp.training.runs import build_run

    config = _config(arguments)
    if arguments.dry_run:
        planned = plan(config)
        if arguments.json:
            print_json(vars(planned))
        else:
            print(planned.table())
        return 0
    if arguments.out is not None:  # before the work begins
        RunFolder(arguments.out).check(resume=arguments.resume, overwrite=arguments.overwrite)
    trainer = build_run(
        config,
        arguments.out,
        overwrite=arguments.overwrite,
        name=arguments.name,
        watch_gradients=arguments.watch_gradients,
    )
    print(trainer.model.summary(), file=aside(arguments), flush=True)
    result = trainer.fit(resume=arguments.resume)
    _report(arguments, result, trainer.task.sample(trainer.model))
    if result.status == "interrupted":
        folder = shlex.quote(str(result.folder))
        print(
            f"deepnlp: interrupted; go on with: deepnlp train --out {folder} --resume",
            file=sys.stderr,
        )
        return 130
    return 0


def _config(arguments: argparse.Namespace) -> "TrainConfig":
    """The options of the run: from its folder to resume it, else from recipe and command line."""
    from deepnlp.training import configure, recipe, resumed_config
    from deepnlp.training.config import option_groups

    names = [name for group in option_groups(arguments.task).values() for name in group]
    explicit = {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}
    if not arguments.resume:
        return configure(arguments.recipe, explicit, arguments.task)
    if arguments.out is None:
        raise ValueError("--resume needs the folder of the run to go on with: --out DIR")
    if arguments.recipe is not None:
        explicit = {**recipe(arguments.recipe), **explicit}
    return resumed_config(arguments.out, {"task": arguments.task, **explicit})


def _report(arguments: argparse.Namespace, result: "Result", sample: str | None) -> None:
    """Print the table of figures, a sample, and the path of the learning curve."""
    figure = None if result.figure is None else str(result.figure)
    if arguments.json:
        print_json({**result.to_dict(), "sample": sample, "figure": figure})
        return
    print(f"\n{result.table()}\n")
    if sample is not None:
        print(f"sampled: {sample}")
    if figure is not None:
        print(f"learning curve: {figure}")
