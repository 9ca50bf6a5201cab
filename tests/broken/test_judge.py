"""The judge, on reports made by hand."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.broken.collection import Broken, Family, Layer, Pair
from tests.broken.judge import Verdict, leads_to, named_of_pair, points, score, verdict

CASE = Broken(
    name="example",
    family=Family("example", Layer("Affine", "", ""), ""),
    right="dxn = dout * self.gamma",
    wrong="dxn = dout",
    truth="gamma is missing",
    accept=("term of a sum or product missing",),
    place=("gamma",),
    weak=("constant factor",),
)


def row(name: str, *causes: tuple[str, str], ok: bool = False) -> SimpleNamespace:
    named = [SimpleNamespace(name=n, evidence=e) for n, e in causes]
    return SimpleNamespace(name=name, ok=ok, causes=named)


def report(*rows: SimpleNamespace) -> SimpleNamespace:
    return SimpleNamespace(ok=all(r.ok for r in rows), rows=rows)


TERM = "term of a sum or product missing"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row("x", ok=True)], "undetected"),
        ([row("x", ("unknown", "at [0, 1]"))], "unknown"),
        ([row("x")], "unknown"),
        ([row("x", (TERM, "Norm: without the factor gamma"))], "right"),
        ([row("x", (TERM, "Norm: without the factor beta"))], "weak"),
        ([row("x", ("constant factor", "3 times"))], "weak"),
        ([row("x", ("sign", "-1 times"))], "misleading"),
        ([row("x", ("another value in its place", "gamma for dout"))], "weak"),
        ([row("x", ("another value in its place", "x for dout"))], "misleading"),
        ([row("x", ("factor missing", "gamma"))], "right"),
        ([row("x", ("factor missing", "something"))], "weak"),
        ([row("x", ("unknown", "")), row("W", (TERM, "gamma"))], "right"),
        ([row("x", (TERM, "gamma")), row("W", ("sign", ""))], "weak"),
        ([row("x", ("sign", "")), row("W", (TERM, "gamma"))], "misleading"),
        ([row("x", (TERM, "gamma")), row("W", ("unknown", ""))], "right"),
    ],
)
def test_verdict(rows: list[SimpleNamespace], expected: Verdict) -> None:
    assert verdict(report(*rows), CASE) == expected


def test_a_name_that_says_all_needs_no_place() -> None:
    case = replace(CASE, accept=("transposed",))
    assert verdict(report(row("x", ("transposed", "W"))), case) == "right"


def test_the_gradient_that_is_wrong_is_not_the_place() -> None:
    case = replace(CASE, place=("x",))
    assert not points("Norm: the gradient of x is without a term", case)
    assert points("Norm: the gradient of b is without x", case)
    assert not points("Norm: exp is missing", case)
    assert not points("the layer's 1st term at [1, 2]", replace(CASE, place=("1", "s")))


def test_the_line_itself_is_the_place() -> None:
    assert points("line 7: dxn = dout, without a factor", CASE)


def test_a_name_that_is_younger_than_the_set_is_judged_by_its_sentence() -> None:
    later = "not linear in dy"
    assert verdict(report(row("x", (later, "gamma does not depend on dy"))), CASE) == "right"
    assert verdict(report(row("x", (later, "it is clipped"))), CASE) == "weak"


def test_the_formula_of_a_check_is_not_the_place() -> None:
    told = "the gradient of x for -4000 dy + 1500 dy' is not -4000 times that for dy"
    assert not points(told, replace(CASE, place=("dy",)))


def test_a_check_that_failed_is_no_second_wrong_gradient() -> None:
    rows = [row("x", (TERM, "gamma")), row("linear in dy", ("sign", "no gradient at all"))]
    both = report(*rows)
    both.checks = [SimpleNamespace(name="linear in dy")]
    assert verdict(both, CASE) == "right"
    alone = report(rows[1])
    alone.checks = both.checks
    assert verdict(alone, CASE) == "misleading"


def test_pair() -> None:
    pair = Pair("both", CASE, replace(CASE, accept=("sign",)))
    right = row("x", (TERM, "gamma"))
    assert named_of_pair(report(right, row("W", ("sign", ""))), pair) == 2
    assert named_of_pair(report(right, row("W", ("unknown", ""))), pair) == 1
    assert named_of_pair(report(row("x", (TERM, "gamma"), ("sign", ""))), pair) == 2
    assert named_of_pair(report(row("x", ok=True)), pair) == 0


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["right"] * 5, "right"),
        (["right"] * 4 + ["misleading"], "right"),
        (["right"] * 3 + ["misleading"] * 2, "misleading"),
        (["right"] * 3 + ["unknown", "misleading"], "misleading"),
        (["unknown"] * 3 + ["weak"] * 2, "unknown"),
    ],
)
def test_score_of_five_shapes(verdicts: list[Verdict], expected: Verdict) -> None:
    assert score(verdicts) == expected


def test_a_line_is_located_by_its_text_or_its_number():
    assert leads_to("in line 7, there", {"db = dy"}, {7})
    assert leads_to("`db = dy.sum()` should be", {"db = dy.sum()"}, {7})
    assert not leads_to("in line 8, `db = dy` is", {"db = dy.sum()"}, {7})
