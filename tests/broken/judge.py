"""How a report on a broken layer is judged."""

import re
from collections import Counter
from typing import Any, Literal

from deepnlp.gradcheck import CAUSES
from tests.broken.collection import Broken, Pair, altered_lines

Verdict = Literal["right", "weak", "misleading", "unknown", "undetected", "failed"]
VERDICTS: tuple[Verdict, ...] = ("right", "weak", "misleading", "unknown", "undetected", "failed")
_WORST_FIRST: tuple[Verdict, ...] = ("misleading", "undetected", "failed", "unknown", "weak")

GENERAL = {"term of a sum or product missing", "another value in its place"}
"""These names say what happened but not where: the sentence has to say that."""

LATER = {"gradients exchanged", "not linear in dy", "forward is wrong"}
"""Causes that the checker has learned to name since the sets were frozen."""


def first_causes(report: Any) -> list[tuple[str, str]]:
    """Name and sentence of the first cause of each wrong gradient, as they are printed.

    A check that failed, such as "linear in dy", has a row of its own; it is no gradient, and counts
    only where no gradient is wrong.
    """
    checks = {check.name for check in getattr(report, "checks", ())}
    wrong = [row for row in report.rows if not row.ok and row.causes]
    gradients = [row for row in wrong if row.name not in checks]
    return [(row.causes[0].name, str(row.causes[0].evidence)) for row in gradients or wrong]


def points(evidence: str, broken: Broken) -> bool:
    """Whether a sentence names the place: a word of it, or the altered line itself.

    "the gradient of x" says which gradient is wrong, not where the mistake is: it does not count.
    Neither does an index, such as [0, 1], nor the formula by which linearity in dy is checked.
    """
    quoted = [line.strip() for line in (broken.right + "\n" + broken.wrong).splitlines()]
    if any(len(line) > 6 and line in evidence for line in quoted):
        return True
    rest = re.sub(r"gradients? (of|with respect to) [\w, .\[\]]+?( is| are|$)", " ", evidence)
    rest = re.sub(r"\[[\d, :]+\]", " ", rest)
    rest = re.sub(r"for -\d+ dy \+ .*", " ", rest)
    return any(re.search(rf"(?<![\w']){re.escape(word)}(?!\w)", rest) for word in broken.place)


def located(report: Any, broken: Broken) -> bool:
    """Whether the report leads to the altered line: it quotes the line, or gives its number.

    Of a statement of several lines each line counts.
    """
    right, wrong = set(broken.right.splitlines()), set(broken.wrong.splitlines())
    return leads_to(told(report), right ^ wrong, altered_lines(broken))


def told(report: Any) -> str:
    """What a report says of its wrong rows: evidence and place of each cause, and the notes."""
    wrong = [row for row in report.rows if not row.ok]
    causes = [cause for row in wrong for cause in row.causes] + list(report.causes)
    texts = [f"{cause.evidence} {cause.place}" for cause in causes]
    return " ".join([*texts, *(str(row.note) for row in wrong)])


def leads_to(text: str, lines: set[str], numbers: set[int]) -> bool:
    """Whether a text quotes one of the lines of code, or gives one of their numbers."""
    quoted = [" ".join(line.split()) for line in lines]
    text = " ".join(text.split())
    if any(len(line) > 6 and line in text for line in quoted):
        return True
    return any(int(n) in numbers for n in re.findall(r"(?:\blines? |:)(\d+)\b", text))


def verdict_of_cause(name: str, evidence: str, broken: Broken) -> Verdict:
    """The verdict on one named cause.

    - An accepted name is right. The two general names (a term is missing, another value in its
      place) say no more than the check itself, so with these the sentence must point at the place;
      otherwise the cause is weak.
    - A name listed as weak is weak; so is a general name where another one is the accepted one but
      the sentence points at the place.
    - A name that was not among the causes when the set was frozen is judged by its sentence: right
      if it points at the place, weak otherwise.
    - Any other name is misleading.
    """
    known = set(CAUSES) - LATER
    if name == "unknown":
        return "unknown"
    if name in broken.accept:
        return "right" if name not in GENERAL or points(evidence, broken) else "weak"
    if name in broken.weak:
        return "weak"
    if name in GENERAL or name not in known:
        if points(evidence, broken):
            return "right" if name not in known else "weak"
        return "weak" if name not in known else "misleading"
    return "misleading"


def verdict(report: Any, broken: Broken) -> Verdict:
    """The verdict on a report.

    Undetected if the report says ok. Otherwise what is judged is the first-named cause: that of the
    first wrong gradient for which one is named, in the order of the report. If it is right but
    another wrong gradient of the same report is given a misleading cause, the verdict is weak: the
    learner reads both. If every wrong gradient is unknown, the verdict is unknown.
    """
    if report.ok:
        return "undetected"
    verdicts = [verdict_of_cause(name, evidence, broken) for name, evidence in first_causes(report)]
    named = [v for v in verdicts if v != "unknown"]
    if not named:
        return "unknown"
    if named[0] == "right" and "misleading" in named:
        return "weak"
    return named[0]


def named_of_pair(report: Any, pair: Pair) -> int:
    """How many of the two mistakes are named: by the first cause of a wrong gradient each.

    Where both mistakes are in one gradient, its first two causes count.
    """
    if report.ok:
        return 0
    wrong = [row for row in report.rows if not row.ok]
    causes = [c for row in wrong for c in row.causes[: 2 if len(wrong) == 1 else 1]]
    named = 0
    for one in (pair.first, pair.second):
        for cause in causes:
            if verdict_of_cause(cause.name, str(cause.evidence), one) == "right":
                causes = [c for c in causes if c is not cause]
                named += 1
                break
    return named


def score(verdicts: list[Verdict]) -> Verdict:
    """One verdict on a layer from those on its shapes.

    Right if it is right in all shapes but one. Otherwise the commonest of the other verdicts; of
    two equally common ones the worse. "failed" is a checker that crashed or took too long.
    """
    counts = Counter(verdicts)
    if counts["right"] >= len(verdicts) - (len(verdicts) > 1):
        return "right"
    return max(_WORST_FIRST, key=lambda v: (counts[v], -_WORST_FIRST.index(v)))
