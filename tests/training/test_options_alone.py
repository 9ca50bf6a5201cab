"""Every model, task and option runs alone, with the defaults of all others."""

import re
from itertools import product
from pathlib import Path

import pytest

from deepnlp.options import Choice, Option
from deepnlp.tasks import TASKS
from deepnlp.training import build_trainer, configure
from deepnlp.training.config import all_options

WORDS = product(("old", "big", "red"), ("ran", "sat", "lay"), ("two", "ten", "all"), "Iit")
LINES = [f"The {a} cat {b} on {c} mats and {d} ran to Rose." for a, b, c, d in WORDS]

# What is refused because it contradicts another option's default, and how the error says so.
REFUSED = {
    "embed_size": "embed_size = hidden_size|D a multiple of the number of heads",
    "hidden_size": "embed_size = hidden_size",
    "heads": "D a multiple of the number of heads",
    "kv_heads": "should divide the 4 heads",
    "context": "time_size should be at most the model's context|context='every' is for attention",
    "attention": "attention='dot' needs states of encoder and decoder of one size",
    "input_matrix": "of cell='rnn'",
    "reset_after": "of cell='gru'",
    "output_words": "belongs to model='rnnlm'|or 0 for all",
    "betas": "two numbers",
    "vary_time": "for windows=.contiguous.",
    "vocab_size": "3 or more",
    "max_length": "at most max_length",
}
MODELS = [
    (task, model)
    for task, kind in TASKS.items() if not kind.counted
    for part in [kind.parts["model"]]
    for model in (part.alternatives if isinstance(part, Choice) else [None])
]  # fmt: skip


def values_of(option: Option) -> list[object]:
    """All choices, both of a switch, and of numbers some other than the default."""
    if option.choices or option.kind is bool:
        return [v for v in option.choices or (True, False) if v != option.default]
    number = {int: 3, float: 0.3}.get(option.kind)
    return [] if number is None or not option.in_range(number) else [number]


@pytest.mark.parametrize(("task", "model"), MODELS)
def test_every_option_alone(tmp_path: Path, task: str, model: str | None) -> None:
    pairs = task == "seq2seq"
    corpus = tmp_path / ("pairs.tsv" if pairs else "text.txt")
    lines = [f"{line}\t{line[::-1]}" for line in LINES] if pairs else LINES
    corpus.write_text("\n".join(lines), encoding="utf-8")
    given = {"corpus": str(corpus), "epochs": 99}  # more steps than those of a warm-up
    given |= {} if model is None else {"model": model}
    build_trainer(configure(None, given, task), progress=False)
    refusals = {}
    for name, option in all_options(task, configure(None, given, task)).items():
        for value in values_of(option) if name not in {"model", *given} else []:
            try:
                build_trainer(configure(None, {**given, name: value}, task), progress=False)
            except ValueError as error:
                refusals[name] = str(error)
    for name, text in refusals.items():
        assert re.search(REFUSED.get(name, "^$"), text), f"--{name}: {text}"
