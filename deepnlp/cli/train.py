"""``deepnlp train``: train a model, and show what it reaches.

An option given here replaces that of the recipe. After Ctrl-C the current step is finished and a
checkpoint written; --resume continues from there with the same result as without a break.
--help-all shows all options: regularisation, gates, other models, schedules.

examples:
  deepnlp train                                         the default model on the built-in corpus
  deepnlp train --corpus book.txt --epochs 10 --out runs/book
  deepnlp train --checkup                               examine it first, some seconds
  deepnlp train --out runs/book --resume --epochs 20    continue it
  deepnlp train --corpus ptb --recipe book-rnnlm --dry-run
  deepnlp train --corpus letters.csv --column text --keep-case --out runs/letters
  deepnlp train --task seq2seq --corpus talks.de,talks.en      a translation of your sentences
  deepnlp train --recipe multi30k-de-en --out runs/de-en       a translation
  deepnlp train --task tag --epochs 2                   restore capital letters
  mpiexec -n 4 deepnlp train --out runs/four --distributed     four processes, one result
"""

import argparse
import shlex
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from deepnlp import training
from deepnlp.backend.processes import ALONE, Group
from deepnlp.checkup import check_training
from deepnlp.checkup.verdicts import sentences, verdict
from deepnlp.cli.interrupted import INTERRUPTED
from deepnlp.cli.parser import Parser, add_option, declare, flag
from deepnlp.cli.shared import Answer, CorpusName, Flag, megabytes
from deepnlp.kernels import without_quick_form
from deepnlp.layer import Layer
from deepnlp.options import Option
from deepnlp.reports.reporter import Reporter
from deepnlp.tasks import TASKS
from deepnlp.training import Result, RunFolder, TrainConfig, Trainer
from deepnlp.training.config import all_options, option_groups
from deepnlp.training.runs import build_run

LARGE = 5_000_000  # bytes: some seconds of reading
WATCH_EVERY = 50  # updates: a look costs about one, so a few percent
RECIPES = f"{', '.join(training.recipe_names())}, or the path of a .toml file"

FIRST = (  # what --help shows; --help-all shows the others too
    "help", "help_all", "task", "recipe", "out", "resume", "overwrite", "dry_run", "corpus",
    "vocab_size", "tokens", "model", "embed_size", "hidden_size", "layers", "cell", "tie",
    "dropout", "optimizer", "lr", "batch_size", "time_size", "epochs", "seed",
)  # fmt: skip

Task = Annotated[str | None, Option(choices=TASKS)]
Recipe = Annotated[
    str | None, Option(f"options of a run whose result is known: {RECIPES}", metavar="NAME")
]
Folder = Annotated[str | None, Option(metavar="DIR")]
Chosen = Annotated[str | None, Option()]


def file_name(text: str) -> str:
    """Return the value of an option that is part of the name of a file or folder, and no path.

    >>> file_name("../book")
    Traceback (most recent call last):
        ...
    argparse.ArgumentTypeError: should be a name without folders, got '../book'
    """
    if not text or text.startswith(".") or not text.isprintable() or Path(text).name != text:
        raise argparse.ArgumentTypeError(f"should be a name without folders, got {text!r}")
    return text


