"""Write the golden files of today's format: ``python -m tests.golden.make``.

Here is one small model, and one training run in its middle, beside what they computed when they
were written. They are written again when the format changes, and only then.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp.backend import asarray, asnumpy
from deepnlp.checkpoint import save
from deepnlp.evaluation import score
from deepnlp.generation import generate_ids
from deepnlp.models import RNNLM, RegularisedRNNLM
from tests.training.tools import STEPS_AN_EPOCH, WORDS, Killed, stop_at, tiny_corpus, tiny_trainer

FOLDER = Path(__file__).parent
IDS = np.array([[0, 3, 5, 7, 2], [9, 10, 1, 4, 6]])
TEXT = "a b c d e f\ng h i a\n"
STOPPED_AT = 20


def golden_model() -> RegularisedRNNLM:
    """An LSTM and a tie with L, its weights far from fresh ones."""
    rng = np.random.default_rng(12)
    model = RegularisedRNNLM(
        len(WORDS), 4, [6, 5], tie="tied+L", dropout=0.3, weight_drop=0.2, rng=rng
    )
    for parameter in model.parameters():
        parameter.value[...] = asarray(rng.normal(size=parameter.shape).astype("float32"))
    model.vocab = tiny_corpus().vocab
    return model


def computed(model: Any) -> dict[str, Any]:
    """What a model is, and what it says: scores, surprisals, and a text written greedily."""
    model.eval().reset_state()
    weights = {name: asnumpy(p.value) for name, p in model.named_parameters()}
    return {
        "config": model.config(),
        "tokens": list(model.vocab.tokens),
        "weights": {name: sha256(x.tobytes()).hexdigest() for name, x in weights.items()},
        "logits": asnumpy(model.logits(asarray(IDS))).tolist(),
        "bits": list(score(model, TEXT).surprisals),
        "greedy": list(generate_ids(model, [3], 12, greedy=True)),
    }


def resumed(folder: Path) -> dict[str, Any]:
    """What a stopped run reaches in the end."""
    result = tiny_trainer(folder).fit(resume=True)
    assert (result.status, result.steps) == ("finished", 3 * STEPS_AN_EPOCH)
    return result.figures["perplexity"]


def main() -> None:
    """Write the model, the stopped run and what they compute."""
    version, model = format_of_today(), golden_model()
    save(FOLDER / f"model-{version}.npz", model)
    run = FOLDER / f"run-{version}"
    trainer = tiny_trainer(run)
    stop_at(trainer, STOPPED_AT, "kill")
    with suppress(Killed):
        trainer.fit()
    for name in ("learning_curve.png", ".lock"):
        (run / name).unlink()
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copytree(run, Path(folder) / "run")
        found = {"model": computed(model), "run": resumed(copy)}
    text = json.dumps(found, indent=1) + "\n"
    (FOLDER / f"computed-{version}.json").write_text(text, encoding="utf-8")


def format_of_today() -> int:
    """The number of the format that a checkpoint states."""
    with tempfile.TemporaryDirectory() as folder:
        save(Path(folder) / "m.npz", RNNLM(3, 1, 1))
        with np.load(Path(folder) / "m.npz") as file:
            version: int = json.loads(file["meta.json"].tobytes())["version"]
    return version


if __name__ == "__main__":
    main()
