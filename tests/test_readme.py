"""The README's own code, and the numbers beside it."""

import re
from itertools import islice
from pathlib import Path

import pytest

from deepnlp.training import BPTTBatches

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
    return [text for name, text in fences if name == language]


def test_the_model_plugged_together_by_hand_runs_and_prints_what_is_shown(monkeypatch, capsys):
    def first_windows(batches):
        return (batches[k] for k in islice(range(len(batches)), 2))

    monkeypatch.setattr(BPTTBatches, "__iter__", first_windows)
    code = next(block for block in blocks("python") if "TimeAffine(embed.W.T" in block)
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out.strip()
    shown = next(block for block in blocks("") if block.startswith("step"))
    assert printed == shown.splitlines()[0]


def test_every_file_that_is_linked_is_there():
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    missing = [link for link in links if not (Path(__file__).parents[1] / link).exists()]
    assert links
    assert not missing


@pytest.mark.parametrize(
    "command", sorted(set(re.findall(r"^deepnlp (\w+)", README, re.MULTILINE)))
)
def test_every_command_that_is_shown_exists(command, capsys):
    from deepnlp.cli.main import main

    assert main([command, "--help"]) == 0
    assert command in capsys.readouterr().out
