"""From a table of options to a run: corpus, model, optimizer, schedule, trainer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from deepnlp import backend
from deepnlp.datasets import Corpus, load_corpus, load_vectors
from deepnlp.models import RNNLM
from deepnlp.optimizers import (
    SGD,
    AdaGrad,
    Adam,
    AdamW,
    Momentum,
    Nesterov,
    Optimizer,
    RMSprop,
)
from deepnlp.training.batching import BPTTBatches
from deepnlp.training.config import TrainConfig
from deepnlp.training.result import Result
from deepnlp.training.runfolder import RunFolder
from deepnlp.training.schedules import (
    Constant,
    Cosine,
    Exponential,
    Linear,
    Plateau,
    Schedule,
    Step,
)
from deepnlp.training.trainer import Trainer

OPTIMIZERS: dict[str, type[Optimizer]] = {
    "sgd": SGD,
    "momentum": Momentum,
    "nesterov": Nesterov,
    "adagrad": AdaGrad,
    "rmsprop": RMSprop,
    "adam": Adam,
    "adamw": AdamW,
}
SLOTS = {"sgd": 0, "adam": 2, "adamw": 2}  # arrays an optimizer keeps for each weight; others 1
GATES = {"lstm": 4, "gru": 3, "rnn": 1}
MODEL_OPTIONS = (
    "embed_size",
    "hidden_size",
    "layers",
    "cell",
    "tie",
    "dropout",
    "output_bias",
    "locked_dropout",
    "init",
    "embed_bound",
    "forget_bias",
    "freeze_embedding",
    "activation",
    "input_matrix",
    "reset_after",
    "dtype",
)
TRAINER_OPTIONS = (
    "epochs",
    "batch_size",
    "time_size",
    "max_norm",
    "early_stop",
    "eval_batch_size",
    "checkpoint_every",
    "baselines",
)


def train(
    config: TrainConfig,
    out: str | PathLike[str] | None = None,
    *,
    resume: bool = False,
    overwrite: bool = False,
    progress: bool = True,
    name: str | None = None,
) -> Result:
    """Train as the options say.

    Parameters
    ----------
    config : TrainConfig
        For a run to resume: from :func:`resumed_config`.
    out : str or path, optional
        Folder of the run; by default a new one, ``runs/NAME-TIME``.
    resume, overwrite : bool
        Go on with the run in ``out``, or replace it.
    progress : bool
        Show how it goes on standard error.
    name : str, optional
        NAME of a new folder; that of the corpus by default.

    Returns
    -------
    Result

    Raises
    ------
    DeepNLPError, FileNotFoundError, ValueError
        As :meth:`Trainer.fit` and :func:`deepnlp.datasets.load_corpus` do; nothing was written
        or removed if the fault lies in the options.
    """
    if out is not None:
        RunFolder(out).check(resume=resume, overwrite=overwrite)  # before the work begins
    trainer = build_trainer(config, out, overwrite=overwrite, progress=progress, name=name)
    return trainer.fit(resume=resume)


def resumed_config(
    out: str | PathLike[str], explicit: Mapping[str, Any] | None = None
) -> TrainConfig:
    """Options of the run in a folder, for going on with it.

    Parameters
    ----------
    out : str or path
    explicit : dict, optional
        What the user said besides; it must agree with the folder's ``config.toml``, but for a
        larger number of epochs.

    Returns
    -------
    TrainConfig

    Raises
    ------
    FileNotFoundError
        If the folder holds no run.
    ValueError
        Naming an option that disagrees.
    """
    folder = RunFolder(out)
    folder.check(resume=True)
    config = TrainConfig.load(folder.config)
    asked = config.replace(**(explicit or {}))
    for name in explicit or {}:
        then, now = getattr(config, name), getattr(asked, name)
        if then == now or (name == "epochs" and now > then):
            continue
        advice = "only a larger number can be asked for" if name == "epochs" else "leave it out"
        raise ValueError(
            f"cannot resume {folder.path} with {name} = {now!r}: it was begun with {then!r}; "
            f"{advice}, or begin a new run"
        )
    return asked


def build_trainer(
    config: TrainConfig,
    out: str | PathLike[str] | None = None,
    *,
    overwrite: bool = False,
    progress: bool = True,
    name: str | None = None,
    watch_gradients: int | None = None,
) -> Trainer:
    """Seed, load the corpus, build the model, and put a trainer around them.

    Parameters
    ----------
    config : TrainConfig
    out, overwrite, progress, name
        As for :func:`train`.
    watch_gradients : int, optional
        As for :class:`Trainer`.

    Returns
    -------
    Trainer
    """
    backend.seed(config.seed)
    corpus = build_corpus(config)
    model = build_model(config, len(corpus.vocab))
    start_from_corpus(config, model, corpus)
    steps = config.epochs * len(BPTTBatches(corpus.train, config.batch_size, config.time_size))
    return Trainer(
        model,
        corpus,
        build_optimizer(config, model),
        schedule=build_schedule(config, steps),
        out=out,
        progress=progress,
        name=name,
        overwrite=overwrite,
        config=config,
        watch_gradients=watch_gradients,
        **_pick(config, TRAINER_OPTIONS),
    )


def build_corpus(config: TrainConfig) -> Corpus:
    """The corpus that the options name.

    Parameters
    ----------
    config : TrainConfig

    Returns
    -------
    Corpus
    """
    return load_corpus(
        config.corpus,
        vocab_size=config.vocab_size or None,
        min_count=config.min_count,
        tokenizer=config.tokenizer or None,
    )


def build_model(config: TrainConfig, vocab_size: int) -> RNNLM:
    """A fresh model, which knows nothing of the corpus yet.

    Parameters
    ----------
    config : TrainConfig
    vocab_size : int
        V.

    Returns
    -------
    RNNLM

    Examples
    --------
    >>> build_model(TrainConfig(embed_size=8, hidden_size=8), vocab_size=10).vocab_size
    10
    """
    return RNNLM(vocab_size, **_pick(config, MODEL_OPTIONS))


def start_from_corpus(config: TrainConfig, model: RNNLM, corpus: Corpus) -> None:
    """What a model may know before the first step: word vectors, how frequent each word is.

    Parameters
    ----------
    config : TrainConfig
    model : RNNLM
        Its embedding becomes that of ``config.vectors``, if there are any; its output bias the
        log frequency of each word, with ``config.unigram_bias``.
    corpus : Corpus

    Raises
    ------
    ValueError
        If the vectors are not of size ``embed_size``.
    """
    if config.vectors:
        vectors, _ = load_vectors(config.vectors, corpus.vocab, backend.rng())
        if vectors.shape[1] != config.embed_size:
            raise ValueError(
                f"embed_size should be {vectors.shape[1]}, the size of the vectors in "
                f"{config.vectors}, got {config.embed_size}"
            )
        embedding: Any = model.layers[0]
        embedding.W.value = backend.asarray(vectors.astype(config.dtype))
    if config.unigram_bias and config.output_bias:
        model.start_from_unigram(np.bincount(corpus.train, minlength=model.vocab_size))


def build_optimizer(config: TrainConfig, model: RNNLM) -> Optimizer:
    """The optimizer over all parameters of a model.

    Parameters
    ----------
    config : TrainConfig
    model : RNNLM

    Returns
    -------
    Optimizer

    Examples
    --------
    >>> config = TrainConfig(optimizer="sgd", lr=20)
    >>> build_optimizer(config, RNNLM(10, 8, 8)).lr
    20.0
    """
    options: dict[str, Any] = {"lr": config.lr, "weight_decay": config.weight_decay}
    if config.optimizer in ("momentum", "nesterov"):
        options["momentum"] = config.momentum
    return OPTIMIZERS[config.optimizer](model.parameters(), **options)


def build_schedule(config: TrainConfig, total_steps: int) -> Schedule:
    """How the learning rate is to change.

    Parameters
    ----------
    config : TrainConfig
    total_steps : int
        Updates of the whole run, ``config.epochs`` epochs; ``linear`` and ``cosine`` end there, so
        that a run of more epochs has another shape from its beginning.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> build_schedule(TrainConfig(schedule="linear", lr_floor=0), 100).scale(50)
    0.5
    """
    factor, floor, warmup = config.lr_factor, config.lr_floor, config.warmup_steps
    makers: dict[str, Callable[[], Schedule]] = {
        "constant": lambda: Constant(warmup),
        "plateau": lambda: Plateau(
            factor, config.lr_patience, config.lr_threshold, floor, warmup_steps=warmup
        ),
        "step": lambda: Step(config.lr_every, factor, warmup),
        "exponential": lambda: Exponential(max(1, total_steps // config.epochs), factor, warmup),
        "linear": lambda: Linear(total_steps, floor, warmup),
        "cosine": lambda: Cosine(total_steps, floor, warmup),
    }
    return makers[config.schedule]()


@dataclass
class Plan:
    """What a run would do, without doing it.

    Parameters
    ----------
    corpus, model : str
        Described in words.
    parameters : int
    steps : int
        Updates of the whole run.
    memory_mb : dict of str to float
        An estimate, by what takes it.
    """

    corpus: str
    model: str
    parameters: int
    steps: int
    memory_mb: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """All fields by name, ready for JSON.

        Returns
        -------
        dict
        """
        return dataclasses.asdict(self)

    def table(self) -> str:
        """Everything as text.

        Returns
        -------
        str
        """
        memory = [f"  {part:<34}{mb:>8,.0f} MB" for part, mb in self.memory_mb.items()]
        total = (
            f"  {'together, beside the interpreter':<34}{sum(self.memory_mb.values()):>8,.0f} MB"
        )
        return "\n".join(
            [
                self.corpus,
                "",
                self.model,
                "",
                "memory (estimate)",
                *memory,
                total,
                "",
                f"{self.steps:,} steps in all",
            ]
        )


def plan(config: TrainConfig) -> Plan:
    """Build the model, say how large it is and what memory training would take, and stop.

    Parameters
    ----------
    config : TrainConfig

    Returns
    -------
    Plan
    """
    trainer = build_trainer(config, progress=False)
    parameters = trainer.model.size()
    return Plan(
        corpus=trainer.corpus.describe(),
        model=trainer.model.summary(),
        parameters=parameters,
        steps=trainer.epochs * len(trainer.batches),
        memory_mb=estimate_memory(config, parameters, trainer.model.vocab_size),
    )


def estimate_memory(config: TrainConfig, parameters: int, vocab_size: int) -> dict[str, float]:
    """Memory that training takes, in MB (2**20 bytes), by what takes it.

    Parameters
    ----------
    config : TrainConfig
    parameters : int
    vocab_size : int
        V.

    Returns
    -------
    dict of str to float

    Examples
    --------
    >>> round(estimate_memory(TrainConfig(), 1 << 20, 5000)["weights and gradients"])
    8
    """
    number = 8 if config.dtype == "float64" else 4  # bytes
    tokens = config.batch_size * config.time_size
    # for each token and layer: input, its dropout and mask, hidden state and cell, and the gates,
    # all but the masks once more as gradients
    gates = GATES[config.cell]
    layer = 3 * config.embed_size + config.layers * config.hidden_size * (2 * gates + 7)
    parts = {
        "weights and gradients": 2 * parameters,
        "the optimizer's own": SLOTS.get(config.optimizer, 1) * parameters,
        "best weights so far": parameters,
        "hidden states of a window": tokens * layer,
        "scores of a window": 3 * tokens * vocab_size,
    }
    return {part: count * number / 2**20 for part, count in parts.items()}


def _pick(config: TrainConfig, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(config, name) for name in names}
