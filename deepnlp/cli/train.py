"""``deepnlp train``: train a language model, and show what it reaches."""

import argparse
import dataclasses
import shlex
import sys
from typing import TYPE_CHECKING, Any

from deepnlp.cli.output import aside, print_json
from deepnlp.cli.parser import add_json, at_least

if TYPE_CHECKING:
    from deepnlp.models import RNNLM
    from deepnlp.training import Result

EPILOG = """\
Options count in this order, from the weakest: the recipe, then what is said here. Ctrl-C ends
the step at hand and writes a checkpoint; --resume goes on from there as if nothing had happened.

examples:
  deepnlp train                                         the default model on the built-in corpus
  deepnlp train --corpus book.txt --epochs 10 --out runs/book
  deepnlp train --out runs/book --resume --epochs 20    go on with it
  deepnlp train --corpus ptb --recipe book-rnnlm --dry-run
"""
WATCH_EVERY = 50  # updates: a look costs about one, so a few percent
SENTENCE_WORDS = 8
METAVARS = {"corpus": "NAME|PATH", "tokenizer": "{words,chars,whitespace}"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command: its own, and every field of ``TrainConfig``.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    """
    from deepnlp.training.config import DEFAULT_RECIPE, recipe_names

    parser.epilog = EPILOG
    parser.usage = "%(prog)s [option ...]"
    recipes = ", ".join(recipe_names())
    parser.add_argument(
        "--recipe",
        metavar="NAME",
        help=f"options of a run whose result is known: {recipes}, or the path of a .toml file; "
        f"by default {DEFAULT_RECIPE}",
    )
    folder = parser.add_argument_group("run folder")
    folder.add_argument(
        "--out", metavar="DIR", help="the folder of the run; by default a new one, runs/NAME-TIME"
    )
    folder.add_argument("--name", help="NAME of a new folder; by default that of the corpus")
    folder.add_argument(
        "--resume",
        action="store_true",
        help="go on with the run in --out; of the options only --epochs may be larger",
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
        help="look every so many updates at how far back gradients reach, into gradients.npz and "
        f"gradient_flow.png (default {WATCH_EVERY})",
    )
    add_json(folder)
    _add_fields(parser)


def _add_fields(parser: argparse.ArgumentParser) -> None:
    """An option for every field of ``TrainConfig``; those that are not given leave no trace."""
    from deepnlp.training.config import TrainConfig

    groups: dict[str, Any] = {}
    for field in dataclasses.fields(TrainConfig):
        group = field.metadata["group"]
        if group not in groups:
            groups[group] = parser.add_argument_group(group)
        kind = type(field.default)
        help_text = field.metadata["help"].replace("%", "%%")
        options: dict[str, Any] = {"default": argparse.SUPPRESS}
        if kind is bool:
            options |= {"action": argparse.BooleanOptionalAction}
        else:
            choices = [choice for choice in field.metadata["choices"] if choice]
            options |= {"type": kind, "choices": choices or None}
            if not choices:
                options["metavar"] = METAVARS.get(field.name, {int: "N", float: "X"}.get(kind))
        if field.default != "":
            help_text += f" (default {_shown(field.default)})"
        name = "--" + field.name.replace("_", "-")
        groups[group].add_argument(name, help=help_text, **options)


def _shown(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else f"{value}"


def run(arguments: argparse.Namespace) -> int:
    """Train, or with ``--dry-run`` only say what would be trained.

    Parameters
    ----------
    arguments : argparse.Namespace

    Returns
    -------
    int
        The exit code: 0, or 130 after Ctrl-C.
    """
    from deepnlp.training import RunFolder, build_trainer, plan

    config = _config(arguments)
    if arguments.dry_run:
        planned = plan(config)
        if arguments.json:
            print_json(planned.to_dict())
        else:
            print(planned.table())
        return 0
    if arguments.out is not None:  # before the work begins
        RunFolder(arguments.out).check(resume=arguments.resume, overwrite=arguments.overwrite)
    trainer = build_trainer(
        config,
        arguments.out,
        overwrite=arguments.overwrite,
        name=arguments.name,
        watch_gradients=arguments.watch_gradients,
    )
    print(trainer.model.summary(), file=aside(arguments), flush=True)
    result = trainer.fit(resume=arguments.resume)
    _report(arguments, result, trainer.model)
    if result.status == "interrupted":
        folder = shlex.quote(str(result.folder))
        print(
            f"deepnlp: interrupted; go on with: deepnlp train --out {folder} --resume",
            file=sys.stderr,
        )
        return 130
    return 0


def _config(arguments: argparse.Namespace) -> Any:
    """The options of the run: from its folder to resume it, else from recipe and command line."""
    from deepnlp.training import TrainConfig, configure, recipe, resumed_config
    from deepnlp.training.config import DEFAULT_RECIPE

    names = [field.name for field in dataclasses.fields(TrainConfig)]
    explicit = {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}
    if not arguments.resume:
        return configure(arguments.recipe or DEFAULT_RECIPE, explicit)
    if arguments.out is None:
        raise ValueError("--resume needs the folder of the run to go on with: --out DIR")
    if arguments.recipe is not None:
        explicit = {**dataclasses.asdict(recipe(arguments.recipe)), **explicit}
    return resumed_config(arguments.out, explicit)


def _report(arguments: argparse.Namespace, result: "Result", model: "RNNLM") -> None:
    """The table of perplexities, a sentence of the model's own, and where the figure is."""
    sentence = _sentence(model)
    figure = None if result.figure is None else str(result.figure)
    if arguments.json:
        print_json({**result.to_dict(), "sample": sentence, "figure": figure})
        return
    print(f"\n{result.table()}\n\nsampled: {sentence}")
    if figure is not None:
        print(f"learning curve: {figure}")


def _sentence(model: "RNNLM") -> str:
    """The first sampled line with words enough for a sentence; the same for the same weights."""
    from deepnlp.generation import generate, vocabulary_of

    length = 240 if vocabulary_of(model).tokenizer == "chars" else 120
    text = generate(model, length=length, temperature=0.8, top_p=0.95, seed=0)
    lines = text.splitlines()
    long_enough = [line for line in lines if sum(map(str.isalpha, line.split())) >= SENTENCE_WORDS]
    return long_enough[0] if long_enough else max(lines, key=len, default="")
