"""Running a search with several processes at once."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import PIPE, Popen

from deepnlp import backend
from deepnlp.backend import threads
from deepnlp.errors import DeepNLPError
from deepnlp.reproduce.processes import FAILED, INTERRUPTED, interrupt, start
from deepnlp.search.declaration import Search
from deepnlp.search.journal import require_optuna
from deepnlp.search.study import Study, begin_study
from deepnlp.search.worker import ERROR

Say = Callable[[str], None]
THREADS = "DEEPNLP_NUM_THREADS"


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
    study = Study(folder)
    if study.is_over():
        return "finished"
    job = {"folder": str(folder), "backend": backend.name()}
    share = {} if THREADS in os.environ else {THREADS: str(max(1, threads.number() // workers))}
    errors: list[str] = []
    with contextlib.ExitStack() as stack:
        processes = [
            stack.enter_context(start("deepnlp.search.worker", job, env=share, stdout=PIPE))
            for _ in range(workers)
        ]
        readers = [threading.Thread(target=_pass_on, args=(p, say, errors)) for p in processes]
        for reader in readers:
            reader.start()
        codes, interrupted = _wait(processes)
        for reader in readers:
            reader.join()
    if errors:
        raise DeepNLPError(errors[0])
    if interrupted or {INTERRUPTED, -signal.SIGINT} & {*codes}:
        return "finished" if study.is_over() else "interrupted"
    if not study.is_over():
        ended = f"{study.ended()} of {search.trials} trials have ended"
        raise DeepNLPError(f"all processes were killed, {ended}: the same command goes on")
    return "finished"


def _wait(processes: Sequence[Popen[str]]) -> tuple[list[int], bool]:
    """The exit codes of all; an interruption from the keyboard is passed on to each."""
    interrupted = False
    while True:
        try:
            return [process.wait() for process in processes], interrupted
        except KeyboardInterrupt:
            interrupted = True
            for process in processes:
                interrupt(process)


def _pass_on(process: Popen[str], say: Say, errors: list[str]) -> None:
    """Say what a process says; its error is kept, and that it was killed is said."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(ERROR):
            errors.append(line.removeprefix(ERROR).rstrip())
        else:
            say(line.rstrip())
    if process.wait() not in (0, FAILED, INTERRUPTED, -signal.SIGINT):
        say("a process was killed; its trial is taken up by another, or by the next call")
