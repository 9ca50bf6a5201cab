"""The race: who starts when, what is told and answered, and what a failure says."""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import deepnlp.layers
from benchmarks import harness
from benchmarks.contestants.layers import CASES
from benchmarks.contestants.memory_growth import WORKS
from benchmarks.contestants.precision import to_tf32
from benchmarks.contestants.techniques import families
from benchmarks.harness import Entry, race, start, starting_order
from benchmarks.memory import Growth, host_peak_mb
from benchmarks.records import Goal, Ratio, Record, ratio
from benchmarks.settings import Settings, Spec
from benchmarks.suites import SUITES, gpt, scaling
from benchmarks.suites.profile import costs
from benchmarks.timing import interleaved_ms
from deepnlp import kernels
from deepnlp.errors import DeepNLPError

QUICK = Settings(rounds=1, sizes=(4,), quick=True, torch=False)
SMALL = {"V": 9, "N": 2, "T": 3, "H": 4}


def quiet(line):
    pass


def test_all_are_started_in_every_round_each_first_in_turn():
    entries = [Entry(name, "", {"H": H}) for H in (1, 2) for name in "abc"]
    orders = [list(starting_order(entries, number)) for number in range(3)]
    assert all(sorted(order) == list(range(6)) for order in orders)
    assert [entries[order[0]].contestant for order in orders] == ["a", "b", "c"]
    assert [entries[order[3]].at["H"] for order in orders] == [2, 2, 2]


def test_rounds_are_gathered_in_the_order_of_the_entries(monkeypatch):
    seconds = iter(range(100))
    monkeypatch.setattr(harness, "start", lambda entry, _: {"step": {"ms": next(seconds)}})
    told = []
    settings = Settings(rounds=2)
    records = race([Entry("a", ""), Entry("b", "")], settings, told.append)
    assert [record.rounds["ms"] for record in records] == [[0, 3], [1, 2]]
    assert told == ["round 1/2  a", "round 1/2  b", "round 2/2  b", "round 2/2  a"]


def test_a_contestant_has_a_process_and_threads_of_its_own(monkeypatch):
    def spy(command, **options):
        spy.seen = options["env"], json.loads(options["input"])
        return subprocess.CompletedProcess(command, 0, '{"step": {}}', "")

    monkeypatch.setattr(subprocess, "run", spy)
    entry = Entry("a", "work", {"H": 4}, {"length": 7}, steps=33)
    start(entry, Settings(threads=3, backend="cupy", tf32=True))
    environment, spec = spy.seen
    assert {environment[name] for name in harness.THREADS} == {"3"}
    assert environment["DEEPNLP_TF32"] == "1"
    assert (spec["threads"], spec["backend"], spec["steps"]) == (3, "cupy", 33)
    assert spec["options"] == {"V": 10_000, "N": 20, "T": 35, "H": 4, "length": 7}


def test_a_contestant_that_fails_is_named_with_its_last_line():
    with pytest.raises(DeepNLPError, match=r"the contestant a \(language_model\) failed: KeyError"):
        race([Entry("a", "language_model", {"X": 4})], QUICK, quiet)


def test_works_are_timed_in_turn_and_warmed_up():
    calls = []
    works = {name: lambda name=name: calls.append(name) for name in "ab"}
    times = interleaved_ms(works, Spec("", warmup=2, steps=3, seconds=0))
    assert calls == list("ab" * 5)
    assert set(times) == set("ab")


def test_times_are_in_milliseconds():
    times = interleaved_ms({"nap": lambda: time.sleep(0.01)}, Spec("", steps=3, seconds=0))
    assert 10 <= times["nap"] < 1000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_of_a_child_is_not_that_of_its_parent():
    code = "from benchmarks.memory import host_peak_mb; print(host_peak_mb())"
    block = b"x" * (200 << 20)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert float(done.stdout) < len(block) / 2**20 < host_peak_mb()


def test_growth_counts_from_where_it_began():
    held = iter([100.0, 140.0])
    assert Growth(lambda: next(held)).mb() == 40


