"""Rules of rewriting: what they match, and what they put there."""

import ast

import pytest

from deepnlp.diagnosis.rewriting.rules import _rules, _tables, rewritten
from deepnlp.gradcheck import CAUSES


def others(kind, text):
    """What could stand in place of a piece of code, as source."""
    node = ast.parse(text).body[0]
    if kind == "statement":
        found = [new for new, *_ in rewritten(kind, node)]
    elif kind in ("index", "slice"):
        found = [new for new, *_ in rewritten(kind, node.value.slice)]
    else:
        found = [new for new, *_ in rewritten(kind, node.value)]
    return [ast.unparse(ast.fix_missing_locations(new)) for new in found]


@pytest.mark.parametrize("kind", sorted(_tables()))
def test_every_rule_can_be_read_and_has_a_cause_of_the_list(kind):
    for rule in _rules(kind):
        assert rule.cause in CAUSES
        assert rule.others
        assert 0 < rule.cost < 2


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("expression", "a - b", {"a + b", "b - a", "a", "b"}),
        ("expression", "x.T @ dy", {"x @ dy", "x.T @ dy.T", "dy @ x.T"}),
        ("expression", "d.sum(axis=1)", {"d.mean(axis=1)", "d.sum(keepdims=True, axis=1)", "d"}),
        ("expression", "np.where(m, a, b)", {"np.where(m, b, a)"}),
        ("expression", "range(T - 1, 0, -1)", {"range(0, 0, -1)", "range(T - 1, -1, -1)"}),
        ("expression", "d.reshape(n, r, h, k, m).mean(axis=1)",
         {"d.reshape(n, h, r, k, m).mean(axis=2)"}),
        ("number", "2", {"3", "1", "4", "0", "-2"}),
        ("around", "dy", {"np.sum(dy, axis=0)", "dy ** 2", "dy.T"}),
        ("index", "h[t - 1]", {"t", "t - 1 + 1"}),
        ("slice", "x[k:]", {":k", "-k:", ":-k"}),
        ("slice", "x[1:]", {"2:", "0:", ":1", ":-1"}),
        ("statement", "dW = x.T @ dy", {"dW += x.T @ dy", "dW -= x.T @ dy"}),
        ("statement", "dE[ids] += dy", {"np.add.at(dE, ids, dy)", "dE[ids] = dy"}),
    ],
)  # fmt: skip
def test_what_could_stand_there(kind, text, expected):
    found = set(others(kind, text))
    assert expected <= found, found


def test_a_letter_stands_for_the_same_and_an_argument_that_is_given_twice_is_no_form():
    assert others("expression", "f()") == []
    assert not [one for one in others("expression", "d.sum(axis=1)") if one.count("axis=") > 1]
    assert "np.tile(x, (n,) + (1,) * (np.ndim(x) - 1))" in others(
        "expression", "np.repeat(x, n, axis=0)"
    )
    assert not any("tile" in one for one in others("expression", "np.repeat(x, n, axis=3)"))


def test_parts_that_stay_are_the_same_nodes():
    """So that their values, known by their nodes, are not computed again."""
    node = ast.parse("f(x) * g(y)", mode="eval").body
    (first, *_) = [new for new, *_ in rewritten("expression", node)]
    assert first.left is node.left
    assert first.right is node.right
