"""The gradient of every layer and model of the package, checked with both methods.

Each row of the table of gradient checks is run with several seeds, by complex steps and by
central differences, and the largest error over seeds, inputs and parameters is printed and drawn.

    python chapters/ch01_layers_by_hand/gradients.py

Data: random weights and inputs.
Time: about 80 seconds on one core.
Expect: no error above 1e-14 by complex steps, none above 1e-6 by central differences.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from deepnlp.examples import EXAMPLES
from deepnlp.files.tables import table
from deepnlp.lessons.script import config_from_arguments
from deepnlp.plots.style import BLUE, VERMILLION, plain

ROUNDING = 1e-17  # an error of zero, on a logarithmic axis
METHODS = {"auto": ("complex step, where it can be taken", BLUE, "o")}
METHODS["central"] = ("central differences", VERMILLION, "s")


@dataclass
class Config:
    """How often to check, and which rows."""

    seeds: int = 3
    only: str = ""
    out: str = "runs/ch01"


QUICK = Config(seeds=1, only="Affine,LSTM")


def main(config: Config) -> dict[str, dict[str, float]]:
    """Check and draw; returns the largest error by method and row; exits with 1 if one is wrong."""
    names = config.only.split(",") if config.only else list(EXAMPLES)
    errors: dict[str, dict[str, float]] = {method: {} for method in METHODS}
    wrong = []
    for method, worst in errors.items():
        for seed in range(config.seeds):
            for name in names:
                report = EXAMPLES[name].check(method, seed)
                worst[name] = max(worst.get(name, ROUNDING), report.error)
                if not report.ok:
                    wrong.append(f"{name}, {method}, seed {seed}\n{report}")
    rows = [[name, *(f"{errors[m][name]:.0e}" for m in METHODS)] for name in errors["auto"]]
    print(table(["layer", ">complex", ">central"], rows))
    folder = Path(config.out)
    folder.mkdir(parents=True, exist_ok=True)
    draw(errors).savefig(folder / "gradients.png")
    print(f"figure in {folder}")
    if wrong:
        raise SystemExit("\n".join(wrong))
    return errors


def draw(errors: dict[str, dict[str, float]]) -> Figure:
    """The largest error of every row, by method."""
    names = list(errors["auto"])[::-1]
    figure = Figure(figsize=(6.6, 1.3 + 0.2 * len(names)), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    for method, (label, colour, marker) in METHODS.items():
        values = [errors[method][name] for name in names]
        axes.plot(values, np.arange(len(names)), marker, color=colour, markersize=5, label=label)
    axes.set_xscale("log")
    axes.set_ylim(-1, len(names))
    axes.set_yticks(np.arange(len(names)), names, fontsize=8)
    axes.set_xlabel("largest relative error of a gradient")
    complex_step, central = (max(errors[method].values()) for method in METHODS)
    axes.set_title(
        f"Complex steps: errors up to {complex_step:.0e}, differences: up to {central:.0e}",
        loc="left",
        x=-0.3,
        fontsize=10.5,
        weight="bold",
    )
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.35, -0.06), ncols=2, frameon=False, fontsize=8
    )
    plain(axes)
    return figure


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
