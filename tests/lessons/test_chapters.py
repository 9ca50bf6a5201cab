"""The chapters' scripts: what each must say, what none may define, and that all of them run."""

import ast
import dataclasses
import importlib.util
import json
import subprocess
import sys

import matplotlib
import pytest

import deepnlp.layers
import deepnlp.models
from notebooks.build import FOLDER

CHAPTERS = FOLDER.parent / "chapters"
SCRIPTS = sorted(CHAPTERS.glob("ch*/*.py"))
IDS = [path.relative_to(CHAPTERS).as_posix() for path in SCRIPTS]


def load(path):
    spec = importlib.util.spec_from_file_location(f"chapter_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # a dataclass looks its module up
    spec.loader.exec_module(module)
    return module


def methods(node):
    return {item.name for item in node.body if isinstance(item, ast.FunctionDef)}


def test_there_are_scripts_for_every_lesson():
    lessons = {path.stem for path in FOLDER.glob("[0-9]*.py")}
    assert {path.parent.name.removeprefix("ch") for path in SCRIPTS} == lessons


@pytest.mark.parametrize("path", SCRIPTS, ids=IDS)
def test_a_script_defines_no_layer_and_no_model(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            assert not methods(node) & {"forward", "backward", "logits"}, node.name
            assert node.name not in {*deepnlp.layers.__all__, *deepnlp.models.__all__}
            bases = {ast.unparse(base) for base in node.bases}
            assert not bases & {"Layer", "Sequential", "deepnlp.Layer"}, node.name


@pytest.mark.parametrize("path", SCRIPTS, ids=IDS)
def test_a_script_states_its_data_its_time_and_its_result(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    text = ast.get_docstring(tree) or ""
    for word in ("Data:", "Time:", "Expect:"):
        assert any(line.startswith(word) for line in text.splitlines()), f"no line with {word}"
    assert f"python chapters/{path.parent.name}/{path.name}" in text
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 170


@pytest.mark.parametrize("path", SCRIPTS, ids=IDS)
def test_a_script_has_a_config_and_a_main(path):
    module = load(path)
    assert dataclasses.is_dataclass(module.Config)
    assert module.Config() != module.QUICK
    assert isinstance(module.QUICK, module.Config)


@pytest.mark.slow
@pytest.mark.parametrize("path", SCRIPTS, ids=IDS)
def test_a_script_runs_in_small(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(matplotlib.rcParams, "savefig.dpi", 40)
    module = load(path)
    module.main(module.QUICK)


@pytest.mark.parametrize("path", SCRIPTS[:1], ids=IDS[:1])
def test_a_script_lists_its_options(path):
    run = subprocess.run(
        [sys.executable, path, "--help"], capture_output=True, text=True, check=True
    )
    for field in dataclasses.fields(load(path).Config):
        assert f"--{field.name.replace('_', '-')}" in run.stdout


def test_the_page_on_gpt_and_lstm_says_what_its_logs_say():
    module = load(CHAPTERS / "ch11_a_small_gpt/gpt_against_lstm.py")
    results = FOLDER.parent / "docs/results"
    page = (results / "gpt-against-lstm.md").read_text(encoding="utf-8")
    logs = sorted((results / "gpt-against-lstm").glob("*.json"))
    assert len(logs) == 3
    for path in logs:
        for row in module.rows(json.loads(path.read_text(encoding="utf-8"))):
            assert f"| {' | '.join([path.stem, *row])} |" in page
