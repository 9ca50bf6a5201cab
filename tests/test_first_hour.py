"""What a newcomer meets first: advice that can be followed, pages whose examples work."""

import re
import tomllib
from pathlib import Path

import pytest

from deepnlp.lessons.exercises import check

ROOT = Path(__file__).parents[1]
FILES = [ROOT / "pyproject.toml", *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.py")]
FILES += [*ROOT.glob("notebooks/*.py"), *ROOT.glob("deepnlp/**/*.py")]


def test_no_advice_installs_another_project_of_the_same_name():
    """Extras are those of a checkout, '.[search]'; errors name the missing package itself."""
    wrong = re.compile(r"deepnlp\[|pip install '?deepnlp\b(?!-)")
    assert [path for path in FILES if wrong.search(path.read_text("utf-8"))] == []


def test_the_name_of_the_distribution_stands_in_one_place():
    """The name for publication is still to be chosen: no requirement may repeat it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    required = [*project["dependencies"], *(package for extra in extras for package in extra)]
    assert not any(package.startswith(project["name"]) for package in required)
    for path in ROOT.glob("deepnlp/**/*.py"):
        assert "importlib.metadata" not in path.read_text("utf-8"), path


def test_the_exercise_of_the_page_for_classes_can_be_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "in-class.md").read_text("utf-8")
    module, table = (
        re.search(rf"```{kind}\n(.*?)```", page, re.DOTALL)[1] for kind in ("python", "toml")
    )
    (tmp_path / "statistics_course.py").write_text(module, encoding="utf-8")
    (tmp_path / "statistics_course.toml").write_text(table, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    name = "statistics_course:1.2"
    assert check(name, lambda x: (x - x.mean()) / x.std()).ok
    assert check(name, lambda x: x / x.std()).diagnosis == "not centred"
