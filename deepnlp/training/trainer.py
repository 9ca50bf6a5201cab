"""The training loop: truncated backpropagation through time over a corpus, epoch by epoch.

Read :meth:`Trainer.fit` first: it is the whole story. What it calls stands below it, in the order
in which it is called.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import asdict
from os import PathLike
from typing import Any, Literal

import numpy as np

from deepnlp import backend
from deepnlp.backend import asarray
from deepnlp.checkpoint import (
    get_parameters,
    pack_model,
    read_npz,
    set_parameters,
    write_npz,
)
from deepnlp.datasets import Corpus
from deepnlp.errors import DeepNLPError
from deepnlp.evaluation import expect_language_model, exponential, perplexity
from deepnlp.models.ngrams import baselines as measure_baselines
from deepnlp.optimizers import SGD, Optimizer, clip_gradients
from deepnlp.plots import learning_curve
from deepnlp.training.batching import BPTTBatches
from deepnlp.training.config import TrainConfig, to_toml
from deepnlp.training.interrupt import Interrupt
from deepnlp.training.progress import Progress
from deepnlp.training.result import Result, peak_memory_mb, versions
from deepnlp.training.runfolder import RunFolder, finite
from deepnlp.training.schedules import Constant, Schedule
from deepnlp.training.state import State, join, split
from deepnlp.training.watching import GradientWatch


class Trainer:
    """Trains a language model on a corpus, and can go on where it was stopped, to the last bit.

    Parameters
    ----------
    model : RNNLM
        Or any model with the same methods. Its ``vocab`` is set to that of the corpus.
    corpus : Corpus
    optimizer : Optimizer, optional
        ``SGD(model.parameters(), lr=20.0)`` by default: the loss is a mean over N x T targets.
    epochs : int
    batch_size, time_size : int
        N rows of the text side by side, T steps of backpropagation through time.
    max_norm : float or None
        The norm of the whole gradient is clipped to it; None or 0 for no clipping.
    schedule : Schedule, optional
        A constant learning rate by default.
    early_stop : int, optional
        Stop after this many epochs without a better validation; None or 0 for never.
    eval_batch_size : int
        Rows in the validation of each epoch. Final figures are measured at batch 1.
    out : str, path, None or False
        Folder of the run; by default a new one, ``runs/NAME-TIME``; False writes nothing.
    progress : bool
        Show a bar on a terminal or in a notebook, a line an epoch elsewhere.
    checkpoint_every : int
        Updates between checkpoints, beside the one after each epoch; 0 for none between.
    seed : int, optional
        Seeds the global generator when a new run begins; a run is repeatable only if that was
        done before the model was built, too.
    name : str, optional
        NAME of a new folder; that of the corpus by default.
    baselines : bool
        Measure n-gram models on the same text, to compare with.
    overwrite : bool
        Replace a run that is in the folder.
    config : TrainConfig, optional
        What ``config.toml`` is to say; by default what the trainer knows of itself.
    watch_gradients : int, optional
        Updates between two looks at how far back gradients reach, written to ``gradients.npz``
        and drawn in ``gradient_flow.png``; None or 0 for none. The training is the same to the
        last bit.

    Raises
    ------
    TypeError
        If the model is no language model.
    ValueError
        If a number is out of its range, the model's vocabulary is not the corpus's, or the
        optimizer is that of another model.
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
        corpus: Corpus,
        optimizer: Optimizer | None = None,
        *,
        epochs: int = 4,
        batch_size: int = 20,
        time_size: int = 35,
        max_norm: float | None = 0.25,
        schedule: Schedule | None = None,
        early_stop: int | None = None,
        eval_batch_size: int = 10,
        out: str | PathLike[str] | Literal[False] | None = None,
        progress: bool = True,
        checkpoint_every: int = 500,
        seed: int | None = None,
        name: str | None = None,
        baselines: bool = True,
        overwrite: bool = False,
        config: TrainConfig | None = None,
        watch_gradients: int | None = None,
    ) -> None:
        _check_at_least(1, epochs=epochs, eval_batch_size=eval_batch_size)
        _check_at_least(0, early_stop=early_stop or 0, checkpoint_every=checkpoint_every)
        _check_at_least(0, max_norm=max_norm or 0)
        expect_language_model("Trainer", model)
        if model.vocab_size != len(corpus.vocab):
            raise ValueError(
                f"the model has {model.vocab_size} words and the vocabulary of {corpus.name} "
                f"{len(corpus.vocab)}: build the model with vocab_size=len(corpus.vocab)"
            )
        model.vocab = corpus.vocab
        self.model, self.corpus = model, corpus
        self.parameters = model.parameters()
        self.optimizer = SGD(self.parameters, lr=20.0) if optimizer is None else optimizer
        if not {id(p) for p in self.parameters} & {id(p) for p in self.optimizer.parameters}:
            raise ValueError(
                "the optimizer updates no parameter of this model: build it with model.parameters()"
            )
        self.first_lr = self.optimizer.lr
        self.schedule = Constant() if schedule is None else schedule
        self.batches = BPTTBatches(corpus.train, batch_size, time_size)
        self.epochs, self.batch_size, self.time_size = epochs, batch_size, time_size
        self.max_norm = max_norm or math.inf
        self.early_stop = early_stop or 0
        self.eval_batch_size = eval_batch_size
        self.out, self.overwrite, self.name = out, overwrite, name or corpus.name
        self.checkpoint_every = checkpoint_every
        self.progress = progress
        self.seed = seed
        self.measures_baselines = baselines
        self.config = config

        self.watch = (
            GradientWatch(watch_gradients, corpus.valid, time_size) if watch_gradients else None
        )
        self.state = State()
        self.best: dict[str, np.ndarray[Any, Any]] | None = None  # weights of state.best_epoch
        self.history: list[dict[str, Any]] = []  # a row of figures an epoch
        self.baselines: dict[str, dict[str, float]] = {}
        self.folder: RunFolder | None = None
        self._speed = _Speed()
        self._earlier_seconds = 0.0  # of the epochs that earlier sessions finished

    def fit(self, resume: bool = False) -> Result:
        """Train until the last epoch, an early stop, or Ctrl-C.

        Afterwards the model holds the weights that were best on the validation split, and a state
        of zeros. The first Ctrl-C ends the step at hand, writes a checkpoint of it and evaluates;
        a second one stops at once.

        Parameters
        ----------
        resume : bool
            Go on with the run in ``out``: from its checkpoint, or from the beginning where it was
            killed before the first one. The trainer must have been built in the same way; only
            ``epochs`` may be larger. A finished run gives its result again.

        Returns
        -------
        Result

        Raises
        ------
        DeepNLPError
            If the loss or the gradient is no longer finite; the last checkpoint stays. If the
            folder holds a run and neither ``resume`` nor ``overwrite`` is set.
        FileNotFoundError
            If there is no run to resume.
        ValueError
            If the run to resume was made with other options or on another text.
        """
        started, self._speed = time.perf_counter(), _Speed()
        self._open_folder(resume)
        result = self._result_of_finished_run() if resume else None
        if result is not None:
            return result

        total = self.epochs * len(self.batches)
        with (
            Interrupt() as interrupt,
            Progress(total, self.state.step, self.progress) as progress,
            np.errstate(over="ignore", invalid="ignore", divide="ignore"),  # told by _diverged
        ):
            progress.line(self._introduction())
            self._measure_baselines()
            self.model.train()
            while not self.is_over() and not interrupt.requested:
                if self.state.batch == 0:
                    self._begin_epoch()
                self._train_epoch(interrupt, progress)
                if self.state.batch == len(self.batches):
                    self._end_epoch(progress)
            if not self.is_over():
                self._save_checkpoint()
                progress.line(
                    f"interrupted at step {self.state.step}; now the best weights are evaluated "
                    "(interrupt again to stop at once)"
                )
            return self._finish(started)

    def is_over(self) -> bool:
        """Whether all epochs are done, or validation has been no better for too long.

        Returns
        -------
        bool
        """
        stopped_early = 0 < self.early_stop <= self.state.epochs_without
        return stopped_early or self.state.epoch >= self.epochs

    # --- An epoch ----------------------------------------------------------------------------

    def _begin_epoch(self) -> None:
        self.state.begin_epoch()
        self.model.reset_state()  # the text begins again

    def _train_epoch(self, interrupt: Interrupt, progress: Progress) -> None:
        """The windows of the epoch that are left, or as many as there are until Ctrl-C."""
        state = self.state
        self._speed.begin()
        for k in range(state.batch, len(self.batches)):
            if self.watch is not None:
                self.watch.look(self.model, state.step)
            inputs, targets = self.batches[k]
            loss, norm = self.train_step(inputs, targets)
            state.add(loss, norm, targets.size)
            self._speed.add(targets.size)
            progress.step(
                f"epoch {state.epoch + 1}/{self.epochs}",
                f", perplexity {exponential(state.mean_loss):,.1f}, norm {norm:.2f}, "
                f"{self._speed.tokens_per_second:,.0f} tokens/s",
            )
            if self.checkpoint_every and state.step % self.checkpoint_every == 0:
                self._save_checkpoint()
            if interrupt.requested:
                break
        self._speed.end()

    def train_step(self, inputs: Any, targets: Any) -> tuple[float, float]:
        """Learn from one window.

        Parameters
        ----------
        inputs, targets : numpy.ndarray of int, shape (N, T)
            On the host.

        Returns
        -------
        loss : float
            Mean over the targets, in nats.
        norm : float
            Of the whole gradient, before clipping.

        Raises
        ------
        DeepNLPError
            If either is not finite; the weights are not updated then.
        """
        loss = self.model.forward(asarray(inputs), asarray(targets))
        self.model.zero_grad()
        self.model.backward()
        norm = clip_gradients(self.parameters, self.max_norm)
        loss, norm = float(loss), float(norm)
        self.optimizer.lr = self.first_lr * self.schedule.scale(self.state.step)
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise DeepNLPError(self._diverged(f"loss {loss:g}, gradient norm {norm:g}"))
        self.optimizer.step()
        return loss, norm

    def _diverged(self, what: str) -> str:
        clipping = (
            f"clip the gradient below {self.max_norm:g}"
            if math.isfinite(self.max_norm)
            else "clip the gradient (max_norm=0.25)"
        )
        return (
            f"training diverged at step {self.state.step + 1}: {what}. Try a learning rate smaller "
            f"than {self.optimizer.lr:g}, or {clipping}; the last checkpoint is kept"
        )

    def _end_epoch(self, progress: Progress) -> None:
        """Validate, keep the weights if they are the best, anneal, and write it all down."""
        state = self.state
        valid = perplexity(self.model, self.corpus.valid, self.eval_batch_size)
        if not math.isfinite(valid):
            raise DeepNLPError(self._diverged(f"validation perplexity {valid:g}"))
        is_best = state.judge(valid)
        if is_best:
            self.best = get_parameters(self.model)
        self.schedule.epoch_end(valid)
        row = {
            "epoch": state.epoch,
            "step": state.step,
            "train_perplexity": exponential(state.mean_loss),
            "valid_perplexity": valid,
            "best": is_best,
            "lr": self.optimizer.lr,
            "gradient_norm": state.norm_sum / len(self.batches),
            "tokens_per_second": self._speed.tokens_per_second,
            "seconds": self._speed.seconds,
        }
        self.history.append(row)
        progress.line(_epoch_line(row, self.epochs))
        state.begin_epoch()
        if self.folder is not None:
            if is_best:
                self._save_best(self.folder)
            self.folder.append_metrics(row)
            self._save_checkpoint()
            self._draw(self.folder)

    # --- The end -----------------------------------------------------------------------------

    def _finish(self, started: float) -> Result:
        """Evaluate the best weights at batch 1, and write ``result.json``."""
        if self.best is not None:
            set_parameters(self.model, self.best)
        self.model.reset_state()
        splits = {"valid": self.corpus.valid, "test": self.corpus.test}
        exact, batched = (
            {split: perplexity(self.model, ids, N) for split, ids in splits.items()}
            for N in (1, self.eval_batch_size)
        )
        result = Result(
            status="finished" if self.is_over() else "interrupted",
            epochs=self.state.epoch,
            steps=self.state.step,
            best_epoch=self.state.best_epoch,
            perplexity={"train": self._last_train_perplexity(), **exact},
            perplexity_batched={**batched},
            eval_batch_size=self.eval_batch_size,
            baselines={name: {**figures} for name, figures in self.baselines.items()},
            tokens_per_second=self._speed.overall,
            seconds=self._earlier_seconds + time.perf_counter() - started,
            peak_memory_mb=peak_memory_mb(),
            parameters=sum(p.value.size for p in self.parameters),
            corpus=self._corpus_facts(),
            versions=versions(),
        )
        if self.folder is not None:
            result.folder = str(self.folder.path)
            names = {*self.folder.files(), self.folder.result.name}
            result.files = [name for name in self.folder.FILES if name in names]
            self.folder.write_result(result.to_dict())
        return Result.from_dict(finite(result.to_dict()))

    def _last_train_perplexity(self) -> float | None:
        if self.history:
            last: float | None = self.history[-1]["train_perplexity"]
            return last
        return exponential(self.state.mean_loss) if self.state.targets else None

    # --- The folder: what is written, and how a run is taken up again ----------------------------

    def _open_folder(self, resume: bool) -> None:
        """Begin a new run, or put back the one that the folder holds."""
        if resume and self.out is False:
            raise ValueError("out=False writes nothing, so there is no run to resume")
        if self.state.step and not resume:
            raise DeepNLPError(
                "this trainer has trained already: go on with fit(resume=True), or build another"
            )
        if self.out is False:
            self._seed()
            return
        path = self.out if self.folder is None else self.folder.path
        self.folder = RunFolder.open(
            path, self.name, resume=resume, overwrite=self.overwrite and not resume
        )
        if resume and self.folder.checkpoint.exists():
            self._load_checkpoint(self.folder)
            if self.watch is not None:
                self.watch.go_on(self.folder.gradients, self.state.step - 1)
        else:
            self._seed()
            self.folder.write_metrics([])
        self.folder.write_config(self._describe())

    def _seed(self) -> None:
        if self.seed is not None:
            backend.seed(self.seed)

    def _describe(self) -> str:
        if self.config is not None:
            return self.config.to_toml()
        known = {
            "corpus": self.corpus.name,
            "model": type(self.model).__name__,
            **self.model.config(),
            "optimizer": type(self.optimizer).__name__,
            "lr": self.first_lr,
            "max_norm": 0.0 if math.isinf(self.max_norm) else self.max_norm,
            "schedule": type(self.schedule).__name__,
            "epochs": self.epochs,
            "batch_size": self.batch_size,
            "time_size": self.time_size,
            "early_stop": self.early_stop,
            "eval_batch_size": self.eval_batch_size,
            "checkpoint_every": self.checkpoint_every,
            "seed": self.seed,
        }
        return "# A Trainer built in Python; resume it with fit(resume=True).\n" + to_toml(known)

    def _setup(self) -> dict[str, Any]:
        """What must be the same for a run to go on to the same bits."""
        model = {"class": type(self.model).__name__, **self.model.config()}
        setup = {
            **{f"model {key}": value for key, value in model.items()},
            "optimizer": type(self.optimizer).__name__,
            "lr": self.first_lr,
            "max_norm": 0.0 if math.isinf(self.max_norm) else self.max_norm,
            "schedule": type(self.schedule).__name__,
            "batch_size": self.batch_size,
            "time_size": self.time_size,
            "early_stop": self.early_stop,
            "eval_batch_size": self.eval_batch_size,
        }
        same: dict[str, Any] = json.loads(json.dumps(setup))
        return same

    def _corpus_facts(self) -> dict[str, Any]:
        return {
            "name": self.corpus.name,
            "fingerprint": self.corpus.fingerprint,
            "note": self.corpus.note,
            "tokens": self.corpus.tokens,
            "vocabulary": len(self.corpus.vocab),
        }

    def _save_checkpoint(self) -> None:
        """Everything the rest of the run depends on, in one file."""
        if self.folder is None:
            return
        if self.watch is not None:
            self.watch.save(self.folder.gradients)
        arrays, meta = pack_model(self.model)
        best, _ = split("best", self.best or {})
        optimizer, optimizer_numbers = split("optimizer", self.optimizer.state())
        carried, carried_numbers = split("carried", self.model.snapshot())
        meta["training"] = {
            "state": asdict(self.state),
            "optimizer": optimizer_numbers,
            "schedule": self.schedule.state(),
            "carried": carried_numbers,
            "random": backend.rng().bit_generator.state,
            "setup": self._setup(),
            "corpus": self._corpus_facts(),
        }
        write_npz(self.folder.checkpoint, {**arrays, **best, **optimizer, **carried}, meta)

    def _load_checkpoint(self, folder: RunFolder) -> None:
        arrays, meta = read_npz(folder.checkpoint)
        if "training" not in meta:
            raise DeepNLPError(
                f"{folder.checkpoint} holds a model but no training run: choose another folder"
            )
        training = meta["training"]
        self._check_corpus(training["corpus"])
        _check_same(training["setup"], self._setup())
        set_parameters(self.model, {n: a for n, a in arrays.items() if "/" not in n})
        self.best = join("best", arrays, {}) or None
        self.optimizer.load_state(join("optimizer", arrays, training["optimizer"]))
        self.schedule.load_state(training["schedule"])
        self.model.restore(join("carried", arrays, training["carried"]))
        backend.rng().bit_generator.state = training["random"]
        self.state = State(**training["state"])
        self.history = [r for r in folder.read_metrics() if r["epoch"] <= self.state.epoch]
        self._earlier_seconds = sum(row["seconds"] for row in self.history)
        folder.write_metrics(self.history)  # an epoch after the checkpoint will come again
        if self.best is not None:
            self._save_best(folder)  # and so will its weights

    def _check_corpus(self, then: Mapping[str, Any]) -> None:
        now = self._corpus_facts()
        if now["fingerprint"] == then["fingerprint"]:
            return
        keys = ("name", "note", "tokens", "vocabulary", "fingerprint")
        changes = [f"{k} was {then[k]}, is {now[k]}" for k in keys if then[k] != now[k]]
        raise ValueError(
            f"the corpus is not the one the run began with ({'; '.join(changes)}): bring back the "
            "old one, or begin a new run"
        )

    def _save_best(self, folder: RunFolder) -> None:
        _, meta = pack_model(self.model)
        meta["epoch"], meta["valid_perplexity"] = self.state.best_epoch, finite(self.state.best)
        write_npz(folder.best, self.best or {}, meta)

    def _draw(self, folder: RunFolder) -> None:
        drawable = any(math.isfinite(row["valid_perplexity"] or math.inf) for row in self.history)
        if drawable:  # the unigram's perplexity would flatten every other line
            levels = {n: b["valid"] for n, b in self.baselines.items() if n != "unigram"}
            learning_curve(self.history, levels, folder.figure)
        if self.watch is not None:
            self.watch.draw(folder.gradient_figure)

    def _result_of_finished_run(self) -> Result | None:
        """The result that is there already, if nothing is left to do."""
        written = self.folder.read_result() if self.folder is not None else None
        if not self.is_over() or written is None or written["status"] != "finished":
            return None
        result = Result.from_dict(written)
        if result.epochs != self.state.epoch:  # killed between its last checkpoint and its result
            return None
        if self.best is not None:
            set_parameters(self.model, self.best)
        self.model.reset_state()
        with Progress(0, 0, self.progress) as progress:
            progress.line(
                f"the run in {result.folder} has finished its {result.epochs} epochs; a larger "
                "number of epochs would go on with it"
            )
        return result

    def _introduction(self) -> str:
        lines = [self.corpus.describe()]
        if self.folder is not None:
            lines.append(f"run folder: {self.folder.path}")
        if self.state.step:
            lines.append(f"resuming at step {self.state.step} (epoch {self.state.epoch + 1})")
        return "\n".join(lines)

    def _measure_baselines(self) -> None:
        if self.measures_baselines and not self.baselines:
            splits = {"valid": self.corpus.valid, "test": self.corpus.test}
            self.baselines = measure_baselines(self.corpus.train, splits, len(self.corpus.vocab))


