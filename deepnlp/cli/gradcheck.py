"""``deepnlp gradcheck``: is every backward pass the derivative of its forward pass?

The error of a gradient is max |analytic - numeric| / max |numeric|. The complex step takes no
difference and is exact up to rounding; central differences are right to about ten digits.

examples:
  deepnlp gradcheck
  deepnlp gradcheck --layer TimeLSTM --method central --seed 3
  deepnlp gradcheck mylayer.py:MyLayer --input "N=3,D=4"
  deepnlp gradcheck layers.py:affine --input "N=3,D=4"      # affine_forward and affine_backward
  deepnlp gradcheck mylayer.py:MyLSTM --input "N=3,T=4,D=2" --weight "Wx=D,4H" --weight "Wh=H,4H"
  deepnlp gradcheck --museum
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np

from deepnlp.cli.shared import Answer, from_checkout
from deepnlp.examples import EXAMPLES
from deepnlp.gradcheck import SCHEMA, VERSION, check_gradients
from deepnlp.gradcheck.own import build_own, failures_in_one_line, load_own
from deepnlp.options import Option

METHODS = ("auto", "complex", "central", "direction")


def run(
    target: Annotated[str | None, Option(metavar="FILE.py:NAME")] = None,
    *,
    input: Annotated[Sequence[str], Option(metavar="SIZES")] = (),
    weight: Annotated[Sequence[str], Option(metavar="NAME=SHAPE")] = (),
    constant: Annotated[Sequence[str], Option(metavar="NAME")] = (),
    museum: Annotated[
        str | None, Option(metavar="DIR", details={"nargs": "?", "const": ""})
    ] = None,
    shapes: Annotated[int, Option(metavar="K", low=1, high=1000)] = 20,
    layer: Annotated[Sequence[str], Option(metavar="NAME")] = (),
    method: Annotated[str, Option(choices=METHODS)] = "auto",
    seed: Annotated[int, Option(metavar="S", low=0)] = 0,
) -> Answer:
    """Check, and print a table of all gradients.

    Parameters
    ----------
    target : str, optional
        a class of yours with forward and backward, or functions NAME_forward, NAME_backward.
    input : sequence of str
        shape of an input of its forward, such as N=3,D=4; once for each input.
    weight : sequence of str
        shape of what its constructor takes, such as Wx=D,4H; may be repeated.
    constant : sequence of str
        an array that is no weight and needs no gradient; may be repeated.
    museum : str, optional
        score the diagnosis on layers with a mistake (default: those of a checkout).
    shapes : int
        random shapes for each layer of the museum.
    layer : sequence of str
        only this one, such as LSTM or RNNLM; may be repeated.
    method : str
        auto uses the complex step wherever forward allows it (default).
    seed : int
        seed of weights and inputs.
    """
    if museum is not None:
        layers = from_checkout("tests.broken.museum", "the layers of the museum")
        scored: Answer = layers.run(museum, shapes, seed)
        return scored
    if target is None:
        return _check_examples(layer, method, seed)
    rng, own = np.random.default_rng(seed), load_own(target)
    with failures_in_one_line(own):
        made, inputs, named = build_own(own, [*input], [*weight], rng)
        report = check_gradients(made, *inputs, method=method, rng=rng, constants=constant, **named)
    print(report)
    return Answer(report.to_dict(), code=0 if report.ok else 1)


def _check_examples(layers: Sequence[str], method: str, seed: int) -> Answer:
    """Check all examples, or those of the layers asked for."""
    if method == "direction":
        raise ValueError("--method direction is for a class of your own: name its file and class")
    classes = dict.fromkeys(example.covers.__name__ for example in EXAMPLES.values())
    for layer in layers:
        if layer not in (*classes, *EXAMPLES):
            raise ValueError(f"unknown layer {layer!r}: expected one of {', '.join(classes)}")
    reports = {}
    for name, example in EXAMPLES.items():
        if not layers or {name, example.covers.__name__} & {*layers}:
            report = reports[name] = replace(example.check(method, seed), subject=name)
            in_full = bool(layers) or not report.ok
            shown = report if in_full else f"{name}: ok, error {report.error:.1e}"
            print(shown, flush=True)  # central differences take seconds
    gradients = [gradient.ok for report in reports.values() for gradient in report.rows]
    count, wrong = len(gradients), gradients.count(False)
    verdict = f"{wrong} WRONG" if wrong else "all ok"
    print(f"\n{count} gradients checked in {len(reports)} of {len(EXAMPLES)} cases: {verdict}")
    cases = [{"case": name, **report.to_dict()} for name, report in reports.items()]
    facts = {"schema": SCHEMA, "version": VERSION, "ok": not wrong, "gradients": count}
    return Answer({**facts, "wrong": wrong, "cases": cases}, code=1 if wrong else 0)
