"""The lessons: notebooks that equal their sources, quote what they hold, and still run."""

import ast
import base64
import json
import re

import nbformat
import numpy as np
import pytest
from matplotlib.figure import Figure

from notebooks.build import FOLDER, plain_text, read, sources
from notebooks.folding import END, fold, is_solution
from notebooks.quoted import MARK, complaints, marks

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
    notebook, of_notebook = read(source), committed(source).cells
    fold(notebook)
    assert len(notebook.cells) == len(of_notebook)
    for written, built in zip(notebook.cells, of_notebook, strict=True):
        rebuild = "make lessons rebuilds the notebook from its source"
        assert written.cell_type == built.cell_type, rebuild
        assert written.metadata == built.metadata, rebuild
        if is_solution(written):  # folded in a text, with its verdict at the end
            assert built.source.startswith(written.source.removesuffix(END)), rebuild
        else:
            assert written.source == built.source, rebuild


@pytest.mark.parametrize("source", LESSONS, ids=IDS)
def test_the_text_quotes_the_numbers_that_the_cells_gave(source):
    assert complaints(committed(source)) == []


@pytest.mark.parametrize("source", LESSONS, ids=IDS)
def test_no_solution_shows_before_it_is_unfolded(source):
    for cell in filter(is_solution, committed(source).cells):
        assert cell.cell_type == "markdown"  # no viewer without a kernel hides the code of a cell
        assert re.match(r"<details><summary>Solution \d+\.\d+</summary>\n", cell.source)
        assert ": right\n" in cell.source


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
def test_every_figure_has_an_alternative_text(source):
    for cell in code(committed(source)):
        for output in cell.outputs:
            if "image/png" in output.get("data", {}):
                assert re.match(r"Figure: \S.{5,}\.$", output.metadata["image/png"]["alt"])


@pytest.mark.parametrize("source", LESSONS, ids=IDS)
def test_a_lesson_needs_no_file_of_the_checkout(source):
    """So that it runs where only the package is installed."""
    for cell in code(committed(source)):
        assert "../" not in cell.source
        assert "read_text" not in cell.source


def names_of_cell(lesson, begin):
    """What a cell of a lesson assigns that draws bars from numbers of the logs."""
    (source,) = sources([lesson])
    names = {"bars": lambda *_, **__: None, "np": np}
    exec(next(c.source for c in code(read(source)) if c.source.startswith(begin)), names)
    return names


def logged(name):
    text = FOLDER.parent.joinpath(f"docs/results/lessons/{name}.json").read_text(encoding="utf-8")
    return json.loads(text)


def test_lesson_11_puts_the_solutions_of_lesson_10_together():
    parts = FOLDER.joinpath("material/parts.py").read_text(encoding="utf-8")
    (source,) = FOLDER.joinpath("solutions").glob("10_*.py")
    for name in ("Heads", "Rotation", "LayerNorm", "Block"):
        solution = source.read_text(encoding="utf-8").partition(f"class {name}Solution")[2]
        assert f"class {name}" + solution.partition("\n\n\n")[0] in parts


def test_lesson_9_has_the_sentences_of_the_logs():
    runs, shown = logged("short_sentences"), names_of_cell("09", "scaled = {")["scaled"]
    for score, figures in shown.items():
        for name, values in figures.items():
            assert values == [run[name] for run in runs[score]]


def test_lesson_9_has_the_dates_of_the_logs():
    shares, text = logged("dates"), prose("09")
    for (name, epoch), sentence in {
        ("dot", 6): "six epochs give {:.0f}, {:.0f} and {:.0f} % with attention",
        ("none", 6): "with attention and {:.0f}, {:.0f} and {:.0f} % without",
        ("general, both ends", 2): "{:.0f}, {:.0f} and {:.0f} % of the dates are right after two",
        ("dot", 2): "and {:.0f}, {:.0f} and {:.0f} % with an encoder that reads one way",
    }.items():
        assert sentence.format(*(run[epoch - 1] for run in shares[name])) in text
    pairs = zip(shares["dot"], shares["none"], strict=True)
    assert all(with_it[5] > without[5] for with_it, without in pairs)


