"""Which backwards are evaluated: those that do nothing but compute, or write to copies."""

import functools
import os
import pickle
import subprocess
import sys
import warnings
from collections import deque
from pathlib import Path

import numpy as np
import pytest

from deepnlp.diagnosis.evaluating.evaluator import Evaluator
from deepnlp.diagnosis.rewriting.trials import Trials
from deepnlp.gradcheck.subject import Subject

LOG, COUNTS, RECENT = [0], {}, deque()
square = lambda x: x * x  # noqa: E731


class Base:
    count = 0
    path = "never"

    def __init__(self):
        self.W, self.dW, self.items = np.ones((3, 2)), np.zeros((3, 2)), []

    def forward(self, x):
        self.x = x
        return x @ self.W

    def backward(self, dy):
        self.effect(dy)
        self.dW[...] = self.x.T @ dy
        return dy @ self.W.T


def helper(x):
    return np.maximum(x, 0) + square(x)


def logs(x):
    LOG[0] = x.sum()
    return x


class MapsOverFiles(Base):
    def effect(self, dy):
        list(map(os.remove, []))


class Reduces(Base):
    def effect(self, dy):
        functools.reduce(os.link, [self.path])


class AsksForAFunction(Base):
    def effect(self, dy):
        getattr(os, "getpid")()  # noqa: B009


class Unlinks(Base):
    def effect(self, dy):
        Path(self.path).unlink(missing_ok=True)


class Starts(Base):
    def effect(self, dy):
        subprocess.run(["true"], check=True)


class ToFile(Base):
    def effect(self, dy):
        dy.tofile(os.devnull)


class Pickles(Base):
    def effect(self, dy):
        pickle.dumps(dy)


class Streams(Base):
    def effect(self, dy):
        sys.stdout.write("")


class Aliases(Base):
    def effect(self, dy):
        log = LOG
        log.append(1)


class AliasedEntry(Base):
    def effect(self, dy):
        counts = COUNTS
        counts["backward"] = 1


class OfTheClass(Base):
    def effect(self, dy):
        type(self).count += 1


class OfItsClass(Base):
    def effect(self, dy):
        self.__class__.count += 1


class Calls(Base):
    def effect(self, dy):
        logs(dy)


class Shuffles(Base):
    def effect(self, dy):
        np.random.shuffle(dy.copy())


class Warns(Base):
    def effect(self, dy):
        with warnings.catch_warnings():
            pass


class Remembers(Base):
    def effect(self, dy):
        RECENT.append(dy)


class Helps(Base):
    def effect(self, dy):
        helper(dy)


class Comprehends(Base):
    def effect(self, dy):
        self.items = [np.linalg.norm(row) for row in dy if row.any()]


class OwnContainers(Base):
    def effect(self, dy):
        sums = {}
        sums["all"] = dy.sum(axis=0)
        self.items.append(sums.get("all"))


class Nested(Base):
    def effect(self, dy):
        def twice(x):
            return 2 * x

        twice(dy)


class Maps(Base):
    def effect(self, dy):
        list(map(helper, dy))


class Namespaces(Base):
    def effect(self, dy):
        with np.errstate(all="ignore"):
            np.add.at(self.dW, [0], 0.0)


class Raises(Base):
    def effect(self, dy):
        if dy.ndim != 2:
            raise ValueError(f"{dy.ndim} axes")


class Sorts(Base):
    def effect(self, dy):
        sorted(dy.ravel().tolist(), key=abs)


EFFECTS = [
    MapsOverFiles, Reduces, AsksForAFunction, Unlinks, Starts, ToFile, Pickles, Streams,
    OfTheClass, OfItsClass, Shuffles, Warns,
]  # fmt: skip
ON_COPIES = [Aliases, AliasedEntry, Calls, Remembers]
PURE = [Helps, Comprehends, OwnContainers, Nested, Maps, Namespaces, Raises, Sorts]


def computes(kind):
    subject, rng = Subject(kind(), [np.ones((4, 3))], {}, []), np.random.default_rng(0)
    subject.draw_states(rng)
    subject.draw_weights(rng)
    return not Trials(subject, Evaluator()).error


@pytest.mark.parametrize("kind", EFFECTS)
def test_an_effect_is_seen(kind):
    assert not computes(kind)


@pytest.mark.parametrize("kind", ON_COPIES)
def test_what_a_module_holds_is_written_to_in_a_copy(kind):
    before = list(LOG), dict(COUNTS), list(RECENT)
    assert computes(kind)
    assert (list(LOG), dict(COUNTS), list(RECENT)) == before


@pytest.mark.parametrize("kind", PURE)
def test_what_computes_is_seen_to(kind):
    assert computes(kind)
