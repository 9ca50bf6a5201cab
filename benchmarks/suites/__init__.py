"""The suites: who competes at which sizes, and the tables of what was measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from benchmarks.harness import Entry
from benchmarks.records import Goal
from benchmarks.report import Table
from benchmarks.results import Result
from benchmarks.settings import Settings
from benchmarks.suites import (
    bottleneck,
    drift,
    generate,
    gpt,
    layers,
    lm,
    precision,
    processes,
    profile,
    scaling,
    scan,
    seq2seq,
    soak,
    techniques,
    translation,
    vectors,
)

__all__ = ["SUITES", "Suite"]


def _no_goals(result: Result) -> list[Goal]:
    return []


class Suite(NamedTuple):
    """A suite.

    Parameters
    ----------
    summary : str
    entries : callable
        From :class:`Settings`, the contestants.
    tables : callable
        From a :class:`Result`, the tables.
    goals : callable
        From a :class:`Result`, what was aimed at, and what was reached.
    """

    summary: str
    entries: Callable[[Settings], list[Entry]]
    tables: Callable[[Result], list[Table]]
    goals: Callable[[Result], list[Goal]] = _no_goals


SUITES = {
    "lm": Suite(
        "a training step and an evaluation pass of the language model", lm.entries, lm.tables,
        lm.goals,
    ),
    "layers": Suite("each layer, forward and backward", layers.entries, layers.tables),
    "scan": Suite(
        "a layer that is a scan, against an LSTM and its bare products", scan.entries, scan.tables,
        scan.goals,
    ),
    "generate": Suite(
        "sampling, one text and 64 together", generate.entries, generate.tables, generate.goals
    ),
    "vectors": Suite(
        "word2vec in words per second, against gensim", vectors.entries, vectors.tables,
        vectors.goals,
    ),
    "seq2seq": Suite(
        "a training step of encoder and decoder; a GRU beside an LSTM", seq2seq.entries,
        seq2seq.tables, seq2seq.goals,
    ),
    "translation": Suite(
        "a recipe for translation trained, in target tokens per second and BLEU",
        translation.entries, translation.tables, translation.goals,
    ),
    "gpt": Suite(
        "a training step of a GPT, and text from it with keys and values kept", gpt.entries,
        gpt.tables, gpt.goals,
    ),
    "bottleneck": Suite(
        "the softmax behind a matrix L, against the size of the embedding", bottleneck.entries,
        bottleneck.tables,
    ),
    "scaling": Suite(
        "time against T, N, H and V; memory against the length of the text", scaling.entries,
        scaling.tables,
    ),
    "processes": Suite(
        "a training step in 1, 2 and 4 processes, and a model of many", processes.entries,
        processes.tables,
    ),
    "techniques": Suite(
        "what each technique buys, one change at a time", techniques.entries, techniques.tables
    ),
    "profile": Suite(
        "where the time of a training step goes, and the roofline", profile.entries, profile.tables
    ),
    "precision": Suite(
        "the error of products in TF32, beside that in float32", precision.entries, precision.tables
    ),
    "drift": Suite(
        "10,000 training steps in float32 beside the same in float64", drift.entries, drift.tables,
        drift.goals,
    ),
    "soak": Suite(
        "memory over minutes or hours of training, generating and evaluating", soak.entries,
        soak.tables, soak.goals,
    ),
}  # fmt: skip
"""By name, in the order in which they run."""
