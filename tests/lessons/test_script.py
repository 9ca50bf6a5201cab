"""Options of a script from the fields of its config."""

from dataclasses import dataclass, field

import pytest

from deepnlp.lessons.script import config_from_arguments


@dataclass
class Config:
    n_words: int = 5
    lr: float = field(default=0.5, metadata={"help": "learning rate"})
    out: str = "runs"
    tied: bool = True


def test_defaults_and_options():
    assert config_from_arguments(Config, arguments=[]) == Config()
    given = ["--n-words", "3", "--lr", "2", "--out", "here", "--no-tied"]
    assert config_from_arguments(Config, arguments=given) == Config(3, 2.0, "here", False)


def test_help_tells_the_options_and_their_defaults(capsys):
    with pytest.raises(SystemExit):
        config_from_arguments(Config, "What it does.\n\nTime: short.", ["--help"])
    shown = capsys.readouterr().out
    assert "Time: short." in shown
    assert "learning rate (default: 0.5)" in shown


def test_what_is_no_option_is_an_error(capsys):
    with pytest.raises(SystemExit):
        config_from_arguments(Config, arguments=["--n-words", "many"])
    assert "invalid int value" in capsys.readouterr().err


def test_a_config_is_a_dataclass_of_simple_fields():
    @dataclass
    class WithoutDefault:
        n: int

    with pytest.raises(TypeError, match="dataclass"):
        config_from_arguments(int, arguments=[])
    with pytest.raises(TypeError, match="field n of WithoutDefault"):
        config_from_arguments(WithoutDefault, arguments=[])
