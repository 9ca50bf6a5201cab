"""Backwards with effects, and a watch: python -m tests.broken.cases.effects [--json FILE].

Each layer computes y = x W; its dW is twice too large, so that a checker has to look for the
mistake; and its backward does something else besides. Each case is run twice, in a process and a
scratch folder of its own: once as it is (one forward, one backward), and once by the checker. The
folder, the state of the process, what was sent and printed are then compared. What a single run
does may be repeated a few times (``FEW``), since the checker has to run the code; nothing else may
have changed.
"""

import argparse
import atexit
import contextlib
import functools
import gc
import io
import json
import logging
import multiprocessing
import operator
import os
import pickle
import random
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import warnings
from pathlib import Path

import numpy as np

FEW = 20
SECONDS = 60
MEMORY = 3 << 30
CASES = {}

COUNT = 0
HISTORY = []
CONFIG = {"epoch": 0, "best": None}
MOMENTUM = np.zeros((4, 3))


def case(cls):
    CASES[cls.__name__] = cls
    return cls


class Layer:
    """What all have in common; folder holds thesis.txt, data/, weights.npy, gradient.npy, draft.txt."""

    def __init__(self, W, folder, port):
        self.W, self.folder, self.port = W, folder, port
        self.prepare()

    def prepare(self):
        pass

    def forward(self, x):
        self.x = x
        return x @ self.W


@case
class RemovesATree(Layer):
    def backward(self, dy):
        thesis = os.path.join(self.folder, "data")
        scratch = os.path.join(self.folder, "scratch")
        os.makedirs(scratch, exist_ok=True)
        self.dW = 2 * self.x.T @ dy
        shutil.rmtree(scratch)
        return dy @ self.W.T


@case
class SavesTheGradient(Layer):
    def backward(self, dy):
        weights_file = os.path.join(self.folder, "weights.npy")
        gradient_file = os.path.join(self.folder, "gradient.npy")
        W = np.load(weights_file)
        dW = 2 * self.x.T @ dy
        np.save(gradient_file, dW)
        self.dW = dW
        return dy @ self.W.T


@case
class RemovesAFile(Layer):
    def backward(self, dy):
        keep, temporary = self.folder + "/thesis.txt", self.folder + "/temporary.txt"
        open(temporary, "w").close()
        self.dW = 2 * self.x.T @ dy
        os.remove(temporary)
        return dy @ self.W.T


@case
class RenamesAFile(Layer):
    def backward(self, dy):
        new, final = self.folder + "/new.txt", self.folder + "/final.txt"
        draft = self.folder + "/draft.txt"
        with open(new, "w") as f:
            f.write("same")
        os.rename(new, final)
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T


@case
class MovesAFile(Layer):
    def backward(self, dy):
        source, target = Path(self.folder, "moving.txt"), Path(self.folder, "data", "moved.txt")
        source.write_text("same")
        self.dW = 2 * self.x.T @ dy
        shutil.move(source, target)
        return dy @ self.W.T


@case
class CopiesAFile(Layer):
    def backward(self, dy):
        thesis, backup = Path(self.folder, "thesis.txt"), Path(self.folder, "backup.txt")
        self.dW = 2 * self.x.T @ dy
        shutil.copy(thesis, backup)
        return dy @ self.W.T


@case
class AppendsToALog(Layer):
    def backward(self, dy):
        with open(self.folder + "/run.log", "a") as log:
            log.write("backward\n")
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T


@case
class OverwritesAReport(Layer):
    def backward(self, dy):
        thesis, report = self.folder + "/thesis.txt", self.folder + "/report.txt"
        self.dW = 2 * self.x.T @ dy
        open(report, "w").write(f"rows {dy.shape[0]}")
        return dy @ self.W.T


@case
class WritesByPath(Layer):
    def backward(self, dy):
        root = Path(self.folder)
        draft = root / "draft.txt"
        notes = root / "notes.txt"
        self.dW = 2 * self.x.T @ dy
        notes.write_text(str(self.dW.shape))
        return dy @ self.W.T


@case
class UnlinksByPath(Layer):
    def backward(self, dy):
        root = Path(self.folder)
        keep, gone = root / "draft.txt", root / "gone.txt"
        self.dW = 2 * self.x.T @ dy
        gone.unlink(missing_ok=True)
        return dy @ self.W.T


