"""``deepnlp info``: the parameters of a model, and the result of its run.

A weight that is used twice, as with --tie tied, is counted once.

examples:
  deepnlp info runs/book
  deepnlp info runs/book/checkpoint.npz --json
  deepnlp info --recipe book-rnnlm --vocab-size 10000
"""

from inspect import signature
from typing import Annotated, Any

from deepnlp.checkpoint import load
from deepnlp.cli.models import run_of
from deepnlp.cli.shared import Answer, Picture, megabytes
from deepnlp.options import Option, fill
from deepnlp.tasks import TASKS
from deepnlp.training import Result
from deepnlp.training import recipe as load_recipe


def run(
    model: Annotated[str | None, Option(metavar="RUN_OR_CHECKPOINT", either="model")] = None,
    *,
    recipe: Annotated[str | None, Option(metavar="NAME", either="model")] = None,
    vocab_size: Annotated[int | None, Option(metavar="V", low=1, high=10_000_000)] = None,
    figure: Picture = None,
) -> Answer:
    """Print the table of parameters and, for a run that has ended, its result.

    Parameters
    ----------
    model : str, optional
        a run folder, or a checkpoint (.npz) of one.
    recipe : str, optional
        the model that a recipe would train.
    vocab_size : int, optional
        with --recipe: words in the vocabulary; by default those of its corpus.
    figure : str, optional
        draw how many parameters each layer has (.png, .pdf, .svg).
    """
    loaded: Any
    if model is None:
        loaded, result = _model_of_recipe(str(recipe), vocab_size), None
    elif vocab_size is not None:
        raise ValueError("--vocab-size goes with --recipe: a trained model has its own vocabulary")
    else:
        folder = run_of(model)
        loaded, result = load(model), None if folder is None else Result.of(folder)
    vocabularies = {n: v for n in loaded.vocab_names if (v := getattr(loaded, n)) is not None}
    sizes = {name: len(vocab) for name, vocab in vocabularies.items()}
    size = sum(parameter.value.nbytes for parameter in loaded.parameters())
    facts = {
        "model": type(loaded).__name__,
        "config": loaded.config(),
        "parameters": [
            {
                "name": name,
                "shape": list(parameter.shape),
                "size": int(parameter.value.size),
                "dtype": str(parameter.dtype),
                "bytes": int(parameter.value.nbytes),
            }
            for name, parameter in loaded.named_parameters()
        ],
        "size": loaded.size(),
        "bytes": size,
        "vocabulary": sizes.get("vocab") or sizes or None,
        "result": None if result is None else result.to_dict(),
    }
    memory = f"{megabytes(size)} for the weights, {megabytes(2 * size)} with their gradients"
    lines = [loaded.summary(), f"\nmemory: {memory}"]
    for name, vocab in vocabularies.items():
        what = name.replace("vocab", "vocabulary").replace("_", " ")
        lines.append(f"{what}: {len(vocab):,} tokens, cut by {vocab.tokenizer}")
    if result is not None:
        lines.append(f"\n{result.table()}")
    if figure is not None:
        from deepnlp.plots import bars  # matplotlib takes a second to import

        counts: dict[str, int] = {}
        for name, parameter in loaded.named_parameters():
            layer = ".".join(name.split(".")[:-1][:2]) or name
            counts[layer] = counts.get(layer, 0) + int(parameter.value.size)
        groups = {layer.replace(".", "\n"): {"": count} for layer, count in counts.items()}
        title = f"{loaded.size():,} parameters, by layer"
        bars(groups, title=title, ylabel="parameters", number=",.0f", path=figure)
    return Answer(facts, "\n".join(lines))


def _model_of_recipe(name: str, vocab_size: int | None) -> Any:
    config = load_recipe(name)
    task = TASKS[config.task]
    if task.counted:
        raise ValueError(f"the model of recipe {name} is counted: it has no parameters to list")
    if vocab_size is None:
        return task.load(config).build_model(config)
    kind = task.model_kind(config)
    needed = [n for n, p in signature(kind).parameters.items() if p.default is p.empty]
    if [n for n in needed if n not in config or n == "vocab_size"] != ["vocab_size"]:
        raise ValueError("--vocab-size goes with a language model or word vectors")
    return fill(kind, config, vocab_size)
