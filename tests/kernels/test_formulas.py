"""A quick form runs while the functions that it stands for are those it was written for."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import deepnlp
from deepnlp import kernels, optimizers
from deepnlp.cli.train import plain_forms
from deepnlp.kernels import cuda, fast, formulas
from deepnlp.kernels.cuda import weights
from deepnlp.layers import LSTM, TimeLSTM, lstm
from deepnlp.layers.lstm import lstm_step
from deepnlp.models import RNNLM
from tests.kernels.formulas import differences, present

PACKAGE = Path(deepnlp.__file__).parent
PLACES = sorted({place for places in formulas.RECORDED.values() for place in places})
TEXT = "the formula of {} has changed: its quick form is not used"


@pytest.fixture(autouse=True)
def unwarned(monkeypatch):
    monkeypatch.setattr(formulas, "_warned", set())


def quick_kernels(place):
    """The kernels, of either backend, whose plain form computes with what is at a place."""
    names = {name for name, places in formulas.RECORDED.items() if place in places}
    rules = [f for p, f in weights.FORMULAS.items() if weights.RULES[p].kernel in names]
    return [k.formula for k in kernels._KERNELS.values() if k.formula.name in names] + rules


def test_digests_are_those_of_the_code():
    """Where this fails: change the quick forms too, then renew as the tool says."""
    assert not differences()
    now = {n: {p: formulas.hashed(t) for p, t in some.items()} for n, some in present().items()}
    assert now == formulas.RECORDED


@pytest.mark.parametrize("place", PLACES)
def test_a_function_that_is_replaced_is_followed(monkeypatch, place):
    holder, name = formulas.lookup(place)
    stand_ins = quick_kernels(place)
    assert stand_ins
    assert all(formula.is_current() for formula in stand_ins)
    with monkeypatch.context() as patch:
        patch.setattr(holder, name, lambda *arguments: None)
        with pytest.warns(UserWarning, match=TEXT.format(name)) as warned:
            assert not any(formula.is_current() for formula in [*stand_ins, *stand_ins])
        assert len(warned) == 1
        for forms in (fast.FORMS, cuda.FORMS):
            patch.setitem(
                kernels.QUICK_FORMS, "numpy", lambda forms=forms: type("", (), {"FORMS": forms})
            )
            for kernel in (kernels._KERNELS[name] for name in forms):
                assert (kernel.form() is kernel.plain) == (kernel.formula in stand_ins)
    assert all(formula.is_current() for formula in stand_ins)


@pytest.mark.parametrize("name", {**fast.FORMS, **cuda.FORMS})
def test_every_quick_form_stands_for_a_formula(name):
    assert formulas.RECORDED[kernels._KERNELS[name].formula.name]


def other_step(a, h_prev, c_prev, Wh):
    (h, c), saved = lstm_step(a, h_prev, c_prev, Wh)
    return (h + c, c), saved


def states(layer, x):
    h = c = np.zeros((len(x), layer.H))
    step, hs = LSTM(layer.Wx, layer.Wh, layer.b), []
    for t in range(x.shape[1]):
        h, c = step.forward(x[:, t], h, c)
        hs.append(h)
    return np.stack(hs, axis=1)


@pytest.mark.parametrize("how", ["another function", "other code"])
def test_an_lstm_runs_the_step_that_a_notebook_puts_in_its_place(monkeypatch, how):
    deepnlp.seed(0)
    layer, x = TimeLSTM.init(3, 4, dtype="float64"), np.ones((2, 5, 3))
    before = layer.forward(x)
    if how == "another function":
        monkeypatch.setattr(lstm, "lstm_step", other_step)
    else:  # as IPython's autoreload does

        def edited(a, h_prev, c_prev, Wh):
            return (h_prev + 1, c_prev), (c_prev,)

        monkeypatch.setattr(lstm_step, "__code__", edited.__code__)
    with pytest.warns(UserWarning, match=TEXT.format("lstm_step")) as warned:
        after = [layer.forward(x) for _ in range(2)]
    assert len(warned) == 1
    assert not np.allclose(after[0], before)
    np.testing.assert_allclose(after[0], states(layer, x), rtol=1e-12)
    np.testing.assert_array_equal(after[1], after[0])


def test_an_update_on_cuda_follows_a_formula_that_is_replaced(monkeypatch):
    def formula(W, g, *, lr, decay):
        W += g

    monkeypatch.setattr(optimizers.SGD, "_formula", staticmethod(formula))
    W = np.zeros(2)
    with pytest.warns(UserWarning, match=TEXT.format("_formula")):
        cuda.update_all(
            optimizers.SGD._formula,
            [optimizers.Update(W, np.ones(2), {}, {"lr": 1.0, "decay": 0.0})],
        )
    assert W.tolist() == [1, 1]


def test_without_sources_the_package_is_as_it_was_and_anything_else_is_not(monkeypatch):
    monkeypatch.setattr(formulas.linecache, "getlines", lambda *arguments: [])
    assert formulas.Formula("lstm_steps").is_current()
    made = {}
    exec("def lstm_step(a, h_prev, c_prev, Wh): pass", made)
    monkeypatch.setattr(lstm, "lstm_step", made["lstm_step"])
    with pytest.warns(UserWarning, match=TEXT.format("lstm_step")):
        assert not formulas.Formula("lstm_steps").is_current()


def test_training_names_the_layers_that_run_their_plain_form(monkeypatch):
    model = RNNLM(vocab_size=9, embed_size=4, hidden_size=4)
    assert plain_forms(model) == []
    monkeypatch.setattr(lstm, "lstm_step", other_step)
    with pytest.warns(UserWarning, match="lstm_step"):
        assert plain_forms(model) == ["  in their plain form: lstm_steps (in TimeLSTM)"]


# --- A copy of the package ---------------------------------------------------------------------

RUN = """
import sys, warnings
import numpy as np
sys.path.insert(0, sys.argv[1])
import deepnlp, deepnlp.models, deepnlp.optimizers
from deepnlp import kernels
from deepnlp.layers import TimeLSTM
assert deepnlp.__file__.startswith(sys.argv[1])
deepnlp.seed(0)
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    layer = TimeLSTM.init(3, 4, dtype="float64")
    for _ in range(2):
        y = layer.forward(np.ones((2, 5, 3)))
    print(float(y.sum()))
    print(*sorted(kernel.name for kernel in kernels.without_quick_form()))
