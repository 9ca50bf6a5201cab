"""``deepnlp gradcheck``: is every backward pass the derivative of its forward pass?"""

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deepnlp.cli.output import aside, print_json
from deepnlp.cli.parser import add_json, at_least

if TYPE_CHECKING:
    from deepnlp.gradcheck import Report
    from deepnlp.laboratory import Case

EPILOG = """\
The error of a gradient is max |analytic - numeric| / max |numeric|. The complex step takes no
difference and is exact to rounding; central differences are right to about ten digits.

examples:
  deepnlp gradcheck
  deepnlp gradcheck --layer TimeLSTM --method central --seed 3
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    """
    parser.epilog = EPILOG
    parser.add_argument(
        "--layer",
        action="append",
        metavar="NAME",
        help="only this one, such as LSTM or RNNLM; may be repeated",
    )
    parser.add_argument(
        "--method",
        choices=["auto", "complex", "central"],
        default="auto",
        help="auto takes the complex step wherever forward allows it (default)",
    )
    parser.add_argument(
        "--seed", type=at_least(0), default=0, metavar="S", help="of weights and inputs (default 0)"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Check, and print a table of all gradients.

    Parameters
    ----------
    arguments : argparse.Namespace

    Returns
    -------
    int
        The exit code: 1 if a gradient is wrong.
    """
    from deepnlp.laboratory import CASES, check_all

    names = _chosen(arguments.layer, CASES)
    width = max(map(len, ["layer", *names]))
    row = f"{{:{width}}}  {{:14}}  {{:>12}}  {{:>7}}  {{}}"
    out = aside(arguments)
    print(row.format("layer", "gradient", "shape", "error", "ok"), file=out)
    reports = []
    for name, report in check_all(arguments.method, arguments.seed, names):
        reports.append((name, report))
        for found in report.rows:
            shape = " x ".join(map(str, found.numeric.shape)) or "number"
            verdict = "ok" if found.ok else f"WRONG, most at {list(found.index)}"
            line = row.format(name, found.name, shape, f"{found.error:.1e}", verdict)
            print(line, file=out, flush=True)  # central differences take seconds

    wrong = [
        (name, found.name) for name, report in reports for found in report.rows if not found.ok
    ]
    count = sum(len(report.rows) for _, report in reports)
    verdict = f"{len(wrong)} WRONG" if wrong else "all ok"
    print(
        f"\n{count} gradients checked in {len(reports)} of {len(CASES)} cases: {verdict}", file=out
    )
    if arguments.json:
        cases = [_to_dict(name, report) for name, report in reports]
        print_json({"ok": not wrong, "gradients": count, "wrong": len(wrong), "cases": cases})
    return 1 if wrong else 0


def _chosen(wanted: list[str] | None, cases: "Mapping[str, Case]") -> list[str]:
    """Names of the cases that check the layers that were asked for."""
    names: list[str] = []
    for layer in wanted or []:
        found = [name for name, case in cases.items() if layer in (name, case.covers.__name__)]
        if not found:
            known = ", ".join(dict.fromkeys(case.covers.__name__ for case in cases.values()))
            raise ValueError(f"unknown layer {layer!r}: expected one of {known}")
        names += [name for name in found if name not in names]
    return names or list(cases)


def _to_dict(name: str, report: "Report") -> dict[str, Any]:
    return {
        "case": name,
        "method": report.method,
        "tolerance": report.tolerance,
        "ok": report.ok,
        "gradients": [
            {
                "name": row.name,
                "shape": list(row.numeric.shape),
                "error": row.error,
                "index": list(row.index),
                "ok": row.ok,
            }
            for row in report.rows
        ],
    }
