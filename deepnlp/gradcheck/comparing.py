"""The rows of a report: the gradients that a backward gives beside slopes of its forward."""

import math
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy

from deepnlp.backend import Generator
from deepnlp.gradcheck import rules
from deepnlp.gradcheck.causes import FLOAT32, Cause, say
from deepnlp.gradcheck.numeric import typical_size
from deepnlp.gradcheck.report import Check, Row
from deepnlp.gradcheck.shapes import told_shapes
from deepnlp.gradcheck.subject import Subject
from deepnlp.gradcheck.variables import Input
from deepnlp.gradcheck.walking import HostArray, near

ALL = "all gradients"
"""Name of the row for all together."""

_MANY = 4000  # numbers in lines: more are compared along directions
_MOVES = 3  # how often the variables are moved away from kinks
_ENTRIES = 24  # of a wrong gradient, looked at for kinks

Gradients = dict[str, HostArray]


def compare(
    name: str, analytic: HostArray, numeric: HostArray, tolerance: float, step: str = "complex"
) -> Row:
    """One row: how far two gradients are apart, relative to the largest numeric entry.

    Parameters
    ----------
    name : str
    analytic, numeric : numpy.ndarray of one shape
    tolerance : float
        Largest error that is ok.
    step : {"complex", "central"}
        By which the numbers were found: it says down to which size entries are compared.
    """
    if analytic.shape != numeric.shape:
        return _of_wrong_shape(name, name, analytic, numeric)
    error, index = rules.error_of(analytic, numeric, step)
    return Row(name, error, index, error <= tolerance, analytic, numeric)


def _of_wrong_shape(title: str, name: str, analytic: HostArray, like: HostArray) -> Row:
    note = told_shapes(name, analytic.shape, like.shape)
    return Row(title, math.inf, (), False, analytic, like, note=note)


