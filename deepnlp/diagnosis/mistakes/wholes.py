"""Mistakes that several gradients show: losses, and gradients in each other's place."""

import itertools
from collections.abc import Iterator

import numpy

from deepnlp.backend import HostArray
from deepnlp.diagnosis.mistakes.table import say
from deepnlp.diagnosis.problem import Guess, Problem, distance, ratio
from deepnlp.gradcheck import causes as c

# --- Losses: means over the targets that count ----------------------------------------------------


def wrong_average(problem: Problem) -> Iterator[Guess]:
    """The forward takes a mean; the backward does not divide, or divides by another count.

    Wrong: ``ds = p - onehot``. Right: ``ds = (p - onehot) / M``, with M the targets that count.
    """
    targets = problem.targets
    factors = [ratio(problem.wrong[name], problem.right[name]) for name in problem.bad]
    if targets is None or problem.must_stay or any(factor is None for factor in factors):
        return  # a count would be in all gradients
    factor = float(numpy.mean([f for f in factors if f is not None]))
    gradients = {name: factor * problem.right[name] for name in problem.bad}
    counts = _counts(problem, targets)
    for told, size in counts.items():
        if told in "NTD" and targets.ndim > 1 and _is_over_all(problem, targets):
            continue  # divided by one of two sizes: that is another count
        if abs(factor / size - 1) < 1e-6 and size > 1:
            yield say("not averaged", gradients, count=told, size=size)
    for wanted, right in counts.items():
        for told, size in [*counts.items(), *_other_counts(problem, targets)]:
            if size != right and size > 0 and abs(factor * size / right - 1) < 1e-6:
                words = {"count": told, "size": size, "wanted": wanted, "right": right}
                yield say("wrong count", gradients, **words)


def ignored_counted(problem: Problem) -> Iterator[Guess]:
    """Targets that the forward leaves out get a gradient.

    Wrong: ``ds = (p - onehot) / M`` in all rows. Right: times 0 where the target is ignored.
    """
    targets = problem.targets
    if targets is None or targets.dtype.kind not in "iu":
        return
    for name in problem.bad:
        right, wrong = problem.right[name], problem.wrong[name]
        if targets.shape not in (right.shape, right.shape[:-1]) or right.shape != wrong.shape:
            continue
        size = 1 if right.shape == targets.shape else right.shape[-1]
        rows_right, rows_wrong = right.reshape(-1, size), wrong.reshape(-1, size)
        ignored = ~rows_right.any(axis=1)
        if not ignored.any() or not rows_wrong[ignored].any():
            continue
        if ignored.all() or ratio(rows_wrong[~ignored], rows_right[~ignored]) is not None:
            words = {"ignored": int(ignored.sum()), "count": ignored.size, "name": name}
            yield say("ignored", {name: wrong}, **words)


def _counts(problem: Problem, targets: HostArray) -> dict[str, int]:
    """What a loss may be averaged over."""
    counts: dict[str, int] = {"the number of entries": targets.size}
    if targets.dtype.kind in "iu":
        ignored = _ignored(problem, targets)
        counts = {"the number of targets": targets.size}
        if ignored:
            counts = {"the number of targets that count": targets.size - ignored}
            counts["the number of all targets"] = targets.size
    if targets.ndim > 1:
        counts |= dict(zip("NTD", targets.shape, strict=False))
    elif targets.dtype.kind == "f":
        counts["N"] = targets.shape[0] if targets.ndim else 1
    return counts


def _is_over_all(problem: Problem, targets: HostArray) -> bool:
    """Whether a forward averages over all targets, and not over one of their axes."""
    if targets.dtype.kind in "iu" or problem.trace is None:
        return targets.dtype.kind in "iu"
    divisors = [node.arrays[1] for node in problem.trace.nodes if node.op == "divide"]
    return any(d.ndim == 0 and float(d) == targets.size for d in divisors)


def _ignored(problem: Problem, targets: HostArray) -> int:
    for name in problem.subject.input_names:
        right = problem.right.get(name)
        if right is not None and right.shape[:-1] == targets.shape:
            return int((~right.any(axis=-1)).sum())
    return int((targets < 0).sum())


def _other_counts(problem: Problem, targets: HostArray) -> list[tuple[str, int]]:
    """Counts that no mean over targets uses, but a mistake may."""
    found = [("1", 1)]
    for name in problem.subject.input_names:
        right = problem.right.get(name)
        if right is not None and right.ndim:
            found += [("the number of entries", right.size), ("V", right.shape[-1])]
            found += [*zip("NT", right.shape[:-1], strict=False)]
            found += [("N V", right.shape[0] * right.shape[-1])] if right.ndim > 1 else []
    return [*found, ("N T + 1", targets.size + 1), ("N T - 1", targets.size - 1)]


# --- Gradients in each other's place --------------------------------------------------------------


def exchanged_rows(problem: Problem) -> Iterator[Guess]:
    """Gradients were stored, or returned, in each other's place.

    Wrong: ``return dx, db, dW``. Right: ``return dx, dW, db``.
    """
    for count in (2, 3):
        for names in itertools.permutations(problem.bad, count):
            if names[0] != min(names):
                continue
            gradients = {a: problem.right[b] for a, b in zip(names, (*names[1:], names[0]))}
            if all(distance(problem.wrong[n], g) < 1e-5 for n, g in gradients.items()):
                same = len({problem.right[n].shape for n in names}) == 1
                inputs = set(names) & set(problem.subject.input_names)
                cause = c.GATES_SWAPPED if same and not inputs else c.EXCHANGED
                yield say("exchanged rows", gradients, cause=cause, names=" and ".join(names))
