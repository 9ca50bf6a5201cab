"""The check of a reader's own backward pass, with the diagnosis of what is wrong in it."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from deepnlp.backend import asarray
from deepnlp.gradcheck import Report, check_gradients
from deepnlp.gradcheck.causes import ZERO
from deepnlp.gradcheck.report import NO_GRADIENT
from deepnlp.lessons.exercises.values import compare_values
from deepnlp.lessons.exercises.verdict import ERROR, WRONG_TYPE, Verdict, is_empty

IGNORED = "arriving gradient not used"
ORDER = "gradients in another order"


def check_backward(
    layer: Any,
    *inputs: Any,
    expected: Any = None,
    tolerance: float = 1e-6,
    hints: dict[str, str] | None = None,
    weights: tuple[str, ...] = (),
    wrong: Mapping[str, tuple[Any, str]] | None = None,
) -> Verdict:
    """Check forward against the right outputs, then backward against numerical gradients.

    Parameters
    ----------
    layer : object with ``forward`` and ``backward``
        An object of the reader's class, with pairs such as ``W`` and ``dW``, lists ``params`` and
        ``grads``, or Parameters.
    *inputs : arrays
        What forward takes.
    expected : array or tuple of arrays, optional
        What forward should give.
    tolerance : float
        Of the outputs, relative to the largest.
    hints : dict of str to str, optional
        A further sentence by the name of the diagnosis.
    weights : tuple of str
        Names of the weights whose gradients backward must give; without them a class that
        forgets to set one would have nothing wrong with it.
    wrong : dict of str to (array, str), optional
        Typical mistakes of forward, as in :func:`compare_values`.

    Returns
    -------
    Verdict
        Its diagnosis is the first cause that :func:`deepnlp.gradcheck.check_gradients` names.

    Examples
    --------
    >>> from deepnlp.layers import Tanh
    >>> check_backward(Tanh(), np.array([[0.5, -1.0]])).ok
    True
    """
    owner = type(layer).__name__
    for method in ("forward", "backward"):
        if not callable(getattr(layer, method, None)):
            return Verdict.empty(f"{owner} has no {method}")
    tried = copy.deepcopy(layer)
    outputs = tried.forward(*inputs)
    if is_empty(outputs) or (isinstance(outputs, tuple) and any(map(is_empty, outputs))):
        return Verdict.empty("forward returned None")
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    if expected is not None:
        verdict = _compare_outputs(outputs, expected, tolerance, wrong or {})
        if not verdict.ok:
            return verdict
    rng = np.random.default_rng(0)  # with ones the right dx of a softmax would be zero
    dys = [asarray(rng.uniform(0.5, 1.5, np.shape(y))) for y in outputs]
    ready = copy.deepcopy(tried)
    gradients = tried.backward(*dys)
    has_float_input = any(np.asarray(x).dtype.kind in "fc" for x in inputs)
    if has_float_input and is_empty(gradients):
        kept = [name for name in weights if not is_empty(getattr(tried, f"d{name}", None))]
        if kept:
            set_ = ", ".join(f"d{name}" for name in kept)
            return Verdict.wrong("dx missing", f"backward set {set_}; it must also return dx.")
        return Verdict.empty("backward returned None")
    verdict = _of_the_form(gradients, [x for x in inputs if np.asarray(x).dtype.kind in "fc"])
    if not verdict.ok:
        return verdict
    if _ignores_what_arrives(ready, dys):
        return _ignored(tried)
    if isinstance(gradients, list):
        layer.__class__ = _with_a_tuple(type(layer))
    report = check_gradients(layer, *inputs)
    found = {row.name for row in report.rows if row.note != NO_GRADIENT}
    missing = [name for name in weights if name not in found]
    if missing and not any(name.startswith("params") for name in found):
        named = ", ".join(f"d{name}" for name in missing)
        return Verdict.wrong(
            ZERO, f"backward left no {named}. Is it set in backward, and spelt so?"
        )
    # A loss that ignores its argument is right while that is 1, which the checker only notes.
    is_noted = any(check.name == "dout" for check in report.checks)
    if report.ok and not is_noted:
        return Verdict.right(f"Every gradient agrees with the numbers, to {report.error:.0e}.")
    if is_noted:
        return _ignored(tried)
    return _diagnosis(report, hints or {})


def or_ignored(verdict: Verdict, ready: Any, dy: Any) -> Verdict:
    """The verdict on a backward, or that what arrives is not used, if that is what is wrong.

    ``ready`` is a copy of the reader's layer from before its backward.
    """
    return verdict if verdict.ok or not _ignores_what_arrives(ready, [dy]) else _ignored(ready)


def _ignored(layer: Any) -> Verdict:
    arriving = next(iter(inspect.signature(layer.backward).parameters), "dy")
    return Verdict.wrong(
        IGNORED,
        f"backward gives the same for every {arriving}, the gradient that arrives. By the chain "
        f"rule each gradient is {arriving} times a slope.",
    )


def _of_the_form(gradients: Any, inputs: list[Any]) -> Verdict:
    """Whether backward gives an array, or for several inputs one for each, in their order."""
    several = isinstance(gradients, tuple | list)
    if len(inputs) < 2:
        if isinstance(gradients, list):
            return Verdict.wrong(WRONG_TYPE, "backward gives a list; return dx itself, an array.")
        if isinstance(gradients, tuple) and len(gradients) > 1:
            return Verdict.wrong(
                WRONG_TYPE,
                f"backward gives {len(gradients)} values; return dx alone. The gradients of the "
                "weights are stored, as self.dW and the like.",
            )
        return Verdict.right()
    if not several or len(gradients) != len(inputs):
        seen = f"{len(gradients)} values" if several else "one value"
        return Verdict.wrong(
            WRONG_TYPE,
            f"forward takes {len(inputs)} inputs, so backward should return {len(inputs)} "
            f"gradients, in the same order; got {seen}.",
        )
    shapes, wanted = [np.shape(g) for g in gradients], [np.shape(x) for x in inputs]
    if shapes != wanted and sorted(shapes) == sorted(wanted):
        return Verdict.wrong(
            ORDER, f"The gradients should come in the order of forward's inputs, with shapes "
            f"{', '.join(map(str, wanted))}; got {', '.join(map(str, shapes))}.",
        )  # fmt: skip
    return Verdict.right()


def _with_a_tuple(owner: type) -> type:
    """The reader's class, whose backward gives several gradients as a tuple and not as a list."""

    def backward(self: Any, *dys: Any) -> tuple[Any, ...]:
        return tuple(owner.backward(self, *dys))  # type: ignore[attr-defined]

    return type(owner.__name__, (owner,), {"backward": backward, "__module__": owner.__module__})


