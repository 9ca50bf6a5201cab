"""Optimizers against their formulas, their state, and clipping on the global norm."""

import numpy as np
import pytest

from deepnlp.backend import asarray, asnumpy
from deepnlp.layers import Embedding
from deepnlp.optimizers import (
    NTASGD,
    SGD,
    AdaGrad,
    Adam,
    AdamW,
    Momentum,
    Muon,
    Nesterov,
    RMSprop,
    TwoTails,
    clip_gradients,
)
from deepnlp.optimizers.muon import CUBIC, orthogonalised
from deepnlp.parameter import Parameter
from tests.cases import together

MAKE = {
    "SGD": lambda p, **o: SGD(p, **{"lr": 0.3, **o}),
    "Momentum": lambda p, **o: Momentum(p, **{"lr": 0.3, "momentum": 0.8, **o}),
    "Nesterov": lambda p, **o: Nesterov(p, **{"lr": 0.3, "momentum": 0.8, **o}),
    "AdaGrad": lambda p, **o: AdaGrad(p, **{"lr": 0.3, **o}),
    "RMSprop": lambda p, **o: RMSprop(p, **{"lr": 0.3, "alpha": 0.9, **o}),
    "Adam": lambda p, **o: Adam(p, **{"lr": 0.3, "betas": (0.8, 0.95), **o}),
    "AdamW": lambda p, **o: AdamW(p, **{"lr": 0.3, "betas": (0.8, 0.95), **o}),
    "Muon": lambda p, **o: Muon(p, **{"lr": 0.3, "momentum": 0.8, "betas": (0.8, 0.95), **o}),
    "NTASGD": lambda p, **o: NTASGD(p, **{"lr": 0.3, "average_after": 0, **o}),
    "TwoTails": lambda p, **o: TwoTails(p, **{"lr": 0.3, **o}),
}
every_optimizer = pytest.mark.parametrize("name", MAKE)


def gradients(step):
    rng = np.random.default_rng(step)
    return rng.normal(size=(3, 2)), rng.normal(size=4)


def values():
    rng = np.random.default_rng(99)
    return rng.normal(size=(3, 2)), rng.normal(size=4)


def parameters(dtype="float64"):
    return [Parameter(value.astype(dtype)) for value in values()]


def accumulate(params, step):
    for parameter, gradient in zip(params, gradients(step), strict=True):
        parameter.zero_grad()
        parameter.accumulate(asarray(gradient.astype(parameter.dtype)))


def run(optimizer, params, steps):
    for step in steps:
        accumulate(params, step)
        optimizer.step()
    return [asnumpy(p.value).copy() for p in params]


def near_the_polar_factor(G):
    """Each singular value through the polynomial, by itself."""
    U, s, Vt = np.linalg.svd(G, full_matrices=False)
    s = s / np.linalg.norm(s)
    for _ in range(5):
        s = 3.4445 * s - 4.775 * s**3 + 2.0315 * s**5
    return U * s @ Vt


@together(shape=[(1, 1), (5, 3), (3, 5), (1, 7), (30, 40)], dtype=["float64", "float32"])
def test_newton_and_schulz_find_the_polar_factor(array_backend, shape, dtype):
    G = np.random.default_rng(shape).normal(size=shape)
    U, _, Vt = np.linalg.svd(G, full_matrices=False)
    tolerance = 1e-12 if dtype == "float64" else 1e-4
    exact = asnumpy(orthogonalised(asarray(G.astype(dtype)), 60, CUBIC))
    assert exact.dtype == dtype
    np.testing.assert_allclose(exact, U @ Vt, atol=tolerance)
    quick = asnumpy(orthogonalised(asarray(G.astype(dtype))))
    np.testing.assert_allclose(quick, near_the_polar_factor(G), atol=10 * tolerance)
    assert not asnumpy(orthogonalised(asarray(np.zeros(shape, dtype)))).any()


def test_five_rounds_bring_singular_values_near_one():
    s = np.geomspace(0.01, 1, 500)
    for _ in range(5):
        s = 3.4445 * s - 4.775 * s**3 + 2.0315 * s**5
    assert 0.67 < s.min() < s.max() < 1.15


