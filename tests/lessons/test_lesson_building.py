"""Quoted numbers, folded solutions, and the builder that looks after both."""

import base64
import io

import nbformat
import pytest

from notebooks.build import build, read
from notebooks.folding import UsedError, fold
from notebooks.pictures import shrink
from notebooks.quoted import QuotedError, complaint, complaints, marks

HEADER = "# ---\n# jupyter:\n#   jupytext:\n#     formats: ipynb,py:percent\n# ---\n\n"
LESSON = """# %%
loss = 1.0986

# %% [markdown]
# The loss is PROSE<!--= loss -->, and falls<!--= loss < 2 -->.

# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 1.1
answer = 7
print("right: the answer is seven")

# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 1.2
def half(x):
    return x / 2


print("right")

# %%
loss = loss / 2
loss
"""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.10", 1.0986),
        ("1.1", 1.0986),
        ("$\\log 3 \\approx 1.10$", 1.0986),
        ("a loss of **1.10** nats per point", 1.0986),
        ("99.6 %", 0.9962),
        ("$99.6\\%$", 0.9962),
        ("100%", 0.996),
        ("204-fold", 203.7),
        ("20 steps, 1,024", 1024),
        ("1,024.5", 1024.52),
        ("−3", -3.2),
        ("$-3.2$", -3.2),
        ("1e-17", 1.2e-17),
        ("$3 \\cdot 10^{-17}$", 2.6e-17),
        ("below $10^{-17}$", 1.2e-17),
        ("in 20 steps 0.5", 0.5),
        ("0", 0.3),
        ("layer-3", 3),
    ],
)
def test_a_number_is_its_value_to_the_digits_printed(text, value):
    (mark,) = marks(f"{text}<!--= value -->")
    assert complaint(mark, value) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.8", 1.0986),
        ("1.10", 1.1051),
        ("1.09", 1.0986),
        ("99.6 %", 99.6),
        ("99.6", 0.996),
        ("−3", 3),
        ("3", -3),
        ("1,024", 1025),
        ("1e-17", 1e-16),
        ("$3 \\cdot 10^{-17}$", 3.6e-17),
        ("three", 3),
        ("", 3),
        ("3", float("nan")),
        ("holds", False),
    ],
)
def test_another_value_is_refused(text, value):
    (mark,) = marks(f"{text}<!--= value -->")
    assert complaint(mark, value)


def test_after_plus_or_minus_a_number_may_be_off():
    (mark,) = marks("a loss of 61 ± 1.5 %<!--= loss -->")
    assert complaint(mark, 0.624) is None
    assert complaint(mark, 0.626) == "the text says 61 ± 1.5 %, and loss is 0.626"
    first, second = marks("5.7<!--= a --> ± 0.5<!--= b -->")  # a mean and its error
    assert (first.value, second.value) == (5.7, 0.5)


def test_each_mark_has_the_number_before_it():
    text = "from 2.5<!--= a --> down to 5 %\n<!--= b\n + c --> and 3 more, so<!--= d -->"
    found = marks(text)
    assert [mark.expression for mark in found] == ["a", "b + c", "d"]
    assert [mark.value for mark in found] == [2.5, 0.05, 3.0]


def lesson(folder, prose="1.10"):
    source = folder / "01_small.py"
    source.write_text(HEADER + LESSON.replace("PROSE", prose), encoding="utf-8")
    return source


@pytest.mark.slow
def test_a_lesson_is_built_with_its_numbers_kept_and_its_solutions_folded(tmp_path):
    notebook = nbformat.read(build(lesson(tmp_path)), as_version=4)
    assert "jupytext" not in notebook.metadata
    assert [one["value"] for one in notebook.metadata["quoted"]] == [1.0986, True]
    assert complaints(notebook) == []
    first, _, folded, other, last = notebook.cells
    assert (first.execution_count, last.execution_count) == (1, 2)
    assert last.outputs[0].execution_count == 2
    assert {folded.cell_type, other.cell_type} == {"markdown"}
    assert folded.source.startswith("<details><summary>Solution 1.1</summary>\n\n```python\n")
    assert "```text\nright: the answer is seven\n```\n\n</details>" in folded.source
    assert last.outputs[0].data["text/plain"] == "0.5493"


