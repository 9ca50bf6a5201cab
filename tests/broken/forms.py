"""Code in the interfaces of courses, handed over as a student would: python -m tests.broken.forms.

A form is a module of ``cases/forms``, right as it stands, with a TOML file of the same name: its
layers, each with lines that ``draw`` the inputs, run ``forward`` (they set ``out``) and
``backward`` (they may use ``dout``), a table from each array to its gradient, the lines by which
it is handed over (``hand``, they set ``report``), and mistakes: a piece of the module (``right``)
and what the learner wrote instead. ``M`` is the module. The lines and the table are also what our
own numeric check runs, which knows nothing of the checker.

What is frozen is the code, its mistakes, lines and tables. ``hand`` says how it is handed over as
the documents describe it, or as seems natural.
"""

import argparse
import contextlib
import importlib.util
import io
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from tests.broken.collection import CASES, Broken, Family, Layer
from tests.broken.judge import located, verdict
from tests.broken.numeric import STEP, distance, numeric, weighted

FORMS = CASES / "forms"
VERDICTS = ("named", "weak", "misleading", "unknown", "passed wrongly", "refused")
_folder = tempfile.TemporaryDirectory(prefix="forms-")


@dataclass(frozen=True)
class Part:
    """A right layer of a form: how it is drawn, run and handed over."""

    form: str
    name: str
    draw: str
    hand: str
    module: str = field(repr=False)
    forward: str = ""
    backward: str = ""
    gradients: dict[str, str] = field(default_factory=dict, hash=False)
    course: str = ""


@dataclass(frozen=True)
class Mistake:
    """A part with one mistake."""

    part: Part
    case: Broken

    @property
    def source(self) -> str:
        """The module with the mistake in it."""
        if self.part.module.count(self.case.right) != 1:
            raise ValueError(f"{self.case.name}: {self.case.right!r} does not stand there once")
        return self.part.module.replace(self.case.right, self.case.wrong)


def names() -> list[str]:
    """The forms."""
    return sorted(path.stem for path in FORMS.glob("*.toml"))


@lru_cache
def read(form: str, folder: Path = FORMS) -> tuple[list[Part], list[Mistake]]:
    """Return the parts and mistakes of a form."""
    table = tomllib.loads(folder.joinpath(f"{form}.toml").read_text("utf-8"))
    module = folder.joinpath(f"{form}.py").read_text("utf-8")
    parts, mistakes = [], []
    for row in table["layer"]:
        wrongs = row.pop("mistake", [])
        part = Part(form=form, module=module, course=table["course"], **row)
        parts.append(part)
        family = Family(f"{form} {part.name}", Layer(part.name, module, module), "")
        for wrong in wrongs:
            values = {k: tuple(v) if isinstance(v, list) else v for k, v in wrong.items()}
            values["name"] = f"{form} {part.name}: {wrong['name']}"
            mistakes.append(Mistake(part, Broken(family=family, **values)))
    return parts, mistakes


@lru_cache
def load(form: str, source: str) -> ModuleType:
    """The module of a form, from a file of its own."""
    path = Path(_folder.name) / f"{form}_{abs(hash(source))}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def scope(part: Part, source: str, seed: int) -> dict[str, Any]:
    """The names that the lines of a part may use, with its inputs drawn."""
    rng = np.random.default_rng([17, seed])
    module = load(part.form, source)
    known = {"np": np, "rng": rng, "M": module, "normal": lambda *shape: rng.normal(size=shape)}

    def cell(title: str) -> str:
        """The lines of a script under this title."""
        return source.split(f"# %% {title}\n")[1].split("# %%")[0]

    def script(*titles: str) -> Path:
        """A flat script of these cells, in a file."""
        path = Path(_folder.name) / f"script_{abs(hash((source, titles)))}.py"
        path.write_text("import numpy as np\n\n" + "\n".join(map(cell, titles)), encoding="utf-8")
        return path

    known |= {"FILE": module.__file__, "cell": cell, "script": script}
    exec(part.draw, known)
    return known


