"""Losses: means over the targets that count."""

from __future__ import annotations

from collections.abc import Iterator

import numpy

from deepnlp.diagnosis.hypotheses.patterns import ratio
from deepnlp.diagnosis.problem import Guess, Problem
from deepnlp.gradcheck.causes import IGNORED_COUNTED, LOSS_NOT_AVERAGED, LOSS_WRONG_COUNT
from deepnlp.gradcheck.names import LABELS
from deepnlp.gradcheck.numeric import HostArray


def wrong_average(problem: Problem) -> Iterator[Guess]:
    """The forward takes a mean; the backward does not divide, or divides by another count.

    Wrong: ``ds = p - onehot``. Right: ``ds = (p - onehot) / M``, with M the targets that count.
    """
    targets = targets_of(problem)
    if targets is None:
        return
    factors = [ratio(problem.wrong[name], problem.right[name]) for name in problem.bad]
    if any(factor is None for factor in factors) or not factors:
        return
    factor = float(numpy.mean([f for f in factors if f is not None]))
    gradients = {name: factor * problem.right[name] for name in problem.bad}
    counts = _counts(problem, targets)
    for told, count in counts.items():
        if told in "NTD" and targets.ndim > 1 and _is_over_all(problem, targets):
            continue  # divided by one of two sizes: that is another count
        if abs(factor / count - 1) < 1e-6 and count > 1:
            evidence = (
                f"the gradient is {told} = {count} times the right one: it was not divided by it"
            )
            yield Guess(LOSS_NOT_AVERAGED, evidence, gradients)
    for a, right_count in counts.items():
        for b, count in [*counts.items(), *_other_counts(problem)]:
            if count != right_count and count > 0 and abs(factor * count / right_count - 1) < 1e-6:
                evidence = (
                    f"the gradient is divided by {b} = {count} in place of {a} = {right_count}"
                )
                yield Guess(LOSS_WRONG_COUNT, evidence, gradients)


def ignored_counted(problem: Problem) -> Iterator[Guess]:
    """Targets that the forward leaves out get a gradient.

    Wrong: ``ds = (p - onehot) / M`` in all rows. Right: times 0 where the target is ignored.
    """
    targets = targets_of(problem)
    if targets is None or targets.dtype.kind not in "iu":
        return
    for name in problem.bad:
        right, wrong = problem.right[name], problem.wrong[name]
        if targets.shape not in (right.shape, right.shape[:-1]) or right.shape != wrong.shape:
            continue
        size = 1 if right.shape == targets.shape else right.shape[-1]
        rows_right = right.reshape(-1, size)
        rows_wrong = wrong.reshape(-1, size)
        ignored = numpy.asarray(~rows_right.any(axis=1))
        if not ignored.any() or not rows_wrong[ignored].any():
            continue
        factor = ratio(rows_wrong[~ignored], rows_right[~ignored])
        if factor is None and not ignored.all():
            continue
        told = (
            f"{int(ignored.sum())} of {ignored.size} targets do not count in the "
            f"loss, but their rows of the gradient of {name} are not 0"
        )
        yield Guess(IGNORED_COUNTED, told, {name: wrong})


def targets_of(problem: Problem) -> HostArray | None:
    """The targets, where the subject is a loss."""
    if len(problem.subject.weights) != 1 or problem.subject.weights[0].ndim:
        return None
    subject = problem.subject
    inputs = [
        (name, value)
        for name, value in zip(subject.input_names, subject.inputs)
        if isinstance(value, numpy.ndarray)
    ]
    named = [v for name, v in inputs if name in LABELS or name.startswith("target")]
    integers = [v for _, v in inputs[1:] if v.dtype.kind in "iu"]
    others = [v for _, v in inputs[1:]]
    found = named or integers or others
    return found[0] if found else None


def _counts(problem: Problem, targets: HostArray) -> dict[str, int]:
    """What a loss may be averaged over."""
    counts: dict[str, int] = {}
    if targets.dtype.kind in "iu":
        ignored = _ignored(problem, targets)
        if ignored:
            counts["the number of targets that count"] = targets.size - ignored
            counts["the number of all targets"] = targets.size
        else:
            counts["the number of targets"] = targets.size
    else:
        counts["the number of entries"] = targets.size
    if targets.ndim > 1:
        for letter, size in zip("NTD", targets.shape, strict=False):
            counts[letter] = size
    elif targets.dtype.kind == "f":
        counts["N"] = targets.shape[0] if targets.ndim else 1
    return counts


def _is_over_all(problem: Problem, targets: HostArray) -> bool:
    """Whether a forward averages over all targets, and not over one of their axes."""
    if targets.dtype.kind in "iu" or problem.trace is None:
        return targets.dtype.kind in "iu"
    divisors = [
        float(node.operands[1][0])
        for node in problem.trace.nodes
        if node.op == "divide" and node.operands[1][0].ndim == 0
    ]
    return float(targets.size) in divisors


def _ignored(problem: Problem, targets: HostArray) -> int:
    for name in problem.subject.input_names:
        right = problem.right.get(name)
        if right is not None and right.shape[:-1] == targets.shape:
            return int((~right.any(axis=-1)).sum())
    return int((targets < 0).sum())


def _other_counts(problem: Problem) -> list[tuple[str, int]]:
    """Counts that no mean over targets uses, but a mistake may."""
    found = [("1", 1)]
    for name in problem.subject.input_names:
        right = problem.right.get(name)
        if right is None:
            continue
        found += [("the number of entries", right.size), ("V", right.shape[-1])]
        found += [(letter, n) for letter, n in zip("NT", right.shape[:-1], strict=False)]
        if right.ndim > 1:
            found.append(("N V", right.shape[0] * right.shape[-1]))
    targets = targets_of(problem)
    if targets is not None:
        found += [("N T + 1", targets.size + 1), ("N T - 1", targets.size - 1)]
    return found
