"""The workflows on GitHub can be parsed, and run commands that are there."""

import re
import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
OTHERS = [
    *(ROOT / ".github").glob("ISSUE_TEMPLATE/*.yml"),
    *(
        ROOT / name
        for name in (".github/dependabot.yml", ".pre-commit-config.yaml", "CITATION.cff")
    ),
]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def read(name):
    return yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text("utf-8"))


def commands(workflow):
    return [
        step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_workflow_is_whole(path):
    workflow = read(path.name)
    assert {"name", "permissions", "jobs"} <= {*workflow}
    assert True in workflow  # `on`, which YAML reads as a truth value
    for job in workflow["jobs"].values():
        assert "runs-on" in job
        assert all(("run" in step) != ("uses" in step) for step in job["steps"])
        assert {*([job["needs"]] if "needs" in job else [])} <= {*workflow["jobs"]}


def test_every_system_and_python_is_tested():
    matrix = read("nightly.yml")["jobs"]["tests"]["strategy"]["matrix"]
    assert {system.partition("-")[0] for system in matrix["os"]} == {"ubuntu", "macos", "windows"}
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]


def test_the_workflow_has_all_steps_of_ci():
    steps = read("tests.yml")["jobs"]["ci"]["strategy"]["matrix"]["step"]
    run = (ROOT / ".ci" / "run").read_text("utf-8")
    assert f"${{*:-{' '.join(steps)}}}" in run
    assert re.findall(r"^    (\w+)\)$", run, re.MULTILINE) == steps


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.name)
def test_templates_and_settings_can_be_read(path):
    assert isinstance(yaml.safe_load(path.read_text("utf-8")), dict)


def test_the_wheel_has_no_upper_pins():
    assert not [required for required in PROJECT["dependencies"] if re.search(r"<|==|~=", required)]
    assert "<" not in PROJECT["requires-python"]


def test_the_commands_name_what_is_there():
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for path in FILES:
        for command in commands(read(path.name)):
            for target in re.findall(r"^make (\w+)", command):
                assert target in targets
            for file in re.findall(r"(?:^|\s)((?:docs|tests)/[\w/.]+)", command):
                assert (ROOT / file).exists(), file
            for extras in re.findall(r"\.\[([\w,]+)\]", command):
                assert {*extras.split(",")} <= {*PROJECT["optional-dependencies"]}
