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

A course of one's own has the same: ``check("mine:2.1", ...)`` reads ``mine.toml`` beside the module
``mine``, whose names the expressions may use.

The texts are Python expressions. They may use ``answer``, what ``given`` has assigned, and the
names of ``names.py`` and of ``lessonK.py``, if there is one. The first step of a check stands in
the table itself, further ones in a list of tables, ``then``. The keys of a step:

``given``
    Assignments, on one or several lines.
``got``, ``right``, ``name``, ``tolerance``
    What the answer gives, what it should give (or several values by name), and what the verdict
    calls it. Without ``right`` only the conditions (``when``) are asked.
``lines``
    Assignments that lead to the right value, and that mistakes may replace.
``layer``, ``inputs``, ``weights``
    An object whose forward should give what is right, and whose gradients are then compared with
    numerical ones, by :func:`check_backward`.
``wrong``
    Typical mistakes by name, asked in their order where the answer is not right. A mistake has a
    ``value``, what it gives (one or a list), or ``when``, a condition, or both, or a ``line`` (one
    or a list) in place of the one that assigns the same name; two such mistakes may be made
    together. With none of these it is a further sentence on that diagnosis of a layer, or on a
    borrowed mistake. ``says`` is the sentence, with fields such as ``{n}``; a later step may leave
    it out.
``borrows``
    By the name of another exercise, a form for the values or lines of its mistakes:
    ``{"9.1" = "{} @ memory"}``.
``changes``
    Whether the answer is to change the models that it is given.
``ignores``
    ``"layer, dy"``: where a gradient is wrong, whether ``layer.backward`` uses ``dy`` at all. The
    layer is a copy from before its backward.
``empty``
    What shows that there is no answer.

