"""The gradient of a batch from the gradients of its slices, in one process or in several.

The rows of a batch are cut into K slices. Each slice goes forward and back alone, from a state of
its own: hidden states, which belong to rows, and the counts of dropout's masks. The gradients of
the slices are added up in pairs, (g_0 + g_1) + (g_2 + g_3). With P processes each makes the
gradients of K / P neighbouring slices and adds these up; the upper levels of the same tree are made
between processes. Additions are the same ones in the same order, so the bits do not depend on P.
"""

import hashlib
from typing import Any, TypeAlias

import numpy as np

from deepnlp import backend
from deepnlp.backend import Array, asarray, asnumpy, xp
from deepnlp.backend.processes import Group, cut
from deepnlp.errors import DeepNLPError
from deepnlp.parameter import Parameter, at_every_place, sum_by_id
from deepnlp.tasks import Task

APART = 1 << 40  # the number of dropout masks reserved for each slice
BUCKET = 1 << 24  # numbers that are exchanged in one message; few large messages are faster

Part: TypeAlias = Array | tuple[Array, Array] | None  # dense, or ids and rows, or of no rows


class Slices:
    """The slices of all batches of a run, and what each carries from batch to batch.

    Parameters
    ----------
    model : Layer
    task : Task
    number : int
        K. One slice is the batch itself, learnt as if there were no slices.
    group : Group

    Raises
    ------
    ValueError
        If the processes of the group cannot have as many slices each.
    """

    def __init__(self, model: Any, task: Task, number: int, group: Group) -> None:
        if number % group.size:
            expected = f"divide the {number} slices of a batch (accumulate)"
            raise ValueError(f"the number of processes should {expected}, got {group.size}")
        self.model, self.task, self.number, self.group = model, task, number, group
        share = number // group.size
        self._own = range(group.rank * share, (group.rank + 1) * share)
        self.weights: list[Parameter] = [p for p in model.parameters() if p.trainable]
        self._carried = [_moved(model.snapshot(), k * APART) for k in range(number)]

    def begin_epoch(self) -> None:
        """Prepare each slice for the first batch of an epoch."""
        if self.number == 1:
            self.task.begin_epoch(self.model)
            return
        for k in self._own:
            self.model.restore(self._carried[k])
            self.task.begin_epoch(self.model)
            self._carried[k] = self.model.snapshot()

    def learn(self, batch: tuple[Any, ...]) -> Any:
        """Return the mean loss of a batch; its gradient is left in the parameters."""
        if self.number == 1:
            return self.task.learn(self.model, batch)
        rows = cut(len(batch[0]), self.number)
        loss, parts = self._sum(self._own.start, self._own.stop, batch, rows)
        if self.group.size > 1:
            loss, parts = self._exchanged(loss, parts)
        for p, part in zip(self.weights, parts):
            p.zero_grad()
            if isinstance(part, tuple):
                p.accumulate_rows(*part)
            elif part is not None:
                p.grad = part
        return loss

    # --- The tree ------------------------------------------------------------------------------

    def _sum(
        self, first: int, last: int, batch: tuple[Any, ...], rows: list[slice]
    ) -> tuple[float, list[Part]]:
        """Return the loss and gradient of the slices from ``first`` to before ``last``."""
        if last - first == 1:
            return self._of_slice(first, batch, rows[first])
        middle = (first + last) // 2
        loss, left = self._sum(first, middle, batch, rows)
        other, right = self._sum(middle, last, batch, rows)
        return loss + other, [*map(_added, left, right)]

    def _of_slice(self, k: int, batch: tuple[Any, ...], rows: slice) -> tuple[float, list[Part]]:
        """Compute loss and gradient of one slice, weighted by its share of the targets."""
        part = tuple(array[rows] for array in batch)
        if not len(part[0]):
            return 0.0, [None] * len(self.weights)
        share = self.task.count(part) / max(1, self.task.count(batch))
        self.model.restore(self._carried[k])
        loss = share * float(self.task.learn(self.model, part, share))
        self._carried[k] = self.model.snapshot()
        return loss, [p.grad if p.sparse_grad is None else p.sparse_grad for p in self.weights]

    def _exchanged(self, loss: float, parts: list[Part]) -> tuple[float, list[Part]]:
        """Sum over all processes. Rows travel as rows, if they are rows in every process."""
        dense = [isinstance(part, xp.ndarray) for part in parts]
        losses, flags = zip(*self.group.gathered((loss, dense)))
        is_dense = [any(flag) for flag in zip(*flags)]
        rows = [part for part, flag in zip(parts, is_dense) if not flag]
        rows = self.group.folded([*map(_on_host, rows)], lambda a, b: [*map(_added, a, b)])
        tables = self._tables([(p, q) for p, q, flag in zip(self.weights, parts, is_dense) if flag])
        left = iter(rows), iter(tables)
        return _pairwise(list(losses)), [_from_host(next(left[flag])) for flag in is_dense]

    def _tables(self, dense: list[tuple[Parameter, Part]]) -> list[Array]:
        """Return the sums of dense gradients over all processes, in buckets of one number type."""
        sums: list[Any] = [None] * len(dense)
        for numbers in _buckets([p for p, _ in dense]):
            flat = np.concatenate([asnumpy(_table(*dense[n])).reshape(-1) for n in numbers])
            self.group.add_up(flat)
            ends = np.cumsum([dense[n][0].value.size for n in numbers])
            for n, piece in zip(numbers, np.split(flat, ends[:-1])):
                sums[n] = piece.reshape(dense[n][0].shape)
        return sums

    # --- The state between batches -------------------------------------------------------------

    def gather(self) -> None:
        """Have all processes know the state of all slices; an error if their weights differ."""
        if self.group.size == 1:
            return
        weights = hashlib.sha256(b"".join(asnumpy(p.value).tobytes() for p in self.weights))
        of_this = weights.hexdigest(), [self._carried[k] for k in self._own]
        digests, carried = zip(*self.group.gathered(of_this))
        others = [rank for rank, digest in enumerate(digests) if digest != digests[0]]
        if others:
            advice = "let all machines have one kind of processor and the same NumPy"
            raise DeepNLPError(f"process {others[0]} has other weights than process 0: {advice}")
        self._carried = [state for states in carried for state in states]

    def snapshot(self) -> dict[str, Any]:
        """Return the state of the model, or of each slice, by names such as ``2.layers.1.h``."""
        if self.number == 1:
            return dict(self.model.snapshot())
        return {f"{k}.{n}": v for k, state in enumerate(self._carried) for n, v in state.items()}

    def check_snapshot(self, snapshot: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the state of each slice, or the error of :meth:`restore`."""
        if self.number == 1:
            states = [snapshot]
        else:
            names = self.model.snapshot()
            wanted = {f"{k}.{name}" for k in range(self.number) for name in names}
            if strange := sorted(wanted ^ set(snapshot)):
                raise ValueError(f"not a state of {self.number} slices: {strange}")
            states = [{n: snapshot[f"{k}.{n}"] for n in names} for k in range(self.number)]
        for state in states:
            self.model.check_snapshot(state)
        return states

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Put back what :meth:`snapshot` gave."""
        self._carried = self.check_snapshot(snapshot)
        self.model.restore(self._carried[0])

    def begin_alike(self) -> None:
        """Let all processes begin with the weights, states and random numbers of rank 0."""
        random = backend.rng().bit_generator
        values = [asnumpy(p.value) for p in self.weights]
        values, self._carried, random.state = self.group.shared(
            lambda: (values, self._carried, random.state)
        )
        for p, value in zip(self.weights, values):
            p.value = asarray(value)


def _moved(state: dict[str, Any], masks: int) -> dict[str, Any]:
    """Return a state whose dropout draws masks that lie so much further on."""
    return {n: v + masks if n.split(".")[-1] == "calls" else v for n, v in state.items()}


def _added(a: Any, b: Any) -> Part:
    """Return the sum of two gradients of a weight; it may take the memory of the first."""
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, tuple) and isinstance(b, tuple):
        return sum_by_id(*map(xp.concatenate, zip(a, b)))
    if isinstance(a, tuple):
        a, b = b, a
    if isinstance(b, tuple):
        a[b[0]] += at_every_place(*b)
    else:
        a += b
    return a


def _table(p: Parameter, part: Part) -> Array:
    """Return a gradient as an array. It is -0 where there is none: only x + -0 is x for every x."""
    if isinstance(part, xp.ndarray):
        return part
    table = xp.full(p.shape, -0.0, dtype=p.dtype)
    if part is not None:
        table[part[0]] = at_every_place(*part)
    return table


def _on_host(part: Any) -> Any:
    return part and tuple(map(asnumpy, part))


def _from_host(part: Any) -> Any:
    if isinstance(part, tuple):
        return tuple(map(asarray, part))
    return part if part is None else asarray(part)


def _pairwise(values: list[float]) -> float:
    """Return the sum of 2^n numbers in pairs."""
    while len(values) > 1:
        values = [a + b for a, b in zip(values[::2], values[1::2])]
    return values[0]


def _buckets(weights: list[Parameter]) -> list[list[int]]:
    """Group the places of weights in a list: neighbours that are small and of one type."""
    buckets: list[list[int]] = []
    size, dtype = 0, None
    for n, p in enumerate(weights):
        if dtype != p.dtype or size + p.value.size > BUCKET:
            buckets.append([])
            size, dtype = 0, p.dtype
        size += p.value.size
        buckets[-1].append(n)
    return buckets
