"""Every option of a training run in one flat table, and recipes: tables that come with deepnlp.

The command line builds its options from the fields below, a recipe is a TOML file of the same
names, and a run folder keeps its own in ``config.toml``. What counts, from the weakest:

    defaults here  <  recipe  <  what the user says
"""

from __future__ import annotations

import dataclasses
import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any

DEFAULT_RECIPE = "default"
TYPE_NAMES = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
}


def option(
    default: Any,
    help: str,
    *,
    group: str,
    choices: tuple[str, ...] = (),
    low: float | None = None,
    above: float | None = None,
    high: float | None = None,
    below: float | None = None,
) -> Any:
    """A field of :class:`TrainConfig`: its default, one line of help, and what it may be.

    Parameters
    ----------
    default : str, int, float or bool
    help : str
    group : str
        The heading it stands under in ``deepnlp train --help``.
    choices : tuple of str
        The texts it may be; empty for any.
    low, above, high, below : float, optional
        Limits: at least, more than, at most, less than.

    Returns
    -------
    dataclasses.Field
    """
    limits = {"low": low, "above": above, "high": high, "below": below}
    metadata = {"help": help, "group": group, "choices": choices, **limits}
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True)
class TrainConfig:
    """All options of a training run; the defaults are those of the recipe ``default``.

    Parameters
    ----------
    **options
        Each field can be given by name; ``TrainConfig.__dataclass_fields__`` holds help, choices
        and limits in ``metadata``.

    Raises
    ------
    ValueError
        Naming the option, what was expected and what came.

    Examples
    --------
    >>> TrainConfig(lr=1).lr
    1.0
    >>> TrainConfig(dropout=1.5)
    Traceback (most recent call last):
        ...
    ValueError: dropout should be a number, 0 or more and below 1, got 1.5
    """

    corpus: str = option(
        "pydocs", "name of a corpus, or path of a text file or folder", group="corpus"
    )
    tokenizer: str = option(
        "",
        "how text is cut into tokens; by default the corpus's own way",
        group="corpus",
        choices=("", "words", "chars", "whitespace"),
    )
    vocab_size: int = option(
        0, "V, most tokens in the vocabulary; 0 for the corpus's own limit", group="corpus", low=0
    )
    min_count: int = option(1, "tokens seen less often become <unk>", group="corpus", low=1)

    cell: str = option("lstm", "recurrent layer", group="model", choices=("lstm", "gru", "rnn"))
    layers: int = option(2, "number of recurrent layers", group="model", low=1)
    embed_size: int = option(128, "D, numbers in a word vector", group="model", low=1)
    hidden_size: int = option(128, "H, numbers in a hidden state", group="model", low=1)
    tie: str = option(
        "tied",
        "tied: the output weight is the embedding, transposed (needs D = H); tied+L: with "
        "a matrix L between, D and H free",
        group="model",
        choices=("none", "tied", "tied+L"),
    )
    dropout: float = option(
        0.1, "probability of dropping a number between layers", group="model", low=0, below=1
    )
    locked_dropout: bool = option(
        False, "one dropout mask for all steps of a window", group="model"
    )
    output_bias: bool = option(True, "a bias for each word's score", group="model")
    input_matrix: bool = option(
        True, "rnn: an input matrix Wx in the first layer; without it D = H", group="model"
    )
    activation: str = option(
        "tanh", "nonlinearity of an rnn cell", group="model", choices=("tanh", "relu")
    )
    reset_after: bool = option(
        False, "gru: reset gate after the recurrent product, as cuDNN does", group="model"
    )
    init: str = option(
        "uniform",
        "how weights start: uniform (Gulordava et al. 2018), or book (normal)",
        group="model",
        choices=("uniform", "book"),
    )
    embed_bound: float = option(
        0.3, "uniform: the embedding starts in U(-bound, bound)", group="model", above=0
    )
    forget_bias: float = option(1.0, "lstm: bias of the forget gate at the start", group="model")
    unigram_bias: bool = option(
        True, "start the output bias at the log frequency of each word", group="model"
    )
    vectors: str = option(
        "",
        "file of word vectors (GloVe or word2vec text) that the embedding starts from",
        group="model",
    )
    freeze_embedding: bool = option(False, "leave the embedding as it starts", group="model")
    dtype: str = option(
        "float32", "number type of the weights", group="model", choices=("float32", "float64")
    )

    optimizer: str = option(
        "adam",
        "rule of the update",
        group="optimizer",
        choices=("sgd", "momentum", "nesterov", "adagrad", "rmsprop", "adam", "adamw"),
    )
    lr: float = option(0.01, "learning rate at the start", group="optimizer", above=0)
    momentum: float = option(
        0.9,
        "part of the last step that goes on; for momentum and nesterov",
        group="optimizer",
        low=0,
        below=1,
    )
    weight_decay: float = option(0.0, "pull of the weights towards zero", group="optimizer", low=0)
    max_norm: float = option(
        0.25,
        "clip the norm of the whole gradient here; 0 for no clipping",
        group="optimizer",
        low=0,
    )

    schedule: str = option(
        "exponential",
        "how the learning rate changes",
        group="schedule",
        choices=("constant", "plateau", "step", "exponential", "linear", "cosine"),
    )
    lr_factor: float = option(
        0.45,
        "plateau, step: a cut multiplies the rate by this; exponential: an epoch does",
        group="schedule",
        above=0,
        high=1,
    )
    lr_patience: int = option(
        0,
        "plateau: epochs without a better validation to bear before a cut",
        group="schedule",
        low=0,
    )
    lr_threshold: float = option(
        0.0,
        "plateau: how much better, as a part, counts as better",
        group="schedule",
        low=0,
        below=1,
    )
    lr_every: int = option(1, "step: epochs between cuts", group="schedule", low=1)
    lr_floor: float = option(
        0.0,
        "plateau, linear, cosine: never below this part of the first rate",
        group="schedule",
        low=0,
        high=1,
    )
    warmup_steps: int = option(
        0, "updates in which the rate rises in a straight line", group="schedule", low=0
    )

    epochs: int = option(3, "passes over the training text", group="training", low=1)
    batch_size: int = option(10, "N, rows that are read side by side", group="training", low=1)
    time_size: int = option(
        35, "T, steps of truncated backpropagation through time", group="training", low=1
    )
    early_stop: int = option(
        0,
        "stop after this many epochs without a better validation; 0 for never",
        group="training",
        low=0,
    )
    eval_batch_size: int = option(
        10, "rows in the validation of each epoch; final figures are at 1", group="training", low=1
    )
    checkpoint_every: int = option(
        500,
        "updates between checkpoints, beside one each epoch; 0 for none between",
        group="training",
        low=0,
    )
    baselines: bool = option(
        True, "measure n-gram models on the same text, to compare with", group="training"
    )
    seed: int = option(0, "the same seed gives the same run", group="training", low=0)

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = _checked(field, getattr(self, field.name))
            object.__setattr__(self, field.name, value)

    def replace(self, **changes: Any) -> TrainConfig:
        """The same options but for some.

        Parameters
        ----------
        **changes
            New values by name.

        Returns
        -------
        TrainConfig

        Examples
        --------
        >>> TrainConfig().replace(epochs=9).epochs
        9
        """
        return from_dict({**dataclasses.asdict(self), **changes})

    def to_toml(self) -> str:
        """The options as the text of a TOML file, which :meth:`load` reads.

        Returns
        -------
        str
        """
        return to_toml(dataclasses.asdict(self))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> TrainConfig:
        """Read options from a TOML file: those of a run, or a recipe of one's own.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        TrainConfig

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If it is no TOML, or has an unknown key or a wrong value.
        """
        if not Path(path).is_file():
            raise FileNotFoundError(f"no configuration {path}")
        return from_dict(_parse(Path(path).read_text(encoding="utf-8"), str(path)), str(path))


