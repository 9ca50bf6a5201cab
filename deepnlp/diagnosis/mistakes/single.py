"""Mistakes that one gradient shows when it is compared with the right one, or with its parts."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

import numpy

from deepnlp.backend import HostArray
from deepnlp.diagnosis.mistakes.edges import quoted
from deepnlp.diagnosis.mistakes.steps import letter_of, moved_steps
from deepnlp.diagnosis.mistakes.table import say
from deepnlp.diagnosis.places import shortened
from deepnlp.diagnosis.problem import Guess, Problem, is_one, ratio
from deepnlp.gradcheck import causes as c

# --- The gradient as a whole ----------------------------------------------------------------------


def simple(problem: Problem, name: str) -> Iterator[Guess]:
    """The gradient is zero, a multiple, transposed, not summed, or the one that comes in."""
    right, wrong = problem.right[name], problem.wrong[name]
    yield say("zero", {name: 0 * right}, name=name)
    state = letter_of(problem, name)
    if state is not None:
        cause = c.H_PATH if state == "h" else c.C_PATH
        yield say("state zero", {name: 0 * right}, cause=cause, name=name)
    factor = ratio(wrong, right)
    if factor is not None and abs(factor + 1) < 1e-6:
        yield say("minus", {name: -right}, name=name)
    elif factor and not is_one(factor) and numpy.count_nonzero(right) > 1:
        told = problem.name_factor(factor)  # of a single number, anything is a multiple
        yield say("multiple", {name: factor * right}, name=name, factor=told)
    for axes in (None, *range(right.ndim)) if name not in problem.subject.input_names else ():
        spread = numpy.broadcast_to(right.sum(axis=axes, keepdims=True), right.shape)
        if right.ndim and spread.any():
            yield say("spread", {name: spread}, name=name)
    if right.ndim == 2:
        yield say("transposed", {name: right.T}, name=name)
    extra = wrong.ndim - right.ndim
    total = wrong.sum(axis=tuple(range(max(extra, 0))))
    if extra > 0 and total.shape == right.shape and numpy.allclose(total, right, 1e-5, 1e-9):
        axes = "axis" if extra == 1 else f"{extra} axes"
        words = {"shape": wrong.shape, "wanted": right.shape, "axes": axes}
        yield say("unsummed", {name: wrong}, name=name, **words)
    for k, weight in enumerate(problem.subject.weights):
        if weight.shape == right.shape and weight.ndim > 0:
            dy = f"`{problem.incoming(k)}`"
            yield say("passed through", {name: weight}, name=name, dy=dy)


def other_pieces(problem: Problem, name: str) -> Iterator[Guess]:
    """A function made of straight pieces, with the slopes of another one.

    Wrong: ``dx = dy * (x > 0)`` for a rectifier that leaks.
    Right: ``dx = dy * np.where(x > 0, 1, a)``.
    """
    right, wrong = problem.right[name], problem.wrong[name]
    for dy in problem.subject.weights:
        if dy.shape != right.shape or wrong.shape != right.shape or not dy.all() or right.size < 5:
            continue
        if ratio(wrong, right) is not None:  # a factor is wrong, not where it is cut off
            continue
        slopes = [numpy.unique((g / dy).round(6)) for g in (wrong, right)]
        if len(slopes[0]) <= 2 <= len(slopes[1]) <= 3:
            told, wanted = (" and ".join(f"{slope + 0.0:g}" for slope in s) for s in slopes)
            turned = (numpy.abs(wrong - right) > 1e-6 * numpy.abs(dy)).all()
            key = (
                "slopes" if told != wanted else "slopes inverted" if turned else "slopes elsewhere"
            )
            yield say(key, {name: wrong}, name=name, slopes=told, wanted=wanted)


def moved_by_one(problem: Problem, name: str) -> Iterator[Guess]:
    """The gradient stands a place too far along an axis; what comes in at its end is another value.

    Wrong: ``dx = dpadded[:, :-2]``. Right: ``dx = dpadded[:, 1:-1]``.
    """
    right, wrong = problem.right[name], problem.wrong[name]
    for axis, size in enumerate(right.shape if right.shape == wrong.shape else ()):
        for step, word in ((1, "later"), (-1, "earlier")) if size > 3 else ():
            place = 0 if step > 0 else -1
            edge = (slice(None),) * axis + (place,)
            rolled = numpy.roll(right, step, axis)
            rolled[edge] = wrong[edge]
            if numpy.count_nonzero(numpy.delete(rolled, place, axis)) > 2:
                yield say("one place off", {name: rolled}, tier=1, name=name, word=word, axis=axis)


def moved_in_time(problem: Problem, name: str) -> Iterator[Guess]:
    """The gradients of the steps were joined in another order.

    Wrong: ``dxs.append(dx)`` in a loop that runs backwards. Right: ``dxs[:, t] = dx``.
    """
    right = problem.right[name]
    if name not in problem.subject.input_names or right.ndim != 3:
        return
    axis = problem.trace.time_axis if problem.trace is not None else 1
    for cause, told, array in moved_steps(right, axis):
        yield say("moved", {name: array}, cause=cause, name=name, moved=told)


# --- The parts that a gradient is the sum of ------------------------------------------------------


@dataclass(eq=False)
class Part:
    """What one operation, or one row of it, gives to the gradient of a variable.

    Attributes
    ----------
    number : int
        Of the node.
    value : array
        Of the shape of the variable.
    touched : array of bool
        Which of its entries the operation takes.
    sample, step : int
        Of the inputs; negative where it is unknown.
    """

    number: int
    value: HostArray
    touched: HostArray
    sample: int = -2
    step: int = -2


_MOST_ROWS = 256


def parts_of(problem: Problem, name: str, by_row: bool = True) -> list[Part]:
    """What each row of each operation that takes a variable gives to its gradient, in order."""
    key = f"parts of {name} {by_row}"
    found: list[Part] = problem.recall(key, lambda: list(_parts(problem, name, by_row)))
    return found


def _parts(problem: Problem, name: str, by_row: bool) -> Iterator[Part]:
    trace = problem.followed
    own = trace.variables[name]
    marked = numpy.zeros(trace.tape.size, dtype=bool)
    marked[own] = True
    for number in trace.nodes_with(marked):
        node = trace.nodes[number]
        g, whole = trace.gradient_at(number), numpy.zeros(trace.tape.size)
        touched = numpy.zeros(trace.tape.size, dtype=bool)
        for _, tickets in node.operands:
            touched[tickets] = True
        steps, samples = trace.steps[node.tickets], trace.samples[node.tickets]
        labels = numpy.stack([steps, samples], axis=-1)
        rows = int(numpy.prod(node.tickets.shape[:-1]))
        kinds = list(dict.fromkeys(map(tuple, labels.reshape(-1, 2).tolist())))
        is_left = node.op == "matmul" and marked[node.operands[0][1]].any()
        if by_row and len(kinds) < rows <= _MOST_ROWS and not is_left and node.op != "sum":
            lead = numpy.arange(rows).reshape((*node.tickets.shape[:-1], 1))
            where = [numpy.broadcast_to(lead == r, node.tickets.shape) for r in range(rows)]
        elif by_row and len(kinds) <= _MOST_ROWS:
            where = [(labels == numpy.array(kind)).all(axis=-1) for kind in kinds]
        else:
            where = [numpy.ones(node.tickets.shape, dtype=bool)]
        for chosen in where:
            whole[:] = 0.0
            passed = node.vjp(g * chosen, node.arrays, node.values)
            for (_, tickets), value in zip(node.operands, passed):
                numpy.add.at(whole, numpy.broadcast_to(tickets, value.shape), value)
            first = labels[chosen][0]
            yield Part(number, whole[own], touched[own], int(first[1]), int(first[0]))


def sums(problem: Problem, name: str) -> Iterator[Guess]:
    """Of the rows, steps or places where a weight is used, some do not count.

    Wrong: ``db = dy[-1]``, ``db = dy.mean(axis=0)``, ``dW = x_t.T @ da`` in a loop over time.
    Right: ``db = dy.sum(axis=0)``, ``dW += x_t.T @ da``.
    """
    if name in problem.subject.input_names or not problem.followed.variables[name].size:
        return
    parts, trace = parts_of(problem, name), problem.followed
    site_of = trace.site_of
    lookups = [p for p in parts if trace.nodes[p.number].op == "gather"]
    if lookups:
        yield from _repeated_ids(problem, name, parts, lookups)
    kinds = list(dict.fromkeys(site_of(p.number) for p in parts))
    for kind in kinds if len(kinds) > 1 else ():
        kept = [p for p in parts if site_of(p.number) != kind]
        lost = next(p for p in parts if site_of(p.number) == kind)
        side = c.TIED_LOOKUP if trace.nodes[lost.number].op == "gather" else c.TIED_OUTPUT
        cause, line = side if lookups else c.TERM_MISSING, quoted(trace.nodes[lost.number])
        yield say("use lost", {name: _total(kept)}, cause=cause, name=name, line=line)
    yield from _some_labels(problem, name, parts)


def _total(parts: list[Part]) -> HostArray:
    return numpy.sum([p.value for p in parts], axis=0)


def _repeated_ids(
    problem: Problem, name: str, parts: list[Part], lookups: list[Part]
) -> Iterator[Guess]:
    """Of an id that occurs twice, only one occurrence counts.

    Wrong: ``dW[ids] = dy``, or ``dW[ids] += dy``, which NumPy carries out once for each id.
    Right: ``np.add.at(dW, ids, dy)``.
    """
    others = [p for p in parts if p not in lookups]
    rest = _total(others) if others else 0.0
    for which, ordered in (("last", lookups), ("first", lookups[::-1])):
        yield say("last id", {name: _assigned(ordered) + rest}, name=name, which=which)
    numbers = dict.fromkeys(p.number for p in lookups)
    if len(numbers) > 1:  # one look-up per step, each of which counts every id once; they add up
        steps = [_assigned([p for p in lookups if p.number == n]) for n in numbers]
        yield say("id in a step", {name: numpy.sum(steps, axis=0) + rest}, name=name)


def _assigned(parts: list[Part]) -> HostArray:
    """Parts assigned one after the other where they are not zero, instead of added."""
    kept = numpy.zeros(parts[0].value.shape)
    for part in parts:
        kept = numpy.where(part.value != 0, part.value, kept)
    return kept


def _some_labels(problem: Problem, name: str, parts: list[Part]) -> Iterator[Guess]:
    """One step, sample, row or use alone; or the mean over them; or all without one step."""
    trace, is_bias = problem.followed, problem.right[name].ndim <= 1
    numbers = list(dict.fromkeys(p.number for p in parts))
    in_a_loop, total = len(numbers) > 1, _total(parts)

    def only(key: str, which: int, kept: list[Part], cause: str = "") -> Iterator[Guess]:
        value = _total(kept)
        if value.any() or cause == c.ASSIGNED:  # that it is zero says more
            yield say(key, {name: value}, cause=cause, name=name, which=which)

    for word, of_part in (("step", lambda p: p.step), ("sample", lambda p: p.sample)):
        known = sorted({of_part(p) for p in parts if of_part(p) >= 0})
        for which in (known[-1], known[0]) if len(known) > 1 else ():
            kept = [p for p in parts if of_part(p) == which]
            if word == "sample":
                yield from only("only sample", which, kept)
                continue
            # The loop on the way back ends with step 0: what it assigned last is what remains.
            assigned = not is_bias or (in_a_loop and which == known[0])
            yield from only("only step", which, kept, c.ASSIGNED if assigned else c.NOT_SUMMED_T)
            if is_bias and in_a_loop and not assigned:
                yield from only("only step", which, kept, c.ASSIGNED)
        if is_bias and len(known) > 1:
            mean = {name: total / len(known)}
            yield say(f"mean of {word}s", mean, name=name, count=len(known))
        for which in (known[0], known[-1]) if word == "step" and len(known) > 1 else ():
            rest = [p for p in parts if p.step != which]
            yield say("step left out", {name: _total(rest)}, name=name, which=which)
    if is_bias and len(parts) > 1:
        yield say("mean of rows", {name: total / len(parts)}, name=name, count=len(parts))
        for which in (len(parts) - 1, 0):
            yield from only("only row", which, [parts[which]])
    if in_a_loop and len({trace.site_of(n) for n in numbers}) == 1:
        for number in (numbers[0], numbers[-1]):
            kept = [p for p in parts if p.number == number]
            yield say("one use", {name: _total(kept)}, name=name, count=len(numbers))


def overlaps(problem: Problem, name: str) -> Iterator[Guess]:
    """An entry of the input is used several times, and the gradient of one use is kept.

    Wrong: ``dx[:, k : k + T] = dy @ K[k].T``. Right: ``dx[:, k : k + T] += dy @ K[k].T``.
    Where two statements use the whole input, nothing is overwritten: a term is left out.
    """
    if name not in problem.subject.input_names or letter_of(problem, name) is not None:
        return
    parts = [part for part in parts_of(problem, name, by_row=False) if part.value.any()]
    count = len(parts)
    sites = {problem.followed.site_of(p.number) for p in parts}
    if len(sites) == count > 1:
        yield from _ways(problem, name, parts)
    if count < 2 or (len(sites) == count and all(p.touched.all() for p in parts)):
        return
    for ordered in (parts[::-1], parts):
        kept = numpy.zeros(problem.right[name].shape)
        for part in ordered:
            kept[part.touched] = part.value[part.touched]
        tier = int(len(sites) == count)
        yield say("overlap", {name: kept}, tier=tier, count=count, name=name)


def _ways(problem: Problem, name: str, parts: list[Part]) -> Iterator[Guess]:
    """Of the ways from an input to the outputs, one is left out, or all but one."""
    ways = [_way(problem, part.number) for part in parts]
    for k, part in enumerate(parts):
        others = [p for p in parts if p is not part]
        if len(parts) > 2:
            words = {"count": len(parts), "name": name, "way": ways[k]}
            yield say("only way", {name: part.value}, **words)
        rest = f"; only that through {ways[1 - k]} is in its gradient" if len(parts) == 2 else ""
        yield say("way missing", {name: _total(others)}, name=name, way=ways[k], rest=rest)


def _way(problem: Problem, number: int) -> str:
    """An operation by which a value goes on: its expression, and the statement it is in."""
    node = problem.followed.nodes[number]
    expression = node.site.expression
    inside = "" if expression is None else shortened(ast.unparse(expression))
    return f"`{inside}` in {quoted(node)}" if inside and len(inside) < 60 else quoted(node)
