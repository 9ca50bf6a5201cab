"""Options are read from the signature that declares them."""

from typing import Annotated, Any

import pytest

from deepnlp.options import Choice, Option, check_options, fill, options_of, values_of

Rate = Annotated[float, Option("learning rate", above=0)]


class Slow:
    def __init__(self, size: int, rate: Rate = 0.5, decay: Annotated[bool, Option("fall")] = True):
        self.size, self.rate, self.decay = size, rate, decay


class Quick:
    def __init__(
        self,
        rate: Rate,
        limit: Annotated[int | None, Option("at most", low=1, name="quick_limit")] = None,
    ) -> None:
        self.rate, self.limit = rate, limit


def test_a_signature_says_kind_default_and_name() -> None:
    assert [*options_of(Slow)] == ["rate", "decay"]  # size is no option
    rate, limit = options_of(Quick)["rate"], options_of(Quick)["quick_limit"]
    assert (rate.kind, rate.default, rate.optional, rate.argument) == (float, None, False, "rate")
    assert (limit.kind, limit.default, limit.optional, limit.argument) == (int, None, True, "limit")
    assert options_of(Slow)["rate"].default == 0.5


def test_an_option_may_stand_in_a_function() -> None:
    def f(
        name: Annotated[str | None, Option("its name")] = None, kind: Annotated[Any, Option("")] = 3
    ):
        return name, kind

    assert options_of(f)["kind"].kind is int
    assert fill(f, {"name": None, "kind": 4}) == (None, 4)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rate": 0}, "rate should be a number, above 0, got 0"),
        ({"rate": True}, "rate should be a number, above 0, got True"),
        ({"rate": None}, "rate should be a number, above 0, got None"),
        ({"limit": 0}, "limit should be a whole number, 1 or more, got 0"),
        ({"limit": 1.0}, "limit should be a whole number, 1 or more, got 1.0"),
    ],
)
def test_arguments_are_checked_under_their_own_names(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_options(Quick, given)


def test_an_option_may_take_several_values() -> None:
    def f(size: Annotated[int | list[int], Option("size", low=1)] = 3):
        return size

    option = options_of(f)["size"]
    assert (option.kind, option.several, option.default) == (int, True, 3)
    assert option.check(4) == 4
    assert option.check([4, 5]) == option.check((4, 5)) == [4, 5]
    assert not options_of(Slow)["rate"].several
    for wrong in (0, [4, 0], [], ["4"], "4,5"):
        with pytest.raises(ValueError, match="size should be a whole number, 1 or more"):
            option.check(wrong)


def test_a_call_is_filled_with_what_it_declares_and_read_back() -> None:
    options = {"rate": 0.25, "quick_limit": None, "decay": False, "other": 7}
    slow = fill(Slow, options, 3)
    assert (slow.size, values_of(slow)) == (3, {"rate": 0.25, "decay": False})
    assert values_of(fill(Quick, options, limit=2)) == {"rate": 0.25, "quick_limit": 2}
    with pytest.raises(ValueError, match="rate is missing: expected a number, above 0"):
        fill(Quick, {**options, "rate": None})


def test_a_choice_offers_the_options_of_every_alternative() -> None:
    choice = Choice("how", Slow, Quick)
    options = choice.options("speed")
    assert [*options] == ["speed", "rate", "decay", "quick_limit"]
    assert (options["speed"].choices, options["speed"].default) == (("slow", "quick"), "slow")
    assert options["decay"].help == "slow: fall"
    assert options["rate"].help == "learning rate"
    assert (options["rate"].default, choice.options("speed", "quick")["rate"].default) == (
        0.5,
        None,
    )
    assert choice["quick"] is Quick
