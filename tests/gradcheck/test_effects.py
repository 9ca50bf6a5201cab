"""A check does nothing but what the learner's own code does, and not much more often."""

import ast
import os
import random
import shutil
import sys
import threading

import numpy as np
import pytest

from deepnlp.diagnosis.evaluating.evaluator import Evaluated, Evaluator, Frame
from deepnlp.diagnosis.evaluating.guard import LimitError
from deepnlp.gradcheck import check_gradients

LOG = []


class Affine:
    """y = x W + b, whose backward has the wrong gradient of b, and an effect in some classes."""

    folder = ""

    def __init__(self):
        rng = np.random.default_rng(1)
        self.params = [rng.normal(size=(4, 5)), rng.normal(size=5)]
        self.grads = [np.zeros((4, 5)), np.zeros(5)]

    def forward(self, x):
        self.x = x
        return x @ self.params[0] + self.params[1]

    def backward(self, dout):
        W, _ = self.params
        self.effect(dout)
        self.grads[0][...] = self.x.T @ dout
        self.grads[1][...] = dout.mean(axis=0)
        return dout @ W.T

    def effect(self, dout):
        pass


def by_line(report):
    """Whether the report quotes the wrong line."""
    return "mean(axis=0)`" in str(report)


class Removes(Affine):
    def effect(self, dout):
        folder = self.folder
        scratch = os.path.join(folder, "scratch")  # noqa: PTH118
        os.makedirs(scratch, exist_ok=True)  # noqa: PTH103
        shutil.rmtree(scratch)


class Saves(Affine):
    def effect(self, dout):
        weights_file, gradient_file = self.folder + "/thesis.npy", self.folder + "/dW.npy"
        assert weights_file
        np.save(gradient_file, dout)


class Writes(Affine):
    def effect(self, dout):
        names = [self.folder + "/thesis.npy", self.folder + "/log"]
        with open(names[1], "w") as file:  # noqa: PTH123
            file.write(f"{dout.sum()} {names[0]}")


class Appends(Affine):
    def effect(self, dout):
        LOG.append(dout.shape)


class Draws(Affine):
    def effect(self, dout):
        LOG.append(random.random())


class Maps(Affine):
    def effect(self, dout):
        self.mapped = np.memmap(self.folder + "/map", dtype=float, mode="w+", shape=dout.shape)
        self.mapped[...] = dout


EFFECTS = [Removes, Saves, Writes, Appends, Draws, Maps]
ON_COPIES = [Appends]  # a changed form appends to a copy


def count_runs(call):
    """How often ``Affine.effect`` of any class runs."""
    runs = []

    def look(frame, event, _):
        if event == "call" and frame.f_code.co_name == "effect":
            runs.append(frame)

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(runs)


@pytest.mark.parametrize("kind", EFFECTS)
def test_what_has_effects_runs_as_it_is_and_few_times(tmp_path, kind):
    kind.folder = str(tmp_path)
    (tmp_path / "thesis.npy").write_bytes(b"four years of work")
    layer, x = kind(), np.random.default_rng(0).normal(size=(3, 4))
    layer.forward(x)
    layer.backward(np.ones((3, 5)))
    before = sorted(path.name for path in tmp_path.iterdir())
    reports = []
    logged = len(LOG)
    runs = count_runs(lambda: reports.append(check_gradients(layer, x)))
    assert len(LOG) - logged in (0, runs)
    assert not reports[0].ok
    assert runs <= 12
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert (tmp_path / "thesis.npy").read_bytes() == b"four years of work"
    assert by_line(reports[0]) is (kind in ON_COPIES)  # no other form was run


def test_a_file_is_left_as_the_given_inputs_leave_it(tmp_path):
    """Though backward has run on more samples, to see whether its mistake is the same there."""
    Saves.folder = str(tmp_path)
    assert not check_gradients(Saves(), np.ones((3, 4))).ok
    assert np.load(tmp_path / "dW.npy").shape == (3, 5)


def test_what_only_computes_is_told_by_its_line():
    class Helped(Affine):
        def effect(self, dout):
            halves = [np.add.reduce(part) for part in np.split(dout, 3)]
            self.total = sum(float(half.sum()) for half in halves)

    assert by_line(check_gradients(Affine(), np.ones((3, 4))))
    assert by_line(check_gradients(Helped(), np.ones((3, 4))))


