"""Verdict on a run by its figures: how good it is, what it is like, and what would help."""

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

from deepnlp.checkup.report import Cause, Report, cause, row_of
from deepnlp.errors import DeepNLPError
from deepnlp.training import Result, RunFolder

Rows = Sequence[Mapping[str, Any]]


def check_run(folder: str | PathLike[str]) -> Report:
    """Return what the figures of a run say that is running, or has ended.

    Parameters
    ----------
    folder : path
        That of the run.

    Raises
    ------
    DeepNLPError
        If there is no run, or no epoch of it has ended.
    """
    run = RunFolder(folder)
    history, result = run.read_metrics(), Result.of(run)
    if not history and result is None:
        raise DeepNLPError(f"{folder} holds no run that has ended an epoch: expected metrics.jsonl")
    options: dict[str, Any] = {}
    if run.config.is_file():
        options = tomllib.loads(run.config.read_text("utf-8"))
    return verdict(history, result, options, str(folder))


def verdict(
    history: Rows, result: Result | None, options: Mapping[str, Any], name: str = "run"
) -> Report:
    """Return the same from the figures themselves.

    Parameters
    ----------
    history : sequence of dict
        A row for each epoch, as in ``metrics.jsonl``.
    result : Result, optional
        Of a run that has ended.
    options : mapping
        Those of ``config.toml``; ``lr`` and ``max_norm`` are looked at.
    name : str
    """
    metric = next(iter(result.figures), "perplexity") if result else "perplexity"
    rows = [
        row_of("figures", _level(history, result, metric)),
        row_of("course", _course(history, metric, len(history))),
        row_of("rate", _rate(history, metric)),
        row_of("gradient", _gradient(history, options)),
    ]
    return Report(name, rows, {}, history[-1]["step"] if history else 0)


def sentences(report: Report) -> list[str]:
    """Return the lines of a verdict behind a run: each cause and its remedy, or how good it is."""
    said = [f"{one}\n  {one.change}" for one in report.causes]
    return said or [report.rows[0].note]


def _level(history: Rows, result: Result | None, metric: str) -> Iterator[Cause | str]:
    """How good a run is, beside guessing and counting."""
    if result is not None and result.status == "diverged":
        yield cause("the run has diverged", step=result.steps)
        return
    best = _best(history, metric)
    if result is not None:
        best = (result.figures.get(metric) or {}).get("valid") or best
    if best is None or metric != "perplexity":
        yield "" if best is None else f"{metric} {best:.2f}"
        return
    V = result.corpus.get("vocabulary") if result is not None else None
    V = V[-1] if isinstance(V, list) else V
    if V and best > V:
        yield cause("worse than guessing", perplexity=best, V=V)
        return
    baselines = result.baselines if result is not None else {}
    levels = {n: float(f["valid"] or 0) for n, f in baselines.items() if f.get("valid")}
    unigram = levels.get("unigram")
    if unigram and best > 0.97 * unigram:
        yield cause("only frequencies are learned", perplexity=best, unigram=unigram)
        return
    better = {n: level for n, level in levels.items() if level < best}
    if better:
        first = min(better, key=lambda n: better[n])
        yield cause("counting does better", False, name=first, level=better[first], perplexity=best)
    passed = sorted(levels, key=lambda n: levels[n])
    above = next((n for n in passed if levels[n] >= best), None)
    told = f", better than the {above} ({levels[above]:.2f})" if above else ""
    among = f" among {V:,}" if V else ""
    yield f"perplexity {best:.2f}{among}, {math.log2(best):.2f} bits{told}"


def _course(history: Rows, metric: str, n: int) -> Iterator[Cause | str]:
    """Where a run was best, and what came after."""
    key, trained = f"valid_{metric}", f"train_{metric}"
    valid = [row.get(key) for row in history]
    if n < 2 or not all(isinstance(v, int | float) and math.isfinite(v) for v in valid):
        yield f"{n} epoch{'' if n == 1 else 's'}"
        return
    sign = _sign(history, metric)
    scores = [sign * float(v or 0) for v in valid]
    best = scores.index(min(scores))
    idle, size = n - 1 - best, abs(scores[best]) or 1.0
    worse = (scores[-1] - scores[best]) / size
    train = [row.get(trained) for row in history]
    told = {"best": valid[best], "k": best + 1, "last": valid[-1], "n": n, "idle": idle}
    if all(isinstance(v, int | float) for v in train) and sign > 0:
        is_learning = float(train[-1] or 0) < 0.98 * float(train[best] or 0)
        if idle >= 2 and worse > 0.02 and is_learning:
            yield cause("overfitting", False, **told, train=train[-1])
            return
    if idle >= 2 and worse > 0.1:
        yield cause("it became worse", sign > 0 and worse > 0.5, **told)
    elif idle >= max(3, n // 3):
        yield cause("idle epochs", False, **told)
    jumps = [k for k in range(1, n) if sign > 0 and scores[k] > 1.5 * scores[k - 1]]
    if jumps and not (idle >= 2 and worse > 0.1):
        yield cause(
            "a jump", False, k=jumps[0] + 1, before=valid[jumps[0] - 1], after=valid[jumps[0]]
        )
    gain = (scores[-2] - scores[-1]) / size
    if best == n - 1 and gain > (0.02 if sign > 0 else 0.005):
        yield cause("still getting better", False, **told, gain=gain)
    yield f"best after epoch {best + 1} of {n}"


def _rate(history: Rows, metric: str) -> Iterator[Cause | str]:
    """How the learning rate went."""
    rates = [float(row["lr"]) for row in history if isinstance(row.get("lr"), int | float)]
    valid = [row.get(f"valid_{metric}") for row in history]
    if len(rates) < 4 or rates[0] <= 0:
        yield f"{rates[0]:.3g}" if rates else ""
        return
    small = next((k for k, rate in enumerate(rates) if rate < 1e-3 * max(rates)), None)
    if small is not None and small < 0.7 * len(rates):
        yield cause("the rate fell too early", False, k=small + 1, n=len(rates), last=rates[-1])
    elif min(rates) == max(rates) and all(isinstance(v, int | float) for v in valid[-3:]):
        a, _, b = (float(v or 0) for v in valid[-3:])
        if abs(a - b) < 0.01 * abs(a):
            yield cause("the rate never fell", False, rate=rates[0], n=len(rates))
    yield f"{max(rates):.3g} to {rates[-1]:.3g}"


def _gradient(history: Rows, options: Mapping[str, Any]) -> Iterator[Cause | str]:
    """How often the gradient was clipped."""
    norms = [float(row["gradient_norm"]) for row in history if row.get("gradient_norm") is not None]
    limit = options.get("max_norm")
    if not norms:
        return
    if isinstance(limit, int | float) and limit > 0 and min(norms) > 4 * limit:
        yield cause("always clipped", False, norm=min(norms), limit=limit)
    yield f"norm {norms[0]:.2g} to {norms[-1]:.2g}"


def _best(history: Rows, metric: str) -> float | None:
    """The best figure on the validation data, None where there is none."""
    values = [row.get(f"valid_{metric}") for row in history]
    finite = [float(v) for v in values if isinstance(v, int | float) and math.isfinite(v)]
    return min(finite, key=lambda v: _sign(history, metric) * v, default=None)


def _sign(history: Rows, metric: str) -> int:
    """-1 of a metric of which more is better, as the epochs say that were the best so far."""
    values = [float(row.get(f"valid_{metric}") or 0) for row in history]
    later = [k for k, row in enumerate(history) if k and row.get("best")]
    return -1 if later and values[later[0]] > max(values[: later[0]]) else 1