def test_muon_leaves_embeddings_and_vectors_to_adamw():
    E, W, b = (Parameter(np.ones(shape)) for shape in ((5, 3), (3, 4), (4,)))
    Embedding(E)
    optimizer = Muon([E, W, b], lr=0.1)
    for parameter in (E, W, b):
        parameter.accumulate(np.ones(parameter.shape))
    optimizer.step()
    kept = {key for key in optimizer.state() if key[0].isdigit() and "steps" not in key}
    assert kept == {"0.m", "0.s", "1.v", "2.m", "2.s"}


def by_the_formula(name, W, steps, lr=0.3, decay=0.0):
    """One parameter, in the words of the textbook; W is a copy of the start."""
    v = m = s = 0.0
    mu, alpha, b1, b2, eps = 0.8, 0.9, 0.8, 0.95, 1e-8
    for t, g in enumerate(steps, start=1):
        if name in ("AdamW", "Muon"):
            W = W - lr * decay * W
        else:
            g = g + decay * W
        if name in ("SGD", "NTASGD", "TwoTails"):
            W = W - lr * g
        elif name == "Momentum":
            v = mu * v + g
            W = W - lr * v
        elif name == "Nesterov":
            v = mu * v + g
            W = W - lr * (g + mu * v)
        elif name == "Muon" and W.ndim == 2:
            v = mu * v + g
            W = W - 0.2 * max(W.shape) ** 0.5 * lr * near_the_polar_factor(g + mu * v)
        elif name == "AdaGrad":
            s = s + g**2
            W = W - lr * g / (np.sqrt(s) + 1e-10)
        elif name == "RMSprop":
            s = alpha * s + (1 - alpha) * g**2
            W = W - lr * g / (np.sqrt(s) + eps)
        else:
            m = b1 * m + (1 - b1) * g
            s = b2 * s + (1 - b2) * g**2
            W = W - lr * (m / (1 - b1**t)) / (np.sqrt(s / (1 - b2**t)) + eps)
    return W


@every_optimizer
@together(decay=[0.0, 0.1])
def test_steps_follow_the_formula(array_backend, name, decay):
    params = parameters()
    optimizer = MAKE[name](params, weight_decay=decay)
    actual = run(optimizer, params, range(5))
    for k, start in enumerate(values()):
        steps = [gradients(step)[k] for step in range(5)]
        expected = by_the_formula(name, start, steps, decay=decay)
        np.testing.assert_allclose(actual[k], expected, rtol=1e-11)


def test_only_adamw_decays_by_default(array_backend):
    for name, make in MAKE.items():
        params = parameters()
        make(params).step()  # all gradients are zero
        moved = any((asnumpy(p.value) != v).any() for p, v in zip(params, values(), strict=True))
        assert moved == (name == "AdamW")


@every_optimizer
@together(dtype=["float32", "float64"])
def test_updates_are_in_place_and_keep_the_type(array_backend, name, dtype):
    params = parameters(dtype)
    held = [p.value for p in params]
    optimizer = MAKE[name](params, weight_decay=0.1)
    run(optimizer, params, range(3))
    for parameter, array, start in zip(params, held, values(), strict=True):
        assert parameter.value is array
        assert parameter.value.dtype == dtype
        assert (asnumpy(array) != start).any()


@together(name=MAKE)
def test_gradients_are_left_as_they_are(array_backend, name):
    params = parameters()
    optimizer = MAKE[name](params, weight_decay=0.1)
    accumulate(params, 0)
    optimizer.step()
    for parameter, gradient in zip(params, gradients(0), strict=True):
        np.testing.assert_array_equal(asnumpy(parameter.grad), gradient)


@every_optimizer
def test_a_resumed_run_has_the_same_bits(array_backend, name):
    straight = parameters("float32")
    expected = run(MAKE[name](straight), straight, range(8))

    params = parameters("float32")
    optimizer = MAKE[name](params)
    half = run(optimizer, params, range(4))
    optimizer.lr = 0.3
    state = {
        key: value if isinstance(value, (int, float)) else asnumpy(value).copy()
        for key, value in optimizer.state().items()
    }
    run(optimizer, params, range(4, 6))  # what happens after the state was taken is forgotten

    again = [Parameter(value) for value in half]
    resumed = MAKE[name](again, lr=0.7)
    resumed.load_state(state)
    assert resumed.lr == 0.3
    for a, e in zip(run(resumed, again, range(4, 8)), expected, strict=True):
        np.testing.assert_array_equal(a, e)


