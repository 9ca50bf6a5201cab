"""Code as students have it: right code passes, says what it should, and no mistake in it does.

A case of ``students/*.toml`` is the text of a module, the lines by which it is handed over, and
what other students wrote in the place of some pieces (``vary``). Print what fails with

    python -m tests.gradcheck.test_students
"""

import contextlib
import importlib.util
import io
import sys
import tempfile
import tomllib
import warnings
from contextlib import nullcontext
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from deepnlp.gradcheck import check_gradients

FOLDER = Path(__file__).parent / "students"
KINDS = sorted(path.stem for path in FOLDER.glob("*.toml"))


def cases(kind):
    """Each case with each of its variants, and which mistakes are put into it."""
    for case in tomllib.loads((FOLDER / f"{kind}.toml").read_text("utf-8"))["case"]:
        for number, changes in enumerate(case["vary"]):
            wrongs = case.get("wrongs", [case["wrong"]] if "wrong" in case else [])
            yield case, number, changes, wrongs if number == 0 else wrongs[:1]


def handed(case, *changes):
    """The report on a variant, or the error with which it is refused."""
    code, hand = "import numpy as np\n" + case["code"], case["hand"]
    for old, new in (pair for one in changes for pair in one.items()):
        code, hand = code.replace(old, new), hand.replace(old, new)
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write(code)
    spec = importlib.util.spec_from_file_location(Path(file.name).stem, file.name)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    rng = np.random.default_rng(0)
    known = {"M": module, "np": np, "rng": rng, "normal": lambda *shape: rng.normal(size=shape)}
    known["check_gradients"] = check_gradients
    explaining = nullcontext() if "says_wrong" in case else verdict_alone()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), explaining:
        warnings.simplefilter("ignore")
        try:
            spec.loader.exec_module(module)
            exec(hand, known)
        except Exception as error:
            return error
    return known["report"]


def verdict_alone():
    """Context without the search for mistakes, which takes seconds."""
    return mock.patch("deepnlp.gradcheck.explaining._diagnose", return_value=None)


def faults(kind):
    """What is not as it should be, for every variant of every case."""
    for case, number, changes, wrongs in cases(kind):
        title = f"{kind}: {case['name']} {number}"
        report = handed(case, changes)
        if isinstance(report, Exception):
            yield title, f"refused: {type(report).__name__}: {report}"
            continue
        names, text = [row.name for row in report.rows], str(report)
        missing = [name for name in case["rows"] if name not in names]
        strange = [name for name in case.get("absent", []) if name in names]
        unsaid = [words for words in case.get("says", []) if words not in text]
        if not report.ok or missing or strange or unsaid:
            yield (
                title,
                f"ok {report.ok}, lacks {missing}, has {strange}, not said {unsaid}\n{text}",
            )
        for wrong in wrongs:
            report = handed(case, changes, wrong)
            if isinstance(report, Exception):
                yield f"{title} wrong", f"refused: {type(report).__name__}: {report}"
                continue
            told = "; ".join(map(str, report.causes))
            unsaid = [words for words in case.get("says_wrong", []) if words not in str(report)]
            if report.ok or unsaid or "ended in" in told:
                yield f"{title} wrong", f"ok {report.ok}, not said {unsaid}\n{report}"


@pytest.mark.parametrize("kind", KINDS)
def test_students_code(kind):
    if "torch" in kind:
        pytest.importorskip("torch")
    found = list(faults(kind))
    assert not found, "\n".join(map(" ".join, found))


if __name__ == "__main__":
    for name in sys.argv[1:] or KINDS:
        found = list(faults(name))
        count = sum(1 + len(wrongs) for *_, wrongs in cases(name))
        print(f"{name}: {count - len(found)} of {count}")
        for title, why in found:
            print("  ", title, why.strip().replace("\n", "\n       "))
