"""Code under test: its variables by name, and the gradients that its backward gives."""

import contextlib
import re
import warnings
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

import numpy

from deepnlp.backend import Generator, asarray, asnumpy
from deepnlp.gradcheck.causes import say
from deepnlp.gradcheck.forms import adapter_of
from deepnlp.gradcheck.names import CUSTOMARY, LABELS, ORDER, STATE, WEIGHT
from deepnlp.gradcheck.numeric import Function, on_host
from deepnlp.gradcheck.rules import INTENDED
from deepnlp.gradcheck.states import draw_states
from deepnlp.gradcheck.variables import (
    NUMBERS,
    Attribute,
    Input,
    Part,
    Variable,
    Weight,
    belongs,
    gradient_names,
    hand_over,
    held_arrays,
    held_views,
    kept_gradient,
    local_names,
    parts,
    path_of,
    shape_of,
    unseen,
)  # fmt: skip
from deepnlp.gradcheck.walking import (
    HostArray,
    Kept,
    holders,
    is_box,
    is_real,
    keep,
    leaves,
    mapped,
    near,
    places,
    plain,
    put_back,
    same,
)

_PAIRED = ("", "integers", "a whole number", "truth values")  # what may have a gradient


class Subject(Function):
    """Code under test: its variables by name, and the gradients that its backward gives.

    Parameters
    ----------
    layer : object with ``forward`` and ``backward``, or another form of the two
        Copied.
    inputs : tuple
        What forward takes by position.
    named : dict, optional
        What it takes by name.
    constants : collection of str
        Names of arrays that have no gradient.
    table : mapping of str to str
        Where the gradients of some arrays are, where names do not say it.

    Attributes
    ----------
    missing : list of Attribute
        Weights for which no gradient was found.
    not_checked : dict of str to str
        What has no gradient, and the reason.
    changed : list of str
        Arrays of the caller that were changed in place.
    returns_nothing : bool
        Whether backward returned None, though an input has a gradient.
    """

    def __init__(
        self,
        layer: Any,
        inputs: tuple[Any, ...],
        named: dict[str, Any] | None = None,
        constants: Collection[str] = (),
        table: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._before: list[tuple[Variable, HostArray]] = []  # weights before a backward
        self._updates: dict[str, Kept] = {}  # arrays without a gradient that backward changes
        super().__init__(adapter_of(layer, inputs, named or {}, table))
        self.constants = constants
        self.missing: list[Attribute] = []
        self.not_checked: dict[str, str] = {}
        self.changed: list[str] = []
        self.returns_nothing = self._is_sorted = False
        self._is_keyed = False  # whether backward returns gradients by their names
        self.means: dict[str, int] = {}  # whose gradients are means, over which axis of the data
        self.imaginary = dict[str, float]()  # parts of gradients that are no real numbers
        self._returnable: list[Attribute] = []  # weights whose gradient backward returns
        self._without: list[Attribute] = []  # arrays that have none
        self._held = [h for h in held_arrays(self.found) if not self._is_carried(h)]
        self._parameters = {n: Weight(base) for n, base in held_views(self.layer, self.found)}
        self._expect_constants()
        paths = list(leaves(self.inputs))
        self._count = len(paths)
        self._names = dict[tuple[Any, ...], str]()  # of inputs, by the keys that lead to them
        for position, (path, value) in enumerate(paths):
            self._add_input(position, path, value)
        given = table if self.caller.lines is None else {}
        self._table = {_without_root(k): _without_root(v) for k, v in given.items()}

    def _is_carried(self, held: Attribute) -> bool:
        is_input = held.name in self.input_names
        return is_input or (
            self._carried is not None and self._carried.holds(held.holder, held.key)
        )

    def _expect_constants(self) -> None:
        known = [*self.input_names, *(held.name for held in self._held)]
        keys = {part for held in self._held for part in _parts_of(held.name, held.key)}
        for path, _ in leaves(self.inputs):
            keys |= _parts_of(self.input_names[path[0]] + _inside(path), path[-1])
        if strange := [name for name in self.constants if name not in keys]:
            raise ValueError(say("constants", name=strange[0], known=", ".join(known)))

    def _add_input(self, position: int, path: tuple[Any, ...], value: Any) -> None:
        name = self.input_names[path[0]]
        if len(path) > 1:  # in a dict or a list
            is_known = str(path[-1]) in (*self.variables, *self.input_names)
            whole = name + _inside(path)
            name = whole if is_known or isinstance(path[-1], int) else str(path[-1])
        is_constant = not _parts_of(name, name).isdisjoint(self.constants)
        is_label = bool({name, self.input_names[path[0]]} & {*LABELS}) and self.caller.lines is None
        self._names[path] = name
        if is_real(value) and not is_label and not is_constant:
            self.variables[name] = Input(self.inputs, path, name, position)
        elif isinstance(value, numpy.ndarray):
            kinds = {"i": "integers", "u": "integers", "b": "truth values", "c": "complex numbers"}
            of_floats = "a constant" if is_constant else f"labels, {INTENDED}"
            self.not_checked[name] = kinds.get(value.dtype.kind, of_floats)

    # --- Backwards --------------------------------------------------------------------------

    def restore(self) -> None:
        """Put back weights, hidden states, counters and random generators."""
        for variable, value in self._before:
            variable.set(value)
        self._before = []
        put_back(self._updates.values())
        super().restore()

    def draw_states(self, rng: Generator) -> None:
        """Give recurrent layers that carry no state a random one, and list all states."""
        if self.is_ours:
            draw_states(self, rng)

    def analytic_gradients(self) -> dict[str, HostArray]:
        """One forward, one backward: the gradient of every variable."""
        if self._is_sorted:
            self._hand_over(self._pass())
            return self.read_gradients()
        self._held = [h for h in self._held if not h.holder.is_shared or self._influences(h)]
        weights = [*self._parameters.values(), *(h for h in self._held if h.is_float)]
        at_first = [(v, v.get()) for v in weights]
        kept = {h.name: keep(h.holder.owner, h.key, h.value) for h in self._held if h.is_float}
        self._sort(self._first_pass())
        self._before = [(v, value) for v, value in at_first if v in self.variables.values()]
        found = self._find_updates(kept, self.read_gradients())
        if self.caller.way.cost is not None:
            found = self._choose_cost()
        if self.caller.lines is None:
            self.not_checked |= unseen(self.found)
        for held in self._without:  # forwards, which may touch gradients, so after the reading
            self._look_at(held)
        return found

    def _find_updates(
        self, kept: dict[str, Kept], found: dict[str, HostArray]
    ) -> dict[str, HostArray]:
        """Find the arrays without a gradient that backward changes, to be put back from now on.

        Where backward is told how far to go, a step of 0 changes nothing. A step of 1 shows what
        changes, and whether a gradient is computed behind it: then it is the gradient that counts.
        """
        given = {id(place[0][place[1]]) for h in self._held if (place := h.place())}
        without, rates, again = (
            [h.name for h in self._without if h.is_float],
            self.caller.rates,
            found,
        )

        def look() -> None:
            now = {n: kept[n].now() for n in without}
            changed = [n for n, value in now.items() if kept[n].differs(value)]
            self._updates |= {n: kept[n] for n in changed if id(now[n]) not in given}

        look()
        if rates:
            rates.update(dict.fromkeys(rates, 1.0))
            with contextlib.suppress(Exception):
                self._hand_over(self._pass())
                again = self.read_gradients()
                look()
        if all(near(again[name], gradient) for name, gradient in found.items()):
            rates.update(dict.fromkeys(rates, 0.0))
        put_back(self._updates.values())
        return again

    def _choose_cost(self) -> dict[str, HostArray]:
        """The gradients, with the cost to which most of them belong."""
        ways = dict[int, tuple[Any, dict[str, HostArray]]]()
        rng = numpy.random.default_rng(0)
        for way in reversed(self.caller.ways):
            self.caller.way = way
            with contextlib.suppress(Exception), numpy.errstate(all="ignore"):
                found = self.analytic_gradients()
                fitting = {n: d for n, d in self.random_directions(rng).items()
                           if found[n].shape == d.shape}  # fmt: skip
                slopes = {n: self.slope({n: d}, "central") for n, d in fitting.items()}
                ways[
                    sum(
                        abs(slope - (found[n] * fitting[n]).sum()) <= 1e-5 * abs(slope)
                        for n, slope in slopes.items()
                    )
                ] = way, found
        self.caller.way, found = ways[max(ways)]
        return found

    def gradients_for(self, weights: list[Any]) -> dict[str, HostArray]:
        """The gradient of every variable, for other gradients with respect to the outputs."""
        own, self.weights = self.weights, weights
        try:
            return self.analytic_gradients()
        finally:
            self.weights = own

    def rounding_of_backward(self, name: str, analytic: dict[str, HostArray]) -> float:
        """Relative rounding of a gradient: a third of dy gives not quite a third of it."""
        if not self.caller.takes_gradients or self.caller.is_engine:
            return 0.0
        one, third = analytic[name], self.gradients_for([w / 3 for w in self.weights])[name]
        return float(abs(one - 3 * third).max(initial=0) / (abs(one).max(initial=0) or 1))

    def read_gradients(self) -> dict[str, HostArray]:
        """The gradients as they stand now, copied."""
        return {name: self._as_host(name, v.grad(), v.get()) for name, v in self.variables.items()}

    def _first_pass(self) -> Any:
        """The first backward, which shows how it takes its gradients."""
        weights, errors, usable = self.weights, [], []
        for way in self.caller.ways:
            self.caller.way, self.weights = way, weights[: len(way.outputs)]
            try:
                returned = self._pass()
            except Exception as error:
                errors.append(error)
                continue
            if len(self.caller.ways) == 1 or self._fits(returned):
                return returned
            usable.append(way)
        if not usable:
            raise errors[0]
        self.caller.way, self.weights = usable[0], weights[: len(usable[0].outputs)]
        return self._pass()

    def _pass(self) -> Any:
        """One forward and one backward, noting what they change in place."""
        self.restore()
        self.zero_grad()
        given = self.fresh_inputs()
        outputs = self.caller.forward(given)
        self._note_changes(given, self.inputs, self.input_names, "forward")
        kept, dys = on_host(outputs), self._output_gradients()
        returned = self._backward(dys)
        names = [f"dy{k}" if len(dys) > 1 else "dy" for k in range(len(dys))]
        self._note_changes(given, self.inputs, self.input_names, "backward")
        self._note_changes(dys, self.weights, names, "backward")
        self._note_changes(outputs, kept, [f"output {k}" for k in range(len(kept))], "backward")
        return returned

    def gradients_of_two(self) -> dict[str, HostArray]:
        """The gradient of every variable after two passes, between which none is forgotten."""
        self.zero_grad()
        for _ in range(2):
            self.restore()
            self.caller.forward(self.fresh_inputs())
            self._backward(self._output_gradients())
        return self.read_gradients()

    def backward_again(self) -> bool:
        """Return whether a backward without a forward before it is refused."""
        try:
            self._backward(self._output_gradients())
        except Exception as error:
            return isinstance(error, RuntimeError) or not self.is_ours
        return False

    def _backward(self, dys: list[Any]) -> Any:
        """Return the value of backward, and put back weights that it may update."""
        if self._is_sorted and not self._before:
            weights = (v for v in self.variables.values() if isinstance(v, Weight | Attribute))
            self._before = [(v, v.get()) for v in weights]
        return self.caller.backward(dys)

    def _output_gradients(self) -> list[Any]:
        # A number goes back as a number, an array as an array of the backend.
        return [float(w) if w.ndim == 0 else asarray(w.copy()) for w in self.weights]

    def earlier_output_is_kept(self) -> bool:
        """Return whether an output stays what it was while another forward runs."""
        self.restore()
        outputs = self.caller.forward(self.fresh_inputs())
        kept = on_host(outputs)
        other = [
            1.5 * value + 0.25 if name in self.variables else value
            for name, value in zip(self.input_names, self.fresh_inputs(), strict=True)
        ]
        with contextlib.suppress(Exception), numpy.errstate(all="ignore"):
            self.caller.forward(other)
        return all(map(same, on_host(outputs), kept))

    def stale_gradients(self, analytic: dict[str, HostArray]) -> list[str]:
        """Names of the gradients that a forward with other inputs, run before, changes.

        Empty where the outputs change, too: then it is a state that is carried on purpose.
        """
        self.restore()
        other = list(mapped(_another, self.fresh_inputs()))
        at_first = self._carried.as_at_first() if self._carried else contextlib.nullcontext()
        try:
            with at_first, numpy.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                self.caller.forward(other)
                put_back(self._generators)
                again = on_host(self.caller.forward(self.fresh_inputs()))
                self.zero_grad()
                self._hand_over(self._backward(self._output_gradients()))
                found = self.read_gradients()
        except Exception:  # an object may allow one forward only
            return []
        if not all(near(a, b, 1e-5, 1e-8) for a, b in zip(again, self.forward(), strict=True)):
            return []
        return [name for name, gradient in found.items() if not near(gradient, analytic[name])]

    def kept_entries(self) -> tuple[list[str], list[str]]:
        """Places of gradients in lists whose array stays in a backward, and those of others."""
        self.restore()
        beside = [place for place in (h.place() for h in self._held) if place is not None]
        before = [(grads, k, grads[k]) for grads, k in beside if isinstance(grads, list)]
        before = [one for one in before if isinstance(one[2], numpy.ndarray)]
        self._pass()
        kept = [f"grads[{k}]" for grads, k, old in before if grads[k] is old]
        return kept, [f"grads[{k}]" for grads, k, old in before if grads[k] is not old]

    def sources(self) -> dict[str, str]:
        """Where the gradient of each variable was found."""
        lines = self.caller.lines
        if lines is not None:
            return lines.sources
        return {name: variable.source() for name, variable in self.variables.items()}

    def may_move(self, name: str) -> bool:
        """Return whether other numbers make sense: not for masks and answers among the inputs."""
        variable = self.variables[name]
        if not isinstance(variable, Input) or WEIGHT.search(variable.key):
            return True
        value = variable.get()
        is_answer = not numpy.setdiff1d(value, (0, 1)).size and numpy.unique(value).size == 2
        return not (is_answer or CUSTOMARY.fullmatch(variable.key))

    def alone(self) -> list[str]:
        """The inputs that have one entry along an axis."""
        data = [v for v in self.variables.values() if isinstance(v, Input)]
        data = [v for v in data if not WEIGHT.search(v.key) and v.get().ndim > 1]
        return [v.name for v in data if 1 in v.get().shape]

    def change_whole_numbers(self) -> list[tuple[HostArray, HostArray]]:
        """Repeat an id where none repeats, and clear a mask's last entry where all are True.

        Each array that is changed is given back with what it held.
        """
        undo = []
        for path, value in leaves(self.inputs):
            name = str(path[-1]) if len(path) > 1 else self.input_names[path[0]]
            is_array = isinstance(value, numpy.ndarray) and value.size > 1
            kind = value.dtype.kind if is_array and not ORDER.search(name) else ""
            if (kind == "b" and value.all()) or (
                kind in ("i", "u") and numpy.unique(value).size == value.size
            ):
                undo.append((value, value.copy()))
                value.flat[-1] = False if kind == "b" else value.flat[0]
        return undo

    def zero_grad(self) -> None:
        """Set all gradients to zero, in whatever form they are held."""
        if self.is_ours:
            self.layer.zero_grad()
            return
        for weight in self._parameters.values():
            weight.parameter.zero_grad()
        for held in self._held:
            entries, key = held.place() or ({"": None}, "")
            gradient = entries[key]
            if isinstance(gradient, numpy.ndarray) and gradient.flags.writeable:
                gradient[...] = 0
            elif isinstance(gradient, float) and not isinstance(entries, tuple):
                entries[key] = 0.0
            elif is_box(gradient):
                entries[key] = None

    def _note_changes(self, now: Any, before: Any, names: list[str], by: str) -> None:
        for value, original, name in zip(now, before, names, strict=False):
            if not isinstance(original, numpy.ndarray) or original.ndim == 0:
                continue
            if any(told.startswith(f"{name} by") for told in self.changed):
                continue
            if not same(asnumpy(value), original):
                self.changed.append(f"{name} by {by}")

    # --- Which gradient belongs to what -------------------------------------------------------

    def _sort(self, returned: Any) -> None:
        """Tell the weights that have a gradient after backward from the other arrays."""
        self._is_sorted = True
        self.variables |= self._parameters
        for held in self._held:
            if held.kind in _PAIRED and not self._is_constant(held) and held.place() is not None:
                held.widen()
                self.variables[held.name] = held
        without = [h for h in self._held if h.name not in self.variables]
        self._returnable = [h for h in without if h.is_float and h.is_array]
        given = parts(returned, self.caller.names_of_gradients, None)
        self._is_keyed = bool(given) and all(part.is_key for part in given)
        for position, (path, value) in enumerate(list(leaves(self.inputs))):
            key = self.input_names[path[0]] if len(path) == 1 else str(path[-1])
            name = self._names[path]
            is_number = isinstance(value, NUMBERS) and not isinstance(value, bool)
            is_array = isinstance(value, numpy.ndarray) and value.dtype.kind in "fiu"
            is_free = name not in self.variables and name not in self.constants
            if is_free and (is_number or is_array) and self.caller.lines is None:
                self._take_returned(Input(self.inputs, path, name, position), key, value, given)
        self._hand_over(returned)
        self._returnable = [
            v for v in self._returnable if v.returned is not None or v.forced is not None
        ]
        self.variables |= {v.name: v for v in self._returnable}
        self._without = [h for h in without if h.name not in self.variables]
        untaken = dict.fromkeys(self.caller.outputs_not_taken, "backward takes no gradient of it")
        self.not_checked |= untaken
        for name, variable in list(self.variables.items()):
            if isinstance(variable, Input) and _is_nothing(variable):
                reason = self._reason_for_none(variable)
                if reason:
                    self.not_checked[name] = reason
                    del self.variables[name]

    def _take_returned(self, variable: Input, key: str, value: Any, given: list[Part]) -> None:
        """A number, labels or integers are a variable if backward returns a gradient of them."""
        parts_named = [part for part in given if part.value is not None and belongs(part.name, key)]
        at_place = [given[variable.position]] if len(given) == self._count else []
        for part in parts_named or at_place:
            gradient = plain(part.value)
            is_array = isinstance(gradient, numpy.ndarray | float | numpy.floating)
            has_shape = is_array and shape_of(gradient) == numpy.shape(value)
            if has_shape and (parts_named or numpy.any(gradient)):
                self.variables[variable.name] = variable
                variable.set(numpy.array(value, dtype="float64"))
                self.not_checked.pop(variable.name, None)
                return
        if isinstance(value, float | numpy.floating):
            self.not_checked[variable.name] = f"a number without a gradient, {INTENDED}"

    def _reason_for_none(self, variable: Input) -> str:
        """Why an input may have no gradient; empty if it should have one."""
        key = variable.key
        if variable.returned is not None:
            return "a whole number, of which backward returns 0"
        if key.lower() == "y" and all(w.ndim == 0 for w in self.weights):
            return f"labels, {INTENDED}"
        if not self.caller.needs_gradient(variable.path):
            return "a constant, without a gradient"
        if CUSTOMARY.fullmatch(key):
            return f"without a gradient, {INTENDED}"
        group = [v for v in self.variables.values() if v.grad() is not None]
        has_siblings = len(variable.path) > 1 and any(
            v.path[:-1] == variable.path[:-1] for v in group if isinstance(v, Input)
        )
        is_local = bool(local_names(self.caller.code.backward) & set(gradient_names(key)))
        is_loss = not self.caller.takes_gradients or (
            self._is_keyed and all(w.size == 1 for w in self.weights)
        )
        has_weights = any(
            not isinstance(v, Input) or WEIGHT.search(v.key) or len(v.path) > 1 for v in group
        )
        is_data = is_loss and has_weights and bool(STATE.search(key) or not WEIGHT.search(key))
        if not is_data or has_siblings or is_local:
            return ""
        return say(
            "no gradient", key=key if key in self.variables else self.input_names[variable.path[0]]
        )

    def _hand_over(self, returned: Any) -> None:
        """Assign what backward returned to its inputs and weights."""
        inputs = [v for v in self.variables.values() if isinstance(v, Input)]
        shape = inputs[0].get().shape if len(inputs) == 1 else None
        given = parts(returned, self.caller.names_of_gradients, shape)
        hand_over(given, inputs, self._count, self._returnable)
        self.returns_nothing = all(part.value is None for part in given)
        for variable in inputs:
            if variable.returned is None:
                variable.returned = kept_gradient(self.layer, variable.key)
        if self._table:
            self._hand_over_by_table(given)

    def _hand_over_by_table(self, given: list[Part]) -> None:
        """The gradients whose places the caller named."""
        held = {path_of(holder, key): v for holder, key, v in places(holders(self.layer))}
        held |= {f"returned[{k}]": part.value for k, part in enumerate(given)}
        held |= {part.name: part.value for part in given if part.name}
        variables = {v.name: v for v in (*self.variables.values(), *self._returnable)
                     if isinstance(v, Input | Attribute)}  # fmt: skip
        for name, source in self._table.items():
            for what, known in ((name, variables), (source, held)):
                if what not in known:
                    raise ValueError(say("gradients", what=what, known=", ".join(known)))
            variables[name].forced = held[source]

    def _fits(self, returned: Any) -> bool:
        """Return whether backward's values can be gradients, the first one of the first input."""
        inputs = [v for v in self.variables.values() if isinstance(v, Input)]
        given = parts(returned, [], None)
        if not inputs or not given or given[0].is_key:
            return True
        as_many = len(given) <= self._count + len(self._held)
        return as_many and shape_of(given[0].value) == inputs[0].get().shape

    def _is_constant(self, held: Attribute) -> bool:
        return not _parts_of(held.name, held.key).isdisjoint(self.constants)

    def _look_at(self, held: Attribute) -> None:
        """An array without a gradient: a constant, or a weight whose gradient is missing."""
        if held.kind == "truth values":
            return
        if not self._influences(held):
            if held.is_float and held.is_array and self._influences_elsewhere(held):
                self.not_checked[held.name] = say("elsewhere alone")
            return
        if held.name in self._updates:
            self.not_checked[held.name] = say("changed by backward", name=held.name)
        elif self._is_constant(held):
            self.not_checked[held.name] = "a constant"
        elif held.kind == "integers":
            self.not_checked[held.name] = "integers"
        elif (
            held.is_constant
            or held.kind
            or (
                held.is_enclosed
                and not any(isinstance(v, Attribute) for v in self.variables.values())
            )
        ):  # as in a layer that goes back to its inputs alone
            kind = held.kind or ("without a gradient" if held.is_array else "a number")
            self.not_checked[held.name] = f"{kind}, {INTENDED}"
        else:
            self.missing.append(held)

    def _influences_elsewhere(self, held: Attribute) -> bool:
        """Return whether the outputs change with an array where the others hold other numbers."""
        values = self.values()
        moved = {n: 1.25 * v + 0.125 for n, v in values.items() if self.may_move(n)}
        try:
            with numpy.errstate(all="ignore"):
                self.put(moved)
                return self._influences(held)
        except Exception:  # forward refuses them
            return False
        finally:
            self.put(values)

    def _influences(self, held: Attribute) -> bool:
        """Return whether the outputs change with an array."""
        update = self._updates.pop(held.name, None)
        if held.is_array and not held.value.flags.writeable:
            return held.is_float
        before = self.forward()
        try:
            with held.changed(), numpy.errstate(all="ignore"):
                after = self.forward()
        except Exception:  # with other numbers in it, it may be of no use to the forward
            after = [] if held.is_array else before
        if update is not None:
            self._updates[held.name] = update
        return len(after) != len(before) or not all(map(same, after, before))

    def _as_host(self, name: str, grad: Any, like: HostArray) -> HostArray:
        """A gradient as a float64 host array; zeros where there is none."""
        if grad is None:
            return numpy.zeros_like(like)
        try:
            given = asnumpy(grad)
            found = numpy.array(numpy.real(given), dtype="float64")
            self.imaginary[name] = float(numpy.abs(numpy.imag(given)).max(initial=0.0))
            return found * (self.inputs[0].shape[self.means[name]] if name in self.means else 1)
        except (TypeError, ValueError) as error:
            title, kind = self.caller.title("backward"), type(grad).__name__
            raise TypeError(
                say("no array", title=title, kind=kind, name=name, shape=like.shape)
            ) from error


def in_numpy_form(subject: Subject, name: str = "") -> Subject | None:
    """The same code as functions of arrays, which can be followed; None if it is so already.

    It gives the same gradients, or it is None as well. Of lines it is the function of one array.
    """
    try:
        given = subject.caller.in_numpy(name, subject.inputs)
        if given is None:
            return None
        made = Subject(*given)
        made._held = []  # other arrays of a script are no weights
        made.draw_weights(numpy.random.default_rng(0))
        made.name, made.weights, made.means = subject.name, subject.weights, subject.means
        found, wanted = made.analytic_gradients(), subject.analytic_gradients()
    except Exception:  # what NumPy has no word for is judged as it stands
        return None
    is_same = all(near(gradient, wanted[name]) for name, gradient in found.items())
    return made if is_same and found else None


def _another(value: Any) -> Any:
    """Other numbers of the same kind."""
    if is_real(value):
        return 1.5 * value + 0.25
    return numpy.flip(value) if isinstance(value, numpy.ndarray) else value


def _is_nothing(variable: Input) -> bool:
    """Return whether there is no gradient, or the number 0 of a whole number, such as an axis."""
    given, value = variable.returned, variable.get()
    is_zero = isinstance(given, int | float) and given == 0
    return given is None or bool(is_zero and value.size == 1 and value.item().is_integer())


def _inside(path: tuple[Any, ...]) -> str:
    """Where something stands in an input, such as ``"[0]"`` or ``".W"``."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path[1:])


def _parts_of(name: str, key: Any) -> set[str]:
    """The names of an array and of all that it stands in: ``table[0]``, ``table``."""
    return {name, str(key), *(name[: m.start()] for m in re.finditer(r"[\[.]", name))}


def _without_root(path: str) -> str:
    """A path such as ``"layer.W"`` as the report names it: ``"W"``."""
    return path.removeprefix("layer.").removeprefix("self.")