@pytest.mark.slow
def test_a_wrong_number_is_refused_and_a_corrected_text_needs_no_second_run(tmp_path):
    source = lesson(tmp_path, "1.8")
    with pytest.raises(QuotedError, match=r"the text says 1\.8, and loss is 1\.0986"):
        build(source)
    assert not source.with_suffix(".ipynb").exists()
    notebook = nbformat.read(build(lesson(tmp_path), text=True), as_version=4)
    assert "1.10<!--= loss -->" in notebook.cells[1].source
    assert notebook.cells[-1].outputs
    assert [path.name for path in tmp_path.glob("*.ipynb")] == ["01_small.ipynb"]

    source.write_text(source.read_text(encoding="utf-8") + "\n1 + 1\n", encoding="utf-8")
    with pytest.raises(QuotedError, match="has to run"):
        build(source, text=True)


def test_a_new_mark_needs_a_run(tmp_path):
    source = lesson(tmp_path)
    notebook = nbformat.v4.new_notebook(metadata={"quoted": []})
    nbformat.write(notebook, source.with_suffix(".ipynb"))
    with pytest.raises(QuotedError, match="has to run"):
        build(source, text=True)


def test_solutions_may_stand_in_a_file_of_their_own(tmp_path):
    source = tmp_path / "01_small.py"
    source.write_text('# %%\ncheck("1.1", ...)\n\n# %%\ncheck("1.10", ...)\n', encoding="utf-8")
    (tmp_path / "solutions").mkdir()
    text = "import numpy as np\n\n# %%\n# Solution 1.1\n1\n\n# %%\n# Solution 1.10\n10\n"
    (tmp_path / "solutions" / source.name).write_text(text, encoding="utf-8")
    cells = read(source).cells
    assert [cell.source.split("\n")[-1] for cell in cells] == [
        'check("1.1", ...)', "1", 'check("1.10", ...)', "10",
    ]  # fmt: skip
    assert cells[1].metadata["tags"] == ["solution"]
    assert [cell.id for cell in cells] == ["cell-0", "cell-1", "cell-2", "cell-3"]


def test_what_a_solution_defines_is_not_for_the_cells_after_it():
    solution = "# Solution 1.2\ndef half(x):\n    return x / 2"
    cells = [nbformat.v4.new_code_cell(solution, metadata={"tags": ["solution"]})]
    cells.append(nbformat.v4.new_code_cell("print(half(3))"))
    with pytest.raises(UsedError, match=r"half of # Solution 1\.2 is used further down"):
        fold(nbformat.v4.new_notebook(cells=cells))


def test_a_solution_in_a_file_that_was_not_run_is_folded_without_a_verdict():
    cell = nbformat.v4.new_code_cell("# Solution 1.1\n7", metadata={"tags": ["solution"]})
    notebook = nbformat.v4.new_notebook(cells=[cell])
    fold(notebook)
    assert notebook.cells[0].source.endswith("```python\n7\n```\n\n</details>")


def figure(mode, value):
    from PIL import Image

    written = io.BytesIO()
    Image.new(mode, (40, 30), value).save(written, "PNG")
    data = {"image/png": base64.b64encode(written.getvalue()).decode()}
    output = nbformat.v4.new_output("display_data", data=data)
    return nbformat.v4.new_code_cell("draw()", outputs=[output])


def test_a_figure_gets_a_palette_and_keeps_its_colours():
    from PIL import Image

    cell = figure("RGBA", (0, 114, 178, 255))
    notebook = nbformat.v4.new_notebook(cells=[cell, nbformat.v4.new_markdown_cell("text")])
    shrink(notebook)
    png = base64.b64decode(cell.outputs[0].data["image/png"])
    image = Image.open(io.BytesIO(png))
    assert image.mode == "P"
    assert image.size == (40, 30)
    assert image.convert("RGB").getpixel((7, 7)) == (0, 114, 178)
    again = cell.outputs[0].data["image/png"]
    shrink(notebook)
    assert cell.outputs[0].data["image/png"] == again


def test_a_figure_that_shows_what_is_behind_it_stays_as_it_is():
    cell = figure("RGBA", (0, 0, 0, 0))
    before = cell.outputs[0].data["image/png"]
    shrink(nbformat.v4.new_notebook(cells=[cell]))
    assert cell.outputs[0].data["image/png"] == before
