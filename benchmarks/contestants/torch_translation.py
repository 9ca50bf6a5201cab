"""PyTorch: the same architecture from the same weights, trained on the same batches."""

from __future__ import annotations

from typing import Any

from benchmarks.contestant import Answer
from benchmarks.contestants.torch_seq2seq_model import seq2seq
from benchmarks.contestants.torch_tools import Torch
from benchmarks.settings import Spec
from benchmarks.translating import learn, test_scores, trainer_of
from deepnlp.backend import Array, asarray
from deepnlp.errors import DeepNLPError
from deepnlp.models import Seq2Seq
from deepnlp.training import Trainer


class Searched(Seq2Seq):
    """A module of PyTorch with the face that our searches need: ``start`` and ``step``."""

    def __init__(self, tools: Torch, module: Any, ours: Seq2Seq) -> None:
        self._tools, self._module = tools, module
        self.source_vocab, self.target_vocab = ours.source_vocab, ours.target_vocab

    def start(self, source: Any, lengths: Any = None) -> Any:
        """The module's state after reading N sources: tensors with N rows."""
        self._module.eval()
        with self._tools.torch.no_grad():
            return self._module.start(self._tools.tensor(source), self._tools.tensor(lengths))

    def step(self, ids: Array, state: Any = None) -> tuple[Array, Any]:
        """Scores (N, V) as an array, and the next state."""
        with self._tools.torch.no_grad():
            logits, state = self._module.step(self._tools.tensor(ids), state)
        return asarray(logits.cpu().numpy()), state


def optimizer_of(tools: Torch, trainer: Trainer, module: Any) -> Any:
    """Adam with the options of the trainer's."""
    ours: Any = trainer.optimizer
    if type(ours).__name__ != "Adam" or ours.lazy:
        raise DeepNLPError(f"the contestant in PyTorch has Adam only, not {type(ours).__name__}")
    trained = [one for one in module.parameters() if one.requires_grad]
    options = {"betas": ours.betas, "eps": ours.eps, "weight_decay": ours.weight_decay}
    return tools.torch.optim.Adam(trained, lr=ours.lr, **options)


def run(spec: Spec) -> Answer:
    """Target tokens per second and BLEU.

    Parameters
    ----------
    spec : Spec
        The ``recipe``, options in place of its own in ``config``, and the number of the round.
    """
    tools = Torch(spec)
    torch = tools.torch
    trainer = trainer_of(spec)
    torch.manual_seed(spec.number("round"))
    module = seq2seq(trainer.model).to(tools.device).train()
    optimizer = optimizer_of(tools, trainer, module)

    def step(batch: tuple[Any, ...]) -> tuple[float, float]:
        source, lengths, inputs, targets = (tools.tensor(array) for array in batch)
        logits = module(source, lengths, inputs)
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), targets.flatten().long(), ignore_index=-1
        )
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(module.parameters(), trainer.max_norm or torch.inf)
        for group in optimizer.param_groups:
            group["lr"] = trainer.first_lr * trainer.schedule.scale(trainer.state.step)
        optimizer.step()
        return float(loss.item()), float(norm)

    training = learn(trainer, step)
    return {**training, **test_scores(Searched(tools, module, trainer.model), trainer)}
