"""``deepnlp checkup``: why does it not learn?

A training is examined by experiments with its own step: a program of yours as it is, or a run that
has ended. Everything is put back; nothing is written.

examples:
  deepnlp checkup train.py
  deepnlp checkup train.py --step train_step --batches "loader(train)" --evaluate "test(model)"
  deepnlp checkup runs/book              what the figures of a run say
"""

from pathlib import Path
from typing import Annotated, Any

from deepnlp.checkup.scripts import check_file
from deepnlp.checkup.verdicts import check_run
from deepnlp.cli.apart import apart
from deepnlp.cli.shared import Answer, Flag
from deepnlp.options import Option

Name = Annotated[str | None, Option(metavar="NAME")]


def run(
    target: Annotated[str, Option(metavar="FILE|RUN")],
    *,
    step: Name = None,
    model: Name = None,
    batches: Name = None,
    evaluate: Name = None,
    seconds: Annotated[int, Option(metavar="S", low=1)] = 300,
    quiet: Flag = False,
) -> Answer:
    """Examine a training, and print a table of all experiments.

    Parameters
    ----------
    target : str
        a program that trains, a notebook, or the folder of a run.
    step : str, optional
        the function of the file that makes a step with a batch, where its loop is not meant.
    model : str, optional
        the model, where the first one in the file is not meant.
    batches : str, optional
        a function that gives batches, a list of them, or an expression.
    evaluate : str, optional
        the call that evaluates, such as "test(model)".
    seconds : int
        processor time after which a checkup ends, where the platform can tell it.
    quiet : bool
        print nothing if nothing is wrong, and one line if something is.
    """
    if Path(target).is_dir():
        report = check_run(target)
        text, first, facts = str(report), report.failure().splitlines()[0], report.to_dict()
    else:
        named = {"step": step, "model": model, "batches": batches, "evaluate": evaluate}
        text, first, facts = apart(_verdict, target, named, seconds=seconds)
    if not quiet:
        print(text)
    elif not facts["ok"]:
        print(first)
    return Answer(facts, code=0 if facts["ok"] else 1)


def _verdict(target: str, named: dict[str, str | None]) -> tuple[str, str, dict[str, Any]]:
    report = check_file(target, **named)
    return str(report), report.failure().splitlines()[0], report.to_dict()
