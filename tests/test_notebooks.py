"""The lessons: notebooks that equal their sources, hold outputs without errors, and still run."""

import nbformat
import pytest

from notebooks.build import FOLDER, execute, plain_text, read, sources

LESSONS = sources()
IDS = [path.stem for path in LESSONS]


def committed(source):
    return nbformat.read(source.with_suffix(".ipynb"), as_version=4)


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source]


def assert_no_errors(notebook):
    for cell in code(notebook):
        for output in cell.outputs:
            assert output.output_type != "error", cell.source
            assert output.get("name") != "stderr", f"{cell.source}\n{output.text}"


def test_there_are_lessons():
    assert FOLDER.is_dir()
    assert {path.stem[:2] for path in LESSONS} >= {"01", "05", "06"}


@pytest.mark.parametrize("source", LESSONS, ids=IDS)
def test_a_notebook_equals_its_source(source):
    of_source, of_notebook = read(source).cells, committed(source).cells
    assert len(of_source) == len(of_notebook)
    for written, built in zip(of_source, of_notebook, strict=True):
        rebuild = "make lessons rebuilds the notebook from its source"
        assert (written.cell_type, written.source) == (built.cell_type, built.source), rebuild
        assert written.metadata == built.metadata, rebuild


@pytest.mark.parametrize("source", LESSONS, ids=IDS)
def test_a_notebook_was_run_from_top_to_bottom_in_its_full_form(source):
    notebook = committed(source)
    cells = code(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert_no_errors(notebook)
    pictures = [o for cell in cells for o in cell.outputs if "image/png" in o.get("data", {})]
    assert len(pictures) >= 3
    assert not any("short form" in plain_text(o) for cell in cells for o in cell.outputs)


@pytest.mark.parametrize("source", LESSONS, ids=IDS)
def test_a_notebook_says_nothing_of_the_machine_it_ran_on(source):
    for cell in code(committed(source)):
        for output in cell.outputs:
            assert "/" + "home/" not in plain_text(output)
            assert str(FOLDER.parent) not in plain_text(output)


@pytest.mark.slow
@pytest.mark.parametrize("source", LESSONS, ids=IDS)
def test_the_short_form_runs(source):
    assert_no_errors(execute(source, short=True, timeout=180))