@together(name=MAKE)
def test_the_learning_rate_may_change_between_steps(array_backend, name):
    params = parameters()
    optimizer = MAKE[name](params, weight_decay=0.0)
    assert optimizer.lr == 0.3
    before = run(optimizer, params, range(2))
    optimizer.lr = 0.0
    for a, b in zip(run(optimizer, params, range(2, 4)), before, strict=True):
        np.testing.assert_array_equal(a, b)


@together(name=MAKE)
def test_each_parameter_is_updated_once(array_backend, name):
    W, V = parameters(), parameters()
    once = run(MAKE[name](W), W, range(2))
    twice = MAKE[name]([V[0], V[0].T, V[1], V[0]])
    for a, e in zip(run(twice, V, range(2)), once, strict=True):
        np.testing.assert_array_equal(a, e)


@together(name=MAKE)
def test_a_frozen_parameter_stays(array_backend, name):
    frozen = Parameter(values()[0], trainable=False)
    free = Parameter(values()[0])
    optimizer = MAKE[name]([frozen, free], weight_decay=0.1)
    for parameter in (frozen, free):
        parameter.accumulate(asarray(gradients(0)[0]))
    optimizer.step()
    np.testing.assert_array_equal(asnumpy(frozen.value), values()[0])
    assert (asnumpy(free.value) != values()[0]).any()


def test_wrong_options_are_errors(array_backend):
    params = parameters()
    with pytest.raises(ValueError, match=r"SGD.*lr.*-1"):
        SGD(params, lr=-1)
    with pytest.raises(ValueError, match=r"Adam.*weight_decay"):
        Adam(params, weight_decay=-0.1)
    with pytest.raises(ValueError, match=r"Adam.*beta2.*1\.0"):
        Adam(params, betas=(0.9, 1.0))
    with pytest.raises(ValueError, match=r"Momentum.*momentum.*1\.5"):
        Momentum(params, lr=1, momentum=1.5)
    with pytest.raises(ValueError, match=r"NTASGD.*average_after.*-1"):
        NTASGD(params, lr=1, average_after=-1)
    with pytest.raises(ValueError, match=r"RMSprop.*alpha"):
        RMSprop(params, alpha=-0.5)
    with pytest.raises(ValueError, match=r"SGD.*no parameters"):
        SGD([], lr=1)
    for mistake in (asarray(values()[0]), params[0], [asarray(values()[0])], None):
        with pytest.raises(TypeError, match="Parameters"):
            SGD(mistake, lr=1)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda state: {**state, "0.v": state["0.m"]},
        lambda state: {**state, "7.m": state["0.m"]},
        lambda state: {**state, "0.m": state["1.m"]},
        lambda state: {key: value for key, value in state.items() if key != "0.steps"},
        lambda state: {key: value for key, value in state.items() if key != "1.s"},
    ],
    ids=["slot", "number", "shape", "no steps", "no array"],
)
def test_the_state_of_another_optimizer_is_refused(array_backend, spoil):
    params = parameters()
    optimizer = Adam(params)
    run(optimizer, params, range(2))
    with pytest.raises(ValueError, match="Adam"):
        Adam(params).load_state(spoil(optimizer.state()))


@pytest.mark.parametrize("kind", [Adam, AdamW])
def test_a_parameter_that_thaws_later_counts_its_own_updates(kind):
    """As torch.optim does: the first update of a parameter is its first, whenever it comes."""
    late, fresh = Parameter(values()[0]), Parameter(values()[0])
    late.trainable = False
    optimizer, other = kind([late, Parameter(values()[1])]), kind([fresh])
    for _ in range(5):
        optimizer.step()
    late.trainable = True
    for parameter in (late, fresh):
        parameter.accumulate(gradients(0)[0])
    optimizer.step()
    other.step()
    np.testing.assert_array_equal(late.value, fresh.value)


def test_a_state_with_frozen_parameters_can_be_loaded_before_and_after_the_thaw(array_backend):
    params = parameters()
    params[0].trainable = False
    optimizer = Adam(params)
    run(optimizer, params, range(2))
    params[0].trainable = True
    again = Adam(params)
    again.load_state(optimizer.state())
    assert set(again.state()) == set(optimizer.state())
    run(again, params, range(1))
    assert "0.steps" in again.state()


def test_a_number_is_a_parameter_too(array_backend):
    p = Parameter(1.5)
    p.accumulate(array_backend.asarray(2.0))
    SGD([p], lr=0.1).step()
    assert float(p.value) == pytest.approx(1.3)


