"""No wrong gradient passes in silence, and no right one is accused: each kind in many variants."""

from pathlib import Path

import numpy as np
import pytest

from deepnlp.gradcheck import check_gradients
from deepnlp.gradcheck.rules import LARGEST, RULES
from tests.gradcheck.trust_cases import RIGHT, SAID, WRONG, check_case

QUICK = 12  # of a kind, evenly over its variants
ALL = [(kind, text, k) for table in (WRONG, SAID, RIGHT) for kind, cases in table.items()
       for k, text in enumerate(cases[:: max(1, len(cases) // QUICK)])]  # fmt: skip
ALL = [case for case in ALL if case[0] != "sums" or "1000" not in case[1]]


@pytest.mark.parametrize(("kind", "text", "number"), ALL, ids=[f"{k} {n}" for k, _, n in ALL])
def test_trust(kind, text, number):
    report = check_case(text)
    if text in WRONG.get(kind, ()):
        assert not report.ok, report
    elif text in SAID.get(kind, ()):
        assert not report.ok or report.noted, report
    else:
        assert report.ok, report
    assert all(row.error <= LARGEST for row in report.rows if row.ok), report


def test_what_is_noted_is_counted_and_an_error_if_strict():
    class Masked:
        def __init__(self):
            self.mask = np.array([1.0, 0.0, 2.0])

        def forward(self, x):
            return x * self.mask

        def backward(self, dy):
            return dy * self.mask

    x = np.random.default_rng(0).normal(size=(4, 3))
    report = check_gradients(Masked(), x)
    assert report.ok
    assert "1 left to you to judge" in str(report)
    assert report.to_dict()["noted"] == ["not checked: mask (without a gradient, intended?)"]
    assert not check_gradients(Masked(), x, strict=True).ok
    assert check_gradients(Masked(), x, constants=["mask"], strict=True).ok


def test_the_table_of_rules_is_shown():
    page = (Path(__file__).parents[2] / "docs" / "maintaining" / "reliability.md").read_text(
        encoding="utf-8"
    )
    for rule in RULES:
        assert f"| {' | '.join(rule)} |" in page
