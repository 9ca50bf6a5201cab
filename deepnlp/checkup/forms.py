"""Models, trainers, functions as a :class:`~deepnlp.checkup.program.Program`."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy

from deepnlp.backend import asnumpy
from deepnlp.checkup.program import Program
from deepnlp.evaluation import evaluating
from deepnlp.gradcheck.walking import is_tensor
from deepnlp.layer import Layer, no_backward
from deepnlp.layers import SoftmaxWithLoss
from deepnlp.parameter import Parameter
from deepnlp.tasks import LanguageModelling
from deepnlp.training import Trainer

NAMES = ("step", "train_step", "training_step", "update", "train_batch")
"""Methods that make a step."""


def program_of(
    subject: Any, batches: Any, optimizer: Any, evaluate: Any, known: dict[str, Any]
) -> Program:
    """Return the training that somebody described.

    Parameters
    ----------
    subject : object
        A model, a list of layers, a trainer, or a function that makes a step.
    batches, optimizer, evaluate : object
    known : dict
        What was said by name: ``step``, ``loss``, ``predict``, ``weights``.
    """
    known = {name: value for name, value in known.items() if value is not None}
    if isinstance(subject, Trainer):
        return _of_trainer(subject, batches)
    step = known.pop("step", None)
    is_function = inspect.isroutine(subject) or (callable(subject) and not _is_model(subject))
    if step is None and is_function:
        step, subject = subject, None
    if batches is None:
        raise TypeError("check_training: batches were not given: a list of (x, t), or a function")
    loss = known.pop("loss", None)
    made: dict[str, Any] = {}
    if subject is not None:
        made = _of_model(subject, optimizer, loss)
    elif loss is not None:
        made["loss"] = loss
    if step is not None:
        made["step"] = step
    if evaluate is not None:
        made["evaluate"] = evaluate
    made |= known
    if "step" not in made:
        raise TypeError(
            f"check_training: how is a {type(subject).__name__} trained? Say optimizer=..., or "
            "step=..., a function of a batch that goes forward and back and updates the weights"
        )
    source = source_of(made["step"])
    name = getattr(step or type(subject), "__name__", "training")
    roots = [one for one in (subject, loss, optimizer, *made.pop("roots", ())) if one is not None]
    return Program(
        made.pop("step"),
        batches,
        optimizer=_object(optimizer),
        roots=roots,
        source=source,
        name=name,
        **made,
    )


def source_of(function: Any) -> str:
    """The lines of a function, or nothing."""
    try:
        is_code = inspect.iscode(function)
        return inspect.getsource(function if is_code else inspect.unwrap(function))
    except (OSError, TypeError):
        return ""


def _is_model(subject: Any) -> bool:
    is_layers = isinstance(subject, Layer | list | tuple)
    named = ("forward", "loss", "params", "parameters", "train_step", "fit", "gradient")
    return is_layers or any(hasattr(subject, name) for name in named)


def _object(optimizer: Any) -> Any:
    return None if isinstance(optimizer, int | float) or inspect.isroutine(optimizer) else optimizer


def _of_trainer(trainer: Trainer, batches: Any) -> Program:
    """One of deepnlp's own trainers: its step, its task's batches and evaluation."""
    model, task = trainer.model, trainer.task
    metric = task.metric

    def evaluate() -> float:
        with evaluating(model):
            return float(task.evaluate(model)[metric])

    def predict(x: Any) -> Any:
        model.reset_state()
        return model.twin().eval().logits(x)

    model.train()
    return Program(
        lambda *batch: trainer.train_step(*batch)[0],
        batches or (lambda: task.batches(0)),
        predict=predict
        if isinstance(task, LanguageModelling) and hasattr(model, "logits")
        else None,
        evaluate=evaluate,
        optimizer=trainer.optimizer,
        roots=[trainer, model],
        name=type(model).__name__,
    )


def _of_model(model: Any, optimizer: Any, loss: Any) -> dict[str, Any]:
    """The step of a model, as it is usual where it comes from."""
    for method in NAMES[1:]:
        if hasattr(model, method) and callable(getattr(model, method)):
            return _of_methods(model, method)
    if hasattr(model, "_step") and hasattr(model, "X_train"):
        return _of_solver(model)
    if is_module(model):
        return _of_torch(model, optimizer, loss)
    if isinstance(model, Layer) or (isinstance(model, list | tuple) and model):
        return _of_layers(model, optimizer, loss)
    goes_back = hasattr(model, "gradient") or hasattr(model, "backward")
    if (
        hasattr(model, "loss")
        and isinstance(getattr(model, "params", None), dict)
        and not goes_back
    ):
        return _of_cs231n(model, optimizer)
    return _of_book(model, optimizer)


def is_module(value: Any) -> bool:
    """Return whether it is a module of torch."""
    is_object = not isinstance(value, type)
    return is_object and hasattr(value, "named_parameters") and hasattr(value, "state_dict")


def scores_of(model: Any) -> Callable[..., Any] | None:
    """Return the function of a model that gives scores, if it has one."""
    if isinstance(getattr(model, "params", None), dict) and not hasattr(model, "predict"):
        return lambda x: model.loss(x)
    if hasattr(model, "predict"):
        return model.predict
    if is_module(model) or isinstance(model, Layer):
        return _of_model(model, None, None)["predict"]
    return None


def _of_methods(model: Any, method: str) -> dict[str, Any]:
    """A trainer that makes a step with a batch that is given, or with its own data."""
    step = getattr(model, method)
    taken = [p for p in inspect.signature(step).parameters.values() if p.default is p.empty]
    made: dict[str, Any] = {}
    if len(taken) < 2 and hasattr(model, "x_train"):
        made["step"] = _with_data(model, step, "x_train", "t_train", "train_loss_list")
    else:
        made["step"] = step
    predict = getattr(model, "predict", None)
    return made | ({"predict": predict} if predict is not None else {})


def _with_data(owner: Any, step: Any, x_name: str, t_name: str, losses: str) -> Callable[..., Any]:
    """A step of a trainer that draws from data of its own, which the batch replaces."""

    def on_batch(x: Any, t: Any) -> Any:
        kept = {name: getattr(owner, name) for name in (x_name, t_name)}
        kept["batch_size"] = getattr(owner, "batch_size", len(x))
        try:
            setattr(owner, x_name, x)
            setattr(owner, t_name, t)
            if hasattr(owner, "num_train"):
                owner.num_train = len(x)
            owner.batch_size = len(x)
            step()
            return getattr(owner, losses)[-1]
        finally:
            for name, value in kept.items():
                setattr(owner, name, value)

    return on_batch


def _of_solver(solver: Any) -> dict[str, Any]:
    """A Solver of CS231n."""
    made: dict[str, Any] = {
        "step": _with_data(solver, solver._step, "X_train", "y_train", "loss_history"),
        "weights": lambda: solver.model.params,
        "predict": lambda x: solver.model.loss(x),
        "loss": lambda x, t: solver.model.loss(x, t)[0],
    }
    if hasattr(solver, "X_val"):
        made["evaluate"] = lambda: solver.check_accuracy(solver.X_val, solver.y_val)
    return made


def _of_cs231n(model: Any, optimizer: Any) -> dict[str, Any]:
    """``loss(X, y) -> loss, grads`` beside a dict ``params``, and an update rule or a rate."""
    configs: dict[str, Any] = {}

    def step(x: Any, t: Any) -> Any:
        loss, grads = model.loss(x, t)
        for name, grad in grads.items():
            w = model.params[name]
            if inspect.isroutine(optimizer):
                model.params[name], configs[name] = optimizer(w, grad, configs.get(name))
            elif hasattr(optimizer, "update"):
                optimizer.update(model.params, grads)
                break
            else:
                model.params[name] = w - float(optimizer or 1e-2) * grad
        return loss

    return {
        "step": step,
        "loss": lambda x, t: model.loss(x, t)[0],
        "predict": lambda x: model.loss(x),
        "weights": lambda: model.params,
        "roots": [configs],
    }


def _of_book(model: Any, optimizer: Any) -> dict[str, Any]:
    """A model of Deep Learning from Scratch, with the optimizer's ``update``."""
    update = getattr(optimizer, "update", None) or _by_rate(optimizer)
    made: dict[str, Any] = {}
    if hasattr(model, "gradient"):

        def step(x: Any, t: Any) -> Any:
            grads = model.gradient(x, t)
            loss = model.loss(x, t)
            update(model.params, grads)
            return loss

        made["loss"] = model.loss
    elif hasattr(model, "backward"):

        def step(x: Any, t: Any) -> Any:
            loss = model.forward(x, t)
            model.backward()
            update(model.params, model.grads)
            return loss

        made["loss"] = model.forward
    else:
        return {}
    if hasattr(model, "predict"):
        made["predict"] = model.predict
    return made | {"step": step}


