"""CBOW and skip-gram with the full softmax, plugged together by hand, on a real text.

Both models are an embedding, an affine layer without bias and the softmax with its loss. CBOW
averages the vectors of the context; skip-gram draws one word of the context for each centre, so
that both make one prediction per word. Every tenth window is kept for validation.

    python chapters/ch03_word2vec/full_softmax.py

Data: pydocs, the text that comes with Python, 2,000 words and <unk>.
Time: about a minute on one core.
Expect: after 4 epochs CBOW at 4.15 nats per centre and skip-gram at 5.15 per context word, where
the frequencies alone give 5.45; in both the nearest word of integer is int, of function method.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepnlp import no_backward
from deepnlp.backend import asarray, asnumpy
from deepnlp.datasets import load_corpus
from deepnlp.files.tables import table
from deepnlp.layers import Affine, Embedding, SoftmaxWithLoss
from deepnlp.lessons.script import config_from_arguments
from deepnlp.optimizers import Adam
from deepnlp.plots import curves


@dataclass
class Config:
    """Text, window, sizes and training."""

    corpus: str = "pydocs"
    vocab_size: int = 2000
    tokens: int = 0  # of the training text; 0 for all
    window: int = 2
    D: int = 50
    epochs: int = 4
    batch: int = 200
    lr: float = 0.003
    seed: int = 0
    words: str = "function,true,string,file,returns,integer"
    out: str = "runs/ch03"


QUICK = Config(vocab_size=100, tokens=3000, D=4, epochs=1)


def main(config: Config) -> dict[str, list[float]]:
    """Train both, report, draw; returns the validation losses of every epoch by model."""
    corpus = load_corpus(config.corpus, vocab_size=config.vocab_size)
    ids = np.asarray(corpus.train[: config.tokens or None])
    w, n, V = config.window, len(ids), len(corpus.vocab)
    contexts = np.stack([ids[w + k : n - w + k] for k in range(-w, w + 1) if k], axis=1)
    centres = ids[w : n - w]
    frequency = np.bincount(ids, minlength=V) / n
    entropy = float(-np.sum(frequency[frequency > 0] * np.log(frequency[frequency > 0])))

    found, rows = {}, []
    asked = [word for word in config.words.split(",") if word in corpus.vocab.tokens]
    for name in ("CBOW", "skip-gram"):
        vectors, found[name] = train(name, contexts, centres, V, config)
        for word in asked:
            near = nearest(vectors, corpus.vocab.id(word))
            rows.append([name, word, ", ".join(corpus.vocab.token(int(k)) for k in near)])
        print(f"{name}: validation loss {found[name][-1]:.3f} nats per prediction", flush=True)
    print(f"by frequency alone: {entropy:.3f} nats")
    print(table(["model", "word", "nearest"], rows))

    folder = Path(config.out)
    folder.mkdir(parents=True, exist_ok=True)
    epochs = np.arange(1, config.epochs + 1)
    curves(
        {name: (epochs, losses) for name, losses in found.items()},
        title=f"{found['CBOW'][-1]:.2f} nats per centre given its context, "
        f"{found['skip-gram'][-1]:.2f} per context word given its centre",
        xlabel="epoch",
        ylabel="validation loss (nats)",
        levels={"frequency alone": entropy},
        path=folder / "full_softmax.png",
    )
    print(f"figure in {folder}")
    return found


def train(
    name: str, contexts: np.ndarray, centres: np.ndarray, V: int, config: Config
) -> tuple[np.ndarray, list[float]]:
    """Vectors (V, D) of a model trained on windows, and its validation losses."""
    rng = np.random.default_rng(config.seed)
    embed = Embedding.init(V, config.D, rng)
    output, loss = Affine(0.1 * rng.standard_normal((config.D, V), "float32")), SoftmaxWithLoss()
    optimizer = Adam([*embed.parameters(), *output.parameters()], lr=config.lr)
    places = np.arange(len(centres))
    test, learn = places[places % 10 == 0], places[places % 10 > 0]

    def windows(some):
        """Inputs (N, C) or (N, 1) and targets (N,)."""
        if name == "CBOW":
            return asarray(contexts[some]), asarray(centres[some])
        drawn = contexts[some, rng.integers(contexts.shape[1], size=len(some))]
        return asarray(centres[some, None]), asarray(drawn)

    losses = []
    for _ in range(config.epochs):
        for some in np.array_split(rng.permutation(learn), len(learn) // config.batch):
            inputs, targets = windows(some)
            C = inputs.shape[1]
            loss.forward(output.forward(embed.forward(inputs).mean(axis=1)), targets)
            embed.zero_grad()
            output.zero_grad()
            dh = output.backward(loss.backward()) / C
            embed.backward(dh[:, None].repeat(C, axis=1))
            optimizer.step()
        with no_backward():
            inputs, targets = windows(test)
            h = embed.forward(inputs).mean(axis=1)
            losses.append(float(loss.forward(output.forward(h), targets)))
        print(f"{name}, epoch {len(losses)}: {losses[-1]:.3f}", flush=True)
    return asnumpy(embed.W.value), losses


def nearest(vectors: np.ndarray, k: int, count: int = 6) -> np.ndarray:
    """Ids of the words whose vectors have the largest cosine with that of word k."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    order = np.argsort(-(unit @ unit[k]))
    return order[order != k][:count]


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
