"""The microscope: every number against one found another way, and nothing left behind."""

import json

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import deepnlp
from deepnlp import DeepNLPError, gradflow, plots
from deepnlp.gradflow import GradientHistory, gradient_flow, observe, step_jacobian
from deepnlp.gradflow.spectra import jacobian_products
from deepnlp.layers import Affine, TimeGRU, TimeLSTM, TimeRNN
from deepnlp.models import RNNLM, SimpleRNNLM
from tests.training.tools import tiny_trainer

D, H = 3, 5
LAYERS = {
    "tanh": lambda rng: TimeRNN.init(D, H, rng, "float64"),
    "relu": lambda rng: TimeRNN.init(D, H, rng, "float64", activation="relu"),
    "no Wx": lambda rng: TimeRNN(
        None, rng.normal(size=(D, D)), rng.normal(size=D), activation="tanh"
    ),
    "lstm": lambda rng: TimeLSTM.init(D, H, rng, "float64"),
    "gru": lambda rng: TimeGRU.init(D, H, rng, "float64"),
    "gru, reset after": lambda rng: TimeGRU.init(D, H, rng, "float64", reset_after=True),
}
IDS = np.random.default_rng(1).integers(0, 11, size=300)


def fresh(name, seed=0):
    """A layer whose weights and biases are all random, and large enough to matter."""
    rng = np.random.default_rng(seed)
    layer = LAYERS[name](rng)
    for parameter in layer.parameters():
        parameter.value += rng.normal(size=parameter.shape) * 0.4
    return layer, rng


def model(cell="lstm", layers=2, dropout=0.5, **options):
    deepnlp.seed(3)
    return RNNLM(11, 6, 6, layers=layers, cell=cell, dropout=dropout, **options)


def by_complex_step(function, point, *others, eps=1e-30):
    """Gradient of a number by an array, entry by entry."""
    gradient = np.zeros(point.shape)
    for index in np.ndindex(point.shape):
        moved = point.astype("complex128")
        moved[index] += 1j * eps
        gradient[index] = np.imag(function(moved, *others)) / eps
    return gradient


