"""Running a study: each run in a process of its own, and several at once.

Any number of commands, on this machine or others that have the folder, may run the same study.
Whoever trains a run holds its lock, which the system frees when the process ends, in whatever way.
So a run that has not ended and whose lock is free can be begun, or gone on with.
"""

import asyncio
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import deepnlp
from deepnlp import backend
from deepnlp.backend import threads
from deepnlp.datasets.files import data_folder
from deepnlp.errors import DeepNLPError
from deepnlp.files.writing import locked
from deepnlp.training import TrainConfig
from deepnlp.training.result import FINISHED, figure_text
from studies.logs import Logs
from studies.sampling import draw_values, require_optuna
from studies.search import LOCK, Search, begin_study
from studies.table import Table
from studies.training import CODES, FAILED

POLL = 0.2  # seconds between two looks at the runs of other commands
THREADS = "DEEPNLP_NUM_THREADS"
WORKER = [sys.executable, "-m", "studies.training"]

Say = Callable[[str], None]


@dataclass
class Runner:
    """Runs what has not ended of a study; errors go to standard error.

    ``names`` are the runs in the order in which they are begun once those that they need have
    ended. ``options_of`` gives the options of a new run, ``say`` takes a line that a worker prints,
    and ``ended`` the name of a run that has ended. The workers work in ``cwd``.
    """

    runs: Logs
    names: Sequence[str]
    options_of: Callable[[str], TrainConfig]
    say: Say
    ended: Callable[[str], None]
    cwd: Path | None = None
    begun: set[str] = field(default_factory=set)  # by this command
    failed: list[str] = field(default_factory=list)
    processes: set[Any] = field(default_factory=set)
    stopping: bool = False

    def run(self, workers: int = 1) -> str:
        """Run all, ``workers`` at once: ``"finished"``, or ``"interrupted"`` by Ctrl-C."""
        asyncio.run(self._run(workers))
        if self.stopping:
            self.say("interrupted; the same command goes on")
            return "interrupted"
        if self.failed:
            raise DeepNLPError(
                f"{len(self.failed)} of {len(self.names)} runs failed: {', '.join(self.failed)}; "
                "see their errors above"
            )
        return FINISHED

    async def _run(self, workers: int) -> None:
        if os.name != "nt" and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._stop)
        share = str(max(1, threads.number() // workers))
        await asyncio.gather(*(self._work({THREADS: share, **os.environ}) for _ in range(workers)))

    def _stop(self) -> None:
        """Begin no other run, and interrupt those at hand."""
        self.stopping = True
        for process in self.processes:
            process.stdin.write(b"stop\n")

    async def _work(self, environment: Mapping[str, str]) -> None:
        """Train one run after the other, until none is left; those of other commands may be."""
        while not self.stopping and (left := [*filter(self._is_left, self.names)]):
            name = next(filter(self._can_begin, left), None)
            if name is None:
                await asyncio.sleep(POLL)
                continue
            self.begun.add(name)
            run, study = self.runs.of(name), self.runs.study
            number = f"{study.words['run']} {self.names.index(name) + 1} of {len(self.names)}"
            self.say(f"{study.name}: {number}, {name}")
            with locked(self.runs.folder / LOCK, math.inf):
                if not run.config.exists():
                    run.path.mkdir(exist_ok=True)
                    run.write_config(self.options_of(name).to_toml())
            code = await run_worker(self, str(run.path.resolve()), environment)
            self.begun.remove(name)
            if code == CODES["finished"]:
                self.ended(name)
            elif code == CODES["interrupted"]:
                self._stop()
            elif code != CODES["busy"]:
                self.failed.append(name)

    def _is_left(self, name: str) -> bool:
        """Return whether a run has not ended, and it and those that it needs may still end."""
        study, has_ended = self.runs.study, self.runs.has_ended
        is_out = name in self.failed or (self.failed and study.stops_at_failure)
        needs = (has_ended(need) or self._is_left(need) for need in study.needs(name))
        return not (is_out or has_ended(name)) and all(needs)

    def _can_begin(self, name: str) -> bool:
        """Return whether nobody trains a run that is left, and those that it needs have ended."""
        if name in self.begun or not all(map(self.runs.has_ended, self.runs.study.needs(name))):
            return False
        with locked(self.runs.folder / f"{name}.lock", patience=0) as free:
            return free


async def run_worker(runner: Runner, folder: str, environment: Mapping[str, str]) -> int:
    """Train a run in a process of its own, which ends when this one does; gives its exit code.

    Ctrl-C does not reach it: it is told to stop.
    """
    source, data = str(Path(deepnlp.__file__).parents[1]), str(data_folder().resolve())
    paths = os.pathsep.join([source, *filter(None, [environment.get("PYTHONPATH")])])
    process: Any = await asyncio.create_subprocess_exec(
        *WORKER,
        backend.name(),
        folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**environment, "DEEPNLP_DATA": data, "PYTHONPATH": paths},
        start_new_session=True,
        cwd=runner.cwd,
    )
    runner.processes.add(process)
    if runner.stopping:  # meanwhile
        process.stdin.write(b"stop\n")
    async for line in process.stdout:
        runner.say(line.decode().rstrip())
    runner.processes.remove(process)
    code = await process.wait()
    if code not in (*CODES.values(), FAILED):
        print(f"deepnlp: error: {folder}: its process was killed", file=sys.stderr)
    return code


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
        ``"finished"``, if all of the runs that were asked for have, or ``"interrupted"``.

    Raises
    ------
    DeepNLPError
        If a run was made with other options than the table states and ``rerun`` is not set, before
        anything is run; or, after all others have run, if a run has failed.
    ValueError
        If ``only`` names what the table does not have.
    """
    from studies.figure import write_page  # matplotlib takes a second to import

    asked = table.names_of(only)
    logs, ours = Logs(table, results / table.folder), Logs(table, runs / table.name)
    ours.folder.mkdir(parents=True, exist_ok=True)
    anew = [name for name in asked if rerun and (logs.changes(name) or ours.changes(name))]
    for name in table.run_names:
        if name not in anew:
            logs.refuse_changes(name)
            ours.refuse_changes(name)
    for name in anew:
        logs.of(name).clear()
        with ours.of(name).held(overwrite=True):
            ours.of(name).clear()

    names = [name for name in asked if logs.state(name) != FINISHED]
    for name in names:  # to which more are added meanwhile
        names += [need for need in table.needs(name) if need not in names]

    def collect(_: str = "") -> None:
        with locked(ours.folder / "page.lock", patience=60):
            for name in asked:
                run = ours.read(name) if logs.state(name) != FINISHED else None
                if run is not None:
                    logs.copy(run)
            write_page(table, results)

    # in the folder of the table's runs, so that options can name other runs of the table
    runner = Runner(ours, names, lambda name: table.job_of(name).config, say, collect, ours.folder)
    try:
        return runner.run()
    finally:
        collect()


def run_search(search: Search, folder: Path, workers: int = 1, say: Say = print) -> str:
    """Run the trials of a search that have not ended, ``workers`` at once.

    It ends when all trials have, whoever ran them.

    Parameters
    ----------
    search : Search
    folder : path
        Of the run folders of its trials; one that is there is gone on with.
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
        If the folder holds a search with other options, or something else; if a trial has failed.
    """
    require_optuna()
    begin_study(folder, search)
    runs = Logs(search, folder)

    def options_of(name: str) -> TrainConfig:
        tried = [search.values(run.config) for run in runs.all_begun()]
        number = search.run_names.index(name)
        return search.options(draw_values(search, number, runs.read_all(), tried))

    def report(name: str) -> None:
        ended = runs.read_all()
        [trial], best = (run for run in ended if run.name == name), search.best_of(ended)
        known = best and f"; best: {figure_text(best.best)}, trial {search.number(best)}"
        say(
            f"trial {search.number(trial)}: {trial.status}, {len(trial.curve)} epochs, "
            f"{search.metric} {figure_text(trial.best)} ({search.describe(trial)}){known or ''}; "
            f"{len(ended)} of {search.trials} have ended"
        )

    return Runner(runs, search.run_names, options_of, say, report).run(workers)
