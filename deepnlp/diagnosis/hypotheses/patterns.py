"""Mistakes that one gradient shows when it is compared with the right one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy

from deepnlp.diagnosis.problem import Guess, Problem
from deepnlp.gradcheck import causes as c
from deepnlp.gradcheck.numeric import HostArray


def zero(problem: Problem, name: str) -> Iterator[Guess]:
    """The gradient was never computed, or never stored in the right place.

    Wrong: ``self.db`` is set to zeros and forgotten. Right: ``self.db = dy.sum(axis=0)``.
    """
    told = f"every entry of the gradient of {name} is 0"
    yield Guess(c.ZERO, told, {name: numpy.zeros_like(problem.right[name])})


def multiple(problem: Problem, name: str) -> Iterator[Guess]:
    """The gradient is a multiple of the right one.

    Wrong: ``dx = y * dy`` for y = x^2, or a mean whose backward does not divide.
    Right: ``dx = 2 * x * dy``.
    """
    factor = ratio(problem.wrong[name], problem.right[name])
    if factor is None or is_one(factor):
        return
    if numpy.count_nonzero(problem.right[name]) < 2 and abs(factor + 1) > 1e-6:
        return  # of a single number, anything is a multiple
    predicted = {name: factor * problem.right[name]}
    if abs(factor + 1) < 1e-6:
        told = f"the gradient of {name} is -1 times the right one"
        yield Guess(c.SIGN, told, predicted)
    elif abs(factor) > 1e-12:
        told = f"the gradient of {name} is {problem.name_factor(factor)} times the right one"
        yield Guess(c.FACTOR, told, predicted)


def transposed(problem: Problem, name: str) -> Iterator[Guess]:
    """The gradient of a matrix came out as its transpose.

    Wrong: ``dW = dy.T @ x``. Right: ``dW = x.T @ dy``, of the shape of W.
    """
    right = problem.right[name]
    if right.ndim != 2:
        return
    told = f"the gradient of {name} is the transpose of the right one"
    yield Guess(c.TRANSPOSED, told, {name: right.T})


def unsummed(problem: Problem, name: str) -> Iterator[Guess]:
    """The gradient has further axes, over which it should have been summed.

    Wrong: ``db = dy``. Right: ``db = dy.sum(axis=0)``.
    """
    wrong, right = problem.wrong[name], problem.right[name]
    if wrong.ndim <= right.ndim or wrong.shape[wrong.ndim - right.ndim :] != right.shape:
        return
    axes = tuple(range(wrong.ndim - right.ndim))
    if numpy.allclose(wrong.sum(axis=axes), right, rtol=1e-5, atol=1e-9):
        told = (
            f"the gradient of {name} has shape {wrong.shape}; its sum over the "
            f"first {len(axes)} would be right"
        )
        yield Guess(c.NOT_SUMMED_N, told, {name: wrong})


def passed_through(problem: Problem, name: str) -> Iterator[Guess]:
    """The incoming gradient is returned: the derivative of the function is left out.

    Wrong: ``return dy``. Right: ``return dy * (1 - self.y ** 2)``.
    """
    for weight in problem.subject.weights:
        if weight.shape == problem.right[name].shape and weight.ndim > 0:
            told = f"the gradient of {name} is dy unchanged"
            yield Guess(c.DERIVATIVE_MISSING, told, {name: weight})


def other_slopes(problem: Problem, name: str) -> Iterator[Guess]:
    """A function made of straight pieces, with the slopes of another one.

    Wrong: ``dx = dy * (x > 0)`` for a rectifier that leaks.
    Right: ``dx = dy * np.where(x > 0, 1, a)``.
    """
    right, wrong = problem.right[name], problem.wrong[name]
    for dy in problem.subject.weights:
        if dy.shape != right.shape or wrong.shape != right.shape or not dy.all() or not dy.size:
            continue
        slopes = [numpy.unique((g / dy).round(6)) for g in (wrong, right)]
        if len(slopes[0]) <= 2 and 2 <= len(slopes[1]) <= 3 and right.size > 4:
            told, wanted = (" and ".join(f"{slope + 0.0:g}" for slope in s) for s in slopes)
            evidence = f"the slopes behind {name} are {told} in place of {wanted}"
            if told == wanted:
                here = f"the slopes behind {name}, {told}, stand at the wrong entries: "
                turned = (numpy.abs(wrong - right) > 1e-6 * numpy.abs(dy)).all()
                evidence = here + (
                    "each where the other should be, so the condition is inverted"
                    if turned
                    else "the condition is not that of forward"
                )
            yield Guess(c.DERIVATIVE_MISSING, evidence, {name: wrong})


def moved_by_one(problem: Problem, name: str) -> Iterator[Guess]:
    """The gradient stands a place too far along an axis; what comes in at its end is another value.

    Wrong: ``dx = dpadded[:, :-2]``. Right: ``dx = dpadded[:, 1:-1]``.
    """
    right, wrong = problem.right[name], problem.wrong[name]
    if right.shape != wrong.shape:
        return
    for axis, size in enumerate(right.shape):
        if size < 4:
            continue
        for step, word in ((1, "later"), (-1, "earlier")):
            moved = numpy.roll(right, step, axis)
            edge = tuple(
                (0 if step > 0 else -1) if k == axis else slice(None) for k in range(right.ndim)
            )
            moved[edge] = wrong[edge]
            told = f"the gradient of {name} stands one place {word} along axis {axis}"
            if numpy.count_nonzero(numpy.delete(moved, 0 if step > 0 else -1, axis)) > 2:
                yield Guess(c.TIME_SHIFTED, told, {name: moved}, tier=1)


def is_one(factor: float) -> bool:
    """Whether a factor is so close to 1 that it does not count as a multiple.

    Examples
    --------
    >>> is_one(1.000001), is_one(1.01)
    (True, False)
    """
    return abs(factor - 1) <= 1.001e-5


def ratio(wrong: HostArray, right: HostArray) -> float | None:
    """The number by which one array is a multiple of another, None if it is none.

    Examples
    --------
    >>> ratio(numpy.array([2.0, 4.0]), numpy.array([1.0, 2.0]))
    2.0
    """
    if wrong.shape != right.shape or wrong.size == 0 or not numpy.isfinite(wrong).all():
        return None
    square = float((right * right).sum())
    if square == 0:
        return None
    factor = float((wrong * right).sum()) / square
    off = float(numpy.abs(wrong - factor * right).max())
    return factor if off <= 3e-6 * float(numpy.abs(wrong).max()) else None
