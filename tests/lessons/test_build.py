"""Building a lesson: which, what is kept, and what is said when it cannot be done."""

import nbformat
import pytest

from notebooks import build

LESSON = """# %% [markdown]
# # A lesson

# %%
import os

# %%
print("first")
print(os.environ["DEEPNLP_LESSON"])

# %%
{last}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "FOLDER", tmp_path)
    return tmp_path


def write(folder, name, last="6 * 7"):
    path = folder / f"{name}.py"
    path.write_text(LESSON.format(last=last), encoding="utf-8")
    return path


def test_lessons_are_found_by_number_or_name(folder):
    first, second = write(folder, "01_first"), write(folder, "02_second")
    write(folder, "helper")
    assert build.sources() == [first, second]
    assert build.sources(["02"]) == build.sources(["02_second"]) == [second]
    with pytest.raises(FileNotFoundError, match="no lesson is called 07; there are: 01_first"):
        build.sources(["07"])


def test_a_lesson_is_run_and_kept(folder, tmp_path, capsys):
    write(folder, "01_first")
    output = tmp_path / "there"
    assert build.main(["01", "--short", "--output", str(output)]) == 0
    assert capsys.readouterr().out.startswith("01_first.ipynb: ")
    notebook = nbformat.read(output / "01_first.ipynb", as_version=4)
    assert [cell.id for cell in notebook.cells] == ["cell-0", "cell-1", "cell-2", "cell-3"]
    assert [cell.cell_type for cell in notebook.cells] == ["markdown", "code", "code", "code"]
    assert [build.plain_text(o) for o in notebook.cells[2].outputs] == ["first\nshort\n"]
    assert [build.plain_text(o) for o in notebook.cells[3].outputs] == ["42"]
    assert set(notebook.metadata) == {"kernelspec", "language_info", "quoted"}


def test_a_cell_that_fails_is_shown(folder, capsys):
    write(folder, "01_first", last="1 / 0")
    assert build.main([]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert not (folder / "01_first.ipynb").exists()


def test_an_unknown_name_is_one_line(folder, capsys):
    assert build.main(["03"]) == 2
    assert (
        capsys.readouterr().err == f"error: no lesson is called 03; there are: none in {folder}\n"
    )


def test_colours_of_a_terminal_are_left_out():
    assert build.plain_text({"text": "\x1b[31mred\x1b[0m"}) == "red"
