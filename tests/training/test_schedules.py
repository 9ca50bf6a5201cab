import math
from collections.abc import Callable

import pytest

from deepnlp.training import Constant, Cosine, Exponential, Linear, Plateau, Schedule, Step

MAKERS: dict[str, Callable[[], Schedule]] = {
    "constant": lambda: Constant(warmup_steps=3),
    "plateau": lambda: Plateau(factor=0.5, patience=1, threshold=0.01),
    "step": lambda: Step(every=2, factor=0.3, hold=3),
    "exponential": lambda: Exponential(steps=30, factor=0.9, warmup_steps=3),
    "linear": lambda: Linear(total_steps=40, floor=0.1, warmup_steps=5),
    "cosine": lambda: Cosine(total_steps=40, floor=0.1, warmup_steps=5),
}


def scales(schedule: Schedule, valids: list[float]) -> list[float]:
    """The scale in each epoch: before the first validation, after it, ..."""
    found = [schedule.scale(100)]
    for valid in valids:
        schedule.epoch_end(valid)
        found.append(schedule.scale(100))
    return found


def test_plateau_cuts_after_each_epoch_without_a_better_validation() -> None:
    found = scales(Plateau(factor=0.25), [100, 90, 95, 89, 89])
    assert found == [1, 1, 1, 0.25, 0.25, 0.0625]


def test_plateau_compares_with_the_best_and_not_with_the_last() -> None:
    assert scales(Plateau(factor=0.5), [80, 100, 90]) == [1, 1, 0.5, 0.25]


def test_plateau_with_patience_threshold_and_floor() -> None:
    assert scales(Plateau(factor=0.5, patience=1), [9, 9, 9, 9, 9]) == [1, 1, 1, 0.5, 0.5, 0.25]
    assert scales(Plateau(factor=0.5, threshold=0.1), [100, 95, 80]) == [1, 1, 0.5, 0.5]
    assert scales(Plateau(factor=0.1, floor=0.05), [9, 9, 9]) == [1, 1, 0.1, 0.05]


def test_plateau_takes_nan_for_no_better() -> None:
    assert scales(Plateau(factor=0.5), [9, math.nan, 8]) == [1, 1, 0.5, 0.5]


def test_plateau_of_a_figure_of_which_higher_is_better() -> None:
    """The trainer gives it negated."""
    assert scales(Plateau(factor=0.5, threshold=0.1), [-50, -54, -60]) == [1, 1, 0.5, 0.5]


def test_exponential_falls_steadily_whatever_the_length_of_the_run() -> None:
    schedule = Exponential(steps=10, factor=0.25, warmup_steps=2)
    found = [schedule.scale(step) for step in (0, 2, 7, 12, 22)]
    assert found == pytest.approx([0.5, 1, 0.5, 0.25, 0.0625])
    with pytest.raises(ValueError, match="steps should be"):
        Exponential(steps=0)


def test_step_counts_epochs() -> None:
    assert scales(Step(every=2, factor=0.1), [1, 1, 1, 1]) == pytest.approx([1, 1, 0.1, 0.1, 0.01])


def test_step_may_hold_the_first_rate_for_longer() -> None:
    """As in Zaremba et al. 2014: four epochs at the first rate, then a cut after each."""
    assert scales(Step(factor=0.5, hold=4), [1] * 6) == [1, 1, 1, 1, 0.5, 0.25, 0.125]
    assert scales(Step(every=2, factor=0.5, hold=1), [1] * 4) == [1, 0.5, 0.5, 0.25, 0.25]
    assert scales(Step(every=3, factor=0.5, hold=3), [1] * 6) == scales(Step(3, 0.5), [1] * 6)


@pytest.mark.parametrize("kind", [Linear, Cosine])
def test_decay_begins_after_the_warm_up_and_ends_at_the_floor(kind: type[Linear]) -> None:
    schedule = kind(total_steps=30, floor=0.2, warmup_steps=10)
    assert [schedule.scale(step) for step in (0, 4, 9)] == pytest.approx([0.1, 0.5, 1.0])
    assert schedule.scale(10) == 1.0
    assert schedule.scale(20) == pytest.approx(0.6)
    assert schedule.scale(30) == schedule.scale(500) == pytest.approx(0.2)
    decay = [schedule.scale(step) for step in range(10, 31)]
    assert decay == sorted(decay, reverse=True)


@pytest.mark.parametrize("name", MAKERS)
def test_state_carries_a_schedule_on(name: str) -> None:
    one = MAKERS[name]()
    for valid in (100.0, 90.0, 91.0, 92.0):
        one.epoch_end(valid)
    other = MAKERS[name]()
    other.load_state(one.state())
    for step, valid in enumerate((95.0, 80.0, 81.0, 82.0)):
        assert other.scale(step + 4) == one.scale(step + 4)
        one.epoch_end(valid)
        other.epoch_end(valid)
    assert other.state() == one.state()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Plateau(factor=0.0), "factor should be a number, above 0 and at most 1, got 0.0"),
        (lambda: Plateau(patience=-1), "patience should be a whole number, 0 or more"),
        (lambda: Step(every=0), "every should be a whole number, 1 or more, got 0"),
        (lambda: Step(hold=0), "hold should be a whole number, 1 or more, got 0"),
        (lambda: Linear(total_steps=5, warmup_steps=5), "more than the 5 steps of warm-up"),
        (
            lambda: Cosine(total_steps=5, floor=2.0),
            "floor should be a number, 0 or more and",
        ),
        (
            lambda: Constant(warmup_steps=-1),
            "warmup_steps should be a whole number, 0",
        ),
    ],
)
def test_wrong_numbers_are_refused(make: Callable[[], Schedule], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
