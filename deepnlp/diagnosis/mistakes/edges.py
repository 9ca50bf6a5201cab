"""The edges of a reverse pass, and what to call them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy

from deepnlp.backend import HostArray
from deepnlp.diagnosis.derivatives import summed
from deepnlp.diagnosis.problem import Problem
from deepnlp.diagnosis.reverse import Edit, times
from deepnlp.diagnosis.tape import Node


@dataclass
class Edge:
    """The gradients that an operation of one statement passes to one operand, in all its runs.

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

    @cached_property
    def nodes(self) -> list[Node]:
        """The nodes of all runs."""
        return [self.problem.followed.nodes[n] for n in self.numbers]

    @property
    def first(self) -> Node:
        """The node of the first run."""
        return self.nodes[0]

    @property
    def has_partner(self) -> bool:
        """True if there is one other operand."""
        return self.j >= 0 and len(self.first.operands) == 2

    def tickets(self, k: int = 0) -> HostArray:
        """Return the tickets of the operand in run k, or of all operands."""
        operands = self.nodes[k].operands
        if self.j >= 0:
            return operands[self.j][1]
        return numpy.concatenate([t.reshape(-1) for _, t in operands])

    @cached_property
    def reaches(self) -> frozenset[str]:
        """Names of the variables whose gradients go through it."""
        tickets = [self.tickets(k).reshape(-1) for k in range(len(self.numbers))]
        return self.problem.reached(numpy.concatenate(tickets))

    # --- Edits --------------------------------------------------------------------------------

    def scaled(self, factor: float) -> Edit:
        """Multiply what the edge passes on by a number."""
        return Edit([(self.numbers, times(factor, self.j))])

    # --- Names --------------------------------------------------------------------------------

    @cached_property
    def words(self) -> dict[str, str]:
        """Words for a sentence on the edge."""
        operand = name_of_operand(self.problem, self.first, self.j)
        other = name_of_operand(self.problem, self.first, 1 - self.j) if self.has_partner else ""
        through = self.j < 0
        return {
            "line": quoted(self.first),
            "operand": operand,
            "own": operand,
            "other": other,
            "what": "through it" if through else f"with respect to {operand}",
            "to": "through it" if through else f"to {operand}",
        }


def edges(problem: Problem) -> list[Edge]:
    """The edges that may matter: those that lead to a wrong gradient and to no right one."""

    def may_matter(edge: Edge) -> bool:
        return bool(edge.reaches & set(problem.bad)) and not edge.reaches & problem.must_stay

    found: list[Edge] = problem.recall(
        "edges", lambda: list(filter(may_matter, all_edges(problem)))
    )
    return found


def all_edges(problem: Problem) -> Iterator[Edge]:
    """All edges; one into an operand for each operand that carries tickets, and one into all."""
    for numbers in problem.followed.sites.values():
        nodes = [problem.followed.nodes[n] for n in numbers]
        count = len(nodes[0].operands)  # a state may be a constant in the first run alone
        followed = [j for j in range(count) if any(n.operands[j][1].any() for n in nodes)]
        for j in [*([-1] if len(followed) > 1 else []), *followed]:
            yield Edge(problem, numbers, j)


def reduced(value: HostArray, shape: tuple[int, ...]) -> HostArray:
    """Return the gradient of an operand that was broadcast, in the operand's shape."""
    return numpy.broadcast_to(summed(value, shape), shape)


# --- Names ----------------------------------------------------------------------------------------


def quoted(node: Node) -> str:
    """The statement of a node and its line, as evidence quotes it."""
    text = node.site.text
    return f"`{text}` (line {node.site.number})" if text else f"line {node.site.number}"


def name_of_operand(problem: Problem, node: Node, j: int) -> str:
    """The operand's own text; otherwise a variable, or the name that a statement gave it."""
    found = _operand_of(node.site.expression, j, len(node.operands))
    text = None if found is None else ast.unparse(found)
    if text is not None and len(text) <= 40:
        return f"`{text}`"
    ticket = int(node.operands[j][1].max(initial=0))
    name = name_of_ticket(problem, ticket)
    if name:
        return name
    owner = int(problem.followed.owner[ticket])
    target = problem.followed.nodes[owner].site.target if owner >= 0 else None
    return target or f"its {['first', 'second', 'third'][min(j, 2)]} operand"


def name_of_ticket(problem: Problem, ticket: int) -> str | None:
    """The variable that a number belongs to."""
    for name, tickets in problem.followed.variables.items():
        if (tickets == ticket).any():
            return name
    return None


_MODULES = ("np", "numpy", "xp", "cp", "torch", "math", "np.linalg", "np.ma", "special")
"""What modules are usually called: no operands."""


def _operand_of(expression: Any, j: int, count: int) -> ast.expr | None:
    """The j-th operand of an expression, where it is one operator or one call."""
    if isinstance(expression, ast.BinOp):
        return expression.left if j == 0 else expression.right
    if isinstance(expression, ast.UnaryOp):
        return expression.operand
    if isinstance(expression, ast.Call):
        args = list(expression.args)
        owner = getattr(expression.func, "value", None)
        if owner is not None and len(args) < count and ast.unparse(owner) not in _MODULES:
            args.insert(0, owner)
        named = ast.unparse(expression.func).rpartition(".")[2]
        skip = 1 if named == "einsum" else 0
        return args[j + skip] if j + skip < len(args) else None
    return None


def is_mask(array: HostArray) -> bool:
    """Return whether an array holds zeros and one other number."""
    kinds = numpy.unique(numpy.asarray(array, dtype="float64").round(12))
    return len(kinds) == 2 and kinds[0] == 0