# Averaged weights.


def means(optimizer, params):
    """What is evaluated, and afterwards all must be as it was."""
    raw = [asnumpy(p.value).copy() for p in params]
    with optimizer.averaged():
        found = [asnumpy(p.value).copy() for p in params]
    for p, value in zip(params, raw, strict=True):
        np.testing.assert_array_equal(asnumpy(p.value), value)
    return found


@together(decay=[0.0, 0.1])
def test_the_average_is_the_mean_of_the_weights_since_it_began(array_backend, decay):
    params, twins = parameters(), parameters()
    optimizer = NTASGD(params, lr=0.3, weight_decay=decay, average_after=2)
    plain = SGD(twins, lr=0.3, weight_decay=decay)
    walk, began = [], 3 * 5
    for epoch, valid in enumerate([4.0, 3.0, 2.0, 3.0, 3.5, 9.0, 1.0]):
        for step in range(3 * epoch, 3 * epoch + 3):
            run(optimizer, params, [step])
            walk.append(run(plain, twins, [step]))
        found = means(optimizer, params)
        since = walk[began:] or walk[-1:]
        for k, parameter in enumerate(params):
            np.testing.assert_array_equal(asnumpy(parameter.value), walk[-1][k])
            expected = np.mean([values[k] for values in since], axis=0)
            np.testing.assert_allclose(found[k], expected, rtol=1e-12)
        optimizer.epoch_end(valid)
        # after the fifth: 3.5 > 3 = min(4, 3), of the epochs more than two back
        assert optimizer.averaging == (epoch >= 4)


def averaging_begins(losses, n):
    """Algorithm 1 of Merity, Keskar and Socher 2018, as their program has it."""
    logs = []
    for epoch, valid in enumerate(losses, start=1):
        if len(logs) > n and valid > min(logs[:-n]):
            return epoch
        logs.append(valid)
    return None


@together(n=[1, 2, 5])
def test_averaging_begins_by_the_rule(n):
    for seed in range(60):
        rng = np.random.default_rng((seed, n))
        losses = np.round(np.linspace(3, 0, 12) + rng.normal(size=12), 1).tolist()
        optimizer = NTASGD(parameters(), lr=1.0, average_after=n)
        began = None
        for epoch, valid in enumerate(losses, start=1):
            optimizer.epoch_end(valid)
            began = began or (epoch if optimizer.averaging else None)
        assert began == averaging_begins(losses, n), losses


def test_the_state_remembers_validations_and_averages(array_backend):
    def optimizer_of(params):
        return NTASGD(params, lr=0.3, average_after=1)

    def go(optimizer, params, epochs):
        for epoch in epochs:
            run(optimizer, params, [2 * epoch, 2 * epoch + 1])
            optimizer.epoch_end([3.0, 2.0, 2.5, 4.0, 1.0, 5.0][epoch])

    straight = parameters("float32")
    whole = optimizer_of(straight)
    go(whole, straight, range(6))
    assert whole.averaging
    for cut in range(6):
        params = parameters("float32")
        first = optimizer_of(params)
        go(first, params, range(cut))
        again = [Parameter(asnumpy(p.value)) for p in params]
        second = optimizer_of(again)
        second.load_state(first.state())
        go(second, again, range(cut, 6))
        for a, e in zip(means(second, again), means(whole, straight), strict=True):
            np.testing.assert_array_equal(a, e)
    state = first.state()
    del state["losses"]
    with pytest.raises(ValueError, match=r"NTASGD: not a state .* lacks \['losses'\]"):
        optimizer_of(parameters()).load_state(state)


def test_an_error_inside_leaves_the_weights_as_they_were():
    params = parameters()
    optimizer = NTASGD(params, lr=0.3, average_after=0)
    expected = run(optimizer, params, range(3))
    with pytest.raises(KeyError), optimizer.averaged():
        raise KeyError
    for parameter, value in zip(params, expected, strict=True):
        np.testing.assert_array_equal(parameter.value, value)


# Sparse gradients.

V, D = 50, 4


def pair_of_tables(ids, dtype="float32", passes=1):
    """One table with a sparse gradient, and the same with that gradient in dense form."""
    rng = np.random.default_rng(len(ids))
    start = rng.normal(size=(V, D)).astype(dtype)
    tables = [Parameter(start), Parameter(start)]
    give_lookups(tables, ids, 0, passes)
    return tables


