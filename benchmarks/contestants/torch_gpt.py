"""PyTorch: the same GPT, written as nanoGPT writes it, with a cache of keys and values."""

from __future__ import annotations

import math
import time
from itertools import cycle
from typing import Any

from benchmarks.contestant import Answer
from benchmarks.contestants.torch_tools import Torch
from benchmarks.contestants.windows import random_windows
from benchmarks.settings import Spec


def gpt(tools: Torch, V: int, D: int, layers: int, heads: int, context: int) -> Any:
    """The model as a module of PyTorch.

    Returns
    -------
    torch.nn.Module
        From ids (N, T) and a cache, a list of keys and values by layer or None, logits (N, T, V)
        and the next cache.
    """
    from torch import nn

    torch = tools.torch
    attend = nn.functional.scaled_dot_product_attention

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = (nn.LayerNorm(D, bias=False) for _ in range(2))
            self.qkv, self.out = nn.Linear(D, 3 * D, bias=False), nn.Linear(D, D, bias=False)
            self.up, self.down = nn.Linear(D, 4 * D, bias=False), nn.Linear(4 * D, D, bias=False)
            for layer in (self.qkv, self.out, self.up, self.down):
                layer.weight.data.normal_(0, 0.02)
            for layer in (self.out, self.down):
                layer.weight.data /= math.sqrt(2 * layers)

        def forward(self, x: Any, cache: Any) -> tuple[Any, Any]:
            N, T, _ = x.shape
            qkv = self.qkv(self.norm1(x)).split(D, dim=2)
            q, k, v = (each.view(N, T, heads, D // heads).transpose(1, 2) for each in qkv)
            if cache is not None:
                k, v = (torch.cat(both, dim=2) for both in zip(cache, (k, v)))
            y = attend(q, k, v, is_causal=T > 1)
            x = x + self.out(y.transpose(1, 2).reshape(N, T, D))
            return x + self.down(nn.functional.gelu(self.up(self.norm2(x)))), (k, v)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(V, D), nn.Embedding(context, D)
            for table in (self.words, self.places):
                table.weight.data.normal_(0, 0.02)
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.norm = nn.LayerNorm(D, bias=False)

        def forward(self, ids: Any, caches: Any = None) -> tuple[Any, Any]:
            first = 0 if caches is None else caches[0][0].shape[2]
            places = torch.arange(first, first + ids.shape[1], device=ids.device)
            x, after = self.words(ids) + self.places(places), []
            for k, block in enumerate(self.blocks):
                x, cache = block(x, None if caches is None else caches[k])
                after.append(cache)
            return self.norm(x) @ self.words.weight.T, after

    return Model().to(tools.device)


def run(spec: Spec) -> Answer:
    """Time of a step, what training needs of memory, and the time of a token that is written.

    Parameters
    ----------
    spec : Spec
        Sizes V, N, T, D, layers, heads and length.
    """
    tools = Torch(spec)
    torch = tools.torch
    V, N, T, D, layers, heads, length = (
        spec.number(name) for name in ("V", "N", "T", "D", "layers", "heads", "length")
    )
    growth = tools.growth()
    windows = cycle(random_windows(V, N, T))
    model = gpt(tools, V, D, layers, heads, max(T, length))
    matrices = [p for p in model.parameters() if p.ndim > 1]
    vectors = [p for p in model.parameters() if p.ndim < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99))

    def step() -> float:
        ids, targets = (tools.tensor(array) for array in next(windows))
        logits, _ = model(ids)
        loss = torch.nn.functional.cross_entropy(logits.view(-1, V), targets.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return float(loss.item())

    answer = {"train_ms": tools.median_ms(step), "memory_mb": growth.mb()}
    model.eval()

    def kept() -> None:
        ids, caches = torch.tensor([[1]], device=tools.device), None
        for _ in range(length):
            scores, caches = model(ids, caches)
            ids = torch.tensor([[int(scores[0, -1].argmax())]], device=tools.device)

    def anew() -> None:
        text = [1]
        for _ in range(length):
            scores, _ = model(torch.tensor([text], device=tools.device))
            text.append(int(scores[0, -1].argmax()))

    with torch.no_grad():
        for name, work in (("kept_ms", kept), ("anew_ms", anew)):
            work()
            tools.wait()
            began = time.perf_counter()
            work()
            tools.wait()
            answer[name] = 1000 * (time.perf_counter() - began) / length
    return {"step": answer}
