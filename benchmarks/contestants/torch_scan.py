"""PyTorch: a minGRU by a loop over time and by a scan in torch operations, and its own LSTM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.contestant import Answer
from benchmarks.contestants.torch_tools import Torch
from benchmarks.settings import Spec
from benchmarks.timing import interleaved_ms


def run(spec: Spec) -> Answer:
    """Time of a forward and a backward of each.

    Parameters
    ----------
    spec : Spec
        Sizes N, T, H.
    """
    tools, (_, N, T, H) = Torch(spec), spec.model
    torch, nn = tools.torch, tools.torch.nn
    affine = nn.Linear(H, 2 * H).to(tools.device)
    lstm = nn.LSTM(H, H, batch_first=True).to(tools.device)
    x, dy = (torch.rand(N, T, H, device=tools.device) for _ in range(2))
    x.requires_grad_()

    def gates() -> tuple[Any, Any]:
        a_z, n = affine(x).chunk(2, dim=2)
        z = torch.sigmoid(a_z)
        return 1 - z, z * n

    def by_loop() -> Any:
        f, u = gates()
        h, states = torch.zeros(N, H, device=tools.device), []
        for t in range(T):
            h = f[:, t] * h + u[:, t]
            states.append(h)
        return torch.stack(states, dim=1)

    def by_doubling() -> Any:
        """After k rounds h_t holds the last 2^k terms, and f_t the product of as many gates."""
        f, h = gates()
        reach = 1
        while reach < T:
            before = nn.functional.pad(h[:, :-reach], (0, 0, reach, 0))
            gates_before = nn.functional.pad(f[:, :-reach], (0, 0, reach, 0), value=1.0)
            h, f, reach = h + f * before, f * gates_before, 2 * reach
        return h

    def step(forward: Callable[[], Any], module: Any) -> Callable[[], None]:
        def work() -> None:
            x.grad = None
            module.zero_grad()
            forward().backward(dy)

        return work

    works = {
        "TimeLSTM": step(lambda: lstm(x)[0], lstm),
        "loop": step(by_loop, affine),
        "scan": step(by_doubling, affine),
    }
    return {name: {"step_ms": ms} for name, ms in interleaved_ms(works, spec, tools.wait).items()}