@pytest.mark.parametrize("name", [name for name in LAYERS if name != "relu"])
@pytest.mark.parametrize(("N", "T"), [(1, 1), (2, 4)])
def test_observed_gradients_are_those_of_the_states(name, N, T):
    layer, rng = fresh(name)
    x, weights = rng.normal(size=(N, T, layer.D)), rng.normal(size=(N, T, layer.H))
    with observe(layer) as observers:
        h = layer.forward(x)
        cells = {}
        layer.backward(weights)
    seen = observers[""].observation()
    assert layer.watch is None
    np.testing.assert_array_equal(seen.x, x.transpose(1, 0, 2))
    np.testing.assert_array_equal(seen.h_prev[1:], h.transpose(1, 0, 2)[:-1])
    if seen.c_prev is not None:
        cells = {t: seen.c_prev[t + 1] for t in range(T - 1)} | {T - 1: layer.c.copy()}

    layer.astype("complex128")

    def loss_after(h_t, t, *c_t):
        """The part of the loss that h_t, and c_t with it, has a say in."""
        loss = np.sum(weights[:, t] * h_t)
        if t + 1 < T:
            layer.set_state(h_t, *c_t)
            loss = loss + np.sum(weights[:, t + 1 :] * layer.forward(x[:, t + 1 :] + 0j))
        return loss

    def loss_by_cell(c, t, o):
        """The same by c_t alone, from which h_t = o_t tanh(c_t) follows."""
        return loss_after(o * np.tanh(c), t, c)

    for t in range(T):
        c_t = [cells[t] + 0j] if cells else []
        found = by_complex_step(loss_after, h[:, t], t, *c_t)
        np.testing.assert_allclose(seen.dh[t], found, rtol=1e-10, atol=1e-12)
        if cells:
            found = by_complex_step(loss_by_cell, cells[t], t, h[:, t] / np.tanh(cells[t]))
            np.testing.assert_allclose(seen.dc[t], found, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", LAYERS)
def test_jacobian_of_a_step(name):
    layer, rng = fresh(name)
    x, h_prev = rng.normal(size=layer.D), rng.normal(size=layer.H)
    c_prev = rng.normal(size=layer.H) if name == "lstm" else None
    found = step_jacobian(layer, x, h_prev, c_prev)
    state = [h_prev] if c_prev is None else [h_prev, c_prev]

    def after(*moved):
        layer.set_state(*(one[None] for one in moved))
        layer.forward(x[None, None])
        return np.concatenate([layer.h[0], *([layer.c[0]] if name == "lstm" else [])])

    size, eps = layer.H * len(state), 1e-6
    for j in range(size):
        moved = [np.concatenate(state) + sign * eps * np.eye(size)[j] for sign in (1, -1)]
        up, down = (after(*np.split(one, len(state))) for one in moved)
        np.testing.assert_allclose(found[:, j], (up - down) / (2 * eps), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_product_of_jacobians_carries_the_measured_gradient(cell):
    net = model(cell, layers=1, dropout=0.0, dtype="float64")
    inputs, targets = IDS[None, :9], np.full((1, 9), -1)
    targets[0, -1] = IDS[9]
    with observe(net) as observers:
        net.forward(inputs, targets)
        net.backward()
    (observer,) = observers.values()
    seen = observer.observation()
    gradient = seen.dh[-1]
    if cell == "lstm":
        gradient = np.concatenate([gradient, np.zeros_like(gradient)], axis=1)
    for t in reversed(range(1, 9)):
        c_prev = None if seen.c_prev is None else seen.c_prev[t, 0]
        gradient = gradient @ step_jacobian(observer.layer, seen.x[t, 0], seen.h_prev[t, 0], c_prev)
        np.testing.assert_allclose(gradient[:, :6], seen.dh[t - 1], rtol=1e-9)


def test_a_linear_network_decays_as_predicted():
    """With tiny states tanh is the identity: the rate is the spectral radius of W_h."""
    net = model("rnn", layers=1, dropout=0.0, dtype="float64")
    net.layers[0].W.value *= 1e-6
    layer = net.layers[1]
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    layer.Wh.value = 0.8 * rotation
    net.output.b.value += np.random.default_rng(2).normal(size=11)
    flow = gradient_flow(net, IDS, steps=30, batch_size=3).layers[0]
    assert flow.predicted_rate == pytest.approx(0.8, rel=1e-6)
    assert flow.measured_rate == pytest.approx(0.8, rel=1e-6)
    np.testing.assert_allclose(flow.dh_share, 0.8 ** np.arange(31), rtol=1e-5)
    np.testing.assert_allclose(flow.weights["Wh"].singular_values, 0.8)
    np.testing.assert_allclose(flow.jacobians.singular_values[-1], 0.8**30, rtol=1e-5)


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_no_share_of_the_last_layer_is_above_the_largest_singular_value(cell):
    layer = gradient_flow(model(cell), IDS, steps=12, batch_size=5).layers[-1]
    largest = layer.jacobians.singular_values[:, 0]
    assert np.all(layer.dh_share[list(layer.jacobians.lags)] <= largest * (1 + 1e-5))


def test_the_largest_product_of_several_sequences_is_kept():
    half, double = np.array([[0.5]]), np.array([[2.0]])
    found = jacobian_products([[half, half], [double, half], [half, double]], H=1, lags=[1, 2])
    np.testing.assert_allclose(found.singular_values.ravel(), [2.0, 1.0])
    assert found.rate == pytest.approx(1.0)


def test_a_lower_layer_is_predicted_to_last_as_long_as_those_above():
    flow = gradient_flow(model("rnn"), IDS, steps=6)
    own = [layer.jacobians.rate for layer in flow.layers]
    assert [layer.predicted_rate for layer in flow.layers] == [max(own), own[1]]
    assert gradient_flow(model(), IDS, steps=6, spectra=False).layers[0].predicted_rate is None


def test_gates_are_those_of_the_weights():
    net = model("lstm", layers=1)
    layer = net.layers[2]
    for parameter in (layer.Wx, layer.Wh):
        parameter.value *= 0
    layer.b.value[:] = np.repeat([-9.0, 9.0, 0.0, 0.0], 6)
    gates = gradient_flow(net, IDS, steps=4).layers[0].gates
    assert (gates["i"].shut, gates["i"].open) == (1.0, 0.0)
    assert (gates["f"].shut, gates["f"].open) == (0.0, 1.0)
    assert gates["o"].mean == pytest.approx(0.5)


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_the_model_is_left_as_it_was(cell):
    net, twin = model(cell), model(cell)
    inputs, targets = IDS[None, :8], IDS[None, 1:9]
    for one in (net, twin):
        one.forward(inputs, targets)
        one.layers[-1].eval()
    gradient_flow(net, IDS, steps=5)
    assert [layer.training for layer in net._layers()] == [
        layer.training for layer in twin._layers()
    ]
    assert all(not parameter.grad.any() for parameter in net.parameters())
    assert float(net.forward(inputs, targets)) == float(twin.forward(inputs, targets))


def test_the_simple_model_can_be_looked_at():
    flow = gradient_flow(SimpleRNNLM(11, 6, 4), IDS, steps=5)
    assert [layer.cell for layer in flow.layers] == ["TimeRNN"]


def test_sizes_of_what_is_seen():
    flow = gradient_flow(model(), IDS, steps=12, batch_size=4)
    assert (flow.batch_size, [layer.name for layer in flow.layers]) == (4, ["layers.2", "layers.4"])
    top = flow.layers[1]
    assert top.dh.shape == top.dc.shape == (13,)
    assert top.dh_share[0] == top.dc_share[0] == 1.0
    assert top.jacobians.lags == (1, 2, 5, 10, 12)
    assert top.jacobians.singular_values.shape == (5, 6)
    as_json = json.loads(json.dumps(flow.to_dict(), allow_nan=False))
    assert as_json["layers"][1]["gates"]["f"].keys() == {"mean", "below_0.1", "above_0.9"}
    assert "layers.4  TimeLSTM" in flow.table()


def test_a_short_text_gives_fewer_windows_or_an_error():
    assert gradient_flow(model(), IDS[:8], steps=5, batch_size=16).batch_size == 2
    with pytest.raises(ValueError, match="a text of 6 tokens is too short to look 5 steps back"):
        gradient_flow(model(), IDS[:6], steps=5)
    with pytest.raises(ValueError, match="should be 1 or more"):
        gradient_flow(model(), IDS, steps=0)


def test_a_model_without_recurrent_layers_is_refused():
    with pytest.raises(ValueError, match="no recurrent layer"), observe(Affine.init(2, 3)):
        pass


def test_spectrum_of_the_book():
    W = np.random.RandomState(3).randn(3, 3) * 0.5
    found = gradflow.spectrum(W)
    assert found.largest == pytest.approx(1.33, abs=0.005)
    assert found.spectral_radius == pytest.approx(0.63, abs=0.005)


# --- Over the course of training ---------------------------------------------------------------


def test_history_comes_back_from_its_file(tmp_path):
    history = GradientHistory()
    for update in (0, 5, 10):
        history.add(update, gradient_flow(model("gru"), IDS, steps=4, spectra=False))
    history.save(tmp_path / "gradients.npz")
    loaded = GradientHistory.load(tmp_path / "gradients.npz")
    assert loaded.layers == ("layers.2", "layers.4")
    for name, array in history.to_arrays().items():
        np.testing.assert_array_equal(loaded.to_arrays()[name], array)
    assert loaded.to_arrays()["gate_z"].shape == (3, 2, 3)
    loaded.drop_after(5)
    assert loaded.updates.tolist() == [0, 5]


@pytest.mark.parametrize("options", [{}, {"tie": "none", "batch_size": 1}], ids=["dense", "sparse"])
def test_watching_changes_no_bit_of_the_training(tmp_path, monkeypatch, options):
    drawn = []
    monkeypatch.setattr("deepnlp.plots.gradient_heat_map", lambda *about: drawn.append(about))
    for name, every in (("watched", 4), ("alone", None)):
        trainer = tiny_trainer(tmp_path / name, watch_gradients=every, **options)
        trainer.fit()
    for file in ("checkpoint.npz", "best.npz"):
        assert (tmp_path / "watched" / file).read_bytes() == (
            tmp_path / "alone" / file
        ).read_bytes()
    history = GradientHistory.load(tmp_path / "watched" / "gradients.npz")
    assert history.updates.tolist() == list(range(0, trainer.state.step, 4))
    assert {path for _, path in drawn} == {tmp_path / "watched" / "gradient_flow.png"}
    assert not (tmp_path / "alone" / "gradients.npz").exists()


def test_a_resumed_run_goes_on_watching(tmp_path, monkeypatch):
    monkeypatch.setattr("deepnlp.plots.gradient_heat_map", lambda *_: None)
    tiny_trainer(tmp_path / "whole", watch_gradients=5).fit()
    tiny_trainer(tmp_path / "parts", watch_gradients=5, epochs=2).fit()
    tiny_trainer(tmp_path / "parts", watch_gradients=5).fit(resume=True)
    whole, parts = (
        GradientHistory.load(tmp_path / name / "gradients.npz") for name in ("whole", "parts")
    )
    np.testing.assert_array_equal(parts.updates, whole.updates)
    np.testing.assert_array_equal(parts.dh, whole.dh)


def test_watching_every_zero_updates_is_refused():
    with pytest.raises(ValueError, match="watch_gradients should be 1 or more"):
        tiny_trainer(watch_gradients=-1)


# --- Figures -----------------------------------------------------------------------------------


def overlaps(figure):
    """Pairs of texts that overlap, and texts that leave the figure."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw_without_rendering()
    texts = list(figure.texts)
    for axes in figure.axes:
        texts += [*axes.texts, axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label]
    shown = [(t.get_text(), t.get_window_extent(renderer)) for t in texts if t.get_text().strip()]
    outside = [
        (text,)
        for text, box in shown
        if box.x0 < 0 or box.y0 < 0 or box.x1 > figure.bbox.x1 or box.y1 > figure.bbox.y1
    ]
    pairs = [
        (text, other)
        for i, (text, box) in enumerate(shown)
        for other, other_box in shown[:i]
        if box.overlaps(other_box)
    ]
    return outside + pairs


@pytest.mark.parametrize(("cell", "layers"), [("rnn", 1), ("lstm", 2)])
def test_figure_of_a_flow_reads_well(cell, layers, tmp_path):
    flow = gradient_flow(model(cell, layers), IDS, steps=20)
    figure = plots.gradient_flow(flow, tmp_path / "flow.png")
    assert not overlaps(figure)
    assert (tmp_path / "flow.png").stat().st_size > 5000


def test_figure_without_spectra_has_no_third_row():
    flow = gradient_flow(model(layers=1), IDS, steps=5, spectra=False)
    assert len(plots.gradient_flow(flow).axes) == 2


@pytest.mark.parametrize("looks", [1, 6])
def test_heat_map_reads_well(looks):
    history = GradientHistory()
    for update in range(looks):
        history.add(10 * update, gradient_flow(model(), IDS, steps=6, spectra=False))
    assert not overlaps(plots.gradient_heat_map(history))
    with pytest.raises(ValueError, match="at least one measurement"):
        plots.gradient_heat_map(GradientHistory())


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_the_microscope_works_on_every_backend(cell, array_backend):
    flow = gradient_flow(model(cell, layers=1), IDS, steps=3, batch_size=2)
    layer = flow.layers[0]
    assert all(isinstance(one, np.ndarray) for one in (layer.dh, layer.jacobians.singular_values))
    json.dumps(flow.to_dict(), allow_nan=False)


@pytest.mark.parametrize("content", [b"", b"PK\3\4 cut off", None])
def test_a_damaged_history_is_named(tmp_path, content):
    path = tmp_path / "gradients.npz"
    if content is None:
        np.savez(path, layers=np.array(["a"]), update=np.arange(2), dh=np.zeros((3, 1, 2)))
    else:
        path.write_bytes(content)
    with pytest.raises(DeepNLPError, match=r"gradients\.npz is damaged .*: remove it"):
        GradientHistory.load(path)