class Comparison:
    """The gradients that a backward gives beside slopes of its forward, as rows of a report.

    Parameters
    ----------
    subject : Subject
    method : {"auto", "complex", "central", "direction"}
    rng : numpy.random.Generator
        For directions.
    tolerance : float, optional
        Largest error that is ok; without one it follows from the step.

    Attributes
    ----------
    step : {"complex", "central"}
        The step of the last rows; central where one of them needs it.
    """

    def __init__(
        self, subject: Subject, method: str, rng: Generator, tolerance: float | None
    ) -> None:
        self.subject, self.method, self.rng = subject, method, rng
        self.step, self._given = "central", tolerance
        self.differences = set[str]()  # the variables for which differences are taken

    @property
    def tolerance(self) -> float:
        """Largest error that is ok."""
        return rules.TOLERANCES[self.step] if self._given is None else self._given

    # --- Rows -------------------------------------------------------------------------------

    def rows(self, analytic: Gradients, method: str = "") -> list[Row]:
        """A row for each gradient; for all together where directions are asked for."""
        method, lines = method or self.method, self.subject.caller.lines
        is_long = lines is not None and sum(map(numpy.size, analytic.values())) > _MANY
        if method == "direction" or is_long:
            return self._along_all(analytic) if lines is None else self._along_each(analytic)
        return self._entry_by_entry(analytic, self._numeric(analytic, method))

    def _numeric(self, analytic: Gradients, method: str) -> Gradients:
        """All gradients; a complex step that misses a part of one gives way to differences."""
        subject, found = self.subject, dict[str, HostArray]()
        self.step, self.differences = "complex", {*analytic}
        if method != "central" and subject.is_analytic(self.rng):
            try:
                found = {n: subject.numeric_gradient(n, "complex") for n in subject.variables}
                self.differences = {n for n in found if self._loses_slope(n, found)}
            except Exception as error:  # a forward may lose or refuse the imaginary part anywhere
                if method == "complex":
                    raise self._not_analytic() from error
        if self.differences:
            if method == "complex":
                raise self._not_analytic()
            self.step = "central"
            subject.look_for_float32(self.rng)
        for name in self.differences & {*analytic}:
            found[name] = subject.numeric_gradient(name, "central", analytic[name])
        return found

    def _loses_slope(self, name: str, numeric: Gradients) -> bool:
        direction = {name: self.subject.direction(name, self.rng)}
        return numeric[name].size > 0 and self.subject.loses_slope(direction, numeric)

    def _not_analytic(self) -> ValueError:
        return ValueError(say("not analytic", name=self.subject.name))

    def _entry_by_entry(self, analytic: Gradients, numeric: Gradients) -> list[Row]:
        """A row for every variable; differences that come from rounding are ok."""
        subject = self.subject
        rows = []
        for name, variable in list(subject.variables.items()):
            if isinstance(variable, Input) and variable.grad() is None and not numeric[name].any():
                subject.not_checked[name] = "does not reach these outputs"
                del subject.variables[name]
                continue
            step = "central" if name in self.differences else "complex"
            tolerance = rules.TOLERANCES[step] if self._given is None else self._given
            row = compare(name, analytic[name], numeric[name], tolerance, step)
            if self._is_doubtful(row):
                self.step, tolerance = "central", max(tolerance, rules.TOLERANCES["central"])
                self.differences.add(name)
                numeric[name] = subject.numeric_gradient(name, "central", analytic[name])
                row = compare(name, analytic[name], numeric[name], tolerance, "central")
            imaginary = subject.imaginary.get(name, 0.0)
            if row.ok and imaginary > tolerance * largest(numeric[name]):
                row.ok, row.error = False, math.inf
                row.note = say("imaginary", name=name, size=imaginary)
            rows.append(row)
        for row in rows:
            if row.fits and not row.ok:
                self._forgive_rounding(row, analytic)
        return rows

    def _is_doubtful(self, row: Row) -> bool:
        """Return whether a gradient is wrong by a complex step that may have missed a slope."""
        is_open = self.method == "auto" and row.name not in self.differences
        is_wrong = is_open and row.fits and not row.ok
        return is_wrong and self.subject.loses_slope_elsewhere(row.name, self.rng)

    def _forgive_rounding(self, row: Row, analytic: Gradients) -> None:
        """Accept what rounding explains up to a bound; beyond the bound, do not compare."""
        subject = self.subject
        slack = 1.0 if row.name not in self.differences else 1e3
        if row.error <= rules.LARGEST:
            rounding = slack * subject.rounding_of_slopes(row.name)
            row.ok = bool(row.off.max(initial=0.0) <= rounding)
            if not row.ok:
                self._forgive_float32(row, analytic)
        if not row.ok and row.name in self.differences:
            size = float(numpy.abs(row.numeric).max(initial=0.0))
            many = 3 if subject.precision > 1e-15 else 10  # as every output adds its rounding
            closest = many * subject.errors[row.name] + rules.TOLERANCES["central"] * size
            if (row.off <= closest).all():
                least = float(closest.max(initial=0.0)) / (size or 1.0)
                row.noted = say("coarse", closest=least)

    def _forgive_float32(self, row: Row, analytic: Gradients) -> None:
        """A gradient made of float32 numbers cannot be better than float32."""
        tolerance = rules.FLOAT32
        is_coarse = self.subject.precision > 1e-15
        if not (is_coarse or (row.analytic.size > 0 and is_single(row.analytic))):
            rounding = self.subject.rounding_of_backward(row.name, analytic)
            tolerance = 1e3 * rounding if 1e-10 < rounding < 1e-6 else 0.0
        if row.error <= tolerance:
            row.ok = True
            evidence = say("float32", name=row.name, error=row.error, tolerance=tolerance)
            row.causes = [Cause(FLOAT32, evidence, row.error)]

    # --- What is too small ------------------------------------------------------------------

    def note_small(self, rows: list[Row]) -> list[Row]:
        """Note gradients that are rounding errors of the numbers that they are computed from."""
        subject = self.subject
        values, size = subject.values(), sum(float(numpy.abs(w).sum()) for w in subject.weights)
        size *= max([1.0, *(typical_size(v) for v in values.values())])
        small = [row for row in rows if row.is_wrong and row.fits and _peak(row) <= 1e-6 * size]
        if not small or self.method == "direction":
            return rows
        noise = {row.name: 0.0 for row in small}
        for nudge in (rules.NUDGE, -rules.NUDGE):
            nudged = self._rows_at(values, noise, nudge)
            for row in small:
                other = nudged[row.name]
                moves = other.analytic - row.analytic, other.numeric - row.numeric
                noise[row.name] = max(noise[row.name], *map(largest, moves))
        subject.put(values)
        for row in small:
            if _peak(row) <= rules.NOISE * noise[row.name]:
                row.noted = say("too small", size=_peak(row))
        self._note_saturated([row for row in small if row.is_wrong], values)
        return rows

    def judge_small_entries(self, rows: list[Row]) -> None:
        """Find ok rows with an entry that is wrong beside its own size, and beyond its rounding.

        A nudge shows the rounding of each entry. Where a saturated function loses an entry, that
        is right at a fraction of the same numbers.
        """
        subject, values, kept = self.subject, self.subject.values(), (self.step, self.differences)
        judged = [row for row in rows if row.ok and row.fits and row.name in values]
        doubted = {row.name: _doubted(row) for row in judged}
        coarse = dict.fromkeys(doubted, subject.precision)
        coarse |= {row.name: 1e-6 for row in judged if is_single(row.analytic)}
        for factor in (1.0, 0.1, 0.001):
            doubted = {n: where for n, where in doubted.items() if where.any()}
            if not doubted:
                break
            nudge = max(rules.NUDGE, *(coarse[n] for n in doubted))
            there = {n: factor * v for n, v in values.items()}
            here, *nudged = [self._rows_at(there, doubted, by) for by in (0.0, nudge, -nudge)]
            for name, row in here.items():
                pairs = [(row, other[name]) for other in nudged]
                moves = [abs(a.analytic - b.analytic) for a, b in pairs]
                noise = numpy.max([*moves, *(abs(a.numeric - b.numeric) for a, b in pairs)], 0)
                doubted[name] = doubted[name] & _doubted(row) & (row.off > rules.NOISE * noise)
        subject.put(values)
        self.step, self.differences = kept
        for row in judged:
            if (where := doubted.get(row.name, numpy.zeros(()))).any():
                row.index = tuple(map(int, numpy.argwhere(where)[0]))
                row.ok, row.causes = False, []
                row.error = float(row.off[row.index] / _size_of(row)[row.index])

    def _rows_at(self, values: Gradients, names: Collection[str], nudge: float) -> dict[str, Row]:
        """Rows of some variables at other numbers, all changed by up to a relative nudge."""
        subject, lines, kept = self.subject, self.subject.caller.lines, None
        if lines is not None:
            kept = lines.move(self.rng, nudge)
            subject.put(lines.values)
        else:
            some = {n: self.rng.choice([0.5, 1.0], v.shape) for n, v in values.items()}
            subject.put({n: v * (1 + nudge * some[n]) for n, v in values.items()})
        analytic, pairs = subject.analytic_gradients(), dict[str, Row]()
        for name in names:
            step = "central" if name in self.differences else "complex"
            numeric = subject.numeric_gradient(name, step)
            pairs[name] = Row(name, 0.0, (), True, analytic[name], numeric)
        if lines is not None:
            lines.put(kept)
        return pairs

    def _note_saturated(self, rows: list[Row], values: Gradients) -> None:
        """Note what is right, and far larger, at a fraction of the same numbers."""
        kept = self.step, self.differences
        is_code = self.subject.caller.lines is None
        for factor in (0.1, 0.01, 0.001) if rows and is_code else ():
            self.subject.put({name: factor * value for name, value in values.items()})
            lifted = {row.name: row for row in self.rows(self.subject.analytic_gradients())}
            for row in rows:
                like = lifted.get(row.name)
                if like and like.ok and _peak(row) <= rules.LIFTED * largest(like.numeric):
                    row.noted = say("too small", size=_peak(row))
            self.subject.put(values)
        self.step, self.differences = kept

    # --- Along directions -------------------------------------------------------------------

    def _along_all(self, analytic: Gradients) -> list[Row]:
        """A row for each gradient, along a direction; one for all together where all are right."""
        rows = self._along_each(analytic, is_detailed=False)
        if all(row.ok for row in rows):
            worst = max(rows, key=lambda row: row.error)
            return [replace(worst, name=ALL)]
        return [replace(next(row for row in rows if not row.ok), name=ALL), *rows]

    def _along_each(self, analytic: Gradients, is_detailed: bool = True) -> list[Row]:
        """A row for each gradient alone, along a direction; the first wrong one entry by entry."""
        subject, rows = self.subject, list[Row]()
        directions = subject.random_directions(self.rng)
        groups = [{n: d} for n, d in directions.items()] if is_detailed else [directions]
        is_complex = self.method != "central" and subject.is_analytic(self.rng)
        is_complex = is_complex and not any(map(subject.loses_slope, groups))
        self.step = "complex" if is_complex else "central"
        self.differences = set() if is_complex else {*directions}
        for name, direction in directions.items():
            row = self._along(name, analytic, direction)
            is_first = not row.note and not row.ok and all(one.ok for one in rows)
            if is_detailed and (is_first or (row.note and row.analytic.size == direction.size)):
                numeric = subject.numeric_gradient(name, self.step, analytic[name])
                row = compare(name, analytic[name], numeric, self.tolerance, self.step)
            rows.append(row)
        return rows

    def _along(self, name: str, analytic: Gradients, direction: HostArray) -> Row:
        """One number: the slope along a direction, relative to the size of its terms."""
        subject, gradient = self.subject, analytic[name]
        if gradient.shape != direction.shape:
            return _of_wrong_shape(name, name, gradient, direction)
        terms = gradient * direction
        slope, total = subject.slope({name: direction}, self.step), float(terms.sum())
        apart, size = abs(total - slope), float(numpy.sqrt((terms**2).sum()))
        error = apart / max(abs(slope), size, 1e-300)
        error = error if math.isfinite(error) else math.inf
        slack = subject.rounding_of_slopes(name) * float(numpy.abs(direction).max(initial=1.0))
        slack *= 1.0 if self.step == "complex" else 1e3
        ok = bool(error <= self.tolerance or (error <= rules.LARGEST and apart <= slack))
        return Row(name, error, (), ok, numpy.array(total), numpy.array(slope))

    # --- Kinks, and other points ------------------------------------------------------------

    def kinks(self, rows: list[Row]) -> list[str]:
        """An entry of every wrong gradient at which forward has no slope, such as ``"x[0, 1]"``."""
        subject, found = self.subject, []
        for row in rows:
            if not row.is_wrong:
                continue
            if row.name == ALL and not row.note:
                is_kink = subject.has_kink(subject.random_directions(self.rng))
                return ["this input"] if is_kink else []
            # A gradient of another shape has no entries to look at.
            variable = subject.variables.get(row.name)
            if variable and row.fits and row.numeric.shape == variable.get().shape:
                kinks = (index for index in _worst(row) if subject.has_kink_at(row.name, index))
                found += [f"{row.name}{list(index)}" for index in islice(kinks, 1)]
        return found

    def forgive_kinks(self, rows: list[Row]) -> None:
        """A gradient is not wrong where forward has none."""
        for row in rows:
            if not row.ok and row.fits:
                row.ok = all(self.subject.has_kink_at(row.name, index) for index in _worst(row))

    def rows_aside(self) -> list[Row]:
        """Rows beside a point at which forward has a kink: on one side, then on the other."""
        subject, values, lines = self.subject, self.subject.values(), self.subject.caller.lines
        for number in range(2 * _MOVES):
            if lines is not None:
                lines.move(self.rng)
                subject.put(lines.values)
            else:
                if number % 2 == 0:
                    steps = subject.random_directions(self.rng)
                subject.move(values, steps, 1 - 2 * (number % 2))
            rows = self.note_small(self.rows(subject.analytic_gradients()))
            is_wrong = any(row.is_wrong for row in rows)
            if (number % 2 and not is_wrong) or (is_wrong and not self.kinks(rows)):
                break
        else:  # there is a kink wherever one looks
            if self.method != "direction":
                self.forgive_kinks(rows)
        return rows

    def rows_of_lines(self, rows: list[Row]) -> list[Check]:
        """Return what is known of lines: which loss, what is clipped, what stands on the way."""
        lines, checks = self.subject.caller.lines, list[Check]()
        wrong = [row for row in rows if row.is_wrong and row.name in lines.unclipped]
        for row in wrong:
            tolerance = rules.TOLERANCES["central" if row.name in self.differences else "complex"]
            again = compare(row.name, lines.unclipped[row.name], row.numeric, tolerance)
            if again.ok:
                row.ok, row.error, row.analytic, row.note = True, again.error, again.analytic, ""
                checks.append(Check("clipped", True, f"{row.name}: as it is before a later line"))
        if named := lines.forgive(rows):
            checks.append(Check("on the way", True, ", ".join(named)))
        if lines.loss:
            checks.append(Check("loss", True, f"the gradients are those of {lines.loss}"))
        unpaired = dict.fromkeys(lines.unpaired(), f"without a gradient, {rules.INTENDED}")
        self.subject.not_checked |= unpaired
        return checks

    def rows_for_sizes(self) -> list[Row]:
        """Rows with outputs weighted by their sizes, where large ones hide a mistake in others."""
        subject, weights = self.subject, self.subject.weights
        scales = [rules.sizes(y) for y in subject.forward()]
        if not subject.caller.takes_gradients or all(_is_even(scale) for scale in scales):
            return []
        pairs = zip(weights, scales, strict=False)  # backward may take fewer
        subject.weights = [w * (scale.min() / scale) for w, scale in pairs]
        rows = self.note_small(self.rows(subject.analytic_gradients()))
        if any(row.is_wrong for row in rows) and not self.kinks(rows):
            return rows
        subject.weights = weights
        return []

    def note_elsewhere(self, rows: list[Row]) -> list[Check]:
        """Return what these numbers may hide: gradients of 0, branches that others would take."""
        subject, values, told = self.subject, self.subject.values(), list[Check]()
        zero = [row.name for row in rows if row.ok and row.fits and not row.numeric.any()]
        if zero:
            told.append(Check("zero", True, say("zero", names=", ".join(zero)), len(zero)))
        if subject.caller.lines is not None:
            return told
        kept, free = (self.step, self.differences), [n for n in values if subject.may_move(n)]
        moved = {n: v * self.rng.choice([-3.0, 3.0], v.shape) for n, v in values.items()}
        with suppress(Exception), numpy.errstate(all="ignore"):
            subject.put({n: moved[n] for n in free})
            if all(numpy.isfinite(y).all() for y in subject.forward()):
                analytic = subject.analytic_gradients()
                ways = subject.random_directions(self.rng)
                terms = numpy.concatenate([(analytic[n] * ways[n]).ravel() for n in ways])
                apart = abs(subject.slope(ways, kept[0]) - terms.sum())
                if not apart <= 1e-5 * numpy.linalg.norm(terms):
                    there = self.note_small(self.rows(analytic))
                    wrong = [row.name for row in there if row.is_wrong]
                    if wrong and not self.kinks(there):
                        text = say("elsewhere", names=", ".join(wrong))
                        told.append(Check("elsewhere", True, text, len(wrong)))
        subject.put(values)
        self.step, self.differences = kept
        return told

    def rows_elsewhere(self) -> list[Row]:
        """Rows for other numbers where those given hide a mistake, as gamma that is 1 at first.

        So are an identity, a symmetric matrix, ids of which none repeats, a mask that is all True.
        Only where something is wrong there.
        """
        subject, values, kept = self.subject, self.subject.values(), (self.step, self.differences)
        plain = [n for n, v in values.items() if _hides(v) and subject.may_move(n)]
        undo = subject.change_whole_numbers()
        if not plain and not undo:
            return []
        steps = {n: numpy.asarray(30 * self.rng.normal(size=values[n].shape)) for n in plain}
        with suppress(Exception), numpy.errstate(all="ignore"):
            subject.move(values, steps, 1)
            analytic = subject.analytic_gradients()
            if not self._along_all(analytic)[0].ok:
                rows = self.note_small(self.rows(analytic))
                is_wrong = any(row.is_wrong for row in rows) and all(row.fits for row in rows)
                if is_wrong and not self.kinks(rows):
                    return rows
        for array, content in undo:
            array[...] = content
        subject.put(values)
        self.step, self.differences = kept
        return []


