"""``deepnlp bench``: how fast, against PyTorch and against the machine's limit."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from deepnlp.cli.output import aside, print_json
from deepnlp.cli.parser import add_json, at_least
from deepnlp.errors import DeepNLPError

if TYPE_CHECKING:
    from benchmarks.settings import Settings

DEFAULT_OUT = "benchmarks/results"

EPILOG = f"""\
suites:
  lm          a training step and an evaluation pass of the language model
  layers      each layer, forward and backward
  generate    sampling, one text and 64 together
  seq2seq     a training step of encoder and decoder; a GRU beside an LSTM
  translation a recipe for translation, in target tokens per second and BLEU
  scaling     time against T, N, H and V; memory against the length of the text
  bottleneck  the softmax behind a matrix L, against the size of the embedding
  techniques  what each technique buys, one change at a time
  profile     where the time of a training step goes, and the roofline
  precision   the error of products in TF32, beside that in float32
  drift       10,000 training steps in float32 beside the same in float64
  soak        memory over minutes or hours of training, generating and evaluating

Every contestant runs in its own process, all of them in turn. The results go to
{DEFAULT_OUT}/SUITE.json (SUITE-cupy.json of a GPU), or to --out. Times are of this machine, as
busy as it is: let nothing else run. PyTorch takes part where it is installed
(pip install 'deepnlp[bench]').

examples:
  deepnlp bench
  deepnlp bench lm generate --threads 2 --rounds 9
  deepnlp bench lm --backend cupy --sizes 200,650
  deepnlp bench soak --minutes 60 --rounds 1
  deepnlp bench --quick
  deepnlp bench --page docs/performance.md
"""

WITHOUT_TORCH = "PyTorch is left out: it is not installed; pip install 'deepnlp[bench]' brings it"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.epilog = EPILOG
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="by default all of them")
    parser.add_argument(
        "--threads",
        type=at_least(1),
        metavar="N",
        help="in every library; by default as many as this process has cores",
    )
    parser.add_argument(
        "--rounds",
        type=at_least(1),
        metavar="N",
        help="how often each contestant is started (default 5; 1 with --quick)",
    )
    parser.add_argument(
        "--sizes", type=_sizes, metavar="H,H", help="hidden sizes (default 100,200,650)"
    )
    parser.add_argument(
        "--epochs", type=at_least(1), metavar="N", help="of the suite translation (default 6)"
    )
    parser.add_argument(
        "--minutes", type=at_least(1), metavar="N", help="of the suite soak, a round (default 2)"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="tiny sizes, one round, written only where --out says: whether it runs, not how fast",
    )
    parser.add_argument(
        "--out", metavar="DIR", help=f"folder of the results (default {DEFAULT_OUT})"
    )
    parser.add_argument("--no-torch", action="store_true", help="leave PyTorch out")
    parser.add_argument(
        "--tf32",
        action="store_true",
        help="on a GPU: products of float32 with inputs rounded to 10 bits, in every library",
    )
    parser.add_argument(
        "--page",
        metavar="FILE",
        help="time nothing: write the page on speed and its figures from the results in --out",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the suites, write their results and print their tables; or write the page.

    Returns
    -------
    int
        The exit code.
    """
    from benchmarks.machine import commit, has_torch
    from benchmarks.run import run_suite
    from benchmarks.suites import SUITES

    if arguments.page is not None:
        return _write_page(arguments)
    for name in arguments.suites:
        if name not in SUITES:
            raise DeepNLPError(f"there is no suite {name!r}: choose from {', '.join(SUITES)}")
    settings = _settings(arguments, has_torch())
    folder = arguments.out or (None if arguments.quick else DEFAULT_OUT)
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)  # before the work begins
    if not (settings.torch or arguments.no_torch):
        print(WITHOUT_TORCH, file=aside(arguments))
    source = commit()
    results = {}
    for name in dict.fromkeys(arguments.suites or SUITES):
        result = run_suite(name, settings, source)
        results[name] = result.to_dict()
        for table in SUITES[name].tables(result):
            print(f"{table.text()}\n", file=aside(arguments))
        if folder is not None:
            print(f"results: {result.write(folder)}\n", file=aside(arguments))
    if arguments.json:
        print_json({"suites": results})
    return 0


def _settings(arguments: argparse.Namespace, torch: bool) -> "Settings":
    from benchmarks.machine import cores
    from benchmarks.settings import QUICK_SIZES, SIZES, Settings
    from deepnlp import backend

    if arguments.tf32 and backend.name() != "cupy":
        raise DeepNLPError("--tf32 is a number format of GPUs: give --backend cupy with it")
    return Settings(
        backend=backend.name(),
        threads=arguments.threads or cores(),
        rounds=arguments.rounds or (1 if arguments.quick else 5),
        sizes=arguments.sizes or (QUICK_SIZES if arguments.quick else SIZES),
        quick=arguments.quick,
        torch=torch and not arguments.no_torch,
        tf32=arguments.tf32,
        epochs=arguments.epochs,
        minutes=arguments.minutes,
    )


def _write_page(arguments: argparse.Namespace) -> int:
    from benchmarks.page import write_page

    if arguments.suites:
        raise DeepNLPError("--page times nothing: run the suites first, without it")
    files = write_page(arguments.page, arguments.out or DEFAULT_OUT)
    if arguments.json:
        print_json({"files": [str(path) for path in files]})
    else:
        print("\n".join(map(str, files)))
    return 0


def _sizes(text: str) -> tuple[int, ...]:
    """Hidden sizes from the text of the option."""
    return tuple(at_least(1)(part) for part in text.split(","))
