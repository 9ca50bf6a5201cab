"""PyTorch: the same training step of the same Seq2Seq."""

from __future__ import annotations

from itertools import cycle

from benchmarks.contestant import Answer
from benchmarks.contestants.seq2seq import LR, MAX_NORM, fresh_model, times
from benchmarks.contestants.torch_seq2seq_model import seq2seq
from benchmarks.contestants.torch_tools import Torch
from benchmarks.contestants.windows import random_pairs
from benchmarks.settings import Spec


def run(spec: Spec) -> Answer:
    """Time of a step, and what training needs of memory.

    Parameters
    ----------
    spec : Spec
        Sizes V, N, T, H, and the options of the model.
    """
    tools = Torch(spec)
    torch = tools.torch
    V, N, T, _ = spec.model
    batches = random_pairs(V, N, T)
    turns = cycle(batches)
    ours = fresh_model(spec)
    growth = tools.growth()
    module = seq2seq(ours).to(tools.device)
    optimizer = torch.optim.Adam(module.parameters(), lr=LR)

    def step() -> float:
        source, lengths, inputs, targets = (tools.tensor(array) for array in next(turns))
        logits = module(source, lengths, inputs)
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), ignore_index=-1
        )
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), MAX_NORM)
        optimizer.step()
        return float(loss.item())

    return {"step": {**times(tools.median_ms(step), batches), "memory_mb": growth.mb()}}
