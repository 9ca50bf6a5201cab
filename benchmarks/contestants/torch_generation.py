"""PyTorch: the same sampling, one step of the LSTM at a time, without its tape."""

from __future__ import annotations

from typing import Any

from benchmarks.contestant import Answer
from benchmarks.contestants.torch_language_model import language_model
from benchmarks.contestants.torch_tools import Torch
from benchmarks.settings import Spec


def run(spec: Spec) -> Answer:
    """Time per step of generation at temperature 1.

    Parameters
    ----------
    spec : Spec
        Sizes V, H and the batch B.
    """
    tools = Torch(spec)
    torch = tools.torch
    (V, _, _, H), B = spec.model, spec.number("B")
    model = language_model(tools, V, H).eval()
    now: dict[str, Any] = {
        "ids": torch.ones(B, 1, dtype=torch.int64, device=tools.device),
        "state": None,
    }

    def step() -> list[int]:
        with torch.no_grad():
            logits, now["state"] = model(now["ids"], now["state"])
            p = torch.softmax(logits[:, -1], dim=-1)
            now["ids"] = torch.multinomial(p, num_samples=1)
        ids: list[int] = now["ids"][:, 0].tolist()  # the caller reads what was drawn
        return ids

    return {"step": {"token_ms": tools.median_ms(step)}}
