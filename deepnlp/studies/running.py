"""Running a study in processes of their own: rows of a table in turn, trials several at once."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import deepnlp
from deepnlp import backend
from deepnlp.backend import threads
from deepnlp.datasets.files import data_folder
from deepnlp.errors import DeepNLPError
from deepnlp.files.writing import locked
from deepnlp.studies.logs import FINISHED, Logs
from deepnlp.studies.page import write_page
from deepnlp.studies.sampling import SampledStudy, begin_study, require_optuna
from deepnlp.studies.search import Search
from deepnlp.studies.table import Job, Table
from deepnlp.studies.worker import CODES, ERROR, FAILED

PATIENCE = 30.0  # seconds to wait for an earlier process of the same run to end
THREADS = "DEEPNLP_NUM_THREADS"

Say = Callable[[str], None]


def run_table(
    table: Table,
    runs: Path,
    results: Path,
    *,
    only: Sequence[str] = (),
    rerun: bool = False,
    say: Say = print,
) -> str:
    """Run what is missing of a table, collect the logs and write the page after every run.

    Parameters
    ----------
    table : Table
    runs, results : path
        Folders of the run folders and of the logs: ``RUNS/TABLE/ROW-SEED`` and
        ``RESULTS/TABLE/ROW-SEED``. A run that is there and has not finished is gone on with.
    only : sequence of str
        Rows, or runs, by their names; all by default.
    rerun : bool
        Replace runs that were made with other options than the table states.
    say : function
        Takes lines on what is done.

    Returns
    -------
    str
        ``"finished"``, if all of the runs that were asked for have; ``"busy"``, if another process
        runs some of them; ``"interrupted"``.

    Raises
    ------
    DeepNLPError
        If a run was made with other options than the table states and ``rerun`` is not set, before
        anything is run; or, after all others have run, if a run has failed.
    ValueError
        If ``only`` names what the table does not have.
    """
    jobs = _jobs_of(table, only)
    logs, ours = Logs(table, results / table.folder), Logs(table, runs / table.name)
    ours.folder.mkdir(parents=True, exist_ok=True)
    changed = [name for name in table.run_names if logs.changes(name) or ours.changes(name)]
    for name in changed:
        if not rerun or table.job_of(name) not in jobs:
            logs.refuse_changes(name)
            ours.refuse_changes(name)
    for name in changed:
        logs.remove(name)
        if ours.of(name).path.is_dir():
            with ours.of(name).held(overwrite=True):
                ours.of(name).clear()
    failed, busy = [], []
    for number, job in enumerate(jobs, start=1):
        if logs.state(job.name) == FINISHED:
            continue
        say(f"{table.name}: run {number} of {len(jobs)}, {job.name}")
        code = _run_with_needs(table, job, ours, say)
        if code == CODES["interrupted"]:
            say("interrupted; the same command goes on with it")
            return "interrupted"
        if code == CODES["busy"]:
            busy.append(job.name)
        elif code:
            failed.append(job.name)
        else:
            with locked(ours.folder / "page.lock", patience=60):
                run = ours.read(job.name)
                if run is not None:
                    logs.copy(run)
                write_page(table, results)
    write_page(table, results)
    if failed:
        raise DeepNLPError(
            f"{len(failed)} of {len(jobs)} runs failed: {', '.join(failed)}; see their errors above"
        )
    if busy:
        say(f"another process runs {', '.join(busy)}")
    return "busy" if busy else "finished"


def _jobs_of(table: Table, only: Sequence[str]) -> list[Job]:
    """The runs that names of rows or runs stand for, all of them where there are no names."""
    for name in only:
        if not any(name in (job.name, job.row.name) for job in table.jobs):
            rows = ", ".join(row.name for row in table.rows)
            raise ValueError(f"table {table.name} has no row {name!r}: expected one of {rows}")
    return [job for job in table.jobs if not only or {job.name, job.row.name} & {*only}]


def _run_with_needs(table: Table, job: Job, logs: Logs, say: Say) -> int:
    """Run a job, before it those whose run folders it reads and that are not there; its code.

    It works in the folder of the table's runs, so that options can name other runs of the table.
    """
    for need in job.row.needs:
        if (logs.of(need).read_result() or {}).get("status") != FINISHED:
            code = _run_with_needs(table, table.job_of(need), logs, say)
            if code:
                return code
    task = {"config": dict(job.config), "out": job.name, "patience": PATIENCE}
    [code], errors, interrupted = run_workers(1, task, say, cwd=logs.folder)
    for error in errors:
        print(f"{ERROR}{error}", file=sys.stderr)
    # a run that was ending as it was interrupted took no notice; what follows it must not begin
    return CODES["interrupted"] if interrupted and code == 0 else code


def run_search(search: Search, folder: Path, workers: int = 1, say: Say = print) -> str:
    """Run the trials of a study that have not ended, in ``workers`` processes.

    Other processes, on this machine or another one that has the folder, may run trials of the same
    study at the same time. It ends when all trials have, whoever ran them.

    Parameters
    ----------
    search : Search
    folder : path
        Of the study; one that is there is gone on with.
    workers : int
    say : function
        Takes a line for each trial that has ended.

    Returns
    -------
    str
        ``"finished"`` or ``"interrupted"``.

    Raises
    ------
    DeepNLPError
        If the folder holds a study with other options, or something else; if a trial cannot be
        run; if all processes were killed.
    """
    require_optuna()
    begin_study(folder, search)
    study = SampledStudy(folder)
    if study.is_over():
        return "finished"
    share = {} if THREADS in os.environ else {THREADS: str(max(1, threads.number() // workers))}
    codes, errors, interrupted = run_workers(workers, {"study": str(folder)}, say, env=share)
    if errors:
        raise DeepNLPError(errors[0])
    if study.is_over():
        return "finished"
    if interrupted or {CODES["interrupted"], -signal.SIGINT} & {*codes}:
        return "interrupted"
    ended = f"{study.ended()} of {search.trials} trials have ended"
    raise DeepNLPError(f"all processes were killed, {ended}: the same command goes on")


def run_workers(
    count: int, job: Mapping[str, Any], say: Say, **options: Any
) -> tuple[list[int], list[str], bool]:
    """Run a job in so many processes at once, and wait for all; Ctrl-C is passed on to each.

    Gives their exit codes, their errors, and whether there was a Ctrl-C.
    """
    errors: list[str] = []
    interrupted, run = False, "trial" if "study" in job else "run"
    with contextlib.ExitStack() as stack:
        processes = [stack.enter_context(start(job, **options)) for _ in range(count)]
        relays = [threading.Thread(target=_relay, args=(p, say, errors, run)) for p in processes]
        for relay in relays:
            relay.start()
        while True:
            try:
                codes = [process.wait() for process in processes]
                break
            except KeyboardInterrupt:
                interrupted = True
                for process in processes:
                    _write(process, "stop")  # also what may follow the run at hand
                    process.send_signal(signal.SIGINT)
        for relay in relays:
            relay.join()
    return codes, errors, interrupted


def start(job: Mapping[str, Any], **options: Any) -> subprocess.Popen[str]:
    """Start a worker with a job; Ctrl-C does not reach it unless it is passed on."""
    source = str(Path(deepnlp.__file__).parents[1])
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        "DEEPNLP_DATA": str(data_folder().resolve()),
        "PYTHONPATH": os.pathsep.join(paths),
        **options.pop("env", {}),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "deepnlp.studies.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
        **options,
    )
    _write(process, json.dumps({"backend": backend.name(), **job}))
    return process


def _relay(process: subprocess.Popen[str], say: Say, errors: list[str], run: str) -> None:
    """Say what a process says; its error is kept, and that it was killed is said."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(ERROR):
            errors.append(line.removeprefix(ERROR).rstrip())
        else:
            say(line.rstrip())
    if process.wait() not in (*CODES.values(), FAILED, -signal.SIGINT):
        say(f"a process was killed; its {run} is taken up by another, or by the next call")


def _write(process: subprocess.Popen[str], line: str) -> None:
    """Write a line to the standard input of a process; one that has ended takes no notice."""
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        os.write(process.stdin.fileno(), f"{line}\n".encode())
