"""The page on reliability: every command that it names exists, and no row ends badly."""

import importlib.util
import re
from pathlib import Path

import pytest

from benchmarks.suites import SUITES

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "maintaining" / "reliability.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for table in PAGE.split("| what was tried")[1:]
    for line in table.partition("\n\n")[0].splitlines()[2:]
]
COMMANDS = sorted({command for row in ROWS for command in re.findall(r"`([^`]+)`", row[3])})


def test_every_row_says_what_happened_and_how_to_repeat_it():
    assert ROWS
    for row in ROWS:
        assert len(row) == 4, row
        assert re.search(r"\d", row[1]) or "same tests" in row[1], row
        assert re.search(r"`[^`]+`", row[3]), row
        assert not re.search(r"\b(lost|stuck|believed|crashed)\b", row[2]), row


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_exists(command):
    if command.startswith("make "):
        target, *options = command.split()[1:]
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
        paths = [option.removeprefix("ARGS=") for option in options if option.startswith("ARGS=")]
    else:
        python, _, module, *words = command.split()
        assert python == "python"
        assert importlib.util.find_spec(module) is not None
        paths = [word for word in words if word.startswith("tests/")]
        assert module != "benchmarks" or words[0] in SUITES
    for path in paths:
        assert (ROOT / path).exists()
