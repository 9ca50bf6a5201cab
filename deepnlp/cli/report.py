"""``deepnlp report``: one page of a run, to look at in a browser.

The page is one file, without a server or a network: the verdict, the learning curve, samples, the
validation text coloured by surprisal, the map of the word vectors, gradients, gates or attention,
options and times. What the folder lacks is left out. While a model trains, its page grows.

examples:
  deepnlp report runs/book                     writes runs/book/report.html
  deepnlp report runs/book --out book.html
"""

import sys
from pathlib import Path

from deepnlp.checkpoint import load
from deepnlp.cli.models import run_of, task_of
from deepnlp.cli.shared import Answer, Model, PageFile
from deepnlp.errors import DeepNLPError


def run(model: Model, *, out: PageFile = None) -> Answer:
    """Write the page, and print the verdict.

    Parameters
    ----------
    out : str, optional
        where to write it; by default report.html in the folder.
    """
    folder = run_of(model)
    if folder is None or not Path(model).is_dir():
        raise FileNotFoundError(f"{model} is no run folder: expected one with a config.toml")
    from deepnlp.reports.run import write_report  # matplotlib takes a second to import

    loaded = task = None
    try:
        loaded = load(model)
        task = task_of(model, loaded)
    except (OSError, ValueError, DeepNLPError) as error:
        print(
            f"note: the page is without what needs the model and its text: {error}", file=sys.stderr
        )
    path, said = write_report(folder, loaded, task, path=out)
    return Answer({"page": str(path), "verdict": said}, "\n".join([*said, f"page: {path}"]))
