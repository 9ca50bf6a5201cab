"""The edges of a reverse pass, the values of the forward, and what to call them."""

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy

from deepnlp.backend import HostArray
from deepnlp.diagnosis.derivatives import summed
from deepnlp.diagnosis.problem import Problem
from deepnlp.diagnosis.reverse import Edit, Run
from deepnlp.diagnosis.tape import Adjoints, Node


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

    @cached_property
    def nodes(self) -> list[Node]:
        """Of all runs."""
        return [self.problem.followed.nodes[n] for n in self.numbers]

    @property
    def first(self) -> Node:
        """The node of the first run."""
        return self.nodes[0]

    @property
    def has_partner(self) -> bool:
        """Whether there is one other operand."""
        return self.j >= 0 and len(self.first.operands) == 2

    def partners(self) -> list[HostArray]:
        """The other operand in every run."""
        return [node.arrays[1 - self.j] for node in self.nodes]

    def tickets(self, k: int = 0) -> HostArray:
        """Of the operand in run k, or of all operands."""
        operands = self.nodes[k].operands
        if self.j >= 0:
            return operands[self.j][1]
        return numpy.concatenate([t.reshape(-1) for _, t in operands])

    @cached_property
    def reaches(self) -> frozenset[str]:
        """Names of the variables whose gradients go through it."""
        return self.problem.reached([self.tickets(k) for k in range(len(self.numbers))])

    # --- Edits --------------------------------------------------------------------------------

    def scaled(self, factor: float) -> Edit:
        """What it passes on is multiplied by a number."""
        return Edit(scaled=(self.j, factor), at=self.numbers)

    def edit(
        self,
        incoming: Callable[[Run], HostArray] | None = None,
        beside: Sequence[HostArray] | None = None,
        to: Sequence[HostArray] | None = None,
    ) -> Edit:
        """What it passes on is computed otherwise.

        Parameters
        ----------
        incoming : callable, optional
            Gives another gradient with respect to the result.
        beside : sequence of array, optional
            Other values of the other operand, by run.
        to : sequence of tickets, optional
            Other places to which it is passed on, by run.
        """
        order, j = {number: k for k, number in enumerate(self.numbers)}, self.j

        def change(run: Run) -> dict[int, HostArray] | Adjoints:
            operands, k = run.node.arrays, order[run.number]
            if beside is not None:
                operands[1 - j] = beside[k]
            found = run.vjp(run.g if incoming is None else incoming(run), operands)
            if j < 0:
                return found
            if j not in found:
                return {}
            value = found[j]
            if to is None:
                return {j: value}
            others = [(run.node.operands[i][1], v) for i, v in run.passed.items() if i != j]
            return [*others, (to[k], value)]

        return Edit(change=change, at=self.numbers)

    # --- Names --------------------------------------------------------------------------------

    @property
    def line(self) -> str:
        """The statement, as it is quoted."""
        return quoted(self.first)

    @cached_property
    def operand(self) -> str:
        """What the learner calls the operand."""
        return name_of_operand(self.problem, self.first, self.j)

    @cached_property
    def words(self) -> dict[str, str]:
        """What a sentence may say of it."""
        other = name_of_operand(self.problem, self.first, 1 - self.j) if self.has_partner else ""
        through = self.j < 0
        return {
            "line": self.line,
            "operand": self.operand,
            "own": self.operand,
            "other": other,
            "what": "through it" if through else f"with respect to {self.operand}",
            "to": "through it" if through else f"to {self.operand}",
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
    """What is passed on to an operand that was broadcast, in the operand's shape."""
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


def _operand_of(expression: Any, j: int, count: int) -> ast.expr | None:
    """The j-th operand of an expression, where it is one operator or one call."""
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


# --- Values of the forward: what a backward may use in place of the right one ---------------------


def values_of(problem: Problem) -> list[tuple[str, HostArray]]:
    """All values outside of loops that have a name, each once: variables, results and operands."""
    found: list[tuple[str, HostArray]] = problem.recall("values", lambda: _values(problem))
    return found


def _values(problem: Problem) -> list[tuple[str, HostArray]]:
    trace = problem.followed
    named = [(name, trace.tape.values[tickets]) for name, tickets in trace.variables.items()]
    for number, *others in trace.sites.values():
        node = trace.nodes[number]
        if others:
            continue
        if is_whole_statement(problem, number):
            made = node.site.target or (f"`{node.site.text}`" if node.site.text else "")
            named.append((made or "a value between", node.values))
        for j, array in enumerate(node.arrays):
            named.append((name_of_operand(problem, node, j), array))
    found: dict[Any, tuple[str, HostArray]] = {}
    for name, array in named:
        key = array.shape, numpy.ascontiguousarray(array, dtype="float64").tobytes()
        found.setdefault(key, (name, array))
    return list(found.values())


def is_whole_statement(problem: Problem, number: int) -> bool:
    """Whether a node gives the result of its statement, and not a part of it."""

    def last() -> dict[object, int]:
        found: dict[object, int] = {}
        for numbers in problem.followed.sites.values():
            call = problem.followed.nodes[numbers[0]].site.call
            found[call] = max(found.get(call, -1), numbers[0])
        return found

    node = problem.followed.nodes[number]
    return (
        problem.recall("last of statements", last)[node.site.call] == number
        or node.site.key == node.site.call
    )


def is_mask(array: HostArray) -> bool:
    """Whether it holds zeros and one other number."""
    kinds = numpy.unique(numpy.asarray(array, dtype="float64").round(12))
    return len(kinds) == 2 and kinds[0] == 0
