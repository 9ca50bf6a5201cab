"""``deepnlp gradflow``, ``deepnlp train --watch-gradients`` and ``deepnlp demo``."""

from tests.cli.conftest import TINY


def test_gradflow_prints_a_table_and_draws(deepnlp, run_folder, tmp_path):
    figure = tmp_path / "flow.png"
    found = deepnlp("gradflow", run_folder, "--steps", 4, "--figure", figure)
    assert found.code == 0
    assert "steps back" in found.out
    assert "spectral radius" in found.out
    assert figure.stat().st_size > 5000


def test_gradflow_as_json(deepnlp, run_folder):
    found = deepnlp("gradflow", run_folder, "--steps", 4, "--batch-size", 2, "--json")
    (layer,) = found.json["layers"]
    assert (found.json["steps"], found.json["split"]) == (4, "valid")
    assert len(layer["dh"]) == len(layer["dc_share"]) == 5
    assert set(layer["weights"]) == {"Wh_i", "Wh_f", "Wh_g", "Wh_o"}


def test_gradflow_says_what_is_wrong(deepnlp, run_folder, tmp_path):
    found = deepnlp("gradflow", run_folder, "--steps", 100_000)
    assert (found.code, found.out) == (2, "")
    assert "too short to look 100000 steps back" in found.err
    missing = tmp_path / "none" / "flow.png"
    found = deepnlp("gradflow", run_folder, "--figure", missing)
    assert found.code == 2
    assert "there is no folder" in found.err


def test_train_watches_gradients(deepnlp, text_file, tmp_path):
    out = tmp_path / "run"
    watching = ["--watch-gradients", 2, "--no-baselines"]
    found = deepnlp("train", "--corpus", text_file, "--out", out, *TINY, *watching)
    assert found.code == 0
    assert (out / "gradients.npz").exists()
    assert (out / "gradient_flow.png").exists()


def test_demonstrations_are_listed(deepnlp):
    names = set(deepnlp("demo", "--json").json["demonstrations"])
    assert names == {
        "exploding",
        "vanishing",
        "phase",
        "cells",
        "clipping",
        "depth",
        "memory",
        "skipgram-tying",
        "brackets",
    }
    listed = deepnlp("demo").out
    assert all(name in listed for name in names)


def test_a_demonstration_prints_and_draws(deepnlp, tmp_path):
    found = deepnlp("demo", "vanishing", "--out", tmp_path / "figures")
    assert found.code == 0
    assert "0.000237938" in found.out
    assert (tmp_path / "figures" / "vanishing.png").stat().st_size > 5000
    as_json = deepnlp("demo", "vanishing", "--out", tmp_path, "--json").json
    assert abs(as_json["norms"][0] - 1.234203) < 1e-6
    assert as_json["weights"]["spectral_radius"] < 1


def test_a_demonstration_that_does_not_exist(deepnlp):
    found = deepnlp("demo", "imploding")
    assert (found.code, found.out) == (2, "")
    assert "invalid choice: 'imploding' (choose from 'exploding', 'vanishing'" in found.err
