"""Lessons, scripts and experiments run on parts of the data and draw no learning curves."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from deepnlp.datasets.files import data_folder
from deepnlp.tasks import Task
from tests.datasets.parts import first_lines, sentences_of_a_part
from tests.training.tools import quick_figure

LINES = {"tatoeba/spa.txt": 20_000, "ptb/ptb.train.txt": 10_000, "ptb/ptb.test.txt": 1_000}


@pytest.fixture(scope="session")
def data_of_lessons(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder, in which large files have their first lines alone."""
    whole, folder = data_folder().resolve(), tmp_path_factory.mktemp("data")
    for path in whole.glob("*/*"):
        (folder / path.parent.name).mkdir(exist_ok=True)
        name = path.relative_to(whole).as_posix()
        if name.removesuffix(".gz") in LINES:
            first_lines(name.removesuffix(".gz"), LINES[name.removesuffix(".gz")], folder)
        else:
            (folder / name).symlink_to(path)
    return folder


@pytest.fixture(scope="module", autouse=True)
def _quick(data_of_lessons: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEPNLP_DATA", str(data_of_lessons))
        patch.setattr("deepnlp.datasets.loading.pydocs_sentences", sentences_of_a_part)
        patch.setattr(Task, "draw", quick_figure)
        yield
