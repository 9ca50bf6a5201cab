"""Scores of word vectors on similarity sets, for the contestants that train them."""

from __future__ import annotations

import secrets

from deepnlp.datasets import load_similarity
from deepnlp.vectors import WordVectors, evaluate_similarity

SETS = ("simlex", "rw", "men", "wordsim353")


def fresh_seed() -> int:
    """Another one in each process, so that the rounds show how far results differ by chance."""
    return secrets.randbelow(2**31)


def spearman(vectors: WordVectors) -> dict[str, float]:
    """Spearman's rho by set; nothing of sets that are missing or hardly covered."""
    found = {}
    for name in SETS:
        try:
            score = evaluate_similarity(vectors, load_similarity(name))
        except FileNotFoundError:
            continue
        if score.covered >= 30:
            found[name] = score.rho
    return found
