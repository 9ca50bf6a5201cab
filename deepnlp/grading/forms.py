"""Tables of the grader: what a submission may use, and the forms of other systems."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deepnlp.files.reading import read_toml

DATA = read_toml(Path(__file__).with_name("grading.toml"))


def fill_in(form: Any, values: Mapping[str, Any]) -> Any:
    """Return a table with values for names in braces, and variables of the environment after $.

    >>> fill_in({"score": "{score}", "output": "{score} of 4"}, {"score": 3})
    {'score': 3, 'output': '3 of 4'}
    """
    if isinstance(form, dict):
        return {key: fill_in(part, values) for key, part in form.items()}
    if not isinstance(form, str):
        return form
    if form.startswith("$"):
        return os.environ.get(form[1:]) or "local"
    is_name = form.startswith("{") and form[1:-1] in values
    return values[form[1:-1]] if is_name else form.format_map(values)