def run(
    *,
    task: Task = None,
    recipe: Recipe = None,
    out: Folder = None,
    resume: Flag = False,
    name: Annotated[str | None, Option(metavar="NAME", details={"type": file_name})] = None,
    overwrite: Flag = False,
    dry_run: Flag = False,
    checkup: Flag = False,
    distributed: Flag = False,
    watch_gradients: Annotated[
        int | None, Option(metavar="EVERY", low=1, details={"nargs": "?", "const": WATCH_EVERY})
    ] = None,
    sample_every: Annotated[int | None, Option(metavar="N", low=1)] = None,
    **options: Any,
) -> Answer:
    """Train, or with ``--dry-run`` only show what would be trained.

    Parameters
    ----------
    task : str, optional
        what to train for; with --help-all after it, its options are shown (default lm).
    out : str, optional
        the folder of the run; by default a new one, runs/NAME-TIME.
    resume : bool
        continue the run in --out; --epochs may be larger, --corpus, --vectors and --start-from say
        where the same files are now, and no option may change that training depends on.
    name : str, optional
        NAME of a new folder; by default that of the corpus.
    overwrite : bool
        replace the run in --out, when this one has its first checkpoint.
    dry_run : bool
        show the model and its memory, and stop.
    checkup : bool
        examine the training first by experiments with its step, which are put back, and train only
        if nothing is wrong.
    distributed : bool
        share the --accumulate slices of each batch (4 unless it is more) out between the processes
        that mpiexec has started; their number, a power of 2, does not change the result.
    watch_gradients : int, optional
        every EVERY updates, record how far back gradients reach in gradients.npz and
        gradient_flow.png (default 50).
    sample_every : int, optional
        every N updates, write down in steps.jsonl what the model makes, for its report.
    **options
        Those of the training run.
    """
    group = Group.world() if distributed else ALONE
    with group, ExitStack() as stack:
        group.let_first_speak()
        asked = {"task": task, "recipe": recipe, "resume": resume, "overwrite": overwrite}
        group.agree(**asked, **{name: str(value) for name, value in options.items()})
        config = group.shared(lambda: _config(task, recipe, out, resume, options))
        if (path := Path(config.corpus)).is_file() and path.stat().st_size >= LARGE:
            size = megabytes(path.stat().st_size)
            print(f"reading {path}, {size} ...", file=sys.stderr, flush=True)
        if dry_run:
            planned = training.plan(config)
            return Answer(vars(planned), planned.table())
        others = {"name": name, "watch_gradients": watch_gradients, "distributed": distributed}
        use = {"resume": resume, "overwrite": overwrite}
        if out is not None:  # before the work begins
            folder = group.first(lambda: stack.enter_context(RunFolder(out).held(**use)))
        else:
            folder = None
        try:
            trainer = group.in_turn(lambda: build_run(config, folder, **others))
        except FileNotFoundError as error:
            if not resume:
                raise
            raise FileNotFoundError(
                f"{error} ({out} names it; with --corpus, --vectors or --start-from say where it "
                "is now)"
            ) from error
        reporter = None
        if isinstance(trainer, Trainer) and group is ALONE:
            reporter = Reporter(trainer, sample_every)
            trainer.hooks.append(reporter)
        print("\n".join([trainer.model.summary(), *plain_forms(trainer.model)]), flush=True)
        if checkup and not resume:
            report = check_training(trainer)
            print(report, flush=True)
            if not report.ok:
                return Answer({"checkup": report.to_dict()}, "nothing was trained", 1)
        result = trainer.fit(resume=resume)
        answer = _answer(trainer, result, reporter)
        return answer if group.rank == 0 else Answer({}, None, answer.code)


def plain_forms(model: Any) -> list[str]:
    """Return a line that names the layers whose quick form is not used, if there are any."""
    kernels = without_quick_form()
    homes = {kernel.__module__ for kernel in kernels}
    kinds = {type(layer) for layer in (model._layers() if isinstance(model, Layer) else [])}
    layers = [kind.__name__ for kind in kinds if homes & {base.__module__ for base in kind.__mro__}]
    names = ", ".join(kernel.name for kernel in kernels)
    where = f" (in {', '.join(sorted(layers))})" if layers else ""
    return [f"  in their plain form: {names}{where}"] if kernels else []


