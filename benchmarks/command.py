"""``deepnlp bench``: how fast, against PyTorch and against the machine's limit.

suites:
  lm          a training step and an evaluation pass of the language model
  layers      each layer, forward and backward
  generate    sampling, one text and 64 together
  seq2seq     a training step of encoder and decoder; a GRU beside an LSTM
  gpt         a training step of a GPT, and text from it with keys and values kept
  translation a recipe for translation, in target tokens per second and BLEU
  scaling     time against T, N, H and V; memory against the length of the text
  bottleneck  the softmax behind a matrix L, against the size of the embedding
  techniques  what each technique buys, one change at a time
  profile     where the time of a training step goes, and the roofline
  precision   the error of products in TF32, beside that in float32
  drift       10,000 training steps in float32 beside the same in float64
  soak        memory over minutes or hours of training, generating and evaluating

Every contestant runs in its own process, all of them in turn. The results go to
benchmarks/results/SUITE.json (SUITE-cupy.json of a GPU), or to --out. Times are of this machine, as
busy as it is: let nothing else run. PyTorch takes part where it is installed
(python -m pip install torch).

examples:
  deepnlp bench
  deepnlp bench lm generate --threads 2 --rounds 9
  deepnlp bench lm --backend cupy --sizes 200,650
  deepnlp bench soak --minutes 60 --rounds 1
  deepnlp bench --quick
  deepnlp bench --page docs/maintaining/performance.md
"""  # noqa: D405, D406, D407

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from benchmarks.machine import commit, cores, has_torch
from benchmarks.run import run_suite
from benchmarks.settings import QUICK_SIZES, SIZES, Settings
from benchmarks.suites import SUITES
from deepnlp import backend
from deepnlp.cli.shared import Answer, Count, Flag
from deepnlp.errors import DeepNLPError
from deepnlp.options import Option

DEFAULT_OUT = "benchmarks/results"
WITHOUT_TORCH = "PyTorch is left out: it is not installed; python -m pip install torch brings it"


def run(
    suites: Annotated[Sequence[str], Option(metavar="SUITE")] = (),
    *,
    threads: Count = None,
    rounds: Count = None,
    sizes: Annotated[int | list[int] | None, Option(metavar="H,H", low=1)] = None,
    epochs: Count = None,
    minutes: Count = None,
    quick: Flag = False,
    out: Annotated[str | None, Option(metavar="DIR")] = None,
    no_torch: Flag = False,
    tf32: Flag = False,
    page: Annotated[str | None, Option(metavar="FILE")] = None,
) -> Answer:
    """Run the suites, write their results and print their tables; or write the page.

    Parameters
    ----------
    suites : sequence of str
        by default all of them.
    threads : int, optional
        in every library; by default as many as this process has cores.
    rounds : int, optional
        how often each contestant is started (default 5; 1 with --quick).
    sizes : int or list of int, optional
        hidden sizes (default 100,200,650).
    epochs : int, optional
        of the suite translation (default 6).
    minutes : int, optional
        of the suite soak, a round (default 2).
    quick : bool
        tiny sizes, one round, written only where --out says: whether it runs, not how fast.
    out : str, optional
        folder of the results (default benchmarks/results).
    no_torch : bool
        leave PyTorch out.
    tf32 : bool
        on a GPU: products of float32 with inputs rounded to 10 bits, in every library.
    page : str, optional
        time nothing: write the page on speed and its figures from the results in --out.
    """
    if page is not None:
        return _write_page(page, suites, out or DEFAULT_OUT)
    for name in suites:
        if name not in SUITES:
            raise DeepNLPError(f"there is no suite {name!r}: choose from {', '.join(SUITES)}")
    if tf32 and backend.name() != "cupy":
        raise DeepNLPError("--tf32 is a number format of GPUs: give --backend cupy with it")
    hidden_sizes = tuple(sizes) if isinstance(sizes, list) else (sizes,) if sizes else ()
    settings = Settings(
        backend=backend.name(),
        threads=threads or cores(),
        rounds=rounds or (1 if quick else 5),
        sizes=hidden_sizes or (QUICK_SIZES if quick else SIZES),
        quick=quick,
        torch=has_torch() and not no_torch,
        tf32=tf32,
        epochs=epochs,
        minutes=minutes,
    )
    folder = out or (None if quick else DEFAULT_OUT)
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)  # before the work begins
    if not (settings.torch or no_torch):
        print(WITHOUT_TORCH)
    source = commit()
    results = {}
    for name in dict.fromkeys(suites or SUITES):
        result = run_suite(name, settings, source)
        results[name] = result.to_dict()
        for table in SUITES[name].tables(result):
            print(f"{table.text()}\n")
        if folder is not None:
            print(f"results: {result.write(folder)}\n")
    return Answer({"suites": results})


def _write_page(page: str, suites: Sequence[str], folder: str) -> Answer:
    from benchmarks.page import write_page

    if suites:
        raise DeepNLPError("--page times nothing: run the suites first, without it")
    files = [str(path) for path in write_page(page, folder)]
    return Answer({"files": files}, "\n".join(files))
