"""Running the rows of a table, one after the other, each in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from deepnlp import backend
from deepnlp.errors import DeepNLPError
from deepnlp.files.writing import locked
from deepnlp.reproduce.logs import ENDED, Logs, LogState, changed_message, changed_options
from deepnlp.reproduce.page import write_page
from deepnlp.reproduce.processes import BUSY, INTERRUPTED, interrupt, start
from deepnlp.reproduce.table import Job, Table
from deepnlp.training import RunFolder

PATIENCE = 30.0  # seconds to wait for an earlier process of the same run to end

Say = Callable[[str], None]


def reproduce(
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
    jobs = chosen(table, only)
    logs = Logs(table, results)
    folder = runs / table.name
    folder.mkdir(parents=True, exist_ok=True)
    changed = [job for job in table.jobs() if _refuse_changes(job, folder, logs, rerun, jobs)]
    for job in changed:
        logs.remove(job)
        run = RunFolder(folder / job.name)
        if run.path.is_dir():
            with run.held(overwrite=True):
                run.clear()
    failed, busy = [], []
    for number, job in enumerate(jobs, start=1):
        if logs.state(job) is LogState.FINISHED:
            continue
        say(f"{table.name}: run {number} of {len(jobs)}, {job.name}")
        code = _run_with_needs(job, folder, logs)
        if code == INTERRUPTED:
            say("interrupted; the same command goes on with it")
            return "interrupted"
        if code == BUSY:
            busy.append(job.name)
        elif code:
            failed.append(job.name)
        else:
            with locked(folder / "page.lock", patience=60):
                logs.take(job, RunFolder(folder / job.name))
                write_page(table, results)
    write_page(table, results)
    if failed:
        raise DeepNLPError(
            f"{len(failed)} of {len(jobs)} runs failed: {', '.join(failed)}; see their errors above"
        )
    if busy:
        say(f"another process runs {', '.join(busy)}")
    return "busy" if busy else "finished"


def chosen(table: Table, only: Sequence[str]) -> list[Job]:
    """The runs that names of rows or runs stand for, all of them where there are no names."""
    jobs = table.jobs()
    for name in only:
        if not any(name in (job.name, job.row.name) for job in jobs):
            rows = ", ".join(row.name for row in table.rows)
            raise ValueError(f"table {table.name} has no row {name!r}: expected one of {rows}")
    return [job for job in jobs if not only or {job.name, job.row.name} & {*only}]


def take(table: Table, source: Path, results: Path) -> list[str]:
    """Take in the logs of finished runs from a folder of another machine; gives their names.

    ``source`` holds folders ROW-SEED, or a folder of the table's name with them. Folders of runs
    that have not finished are left out.
    """
    if (source / table.name).is_dir():
        source = source / table.name
    logs, taken = Logs(table, results), []
    for job in table.jobs():
        run = RunFolder(source / job.name)
        if (run.read_result() or {}).get("status") in ENDED:
            logs.take(job, run)
            taken.append(job.name)
    if not taken:
        names = ", ".join(job.name for job in table.jobs())
        raise FileNotFoundError(
            f"{source} holds no finished run of table {table.name}: expected one of {names}"
        )
    write_page(table, results)
    return taken


def _refuse_changes(job: Job, folder: Path, logs: Logs, rerun: bool, jobs: Sequence[Job]) -> bool:
    """Whether a run is to be replaced; an error if it should be and that is not asked for."""
    path, run = logs.of(job).path, RunFolder(folder / job.name)
    changes = logs.changes(job) if logs.of(job).result.exists() else []
    if not changes and run.config.exists():
        path, changes = run.path, changed_options(run, job)
    if changes and not (rerun and job in jobs):
        raise DeepNLPError(changed_message(path, changes))
    return bool(changes)


def _run_with_needs(job: Job, folder: Path, logs: Logs) -> int:
    """Run a job, before it those whose run folders it reads and that are not there."""
    for need in logs.table.needed_by(job):
        if (RunFolder(folder / need.name).read_result() or {}).get("status") != "finished":
            code = _run_with_needs(need, folder, logs)
            if code:
                return code
    return _run(job, folder)


def _run(job: Job, folder: Path) -> int:
    """Train in a process of its own, so that time and memory are those of this run; its code.

    It works in the folder of the table's runs, so that options can name other runs of the table.
    An interruption is passed on to it, and it ends when this process does.
    """
    task = {
        "config": dict(job.config),
        "out": job.name,
        "backend": backend.name(),
        "patience": PATIENCE,
    }
    with start("deepnlp.reproduce.worker", task, cwd=folder) as process:
        interrupted = False
        while True:
            try:
                code = process.wait()
            except KeyboardInterrupt:
                interrupted = True
                interrupt(process)
            else:  # a run that was ending took no notice; what follows it must not begin
                return INTERRUPTED if interrupted and code == 0 else code