def from_dict(options: Mapping[str, Any], source: str = "") -> TrainConfig:
    """Options from names and values; what is missing takes its default.

    Parameters
    ----------
    options : dict
    source : str
        Where they come from, to begin an error with.

    Returns
    -------
    TrainConfig

    Raises
    ------
    ValueError
        Naming an unknown key, or what was expected and what came.

    Examples
    --------
    >>> from_dict({"learning_rate": 1.0}, "my.toml")
    Traceback (most recent call last):
        ...
    ValueError: my.toml: unknown option 'learning_rate': expected one of corpus, tokenizer, ...
    """
    where = f"{source}: " if source else ""
    known = [field.name for field in dataclasses.fields(TrainConfig)]
    for name in options:
        if name not in known:
            raise ValueError(f"{where}unknown option {name!r}: expected one of {', '.join(known)}")
    try:
        return TrainConfig(**options)
    except ValueError as error:
        raise ValueError(f"{where}{error}") from error


def configure(
    recipe_name: str | None = None, explicit: Mapping[str, Any] | None = None
) -> TrainConfig:
    """Options of a run: defaults, then the recipe, then what was said explicitly.

    Parameters
    ----------
    recipe_name : str, optional
        A name from :func:`recipe_names`, or the path of a TOML file.
    explicit : dict, optional
        Options by name.

    Returns
    -------
    TrainConfig

    Examples
    --------
    >>> config = configure("book-rnnlm", {"epochs": 1})
    >>> config.lr, config.epochs
    (20.0, 1)
    """
    base = recipe(recipe_name) if recipe_name else TrainConfig()
    return base.replace(**(explicit or {}))


