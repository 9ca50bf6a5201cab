"""The check of a reader's own backward pass, with the diagnosis of what is wrong in it."""

import copy
import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from deepnlp.backend import asarray
from deepnlp.gradcheck import Report, check_gradients
from deepnlp.gradcheck.causes import ZERO
from deepnlp.gradcheck.report import NO_GRADIENT
from deepnlp.lessons.exercises.verdict import WRONG_TYPE, Verdict, is_empty

IGNORED = "arriving gradient not used"
ORDER = "gradients in another order"


def check_backward(
    layer: Any, *inputs: Any, hints: dict[str, str] | None = None, weights: Sequence[str] = ()
) -> Verdict:
    """Check the backward of a layer against numerical gradients.

    Parameters
    ----------
    layer : object with ``forward`` and ``backward``
        An object of the reader's class, with pairs such as ``W`` and ``dW``, lists ``params`` and
        ``grads``, or Parameters.
    *inputs : arrays
        What forward takes; it gives one array.
    hints : dict of str to str, optional
        A further sentence by the name of the diagnosis.
    weights : sequence of str
        Names of the weights whose gradients backward must give; without them a class that
        forgets to set one would have nothing wrong with it.

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
    tried, rng = copy.deepcopy(layer), np.random.default_rng(0)
    y = tried.forward(*inputs)
    # random numbers, as with ones the right dx of a softmax would be zero
    dy, ready = asarray(rng.uniform(0.5, 1.5, np.shape(y))), copy.deepcopy(tried)
    gradients = tried.backward(dy)
    floats = [x for x in inputs if np.asarray(x).dtype.kind in "fc"]
    if floats and is_empty(gradients):
        kept = [f"d{name}" for name in weights if not is_empty(getattr(tried, f"d{name}", None))]
        if not kept:
            return Verdict.empty("backward returned None")
        text = f"backward set {', '.join(kept)}; it must also return dx."
        return Verdict.wrong("dx missing", text)
    if refused := _of_another_form(gradients, floats) or if_ignored(ready, dy):
        return refused
    if isinstance(gradients, list):
        layer.__class__ = _with_a_tuple(type(layer))
    report = check_gradients(layer, *inputs)
    checked = {row.name for row in report.rows if row.note != NO_GRADIENT}
    missing = [f"d{name}" for name in weights if name not in checked]
    if missing and not any(name.startswith("params") for name in checked):
        text = f"backward left no {', '.join(missing)}. Is it set in backward, and spelt so?"
        if all(hasattr(tried, gradient) for gradient in missing):
            names = ", ".join(f"self.{gradient[1:]}" for gradient in missing)
            text = f"Keep the weights as {names}, beside their gradients: the check varies them."
        return Verdict.wrong(ZERO, text)
    # What is right for some losses the checker only notes: that dloss is ignored, or means taken.
    notes = {check.name for check in report.checks}
    if "dout" in notes:
        return _ignored(tried)
    if "means" in notes:
        text = (
            "Sum over the rows for the weights: the 1/N of a mean loss is in the dy that arrives."
        )
        return Verdict.wrong("mean instead of sum", text)
    if report.ok:
        return Verdict.right(f"Every gradient agrees with the numbers, to {report.error:.0e}.")
    return _diagnosis(report, hints or {})


def gradient_of(layer: Any, name: str, index: int) -> Any:
    """Return the gradient of a weight as readers keep it: dW, W.grad, grads["W"] or grads[0]."""
    grads = getattr(layer, "grads", None)
    by_name = grads if isinstance(grads, dict) else {}
    in_order = grads[index] if isinstance(grads, list | tuple) and index < len(grads) else None
    kept = [getattr(layer, f"d{name}", None), getattr(getattr(layer, name, None), "grad", None)]
    kept += [by_name.get(name), by_name.get(f"d{name}"), in_order]
    return next((gradient for gradient in kept if gradient is not None), None)


def if_ignored(ready: Any, dy: Any) -> Verdict | None:
    """Return the verdict on a backward that gives the same whatever arrives; None on another.

    ``ready`` is a copy of the reader's layer from before its backward.
    """

    def given(scale: float) -> Any:
        gradients = copy.deepcopy(ready).backward(scale * dy)
        return gradients if isinstance(gradients, tuple | list) else (gradients,)

    once, thrice = given(1.0), given(3.0)
    is_same = any(map(np.any, once)) and all(map(np.array_equal, once, thrice))
    return _ignored(ready) if is_same else None


def _ignored(layer: Any) -> Verdict:
    arriving = next(iter(inspect.signature(layer.backward).parameters), "dy")
    return Verdict.wrong(
        IGNORED,
        f"backward gives the same for every {arriving}, the gradient that arrives. By the chain "
        f"rule each gradient is {arriving} times a slope.",
    )


def _of_another_form(gradients: Any, inputs: list[Any]) -> Verdict | None:
    """Return the verdict where backward does not give an array for each input, in their order."""
    count = len(gradients) if isinstance(gradients, tuple | list) else 0
    if len(inputs) < 2:
        text = "backward gives a list; return dx itself, an array."
        if count > 1 and isinstance(gradients, tuple):
            text = (
                f"backward gives {count} values; return dx alone. The gradients of the weights are "
                "stored, as self.dW and the like."
            )
        is_wrong = count > 1 or isinstance(gradients, list)
        return Verdict.wrong(WRONG_TYPE, text) if is_wrong else None
    if count != len(inputs):
        return Verdict.wrong(
            WRONG_TYPE,
            f"forward takes {len(inputs)} inputs, so backward should return {len(inputs)} "
            f"gradients, in the same order; got {f'{count} values' if count else 'one value'}.",
        )
    shapes, wanted = list(map(np.shape, gradients)), list(map(np.shape, inputs))
    if shapes != wanted and sorted(shapes) == sorted(wanted):
        return Verdict.wrong(
            ORDER, f"The gradients should come in the order of forward's inputs, with shapes "
            f"{', '.join(map(str, wanted))}; got {', '.join(map(str, shapes))}.",
        )  # fmt: skip
    return None


def _with_a_tuple(owner: type) -> type:
    """Return the reader's class, with a tuple of gradients where its backward gives a list."""

    def backward(self: Any, dy: Any) -> tuple[Any, ...]:
        return tuple(owner.backward(self, dy))  # type: ignore[attr-defined]

    return type(owner.__name__, (owner,), {"backward": backward, "__module__": owner.__module__})


def _diagnosis(report: Report, hints: dict[str, str]) -> Verdict:
    """Return the verdict on a wrong backward: the rows that are off, and the likeliest cause."""
    facts = report.to_dict()
    wrong = [row["name"] for row in facts["rows"] if not row["ok"]]
    gradients = [row["name"] for row in facts["rows"] if row["kind"] == "gradient"]
    names = [name for name in wrong if name in gradients] or wrong
    right = [name for name in gradients if name not in wrong]
    off = f"Wrong: {', '.join(names)}." + (f" Right: {', '.join(right)}." if right else "")
    if not facts["causes"]:
        return Verdict.wrong("error", off)
    name, evidence, sentence = map(facts["causes"][0].get, ("name", "evidence", "sentence"))
    lines = [off, f"Likely cause: {name}: {evidence}.", sentence, hints.get(name)]
    return Verdict.wrong(name, "\n".join(filter(None, lines)))
