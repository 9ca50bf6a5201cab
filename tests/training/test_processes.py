"""1, 2 and 4 processes give the same bits, and a job from which one is killed can be resumed."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from deepnlp.backend.processes import ALONE, Group, share_out, sharing
from deepnlp.files.archives import read_npz
from deepnlp.models import RNNLM
from deepnlp.parameter import Parameter
from deepnlp.training import Trainer
from deepnlp.training.slices import Slices, _added, _table
from tests.training import many
from tests.training.tools import end_of, tiny_corpus, tiny_trainer

pytest.importorskip("mpi4py")
MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
KILLS = int(os.environ.get("DEEPNLP_KILLS", "1"))  # 20 for the long form
needs_mpiexec = pytest.mark.skipif(MPIEXEC is None, reason="needs mpiexec, which mpich brings")


def job(size: int, *words: Any, module: str = "tests.training.many", **options: Any) -> Any:
    """Processes that run a module."""
    command = [MPIEXEC, "-n", str(size), sys.executable, "-P", "-m", module, *map(str, words)]
    root = str(Path(__file__).parents[2])
    environ = {**os.environ, "PYTHONPATH": root, "DEEPNLP_NUM_THREADS": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, env=environ, **pipes, **options)


def output(process: Any) -> str:
    text, _ = process.communicate(timeout=300)
    assert process.returncode == 0, text
    return text


@needs_mpiexec
def test_any_number_of_processes_gives_the_same_weights():
    alone = [many.weights_after(make(accumulate=4)) for make in many.TRAINERS]
    for size in (2, 4):
        assert output(job(size, "weights")).split() == alone, size


def test_slices_change_a_run_by_rounding_alone():
    norms = []
    for accumulate in (1, 4):
        corpus, sizes = tiny_corpus(), {"batch_size": 5, "time_size": 3}
        rng = np.random.default_rng(1)
        model = RNNLM(len(corpus.vocab), 4, 4, dropout=0, dtype="float64", rng=rng)
        options = {"out": False, "progress": False, "accumulate": accumulate}
        trainer = Trainer(model, corpus, **sizes, **options)
        norms.append([trainer.train_step(*trainer.batches[k]) for k in range(8)])
    np.testing.assert_allclose(*norms, rtol=1e-9)


def test_a_slice_draws_masks_of_its_own():
    trainer = many.language_model(accumulate=4)
    trainer.train_step(*trainer.batches[0])
    calls = {v for n, v in trainer.slices.snapshot().items() if n.endswith("0.noise.calls")}
    calls |= {v for n, v in trainer.slices.snapshot().items() if n.endswith("layers.1.calls")}
    assert calls == {1 + (k << 40) for k in range(4)}


def test_slices_are_resumed(tmp_path):
    many.run_in(tmp_path / "whole", accumulate=2).fit()
    many.run_in(tmp_path / "parts", accumulate=2, epochs=1).fit()
    many.run_in(tmp_path / "parts", accumulate=2).fit(resume=True)
    assert end_of(tmp_path / "whole") == end_of(tmp_path / "parts")
    with pytest.raises(ValueError, match="another accumulate: the run began with 2"):
        many.run_in(tmp_path / "parts", accumulate=3, epochs=4).fit(resume=True)


@needs_mpiexec
@pytest.mark.slow
def test_a_killed_process_ends_the_job_and_it_is_resumed(tmp_path):
    many.run_in(tmp_path / "whole", accumulate=4).fit()
    rng, folder, kills = (
        random.Random(os.environ.get("DEEPNLP_KILL_SEED", "1")),
        tmp_path / "run",
        0,
    )
    while kills < KILLS:
        shutil.rmtree(folder, ignore_errors=True)
        finished = False
        while not finished:
            size, left = rng.choice([1, 2, 4]), KILLS - kills
            with job(size, "run", folder, 0.03) as process:
                pids = re.findall(r"PID (\d+)", process.stdout.readline())
                assert len(pids) == size
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=rng.uniform(0.1, 3) if left else 300)
                if process.poll() is None:
                    kill(process, rng.randrange(size), pids, folder)
                    kills += 1
                else:
                    finished = True
                    assert process.returncode == 0, process.stdout.read()
            if (folder / "checkpoint.npz").exists():
                read_npz(folder / "checkpoint.npz")  # whole, by its digest
        assert end_of(folder) == end_of(tmp_path / "whole")


def kill(process: Any, victim: int, pids: list[str], folder: Path) -> None:
    """Kill one of the processes: all end, at once, and the message names it."""
    os.kill(int(pids[victim]), signal.SIGKILL)
    begin = time.monotonic()
    said, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    if len(pids) > 1 and not (folder / "result.json").exists():  # it was not about to end anyway
        assert f"deepnlp: process {victim} of {len(pids)} (PID {pids[victim]} on" in said
    assert time.monotonic() - begin < 20  # of a busy machine
    assert not any(Path("/proc", pid).exists() for pid in pids)


@needs_mpiexec
def test_a_process_that_fails_is_named(tmp_path):
    process = job(2, "fail", tmp_path / "run", 0)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 2
    failed = r"deepnlp: process 1 of 2 \(PID \d+ on \S+\) failed and ends the job: RuntimeError: a"
    assert re.search(failed, said)
    read_npz(tmp_path / "run" / "checkpoint.npz")


@needs_mpiexec
def test_the_command_speaks_with_one_voice(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat .\nthe dog sat too .\n" * 40, encoding="utf-8")
    sizes = [
        "--embed-size",
        "4",
        "--hidden-size",
        "4",
        "--epochs",
        "1",
        "--batch-size",
        "8",
        "--time-size",
        "5",
    ]
    words = ["train", "--corpus", text, *sizes, "--distributed", "--out", tmp_path / "run"]
    run = partial(job, module="deepnlp")
    said = output(run(2, *words))
    assert said.count("test perplexity") <= 1
    assert said.count("2 processes: 0 is PID") == 1
    assert "accumulate = 4" in (tmp_path / "run" / "config.toml").read_text(encoding="utf-8")
    again = run(2, *words)
    said, _ = again.communicate(timeout=120)
    assert again.returncode == 2
    assert said.count("already holds a run") == 1


@pytest.mark.parametrize(("size", "accumulate"), [(4, 6), (8, 4)])
def test_the_processes_divide_the_slices(size, accumulate):
    trainer = tiny_trainer()
    group: Any = SimpleNamespace(rank=0, size=size)
    with pytest.raises(ValueError, match=f"divide the {accumulate} slices .*got {size}"):
        Slices(trainer.model, trainer.task, accumulate, group)


def test_rows_and_tables_have_one_sum():
    rng = np.random.default_rng(0)
    p = Parameter.zeros(9, 2)
    parts = []
    for ids in ([1, 4], [4, 8], [0], []):
        rows = rng.normal(size=(len(ids), 2)).astype("float32")
        rows[:1, 0] = -0.0
        parts.append((np.array(ids, dtype="int64"), rows) if ids else None)
    tables = [_table(p, part).copy() for part in parts]
    a, b, c, d = parts
    rows = _added(_added(a, b), _added(c, d))
    assert [*map(int, rows[0])] == [0, 1, 4, 8]
    whole = _added(_added(tables[0], tables[1]), _added(tables[2], tables[3]))
    np.testing.assert_array_equal(_table(p, rows), whole)
    mixed = _added(_added(tables[0].copy() * 0 - 0.0, b), _added(c, d))
    assert mixed.shape == (9, 2)


def test_work_is_shared_out_in_order():
    class Three(Group):
        def __init__(self) -> None:
            self.rank, self.size = 1, 3

        def gathered(self, value: Any) -> list[Any]:
            return [[0, 3], value, [2]]

    asked = []
    with sharing(Three(), 1):
        assert share_out(lambda k: asked.append(k) or k, range(5)) == [0, 1, 2, 3, 4]
    assert asked == [1, 4]
    with sharing(ALONE, 1):
        assert share_out(str, [1, 2]) == ["1", "2"]