def errors(part: Part, source: str, seed: int = 0, step: float = STEP) -> dict[str, float]:
    """How far each gradient of the table is from central differences."""
    known = scope(part, source, seed)

    def run() -> tuple[Any, ...]:
        exec(part.forward, known)
        out = known["out"]
        return out if isinstance(out, tuple) else (out,)

    rng = np.random.default_rng([3, seed])
    outputs = run()
    dys = [np.ones(()) if np.ndim(y) == 0 else rng.normal(size=np.shape(y)) for y in outputs]
    known["dout"] = dys[0].copy() if len(dys) == 1 else tuple(dy.copy() for dy in dys)
    exec(part.backward, known)
    given = {}
    for array, gradient in part.gradients.items():
        try:
            given[array] = np.array(eval(gradient, known), dtype=float)
        except (AttributeError, KeyError, NameError, TypeError):
            given[array] = None
    tables = {array: eval(array, known) for array in part.gradients}
    return {
        array: distance(given[array], numeric(lambda: weighted(run(), dys), values, step))
        for array, values in tables.items()
    }


def faults(form: str, every: int = 1) -> list[str]:
    """Parts that are not right, and mistakes that make no difference."""
    parts, mistakes = read(form)
    found = [
        f"{form} {part.name}: {array} is off by {error:.2g}"
        for part in parts[::every]
        for array, error in errors(part, part.module).items()
        if error > 1e-6
    ]
    for mistake in mistakes[::every]:
        worst = max(errors(mistake.part, mistake.source).values())
        if worst < 1e-4:
            found.append(f"{mistake.case.name}: makes no difference")
    return found


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    """A limit of processor time; what the code prints is not shown."""

    def stop(*_: Any) -> None:
        raise TimeoutError("the check took too long")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


DOUT = (
    "dout = tuple(rng.normal(size=np.shape(y)) for y in out) if type(out) is tuple"
    " else rng.normal(size=np.shape(out))"
)


def handed(part: Part, source: str, seed: int, before: str = "") -> Any:
    """The report on a part that is handed over, or the error with which it is refused.

    ``before`` are lines that use it first.
    """
    from deepnlp.gradcheck import check_gradients

    try:
        known = scope(part, source, seed)
        known["check_gradients"] = check_gradients
        with limited(60):
            exec(before, known)
            exec(part.hand, known)
        return known["report"]
    except (Exception, SystemExit) as error:
        return error


def file_of(part: Part, source: str, block: str = 'if __name__ == "__main__":') -> str:
    """The module as a learner has it for the command line, and the name of what is checked.

    The lines that draw the inputs and run the code stand at its end, in a block.
    """
    if "script(" in part.hand:
        titles = re.findall(r'"([^"]+)"', part.hand)
        cells = [source.split(f"# %% {title}\n")[1].split("# %%")[0] for title in titles]
        path = Path(_folder.name) / f"script_{abs(hash((source, part.name)))}.py"
        path.write_text("import numpy as np\n\n" + "\n".join(cells), encoding="utf-8")
        return str(path)
    lines = [
        "rng = np.random.default_rng(0)",
        "normal = lambda *shape: rng.normal(size=shape)",
        *part.draw.splitlines(),
        *part.forward.splitlines(),
        DOUT,
        *part.backward.splitlines(),
    ]
    text = re.sub(r"\bM\.", "", "\n".join(lines))
    main = "".join(f"    {line}\n" for line in text.splitlines())
    names = re.findall(r"\bM\.(\w+)", part.hand) or re.findall(r"\bM\.(\w+)", part.draw)
    path = Path(_folder.name) / f"main_{abs(hash((source, part.name, block)))}.py"
    path.write_text(
        f"{source}\n\n{block}\n    import numpy as np\n\n{main}",
        encoding="utf-8",
    )
    return f"{path}:{names[0]}"


