"""What a newcomer meets first: advice that can be followed, pages whose examples work."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import deepnlp
from deepnlp.layers import Embedding, SoftmaxWithLoss, TimeAffine, TimeLSTM
from deepnlp.lessons.exercises import check
from deepnlp.models import RNNLM
from deepnlp.optimizers import Adam

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


EMBED, IDS = Embedding.init(8, 4), np.array([[0, 1, 2]])
MISTAKES = [
    (lambda: TimeLSTM(4, 8), "TimeLSTM.init(D, H) makes"),
    (lambda: TimeAffine(EMBED), "the weight W should be an array, a Parameter or a view"),
    (lambda: TimeAffine(EMBED.W.T, 8), "the weight b should be an array"),
    (lambda: EMBED(IDS.astype(float)), "ids should be integers, got float64"),
    (lambda: EMBED(IDS.tolist()), "deepnlp.backend.asarray brings"),
    (lambda: EMBED(IDS + 6), "ids should be from 0 to 7, got 8"),
    (lambda: SoftmaxWithLoss()(EMBED(IDS), IDS[:, :2]), "should have shape (1, 3), got (1, 2)"),
    (lambda: SoftmaxWithLoss()(IDS, EMBED(IDS)), "logits should be floating-point numbers"),
    (lambda: Adam(EMBED), "such as model.parameters(), got a Embedding"),
    (lambda: deepnlp.save(EMBED, "model.npz"), "save(path, model) takes a model, got a str"),
    (lambda: RNNLM(8, 4, 4, cell="LSTM"), "cell should be one of 'lstm', 'gru'"),
]


@pytest.mark.parametrize(("mistake", "advice"), MISTAKES)
def test_a_beginners_mistake_gets_advice(mistake: Callable[[], object], advice: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(advice)):
        mistake()
