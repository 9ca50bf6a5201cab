"""A few of the kills, faults and pairs; ``python -m tests.faults`` tries more."""

import os
import subprocess
import sys

import pytest


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_runs_that_are_disturbed_end_as_if_nobody_had() -> None:
    command = [sys.executable, "-m", "tests.faults", "kills,faults,pairs", "3"]
    done = subprocess.run(command, capture_output=True, check=False, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("| 3 |") == len(done.stdout.splitlines()) == 4
