"""The museum of trainings: right programs, and the same with a mistake each.

``python -m tests.checkup.museum`` examines all of them, and prints what is not named.
"""

import sys
import tomllib
from pathlib import Path
from types import ModuleType

from deepnlp.checkup import check_training

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
PROGRAMS, CASES = _TABLE["programs"], _TABLE["cases"]


def handed(program, edits=()):
    """What a program hands over, after its edits: pairs of a text and what stands in its place."""
    text = PROGRAMS[program]
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        assert old in text, f"{program} has no {old!r}"
        text = text.replace(old, new)
    module = ModuleType("mine")
    sys.modules["mine"] = module
    exec(compile(text, f"<{program}>", "exec"), vars(module))
    return module.handed


def main(words):
    for name in PROGRAMS:
        report = check_training(**handed(name))
        print(name, "accused" if not report.ok else "right", report.noted)
        if words or not report.ok:
            print(report)
    for number, case in enumerate(CASES):
        if words and str(number) not in words:
            continue
        report = check_training(**handed(case["program"], case["edits"]))
        names = [one.name for one in report.causes]
        if words:
            print(report)
        elif case["cause"] != (names or [""])[0]:
            print(number, case["program"], case["cause"], "->", names)


if __name__ == "__main__":
    main(sys.argv[1:])