def _answer(trainer: Any, result: Result, reporter: Reporter | None) -> Answer:
    """Return the result of a run, with a sample of what its model does."""
    sample = trainer.task.sample(trainer.model)
    figure = None if result.figure is None else str(result.figure)
    lines = [f"\n{result.table()}\n"]
    noted = []
    if isinstance(trainer, Trainer):  # counting has no course to judge
        said = verdict(trainer.history, result, {"max_norm": trainer.max_norm})
        noted = said.noted
        lines += [] if result.status == "interrupted" else sentences(said)
    lines += [] if sample is None else [f"sampled: {sample}"]
    lines += [] if figure is None else [f"learning curve: {figure}"]
    page = reporter and reporter.end()
    lines += [f"page of the run: {page or f'deepnlp report {result.folder}'}"] if reporter else []
    facts = {**result.to_dict(), "sample": sample, "figure": figure, "verdict": noted}
    if result.status != "interrupted":
        return Answer(facts, "\n".join(lines))
    command = f"deepnlp train --out {shlex.quote(str(result.folder))} --resume"
    print(f"deepnlp: interrupted; go on with: {command}", file=sys.stderr)
    return Answer(facts, "\n".join(lines), INTERRUPTED)


def _config(
    task: str | None, recipe: str | None, out: str | None, resume: bool, options: dict[str, Any]
) -> TrainConfig:
    """Return the options of the run: of its folder when resumed, else recipe and command line."""
    if not resume:
        return training.configure(recipe, options, task)
    if out is None:
        raise ValueError("--resume needs the folder of the run to go on with: --out DIR")
    stated = {} if recipe is None else training.recipe(recipe)
    asked = {} if task is None else {"task": task}
    return training.resumed_config(out, {**stated, **asked, **options})


def configure(parser: Parser, argv: Sequence[str]) -> None:
    """Add the options of the task that is asked for; those of other tasks are known by name.

    All of them are taken, and shown by --help-all; --help shows those that people use.
    """
    words = [f"[{action.metavar}] " for action in parser._get_positional_actions()]
    parser.usage = f"%(prog)s {''.join(words)}[option ...]"
    first = Parser(prog=parser.prog, add_help=False)
    declare(first, defaults_of)
    defaults = defaults_of(**vars(first.parse_known_args(argv)[0]))
    for heading, options in option_groups(defaults["task"], defaults).items():
        group = parser.add_argument_group(heading)
        for name, option in options.items():
            add_declared(group, replace(option, default=defaults[name]))
    parser.add_argument("--help-all", action="help", help="show every option of the task")
    for action in [] if "--help-all" in argv else parser._actions:
        if action.dest not in FIRST:
            action.help = argparse.SUPPRESS
    for other in TASKS:
        for name in map(flag, all_options(other)):
            if name not in parser._option_string_actions:
                tasks = f"{parser.elsewhere[name]} or" if name in parser.elsewhere else "--task"
                parser.elsewhere[name] = f"{tasks} {other}"


def defaults_of(
    *,
    task: Task = None,
    recipe: Recipe = None,
    out: Folder = None,
    resume: Flag = False,
    corpus: CorpusName = None,
    model: Chosen = None,
    optimizer: Chosen = None,
    schedule: Chosen = None,
) -> TrainConfig:
    """Return the options that hold before others are given: of a run, a recipe or a task.

    Those of a model, an optimizer or a schedule that is chosen are its own.

    >>> defaults_of(recipe="book-rnnlm").lr, defaults_of(task="seq2seq", corpus="a.tsv").metric
    (20.0, 'perplexity')
    >>> defaults_of(model="gpt", recipe="default").activation
    'gelu'
    """
    begun = Path(out or "", "config.toml")
    if resume and out and begun.is_file():
        return TrainConfig.load(begun)
    config = training.configure(recipe, {} if corpus is None else {"corpus": corpus}, task)
    known = all_options(config.task)
    chosen = {"model": model, "optimizer": optimizer, "schedule": schedule}
    given = {n: v for n, v in chosen.items() if n in known and v in known[n].choices}
    given |= {} if corpus is None else {"corpus": corpus}
    return training.configure(recipe, given, config.task)


def add_declared(group: Any, option: Option) -> None:
    """Add an option which is not in the namespace where it is not given."""
    add_option(group, flag(option.name), option, default=argparse.SUPPRESS)