def give_lookups(tables, ids, seed, passes=1):
    rng = np.random.default_rng(seed)
    for table in tables:
        table.zero_grad()
    assert float(abs(tables[1].grad).max()) == 0  # dense from here on
    for _ in range(passes):
        rows = asarray(rng.normal(size=(len(ids), D)).astype(tables[0].dtype))
        for table in tables:
            table.accumulate_rows(asarray(np.array(ids, "int64")), rows)
    assert tables[0].sparse_grad is not None
    assert tables[1].sparse_grad is None


IDS = {
    "repeated": [7, 2, 7, 49, 0, 7, 2],
    "distinct": [5, 3, 9],
    "one": [11],
    "all the same": [4] * 20,
    "none": [],
}
every_ids = together(ids=IDS.values())


@every_ids
@every_optimizer
@together(decay=[0.0, 0.1], dtype=["float32", "float64"])
def test_a_sparse_gradient_updates_as_its_dense_form(array_backend, name, ids, decay, dtype):
    tables = pair_of_tables(ids, dtype)
    optimizers = [MAKE[name]([table], weight_decay=decay) for table in tables]
    held = tables[0].value
    for step in range(3):
        give_lookups(tables, ids if step != 1 else [1, 2, 1], step, passes=1 + step % 2)
        for optimizer in optimizers:
            optimizer.step()
        stays_sparse = name in ("SGD", "AdaGrad") and not decay
        assert (tables[0].sparse_grad is not None) == stays_sparse
    assert tables[0].value is held
    np.testing.assert_array_equal(asnumpy(tables[0].value), asnumpy(tables[1].value))
    states = [optimizer.state() for optimizer in optimizers]
    assert states[0].keys() == states[1].keys()
    for slot in (key for key in states[0] if key.split(".")[-1] in ("m", "s", "v", "average")):
        np.testing.assert_array_equal(*(asnumpy(state[slot]) for state in states))


@every_ids
@together(max_norm=[0.3, 1e9, np.inf])
def test_clipping_scales_the_rows_and_leaves_them_sparse(array_backend, ids, max_norm):
    tables = pair_of_tables(ids, "float64", passes=2)
    before = asnumpy(tables[1].grad).copy()
    norms = [float(clip_gradients([table, *parameters()], max_norm)) for table in tables]
    assert norms[0] == pytest.approx(norm_of([before]), rel=1e-14)
    assert norms[0] == pytest.approx(norms[1], rel=1e-14)
    assert tables[0].sparse_grad is not None
    np.testing.assert_allclose(asnumpy(tables[0].grad), asnumpy(tables[1].grad), rtol=1e-14)


@pytest.mark.parametrize("name", ["SGD", "AdaGrad", "lazy Adam"])
def test_ids_may_be_wider_than_an_index(name, monkeypatch):
    """With addresses of 32 bits, as in a browser, ids of int64 are; here those of uint64 are.

    NumPy 2.0 takes no rows by them; NumPy 2.4 does.
    """
    take = np.take

    def take_by_index(array, ids, **options):
        assert np.can_cast(ids.dtype, np.intp, "safe")
        return take(array, ids, **options)

    monkeypatch.setattr(np, "take", take_by_index)
    make = {**MAKE, "lazy Adam": lambda p: Adam(p, lr=0.3, lazy=True)}[name]
    tables = []
    for ids in (np.array([0, 3]), np.array([0, 3], dtype="uint64")):
        table = Parameter(np.ones((5, 2)))
        table.sparse_grad = (ids, np.full((2, 2), 0.5))
        make([table]).step()
        tables.append(table.value)
    assert (tables[0] == tables[1]).all()
    assert (tables[1][[0, 3]] != 1).all()


def test_lazy_adam_moves_only_the_rows_it_has_seen(array_backend):
    ids = [7, 2, 7]
    lazy, dense = pair_of_tables(ids, "float64")
    start = asnumpy(lazy.value).copy()
    optimizers = [Adam([lazy], lr=0.1, lazy=True), Adam([dense], lr=0.1)]
    for optimizer in optimizers:
        optimizer.step()
    assert lazy.sparse_grad is not None
    np.testing.assert_array_equal(asnumpy(lazy.value), asnumpy(dense.value))
    give_lookups([lazy, dense], [3], 1)
    for optimizer in optimizers:
        optimizer.step()
    moved = (asnumpy(lazy.value) != start).any(axis=1)
    assert np.flatnonzero(moved).tolist() == [2, 3, 7]
    np.testing.assert_array_equal(asnumpy(lazy.value)[3], asnumpy(dense.value)[3])
    assert (asnumpy(lazy.value)[[2, 7]] != asnumpy(dense.value)[[2, 7]]).all()
    assert optimizers[0].state().keys() == optimizers[1].state().keys()