def _by_rate(rate: Any) -> Callable[..., None]:
    def update(params: Any, grads: Any) -> None:
        keys = params if isinstance(params, dict) else range(len(params))
        for key in keys:
            params[key] -= float(rate or 0.01) * grads[key]

    return update


def _of_layers(model: Any, optimizer: Any, loss: Any) -> dict[str, Any]:
    """Layers of deepnlp: a model with its loss, or layers in a row and a loss behind them."""
    layers = list(model) if isinstance(model, list | tuple) else [model]
    has_loss = hasattr(model, "logits")
    end = loss if loss is not None else SoftmaxWithLoss()

    def scores(x: Any) -> Any:
        for layer in layers:
            x = layer.forward(x)
        return x

    def predict(x: Any) -> Any:
        modes = [layer.training for layer in layers]
        try:
            with no_backward():
                for layer in layers:
                    layer.eval()
                return model.logits(x) if has_loss else scores(x)
        finally:
            for layer, mode in zip(layers, modes, strict=True):
                (layer.train if mode else layer.eval)()

    def step(x: Any, t: Any) -> Any:
        result = model.forward(x, t) if has_loss else end.forward(scores(x), t)
        for layer in layers:
            layer.zero_grad()
        if has_loss:
            model.backward()
        else:
            dy = end.backward()
            for layer in reversed(layers):
                dy = layer.backward(dy)
        optimizer.step()
        return result

    made: dict[str, Any] = {"predict": predict}
    return made | ({"step": step} if hasattr(optimizer, "step") else {})