def test_lesson_8_has_the_digits_of_the_logs():
    text = sources(["08"])[0].read_text(encoding="utf-8")
    for name, runs in logged("copying").items():
        H, updates, attention = name.split()
        ends = " | ".join(f"{run['forced'][-1]:.0f} / {run['free'][-1]:.0f}" for run in runs)
        assert f"# | {H} | {int(updates):,} | {attention} | {ends} |\n" in text
    wide, narrow = logged("copying")["64 1000 none"], logged("copying")["16 1000 dot"]
    for a, b in zip(wide, narrow, strict=True):  # "as well as the wide state", written freely
        assert b["free"][-1] > a["free"][-1]


def test_lesson_7_has_the_perplexities_of_the_logs():
    names = names_of_cell("07b", "glove = {")
    starts = {"random": "none", "GloVe, frozen": "frozen", "GloVe, trained": "trained"}
    logged = {}
    for name, ties in names["glove"].items():
        for tie, shown in ties.items():
            runs = [f"docs/results/glove/{starts[name]}-{tie}-50-{k}/result.json" for k in range(3)]
            texts = [FOLDER.parent.joinpath(run).read_text(encoding="utf-8") for run in runs]
            logged[name, tie] = [json.loads(text)["perplexity"]["valid"] for text in texts]
            assert shown == round(sum(logged[name, tie]) / 3, 2)
    for tie in ("untied", "tied"):  # with each seed
        pairs = zip(logged["GloVe, trained", tie], logged["random", tie], strict=True)
        assert all(trained < random for trained, random in pairs)


def prose(lesson):
    """A lesson's text in one line, without marks."""
    (source,) = sources([lesson + "_"])
    text = " ".join(c.source for c in read(source).cells if c.cell_type == "markdown")
    return " ".join(MARK.sub("", text).split())


def page(path):
    text = FOLDER.parent.joinpath(path).read_text(encoding="utf-8")
    return " ".join(text.replace("|", " ").split())


def test_lesson_5_has_the_windows_of_the_logs():
    one, five, usual, long = (
        "{:.1f}, {:.1f} and {:.1f}".format(*v) for v in logged("truncation").values()
    )
    assert f"{one} (three seeds) with windows of one step, {five} with 5, {usual} with 35" in prose(
        "05"
    )
    assert f"and {long} with 70" in prose("05")


def test_lesson_7b_has_the_depths_of_the_logs():
    def runs(name, split):
        paths = [FOLDER.parent / f"docs/results/depth/{name}-{k}/result.json" for k in range(3)]
        return [json.loads(path.read_text("utf-8"))["perplexity"][split] for path in paths]

    none, tied, with_L = (runs(name, "test") for name in ("none-2", "tied-2", "tied-l-2"))
    said = "test perplexities of {:.1f} untied, {:.1f} tied and {:.1f} tied+L"
    assert said.format(*map(np.mean, (none, tied, with_L))) in prose("07b")
    assert max(np.std(one, ddof=1) for one in (none, tied, with_L)) < 0.75
    for split in ("valid", "test"):
        assert max(runs("tied-1", split)) < min(runs("tied-2", split))


SAID = (  # a lesson, a sentence of it, and what it quotes
    (
        "02",
        "the same method has 10.9 %",
        "docs/results/counting-and-word2vec.md",
        "total 10,098 10.9%",
    ),
    (
        "08",
        "in the mean 9 % of the sums are right with the plain model, 62 % reversed (27 to 80 %), "
        "75 % peeky, and 87 % with both",
        "chapters/ch08_sequence_to_sequence/three_ways.py",
        "9 % of the sums right with the plain model, 62 % reversed (27 to 80 % by the seed), "
        "75 % peeky and 87 % with both",
    ),
    (
        "08",
        "67 % of the digits after a mistake are right and not 39 %, in the mean of three seeds",
        "chapters/ch08_sequence_to_sequence/scheduled_sampling.py",
        "as means of three seeds",
    ),
    (
        "08",
        "one seed gets many more right (67 % and not 27)",
        "chapters/ch08_sequence_to_sequence/scheduled_sampling.py",
        "digits after a mistake 39 % and 67 %. The gain in whole sums comes from one seed "
        "(27 % to 67 %); in the others there is a loss.",
    ),
    (
        "09",
        "100.0 % of the dates with attention (three seeds) and 99.6 % without (one)",
        "docs/results/dates.md",
        "without attention 563,597 99.56 %",
    ),
)