The exercise as a whole may have ``cases``, assignments with each of which all steps are made, and
``says``, the sentence on a right answer. A choice has a ``right`` one and ``choices``, the comment
on each.
"""

import tomllib
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import cache, partial
from importlib import import_module, util
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import default_rng

from deepnlp.backend import asnumpy
from deepnlp.gradcheck import numerical_gradient
from deepnlp.gradcheck.causes import INPUT_CHANGED, ZERO
from deepnlp.lessons.exercises import names as common
from deepnlp.lessons.exercises.backward import check_backward, gradient_of, if_ignored
from deepnlp.lessons.exercises.values import close, compare_choice, compare_values
from deepnlp.lessons.exercises.verdict import EMPTY, WRONG_TYPE, Verdict, is_empty

PACKAGE = __name__.rpartition(".")[0]
ADDED = "gradient of the backward before"
ADDS = (
    "A second backward adds to the gradients of the first: backward should set each of them anew."
)
Table = dict[str, Any]
Names = dict[str, Any]
Backward = Callable[[Any, Any, Table, Names, Names], Verdict]


def lesson_of(name: str) -> int | str:
    """Return the lesson of an exercise, 0 if there is none, or the module of its table.

    >>> lesson_of("6.3"), lesson_of("my.course:6.3")
    (6, 'my.course')
    """
    module, colon, _ = name.rpartition(":")
    number = name.partition(".")[0]
    return module if colon else int(number) if number.isdigit() else 0


@cache
def tables_of(lesson: int | str) -> dict[str, Table]:
    """Read the exercises of a lesson, or of a module, by name; none if there is no file."""
    if isinstance(lesson, str):
        file = Path(str(import_module(lesson).__file__)).with_suffix(".toml")
    else:
        file = Path(__file__).with_name(f"lesson{lesson}.toml")
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


@cache
def names_of(lesson: int | str) -> Names:
    """Return the names that the expressions of a lesson may use."""
    module = lesson if isinstance(lesson, str) else f"{PACKAGE}.lesson{lesson}"
    return vars(common) | (vars(import_module(module)) if util.find_spec(module) else {})


def check_code(layer: Any, inputs: Any, step: Table, say: Names, names: Names) -> Verdict:
    """Check the gradients of a layer by the checker, which reads its code."""
    hints = {key: say[key] for key, mistake in step.get("wrong", {}).items() if len(mistake) == 1}
    kept = deepcopy(layer)
    verdict = check_backward(layer, *inputs, hints=hints, weights=step.get("weights", ()))
    if verdict.ok and _adds_up(deepcopy(kept), inputs, step.get("weights", ())):
        return Verdict.wrong(ADDED, f"Right the first time. {ADDS}")
    if verdict.diagnosis != ZERO:
        return verdict
    by_numbers = check_by_numbers(kept, inputs, step, say, names)
    return by_numbers if by_numbers.ok else verdict  # weights kept where the checker does not look


def _adds_up(layer: Any, inputs: Any, weights: Sequence[str]) -> bool:
    """Check whether a second backward adds to gradients such as ``dW`` that the first has set."""
    kept = []
    for _ in range(2):
        dy = np.ones(np.shape(layer.forward(*inputs)))
        layer.backward(dy)
        kept.append([np.array(getattr(layer, f"d{name}", 0.0)) for name in weights])
    return any(np.any(once) and close(twice, 2 * once) for once, twice in zip(*kept, strict=True))


def check_by_numbers(layer: Any, inputs: Any, step: Table, _: Names, names: Names) -> Verdict:
    """Compare the gradients of a layer with numerical ones of what its forward should give."""
    layer.forward(*inputs)
    dy = default_rng(1).uniform(0.5, 1.5, np.shape(right_of(step, {**names})))
    given = layer.backward(dy)
    places = [part.strip() for part in step["inputs"].split(",")]
    listed = given if isinstance(given, tuple | list) else [given]
    if len(listed) < len(places):  # ids and classes have no gradient
        places = [name for name in places if np.asarray(names[name]).dtype.kind == "f"]
    got = dict(zip(places, listed, strict=True))
    got |= {name: gradient_of(layer, name, k) for k, name in enumerate(step.get("weights", ()))}

    def loss(name: str, changed: Any) -> float:
        return float((dy * asnumpy(right_of(step, {**names, name: changed}))).sum())

    floats = {name: x for name in got if (x := np.asarray(names[name])).dtype.kind == "f"}
    right = {f"d{name}": numerical_gradient(partial(loss, name), x) for name, x in floats.items()}
    verdict = compare_values({f"d{name}": gradient for name, gradient in got.items()}, right)
    return Verdict.right("Every gradient agrees with the numbers.") if verdict.ok else verdict


@np.errstate(all="ignore")  # the verdict says what is wrong
def check_table(name: str, answer: Any, backward: Backward = check_code) -> Verdict:
    """Check an answer as the table of the exercise says.

    ``backward`` checks the gradients of a layer: it takes the layer, its inputs, the table of the
    step, the sentences by diagnosis, and the names of which ``right_of`` gives what is right.
    """
    table = _table(name)
    if "choices" in table:
        return compare_choice(answer, table["right"], table["choices"])
    steps = [table, *table.get("then", [])]
    mistakes = [entry for step in reversed(steps) for entry in _mistakes(step).items()]
    say = {key: mistake["says"] for key, mistake in mistakes if "says" in mistake}
    changed: list[bool] = []
    given: Names = {"answer": _given_copies(answer, changed), "verdict": Verdict.right()}
    for case in table.get("cases", [""]):
        names = names_of(lesson_of(name)) | given
        _execute(case, names)
        for step in steps:
            verdict = names["verdict"] = _check_step(step, names, say, backward)
            if not verdict.ok:
                return verdict
    if changed:
        text = "The result is right, but what was handed in was changed. Work on a copy of it."
        return Verdict.wrong(INPUT_CHANGED, text)
    return Verdict.right(table["says"].format_map(names)) if "says" in table else verdict


def _table(name: str) -> Table:
    return tables_of(lesson_of(name))[name.rpartition(":")[2]]


def _mistakes(step: Table) -> dict[str, Table]:
    """Return the mistakes of a step, with those of other exercises whose form it uses."""
    mistakes = dict(step.get("wrong", {}))
    kind = "line" if "lines" in step else "value"
    for name, form in step.get("borrows", {}).items():
        for key, mistake in _table(name)["wrong"].items():
            values = [form.format(f"({text})") for text in _listed(mistake.get("value", []))]
            mistakes[key] = {kind: values, "says": mistake["says"]} | mistakes.get(key, {})
    return mistakes


def _check_step(step: Table, names: Names, say: dict[str, str], backward: Backward) -> Verdict:
    """Return the verdict of a step; that of the steps before where it only asks for mistakes."""
    _execute(step.get("given", ""), names)
    verdict = names["verdict"] = _compare(step, names, say, backward)
    if verdict.ok and "right" in step:
        return verdict
    mistakes = _mistakes(step)
    is_asked = verdict.diagnosis not in (EMPTY, WRONG_TYPE)
    if is_asked and (made := next(_made(mistakes, step, names), None)):
        texts = (mistakes[key].get("says", say[key]).format_map(names) for key in made)
        verdict = Verdict.wrong(made[0], "\n".join(texts))
    if not verdict.ok and "ignores" in step:
        return if_ignored(*_evaluate(step["ignores"], names)) or verdict
    return verdict


def _compare(step: Table, names: Names, say: dict[str, str], backward: Backward) -> Verdict:
    """Return the verdict of a step before the mistakes are asked for."""
    empty, name = step.get("empty"), step.get("name", "")
    if "layer" in step:
        layer = _evaluate(step["layer"], names)
        inputs = _evaluate(f"({step['inputs']},)", names)
        names["got"] = deepcopy(layer).forward(*inputs)
        empty, name = "forward returned None", "the output of forward"
    elif "got" in step:
        names["got"] = _evaluate(step["got"], names)
    if empty and is_empty(names["got"]):
        return Verdict.empty(empty)
    if "right" not in step:
        return names["verdict"]
    right = names["right"] = right_of(step, names)
    name = name.format_map(names)
    verdict = compare_values(names["got"], right, name, step.get("tolerance", 1e-6))
    if "layer" not in step or not verdict.ok:
        return verdict
    return backward(layer, inputs, step, say, names)


def right_of(step: Table, names: Names) -> Any:
    """Compute the right value; the lines before it put their values into ``names``."""
    _execute(step.get("lines", ""), names)
    return _evaluate(step["right"], names)


def _made(mistakes: dict[str, Table], step: Table, names: Names) -> Iterator[list[str]]:
    """Yield the mistakes that an answer may have made; where they are lines, two together."""

    def is_got(value: Any) -> bool:
        return close(names["got"], value, step.get("tolerance", 1e-6))

    for key, mistake in mistakes.items():
        values = (_evaluate(text, names) for text in _listed(mistake.get("value", [])))
        if ("when" in mistake and _evaluate(mistake["when"], names)) or any(map(is_got, values)):
            yield [key]
    lines = [(key, text) for key, of in mistakes.items() for text in _listed(of.get("line", []))]
    for made in [*combinations(lines, 1), *combinations(lines, 2)]:
        scope, texts = dict(names), [step["lines"], *(text for _, text in made)]
        by_target = {line.partition(" = ")[0]: line for text in texts for line in text.splitlines()}
        for line in by_target.values():
            _execute(line, scope)
        if is_got(_evaluate(step["right"], scope)):
            yield list(dict.fromkeys(key for key, _ in made))


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _given_copies(answer: Any, changed: list[bool]) -> Any:
    """Return the answer, called with copies, so that it cannot change what it is compared with.

    Whether a function has changed what it was given is noted in ``changed``.
    """

    def called(*given: Any) -> Any:
        copies = _copied(given)
        got = answer(*copies)
        try:
            np.testing.assert_equal(_with_arrays(copies), _with_arrays(given))
        except AssertionError:
            changed.append(True)
        return got

    return called if callable(answer) else answer


def _with_arrays(values: Any) -> list[Any]:
    """Return the values that are arrays, or have some."""
    lists = [value if isinstance(value, tuple | list) else [value] for value in values]
    return [value for value in lists if any(isinstance(part, np.ndarray) for part in value)]


def _copied(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return type(value)(map(_copied, value))
    return value.copy() if isinstance(value, np.ndarray) else value


def _execute(text: str, names: Names) -> None:
    exec(_compiled(text, "exec"), names)


def _evaluate(text: str, names: Names) -> Any:
    return eval(_compiled(text, "eval"), names)


@cache
def _compiled(text: str, mode: str) -> Any:
    return compile(text, __file__, mode)  # so that no frame of it is taken for the reader's
