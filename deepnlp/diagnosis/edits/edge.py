"""The edges of a reverse pass, and what to call them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy

from deepnlp.diagnosis.problem import Problem
from deepnlp.diagnosis.tape import Node
from deepnlp.gradcheck.numeric import HostArray


@dataclass
class Edge:
    """What one statement's operation passes on to one operand, wherever a loop runs it.

    Attributes
    ----------
    problem : Problem
    numbers : list of int
        Of the nodes, in the order in which they were run.
    j : int
        Number of the operand; -1 stands for all of them.
    """

    problem: Problem
    numbers: list[int]
    j: int

    @property
    def first(self) -> Node:
        """The node of the first run."""
        return self.problem.followed.nodes[self.numbers[0]]

    def tickets(self, number: int) -> HostArray:
        """Of the operand, or of all operands."""
        operands = self.problem.followed.nodes[number].operands
        if self.j >= 0:
            return operands[self.j][1]
        return numpy.concatenate([t.reshape(-1) for _, t in operands])

    @cached_property
    def reaches(self) -> frozenset[str]:
        """Names of the variables whose gradients go through it."""
        return self.problem.reached([self.tickets(n) for n in self.numbers])

    @property
    def line(self) -> str:
        """The statement, as it is quoted."""
        return quoted(self.first)

    @cached_property
    def operand(self) -> str:
        """What the learner calls the operand."""
        return name_of_operand(self.problem, self.first, self.j)

    def partner(self) -> str:
        """What the learner calls the other operand."""
        return name_of_operand(self.problem, self.first, 1 - self.j)


def result_name(node: Node) -> str:
    """What the learner calls the result of a node's statement: `self.std`, or the statement."""
    target = node.site.target_text
    return f"`{target}`" if target else quoted(node)


def quoted(node: Node) -> str:
    """The statement of a node and its line, as evidence quotes it."""
    text = node.site.text
    return f"`{text}` (line {node.site.number})" if text else f"line {node.site.number}"


def edges(problem: Problem) -> Iterator[Edge]:
    """All edges that may matter: those that lead to a wrong gradient and to no right one."""
    for numbers in problem.followed.sites.values():
        nodes = [problem.followed.nodes[n] for n in numbers]
        count = len(nodes[0].operands)  # a state may be a constant in the first run alone
        followed = [j for j in range(count) if any(n.operands[j][1].any() for n in nodes)]
        for j in [*([-1] if len(followed) > 1 else []), *followed]:
            edge = Edge(problem, numbers, j)
            if edge.reaches & set(problem.bad) and not edge.reaches & problem.must_stay:
                yield edge


def name_of_operand(problem: Problem, node: Node, j: int) -> str:
    """The operand's own text; otherwise a variable, or the name that a statement gave it."""
    text = operand_text(node, j)
    if text is not None and len(text) <= 40:
        return f"`{text}`"
    trace = problem.followed
    ticket = int(node.operands[j][1].max(initial=0))
    name = name_of_ticket(problem, ticket)
    if name:
        return name
    owner = int(trace.owner[ticket])
    target = trace.nodes[owner].site.target if owner >= 0 else None
    return target or f"its {['first', 'second', 'third'][min(j, 2)]} operand"


def name_of_ticket(problem: Problem, ticket: int) -> str | None:
    """The variable that a number belongs to."""
    for name, tickets in problem.followed.variables.items():
        if (tickets == ticket).any():
            return name
    return None


def operand_text(node: Node, j: int) -> str | None:
    """The source of an operand, where the expression is one operator or one call."""
    found = operand_of(node.site.expression, j, len(node.operands))
    return None if found is None else ast.unparse(found)


def operand_of(expression: Any, j: int, count: int) -> ast.expr | None:
    """The j-th operand of an expression."""
    if isinstance(expression, ast.BinOp):
        return expression.left if j == 0 else expression.right
    if isinstance(expression, ast.UnaryOp):
        return expression.operand
    if isinstance(expression, ast.Call):
        args = list(expression.args)
        if isinstance(expression.func, ast.Attribute) and len(args) < count:
            args.insert(0, expression.func.value)
        named = ast.unparse(expression.func).rpartition(".")[2]
        skip = 1 if named == "einsum" else 0
        return args[j + skip] if j + skip < len(args) else None
    return None
