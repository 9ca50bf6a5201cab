"""Which mutants the tests notice: one process collects the tests and forks a child for each mutant.

A first child runs all tests once and finds which of them reach which changed line. The child of a
mutant gives the changed code to the live functions, runs the tests that reach the line, and ends
at the first that fails. Tests that start another program are left out: it lacks the change.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import _lru_cache_wrapper, partial
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

from tests.faults.mutants import PACKAGE, Mutant, Package, codes, draw, read, write

#: Folders, and parts of paths, that are left out: tests of other rooms, slow or in other processes.
ROOMS = {
    *("attacks", "benchmarks", "broken", "cli", "datasets", "diagnosis", "exercises"),
    *("experiments", "faults", "lessons", "museum", "notebooks", "plots", "repaired", "reproduce"),
    *("search", "studies", "unseen", "vectors"),
}
WORDS = (
    *("anybodys", "architecture", "chapters", "counting", "cuda", "diagnosis", "docstrings"),
    *("exercise", "gpu", "gradflow", "lesson", "no_crash", "no_false", "notebooks", "options"),
    *("parsers", "plots", "readme", "script", "threads.py", "xp_names"),
)
SLOW = 3.0  # seconds of processor time; a test that takes longer is left out
SECONDS = 40.0  # of processor time for a mutant
MEMORY = 8 << 30
PASSED, FAILED, ENDED, NOT_APPLIED = range(4)  # exit statuses of a child
OUTCOMES = {PASSED: "unnoticed", ENDED: "unnoticed", NOT_APPLIED: "gone"}


def replace_code(path: Path, text: Any, live: list[FunctionType]) -> None:
    """Give the live functions of a file the code of a changed text or tree."""
    original = path.read_text(encoding="utf-8")
    old, new = (codes(compile(t, str(path), "exec", dont_inherit=True)) for t in (original, text))
    changed = {_key(was): now for was, now in zip(old, new, strict=True) if was != now}
    for function in live:
        function.__code__ = changed.get(_key(function.__code__), function.__code__)


def _key(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def replace_constant(module: Any, mutant: Mutant) -> None:
    """Give a constant of a module or a class its changed value, also where it was imported."""
    owner = module
    for name in filter(None, mutant.function.split(".")):
        owner = getattr(owner, name)
    statement: Any = ast.parse(mutant.changed).body[0]
    name, code = statement.targets[0].id, compile(ast.Expression(statement.value), "", "eval")
    old, new = getattr(owner, name), eval(code, vars(module), dict(vars(owner)))
    setattr(owner, name, new)
    for other in list(sys.modules.values()) if owner is module else []:
        if getattr(other, "__dict__", {}).get(name, other) is old:
            setattr(other, name, new)


class Reporting(ast.NodeTransformer):
    """Puts reports before chosen statements, and into the functions that read chosen names."""

    def __init__(self, at: dict[ast.stmt, list[int]], names: dict[str, list[int]]) -> None:
        self.at, self.names = at, names

    def generic_visit(self, node: ast.AST) -> ast.AST:
        nodes = ast.walk(node) if isinstance(node, ast.FunctionDef) else ()
        read_here = {k for inner in nodes for k in self.names.get(_name(inner), [])}
        first = int(bool(read_here) and ast.get_docstring(node) is not None)
        super().generic_visit(node)
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                reports = [[_report(k, old) for k in self.at.get(old, [])] for old in block]
                if field == "body" and read_here:
                    at = min(first, len(block) - 1)
                    reports[at] += [_report(k, block[at]) for k in read_here]
                setattr(node, field, [p for r, old in zip(reports, block) for p in (*r, old)])
        return node


def _name(node: ast.AST) -> str:
    return getattr(node, "id", getattr(node, "attr", ""))


def _report(k: int, beside: ast.stmt) -> ast.stmt:
    call = ast.parse(f"_reached_({k})").body[0]
    for node in ast.walk(call):
        ast.copy_location(node, beside)
    return call


def smallest_statement(tree: ast.AST, line: int) -> ast.stmt:
    """The innermost statement that holds a line."""
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    around = [node for node in statements if node.lineno <= line <= (node.end_lineno or 0)]
    return min(around, key=lambda node: (node.end_lineno or 0) - node.lineno)


class Noticing:
    """A plugin of pytest that tries the mutants on the tests in place of running them once."""

    def __init__(self, output: Path, jobs: int, chosen: list[int]) -> None:
        self.output, self.jobs, self.package = output, jobs, Package()
        self.sample = {k: mutant for k, mutant in enumerate(read()) if k in chosen or not chosen}
        self.found = {k: mutant.find(self.package) for k, mutant in self.sample.items()}
        self.live: dict[str, list[FunctionType]] = defaultdict(list)
        self.reached: set[int] = set()
        self.of_fixture: dict[Any, set[int]] = defaultdict(set)
        self.passed = self.ends_at_failure = True
        self.reliable: dict[str, bool] = {}
        self.noticed: dict[str, list[str]] = defaultdict(list)  # by file, tests that notice much

    # --- Hooks ------------------------------------------------------------------------------------

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        path = collection_path.relative_to(PACKAGE.parent).as_posix()
        return True if {*path.split("/")} & ROOMS or any(word in path for word in WORDS) else None

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """What a shared fixture reaches is reached by all tests that have it."""
        before = set(self.reached)
        self.reached.clear()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                self.of_fixture[fixturedef] |= self.reached
            self.reached |= before

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed &= not report.failed and not report.skipped
        if report.failed and self.ends_at_failure:
            os._exit(FAILED)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted("errors while the tests were collected")
        session.config.pluginmanager.unregister(name="terminalreporter")
        self.items = {item.nodeid: item for item in session.items}
        self.modules = {file: _module(file) for file in self.package.files()}
        gc.unfreeze()  # what conftest has frozen is not listed
        objects = gc.get_objects()
        for function in objects:
            if type(function) is FunctionType:  # isinstance would call proxies
                self.live[function.__code__.co_filename].append(function)
        caches = [value for value in objects if type(value) is _lru_cache_wrapper]
        self.caches = [cache for cache in caches if cache.__module__.startswith("deepnlp")]
        del objects
        gc.freeze()
        reaching = self.output.with_suffix(".map")  # kept, so that a run can be taken up again
        if not reaching.exists():
            self._fork(lambda folder: self._map(folder, reaching))
        self.map = json.loads(reaching.read_text(encoding="utf-8"))
        workers = [self._start(job) for job in range(self.jobs)]
        for worker in workers:
            os.waitpid(worker, 0)
        return True

    # --- Which tests reach which line -------------------------------------------------------------

    def _map(self, folder: Path, path: Path) -> None:
        """Run all tests once: for each that passes, its time and the mutants that it reaches."""
        self._instrument()
        self.ends_at_failure = False
        for kind in (signal.SIGPROF, signal.SIGALRM):
            signal.signal(kind, _too_slow)
        sys.addaudithook(self._audit)
        passed = {}
        for item, seconds in self._run(folder, [*self.items], lambda nodeid: SLOW):
            if self.passed:
                passed[item.nodeid] = (seconds, set(self.reached))
        for nodeid, (_, reached) in passed.items():
            fixtures = self.items[nodeid]._fixtureinfo.name2fixturedefs.values()
            reached.update(*(self.of_fixture[fixture] for some in fixtures for fixture in some))
        table = {n: (round(s, 4), sorted(reached)) for n, (s, reached) in passed.items() if reached}
        path.write_text(json.dumps(table), encoding="utf-8")

    def _audit(self, event: str, _: object) -> None:
        if event == "subprocess.Popen":  # the other process would lack the change
            self.passed = False

    def _instrument(self) -> None:
        """Make the functions report which mutants they reach."""
        constants: dict[str, list[int]] = defaultdict(list)
        lines: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for k, found in self.found.items():
            if found and self.package.is_constant(*found):
                constants[self.sample[k].line.split(" = ")[0]].append(k)
            elif found:
                lines[found[0]][found[1] + 1].append(k)
        for file, module in self.modules.items():
            text = "\n".join(self.package.lines(file))
            if lines[file] or any(name in text for name in constants):
                tree = ast.parse(text)
                at: dict[ast.stmt, list[int]] = defaultdict(list)
                for line, numbers in lines[file].items():
                    at[smallest_statement(tree, line)] += numbers
                vars(module)["_reached_"] = self.reached.add
                path = PACKAGE / file
                replace_code(path, Reporting(at, constants).visit(tree), self.live[str(path)])

    # --- Trying mutants ---------------------------------------------------------------------------

    def _start(self, job: int) -> int:
        """A process that tries some of the mutants, and writes a line about each."""
        process = os.fork()
        if not process:
            text = self.output.read_text(encoding="utf-8") if self.output.exists() else ""
            earlier = [json.loads(line) for line in text.splitlines()]
            for result in earlier:
                self.noticed[result["file"]].append(result.get("by", ""))
            tried = {result["id"] for result in earlier}
            for k in [k for k in self.sample if k not in tried and k % self.jobs == job]:
                result = {"id": k, **asdict(self.sample[k]), **self._try(k)}
                self.noticed[result["file"]].append(result.get("by", ""))
                with self.output.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(result) + "\n")
            os._exit(0)
        return process

    def _try(self, k: int) -> dict[str, Any]:
        """What becomes of a mutant. A test that fails also without it notices nothing."""
        while self.found[k]:
            if not (nodeids := self._tests(k)):
                return {"outcome": "unnoticed", "tests": 0}
            status, by, seconds = self._fork(partial(self._run_with, k, nodeids))
            if status in OUTCOMES:
                return {"outcome": OUTCOMES[status], "tests": len(nodeids), "seconds": seconds}
            if by not in self.reliable:
                alone, *_ = self._fork(partial(self._run_with, None, [by]))
                self.reliable[by] = alone == PASSED
            if self.reliable[by]:
                how = "" if status == FAILED else f" (ended by {status})"
                return {"outcome": "noticed", "by": by + how, "seconds": seconds}
        return {"outcome": "gone"}

    def _tests(self, k: int) -> list[str]:
        """The tests that reach the line: those that noticed others in the file, one of each test
        function, then the others, quick files first.
        """
        seconds = {n: s for n, (s, reached) in self.map.items() if k in reached}
        known = [n for n in sorted(seconds, key=seconds.__getitem__) if self.reliable.get(n, True)]
        reaching = {*known}
        first = {nodeid.split("[")[0]: nodeid for nodeid in reversed(known)}
        of_file: dict[str, float] = defaultdict(float)
        for nodeid in known:
            of_file[nodeid.split("::")[0]] += seconds[nodeid]
        files = sorted(of_file, key=of_file.__getitem__)
        rest = [n for file in files for n in known if n.split("::")[0] == file]
        best = [nodeid for nodeid in self.noticed[self.sample[k].file] if nodeid in reaching]
        return [*dict.fromkeys([*best, *reversed(first.values()), *rest])]

    def _run_with(self, k: int | None, nodeids: list[str], folder: Path) -> None:
        if k is not None:
            file, line = self.found[k] or ("", 0)
            if self.package.is_constant(file, line):
                replace_constant(self.modules[file], self.sample[k])
            else:
                path = PACKAGE / file
                replace_code(path, self.sample[k].text(self.package), self.live[str(path)])
        for _ in self._run(folder, nodeids, lambda nodeid: 10 + 10 * self.map[nodeid][0]):
            if time.process_time() > SECONDS:
                os._exit(ENDED)

    def _run(
        self, folder: Path, nodeids: list[str], limit: Callable[[str], float]
    ) -> Iterator[tuple[pytest.Item, float]]:
        """Run tests, each with a limit of its processor time; each with the time that it took."""
        items = [self.items[nodeid] for nodeid in nodeids if nodeid in self.items]
        for item, following in zip(items, [*items[1:], None], strict=True):
            (folder / "running").write_text(item.nodeid, encoding="utf-8")
            for cache in self.caches:
                cache.cache_clear()
            self.reached.clear()
            self.passed, start = True, time.process_time()
            signal.setitimer(signal.ITIMER_PROF, limit(item.nodeid))
            signal.alarm(300)
            try:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            except TooSlow:
                self.passed = False
            signal.setitimer(signal.ITIMER_PROF, 0)
            yield item, time.process_time() - start

    def _fork(self, task: Callable[[Path], None]) -> tuple[int, str, float]:
        """Do a task in a child: its exit status, the test that ran last, the processor time."""
        folder = Path(tempfile.mkdtemp(prefix="mutant-"))
        process = os.fork()
        if not process:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            tempfile.tempdir = os.environ["TMPDIR"] = os.environ["PYTEST_DEBUG_TEMPROOT"] = str(
                folder
            )
            try:
                task(folder)
            except BaseException:
                running = (folder / "running").exists()
                if not running or os.environ.get("DEEPNLP_MUTANTS_DEBUG"):
                    traceback.print_exc(file=sys.__stderr__)
                os._exit(FAILED if running else NOT_APPLIED)
            os._exit(PASSED)
        _, status, usage = os.wait4(process, 0)
        with suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        last = folder / "running"
        name = last.read_text(encoding="utf-8") if last.exists() else ""
        shutil.rmtree(folder, ignore_errors=True)
        seconds = round(usage.ru_utime + usage.ru_stime, 1)
        return os.waitstatus_to_exitcode(status), name, seconds


def _module(file: str) -> Any:
    """A module of the package, imported; in place of one that needs a GPU an empty one."""
    parts = Path(file).with_suffix("").parts
    if parts[-1] == "__main__" or "cuda" in parts:
        return ModuleType(file)
    return import_module(".".join(["deepnlp", *parts]).removesuffix(".__init__"))


class TooSlow(BaseException):
    """A test takes longer than SLOW."""


def _too_slow(*_: object) -> None:
    raise TooSlow


def run(output: Path, jobs: int, chosen: list[int], tests: list[str]) -> None:
    """Try mutants, and write a line of JSON about each."""
    options = ["-q", "--tb=native", "-p", "no:cacheprovider", "-p", "no:xdist"]
    pytest.main([*options, *tests], plugins=[Noticing(output, jobs, chosen)])


def show(outputs: list[Path]) -> None:
    """How many mutants were noticed, by area, and those that were not; of two runs, both."""
    runs = [[json.loads(r) for r in p.read_text(encoding="utf-8").splitlines()] for p in outputs]
    gone = {r["id"] for rows in runs for r in rows if r["outcome"] == "gone"}
    for output, rows in zip(outputs, runs, strict=True):
        print(f"{output}: noticed of those that are there in every run")
        there = [row for row in rows if row["id"] not in gone]
        total = Counter(row["area"] for row in there)
        noticed = Counter(row["area"] for row in there if row["outcome"] == "noticed")
        for area in sorted(total):
            print(f"  {area:12} {noticed[area]:4} of {total[area]:4}")
        print(f"  {'all':12} {noticed.total():4} of {total.total():4}; {len(gone)} are gone")
    before = {row["id"] for row in runs[0] if row["outcome"] == "noticed"}
    for row in runs[-1]:
        if row["outcome"] not in ("noticed", "gone") and (len(runs) == 1 or row["id"] in before):
            print(f"{row['id']:4} {row['outcome']:11} {row['file']}: {row['function']}")
            print(f"       - {row['line']}\n       + {row['changed']}")


def main(words: Sequence[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults mutants")
    commands = parser.add_subparsers(required=True, dest="command")
    commands.add_parser("draw").add_argument("seed", type=int)
    running = commands.add_parser("run")
    running.add_argument("output", type=Path, help="lines of JSON; what is there is not run again")
    running.add_argument("--jobs", type=int, default=1)
    running.add_argument("--only", type=int, nargs="*", default=[], help="numbers of mutants")
    running.add_argument("--tests", nargs="*", default=["tests", "deepnlp"], help="their paths")
    commands.add_parser("show").add_argument("outputs", type=Path, nargs="+")
    options = parser.parse_args(words)
    if options.command == "draw":
        write(draw(options.seed))
    elif options.command == "run":
        run(options.output.resolve(), options.jobs, options.only, options.tests)
    else:
        show(options.outputs)
