"""From a table of options to a run: task, model, optimizer, schedule, trainer."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from timeit import repeat
from typing import Any

from deepnlp import backend
from deepnlp.optimizers import OPTIMIZERS
from deepnlp.options import Option, fill, to_toml
from deepnlp.tasks import TASKS, Task
from deepnlp.training.config import TrainConfig, all_options
from deepnlp.training.progress import Clock, Progress
from deepnlp.training.result import Result
from deepnlp.training.runfolder import Out, RunFolder
from deepnlp.training.schedules import SCHEDULES, Schedule
from deepnlp.training.trainer import SLICES, Trainer

MOST_TIMED = 4096  # MB: a plan makes a few steps of smaller runs


def train(
    config: TrainConfig,
    out: Out = None,
    *,
    resume: bool = False,
    overwrite: bool = False,
    **options: Any,
) -> Result:
    """Train as the options say.

    Parameters
    ----------
    config : TrainConfig
        For a run to resume: from :func:`resumed_config`.
    out : str or path, optional
        Folder of the run; by default a new one, ``runs/NAME-TIME``.
    resume, overwrite : bool
        Continue the run in ``out``, or replace it.
    **options
        ``progress``, ``name``, ``hooks``, ``distributed`` and ``test`` of :class:`Trainer`.

    Returns
    -------
    Result
        What ``result.json`` says.

    Raises
    ------
    DeepNLPError, FileNotFoundError, ValueError
        As :meth:`Trainer.fit` and :func:`deepnlp.datasets.load_corpus` do; nothing was written
        or removed if an option is wrong.
    """
    use = {"resume": resume, "overwrite": overwrite}
    with nullcontext() if out is None else RunFolder.of(out).held(**use) as folder:
        return build_run(config, folder, **options).fit(resume=resume)


def resumed_config(out: Out, explicit: Mapping[str, Any] | None = None) -> TrainConfig:
    """Return options of the run in a folder, to resume it.

    Parameters
    ----------
    out : RunFolder, str or path
    explicit : dict, optional
        Options given besides; they must agree with the folder's ``config.toml``, except for a
        larger number of epochs, for where the corpus and other files are now, and for what changes
        no weight.

    Raises
    ------
    FileNotFoundError
        If the folder holds no run.
    ValueError
        Naming an option that disagrees.
    """
    with RunFolder.of(out).held(resume=True) as folder:
        config = TrainConfig.load(folder.config)
    asked = config.replace(**(explicit or {}))
    options = {"task": Option("what to train for"), **all_options(config.task)}
    for name in explicit or {}:
        then, now, option = config[name], asked[name], options[name]
        if not option.may_become(then, now):
            larger = "only a larger number can be asked for"
            advice = larger if option.resume == "larger" else "leave it out"
            raise ValueError(
                f"cannot resume {folder.path} with {name} = {now!r}: it was begun with {then!r}; "
                f"{advice}, or begin a new run"
            )
    return asked


def build_trainer(config: TrainConfig, out: Out = None, **options: Any) -> Trainer:
    """Seed, load the data, build the model, and put a trainer around them.

    Parameters
    ----------
    config : TrainConfig
    out, **options
        As for :class:`Trainer`.

    Returns
    -------
    Trainer
        Its ``config`` is the one given.

    Raises
    ------
    ValueError
        If the task's model is counted, not trained.
    """
    if TASKS[config.task].counted:
        raise ValueError(f"the model of task {config.task!r} is counted: there is nothing to train")
    if options.get("distributed") and config.accumulate == 1:
        config = config.replace(accumulate=SLICES)  # so that config.toml says it
    if config.seed is not None:
        backend.seed(config.seed)
    task = TASKS[config.task].load(config)
    model = task.build_model(config)
    optimizer = fill(OPTIMIZERS[config.optimizer], config, model.parameters())
    options["schedule"] = build_schedule(config, steps=len(task.batches(epoch=0)))
    options["seed"] = None  # was set before the model was built
    return fill(Trainer, config, model, task, optimizer, out=out, config=config, **options)


def build_run(config: TrainConfig, out: Out = None, **options: Any) -> Trainer | CountedRun:
    """Return a trainer, or for a task whose model is counted what takes its place.

    Both have ``model``, ``task`` and ``fit(resume)``, and take the arguments of
    :func:`build_trainer`. A model that is counted has no updates at which hooks would be called.
    """
    task_type = TASKS[config.task]
    if not task_type.counted:
        return build_trainer(config, out, **options)
    if options.pop("watch_gradients", None) is not None:
        raise ValueError(f"task {config.task!r} has no gradients to watch")
    if options.pop("distributed", False):
        raise ValueError(f"task {config.task!r} is counted, in one process: leave out distributed")
    options.pop("hooks", None)
    task = task_type.load(config)
    return CountedRun(task.build_model(config), task, out=out, config=config, **options)


@dataclass
class CountedRun:
    """A run of a model that is counted in one pass over its text, with the files of others.

    There are no updates, so there are no checkpoints: a run that was stopped is counted again.
    """

    model: Any
    task: Task
    _: KW_ONLY
    config: Mapping[str, Any]
    out: Out = None
    name: str | None = None
    progress: bool = True
    test: bool = True

    def fit(self, resume: bool = False) -> Result:
        """Count, measure and write ``config.toml``, ``metrics.jsonl`` and ``result.json``."""
        name, clock, task = self.name or self.task.name, Clock(), self.task
        folder = None if self.out is False else RunFolder.of(self.out, name)
        with nullcontext() if folder is None else folder.held(resume=resume):
            task.fit(self.model)
            figures = (task.final if self.test else task.on_validation)(self.model)
            clock.stop()
            valid = figures[task.metric]["valid"]
            with Progress(0, 0, self.progress) as progress:
                progress.line(f"{task.describe()}\ncounted: validation {task.metric} {valid:,.2f}")
            if folder is not None:
                folder.clear()  # remove a run that is replaced, or counted again
                folder.write_config(to_toml(self.config))
                row = {"epoch": 1, "step": 0, f"valid_{task.metric}": valid, "best": True}
                folder.write_metrics([{**row, **clock.times()}])
            costs = {"parameters": self.model.size(), **clock.times()}
            result = Result("finished", epochs=1, steps=0, best_epoch=1, figures=figures, **costs)
            return result.keep(task, folder)


def build_schedule(config: TrainConfig, steps: int) -> Schedule:
    """Return the schedule that the options name, for epochs of ``steps`` updates.

    ``linear`` and ``cosine`` end with the last of ``config.epochs`` epochs, so that with more
    epochs they differ from the first update on.
    """
    kind = SCHEDULES[config.schedule]
    length = {"steps": steps, "total_steps": config.epochs * steps}
    taken = inspect.signature(kind).parameters
    schedule: Schedule = fill(kind, config, **{n: v for n, v in length.items() if n in taken})
    return schedule


@dataclass
class Plan:
    """A run in advance: its steps, with estimates of memory in MB (2**20 bytes) and of time."""

    corpus: str
    model: str
    parameters: int
    steps: int
    memory_mb: dict[str, float]
    seconds: float | None

    def table(self) -> str:
        """Return everything as text."""
        parts = {**self.memory_mb, "together, beside the interpreter": sum(self.memory_mb.values())}
        memory = [f"  {part:<34}{mb:>8,.0f} MB" for part, mb in parts.items()]
        lines = [self.corpus, "", self.model, "", "memory (estimate)", *memory]
        time = ""
        if self.seconds is not None:
            time = f", about {Progress.format_interval(self.seconds)} of training on this machine"
        return "\n".join([*lines, "", f"{self.steps:,} steps in all{time}"])


def plan(config: TrainConfig) -> Plan:
    """Build the model, say how large it is and what training would take, and stop.

    It makes a few steps to measure their time, unless they may need more memory than there is.

    Parameters
    ----------
    config : TrainConfig
    """
    trainer = build_trainer(config, progress=False)
    size = sum(p.value.size for p in trainer.parameters)
    numbers = {
        "weights and gradients": 2 * size,
        "the optimizer's own": len(trainer.optimizer._slots) * size,
        "best weights so far": size,
        **trainer.task.memory(trainer.model),
    }
    bytes_each = trainer.parameters[0].dtype.itemsize
    memory = {part: count * bytes_each / 2**20 for part, count in numbers.items()}
    steps, batch = trainer.epochs * len(trainer.batches), trainer.batches[len(trainer.batches) // 2]
    described = trainer.task.describe(), trainer.model.summary(), size, steps, memory
    seconds = None
    if sum(memory.values()) < MOST_TIMED:
        trainer.slices.begin_epoch()
        seconds = steps * min(repeat(lambda: trainer.train_step(*batch), number=1, repeat=3))
    return Plan(*described, seconds)
