"""Checkpoints that were written once stay readable, and compute what they computed."""

import json
import shutil

import numpy as np
import pytest

from deepnlp.checkpoint import load
from tests.golden.make import FOLDER, computed, format_of_today, resumed

VERSIONS = sorted(int(path.stem.removeprefix("model-")) for path in FOLDER.glob("model-*.npz"))
every_version = pytest.mark.parametrize("version", VERSIONS)


def recorded(version):
    return json.loads((FOLDER / f"computed-{version}.json").read_text(encoding="utf-8"))


def test_there_are_files_of_todays_format():
    assert [format_of_today()] == VERSIONS


@every_version
def test_a_model_is_what_it_was(version):
    found = computed(load(FOLDER / f"model-{version}.npz"))
    then = recorded(version)["model"]
    for option, value in then.pop("config").items():  # later releases may have more options
        assert found["config"][option] == value
    for name in ("logits", "bits"):
        np.testing.assert_allclose(found[name], then.pop(name), rtol=1e-5, atol=1e-5)
    for name, value in then.items():
        assert found[name] == value


@every_version
def test_a_run_that_was_stopped_goes_on(version, tmp_path):
    run = shutil.copytree(FOLDER / f"run-{version}", tmp_path / "run")
    assert load(run / "checkpoint.npz").config() == load(run).config()
    found, then = resumed(run), recorded(version)["run"]
    assert found.keys() == then.keys()
    for split in then:  # the last digits are those of a processor
        assert found[split] == pytest.approx(then[split], rel=1e-3)
