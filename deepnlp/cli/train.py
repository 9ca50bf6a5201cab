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
from typing import TYPE_CHECKING

from deepnlp.cli.output import aside, print_json
from deepnlp.cli.parser import Parser, add_json, at_least, file_name, option
from deepnlp.cli.training_options import (
    add_task_and_recipe,
    add_training_options,
    given_options,
)

if TYPE_CHECKING:
    from deepnlp.training import Result, RunFolder, TrainConfig

WATCH_EVERY = 50  # updates: a look costs about one, so a few percent


def configure(parser: Parser) -> None:
    """Add the options of this command and those of the task."""
    parser.usage = "%(prog)s [option ...]"
    folder = parser.add_argument_group("run folder")
    defaults = add_task_and_recipe(parser, folder)
    option(folder, "--name", "NAME of a new folder; by default that of the corpus", file_name)
    option(
        folder,
        "--overwrite",
        "replace the run in --out, when this one has its first checkpoint",
        bool,
    )
    option(folder, "--dry-run", "show the model and its memory, and stop", bool)
    option(
        folder,
        "--watch-gradients EVERY",
        "every EVERY updates, record how far back gradients reach in gradients.npz and "
        f"gradient_flow.png (default {WATCH_EVERY})",
        at_least(1),
        nargs="?",
        const=WATCH_EVERY,
    )
    add_json(folder)
    add_training_options(parser, defaults)


def run(arguments: argparse.Namespace) -> int:
    """Train, or with ``--dry-run`` only show what would be trained."""
    from deepnlp.training import RunFolder, plan

    if arguments.dry_run:
        planned = plan(_config(arguments, arguments.out))
        if arguments.json:
            print_json(vars(planned))
        else:
            print(planned.table())
        return 0
    if arguments.out is None:
        return _train(arguments, None)
    use = {"resume": arguments.resume, "overwrite": arguments.overwrite}
    with RunFolder(arguments.out).held(**use) as folder:  # before the work begins
        return _train(arguments, folder)


def _train(arguments: argparse.Namespace, folder: "RunFolder | None") -> int:
    from deepnlp.training.runs import build_run

    try:
        trainer = build_run(
            _config(arguments, folder),
            folder,
            name=arguments.name,
            watch_gradients=arguments.watch_gradients,
        )
    except FileNotFoundError as error:
        if not arguments.resume:
            raise
        raise FileNotFoundError(
            f"{error} ({arguments.out} names it; with --corpus, --vectors or --start-from say "
            "where it is now)"
        ) from error
    print(trainer.model.summary(), file=aside(arguments), flush=True)
    result = trainer.fit(resume=arguments.resume)
    _report(arguments, result, trainer.task.sample(trainer.model))
    if result.status == "interrupted":
        out = shlex.quote(str(result.folder))
        print(
            f"deepnlp: interrupted; go on with: deepnlp train --out {out} --resume",
            file=sys.stderr,
        )
        return 130
    return 0


def _config(arguments: argparse.Namespace, folder: "RunFolder | None") -> "TrainConfig":
    """The options of the run: from its folder to resume it, else from recipe and command line."""
    from deepnlp.training import configure, recipe, resumed_config

    explicit = given_options(arguments)
    if not arguments.resume:
        return configure(arguments.recipe, explicit, arguments.task)
    if folder is None:
        raise ValueError("--resume needs the folder of the run to go on with: --out DIR")
    if arguments.recipe is not None:
        explicit = {**recipe(arguments.recipe), **explicit}
    return resumed_config(folder, {"task": arguments.task, **explicit})


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
