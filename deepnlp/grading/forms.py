"""What the grader has in tables: what a submission may use, and what other systems read."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deepnlp.files.reading import read_toml

DATA = read_toml(Path(__file__).with_name("grading.toml"))


def fill_in(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """A table with the values whose names it has in braces."""
    return {key: _filled(form, values) for key, form in DATA[name].items()}


def _filled(form: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(form, dict):
        return {key: _filled(part, values) for key, part in form.items()}
    if str(form).startswith("$"):
        return os.environ.get(form[1:]) or "local"
    return values[form[1:-1]] if str(form).startswith("{") else form