def by_command(part: Part, source: str, seed: int) -> Any:
    """The report of ``deepnlp gradcheck FILE:NAME --json``, or the error of a refusal."""
    command = [sys.executable, "-m", "deepnlp", "gradcheck", file_of(part, source), "--json"]
    try:
        done = subprocess.run(
            [*command, "--seed", str(seed)], capture_output=True, text=True, timeout=300
        )
    except subprocess.TimeoutExpired:
        return TimeoutError("the command took too long")
    try:
        found = json.loads(done.stdout, object_hook=lambda row: SimpleNamespace(**row))
        for cause in [*found.causes, *(c for row in found.rows for c in row.causes)]:
            cause.place = cause.place or ""
        return found
    except (ValueError, AttributeError):
        return RuntimeError((done.stderr.strip().splitlines() or [f"code {done.returncode}"])[-1])


Give = Callable[[Part, str, int], Any]
"""How a part is handed over: by the library, or by the command line."""


def outcome_of_right(part: Part, seed: int, give: Give = handed) -> tuple[str, str]:
    """Passed, accused or refused, and why."""
    report = give(part, part.module, seed)
    if isinstance(report, BaseException):
        return "refused", f"{type(report).__name__}: {report}"
    return ("passed", "") if report.ok else ("accused", str(report))


def outcome_of_mistake(mistake: Mistake, seed: int, give: Give = handed) -> tuple[str, bool, str]:
    """The verdict, whether the line is found, and what was said."""
    report = give(mistake.part, mistake.source, seed)
    if isinstance(report, BaseException):
        return "refused", False, f"{type(report).__name__}: {report}"
    said = verdict(report, mistake.case)
    name = {"right": "named", "undetected": "passed wrongly"}.get(said, said)
    return name, not report.ok and located(report, mistake.case), str(report)


def main() -> None:
    """Print a table of the forms; write what was not named and located."""
    parser = argparse.ArgumentParser(prog="python -m tests.broken.forms", description=__doc__)
    parser.add_argument("--json", type=Path, help="where to write all outcomes")
    parser.add_argument("--only", default="", help="forms whose name holds this")
    parser.add_argument("--every", type=int, default=1, help="each K-th mistake only")
    parser.add_argument("--seeds", type=int, default=1, help="draws of each right layer")
    parser.add_argument(
        "--command", action="store_true", help="by deepnlp gradcheck FILE:NAME, with a main block"
    )
    parser.add_argument("--sanity", action="store_true", help="our own numeric check alone")
    options = parser.parse_args()
    chosen = [form for form in names() if options.only in form]
    if options.sanity:
        for form in chosen:
            parts, mistakes = read(form)
            print(f"{form:14}{len(parts):4} layers {len(mistakes):4} mistakes")
            for fault in faults(form):
                print("  ", fault)
        return
    give = by_command if options.command else handed
    heads = ("right", "accused", "refused", "wrong", *VERDICTS, "located", "seconds")
    print(f"{'form':16}" + "".join(f"{head:>15}" for head in heads))
    rows, total = [], Counter[str]()
    for form in chosen:
        start = time.process_time()
        counts = Counter[str]()
        parts, mistakes = read(form)
        for part in parts[:: options.every if options.command else 1]:
            for seed in range(options.seeds):
                name, why = outcome_of_right(part, seed, give)
                counts["right"] += 1
                counts[{"refused": "right refused"}.get(name, name)] += 1
                rows.append({"case": f"{form} {part.name}", "outcome": name, "said": why})
        for mistake in mistakes[:: options.every]:
            name, found, said = outcome_of_mistake(mistake, 0, give)
            counts["wrong"] += 1
            counts[name] += 1
            counts["located"] += found
            rows.append(
                {"case": mistake.case.name, "outcome": name, "located": found, "said": said}
            )
        counts["seconds"] = round(time.process_time() - start)
        total += counts
        print(_line(form, counts), flush=True)
    print(_line("all", total))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


def _line(name: str, counts: Counter[str]) -> str:
    keys = ("right", "accused", "right refused", "wrong", *VERDICTS, "located", "seconds")
    return f"{name:16}" + "".join(f"{counts[key]:>15}" for key in keys)


if __name__ == "__main__":
    main()
