"""Code in the interfaces of courses: right layers pass, and no mistake does."""

import importlib.util
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from deepnlp.gradcheck import check_gradients

FOLDER = Path(__file__).parent / "forms"
FORMS = sorted(path.stem for path in FOLDER.glob("[a-z]*.py"))
SEEDS = 1  # five by python -m tests.gradcheck.test_forms


def load(form, folder, right="", wrong=""):
    """The module of a form, with one piece of its source replaced."""
    source, _, _ = (FOLDER / f"{form}.py").read_text("utf-8").partition("\nMISTAKES")
    assert not right or source.count(right) == 1, (right, source.count(right))
    path = (
        folder / f"learner_{form}_{len([*folder.glob('*.py')])}.py"
    )  # no compiled form of another
    path.write_text(source.replace(right, wrong) if right else source, "utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def mistakes_of(form):
    text = (FOLDER / f"{form}.py").read_text("utf-8").partition("\nMISTAKES =")[2]
    return eval(text)


def check(example):
    layer, *inputs = example
    named = inputs.pop() if inputs and isinstance(inputs[-1], Named) else {}
    return check_gradients(layer, *inputs, **named)


class Named(dict):
    """Arguments of check_gradients that are given by name."""


@pytest.mark.parametrize("form", FORMS)
def test_right_layers_pass(form, tmp_path):
    if "torch" in form:
        pytest.importorskip("torch")
    check_right_layers(load(form, tmp_path), form, SEEDS)


def check_right_layers(module, form, seeds):
    """Each right layer of a form in several draws."""
    for seed in range(seeds):
        examples = module.examples(np.random.default_rng(seed))
        assert len(examples) >= 6
        for name, example in examples.items():
            report = check(example)
            assert report.ok, f"{form} {name}: {report}"
            assert report.rows
            assert report.sources


@pytest.mark.parametrize("form", FORMS)
def test_no_mistake_passes(form, tmp_path, monkeypatch):
    if "torch" in form:
        pytest.importorskip("torch")
    monkeypatch.setattr(
        "deepnlp.gradcheck.explaining._diagnose", lambda *_: None
    )  # the verdict alone
    mistakes = mistakes_of(form)
    assert len(mistakes) >= 10
    for number, (name, right, wrong) in enumerate(mistakes):
        module = load(form, tmp_path, right, wrong)
        report = check(module.examples(np.random.default_rng(number))[name])
        assert not report.ok, f"{form} {name}: {wrong}"


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        for form in FORMS:
            check_right_layers(load(form, Path(folder)), form, 5)
            print(f"{form}: all right layers pass")
