"""The training loop: batch by batch, epoch by epoch, for any task.

:meth:`Trainer.fit` is the place to begin reading. The methods that it calls follow in the order of
their calls; :mod:`~deepnlp.training.resume` writes and reads checkpoints.
"""

import math
import platform
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from hashlib import sha256
from typing import Annotated, Any

import numpy as np

import deepnlp
from deepnlp import backend
from deepnlp.backend import asnumpy
from deepnlp.backend.processes import ALONE, Group, sharing
from deepnlp.checkpoint import get_parameters, pack_model, set_parameters
from deepnlp.datasets import Corpus
from deepnlp.errors import DeepNLPError, DivergedError
from deepnlp.evaluation import evaluating
from deepnlp.files.archives import write_npz
from deepnlp.files.writing import finite
from deepnlp.gradflow import observe
from deepnlp.optimizers import SGD, Optimizer, clip_gradients
from deepnlp.options import Option, check_options, to_toml
from deepnlp.tasks import Task, as_task
from deepnlp.training.interrupt import Interrupt
from deepnlp.training.progress import Clock, Progress
from deepnlp.training.result import Result, figure_text
from deepnlp.training.resume import (
    State,
    describe,
    load_checkpoint,
    read_checkpoint,
    write_checkpoint,
)
from deepnlp.training.runfolder import Out, RunFolder
from deepnlp.training.schedules import Constant, Schedule
from deepnlp.training.slices import Slices
from deepnlp.training.watching import GradientWatch, Hook

SLICES = 4  # the slices of a batch that processes share


