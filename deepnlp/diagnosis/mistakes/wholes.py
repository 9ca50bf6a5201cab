"""Gradients that are stored, or returned, in each other's place."""

import itertools
from collections.abc import Iterator

import numpy

from deepnlp.backend import HostArray
from deepnlp.diagnosis.mistakes.table import say
from deepnlp.diagnosis.problem import Guess, Problem, distance
from deepnlp.gradcheck import causes as c

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