def recipe_names() -> list[str]:
    """Names of the recipes that come with deepnlp.

    Returns
    -------
    list of str

    Examples
    --------
    >>> "book-rnnlm" in recipe_names()
    True
    """
    files = resources.files("deepnlp").joinpath("recipes").iterdir()
    return sorted(f.name.removesuffix(".toml") for f in files if f.name.endswith(".toml"))


def recipe(name: str) -> TrainConfig:
    """A recipe by name: the options of a run whose result is known.

    Parameters
    ----------
    name : str
        One of :func:`recipe_names`, or the path of a TOML file.

    Returns
    -------
    TrainConfig

    Raises
    ------
    ValueError
        If there is no recipe of this name; the text lists those there are.

    Examples
    --------
    >>> recipe("book-rnnlm").hidden_size
    100
    """
    if name.endswith(".toml"):
        return TrainConfig.load(name)
    if name not in recipe_names():
        raise ValueError(
            f"unknown recipe {name!r}: expected one of {', '.join(recipe_names())}, or the path "
            "of a .toml file"
        )
    return from_dict(_parse(recipe_text(name), f"recipe {name}"), f"recipe {name}")


def recipe_text(name: str) -> str:
    """The TOML text of a recipe; its comments state source, expected result and time.

    Parameters
    ----------
    name : str

    Returns
    -------
    str

    Examples
    --------
    >>> recipe_text("book-rnnlm").startswith("# ")
    True
    """
    file = resources.files("deepnlp").joinpath("recipes", f"{name}.toml")
    return file.read_text(encoding="utf-8")


def to_toml(options: Mapping[str, Any]) -> str:
    """A flat table as TOML.

    Parameters
    ----------
    options : dict
        Texts, numbers and truth values by name; None is left out, since TOML has no word for it.

    Returns
    -------
    str

    Examples
    --------
    >>> print(to_toml({"name": "a", "lr": 0.5, "tied": True}), end="")
    name = "a"
    lr = 0.5
    tied = true
    """
    lines = [f"{name} = {_toml_value(v)}\n" for name, v in options.items() if v is not None]
    return "".join(lines)


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    # JSON's escapes are TOML's, but for the one character that JSON leaves bare
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _parse(text: str, source: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{source}: not a TOML file: {error}") from error


def _checked(field: dataclasses.Field[Any], value: Any) -> Any:
    """The value in the type of its field, or an error that says what was expected."""
    kind = type(field.default)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not kind or not _in_range(field, value):
        raise ValueError(f"{field.name} should be {expected(field)}, got {value!r}")
    return value


def _in_range(field: dataclasses.Field[Any], value: Any) -> bool:
    limits = field.metadata
    if limits["choices"]:
        return value in limits["choices"]
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return (
        (limits["low"] is None or value >= limits["low"])
        and (limits["above"] is None or value > limits["above"])
        and (limits["high"] is None or value <= limits["high"])
        and (limits["below"] is None or value < limits["below"])
    )


def expected(field: dataclasses.Field[Any]) -> str:
    """What an option may be, in words.

    Parameters
    ----------
    field : dataclasses.Field
        A field of :class:`TrainConfig`.

    Returns
    -------
    str

    Examples
    --------
    >>> expected(TrainConfig.__dataclass_fields__["lr"])
    'a number, above 0'
    """
    limits = field.metadata
    if limits["choices"]:
        return "one of " + ", ".join(repr(choice) for choice in limits["choices"])
    words = [
        text.format(limits[key])
        for key, text in [
            ("low", "{:g} or more"),
            ("above", "above {:g}"),
            ("high", "at most {:g}"),
            ("below", "below {:g}"),
        ]
        if limits[key] is not None
    ]
    text = TYPE_NAMES[type(field.default).__name__]
    return f"{text}, {' and '.join(words)}" if words else text
