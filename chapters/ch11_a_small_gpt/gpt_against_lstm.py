"""A GPT and an LSTM with as many parameters, after as many tokens, and after as many seconds.

Both share the output with the embedding, are trained by AdamW with warm-up and cosine, and read as
many tokens in a step; their learning rates come from short trials with one seed. The GPT
reads windows from random places and is measured in windows; the LSTM reads the text in order and
carries its state. Beside them stand bigrams, trigrams and 5-grams of as many tokens. Losses are in
bits per byte of the validation text.

    python chapters/ch11_a_small_gpt/gpt_against_lstm.py --corpora pydocs

Data: pydocs, which is built in; with --corpora "pydocs tinyshakespeare wikitext-2" the others, too.
Time: about 12 minutes for each corpus on one core.
Expect: see docs/results/gpt-against-lstm.md.
"""

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp.datasets import Corpus, load_corpus
from deepnlp.evaluation import perplexity
from deepnlp.files.tables import table
from deepnlp.lessons.script import config_from_arguments
from deepnlp.models import GPT, RNNLM
from deepnlp.models.ngrams import KneserNey
from deepnlp.optimizers import AdamW, clip_gradients
from deepnlp.plots import curves


@dataclass
class Config:
    """Texts, sizes and training."""

    corpora: str = "pydocs"
    vocab_size: int = 2000  # byte pairs; tinyshakespeare has characters
    D: int = 128
    blocks: int = 3
    H: int = 0  # of the LSTM; 0: so that it has as many parameters
    T: int = 64
    N: int = 16
    steps: int = 1000
    every: int = 100
    warmup: int = 100
    positions: str = "rotary"
    lr_gpt: float = 0.003
    lr_lstm: float = 0.015
    measured: int = 30_000  # tokens of the validation text
    seeds: int = 3
    out: str = "runs/ch11"


QUICK = Config(vocab_size=300, D=8, blocks=1, T=8, N=2, steps=2, every=1, measured=200, seeds=1)


def main(config: Config) -> dict[str, Any]:
    """Train both on each corpus, keep a log, report, draw; returns the log of each corpus."""
    folder, found = Path(config.out), {}
    folder.mkdir(parents=True, exist_ok=True)
    for name in config.corpora.split():
        options = {} if name == "tinyshakespeare" else {"tokens": "bpe"}
        size = None if name == "tinyshakespeare" else config.vocab_size
        corpus = load_corpus(name, vocab_size=size, **options)
        print(corpus.describe(), flush=True)
        heard = corpus.valid[: config.measured]  # the first token is not predicted
        in_bytes = len(corpus.vocab.detokenize(corpus.vocab.decode(heard[1:])).encode("utf-8"))
        log = {"config": asdict(config), "bytes": in_bytes, "tokens": len(heard) - 1, "runs": {}}
        log["counting"] = counting(corpus, config)
        for kind in ("GPT", "LSTM"):
            log["runs"][kind] = [train(kind, corpus, seed, config) for seed in range(config.seeds)]
        (folder / f"{name}.json").write_text(json.dumps(log) + "\n", encoding="utf-8")
        report(name, log, folder)
        found[name] = log
    return found


def counting(corpus: Corpus, config: Config) -> dict[str, float]:
    """Losses in nats per token of n-grams, fit on as many tokens as the models read."""
    seen, heard = (
        corpus.train[: config.steps * config.N * config.T],
        corpus.valid[: config.measured],
    )
    fitted = {n: KneserNey(n).fit(seen, len(corpus.vocab)) for n in (2, 3, 5)}
    return {f"{n}-gram": float(np.log(model.perplexity(heard))) for n, model in fitted.items()}


def fresh(kind: str, V: int, seed: int, config: Config) -> Any:
    """A GPT, or an LSTM of two layers with about as many parameters."""
    rng, D = np.random.default_rng(seed), config.D
    form: Any = {"heads": 4, "context": config.T, "positions": config.positions}
    gpt = GPT(V, D, config.blocks, rng=rng, **form)
    if kind == "GPT":
        return gpt
    # V H + V + 2 (8 H^2 + 4 H) = the parameters of the GPT
    H = config.H or round((-(V + 8) + ((V + 8) ** 2 + 64 * (gpt.size() - V)) ** 0.5) / 32)
    return RNNLM(V, H, H, layers=2, tie="tied", dropout=0.0, rng=rng)