def test_a_ratio_is_of_medians_with_the_spread_of_the_rounds():
    slow = Record("PyTorch", "step", {}, {"ms": [20.0, 30.0, 24.0]})
    quick = Record("deepnlp", "step", {}, {"ms": [10.0, 20.0, 24.0]})
    assert ratio(slow, quick, "ms") == Ratio(24 / 20, 1.0, 2.0)


@pytest.mark.parametrize(
    ("sense", "reached", "met", "verdict"),
    [
        ("at least", 1.25, True, "at least 1.25: met"),
        ("at least", 1.0, False, "at least 1.25: missed by 20 %"),
        ("at most", 1.25, True, "at most 1.25: met"),
        ("at most", 1.26, False, "at most 1.25: missed by 0.8 %"),
    ],
)
def test_goals(sense, reached, met, verdict):
    goal = Goal("it", sense, 1.25, Ratio(reached, reached, reached))
    assert (goal.met, goal.verdict()) == (met, verdict)


def test_a_goal_is_met_in_every_round_or_not():
    at_least = Goal("it", "at least", 1.25, Ratio(1.4, 1.2, 1.5))
    at_most = Goal("it", "at most", 1.25, Ratio(1.0, 0.9, 1.3))
    for goal in (at_least, at_most):
        assert not goal.met
        assert goal.verdict().endswith("met by the median, but not in every round")


def test_every_layer_over_time_is_timed():
    over_time = {name for name in deepnlp.layers.__all__ if name.startswith("Time")}
    timed = {name.split(",")[0] for name in CASES}
    assert over_time | {"Embedding", "SoftmaxWithLoss", "LSTM"} <= timed


def test_every_kernel_is_in_one_family_and_in_all():
    found = families()
    every = found.pop("all")
    assert sorted(name for names in found.values() for name in names) == sorted(every)
    assert {"lstm_steps", "softmax_nll", "update_all"} <= set(every) <= set(kernels.NAMES)
    assert "dropout" not in every  # its plain form is the only one on NumPy


def test_every_text_that_should_not_grow_memory_has_its_work():
    assert set(WORKS) == set(scaling.TEXTS) == set(scaling.QUICK_TEXTS)


def test_operations_of_the_lstm_are_those_of_its_products():
    V, N, T, H = SMALL.values()
    products = [(N * T, H, 4 * H)] * 3  # of the input: forward, dWx, dx
    products += [(N, H, 4 * H)] * 2 * T + [(H, N * T, 4 * H)]  # of the state: forward, dh, dWh
    flops = sum(2 * n * k * m for n, k, m in products)
    assert costs(V, N, T, H)["LSTM"].flops == 2 * flops


@pytest.mark.parametrize("suite", SUITES)
def test_every_contestant_has_a_file(suite):
    folder = Path(harness.__file__).parent / "contestants"
    for settings in (Settings(), QUICK):
        for entry in SUITES[suite].entries(settings):
            assert (folder / f"{entry.work}.py").exists()


def test_rounding_to_tf32_is_what_half_an_eleventh_bit_is():
    x = np.random.default_rng(0).normal(size=10_000).astype(np.float32)
    rounded = to_tf32(x)
    mantissa = np.frexp(rounded)[0].astype(np.float64) * 2**11  # 1 + 10 bits are an integer of 11
    np.testing.assert_array_equal(mantissa, np.round(mantissa))
    error = np.abs(rounded.astype(np.float64) / x - 1)
    assert 2**-12 < error.max() <= 2**-11
    np.testing.assert_array_equal(to_tf32(rounded), rounded)


def test_keeping_keys_and_values_is_compared_round_by_round():
    times = {"kept_ms": [2.0, 1.0, 4.0], "anew_ms": [6.0, 4.0, 6.0], "train_ms": [5.0, 5.0, 5.0]}
    assert str(gpt.by_keeping(Record("deepnlp", "step", {}, times))) == "3.00 (1.50 to 4.00)"
