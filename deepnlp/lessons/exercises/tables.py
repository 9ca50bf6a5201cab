"""Exercises as data: what a table of ``lessonK.toml`` says, and the check that follows from it.

::

    ["1.1"]
    title = "An affine map"
    stars = 1
    given = "x, W, b = draw(5, 3), draw(3, 2, seed=1), draw(2, seed=2)"
    got = "answer(x, W, b)"
    right = "x @ W + b"
    name = "affine(x, W, b)"

    ["1.1".wrong]
    "b subtracted" = {value = "x @ W - b", says = "The product is right; ..."}

The texts are Python expressions. They may use ``answer``, what ``given`` has assigned, and the
names of ``names.py`` and of ``lessonK.py``, if there is one. The first step of a check stands in
the table itself, further ones in a list of tables, ``then``. The keys of a step:

``given``
    Assignments, on one or several lines.
``got``, ``right``, ``name``, ``tolerance``
    What the answer gives, what it should give, and what the verdict calls it. Without ``right``
    only the conditions (``when``) are asked.
``layer``, ``inputs``, ``weights``, ``right``
    An object whose gradients are compared with numerical ones, by :func:`check_backward`, and what
    its forward should give.
``verdict``
    A call that gives a Verdict, for what data cannot say.
``wrong``
    Typical mistakes by name, asked in their order where the answer is not right. A mistake has a
    ``value``, what it gives (one or a list), or ``when``, a condition, or both. Without either it
    is a further sentence on that diagnosis of a layer, or one that ``verdict`` uses. ``says`` is
    the sentence, with fields such as ``{n}``; a later step may leave it out.
``borrows``
    By the name of another exercise, an expression for the values of its mistakes:
    ``{"9.1" = "{} @ memory"}``.
``ignores``
    ``"layer, dy"``: where a gradient is wrong, whether ``layer.backward`` uses ``dy`` at all. The
    layer is a copy from before its backward.
``quiet``, ``empty``
    No warnings of NumPy in this step; what shows that there is no answer.

The exercise as a whole may have ``cases``, assignments with each of which all steps are made, and
``says``, the sentence on a right answer. A choice has a ``right`` one and ``choices``, the comment
on each.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import nullcontext
from functools import cache
from importlib import import_module, resources, util
from typing import Any

import numpy as np

from deepnlp.lessons.exercises.backward import check_backward, or_ignored
from deepnlp.lessons.exercises.names import NAMES
from deepnlp.lessons.exercises.values import close, compare_choice, compare_values
from deepnlp.lessons.exercises.verdict import EMPTY, WRONG_TYPE, Verdict, is_empty

PACKAGE = __name__.rpartition(".")[0]
Table = dict[str, Any]
Names = dict[str, Any]


@cache
def tables_of(lesson: int) -> dict[str, Table]:
    """The exercises of a lesson by name; none if it has no file."""
    file = resources.files(PACKAGE).joinpath(f"lesson{lesson}.toml")
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def check_table(name: str, answer: Any) -> Verdict:
    """Check an answer as the table of the exercise says."""
    table = _table(name)
    if "choices" in table:
        return compare_choice(answer, table["right"], table["choices"])
    steps = [table, *table.get("then", [])]
    mistakes = [entry for step in reversed(steps) for entry in step.get("wrong", {}).items()]
    say = {key: mistake["says"] for key, mistake in mistakes if "says" in mistake}
    verdict = Verdict.right()
    for case in table.get("cases", [""]):
        names = _names_of(name) | {"answer": _given_copies(answer), "say": say}
        names |= {"values_of": values_of, "verdict": verdict}
        exec(_compiled(case, "exec"), names)
        for step in steps:
            verdict = names["verdict"] = _check_step(step, names)
            if not verdict.ok:
                return verdict
    return Verdict.right(table["says"].format_map(names)) if "says" in table else verdict


def values_of(name: str, **names: Any) -> list[tuple[str, Any]]:
    """Mistakes of another exercise, and the values that they give for these names."""
    return [
        (key, _evaluate(text, _names_of(name) | names))
        for key, mistake in _table(name)["wrong"].items()
        for text in _listed(mistake.get("value", []))
    ]


def _table(name: str) -> Table:
    return tables_of(int(name.partition(".")[0]))[name]


@cache
def _names_of(name: str) -> Names:
    """What the expressions of an exercise may use besides what they assign."""
    module = f"{PACKAGE}.lesson{name.partition('.')[0]}"
    return NAMES | (vars(import_module(module)) if util.find_spec(module) else {})


def _check_step(step: Table, names: Names) -> Verdict:
    """The verdict of a step; that of the steps before where it only asks for mistakes."""
    with np.errstate(all="ignore") if step.get("quiet") else nullcontext():
        exec(_compiled(step.get("given", ""), "exec"), names)
        verdict = names["verdict"] = _compare(step, names)
    if verdict.ok and ("right" in step or "verdict" in step):
        return verdict
    if verdict.diagnosis not in (EMPTY, WRONG_TYPE):
        with np.errstate(all="ignore"):
            for key, mistake in _mistakes(step):
                if _is_made(mistake, step, names):
                    says = mistake.get("says") or names["say"][key]
                    verdict = Verdict.wrong(key, says.format_map(names))
                    break
    if not verdict.ok and "ignores" in step:
        verdict = or_ignored(verdict, *_evaluate(step["ignores"], names))
    return verdict


def _compare(step: Table, names: Names) -> Verdict:
    """The verdict of a step before the mistakes are asked for."""
    if "verdict" in step:
        return _evaluate(step["verdict"], names)
    if "layer" in step:
        return _check_layer(step, names)
    if "got" not in step:
        return names["verdict"]
    got = names["got"] = _evaluate(step["got"], names)
    if is_empty(got) and "empty" in step:
        return Verdict.empty(step["empty"])
    if "right" not in step:
        return names["verdict"]
    right = names["right"] = _evaluate(step["right"], names)
    return compare_values(got, right, step["name"].format_map(names), step.get("tolerance", 1e-6))


def _check_layer(step: Table, names: Names) -> Verdict:
    wrong = {key: m for key, m in step.get("wrong", {}).items() if "when" not in m}
    values = {key: _evaluate(m["value"], names) for key, m in wrong.items() if "value" in m}
    return check_backward(
        _evaluate(step["layer"], names),
        *_evaluate(f"({step['inputs']},)", names),
        expected=_evaluate(step["right"], names),
        hints={key: names["say"][key] for key in wrong if key not in values},
        weights=tuple(step.get("weights", ())),
        wrong={key: (value, names["say"][key]) for key, value in values.items()},
    )


def _mistakes(step: Table) -> Iterator[tuple[str, Table]]:
    """The mistakes of a step, and those of other exercises with their values put into a form."""
    yield from step.get("wrong", {}).items()
    for name, form in step.get("borrows", {}).items():
        for key, mistake in _table(name)["wrong"].items():
            values = [form.format(f"({text})") for text in _listed(mistake.get("value", []))]
            yield key, {"value": values, "says": mistake["says"]}


def _is_made(mistake: Table, step: Table, names: Names) -> bool:
    """Whether the answer has this mistake."""
    if "when" in mistake and _evaluate(mistake["when"], names):
        return True
    if "layer" in step:
        return False  # the values were compared with the output of forward
    values = (_evaluate(text, names) for text in _listed(mistake.get("value", [])))
    return any(close(names["got"], value, step.get("tolerance", 1e-6)) for value in values)


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _given_copies(answer: Any) -> Any:
    """The answer, called with copies, so that it cannot change what it is compared with."""
    return (lambda *given: answer(*_copied(given))) if callable(answer) else answer


def _copied(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return type(value)(map(_copied, value))
    return value.copy() if isinstance(value, np.ndarray) else value


def _evaluate(text: str, names: Names) -> Any:
    return eval(_compiled(text, "eval"), names)


@cache
def _compiled(text: str, mode: str) -> Any:
    return compile(text, __file__, mode)  # so that no frame of it is taken for the reader's