def test_lazy_adam_with_dense_gradients_is_adam(array_backend):
    lazy, eager = parameters(), parameters()
    expected = run(Adam(eager, lr=0.1), eager, range(3))
    for a, e in zip(run(Adam(lazy, lr=0.1, lazy=True), lazy, range(3)), expected, strict=True):
        np.testing.assert_array_equal(a, e)
    with pytest.raises(ValueError, match=r"Adam: lazy.*weight_decay"):
        Adam(parameters(), lazy=True, weight_decay=0.1)


def test_a_resumed_run_with_sparse_gradients_has_the_same_bits(array_backend):
    for make in (MAKE["SGD"], MAKE["AdaGrad"], lambda p, **o: Adam(p, lazy=True, **o)):
        straight, half = pair_of_tables([1])
        optimizer = make([straight])
        for step in range(4):
            if step == 2:
                half.value = straight.value
                resumed = make([half])
                state = optimizer.state().items()
                resumed.load_state(
                    {k: v if isinstance(v, int | float) else asnumpy(v).copy() for k, v in state}
                )
            for table, its in ((straight, optimizer),) + (((half, resumed),) if step > 1 else ()):
                table.zero_grad()
                rng = np.random.default_rng(step)
                ids, rows = rng.integers(0, V, 9), rng.normal(size=(9, D)).astype("float32")
                table.accumulate_rows(asarray(ids), asarray(rows))
                clip_gradients([table], 0.5)
                its.step()
        np.testing.assert_array_equal(asnumpy(half.value), asnumpy(straight.value))


# Clipping.


def norm_of(arrays):
    return np.sqrt(sum((a**2).sum() for a in arrays))


@together(share=[0.1, 0.999, 1.5, np.inf])
def test_clipping_scales_to_the_norm_and_returns_the_one_before(array_backend, share):
    params = parameters()
    accumulate(params, 0)
    norm = norm_of(gradients(0))
    returned = clip_gradients(params, max_norm=share * norm)
    assert returned.shape == ()
    assert float(returned) == pytest.approx(norm, rel=1e-14)
    scale = min(1.0, share * norm / (norm + 1e-6))
    for parameter, gradient in zip(params, gradients(0), strict=True):
        np.testing.assert_allclose(asnumpy(parameter.grad), scale * gradient, rtol=1e-14)


def test_a_tied_weight_counts_once_with_the_sum_of_its_uses(array_backend):
    W = Parameter(values()[0])
    g, h = np.random.default_rng(3).normal(size=(2, 3, 2))
    W.accumulate(asarray(g))
    W.T.accumulate(asarray(h.T))
    assert float(clip_gradients([W, W.T], max_norm=1.0)) == pytest.approx(norm_of([g + h]))
    assert norm_of([asnumpy(W.grad)]) == pytest.approx(1.0, rel=1e-5)


def test_what_does_not_train_does_not_count(array_backend):
    params = [*parameters(), Parameter(values()[0], trainable=False)]
    accumulate(params[:2], 0)
    params[2].grad = asarray(100 * values()[0])
    assert float(clip_gradients(params, 1.0)) == pytest.approx(norm_of(gradients(0)))


@together(dtype=["float32", "float64"])
def test_clipping_zero_gradients_and_types(array_backend, dtype):
    params = parameters(dtype)
    assert float(clip_gradients(params, 0.25)) == 0.0
    assert all((asnumpy(p.grad) == 0).all() for p in params)
    accumulate(params, 1)
    clip_gradients(params, 0.25)
    assert all(p.grad.dtype == dtype for p in params)


@together(max_norm=[0.0, -1.0, np.nan])
def test_a_norm_that_is_none(array_backend, max_norm):
    with pytest.raises(ValueError, match=r"clip_gradients.*max_norm"):
        clip_gradients(parameters(), max_norm)


LARGEST = {dtype: float(np.finfo(dtype).max) for dtype in ("float16", "float32", "float64")}