@case
class ReplacesByPath(Layer):
    def backward(self, dy):
        old, new, keep = (Path(self.folder, n) for n in ("old.txt", "next.txt", "thesis.txt"))
        new.write_text("next")
        new.replace(old)
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T


@case
class DumpsJson(Layer):
    def backward(self, dy):
        thesis, state = self.folder + "/thesis.txt", self.folder + "/state.json"
        self.dW = 2 * self.x.T @ dy
        with open(state, "w") as f:
            json.dump({"shape": list(self.dW.shape)}, f)
        return dy @ self.W.T


@case
class Pickles(Layer):
    def backward(self, dy):
        thesis, state = self.folder + "/thesis.txt", self.folder + "/state.pkl"
        self.dW = 2 * self.x.T @ dy
        pickle.dump(self.dW.shape, open(state, "wb"))
        return dy @ self.W.T


@case
class SavesText(Layer):
    def backward(self, dy):
        draft, table = self.folder + "/draft.txt", self.folder + "/table.txt"
        self.dW = 2 * self.x.T @ dy
        np.savetxt(table, np.zeros(self.dW.shape))
        return dy @ self.W.T


@case
class WritesToADatabase(Layer):
    def prepare(self):
        self.db = sqlite3.connect(self.folder + "/results.sqlite")
        self.db.execute("create table if not exists runs (n integer)")
        self.db.execute("create table if not exists grades (n integer)")
        self.db.execute("insert into grades values (1)")
        self.db.commit()

    def backward(self, dy):
        runs, grades = "runs", "grades"
        self.dW = 2 * self.x.T @ dy
        self.db.execute(f"delete from {runs}")
        self.db.commit()
        return dy @ self.W.T


@case
class Posts(Layer):
    def backward(self, dy):
        self.dW = 2 * self.x.T @ dy
        with socket.create_connection(("127.0.0.1", self.port)) as s:
            s.sendall(b"POST gradient\n")
        return dy @ self.W.T


@case
class OpensAnAddress(Layer):
    def backward(self, dy):
        address = f"http://127.0.0.1:{self.port}/gradient"
        self.dW = 2 * self.x.T @ dy
        with contextlib.suppress(OSError):
            urllib.request.urlopen(address, timeout=2)
        return dy @ self.W.T


@case
class Prints(Layer):
    def backward(self, dy):
        self.dW = 2 * self.x.T @ dy
        print("backward", self.dW.shape)
        return dy @ self.W.T


@case
class WritesToStdout(Layer):
    def backward(self, dy):
        sys.stdout.write("backward\n")
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T


@case
class Logs(Layer):
    def prepare(self):
        self.log = logging.getLogger("effects")
        self.log.addHandler(logging.FileHandler(self.folder + "/run.log"))

    def backward(self, dy):
        self.log.warning("backward")
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T


@case
class RunsAProgram(Layer):
    def backward(self, dy):
        thesis, mark = self.folder + "/thesis.txt", self.folder + "/mark.txt"
        subprocess.run(["touch", mark], check=True)
        subprocess.run(["rm", mark], check=True)
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T


@case
class UsesTheShell(Layer):
    def backward(self, dy):
        os.system(f"echo backward >> {self.folder}/run.log")
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T


@case
class CountsInAGlobal(Layer):
    def backward(self, dy):
        global COUNT
        COUNT += 1
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T


@case
class AppendsToAGlobal(Layer):
    def backward(self, dy):
        HISTORY.append(float(dy.sum()))
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T


@case
class ChangesADict(Layer):
    def backward(self, dy):
        CONFIG["epoch"] = 1
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T


@case
class CountsInItsClass(Layer):
    calls = 0

    def backward(self, dy):
        CountsInItsClass.calls += 1
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T


@case
class KeepsMomentum(Layer):
    def backward(self, dy):
        self.dW = 2 * self.x.T @ dy
        MOMENTUM[...] = 0.9 * MOMENTUM
        return dy @ self.W.T


@case
class StepsItself(Layer):
    def backward(self, dy):
        self.dW = 2 * self.x.T @ dy
        dx = dy @ self.W.T
        self.W -= 0.01 * self.dW
        return dx


@case
class SeedsNumpy(Layer):
    def backward(self, dy):
        np.random.seed(0)
        noise = np.random.rand()
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T


@case
class SetsAVariable(Layer):
    def backward(self, dy):
        os.environ["EFFECTS_SEEN"] = "yes"
        home, mark = "HOME", "EFFECTS_SEEN"
        os.environ.pop(mark)
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T