def _ignores_what_arrives(layer: Any, dys: list[Any]) -> bool:
    """Whether the gradients with respect to the inputs do not depend on what is handed in."""

    def given(scale: float) -> list[Any]:
        gradients = copy.deepcopy(layer).backward(*(scale * dy for dy in dys))
        several = gradients if isinstance(gradients, tuple | list) else (gradients,)
        return [np.asarray(gradient) for gradient in several]

    once, thrice = given(1.0), given(3.0)
    return any(np.any(a) for a in once) and all(map(np.array_equal, once, thrice))


def _compare_outputs(
    outputs: tuple[Any, ...], expected: Any, tolerance: float, wrong: Mapping[str, tuple[Any, str]]
) -> Verdict:
    right = expected if isinstance(expected, tuple) else (expected,)
    if len(outputs) != len(right):
        return Verdict.wrong(
            "wrong type", f"forward should give {len(right)} arrays, it gives {len(outputs)}."
        )
    for number, (got, want) in enumerate(zip(outputs, right, strict=True), start=1):
        which = f"output {number} of forward" if len(right) > 1 else "the output of forward"
        verdict = compare_values(got, want, which, tolerance, wrong)
        if not verdict.ok:
            return verdict
    return Verdict.right("forward is right.")


def _diagnosis(report: Report, hints: dict[str, str]) -> Verdict:
    """The verdict on a wrong backward: the rows that are off, and the likeliest cause."""
    found = report.to_dict()
    wrong = [row["name"] for row in found["rows"] if not row["ok"]]
    gradients = [row["name"] for row in found["rows"] if row["kind"] == "gradient"]
    names = [name for name in wrong if name in gradients] or wrong
    right = [name for name in gradients if name not in wrong]
    off = f"Wrong: {', '.join(names)}." + (f" Right: {', '.join(right)}." if right else "")
    if not found["causes"]:
        return Verdict.wrong(ERROR, off)
    cause = found["causes"][0]
    told = f"Likely cause: {cause['name']}: {cause['evidence']}."
    lines = [
        off,
        told,
        cause["sentence"],
        *([hints[cause["name"]]] if cause["name"] in hints else []),
    ]
    return Verdict.wrong(cause["name"], "\n".join(lines))
