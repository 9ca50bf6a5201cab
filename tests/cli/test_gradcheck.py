"""``deepnlp gradcheck``: the table of cases, and what a wrong layer looks like in it."""

import pytest

from deepnlp.examples import EXAMPLES, SIZES, Example
from deepnlp.layers import Tanh


class DoubledTanh(Tanh):
    """A backward that is twice what it should be."""

    def backward(self, dy):
        return 2 * super().backward(dy)


@pytest.fixture
def wrong_layer(monkeypatch):
    inputs = EXAMPLES["Tanh"].make()[1]
    case = Example("Doubled", DoubledTanh, lambda rng, sizes: (DoubledTanh(), inputs), SIZES)
    monkeypatch.setitem(EXAMPLES, "Doubled", case)


def test_all_layers_are_right(deepnlp, monkeypatch):
    for name in [*EXAMPLES][20:]:  # all of them are checked in tests/gradcheck
        monkeypatch.delitem(EXAMPLES, name)
    done = deepnlp("gradcheck", "--json")
    assert done.code == 0
    found = done.json
    assert found["ok"]
    assert found["wrong"] == 0
    assert [case["case"] for case in found["cases"]] == list(EXAMPLES)
    rows = [row for case in found["cases"] for row in case["rows"]]
    assert found["gradients"] == len(rows)
    assert all(row["ok"] and row["error"] <= 1e-12 for row in rows)
    assert (
        f"{len(rows)} gradients checked in {len(EXAMPLES)} of {len(EXAMPLES)} cases: all ok"
        in done.err
    )


def test_a_layer_by_name_brings_all_its_cases(deepnlp):
    found = deepnlp("gradcheck", "--layer", "TimeLSTM", "--layer", "Tanh", "--json").json
    expected = [name for name in EXAMPLES if name.split()[0] == "TimeLSTM"]
    cases = {case["case"]: case["rows"] for case in found["cases"]}
    assert {*cases} == {*expected, "Tanh"}
    lstm = {row["name"] for row in cases["TimeLSTM"]}
    assert {"x", "Wx", "Wh", "b", "h0", "c0"} <= lstm


def test_a_case_by_its_own_name_with_central_differences(deepnlp):
    options = ["--layer", "TimeLSTM stateful", "--method", "central", "--seed", 3, "--json"]
    (case,) = deepnlp("gradcheck", *options).json["cases"]
    assert case["method"] == "central"
    assert case["tolerance"] == 1e-6
    assert 0 < max(row["error"] for row in case["rows"]) < 1e-6


def test_a_wrong_layer_is_told_from_a_right_one(deepnlp, wrong_layer):
    done = deepnlp("gradcheck", "--layer", "DoubledTanh", "--layer", "Tanh")
    assert done.code == 1
    of_tanh, of_doubled = (
        part.splitlines()[1] for part in done.out.split("Tanh: ")[1].split("Doubled: ")
    )
    assert of_doubled.split()[0] == "x"
    assert "1.0e+00  WRONG at [" in of_doubled
    assert of_tanh.endswith("ok")
    assert (
        done.out.splitlines()[-1] == f"2 gradients checked in 2 of {len(EXAMPLES)} cases: 1 WRONG"
    )
    found = deepnlp("gradcheck", "--layer", "Doubled", "--json")
    assert found.code == 1
    assert not found.json["ok"]
    assert found.json["cases"][0]["rows"][0]["error"] == pytest.approx(1.0)