@case
class ChangesTheFolder(Layer):
    def backward(self, dy):
        os.chdir(self.folder)
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T


@case
class StartsAThread(Layer):
    def backward(self, dy):
        def write():
            with open(self.folder + "/run.log", "a") as log:
                log.write("thread\n")

        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T


@case
class WritesAtExit(Layer):
    def backward(self, dy):
        path = self.folder + "/run.log"
        atexit.register(lambda: open(path, "a").write("exit\n"))
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T


@case
class Exits(Layer):
    def backward(self, dy):
        self.dW = 2 * self.x.T @ dy
        sys.exit("no gradient yet")


@case
class RaisesSystemExit(Layer):
    def todo(self):
        raise SystemExit(0)

    def backward(self, dy):
        self.dW = 2 * self.x.T @ dy
        self.todo()
        return dy @ self.W.T


@case
class LoopsIfChanged(Layer):
    def backward(self, dy):
        grad = np.ones((2, 2, 1, 1)) * dy
        while grad.ndim > dy.ndim:
            grad = grad.sum(axis=0)
        self.dW = 2 * self.x.T @ grad
        return dy @ self.W.T


@case
class NeverEnds(Layer):
    def backward(self, dy):
        n = 0
        while n < 5:
            n = n % 5
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T


@case
class AllocatesIfChanged(Layer):
    def backward(self, dy):
        small, digits = 3, 11
        buffer = np.ones(10**small)
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T * buffer[0]


@case
class RecursesIfChanged(Layer):
    def deeper(self, value, n):
        return value if n <= 0 else self.deeper(value, n - 1)

    def backward(self, dy):
        steps, many = 3, 10**6
        self.dW = self.deeper(2 * self.x.T @ dy, steps)
        return dy @ self.W.T


@case
class Sleeps(Layer):
    def backward(self, dy):
        time.sleep(0.1)
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T


@case
class MapsAFile(Layer):
    def backward(self, dy):
        weights, gradient = self.folder + "/weights.npy", self.folder + "/gradient.npy"
        mapped = np.lib.format.open_memmap(gradient, mode="r+")
        mapped[...] = 7
        mapped.flush()
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T


@case
class HoldsAFile(Layer):
    def prepare(self):
        self.out = open(self.folder + "/run.log", "a", buffering=1)

    def backward(self, dy):
        self.out.write("backward\n")
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T


@case
class MakesFolders(Layer):
    def backward(self, dy):
        new, data = os.path.join(self.folder, "made"), os.path.join(self.folder, "data")
        os.makedirs(new, exist_ok=True)
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T


@case
class ChangesRights(Layer):
    def backward(self, dy):
        mode, other = 0o644, 0o000
        os.chmod(self.folder + "/draft.txt", mode)
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T


@case
class Truncates(Layer):
    def backward(self, dy):
        length, nothing = 40, 0
        os.truncate(self.folder + "/draft.txt", length)
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T


@case
class ExecutesText(Layer):
    def backward(self, dy):
        path, keep = self.folder + "/run.log", self.folder + "/thesis.txt"
        exec("open(path, 'a').write('exec\\n')")
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T


@case
class TakesByName(Layer):
    def backward(self, dy):
        temporary, keep = self.folder + "/temporary.txt", self.folder + "/thesis.txt"
        Path(temporary).touch()
        self.dW = 2 * self.x.T @ dy
        getattr(os, "remove")(temporary)
        return dy @ self.W.T


@case
class CallsAPartial(Layer):
    def prepare(self):
        self.note = functools.partial(print, "note", file=open(self.folder + "/run.log", "a", 1))

    def backward(self, dy):
        self.note()
        self.dW = 2 * self.x.T @ dy
        return dy @ self.W.T


class Logged:
    """An array whose sums are written down."""

    def __init__(self, array, path):
        self.array, self.path = array, path

    def __radd__(self, other):
        with open(self.path, "a") as log:
            log.write("sum\n")
        return other + self.array

    def __array__(self, dtype=None, copy=None):
        return self.array


@case
class AddsWithAnEffect(Layer):
    def prepare(self):
        self.zero = Logged(np.zeros((4, 3)), self.folder + "/run.log")

    def backward(self, dy):
        self.dW = 0 + self.zero
        self.dW = self.dW + 2 * self.x.T @ dy
        return dy @ self.W.T