def _of_torch(model: Any, optimizer: Any, loss: Any) -> dict[str, Any]:
    """A module of torch."""
    import torch

    def as_input(x: Any) -> Any:
        x = x if is_tensor(x) else torch.as_tensor(asnumpy(x))
        return x.float() if x.is_floating_point() else x

    def measure(x: Any, t: Any) -> Any:
        is_own = inspect.isfunction(loss) and not loss.__module__.startswith("torch")
        if is_own and _calls_model(loss):
            return loss(x, t)
        if is_own and len(inspect.signature(loss).parameters) == 3:
            return loss(model, x, t)
        y = model(as_input(x))
        y = y[0] if isinstance(y, tuple) else y
        t = as_input(t)
        if y.ndim == t.ndim + 1 and y.ndim > 2 and not t.is_floating_point():
            y, t = y.reshape(-1, y.shape[-1]), t.reshape(-1)
        if loss is None:
            is_class = not t.is_floating_point()
            chosen = torch.nn.functional.cross_entropy if is_class else torch.nn.functional.mse_loss
            return chosen(y, t)
        return loss(y, t)

    def step(x: Any, t: Any) -> Any:
        optimizer.zero_grad()
        value = measure(x, t)
        value.backward()
        optimizer.step()
        return value

    def predict(x: Any) -> Any:
        modes = [(part, part.training) for part in model.modules()]
        model.eval()
        try:
            with torch.no_grad():
                y = model(as_input(x))
            return y[0] if isinstance(y, tuple) else y
        finally:
            for part, mode in modes:
                part.training = mode

    made: dict[str, Any] = {"predict": predict}
    return made | ({"step": step} if hasattr(optimizer, "step") else {})


def _calls_model(function: Any) -> bool:
    """Return whether a function calls a module itself, so that it takes inputs and no scores."""
    space = inspect.getclosurevars(function)
    return any(map(is_module, [*space.nonlocals.values(), *space.globals.values()]))


def as_targets(t: Any) -> Any:
    """Targets as ids, of whatever form: ids, or rows with a single one; None of others."""
    array = asnumpy(t.detach().cpu().numpy() if is_tensor(t) else t)
    if array.dtype.kind in "iu":
        is_one_hot = array.ndim > 1 and array.shape[-1] > 2 and set(numpy.unique(array)) <= {0, 1}
        return array.argmax(-1) if is_one_hot and (array.sum(-1) == 1).all() else array
    if array.ndim > 1 and array.shape[-1] > 1 and set(numpy.unique(array)) <= {0.0, 1.0}:
        return array.argmax(-1) if (array.sum(-1) == 1).all() else None
    return None


def values_of(weights: Any) -> list[Any]:
    """The arrays of some Parameters or arrays."""
    return [one.value if isinstance(one, Parameter) else one for one in weights]
