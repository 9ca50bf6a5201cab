"""The code of the README and of the guides, and the numbers beside it."""

import re
import sys
from itertools import islice
from pathlib import Path

import pytest

from deepnlp.training import BPTTBatches

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guides").glob("*.md"))]
PAGES += [ROOT / "docs" / "layers.md", ROOT / "docs" / "site" / "index.md"]
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def blocks(language: str) -> list[str]:
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)
    return [text for name, text in fences if name == language]


def test_the_model_plugged_together_by_hand_runs_and_prints_what_is_shown(monkeypatch, capsys):
    def first_windows(batches):
        return (batches[k] for k in islice(range(len(batches)), 2))

    monkeypatch.setattr(BPTTBatches, "__iter__", first_windows)
    code = next(block for block in blocks("python") if "TimeAffine(embed.W.T" in block)
    exec(compile(code, "guide", "exec"), {})
    printed = capsys.readouterr().out.strip()
    shown = next(block for block in blocks("") if block.startswith("step"))
    if sys.version_info[:2] == (3, 11):  # the corpus is the documentation of the Python that runs
        assert printed == shown.splitlines()[0]
    assert re.sub(r"\d", "0", printed) == re.sub(r"\d", "0", shown.splitlines()[0])


def test_the_program_for_newcomers_runs_and_prints_what_is_shown(capsys):
    page = (ROOT / "docs" / "layers.md").read_text(encoding="utf-8")
    code, shown = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", page, re.DOTALL).groups()
    exec(compile(code, "layers.md", "exec"), {})
    assert capsys.readouterr().out == shown
    assert len(code.splitlines()) <= 35


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_is_linked_is_there(page):
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    # the first page of the site is built as if it stood at the root
    folder = ROOT if page.parent.name == "site" else page.parent
    missing = [link for link in links if not (folder / link).exists()]
    assert links
    assert not missing


@pytest.mark.parametrize(
    "command", sorted(set(re.findall(r"^(?:\$ )?deepnlp (\w+)", TEXT, re.MULTILINE)))
)
def test_every_command_that_is_shown_exists(command, capsys):
    from deepnlp.cli.main import main

    assert main([command, "--help"]) == 0
    assert command in capsys.readouterr().out


def test_the_readme_is_short():
    assert len(PAGES[0].read_text(encoding="utf-8").splitlines()) <= 160