@case
class ReadsWithAnEffect(Layer):
    @property
    def cached(self):
        with open(self.folder + "/run.log", "a") as log:
            log.write("read\n")
        return self.x

    def backward(self, dy):
        self.dW = 2 * self.cached.T @ dy
        return dy @ self.W.T


@case
class CallsBack(Layer):
    def prepare(self):
        def hook(dW):
            with open(self.folder + "/run.log", "a") as log:
                log.write("hook\n")

        self.hooks = [hook]

    def backward(self, dy):
        self.dW = 2 * self.x.T @ dy
        for hook in self.hooks:
            hook(self.dW)
        return dy @ self.W.T


def furnish(folder):
    """The files that a learner has."""
    for name in ("data", "scratch0"):
        Path(folder, name).mkdir(parents=True)
    Path(folder, "thesis.txt").write_text("three years of work\n")
    Path(folder, "data", "measured.csv").write_text("1,2,3\n")
    Path(folder, "draft.txt").write_text("x" * 40)
    np.save(Path(folder, "weights.npy"), np.arange(12.0).reshape(4, 3))
    np.save(Path(folder, "gradient.npy"), np.zeros((4, 3)))


def tree(folder):
    """Each file: its rights, and its bytes (of a log or a database, which grow, its lines)."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_dir():
            found[name] = "folder"
        elif name == "gradient.npy":  # what is in it depends on dy
            found[name] = path.stat().st_size
        elif path.suffix == ".log":
            found[name] = sorted(set(path.read_text().splitlines()))
        elif path.suffix == ".sqlite":
            with sqlite3.connect(path) as db:
                found[name] = [
                    db.execute(f"select count(*) from {t}").fetchone() for t in ("runs", "grades")
                ]
        else:
            found[name] = [oct(path.stat().st_mode), path.read_bytes().hex()[:4000]]
    return found


def repeated(folder, sent, printed):
    """How often a single effect was repeated, at most."""
    counts = [len(p.read_text().splitlines()) for p in Path(folder).glob("*.log")]
    return max([*counts, sent, printed.count("backward")], default=0)


def state(layer, W):
    """What a backward can have changed in the process."""
    return {
        "cwd": os.path.basename(os.getcwd()),
        "epoch": CONFIG["epoch"],
        "keys": sorted(CONFIG),
        "environment": sorted(k for k in os.environ if k.startswith("EFFECTS") or k == "HOME"),
        "threads": threading.active_count(),
        "recursion": sys.getrecursionlimit(),
        "momentum": float(np.abs(MOMENTUM).sum()),
        "W": float(np.abs(layer.W - W).max()),
        "class": sorted(k for k in vars(type(layer)) if not k.startswith("__")),
        "code": type(layer).backward.__code__.co_code.hex()[:200],
    }


def child(mode, name, folder, port, result):
    """One run, or one check, and what came of it."""
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS + 5, SECONDS + 10))
    rng = np.random.default_rng(0)
    W, x, dy = rng.normal(size=(4, 3)), rng.normal(size=(5, 4)), rng.normal(size=(5, 3))
    layer = CASES[name](W.copy(), folder, port)
    heard = io.StringIO()
    outcome = ""
    start = time.time()
    with contextlib.redirect_stdout(heard), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if mode == "run":
                signal.alarm(3 if name == "NeverEnds" else 0)
                layer.forward(x)
                layer.backward(dy)
                signal.alarm(0)
            else:
                from deepnlp.gradcheck import check_gradients

                report = check_gradients(layer, x)
                outcome = "ok" if report.ok else "wrong"
        except BaseException as error:
            outcome = f"{type(error).__name__}: {error}"[:200]
    text = heard.getvalue()
    gc.collect()
    found = {
        "outcome": outcome,
        "seconds": round(time.time() - start, 1),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "printed": text[:2000],
        "lines": len(text.splitlines()),
        "global": max(COUNT, len(HISTORY), CountsInItsClass.calls),
        "state": state(layer, W),
    }
    Path(result).write_text(json.dumps(found))


class Server(threading.Thread):
    """Counts connections to this machine's own address."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.seen = 0

    def run(self):
        while True:
            connection, _ = self.socket.accept()
            self.seen += 1
            connection.close()


