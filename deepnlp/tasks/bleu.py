"""BLEU, as sacrebleu computes it."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from deepnlp.errors import required


def bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[float, str]:
    """Return the BLEU of translations, from 0 to 100, and sacrebleu's signature of its settings.

    Capitals do not count (``case:lc``), since the tokenisers write in lower case. Each text has
    one reference or more.

    >>> score, signature = bleu(["the cat sat on the mat ."], [["The cat sat on the mat ."]])
    >>> round(score, 6), signature.split("|")[:3]
    (100.0, ['nrefs:1', 'case:lc', 'eff:no'])
    """
    score, signature = corpus_score(hypotheses, references)
    return float(score.score), signature


def corpus_score(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], **options: int
) -> tuple[Any, str]:
    """sacrebleu's score of a set of texts, and its signature; options such as ``n_bootstrap``.

    >>> _, signature = corpus_score(["a b c d e", "f"], [["a b c d e"], ["g"]], n_bootstrap=20)
    >>> signature.split("|")[1]
    'bs:20'
    """
    metric = require_sacrebleu().BLEU(lowercase=True)
    streams = [list(stream) for stream in zip_longest(*references)]  # None where there are fewer
    score = metric.corpus_score(list(hypotheses), streams, **options)
    return score, str(metric.get_signature())


def require_sacrebleu() -> Any:
    """Return the module; asked for before the work begins, if only for the error."""
    advice = "sacrebleu, or take another metric"
    return required("sacrebleu", "BLEU is computed by sacrebleu", advice)
