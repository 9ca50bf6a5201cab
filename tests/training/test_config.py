import inspect
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from deepnlp.datasets import load_corpus
from deepnlp.models import RNNLM
from deepnlp.optimizers import SGD
from deepnlp.options import fill, options_of, to_toml
from deepnlp.tasks import TASKS, LanguageModelling
from deepnlp.training import (
    Constant,
    TrainConfig,
    Trainer,
    configure,
    recipe,
    recipe_names,
    recipe_text,
)
from deepnlp.training.config import option_groups
from deepnlp.training.runs import build_schedule


def test_a_config_survives_its_toml(tmp_path: Path) -> None:
    config = TrainConfig(
        corpus='a "quoted" \\ path\n\x7f ü 語', lr=1e-5, dropout=0.25, baselines=False, layers=3
    )
    (tmp_path / "config.toml").write_text(config.to_toml(), encoding="utf-8")
    assert TrainConfig.load(tmp_path / "config.toml") == config


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learning_rate": 1.0}, "unknown option 'learning_rate': expected one of corpus, "),
        ({"lr": "fast"}, "lr should be a number, above 0, got 'fast'"),
        ({"lr": 0.0}, "lr should be a number, above 0, got 0.0"),
        ({"lr": float("nan")}, "lr should be a number, above 0, got nan"),
        ({"lr": float("inf")}, "lr should be a number, above 0, got inf"),
        ({"epochs": 2.5}, "epochs should be a whole number, 1 or more, got 2.5"),
        ({"epochs": True}, "epochs should be a whole number, 1 or more, got True"),
        ({"layers": 0}, "layers should be a whole number, 1 or more and at most 100, got 0"),
        ({"dropout": 1.0}, "dropout should be a number, 0 or more and below 1, got 1.0"),
        ({"lr_factor": 2.0}, "lr_factor should be a number, above 0 and at most 1, got 2.0"),
        (
            {"cell": "LSTM"},
            "cell should be one of 'lstm', 'gru', 'rnn', 'mogrifier', 'mingru'",
        ),
        ({"output_bias": 1}, "output_bias should be true or false, got 1"),
        ({"corpus": 7}, "corpus should be a text, got 7"),
    ],
)
def test_a_wrong_option_is_named_with_what_was_expected(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        configure(None, options)
    assert "\n" not in str(caught.value)


def test_a_wrong_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("lr = -1", encoding="utf-8")
    with pytest.raises(ValueError, match=r"mine\.toml: lr should be"):
        TrainConfig.load(path)
    path.write_text("lr = = 1", encoding="utf-8")
    with pytest.raises(ValueError, match=r"mine\.toml: not a TOML file"):
        recipe(str(path))
    with pytest.raises(FileNotFoundError, match=r"no configuration .*other\.toml"):
        TrainConfig.load(tmp_path / "other.toml")


def test_what_is_said_beats_the_recipe_and_the_recipe_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("epochs = 7\nlayers = 1", encoding="utf-8")
    config = configure(str(path), {"epochs": 9})
    assert (config.epochs, config.layers, config.dropout) == (9, 1, 0.1)


def test_an_unknown_recipe_is_answered_with_the_names_there_are() -> None:
    with pytest.raises(ValueError, match=r"unknown recipe 'nothing': expected one of .*book-rnnlm"):
        recipe("nothing")


def test_defaults_are_those_of_the_constructors() -> None:
    """One place for each: the signature that takes the option."""
    config = TrainConfig()
    for function in (RNNLM, LanguageModelling, Trainer, load_corpus, SGD, Constant):
        taken = inspect.signature(function).parameters
        for name, option in options_of(function).items():
            default = taken[option.argument].default
            assert config[name] == (None if default is inspect.Parameter.empty else default)
    assert (config.dropout, config.embed_bound, config.lr) == (0.5, 0.1, None)
    assert TrainConfig(optimizer="adamw").weight_decay == 0.01
    assert TrainConfig(schedule="plateau").lr_factor == 0.25


def test_an_option_without_a_default_is_asked_for_when_it_is_needed() -> None:
    with pytest.raises(ValueError, match="embed_size is missing: expected a whole number, 1 or"):
        fill(RNNLM, TrainConfig(lr=0.1), 7)


def test_an_option_that_several_components_share_says_which() -> None:
    groups = option_groups("lm")
    assert groups["optimizer"]["momentum"].help.startswith("momentum, nesterov, muon: ")
    assert not groups["optimizer"]["lr"].help.startswith("sgd")
    assert [*groups] == ["corpus", "model", "start", "optimizer", "schedule", "training"]


def test_an_unknown_task_is_answered_with_the_names_there_are() -> None:
    with pytest.raises(ValueError, match=r"task should be one of 'lm', .*, got 'chess'"):
        TrainConfig(task="chess")


def test_the_options_of_the_recipes_are_what_they_were() -> None:
    """A frozen table: what every recipe sets differently from the default recipe of its task."""
    frozen = json.loads((Path(__file__).parent / "recipes.json").read_text(encoding="utf-8"))
    assert {*frozen} == {*recipe_names()}
    for name, told in frozen.items():
        config = recipe(name)
        default = frozen[TASKS[config.task].recipe]
        for option, value in {**default, **told}.items():
            assert (config[option] or None) == (value or None), (name, option)


def test_the_recipe_of_the_book_is_the_books() -> None:
    config = recipe("book-rnnlm")
    assert (config.corpus, config.cell, config.layers, config.tie) == ("ptb", "lstm", 1, "none")
    assert (config.embed_size, config.hidden_size, config.dropout) == (100, 100, 0.0)
    assert (config.optimizer, config.lr, config.max_norm) == ("sgd", 20.0, 0.25)
    assert (config.batch_size, config.time_size, config.epochs) == (20, 35, 4)
    assert (config.schedule, config.init) == ("constant", "book")


def test_the_recipe_of_awd_lstm_has_the_size_of_the_papers() -> None:
    config = recipe("awd-lstm")
    assert isinstance(config.hidden_size, list)
    V, D, sizes = 10_000, config.embed_size, config.hidden_size
    inputs = [D, *sizes[:-1]]
    layers = sum(4 * H * (n + H + 1) for n, H in zip(inputs, sizes, strict=True))
    assert round((V * D + V + layers) / 1e6, 1) == 24.2


@pytest.mark.parametrize(
    ("name", "T", "limit", "full", "epochs"),
    [
        ("zaremba-small", 20, 5, 4, 13),
        ("zaremba-medium", 35, 5, 6, 39),
        ("zaremba-large", 35, 10, 14, 55),
    ],
)
def test_the_recipes_of_zaremba_are_theirs_for_a_mean_over_time(
    name: str, T: int, limit: int, full: int, epochs: int
) -> None:
    """Their loss is a sum over the steps of a window, with rate 1."""
    config = recipe(name)
    assert (config.time_size, config.epochs, config.layers) == (T, epochs, 2)
    assert config.lr / T == 1.0
    assert config.max_norm * T == pytest.approx(limit)
    schedule = build_schedule(config, steps=100)
    scales = []
    for _ in range(epochs):
        scales.append(schedule.scale(0))
        schedule.epoch_end(100.0)
    assert scales.index(config.lr_factor) == full
    assert scales[-1] == pytest.approx(config.lr_factor ** (epochs - full))


TRAINING = {
    *("corpus", "embed_size", "tie", "optimizer", "lr", "weight_decay", "max_norm", "schedule"),
    *("lr_floor", "warmup_steps", "epochs", "batch_size"),
}
DECISIVE = {
    "lm": TRAINING
    | {"cell", "layers", "hidden_size", "dropout", "output_bias", "init", "embed_bound"}
    | {"forget_bias", "unigram_bias", "lr_factor", "time_size"},
    "vectors": TRAINING
    | {"model", "loss", "negatives", "window", "subsample", "power", "block", "noise_words"},
    "seq2seq": TRAINING
    | {"task", "cell", "layers", "hidden_size", "dropout", "init", "context", "attention"}
    | {"input_feeding", "bidirectional", "reverse", "lr_factor", "data_seed", "pool"}
    | {"max_length", "metric", "teacher_forcing"},
    "tag": TRAINING - {"tie"}
    | {"task", "cell", "layers", "hidden_size", "dropout", "bidirectional", "lr_factor"}
    | {"min_count", "data_seed", "pool", "max_length"},
    "ngrams": {"task", "corpus", "order"},
}


OF_RECURRENT = {
    *("cell", "hidden_size", "init", "embed_bound", "forget_bias", "unigram_bias", "output_bias"),
    *("lr_factor", "context", "attention", "input_feeding", "bidirectional", "reverse", "tie"),
}
OF_TRANSFORMERS = {"model", "heads", "activation", "norms", "norm", "bias", "betas", "decay"}


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_says_what_decides_a_result(name: str) -> None:
    """So that a change of the defaults never changes a recipe."""
    expected = DECISIVE[recipe(name).task]
    if recipe(name).get("model") in ("gpt", "transformertranslator"):
        expected = (expected - OF_RECURRENT) | OF_TRANSFORMERS
    assert {*tomllib.loads(recipe_text(name))} >= expected
    assert recipe_text(name).startswith("# ")
    assert recipe(name).replace() == recipe(name)


def test_toml_leaves_out_what_it_has_no_word_for() -> None:
    assert to_toml({"a": None, "b": False, "c": 3}) == "b = false\nc = 3\n"