class _Speed:
    """Tokens per second of training, validation and figures apart."""

    def __init__(self) -> None:
        self._all_tokens, self._all_seconds = 0, 0.0
        self.begin()

    def begin(self) -> None:
        self._tokens, self._start, self._end = 0, time.perf_counter(), 0.0

    def add(self, tokens: int) -> None:
        self._tokens += tokens

    def end(self) -> None:
        self._end = time.perf_counter()
        self._all_tokens += self._tokens
        self._all_seconds += self.seconds

    @property
    def seconds(self) -> float:
        """Since the epoch began, or what it took."""
        return (self._end or time.perf_counter()) - self._start

    @property
    def tokens_per_second(self) -> float:
        return self._tokens / max(self.seconds, 1e-9)

    @property
    def overall(self) -> float | None:
        """Of all epochs; None if nothing was trained."""
        return self._all_tokens / self._all_seconds if self._all_tokens else None


def _epoch_line(row: Mapping[str, Any], epochs: int) -> str:
    return (
        f"epoch {row['epoch']}/{epochs}  train {row['train_perplexity']:,.2f}  "
        f"valid {row['valid_perplexity']:,.2f}{' best' if row['best'] else '     '}  "
        f"lr {row['lr']:.4g}  norm {row['gradient_norm']:.2f}  "
        f"{row['tokens_per_second']:,.0f} tokens/s  {row['seconds']:.0f} s"
    )


def _check_same(then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    for key in {**then, **now}:
        if then.get(key) != now.get(key):
            raise ValueError(
                f"cannot resume with another {key}: the run began with {then.get(key)!r}, got "
                f"{now.get(key)!r}; resume with the first, or begin a new run"
            )


def _check_at_least(least: int, **values: float) -> None:
    for name, value in values.items():
        if not value >= least:
            raise ValueError(f"{name} should be {least} or more, got {value}")
