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

import argparse
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from deepnlp.cli.checkout import from_checkout
from deepnlp.cli.output import aside, print_json
from deepnlp.cli.parser import add_json, at_least, option

if TYPE_CHECKING:
    from deepnlp.examples import Example


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    add = partial(option, parser)
    target = "a class of yours with forward and backward, or functions NAME_forward, NAME_backward"
    add("target FILE.py:NAME", target, nargs="?")
    shape = "shape of an input of its forward, such as N=3,D=4; once for each input"
    add("--input SIZES", shape, many=True)
    shape = "shape of what its constructor takes, such as Wx=D,4H; may be repeated"
    add("--weight NAME=SHAPE", shape, many=True)
    constant = "an array that is no weight and needs no gradient; may be repeated"
    add("--constant NAME", constant, many=True)
    museum = "score the diagnosis on layers with a mistake (default: those of a checkout)"
    add("--museum DIR", museum, nargs="?", const="")
    add("--shapes K", "random shapes for each layer of the museum", at_least(1, 1000), 20)
    add("--layer NAME", "only this one, such as LSTM or RNNLM; may be repeated", many=True)
    method = "auto uses the complex step wherever forward allows it (default)"
    add("--method", method, ["auto", "complex", "central", "direction"], "auto")
    add("--seed S", "seed of weights and inputs", at_least(0), 0)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Check, and print a table of all gradients."""
    if arguments.museum is not None:
        museum = from_checkout("tests.broken.museum", "the layers of the museum")
        return int(museum.run(arguments))
    if arguments.target is not None:
        return _run_own(arguments)
    return _run_table(arguments)


def _run_own(arguments: argparse.Namespace) -> int:
    """Check one class in a file."""
    import numpy

    from deepnlp.gradcheck import check_gradients
    from deepnlp.gradcheck.own import build_own, failures_in_one_line, load_own

    rng = numpy.random.default_rng(arguments.seed)
    own = load_own(arguments.target)
    with failures_in_one_line(own):
        layer, inputs, named = build_own(own, arguments.input, arguments.weight, rng)
        options = {"method": arguments.method, "rng": rng, "constants": arguments.constant}
        report = check_gradients(layer, *inputs, **options, **named)
    print(report, file=aside(arguments))
    if arguments.json:
        print_json(report.to_dict())
    return 0 if report.ok else 1


def _run_table(arguments: argparse.Namespace) -> int:
    """Check all examples, or those of the layers asked for."""
    if arguments.method == "direction":
        raise ValueError("--method direction is for a class of your own: name its file and class")
    from deepnlp.examples import EXAMPLES
    from deepnlp.gradcheck import SCHEMA, VERSION

    names = _chosen(arguments.layer, EXAMPLES)
    width = max(map(len, ["layer", *names]))
    row = f"{{:{width}}}  {{:14}}  {{:>12}}  {{:>7}}  {{}}"
    out = aside(arguments)
    print(row.format("layer", "gradient", "shape", "error", "ok"), file=out)
    reports = {}
    for name in names:
        reports[name] = EXAMPLES[name].check(arguments.method, arguments.seed)
        for gradient in reports[name].rows:
            shape = " x ".join(map(str, gradient.numeric.shape)) or "number"
            verdict = "ok" if gradient.ok else f"WRONG, most at {list(gradient.index)}"
            line = row.format(name, gradient.name, shape, f"{gradient.error:.1e}", verdict)
            print(line, file=out, flush=True)  # central differences take seconds
            if not gradient.ok and gradient.causes:
                print(f"  likely cause: {gradient.causes[0]}", file=out)

    gradients = [gradient.ok for report in reports.values() for gradient in report.rows]
    count, wrong = len(gradients), gradients.count(False)
    verdict = f"{wrong} WRONG" if wrong else "all ok"
    cases = f"{len(reports)} of {len(EXAMPLES)} cases"
    print(f"\n{count} gradients checked in {cases}: {verdict}", file=out)
    if arguments.json:
        checked = [{"case": name, **report.to_dict()} for name, report in reports.items()]
        counts = {"ok": not wrong, "gradients": count, "wrong": wrong}
        print_json({"schema": SCHEMA, "version": VERSION, **counts, "cases": checked})
    return 1 if wrong else 0


def _chosen(wanted: list[str] | None, cases: "Mapping[str, Example]") -> list[str]:
    """Names of the examples of the layers that were asked for."""
    names: list[str] = []
    for layer in wanted or []:
        of_layer = [name for name, case in cases.items() if layer in (name, case.covers.__name__)]
        if not of_layer:
            known = ", ".join(dict.fromkeys(case.covers.__name__ for case in cases.values()))
            raise ValueError(f"unknown layer {layer!r}: expected one of {known}")
        names += of_layer
    return list(dict.fromkeys(names)) or list(cases)