def train(kind: str, corpus: Corpus, seed: int, config: Config) -> dict[str, Any]:
    """Losses in nats per token at some steps, and processor seconds of training until then."""
    model, rng = fresh(kind, len(corpus.vocab), seed, config), np.random.default_rng(seed)
    optimizer = AdamW(model.parameters(), betas=(0.9, 0.99), weight_decay=0.1, decay="matrices")
    ids, T, N = np.asarray(corpus.train), config.T, config.N
    rows, peak = ids[: len(ids) // N * N].reshape(N, -1), getattr(config, f"lr_{kind.lower()}")
    steps, seconds, losses, spent = [], [], [], 0.0
    for step in range(1, config.steps + 1):
        begun = time.process_time()
        part = max(0, step - config.warmup) / max(1, config.steps - config.warmup)
        optimizer.lr = peak * min(1, step / config.warmup) * (0.55 + 0.45 * np.cos(np.pi * part))
        if kind == "GPT":
            window = ids[rng.integers(0, len(ids) - T - 1, N)[:, None] + np.arange(T + 1)]
        else:
            start = (step - 1) * T % (rows.shape[1] - T - 1)
            window = rows[:, start : start + T + 1]
        model.forward(window[:, :-1], window[:, 1:])
        model.zero_grad()
        model.backward()
        clip_gradients(model.parameters(), 1.0)
        optimizer.step()
        spent += time.process_time() - begun
        if step % config.every == 0 or step == config.steps:
            steps.append(step)
            seconds.append(round(spent, 2))
            losses.append(float(np.log(perplexity(model, corpus.valid[: config.measured]))))
    print(f"{kind}, seed {seed}: {np.exp(losses[-1]):.1f} after {spent:.0f} s", flush=True)
    return {"parameters": model.size(), "steps": steps, "seconds": seconds, "nats": losses}


def bits(log: dict[str, Any], nats: Any) -> np.ndarray:
    """Losses of a token in bits per byte."""
    return np.array(nats) * log["tokens"] / log["bytes"] / np.log(2)


def rows(log: dict[str, Any]) -> list[list[str]]:
    """Cells of the table: a row for each model."""
    runs = log["runs"]
    counts = {name: bits(log, nats) for name, nats in log["counting"].items()}
    found = [[name, "-", f"{loss:.3f}", "-", "-"] for name, loss in counts.items()]
    least = min(np.mean([run["seconds"][-1] for run in of]) for of in runs.values())
    for kind, of in runs.items():
        ends = [bits(log, run["nats"])[-1] for run in of]
        then = [np.interp(least, run["seconds"], bits(log, run["nats"])) for run in of]
        shown = [" ".join(f"{one:.3f}" for one in some) for some in (ends, then)]
        seconds = np.mean([run["seconds"][-1] for run in of])
        found.append([kind, f"{of[0]['parameters']:,}", *shown, f"{seconds:.0f}"])
    return found


def report(name: str, log: dict[str, Any], folder: Path) -> None:
    """Print a table, and draw the losses against the seconds."""
    heads = ["model", ">parameters", ">bits per byte", ">after as many seconds", ">s in all"]
    print(table(heads, rows(log)), flush=True)
    lines = {}
    for kind, of in log["runs"].items():
        both = [(run["seconds"], bits(log, run["nats"])) for run in of]
        lines[kind] = tuple(np.mean(both, axis=0))
    title = f"{name}: {' and '.join(f'{k} {of[1][-1]:.3f}' for k, of in lines.items())} in the end"
    labels = {"xlabel": "processor seconds of training", "ylabel": "bits per byte (validation)"}
    curves(lines, title=title, path=folder / f"{name}.png", **labels)


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
