"""Code in the interfaces of courses: right layers pass, and no mistake does."""

from pathlib import Path

import pytest

from tests.broken.forms import FORMS, handed, names, read

FOLDERS = {**dict.fromkeys(names(), FORMS), "dict_outputs": Path(__file__).parent}


def parts_and_mistakes(form):
    if "torch" in form:
        pytest.importorskip("torch")
    return read(form, FOLDERS[form])


@pytest.mark.parametrize("form", FOLDERS)
def test_right_layers_pass(form):
    parts, _ = parts_and_mistakes(form)
    assert len(parts) >= 6
    for part in parts:
        report = handed(part, part.module, 0)
        assert getattr(report, "ok", False), f"{form} {part.name}: {report}"
        assert report.rows
        assert report.sources


@pytest.mark.parametrize("form", FOLDERS)
def test_no_mistake_passes(form, monkeypatch):
    monkeypatch.setattr(
        "deepnlp.gradcheck.explaining._diagnose", lambda *_: None
    )  # the verdict alone
    _, mistakes = parts_and_mistakes(form)
    assert len(mistakes) >= 10
    for number, mistake in enumerate(mistakes):
        report = handed(mistake.part, mistake.source, number)
        assert not getattr(report, "ok", True), f"{mistake.case.name}: {report}"