class Trainer:
    """Trains a model on a task, and resumes a run bit for bit.

    Parameters
    ----------
    model : Layer
        With a loss, as the task needs it: for language modelling an RNNLM, or any model with the
        same methods.
    task : Task or Corpus
        A corpus is short for ``LanguageModelling(corpus, **task_options)``.
    optimizer : Optimizer, optional
        ``SGD(model.parameters(), lr=20.0)`` by default: the loss is a mean over N x T targets.
    epochs : int
        Passes over the data.
    max_norm : float or None
        Clip the norm of the whole gradient here; 0 for no clipping.
    accumulate : int
        Slices into which the rows of a batch are cut: each goes forward and back alone, and their
        gradients are added up, in pairs, for one update. It takes less memory, and the gradient is
        the same but for rounding. The streams of an evaluation are cut alike.
    schedule : Schedule, optional
        A constant learning rate by default.
    early_stop : int, optional
        Stop after this many epochs without a better validation; 0 for never.
    checkpoint_every : int
        Updates between checkpoints, beside one each epoch; 0 for none between.
    seed : int, optional
        The same seed gives the same run. It seeds the global generator when a new run begins; seed
        it before the model is built too, with :func:`deepnlp.seed`.
    out : RunFolder, str, path, None or False
        Folder of the run; by default a new one, ``runs/NAME-TIME``; False writes nothing.
    name : str, optional
        NAME of a new folder; that of the corpus by default.
    overwrite : bool
        Replace a run that is in the folder, when this one has its first checkpoint.
    progress : bool
        Show a bar on a terminal or in a notebook, a line per epoch elsewhere.
    config : mapping, optional
        The options for ``config.toml``; by default those of the trainer and its parts.
    watch_gradients : int, optional
        Updates between two looks at how far back gradients reach, written to ``gradients.npz``
        and drawn in ``gradient_flow.png``; None or 0 for none. Training is not changed by a
        bit.
    hooks : sequence of Hook
        Called between backward pass and clipping, and at other points of the run.
    distributed : bool
        Share the slices of each batch out between the processes that ``mpiexec`` has started. Each
        makes a trainer in the same way. ``accumulate`` is 4 then unless it is more; any number of
        processes that divides it, a power of 2, gives the same bits. Rank 0 alone writes.
    test : bool
        At the end measure the best weights on the test split too, and before the beginning the
        baselines. Without it, as long as options are chosen, only the validation split is used.
    **task_options
        Beside a corpus: ``batch_size``, ``time_size``, ``eval_batch_size`` and ``baselines`` of
        :class:`~deepnlp.tasks.LanguageModelling`.

    Raises
    ------
    TypeError
        If the task cannot train this model.
    ValueError
        If a number is out of its range, the model does not fit the task's data, or the optimizer
        belongs to another model.
    DeepNLPError
        If the folder already holds a run (raised by :meth:`fit`).

    Examples
    --------
    >>> import deepnlp
    >>> from deepnlp.text import Vocabulary
    >>> from deepnlp.models import RNNLM
    >>> vocab = Vocabulary.build("a b c".split())
    >>> ids = vocab.encode("a b c <eos>".split() * 30)
    >>> corpus = Corpus("abc", vocab, ids, ids, ids)
    >>> deepnlp.seed(0)
    >>> model = RNNLM(len(vocab), 8, 8, layers=1, dropout=0.0)
    >>> trainer = Trainer(model, corpus, SGD(model.parameters(), lr=5.0), epochs=12, batch_size=2,
    ...                   time_size=5, out=False, progress=False)
    >>> trainer.fit().perplexity["test"] < 1.5
    True
    """

    def __init__(
        self,
        model: Any,
        task: Task | Corpus,
        optimizer: Optimizer | None = None,
        *,
        epochs: Annotated[int, Option(low=1, resume="larger")] = 4,
        max_norm: Annotated[float | None, Option(low=0)] = 0.25,
        accumulate: Annotated[int, Option(low=1)] = 1,
        schedule: Schedule | None = None,
        early_stop: Annotated[int | None, Option(low=0)] = None,
        checkpoint_every: Annotated[int, Option(low=0, resume="any")] = 500,
        seed: Annotated[int | None, Option(low=0)] = None,
        out: Out = None,
        name: str | None = None,
        overwrite: bool = False,
        progress: bool = True,
        config: Mapping[str, Any] | None = None,
        watch_gradients: int | None = None,
        hooks: Sequence[Hook] = (),
        distributed: bool = False,
        test: bool = True,
        **task_options: Any,
    ) -> None:
        check_options(Trainer, locals())
        self.model, self.task = model, as_task(task, **task_options)
        self.task.prepare(model)
        self.parameters = model.parameters()
        self.optimizer = SGD(self.parameters, lr=20.0) if optimizer is None else optimizer
        if not {id(p) for p in self.parameters} & {id(p) for p in self.optimizer.parameters}:
            other = "the optimizer updates no parameter of this model"
            raise ValueError(f"{other}: build it with model.parameters()")
        self.first_lr = self.optimizer.lr
        self.schedule = Constant() if schedule is None else schedule
        self.epochs, self.checkpoint_every, self.seed = epochs, checkpoint_every, seed
        self.max_norm, self.early_stop = max_norm or 0.0, early_stop or 0
        self.group = Group.world() if distributed else ALONE
        self.accumulate = SLICES if distributed and accumulate == 1 else accumulate
        self.slices = Slices(model, self.task, self.accumulate, self.group)
        self.out, self.overwrite, self.name = out, overwrite, name or self.task.name
        self.progress, self.config = progress and self.group.rank == 0, config
        self.hooks, self.test = list(hooks), test
        if watch_gradients:
            with observe(model):  # a model without recurrent layers is refused here
                pass
            self.hooks.append(GradientWatch(watch_gradients, *self.task.watched()))

        self.state = State()
        self.batches = self.task.batches(epoch=0)
        self.best: dict[str, np.ndarray[Any, Any]] | None = None  # weights of state.best_epoch
        self.history: list[dict[str, Any]] = []  # a row of figures an epoch
        self.baselines: dict[str, Any] = {}
        self.folder: RunFolder | None = None

    def fit(self, resume: bool = False) -> Result:
        """Train until the last epoch, an early stop, a hook that ends the run, or Ctrl-C.

        Afterwards the model holds the weights that were best on the validation split, and a state
        of zeros. After the first Ctrl-C the current step is finished, a checkpoint is written and
        the best weights are evaluated; a second one stops immediately.

        Parameters
        ----------
        resume : bool
            Continue the run in ``out``: from its checkpoint, or from the beginning where it was
            killed before the first one. The trainer must have been built in the same way; only
            ``epochs`` may be larger. For a finished run the result is read again.

        Raises
        ------
        DivergedError
            If the loss, the gradient or the validation is no longer finite; the last checkpoint is
            kept, and ``result.json`` says ``"diverged"``.
        DeepNLPError
            If the folder holds a run and neither ``resume`` nor ``overwrite`` is set.
        FileNotFoundError
            If there is no run to resume.
        ValueError
            If the run to resume was made with other options or on another text.
        """
        if resume and self.out is False:
            raise ValueError("out=False writes nothing, so there is no run to resume")
        if self.state.step and not resume:
            advice = "go on with fit(resume=True), or build another"
            raise DeepNLPError(f"this trainer has trained already: {advice}")
        self._clock = Clock()
        self._epoch_clocks: list[Clock] = []  # of training in each epoch, or part of one
        with self.group, ExitStack() as held, sharing(self.group, self.accumulate):
            if self.group.size > 1:
                self.group.agree(**self._facts())
            folder = self.group.first(lambda: self._held(held, resume))
            self._begin_in(folder, resume)
            return self._result_of_finished_run(folder) or self._train()

    def _facts(self) -> dict[str, str]:
        """Return what all processes of a job should have in common, by name."""
        weights = b"".join(asnumpy(p.value).tobytes() for p in self.parameters)
        facts = {"deepnlp": deepnlp.__version__, "NumPy": np.__version__}
        facts |= {"Python": platform.python_version(), **describe(self)}
        facts |= {"corpus": self.task.facts()["fingerprint"][:12]}
        facts |= {"first weights": sha256(weights).hexdigest()[:12]}
        return {name: str(value) for name, value in facts.items()}

    def _held(self, held: ExitStack, resume: bool) -> RunFolder | None:
        """Return the folder of the run, held until the end."""
        if self.out is False:
            return None
        folder = self.folder or RunFolder.of(self.out, self.name)
        return held.enter_context(
            folder.held(resume=resume, overwrite=self.overwrite and not resume)
        )

    def _train(self) -> Result:
        """Train for the rest of the run, and return its result."""
        total = self.epochs * len(self.batches)
        with (
            Interrupt() as interrupt,
            Progress(total, self.state.step, self.progress) as progress,
            np.errstate(over="ignore", invalid="ignore", divide="ignore"),  # diverged() says it
        ):
            progress.line(self.task.describe())
            if self.folder is not None:
                progress.line(f"run folder: {self.folder.path}")
            if self.group.size > 1:
                progress.line(self.group.describe())
            if self.state.step:
                progress.line(f"resuming at step {self.state.step} (epoch {self.state.epoch + 1})")
            if self.test:
                self.baselines = self.baselines or self.group.shared(self.task.measure_baselines)
            self.model.take_over()  # by this thread
            self.model.train()
            status = ""
            try:
                while not self._stops(interrupt) and not (status := self._ended()):
                    self._train_epoch(interrupt, progress)
                    if self.state.batch == len(self.batches):
                        self._end_epoch(progress)
                status = "finished" if self.is_over() else status or "interrupted"
                if status != "finished":
                    self._save_checkpoint()
                    now = "now the best weights are evaluated (interrupt again to stop at once)"
                    progress.line(f"{status} at step {self.state.step}; {now}")
            except DivergedError:
                self._write_result("diverged", {self.task.metric: {"valid": None}})
                raise
            return self._finish(status)

    def _stops(self, interrupt: Interrupt) -> bool:
        """Return whether any process was interrupted: all stop after the same step."""
        return self.group.any(interrupt.requested)

    def is_over(self) -> bool:
        """Return whether all epochs are done, or validation has been no better for too long."""
        return self.state.epoch >= self.epochs or 0 < self.early_stop <= self.state.epochs_without

    def _ended(self) -> str:
        """``"finished"``, ``"pruned"`` where a hook ends the run between two epochs, or nothing."""
        if self.is_over():
            return "finished"
        ask = self.history and self.state.batch == 0
        return "pruned" if ask and any(hook.ends(self.history) for hook in self.hooks) else ""

    # --- An epoch ----------------------------------------------------------------------------

    def _train_epoch(self, interrupt: Interrupt, progress: Progress) -> None:
        """Train on the remaining batches of the epoch, or on those until Ctrl-C."""
        state = self.state
        if state.batch == 0:
            self.slices.begin_epoch()
        self.batches = self.task.batches(state.epoch)
        left = (self.epochs - state.epoch) * len(self.batches)
        progress.total = state.step - state.batch + left  # epochs need not have as many steps each
        clock = Clock()
        self._epoch_clocks.append(clock)
        for k in range(state.batch, len(self.batches)):
            batch = self.batches[k]
            loss, norm = self.train_step(*batch)
            targets = self.task.count(batch)
            state.add(loss, norm, targets)
            clock.tokens += targets
            name, figure = self.task.training_figure(state.mean_loss)
            figures = f"{name} {figure_text(figure)}, norm {norm:.2f}, "
            speed = f"{clock.tokens_per_second:,.0f} tokens/s"
            progress.step(f"epoch {state.epoch + 1}/{self.epochs}", figures + speed)
            if self.checkpoint_every and state.step % self.checkpoint_every == 0:
                self._save_checkpoint()
            if self._stops(interrupt):
                break
        clock.stop()

    def train_step(self, *batch: Any) -> tuple[float, float]:
        """Learn from one batch.

        Parameters
        ----------
        *batch
            One of the task's, on the host; for language modelling inputs and targets (N, T).

        Returns
        -------
        loss : float
            Mean over the targets, in nats.
        norm : float
            Of the whole gradient, before clipping.

        Raises
        ------
        DivergedError
            If either is not finite; the weights are not updated then.
        """
        loss = self.slices.learn(batch)
        for hook in self.hooks:
            hook.after_backward(self.model, self.state.step)
        norm = float(clip_gradients(self.parameters, self.max_norm or math.inf))
        loss = float(loss)
        lr = self.first_lr * self.schedule.scale(self.state.step)
        self.optimizer.lr = lr * self.task.lr_scale(batch)
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise self.diverged(f"loss {loss:g}, gradient norm {norm:g}")
        self.optimizer.step()
        self.optimizer.lr = lr
        return loss, norm

    def diverged(self, what: str) -> DivergedError:
        """Return the error that says what is not finite, and what may help.

        Parameters
        ----------
        what : str
        """
        limit = f"below {self.max_norm:g}" if self.max_norm else "(max_norm=0.25)"
        kept = "nothing was saved before"
        if self.folder is not None and self.folder.checkpoint.exists():
            kept = f"the {'old run' if self.folder.replaces else 'last checkpoint'} is kept"
        return DivergedError(
            f"training diverged at step {self.state.step + 1}: {what}. Try a learning rate smaller "
            f"than {self.optimizer.lr:g}, or clip the gradient {limit}; {kept}"
        )

    def _end_epoch(self, progress: Progress) -> None:
        """Validate, keep the weights if they are the best, update the schedule, write the files."""
        state, task = self.state, self.task
        figures = self._validated()
        valid = figures[task.metric]
        if not math.isfinite(valid):
            raise self.diverged(f"validation {task.metric} {valid:g}")
        is_best = state.judge(valid, task.higher_is_better)
        if is_best:
            with self.optimizer.averaged():
                self.best = get_parameters(self.model)
        for part in (self.schedule, self.optimizer):
            part.epoch_end(-valid if task.higher_is_better else valid)
        name, train = task.training_figure(state.mean_loss)
        row = {
            "epoch": state.epoch,
            "step": state.step,
            f"train_{name}": train,
            **{f"valid_{name}": value for name, value in figures.items()},
            "best": is_best,
            "lr": self.optimizer.lr,
            "gradient_norm": state.norm_sum / len(self.batches),
            "tokens_per_second": self._epoch_clocks[-1].tokens_per_second,
            **self._epoch_clocks[-1].times(),
        }
        self.history.append(row)
        progress.line(
            f"epoch {state.epoch}/{self.epochs}  train {figure_text(train)}  "
            f"valid {figure_text(valid)}{' best' if is_best else '     '}  "
            f"lr {row['lr']:.4g}  norm {row['gradient_norm']:.2f}  "
            f"{row['tokens_per_second']:,.0f} tokens/s  {row['seconds']:.0f} s"
        )
        state.begin_epoch()
        self._save_checkpoint()  # from which all other files can be made again
        if self.folder is not None:
            if is_best:
                self._save_best(self.folder)
            self.folder.write_metrics(self.history)
            self._draw(self.folder)

    def _validated(self) -> dict[str, float]:
        """Return figures on the validation data, of the weights or of that average which counts."""
        measured = []
        for tail in range(self.optimizer.tails):
            with self.optimizer.averaged(tail), evaluating(self.model):
                measured.append(self.task.evaluate(self.model))
        sign = -1 if self.task.higher_is_better else 1
        return measured[self.optimizer.choose([sign * f[self.task.metric] for f in measured])]

    # --- The end -----------------------------------------------------------------------------

    def _finish(self, status: str) -> Result:
        """Evaluate the best weights, and write ``result.json``."""
        self._load_best()
        metric = self.task.metric
        with evaluating(self.model):
            measure = self.task.final if self.test else self.task.on_validation
            figures = measure(self.model)
        last = self.history[-1].get(f"train_{metric}") if self.history else None
        train = {} if last is None else {"train": last}  # not every task measures it
        figures = {metric: {**train, **figures.pop(metric)}, **figures}
        return self._write_result(status, figures)

    def _write_result(self, status: str, figures: dict[str, Any]) -> Result:
        tokens = sum(clock.tokens for clock in self._epoch_clocks)
        seconds = sum(clock.times()["seconds"] for clock in self._epoch_clocks)
        state, facts = self.state, self._clock.times()
        facts |= {"epochs": state.epoch, "steps": state.step, "best_epoch": state.best_epoch}
        facts["tokens_per_second"] = tokens / seconds if tokens else None
        facts["parameters"] = sum(p.value.size for p in self.parameters)
        result = Result(status, figures=figures, baselines=self.baselines, **facts)
        is_ours = self.folder is not None and not self.folder.replaces
        return result.keep(self.task, self.folder if is_ours else None)

    def _load_best(self) -> None:
        if self.best is not None:
            set_parameters(self.model, self.best)
        self.model.reset_state()

    # --- The folder: writing it, and resuming a run -----------------------------------------------

    def _begin_in(self, folder: RunFolder | None, resume: bool) -> None:
        """Begin a new run in a folder that is held, or restore the one that it holds.

        A run that replaces another writes nothing before its first checkpoint.
        """
        self.folder = folder
        written = self.group.shared(lambda: read_checkpoint(folder) if resume else None)
        if written is not None:
            load_checkpoint(self, written)
            self._clock.add(self.history)
            for hook in self.hooks:
                if folder is not None:
                    hook.go_on(folder, self.state.step)
        elif self.seed is not None:
            backend.seed(self.seed)
        if self.group.size > 1:
            self.slices.begin_alike()
        if folder is not None and not folder.replaces:
            folder.write_config(self._config_text())
            folder.write_metrics(self.history)
            if self.best is not None:
                self._save_best(folder)

    def _config_text(self) -> str:
        """Return the contents of ``config.toml``."""
        if self.config is not None:
            return to_toml(self.config)
        return f"# It was built in Python; fit(resume=True) resumes it.\n{to_toml(describe(self))}"

    def _save_checkpoint(self) -> None:
        self.slices.gather()
        folder = self.folder
        if folder is None:
            return
        if folder.replaces:
            if not self.state.step:  # interrupted before the first checkpoint: the old run stays
                raise KeyboardInterrupt
            folder.replace_run(self._config_text(), lambda path: write_checkpoint(self, path))
        for hook in self.hooks:
            hook.save(folder)
        folder.result.unlink(missing_ok=True)  # it is that of an earlier step
        write_checkpoint(self, folder.checkpoint)

    def _save_best(self, folder: RunFolder) -> None:
        _, meta = pack_model(self.model)
        meta |= {
            "epoch": self.state.best_epoch,
            f"valid_{self.task.metric}": finite(self.state.best),
        }
        write_npz(folder.best, self.best or {}, meta)

    def _draw(self, folder: RunFolder) -> None:
        try:
            self.task.draw(self.history, self.baselines, folder.figure)
            for hook in self.hooks:
                hook.draw(folder)
        except (ImportError, ValueError) as error:  # matplotlib refuses its settings
            if self.state.epoch <= 1:
                print(f"note: no figure is drawn: {error}", file=sys.stderr)

    def _result_of_finished_run(self, folder: RunFolder | None) -> Result | None:
        """Return the result of a run that is finished, else None."""
        if not self.state.epoch or not self.is_over():
            return None
        result = self.group.shared(lambda: None if folder is None else Result.of(folder))
        # it may have been killed between its last checkpoint and its result
        if result is None or (result.status, result.epochs) != ("finished", self.state.epoch):
            return None
        self._load_best()
        with Progress(0, 0, self.progress) as progress:
            done = f"the run in {result.folder} has finished its {result.epochs} epochs"
            progress.line(f"{done}; a larger number of epochs would go on with it")
        return result
