"""A few of the kills, faults and pairs; ``python -m tests.faults`` tries more."""

import os
import subprocess
import sys

import pytest


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize(("kind", "times"), [("kills", 6), ("faults", 8), ("pairs", 3)])
def test_runs_that_are_disturbed_end_as_if_nobody_had(kind: str, times: int) -> None:
    command = [sys.executable, "-m", "tests.faults", kind, str(times)]
    done = subprocess.run(command, capture_output=True, check=False, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()
    assert len(rows) == (2 if kind == "kills" else 1)
    assert all(f"| {times} |" in row for row in rows)