def _is_even(scale: HostArray) -> bool:
    return bool(scale.size == 0 or scale.max() <= 1e3 * scale.min())


def _hides(value: HostArray) -> bool:
    """Return whether numbers may make a wrong gradient right: equal, few, symmetric, orthogonal."""
    if value.size < 2:
        return value.size == 1 and float(numpy.abs(value).item()) in (0.0, 1.0)
    if len(numpy.unique(numpy.abs(value))) <= 2:
        return True
    if value.ndim != 2 or value.shape[0] != value.shape[1]:
        return False
    product, size = value.T @ value, numpy.diagonal(value.T @ value)
    is_orthogonal = numpy.allclose(product, numpy.diag(numpy.full(len(size), size[0])))
    return bool(is_orthogonal or near(value, value.T))


def _peak(row: Row) -> float:
    """The largest entry of both gradients, where they differ most."""
    wrong = row.off >= 0.1 * row.off[row.index]
    largest = numpy.maximum(numpy.abs(row.analytic), numpy.abs(row.numeric))
    return float(largest[wrong].max(initial=0.0))


def _size_of(row: Row) -> HostArray:
    """The larger size of each entry in both gradients."""
    return numpy.asarray(numpy.maximum(numpy.abs(row.analytic), numpy.abs(row.numeric)))


def _doubted(row: Row) -> HostArray:
    """The entries that are off beside their own size."""
    return numpy.asarray(row.off > rules.LARGEST * _size_of(row))


def _worst(row: Row) -> list[tuple[int, ...]]:
    """The entries of a wrong gradient that are furthest off, the worst first."""
    order = numpy.argsort(-row.off, axis=None)[:_ENTRIES]
    places = [numpy.unravel_index(int(k), row.off.shape) for k in order if row.off.flat[k] > 0]
    return [tuple(map(int, place)) for place in places]


def largest(array: HostArray) -> float:
    """Return the largest size of an entry; 0 if there is none."""
    return float(numpy.abs(array).max(initial=0.0))


def is_single(array: Any) -> bool:
    """Return whether all numbers fit float32."""
    with numpy.errstate(all="ignore"):
        return bool(numpy.array_equal(array.astype("float32"), array))
