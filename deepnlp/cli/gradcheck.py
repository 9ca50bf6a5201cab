"""``deepnlp gradcheck``: is every backward pass the derivative of its forward pass?

The error of a gradient is max |analytic - numeric| / max |numeric|. The complex step takes no
difference and is exact up to rounding; central differences are right to about ten digits.

examples:
  deepnlp gradcheck
  deepnlp gradcheck --layer TimeLSTM --method central --seed 3
  deepnlp gradcheck mylayer.py:MyLayer --input "N=3,D=4"
  deepnlp gradcheck layers.py:affine   # affine_forward, affine_backward, as the file calls them
  deepnlp gradcheck layers.py:affine --input "N=3,D=4"
  deepnlp gradcheck mylayer.py:MyLSTM --input "N=3,T=4,D=2" --weight "Wx=D,4H" --weight "Wh=H,4H"
  deepnlp gradcheck hw.ipynb:my_lstm --call "my_lstm(x, h, {'mode': 'train'})"
  deepnlp gradcheck exercise.py          # lines with dW for W, and so on
  deepnlp gradcheck --museum
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from deepnlp.cli.apart import apart
from deepnlp.cli.mistakes import in_one_line, is_mistake
from deepnlp.cli.shared import Answer, Flag, from_checkout
from deepnlp.errors import DeepNLPError
from deepnlp.examples import EXAMPLES
from deepnlp.gradcheck import METHODS, SCHEMA, VERSION, Report, check_gradients
from deepnlp.gradcheck.loading import (
    Own,
    call_of,
    failures_in_one_line,
    in_python,
    load_own,
    own_call,
)
from deepnlp.gradcheck.own import build_own, named_arrays
from deepnlp.options import Option


def run(
    target: Annotated[str | None, Option(metavar="FILE.py:NAME")] = None,
    *,
    input: Annotated[Sequence[str], Option(metavar="SIZES")] = (),
    weight: Annotated[Sequence[str], Option(metavar="NAME=SHAPE")] = (),
    constant: Annotated[Sequence[str], Option(metavar="NAME")] = (),
    gradient: Annotated[Sequence[str], Option(metavar="W=DW")] = (),
    call: Annotated[str | None, Option(metavar="CALL")] = None,
    seconds: Annotated[int, Option(metavar="S", low=1)] = 300,
    quiet: Flag = False,
    strict: Flag = False,
    all: Flag = False,
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
        shape of an input of its forward, such as N=3,D=4 or ids=3,5; once for each input.
    weight : sequence of str
        shape of what its constructor takes, such as Wx=D,4H; may be repeated.
    constant : sequence of str
        an array that is no weight and needs no gradient; may be repeated.
    gradient : sequence of str
        where a gradient is whose name does not say it, such as w=dLdw; may be repeated.
    call : str, optional
        a call of it, with arguments from its file and the block of __main__, in which the first
        call is taken where neither this nor a shape is given.
    seconds : int
        processor time after which a check ends, where the platform can tell it.
    quiet : bool
        print nothing if all is right, and one line if not.
    all : bool
        print all causes that would give a wrong gradient, not the likeliest alone.
    strict : bool
        take what is left to you to judge, such as an array without a gradient, for an error.
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
    table = dict(map(_read_gradient, gradient))
    given = target, [*input], [*weight], call, table, method, seed, constant, strict
    hint, text, first, facts = apart(_verdict, all, *given, seconds=seconds)
    if hint:
        print(hint)
        raise DeepNLPError(text)
    if not quiet:
        print(text)
    elif not facts["ok"]:
        print(first)
    return Answer(facts, code=0 if facts["ok"] else 1)


def _verdict(alternatives: bool, *given: Any) -> tuple[str, str, str, dict[str, Any]]:
    """Return a report as texts and facts; or lines of Python that would work, and an error."""
    try:
        report = _check(*given)
    except _RefusedError as refused:
        return refused.hint, str(refused), "", {}
    first = str(report.causes[0]) if report.causes else f"{report.subject}: wrong"
    return "", report.in_words(alternatives=alternatives), first, report.to_dict()


class _RefusedError(DeepNLPError):
    """An error: the command line cannot do it, and Python can."""

    hint = ""


def _check(
    target: str,
    inputs: list[str],
    weights: list[str],
    call: str | None,
    gradients: dict[str, str],
    method: str,
    seed: int,
    constant: Sequence[str],
    strict: bool,
) -> Report:
    """Load what is named, make what it takes, and check it."""
    rng = np.random.default_rng(seed)
    target_code = load_own(target)
    options: dict[str, Any] = {"method": method, "rng": rng, "constants": constant}
    options |= {"gradients": gradients, "quiet": True, "strict": strict}
    with failures_in_one_line(target_code), _lines_of_python(target_code):
        if isinstance(target_code, Path):
            return check_gradients(target_code, **options)
        if call is None and not inputs and not weights:
            call = own_call(target_code)
        if call is None:
            made, positional, named, _ = build_own(target_code, inputs, weights, rng)
        else:
            names = {"np": np, "rng": rng, **named_arrays(target_code, inputs, weights, rng)}
            made, positional, named = call_of(target_code, call, names)
        return check_gradients(made, *positional, **options, **named)


@contextlib.contextmanager
def _lines_of_python(target_code: Own) -> Iterator[None]:
    """Context whose errors hold the lines of Python that work where the command line does not."""
    try:
        yield
    except Exception as error:
        if isinstance(target_code, Path) or not is_mistake(error):
            raise
        refused = _RefusedError(in_one_line(error))
        refused.hint = in_python(target_code)
        raise refused from error


def _read_gradient(text: str) -> tuple[str, str]:
    name, equals, source = text.partition("=")
    if not (name and equals and source):
        raise ValueError(f"--gradient should read like 'w=dLdw', got {text!r}")
    return name.strip(), source.strip()


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
