"""Options of a script from the fields of a small dataclass."""

import argparse
import dataclasses
from collections.abc import Sequence
from typing import Any, TypeVar, get_type_hints

Config = TypeVar("Config")


def config_from_arguments(
    config: type[Config], description: str | None = None, arguments: Sequence[str] | None = None
) -> Config:
    """Fill a dataclass from the command line: field ``n_words`` is the option ``--n-words``.

    The fields are int, float, str or bool, each with a default. A bool becomes ``--name`` and
    ``--no-name``; ``--help`` shows the description, ``metadata["help"]`` and the defaults.

    >>> @dataclasses.dataclass
    ... class Settings:
    ...     n_words: int = 5
    ...     tied: bool = True
    >>> config_from_arguments(Settings, arguments=["--n-words", "3", "--no-tied"])
    Settings(n_words=3, tied=False)
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=_Formatter, allow_abbrev=False
    )
    types = get_type_hints(config)
    for field in dataclasses.fields(config):  # type: ignore[arg-type]
        kind = types[field.name]
        if kind not in (int, float, str, bool) or field.default is dataclasses.MISSING:
            raise TypeError(
                f"config_from_arguments: field {field.name} of {config.__name__} should be an "
                "int, float, str or bool with a default"
            )
        options: dict[str, Any] = {"default": field.default, "help": field.metadata.get("help", "")}
        options |= {"action": argparse.BooleanOptionalAction} if kind is bool else {"type": kind}
        parser.add_argument(f"--{field.name.replace('_', '-')}", **options)
    return config(**vars(parser.parse_args(arguments)))


class _Formatter(argparse.RawDescriptionHelpFormatter, argparse.ArgumentDefaultsHelpFormatter):
    """Keeps the line breaks of the description and shows defaults."""
