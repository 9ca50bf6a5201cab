import numpy as np
import pytest

from deepnlp.backend import asnumpy
from deepnlp.optimizers import SGD, TwoTails
from deepnlp.parameter import Parameter
from tests.training.tools import end_of, stopped_and_resumed, tiny_trainer


def means(losses_of, steps=4):
    """Both means after each epoch, and those of the weights that were kept by hand."""
    rng = np.random.default_rng(0)
    W, plain = Parameter(np.ones(3)), Parameter(np.ones(3))
    optimizer, sgd = TwoTails([W], lr=0.1), SGD([plain], lr=0.1)
    seen, begins, found = [], [0, 0], []  # where the short and the long mean begin
    for losses in losses_of:
        for _ in range(steps):
            g = rng.normal(size=3)
            for p, rule in ((W, optimizer), (plain, sgd)):
                p.zero_grad()
                p.accumulate(g)
                rule.step()
            seen.append(asnumpy(plain.value).copy())
        chosen = optimizer.choose(losses)
        if losses[0] <= losses[1]:
            begins = [len(seen), begins[0]]
        with optimizer.averaged():
            found.append((chosen, asnumpy(W.value).copy(), np.mean(seen[begins[1] :], axis=0)))
        np.testing.assert_array_equal(W.value, plain.value)
    return found


def test_the_long_mean_becomes_the_short_one_where_that_is_as_good():
    for losses in ([(1, 1), (1, 2), (3, 2), (2, 2)], [(2, 1), (2, 1), (0, 1)]):
        for (chosen, mean, expected), (short, long) in zip(means(losses), losses):
            np.testing.assert_allclose(mean, expected, rtol=1e-12)
            assert chosen == (0 if short <= long else 1)


def make(folder):
    trainer = tiny_trainer(folder, epochs=4)
    trainer.optimizer = TwoTails(trainer.parameters, lr=1.0)
    trainer.first_lr = 1.0
    return trainer


def test_a_run_keeps_the_better_mean_and_is_resumed(tmp_path):
    whole = make(tmp_path / "whole")
    valids = []
    choose = whole.optimizer.choose
    whole.optimizer.choose = lambda losses: valids.append(losses) or choose(losses)
    whole.fit()
    rows = [row["valid_perplexity"] for row in whole.history]
    assert rows == [min(pair) for pair in valids]
    assert len({*map(tuple, valids)}) == 4
    resumed = stopped_and_resumed(make, tmp_path / "parts", 33, "kill")
    assert resumed == end_of(tmp_path / "whole")


@pytest.mark.parametrize("lengths", [(2, 1), (-1, 3), (None, 3), (1.0, 2)])
def test_a_state_that_cannot_be(lengths):
    optimizer = TwoTails([Parameter([1.0])], lr=1.0)
    state = {**optimizer.state(), "short": lengths[0], "long": lengths[1]}
    with pytest.raises(ValueError, match="TwoTails: not a state"):
        optimizer.load_state(state)
