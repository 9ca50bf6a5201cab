"""The verdict that programs read."""

import json
from pathlib import Path

import numpy as np
import pytest

from deepnlp.gradcheck import CAUSES, SCHEMA, VERSION, check_gradients
from deepnlp.layers import TimeLSTM


class Affine:
    def __init__(self, W, b):
        self.W, self.b = W, b

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dy):
        self.dW, self.db = self.x.T @ dy, dy[0]
        return dy


def affine(kind=Affine):
    rng = np.random.default_rng(0)
    return check_gradients(
        kind(rng.normal(size=(4, 3)), rng.normal(size=3)), rng.normal(size=(5, 4))
    )


def test_the_schema():
    found = json.loads(json.dumps(affine().to_dict(), allow_nan=False))
    assert list(found) == [
        "schema", "version", "subject", "method", "tolerance", "ok", "error", "rows", "noted",
        "checks", "causes", "sources", "runs",
    ]  # fmt: skip
    assert (found["schema"], found["version"]) == (SCHEMA, VERSION) == ("deepnlp.gradcheck", 1)
    assert found["ok"] is False
    assert found["error"] is None
    assert [(row["name"], row["ok"], row["kind"]) for row in found["rows"]] == [
        ("x", False, "gradient"), ("W", True, "gradient"), ("b", False, "gradient"),
    ]  # fmt: skip
    x, W, b = found["rows"]
    assert x["note"] == "dx has shape (5, 3), should have (5, 4)"
    assert W["error"] < 1e-10
    assert W["causes"] == []
    assert b["error"] > 0
    assert len(b["index"]) == 1
    for cause in [*x["causes"], *b["causes"], *found["causes"]]:
        assert cause["sentence"] == CAUSES[cause["name"]]
        assert cause["evidence"]
        assert cause["place"]
        assert cause["confidence"] in ("seen", "likely", "possible", "none")
    assert b["causes"][0]["name"] == "bias gradient not summed over N"
    assert b["causes"][0]["confidence"] == "likely"
    assert [cause["rows"] for cause in found["causes"]] == [["x"], ["b"]]


def test_a_right_layer():
    rng = np.random.default_rng(0)
    found = check_gradients(TimeLSTM.init(3, 4, rng=rng), rng.normal(size=(2, 3, 3))).to_dict()
    assert found["ok"] is True
    assert found["causes"] == []
    assert all(check["ok"] for check in found["checks"])


def test_what_was_seen_is_sure():
    class Forgets(Affine):
        def backward(self, dy):
            self.dW = self.x.T @ dy
            return dy @ self.W.T

    found = affine(Forgets).to_dict()
    (cause,) = found["causes"]
    assert cause["confidence"] == "seen"
    assert cause["rows"] == ["b"]


def test_a_failed_check_is_a_row_of_its_own_kind():
    class Clips(Affine):
        def backward(self, dy):
            self.dW, self.db = self.x.T @ dy, dy.sum(axis=0)
            return np.clip(dy, -9, 9) @ self.W.T

    found = affine(Clips).to_dict()
    assert [(row["name"], row["kind"]) for row in found["rows"] if not row["ok"]] == [
        ("linear in dy", "check")
    ]


@pytest.mark.parametrize("size", [1, 3])
def test_numbers_of_any_kind_become_json(size):
    class Cube:
        def forward(self, x):
            self.x = x
            return x**3

        def backward(self, dy):
            return 3 * self.x**2 * dy * np.nan

    report = check_gradients(Cube(), np.ones(size, dtype="float32"))
    text = json.dumps(report.to_dict(), allow_nan=False)
    assert json.loads(text)["rows"][0]["error"] is None


def test_the_schema_is_documented():
    text = (Path(__file__).parents[2] / "docs" / "diagnosis.md").read_text(encoding="utf-8")
    section = text.split("## For programs")[1].split("\n## ")[0]
    found = affine().to_dict()
    keys = {*found, *found["rows"][0], *found["checks"][0], *found["causes"][0]}
    assert [key for key in keys if f"`{key}`" not in section] == []
    assert f"its version {VERSION};" in section
