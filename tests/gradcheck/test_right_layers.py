"""Right layers are not accused; ``python -m tests.gradcheck.right_layers`` runs 2,000."""

import pytest

from deepnlp.gradcheck import Report
from tests.gradcheck import right_layers
from tests.gradcheck.right_layers import FAMILIES, run, score


def test_no_right_layer_is_accused_and_none_crashes():
    assert len(FAMILIES) >= 25
    assert score(6 * len(FAMILIES), first=10_000) == ([], [])


@pytest.mark.parametrize("number", range(27))
def test_the_same_layers_with_a_wrong_gradient_are_found(number, monkeypatch):
    """So that it is no wonder that the right ones pass."""
    name = list(FAMILIES)[number]
    right = FAMILIES[name]

    def backward(p, dy, cache):
        dxs, grads = right.backward(p, dy, cache)
        if grads:
            last = list(grads)[-1]
            return dxs, {**grads, last: 1.001 * grads[last]}
        return [1.001 * dxs[0], *dxs[1:]], grads

    wrong = {**FAMILIES, name: right._replace(backward=backward)}
    monkeypatch.setattr(right_layers, "FAMILIES", wrong)
    monkeypatch.setattr("deepnlp.gradcheck.checker._diagnose", lambda *_: None)  # seconds each
    found = [run(number + k * len(FAMILIES))[1] for k in (401, 402)]
    assert all(isinstance(one, Report) for one in found)
    assert not all(one.ok for one in found)
