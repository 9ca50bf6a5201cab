"""PyTorch: the same layers, forward with its tape and backward through it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.contestant import Answer
from benchmarks.contestants.torch_tools import Torch
from benchmarks.settings import Sizes, Spec
from benchmarks.timing import interleaved_ms


def cases(tools: Torch, sizes: Sizes) -> dict[str, tuple[Any, list[Any], list[Any]]]:
    """By the name of our layer: a function of PyTorch's, its inputs, and its weights.

    Returns
    -------
    dict of str to (callable, list of tensor, list of tensor)
        The function gives one tensor, from which backward starts.
    """
    V, N, T, H = sizes
    torch, nn = tools.torch, tools.torch.nn

    def numbers(*shape: int) -> Any:
        return torch.rand(*shape, device=tools.device).requires_grad_()

    def ids(*shape: int) -> Any:
        return torch.randint(V, shape, device=tools.device)

    def first_of(module: Any) -> Callable[..., Any]:
        return lambda *inputs: module(*inputs)[0]

    def flat_loss(logits: Any, targets: Any) -> Any:
        return nn.functional.cross_entropy(logits.view(-1, V), targets.view(-1))

    made = {
        "Embedding": (nn.Embedding(V, H), [ids(N, T)]),
        "TimeDropout": (nn.Dropout(0.5), [numbers(N, T, H)]),
        "TimeRNN": (nn.RNN(H, H, batch_first=True), [numbers(N, T, H)]),
        "TimeGRU, reset after": (nn.GRU(H, H, batch_first=True), [numbers(N, T, H)]),
        "TimeLSTM": (nn.LSTM(H, H, batch_first=True), [numbers(N, T, H)]),
        "LSTM, one step": (nn.LSTMCell(H, H), [numbers(N, H), numbers(N, H), numbers(N, H)]),
        "TimeAffine": (nn.Linear(H, V), [numbers(N, T, H)]),
        "SoftmaxWithLoss": (flat_loss, [numbers(N, T, V), ids(N, T)]),
    }
    for module, _ in made.values():
        if isinstance(module, nn.Module):
            module.to(tools.device)

    cell, output = made["LSTM, one step"][0], made["TimeAffine"][0]
    given_tuple = {"TimeRNN", "TimeGRU, reset after", "TimeLSTM"}
    found = {}
    for name, (module, inputs) in made.items():
        weights = list(module.parameters()) if isinstance(module, nn.Module) else []
        found[name] = (first_of(module) if name in given_tuple else module, inputs, weights)
    _, inputs, weights = found["LSTM, one step"]
    found["LSTM, one step"] = (lambda x, h, c: torch.cat(cell(x, (h, c))), inputs, weights)
    found["AffineSoftmaxWithLoss"] = (
        lambda h, targets: flat_loss(output(h), targets),
        [numbers(N, T, H), ids(N, T)],
        list(output.parameters()),
    )
    return found


def run(spec: Spec) -> Answer:
    """Time of each layer's forward and backward, and how many parameters it has.

    Parameters
    ----------
    spec : Spec
        Sizes V, N, T, H; ``only``: the names of the layers, all by default.
    """
    tools = Torch(spec)
    answer = {}
    found = cases(tools, spec.model)
    for name in [one for one in spec.options.get("only", found) if one in found]:
        function, inputs, weights = found[name]
        leaves = [*weights, *(one for one in inputs if one.requires_grad)]
        made: dict[str, Any] = {}
        gradient = tools.torch.rand_like(function(*inputs))

        def forward(function: Any = function, inputs: Any = inputs, made: Any = made) -> None:
            made["y"] = function(*inputs)

        def backward(leaves: Any = leaves, made: Any = made, gradient: Any = gradient) -> None:
            for leaf in leaves:
                leaf.grad = None
            made["y"].backward(gradient)

        works = {"forward_ms": forward, "backward_ms": backward}
        answer[name] = interleaved_ms(works, spec, tools.wait)
        answer[name]["parameters"] = sum(one.numel() for one in weights)
    return answer