@pytest.mark.parametrize(("lesson", "sentence", "path", "source"), SAID)
def test_a_lesson_quotes_a_page_as_it_is(lesson, sentence, path, source):
    assert sentence in prose(lesson)
    assert source in page(path)


@pytest.mark.parametrize("source", LESSONS, ids=IDS)
def test_no_line_of_a_paragraph_begins_like_a_list_a_quotation_or_a_table(source):
    """A line break can make one of a sum, a comparison or a number."""
    for cell in read(source).cells:
        if cell.cell_type == "markdown":
            assert "| |--" not in cell.source
            for mark in MARK.finditer(cell.source):
                assert not re.search(r"\n\s*([-+*] |>|\d+[.)] )", mark[0]), mark[0]
            for before, line in zip(cell.source.split("\n"), cell.source.split("\n")[1:]):
                if re.match(r"\d+\. ", line) and not re.match(r"1\. ", line):
                    assert re.match(r"\d+\. | {2,}|$", before), line


@pytest.mark.parametrize("source", LESSONS, ids=IDS)
def test_a_lesson_has_at_most_700_lines(source):
    assert len(source.read_text(encoding="utf-8").splitlines()) <= 700


@pytest.mark.parametrize("source", LESSONS, ids=IDS)
def test_the_figures_of_a_notebook_have_a_palette(source):
    for cell in code(committed(source)):
        for output in cell.outputs:
            if "image/png" in output.get("data", {}):
                png = base64.b64decode(output["data"]["image/png"])
                assert png[25] == 3, "make lessons gives the figures a palette"  # the colour type


@pytest.mark.parametrize("source", LESSONS, ids=IDS)
def test_a_notebook_says_nothing_of_the_machine_it_ran_on(source):
    for cell in code(committed(source)):
        for output in cell.outputs:
            assert "/" + "home/" not in plain_text(output)
            assert str(FOLDER.parent) not in plain_text(output)


@pytest.mark.slow
@pytest.mark.parametrize("source", LESSONS, ids=IDS)
def test_the_short_form_runs(source, monkeypatch, capsys):
    """In this process, which has imported everything; that a kernel can is tested elsewhere."""
    monkeypatch.setenv("DEEPNLP_LESSON", "short")
    monkeypatch.chdir(source.parent)
    names = {"__name__": "__main__"}
    for cell in read(source).cells:
        if cell.cell_type == "markdown":
            for mark in marks(cell.source):
                assert eval(mark.expression, names) is not None, mark.expression
        elif cell.source:
            tree = ast.parse(cell.source)
            last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, source, "exec"), names)
            shown = eval(ast.unparse(last), names) if last else None
            if isinstance(shown, Figure):
                shown.draw_without_rendering()
    assert not capsys.readouterr().err


BY_COUNTING = re.compile(r"\b(?:bi|tri|\d-)grams?\b[^.]*?\d")  # a number of n-grams
OF_OTHER_KINDS = {"translation"}  # perplexities given a source


@pytest.mark.parametrize(
    "path", sorted(FOLDER.parent.joinpath("docs/results").glob("*.md")), ids=lambda path: path.stem
)
def test_a_page_has_counting_beside_its_language_models(path):
    text = path.read_text(encoding="utf-8").partition("## The runs")[0]
    is_on_language_models = re.search("perplexit|[Bb]its per byte|language model|nats", text)
    if is_on_language_models and path.stem not in OF_OTHER_KINDS:
        assert BY_COUNTING.search(" ".join(text.split())), "which number have n-grams?"


@pytest.mark.parametrize("source", LESSONS, ids=IDS)
def test_a_lesson_has_counting_beside_its_language_models(source):
    notebook = committed(source)
    trains = any(re.search(r"\bperplexity\(", cell.source) for cell in code(notebook))
    shown = "".join(plain_text(o) for cell in code(notebook) for o in cell.outputs)
    if trains:
        assert any("KneserNey(" in cell.source for cell in code(notebook))
        assert re.search(r"(?:tri|[35]-)grams?\D*\d", shown), "which number have n-grams?"
