"""The tables of the exercises: their keys, and what their expressions use."""

import ast
import builtins

import pytest

from deepnlp.lessons.exercises.tables import names_of, tables_of

LESSONS = range(1, 12)
OF_STEP = {
    "given", "got", "right", "name", "tolerance", "layer", "inputs", "weights", "lines", "wrong",
    "borrows", "ignores", "empty",
}  # fmt: skip
OF_EXERCISE = OF_STEP | {"title", "stars", "says", "cases", "changes", "choices", "then"}
EXPRESSIONS = ("got", "right", "layer", "inputs", "ignores")
GIVEN = {"answer", "verdict", "got", "right"}


def known_names(lesson):
    return {*vars(builtins), *names_of(lesson), *GIVEN}


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_table_has_known_keys_and_a_sentence_on_every_mistake(lesson):
    for table in tables_of(lesson).values():
        check_keys(table)


def check_keys(table):
    assert table.keys() <= OF_EXERCISE
    assert table["stars"] in (1, 2, 3)
    if "choices" in table:
        assert table["right"] in table["choices"]
    steps = [table, *table.get("then", [])]
    mistakes = [entry for step in steps for entry in step.get("wrong", {}).items()]
    said = {key for key, mistake in mistakes if "says" in mistake}
    assert said == {key for key, _ in mistakes}
    assert all(step.keys() <= OF_STEP for step in steps[1:])
    assert all(mistake.keys() <= {"value", "when", "line", "says"} for _, mistake in mistakes)


@pytest.mark.parametrize("lesson", LESSONS)
def test_expressions_use_names_that_there_are(lesson):
    for table in tables_of(lesson).values():
        if "choices" not in table:
            check_names(table, known_names(lesson))


def check_names(table, known):
    used = set()
    for step in [table, *table.get("then", [])]:
        texts = [step[key] for key in EXPRESSIONS if key in step]
        for mistake in step.get("wrong", {}).values():
            value = mistake.get("value", [])
            texts += [value] if isinstance(value, str) else value
            texts += [mistake["when"]] if "when" in mistake else []
        trees = [ast.parse(text, mode="eval") for text in texts]
        lines = [mistake.get("line", []) for mistake in step.get("wrong", {}).values()]
        lines = [text for of in lines for text in ([of] if isinstance(of, str) else of)]
        for text in [*table.get("cases", []), step.get("given", ""), step.get("lines", ""), *lines]:
            trees.append(ast.parse(text))
            assert all(isinstance(line, ast.Assign) for line in trees[-1].body), text
        for node in (node for tree in trees for node in ast.walk(tree)):
            if isinstance(node, ast.Name):
                (used if isinstance(node.ctx, ast.Load) else known).add(node.id)
            elif isinstance(node, ast.arg):
                known.add(node.arg)
    assert used <= known
