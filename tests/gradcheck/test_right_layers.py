"""Right layers are not accused; ``python -m tests.gradcheck.right_layers`` runs 2,000."""

from deepnlp.gradcheck import Report
from tests.gradcheck.right_layers import FAMILIES, Pair, pair_of, run, score


def test_no_right_layer_is_accused_and_none_crashes():
    assert len(FAMILIES) >= 25
    assert score(4 * len(FAMILIES), first=10_000) == ([], [])


def spoilt(name):
    """The functions of a family with one wrong gradient."""
    right = pair_of(name)

    def backward(p, dy, cache):
        dxs, grads = right.backward(p, dy, cache)
        if grads:
            last = list(grads)[-1]
            return dxs, {**grads, last: 1.001 * grads[last]}
        return [1.001 * dxs[0], *dxs[1:]], grads

    return Pair(right.forward, backward)


def test_the_same_layers_with_a_wrong_gradient_are_found(monkeypatch):
    """So that it is no wonder that the right ones pass."""
    monkeypatch.setattr("deepnlp.gradcheck.explaining._diagnose", lambda *_: None)  # seconds each
    for number, name in enumerate(FAMILIES):
        reports = [run(number + k * len(FAMILIES), spoilt)[1] for k in (401, 402)]
        assert all(isinstance(report, Report) for report in reports), name
        assert not all(report.ok for report in reports), name
