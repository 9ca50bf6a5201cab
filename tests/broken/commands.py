"""What students type, in folders of their own: python -m tests.broken.commands [--json FILE]."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from tests.broken.collection import CASES

ROOT = Path(__file__).parents[2]


def run(command: dict[str, Any], texts: dict[str, str]) -> dict[str, Any]:
    """The exit code of a command, and the last line that it says."""
    with tempfile.TemporaryDirectory(prefix="student-") as folder:
        for name in command["files"]:
            path = Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(texts[name].lstrip("\n"), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "deepnlp", "gradcheck", *command["arguments"], "--json"],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=120,
        )
    said = [*done.stderr.strip().splitlines(), ""]
    return {"name": command["name"], "code": done.returncode, "said": said[0], "out": done.stdout}


def main() -> None:
    """Print each command whose exit code is not the right one."""
    parser = argparse.ArgumentParser(prog="python -m tests.broken.commands", description=__doc__)
    parser.add_argument("--json", type=Path, help="where to write what each command said")
    options = parser.parse_args()
    table = tomllib.loads(CASES.joinpath("commands.toml").read_text("utf-8"))
    rows = [run(command, table["files"]) for command in table["command"]]
    expected = [command["code"] for command in table["command"]]
    for row, code in zip(rows, expected, strict=True):
        if row["code"] != code:
            print(f"{row['name']:32} gives {row['code']}, should give {code}: {row['said'][:90]}")
    right = sum(row["code"] == code for row, code in zip(rows, expected, strict=True))
    print(f"{right} of {len(rows)} commands give the right code")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
