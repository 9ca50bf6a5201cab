"""PyTorch: the same training step and evaluation pass, written as its own example writes them."""

from __future__ import annotations

from itertools import cycle
from typing import Any

from benchmarks.contestant import Answer
from benchmarks.contestants.torch_tools import Torch
from benchmarks.contestants.windows import random_windows
from benchmarks.settings import Spec


def language_model(tools: Torch, V: int, H: int) -> Any:
    """The tied two-layer LSTM language model as a module of PyTorch.

    Returns
    -------
    torch.nn.Module
        From ids (N, T) and a state, logits (N, T, V) and the next state.
    """
    from torch import nn

    class LanguageModel(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(V, H)
            self.embed.weight.data.uniform_(-0.1, 0.1)
            self.dropout = nn.Dropout(0.5)
            self.lstm = nn.LSTM(H, H, num_layers=2, dropout=0.5, batch_first=True)
            self.output = nn.Linear(H, V)
            self.output.weight = self.embed.weight

        def forward(self, ids: Any, state: Any) -> tuple[Any, Any]:
            h, state = self.lstm(self.dropout(self.embed(ids)), state)
            return self.output(self.dropout(h)), state

    return LanguageModel().to(tools.device)


def run(spec: Spec) -> Answer:
    """Time of a step and of an evaluation pass, and what training needs of memory.

    Parameters
    ----------
    spec : Spec
        Sizes V, N, T, H; ``evaluate=False`` for the training step alone.
    """
    tools = Torch(spec)
    torch = tools.torch
    V, N, T, H = spec.model
    windows = cycle(random_windows(V, N, T))
    growth = tools.growth()

    model = language_model(tools, V, H)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    criterion = torch.nn.CrossEntropyLoss()
    state = [torch.zeros(2, N, H, device=tools.device) for _ in range(2)]

    def loss_of_next_window() -> Any:
        ids, targets = (tools.tensor(array) for array in next(windows))
        logits, new = model(ids, tuple(one.detach() for one in state))
        state[:] = new
        return criterion(logits.view(-1, V), targets.view(-1))

    def step() -> float:
        loss = loss_of_next_window()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        return float(loss.item())

    def evaluate() -> float:
        with torch.no_grad():
            return float(loss_of_next_window().item())

    answer = {"train_ms": tools.median_ms(step)}
    answer["memory_mb"] = growth.mb()
    if spec.options.get("evaluate", True):
        model.eval()
        answer["eval_ms"] = tools.median_ms(evaluate)
    return {"step": answer}
