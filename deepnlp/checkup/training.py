"""All experiments with one training, in order."""

from collections.abc import Callable, Iterator
from typing import Any

from deepnlp.checkup import batches, courses, scores, steps
from deepnlp.checkup.forms import program_of
from deepnlp.checkup.program import Program, StepError
from deepnlp.checkup.report import NOT_TRIED, Cause, Report, Row, UntriedError, cause, row_of

EXPERIMENTS: dict[str, Callable[[Program], Iterator[Cause | str]]] = {
    "targets": batches.check_targets,
    "batches": batches.check_batches,
    "relation": batches.check_relation,
    "inputs": batches.check_inputs,
    "data": batches.check_data_kept,
    "weights": steps.check_weights,
    "loss at the start": scores.check_start,
    "loss and scores": scores.check_loss,
    "what moves": steps.check_moves,
    "own gradient": steps.check_own_gradient,
    "direction": steps.check_direction,
    "update rule": steps.check_rule,
    "length of a step": steps.check_size,
    "random numbers": steps.check_randomness,
    "state": steps.check_state,
    "rows": scores.check_rows,
    "time": scores.check_time,
    "input": scores.check_input,
    "evaluation": courses.check_evaluation,
    "some epochs": courses.check_course,
}
"""What is tried, by name: the data first, what needs many steps last."""


def check_training(
    model: Any,
    batches: Any = None,
    optimizer: Any = None,
    evaluate: Callable[[], Any] | None = None,
    *,
    step: Callable[..., Any] | None = None,
    loss: Any = None,
    predict: Callable[..., Any] | None = None,
    weights: Any = None,
    begin: Callable[[], Any] | None = None,
    end: Callable[[], Any] | None = None,
) -> Report:
    """Return what experiments with a training show: what is wrong in it, and what to change.

    Everything is put back afterwards: weights, the state of the optimizer, random numbers, data.

    Parameters
    ----------
    model : object
        A model or layers of deepnlp, a module of torch, a model of *Deep Learning from Scratch* or
        CS231n, a trainer; or a function ``step(x, t)`` that goes forward and back, updates the
        weights and returns the loss.
    batches : list of (x, t), or callable
        The batches of an epoch, or a function that gives them.
    optimizer : object, optional
        Of deepnlp or torch, one with ``update(params, grads)``, an update rule, or a rate.
    evaluate : callable, optional
        A function without arguments that gives a figure.
    step : callable, optional
        The step, where it is not what is usual for such a model.
    loss : callable, optional
        ``loss(x, t)`` without an update; of a module of torch, ``loss(y, t)``.
    predict : callable, optional
        ``predict(x)``, the scores.
    weights : dict, list or callable, optional
        The arrays that are trained, where they are not found.
    begin, end : callable, optional
        What is done at the beginning and at the end of each epoch.

    Raises
    ------
    TypeError
        If it does not say how the model is trained, or on what.

    Examples
    --------
    >>> import numpy
    >>> W, xs = numpy.zeros(2), numpy.random.default_rng(0).normal(size=(4, 8, 2))
    >>> def step(x, t):
    ...     error = x @ W - t
    ...     W[:] += 0.1 * x.T @ error / len(x)      # the gradient is added
    ...     return (error**2).mean()
    >>> report = check_training(step, [(x, x @ [1.0, -1.0]) for x in xs], weights=[W])
    >>> report.diagnosis
    'uphill'
    """
    known = {"step": step, "loss": loss, "predict": predict, "weights": weights}
    known |= {"begin": begin, "end": end}
    try:
        program = program_of(model, batches, optimizer, evaluate, known)
    except StepError as error:
        return Report(getattr(step or model, "__name__", type(model).__name__), [broken(error)])
    return examine(program)


def examine(program: Program, taken: dict[str, str] | None = None) -> Report:
    """Make all experiments with a program, and put everything back.

    Parameters
    ----------
    program : Program
    taken : dict of str to str, optional
        What was taken for what, for the report.
    """
    rows = []
    try:
        for name, experiment in EXPERIMENTS.items():
            rows.append(_tried(name, experiment, program))
    finally:
        program.reset()
    return Report(program.name, rows, taken or {}, program.steps)


def broken(error: StepError) -> Row:
    """Return the row of a step that cannot be made at all."""
    is_whole = "Cannot cast" in str(error) and "int" in str(error)
    name = "weights are whole numbers" if is_whole else "the step ends in an error"
    return row_of("step", [cause(name, name="a weight", kind="whole numbers", error=error)])


def _tried(name: str, experiment: Callable[[Program], Any], program: Program) -> Row:
    """The row of an experiment; one that ends in an error was not made."""
    try:
        row = row_of(name, experiment(program))
    except UntriedError as untried:
        return Row(name, NOT_TRIED, str(untried))
    except (Exception, SystemExit) as error:
        return Row(name, NOT_TRIED, f"it raised {type(error).__name__}: {error}")
    finally:
        program.reset()
    row.causes = [cause.placed(program.source) for cause in row.causes]
    return row