def test_a_print_is_silent_in_changed_forms(capsys):
    class Prints(Affine):
        def effect(self, dout):
            print("dout", dout.shape)

    assert by_line(check_gradients(Prints(), np.ones((3, 4))))
    assert len(capsys.readouterr().out.splitlines()) <= 12
    print("heard")
    assert capsys.readouterr().out == "heard\n"


def test_a_loop_that_a_change_makes_endless_ends():
    class Unbroadcast(Affine):
        def backward(self, dout):
            W, b = self.params
            self.grads[0][...] = self.x.T @ dout
            g = dout
            while g.ndim > b.ndim:
                g = g.mean(axis=0)
            self.grads[1][...] = g
            return dout @ W.T

    assert by_line(check_gradients(Unbroadcast(), np.ones((3, 4))))


class Fills(Affine):
    """A change of a size could ask for more memory than there is."""

    def effect(self, dout):
        n = len(dout)
        self.total = np.zeros((n, 10**5)).sum() + len([0] * n**3) + (2**n) ** n


class Strides(Affine):
    """A change of a stride could reach beyond the array."""

    def effect(self, dout):
        rows = np.lib.stride_tricks.as_strided(dout, (3, 5), dout.strides)
        self.total = float(rows.sum())


class Recurses(Affine):
    def effect(self, dout, depth=3):
        if depth > 0:
            self.effect(dout, depth - 1)


@pytest.mark.parametrize("kind", [Fills, Strides, Recurses])
def test_changed_forms_have_limits(kind):
    assert by_line(check_gradients(kind(), np.ones((3, 4))))


def test_what_a_view_by_strides_must_not_reach_is_refused():
    x = np.ones((3, 4))
    guard = Evaluator().guard
    as_strided = np.lib.stride_tricks.as_strided
    assert guard.call(as_strided, [x, (2, 4), x.strides], {}).shape == (2, 4)
    for shape, strides in (((4, 4), x.strides), ((3, 4), (64, 8)), ((3, 4), (-32, 8))):
        with pytest.raises(LimitError):
            guard.call(as_strided, [x, shape, strides], {})


@pytest.mark.parametrize(
    "text",
    [
        "np.zeros((10**6, 10**6))", "np.eye(10**6)", "np.arange(0, 1e12)", "np.arange(0, 1, 1e-12)",
        "[0] * 10**12", "10 ** 10**9", "1 << 10**12", "np.tile(x, 10**9)", "np.outer(y, y)",
        "y[:, None] * y", "np.bincount([10**12])", "list(range(10**12))", "np.repeat(x, 10**10)",
        "np.pad(x, 10**6)", "x.repeat(10**10)", "np.einsum('i,j->ij', y, y)",
        "y[:, None] @ y[None]", "np.linspace(0, 1, 10**10)",
        "np.zeros_like(x, shape=(10**6, 10**6))", "np.fft.fft(y, 10**10)", "pow(10, 10**9)",
        "np.add.outer(y, y)", "'a' * 10**12",
    ],
)  # fmt: skip
def test_what_takes_too_much_memory_is_refused(text):
    function = eval(f"lambda x, y: {text}", {"np": np})
    evaluator = Evaluator()
    tree = ast.parse(text, mode="eval").body
    frame = Frame(Evaluated(evaluator, ast.parse("lambda: 0").body[0].value, function), {})
    frame.names.update(x=np.ones((3, 4)), y=np.ones(100_000))
    evaluator.guard.most = 1_000_000
    with pytest.raises(LimitError):
        evaluator.value(tree, frame)


def test_an_exit_is_an_error_of_the_checked_code():
    class Exits(Affine):
        def effect(self, dout):
            sys.exit("shape mismatch")

    with pytest.raises(RuntimeError, match=r"Exits: its code ended the program .*shape mismatch"):
        check_gradients(Exits(), np.ones((3, 4)))


def test_checks_in_threads_give_what_one_gives():
    expected = str(check_gradients(Affine(), np.ones((3, 4))))
    given = []

    def check():
        given.append(str(check_gradients(Affine(), np.ones((3, 4)))))

    threads = [threading.Thread(target=check) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert given == [expected] * 4
