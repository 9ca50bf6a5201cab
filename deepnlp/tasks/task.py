"""The interface between a trainer and what it trains a model to do."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TypeAlias

import numpy as np

from deepnlp.backend import Array, asarray
from deepnlp.backend.processes import share_out
from deepnlp.options import Choice

Measured: TypeAlias = tuple[dict[str, float], dict[str, Any]]
"""Figures by name, the metric first, and notes on how they were measured."""


class Batches(Protocol):
    """A sequence of batches, each a tuple of host arrays."""

    def __len__(self) -> int: ...

    def __getitem__(self, k: int, /) -> tuple[Any, ...]: ...


class Task:
    """The purpose of a training: batches, the loss of each, and how the model is judged.

    A subclass offers at least :meth:`batches`, :meth:`measure` (or, for figures of the validation
    data alone, :meth:`evaluate`) and ``data`` or :meth:`facts`; for the command line :meth:`load`
    and :meth:`build_model` too. Options in the signature of its constructor must be attributes of
    the same names; a resumed run must have the same ones.

    Attributes
    ----------
    data : Splits, optional
        What it is trained on, if that can describe itself.
    data_kind : type
        What :meth:`set_data` takes, which keeps them.
    name : str
        Begins the name of a new run folder.
    metric : str
        The name in :meth:`evaluate` of the figure that decides which epoch is the best.
    higher_is_better : bool
        Of that figure.
    undrawn : tuple of str
        Baselines whose level is left out of the learning curve.
    counted : bool
        Whether its model is not trained but counted, by a ``fit(model)`` in place of
        :meth:`batches`.
    """

    data: Any = None
    data_kind: ClassVar[type[Any]]
    name: str = "run"
    metric: str = "loss"
    higher_is_better: bool = False
    counted: bool = False
    undrawn: tuple[str, ...] = ()

    # For the command line: functions that declare options, or a choice of them, by their heading
    # in --help; and the recipe, if any, whose options count where another recipe says nothing.
    parts: ClassVar[Mapping[str, Sequence[Callable[..., Any]] | Choice]] = {}
    recipe: ClassVar[str | None] = None

    def set_data(self, data: Any) -> None:
        """Keep the data, after a look at what it is."""
        if not isinstance(data, self.data_kind):
            expected, got = self.data_kind.__name__, type(data).__name__
            raise TypeError(f"{type(self).__name__} expects data as a {expected}, got a {got}")
        self.data, self.name = data, data.name

    # --- Training --------------------------------------------------------------------------------

    def prepare(self, model: Any) -> None:
        """Check that a model fits the task, and give it what it needs, such as a vocabulary."""
        kinds = self.models()
        if kinds and not isinstance(model, kinds):
            names = " or a ".join(kind.__name__ for kind in kinds)
            raise TypeError(f"this task trains a {names}, got a {type(model).__name__}")

    def expect_size(self, what: str, size: int, expected: int) -> None:
        """Raise an error unless a model has as many words, or whatever it is, as the data."""
        if size != expected:
            raise ValueError(
                f"the model has {size} {what} and the vocabulary of {self.name} {expected}"
            )

    def batches(self, epoch: int) -> Batches:
        """Return the batches of an epoch, counted from 0.

        They must depend on nothing but the epoch and the task's options (draw from
        ``default_rng((seed, epoch))``), so that a run can be resumed in the middle of an epoch.
        """
        raise NotImplementedError

    def fit(self, model: Any) -> None:
        """Count what the model needs; for a task whose model is counted."""
        raise NotImplementedError

    def begin_epoch(self, model: Any) -> None:
        """Prepare a model for the first batch of an epoch."""

    def learn(self, model: Any, batch: tuple[Any, ...], share: float = 1) -> Array:
        """Return the mean loss of a batch, a 0-d array; its gradient is left in the parameters.

        The gradient is multiplied by ``share``: a slice of a larger batch has a share of its
        targets.
        """
        loss = model.forward(*map(asarray, batch))
        model.zero_grad()
        model.backward() if share == 1 else model.backward(share)
        return loss

    def lr_scale(self, batch: tuple[Any, ...]) -> float:
        """Return the factor of the learning rate for a batch: more for a larger one, say."""
        return 1.0

    def count(self, batch: tuple[Any, ...]) -> int:
        """Return the number of targets over which the loss of a batch is the mean."""
        return int(np.size(batch[-1]))

    def training_figure(self, loss: float) -> tuple[str, float]:
        """Return how the mean loss of an epoch is shown during training: a name and a value."""
        return "loss", loss

    # --- Evaluation ------------------------------------------------------------------------------

    def measure(self, model: Any, split: str) -> Measured:
        """Measure a split: figures by name, :attr:`metric` first, and notes on their settings.

        The model is in evaluation mode and saves nothing for a backward; the trainer restores its
        state afterwards.
        """
        raise NotImplementedError

    def evaluate(self, model: Any) -> dict[str, float]:
        """Measure the validation data after an epoch: figures by name, with :attr:`metric`."""
        return self.measure(model, "valid")[0]

    def final(self, model: Any) -> dict[str, Any]:
        """Measure the best weights, for ``result.json``: figures by name and split, and notes."""
        if not self.is_measured():
            return self.on_validation(model)
        by_name: dict[str, Any] = {}
        splits = ("valid", "test")
        measured = share_out(lambda split: self.measure(model, split), splits)
        for split, (figures, _) in zip(splits, measured):
            for name, value in figures.items():
                by_name.setdefault(name, {})[split] = value
        return {**by_name, **measured[-1][1]}

    def on_validation(self, model: Any) -> dict[str, Any]:
        """Measure as :meth:`final` does, on the validation split alone, as after an epoch."""
        return {name: {"valid": value} for name, value in self.evaluate(model).items()}

    def measure_baselines(self) -> dict[str, dict[str, float]]:
        """Return levels of :attr:`metric` to compare with, by name and then by split."""
        return {}

    def draw(
        self, history: Sequence[Mapping[str, Any]], baselines: Mapping[str, Any], path: Path
    ) -> None:
        """Draw the learning curve from the rows of all epochs and the levels to compare with."""
        from deepnlp.plots import learning_curve  # matplotlib takes a second to import

        levels = {n: level["valid"] for n, level in baselines.items() if n not in self.undrawn}
        learning_curve(history, levels, path, self.metric, higher_is_better=self.higher_is_better)

    def sample(self, model: Any) -> str | None:
        """Return a line that shows what a trained model does."""
        return None

    # --- The data --------------------------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """Describe the data; ``fingerprint`` must be the same for a run to be resumed."""
        return dict(self.data.facts())

    def describe(self) -> str:
        """Return one line on the data, for a log."""
        if self.data is not None:
            return str(self.data.describe())
        return ", ".join(f"{name} {value}" for name, value in self.facts().items())

    def watched(self) -> tuple[Any, int]:
        """Return a text (n,) for the gradient watch, and how many steps to look back in it."""
        name = type(self).__name__
        raise ValueError(f"watch_gradients looks back through a language model; {name} trains none")

    # --- The command line ------------------------------------------------------------------------

    @classmethod
    def models(cls) -> tuple[Any, ...]:
        """Return the classes of the models that the task builds, ``model`` in ``parts``."""
        part = cls.parts.get("model", ())
        named = part.alternatives.values() if isinstance(part, Choice) else part
        return tuple(kind for kind in named if isinstance(kind, type))

    @classmethod
    def model_kind(cls, options: Mapping[str, Any]) -> Any:
        """Return the class that options choose, where there are several."""
        part = cls.parts["model"]
        return part[options["model"]] if isinstance(part, Choice) else cls.models()[0]

    @classmethod
    def is_measured(cls) -> bool:
        """Return whether a model of the task can be measured on any split, as ``evaluate`` does."""
        return cls.measure is not Task.measure

    @classmethod
    def recipe_for(cls, options: Mapping[str, Any]) -> str | None:
        """Return the recipe that counts where none is named, for the data that options name."""
        return cls.recipe

    @classmethod
    def judged_by(cls, options: Mapping[str, Any]) -> tuple[str, bool]:
        """:attr:`metric` and :attr:`higher_is_better` of the task that options describe."""
        return cls.metric, cls.higher_is_better

    @classmethod
    def load(cls, options: Mapping[str, Any], model: Any = None) -> Self:
        """Return the task that options describe; of a trained model, in its vocabularies."""
        raise NotImplementedError

    def build_model(self, options: Mapping[str, Any]) -> Any:
        """Make a fresh model for this task."""
        raise NotImplementedError

    def memory(self, model: Any) -> dict[str, int]:
        """Estimate how many numbers a training step holds beside the weights, by their kind."""
        return {}
