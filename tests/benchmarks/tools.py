"""Results without a measurement: every contestant answers at once what it is told to."""

from benchmarks.contestants.bottleneck import PLAIN, name_of
from benchmarks.contestants.layers import CASES
from benchmarks.contestants.scan import KINDS
from benchmarks.contestants.techniques import EXPERIMENTS, IDLE, families
from benchmarks.run import run_suite
from benchmarks.settings import Settings

SOURCE = {"commit": "0123456789abcdef", "dirty": False}

PARTS = {"embedding": 0.03, "dropout": 0.04, "LSTM": 0.25, "output and loss": 0.55}
ENDS = {"clip": 0.03, "update": 0.05, "rest": 0.05}


def both(forward, backward):
    return {"forward_ms": forward, "backward_ms": backward}


def answer(entry, settings):
    """Numbers of about the right size, from the sizes alone."""
    options = settings.shape | entry.options | entry.at
    tokens = options["N"] * options["T"]
    H = options.get("H", 0)
    ms = tokens * (0.03 + 6e-6 * options["V"] + 4e-7 * H * options["V"] / 10 + 1e-6 * H * H)
    slower = 1.3 if entry.work.startswith("torch_") else 1.0
    step = {"train_ms": slower * ms, "memory_mb": 60 * slower, "eval_ms": slower * ms / 3}
    if entry.work in ("language_model", "torch_language_model"):
        return {"step": step}
    if entry.work == "products":
        whole = {"train_ms": ms / 1.2, "eval_ms": ms / 4}
        return {"step": whole, "LSTM": both(0.04 * ms, 0.06 * ms), "output": both(ms / 6, ms / 3)}
    if entry.work in ("layers", "torch_layers"):
        names = [name for name in options.get("only", CASES) if slower == 1 or name != "TimeGRU"]
        return {name: {**both(slower, 2 * slower), "parameters": 100.0} for name in names}
    if entry.work in ("scan", "torch_scan"):
        rows = ("loop", "scan") if slower > 1 else (*KINDS, "products")
        return {row: {"step_ms": ms / (1 + len(row))} for row in (*rows, "TimeLSTM")}
    if entry.work in ("generation", "torch_generation"):
        return {"step": {"token_ms": slower * 4 * H / 1000}}
    if entry.work in ("gpt", "torch_gpt"):
        return {"step": {**step, "kept_ms": slower, "anew_ms": 9 * slower}}
    if entry.work in ("word2vec", "gensim_word2vec"):
        return {"training": {"words_per_s": 2e5 / slower, "men": 0.2, "wordsim353": 0.1}}
    if entry.work in ("seq2seq", "torch_seq2seq"):
        return {"step": {"train_ms": slower * ms, "tokens_per_s": 3e3, "memory_mb": 60 * slower}}
    if entry.work in ("translation", "torch_translation"):
        searches = {search: {"bleu": 30 + slower, "half": 0.9} for search in ("greedy", "beam 5")}
        training = {"tokens_per_s": 3e3 / slower, "updates": 900.0, "perplexity": 4.0}
        return {"training": training, **searches, "nrefs:1|case:lc": {"texts": 1000.0}}
    if entry.work == "memory_growth":
        return {"step": {"memory_mb": 1.0 + options["length"] / 1e6}}
    if entry.work == "processes":
        if not H:
            return {str(n): {"sum_ms": 0.1 + n / 1e6} for n in (0, 10_000, 1_000_000)}
        parts = {"computed_ms": ms / options["P"], "exchanged_ms": ms / 5, "updated_ms": ms / 9}
        return {"step": parts | {"step_ms": sum(parts.values()), "numbers": 1e6}}
    if entry.work == "profile":
        parts = {part: both(share * ms / 3, share * ms * 2 / 3) for part, share in PARTS.items()}
        ends = {part: {"ms": share * ms} for part, share in ENDS.items()}
        return {"step": {"ms": ms}, **parts, **ends}
    if entry.work == "peak":
        return {"peak": {"gflops": 190.0, "gbytes": 20.0}}
    if entry.work == "precision":
        rows = {"float32": 1e-7, "TF32, emulated": 3e-4}
        return {row: {"largest": error, "mean_square": error / 2} for row, error in rows.items()}
    if entry.work == "drift":
        errors = {"step_loss": 1e-7, "step_gradient": 1e-6, "loss": 1e-5, "perplexity": 1e-4}
        return {row: {**errors, "weights": 1e-3, "reached": 99.0} for row in ("SGD", "Adam")}
    if entry.work == "soak":
        done = {"minutes": 10.0, "steps": 2e4, "generated": 1e5, "evaluated": 2e6}
        held = {"held_mb": 80.0, "grown_mb": 0.1, "objects_mb": 2.0, "objects_grown_mb": 0.0}
        return {"soak": {**done, **held}}
    if entry.work == "bottleneck":
        sizes = {PLAIN: 1.0, **{name_of(m): (m + 50) / 600 for m in options["bottlenecks"]}}
        return {row: {"train_ms": 99 * x, "parameters": 6e6 * x} for row, x in sizes.items()}
    assert entry.work == "techniques"
    rows = [f"kernels: {family}" for family in families()] + [*EXPERIMENTS, IDLE]
    gains = {row: 1 + 0.07 * k for k, row in enumerate(reversed(rows))}
    return {row: {"without_ms": gain * ms, "with_ms": ms} for row, gain in gains.items()}


def fake_result(monkeypatch, suite, **options):
    """A result of a suite in which nothing was measured."""
    monkeypatch.setattr("benchmarks.harness.start", answer)
    # PyTorch takes part by name only: its version is asked for, and it need not be installed.
    monkeypatch.setattr("benchmarks.machine.importlib.metadata.version", lambda _: "2.13.0")
    return run_suite(suite, Settings(**{"threads": 2, "rounds": 3} | options), SOURCE)