def watch(name, mode, server):
    """A case in a process and a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="effects-") as root:
        folder = os.path.join(root, "work")
        furnish(folder)
        untouched = tree(folder)
        before, result = server.seen, os.path.join(root, "result.json")
        command = [sys.executable, "-m", "tests.broken.cases.effects", "--child", mode, name]
        try:
            code = subprocess.run(
                [*command, folder, str(server.port), result],
                timeout=2 * SECONDS,
                capture_output=True,
            ).returncode
        except subprocess.TimeoutExpired:
            code = "timeout"
        found = json.loads(Path(result).read_text()) if os.path.exists(result) else {}
        sent = server.seen - before
        return found | {
            "code": code,
            "tree": tree(folder),
            "untouched": untouched,
            "repeated": max(
                repeated(folder, sent, found.get("printed", "")), found.get("global", 0)
            ),
            "left": sorted(set(os.listdir(root)) - {"work", "result.json"}),
        }


def _more(name, run, check):
    """Whether a check has done more to a file than a run: what it left as it was is fine."""
    done, left = (found["tree"].get(name) for found in (run, check))
    if isinstance(left, list) and name.endswith(".log"):
        return not set(left) <= set(done or [])
    return left not in (done, run["untouched"].get(name))


def problems(name, run, check):
    """What the check has done that a run does not do."""
    found = []
    if check["code"] == "timeout" or not check.get("state"):
        return [f"did not end well: {check['code']}"]
    if check["code"] != 0:
        found.append(f"ends with exit code {check['code']}")
    changed = sorted(n for n in {*run["tree"], *check["tree"]} if _more(n, run, check))
    if changed:
        found.append(f"files differ: {changed}")
    differing = [k for k, v in check["state"].items() if v != run.get("state", {}).get(k, v)]
    if name == "StepsItself" and check["state"]["W"] in (0.0, run["state"]["W"]):
        differing = [k for k in differing if k != "W"]
    if differing:
        found.append(f"state differs: {[(k, check['state'][k]) for k in differing]}"[:160])
    if check["repeated"] > FEW:
        found.append(f"repeated {check['repeated']} times")
    if check["seconds"] > SECONDS:
        found.append(f"took {check['seconds']} s")
    if check["memory"] > MEMORY:
        found.append(f"took {check['memory'] >> 20} MB")
    if check["outcome"] == "ok":
        found.append("passed wrongly")
    return found


def in_threads(count=8):
    """Whether as many checks in as many threads give what one gives; the names of those that differ."""
    from concurrent.futures import ThreadPoolExecutor

    from deepnlp.gradcheck import check_gradients
    from tests.broken.collection import example, read

    chosen = read("third")
    cases = [case for case in chosen.cases if "closure" not in case.family.name][
        :: len(chosen.cases) // count
    ]
    cases = cases[:count]
    jobs = [(case, broken) for case in cases for broken in (True, False)]

    def verdict(job):
        case, broken = job
        layer, inputs = example(case, [11, 0], broken)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                report = check_gradients(layer, *inputs)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return str(report)

    one_by_one = [verdict(job) for job in jobs]
    with ThreadPoolExecutor(count) as pool:
        together = list(pool.map(verdict, jobs))
    afterwards = [verdict(job) for job in jobs]
    return len(jobs), [
        f"{case.name} {'broken' if broken else 'right'}"
        for (case, broken), a, b, c in zip(jobs, one_by_one, together, afterwards)
        if not a == b == c
    ]


def main():
    parser = argparse.ArgumentParser(
        prog="python -m tests.broken.cases.effects", description=__doc__
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--threads", action="store_true", help="eight checks in eight threads")
    parser.add_argument("--child", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        mode, name, folder, port, result = options.child
        child(mode, name, folder, int(port), result)
        return
    if options.threads:
        number, differing = in_threads()
        print(
            f"{number - len(differing)} of {number} checks say in eight threads what they say alone"
        )
        print("\n".join(differing))
        return
    server = Server()
    server.start()
    rows, bad = [], 0
    names = [name for name in CASES if options.only in name][:: options.every]
    for name in names:
        run, check = watch(name, "run", server), watch(name, "check", server)
        found = problems(name, run, check)
        bad += bool(found)
        rows.append({"case": name, "problems": found, "run": run, "check": check})
        print(
            f"{name:22}{str(check.get('outcome', '?'))[:34]:36}{check['repeated']:4} times"
            f"{check.get('seconds', 0):7} s  {'; '.join(found) or 'clean'}",
            flush=True,
        )
    print(f"{len(names) - bad} of {len(names)} clean")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    sys.modules.setdefault("tests.broken.cases.effects", sys.modules["__main__"])
    main()