@together(dtype=LARGEST, share=[1.0, 1e-3], max_norm=[0.25, 1e-3, np.inf])
def test_clipping_of_finite_gradients_whose_squares_are_not(dtype, share, max_norm):
    g = np.random.default_rng(0).uniform(-1, 1, (7, 5))
    g[0, 0] = 0.5
    g = (g * share * LARGEST[dtype]).astype(dtype)
    W, b = Parameter(np.zeros((7, 5), dtype)), Parameter(np.zeros(3, dtype))
    W.accumulate(g)
    b.accumulate(g[0, :3])
    expected = np.concatenate([g.ravel(), g[0, :3]]).astype(np.longdouble)
    norm = np.sqrt((expected**2).sum())
    found = clip_gradients([W, b], max_norm)
    if norm < LARGEST["float64"]:
        assert float(found) == pytest.approx(float(norm), rel=1e-4)
    else:
        assert np.isinf(found)  # no number is as large
    clipped = np.concatenate([W.grad.ravel(), b.grad]).astype(np.longdouble)
    if np.isfinite(max_norm):
        expected *= max_norm / norm
    rounding = float(np.finfo(dtype).eps) * abs(expected).max()
    np.testing.assert_allclose(
        clipped, expected, rtol=4 * np.finfo(dtype).eps, atol=max(rounding, 6e-8)
    )


@together(dtype=["float32", "float64"])
def test_clipping_of_gradients_whose_squares_vanish(dtype):
    W = Parameter(np.zeros(4, dtype))
    small = np.array([3, -4, 0, 0], dtype) * {"float32": 1e-30, "float64": 1e-200}[dtype]
    W.accumulate(small)
    assert float(clip_gradients([W], 0.25)) == pytest.approx(float(abs(small[1])) * 1.25, rel=1e-6)
    np.testing.assert_array_equal(W.grad, small)


@together(value=[np.inf, np.nan])
def test_clipping_says_that_a_gradient_is_not_finite(value):
    W = Parameter([1.0, 2.0])
    W.accumulate(np.array([1.0, value]))
    with np.errstate(invalid="ignore"):
        assert not np.isfinite(clip_gradients([W], 0.25))
    assert not np.isfinite(W.grad).all()


def test_clipping_of_complex_gradients():
    W = Parameter(np.zeros(2, complex))
    W.accumulate(np.array([3j, -4.0]))
    assert float(clip_gradients([W], 1.0)) == 5
    np.testing.assert_allclose(W.grad, [0.6j, -0.8], rtol=1e-6)


def test_clipping_of_very_many_small_entries_in_float16():
    W = Parameter(np.zeros(100_000, "float16"))
    W.accumulate(np.ones(100_000, "float16"))
    assert float(clip_gradients([W], 10.0)) == pytest.approx(np.sqrt(100_000))
    np.testing.assert_allclose(W.grad, 10 / np.sqrt(100_000), rtol=1e-3)


def test_the_norm_of_gradients_whose_squares_vanish():
    W = Parameter(np.zeros(4, "float32"))
    W.accumulate(np.full(4, 1e-25, "float32"))
    assert float(clip_gradients([W], 1.0)) == pytest.approx(2e-25, rel=1e-6, abs=0)
    np.testing.assert_allclose(W.grad, 1e-25)


@together(name=MAKE, wrong=[np.inf, np.nan, -1.0])
def test_a_learning_rate_is_finite(name, wrong):
    with pytest.raises(ValueError, match="lr should be finite and 0 or more"):
        MAKE[name](parameters(), lr=wrong)
    with pytest.raises(ValueError, match="weight_decay should be finite and 0 or more"):
        MAKE[name](parameters(), weight_decay=wrong)


@pytest.mark.parametrize("max_norm", [1e-30, 1e-40, 1e-44])
@pytest.mark.parametrize("size", [1.0, 1e10, 1e18])
def test_a_bound_far_below_the_norm_keeps_its_digits(max_norm, size):
    """The factor is below the smallest numbers of float32; the gradients need not be."""
    W = Parameter(np.zeros(2, "float32"))
    W.accumulate(np.array([3, 4], "float32") * np.float32(size))
    clip_gradients([W], max_norm)
    expected = np.array([0.6, 0.8]) * max_norm / (1 + 1e-6 / (5 * size))
    np.testing.assert_allclose(W.grad, expected, rtol=1e-6, atol=np.finfo("f4").smallest_subnormal)
