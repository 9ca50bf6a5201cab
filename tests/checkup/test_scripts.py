"""Programs as they are: what is taken for what, and what is found in them."""

import pytest

from deepnlp.checkup.scripts import check_file
from deepnlp.cli.main import main

PROGRAM = """
import numpy as np

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 5))
y = X @ np.array([1.0, -2.0, 0.5, 0.0, 3.0])
W, b = 0.1 * rng.normal(size=5), np.zeros(1)
lr, batch_size = 0.1, 10


def mse(X, y):
    return ((X @ W + b - y) ** 2).mean()


def evaluate(X, y):
    return mse(X, y)


def train(epochs=20):
    for epoch in range(epochs):
        order = rng.permutation(len(X))
        for i in range(0, len(X), batch_size):
            xb, yb = X[order[i : i + batch_size]], y[order[i : i + batch_size]]
            error = xb @ W + b - yb
            loss = (error**2).mean()
            dW, db = 2 * xb.T @ error / len(xb), 2 * error.mean()
            W[:] -= lr * dW
            b[:] -= lr * db
        print(epoch, loss, evaluate(X, y))
        open("losses.txt", "a").write(str(loss))


if __name__ == "__main__":
    train()
"""
MISTAKES = {
    "uphill": ("W[:] -= lr * dW", "W[:] += lr * dW"),
    "every batch is the same": ("[order[i : i + batch_size]]", "[:batch_size]"),
    "inputs and targets are shuffled apart": ("y[order[", "y[rng.permutation(60)["),
    "nothing moves": ("lr, batch_size = 0.1", "lr, batch_size = 0.0"),
    "evaluation changes the weights": ("return mse(X, y)", "W[:] *= 0.9\n    return mse(X, y)"),
}


def written(folder, text):
    file = folder / "train.py"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_right_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report = check_file(written(tmp_path, PROGRAM))
    assert report.ok, report
    assert report.taken["batch"] == "xb, yb"
    assert report.taken["evaluation"] == "evaluate(X, y)"
    assert [path.name for path in tmp_path.iterdir()] == ["train.py"]


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(tmp_path, name):
    old, new = MISTAKES[name]
    report = check_file(written(tmp_path, PROGRAM.replace(old, new)))
    assert name in [one.name for one in report.causes if one.is_wrong], report


def test_the_command(tmp_path, capsys):
    assert main(["checkup", str(written(tmp_path, PROGRAM)), "--quiet"]) == 0
    assert not capsys.readouterr().out
    wrong = PROGRAM.replace(*MISTAKES["uphill"])
    assert main(["checkup", str(written(tmp_path, wrong))]) == 1
    assert "WRONG: uphill" in capsys.readouterr().out
    assert main(["checkup", str(written(tmp_path, "x = 1\n"))]) == 2
    assert "say --step NAME" in capsys.readouterr().err