print(*sorted(str(warning.message) for warning in warned), sep="\\n")
"""


def run_copy(folder, edit):
    """The sum of a TimeLSTM's output, the kernels without quick form, and the warnings."""
    shutil.copytree(PACKAGE, folder / "deepnlp", ignore=shutil.ignore_patterns("__pycache__"))
    edit(folder / "deepnlp")
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(folder)], capture_output=True, text=True, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    total, names, *warned = done.stdout.splitlines()
    return float(total), names.split(), [text for text in warned if text]


def replaced(file, old, new):
    def edit(package):
        text = (package / file).read_text("utf-8")
        assert old in text
        (package / file).write_text(text.replace(old, new), "utf-8")

    return edit


def test_an_edited_step_is_the_step_that_runs(tmp_path):
    unchanged = run_copy(tmp_path / "a", lambda package: None)
    commented = run_copy(
        tmp_path / "b",
        replaced("layers/lstm.py", "    h = o * tanh_c\n", "    # shown\n\n    h = (o * tanh_c)\n"),
    )
    total, names, warned = run_copy(
        tmp_path / "c", replaced("layers/lstm.py", "    h = o * tanh_c\n", "    h = o * c\n")
    )
    assert commented == unchanged
    assert unchanged[1:] == ([], [])
    assert (names, warned) == (["lstm_steps"], [TEXT.format("lstm_step")])
    deepnlp.seed(0)
    layer, x = TimeLSTM.init(3, 4, dtype="float64"), np.ones((2, 5, 3))
    assert unchanged[0] == layer.forward(x).sum()
    assert abs(total - unchanged[0]) > 1e-3


def test_an_edit_of_any_formula_is_followed(tmp_path):
    """A line more in every function, a number changed: each kernel of NumPy warns and is plain."""
    ours = {
        place
        for kernel in fast.FORMS
        for place in formulas.RECORDED[kernels._KERNELS[kernel].formula.name]
    }

    def edit(package):
        for place in ours:
            holder, name = formulas.lookup(place)
            value = formulas.plain_form(vars(holder)[name])
            if callable(value):
                file = package / Path(value.__code__.co_filename).relative_to(PACKAGE)
                lines = file.read_text("utf-8").split("\n")
                start = next(
                    k for k, line in enumerate(lines) if line.startswith(f"def {value.__name__}(")
                )
                end = next(k for k in range(start, len(lines)) if lines[k].endswith(":"))
                lines.insert(end + 1, "    (lambda: None)()")
                file.write_text("\n".join(lines), "utf-8")

    _, names, warned = run_copy(tmp_path, edit)
    assert names == sorted(fast.FORMS)
    functions = {place.partition(":")[2] for place in ours} - {"GELU_A", "GELU_B", "MANY"}
    assert {*warned} == {TEXT.format(name) for name in functions}
