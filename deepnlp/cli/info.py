"""``deepnlp info``: the parameters of a model, and the result of its run.

A weight that is used twice, as with --tie tied, is counted once.

examples:
  deepnlp info runs/book
  deepnlp info runs/book/checkpoint.npz --json
  deepnlp info --recipe book-rnnlm --vocab-size 10000
"""

import argparse
from inspect import signature
from typing import TYPE_CHECKING, Any

from deepnlp.cli.output import answer, megabytes
from deepnlp.cli.parser import add_json, at_least, option

if TYPE_CHECKING:
    from deepnlp.models import Model
    from deepnlp.training import Result


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    model = parser.add_mutually_exclusive_group(required=True)
    option(
        model, "model RUN_OR_CHECKPOINT", "a run folder, or a checkpoint (.npz) of one", nargs="?"
    )
    option(model, "--recipe NAME", "the model that a recipe would train")
    words = "with --recipe: words in the vocabulary; by default those of its corpus"
    option(parser, "--vocab-size V", words, at_least(1, 10_000_000))
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the table of parameters and, for a run that has ended, its result."""
    from deepnlp.checkpoint import load

    model: Any
    if arguments.recipe is not None:
        model, result = _model_of_recipe(arguments.recipe, arguments.vocab_size), None
    elif arguments.vocab_size is not None:
        raise ValueError("--vocab-size goes with --recipe: a trained model has its own vocabulary")
    else:
        model, result = load(arguments.model), _result_of(arguments.model)
    size = sum(parameter.value.nbytes for parameter in model.parameters())
    memory = f"{megabytes(size)} for the weights, {megabytes(2 * size)} with their gradients"
    lines = [model.summary(), f"\nmemory: {memory}"]
    for name, vocab in _vocabularies(model).items():
        what = name.replace("vocab", "vocabulary").replace("_", " ")
        lines.append(f"{what}: {len(vocab):,} tokens, cut by {vocab.tokenizer}")
    if result is not None:
        lines.append(f"\n{result.table()}")
    return answer(arguments, _facts(model, size, result), "\n".join(lines))


def _model_of_recipe(name: str, vocab_size: int | None) -> "Model":
    from deepnlp.options import fill
    from deepnlp.tasks import TASKS
    from deepnlp.training import recipe

    config = recipe(name)
    task = TASKS[config.task]
    if task.counted:
        raise ValueError(f"the model of recipe {name} is counted: it has no parameters to list")
    if vocab_size is not None:
        kind = task.model_kind(config)
        needed = [n for n, p in signature(kind).parameters.items() if p.default is p.empty]
        if [name for name in needed if name not in config or name == "vocab_size"] != [
            "vocab_size"
        ]:
            raise ValueError("--vocab-size goes with a language model or word vectors")
        return fill(kind, config, vocab_size)
    model: Model = task.load(config).build_model(config)
    return model


def _vocabularies(model: "Model") -> dict[str, Any]:
    """The vocabularies that a model has, by name."""
    names = getattr(model, "vocab_names", ("vocab",))
    return {name: vocab for name in names if (vocab := getattr(model, name)) is not None}


def _result_of(path: str) -> "Result | None":
    """The result of the run that the model belongs to, if it has ended."""
    from deepnlp.cli.models import run_folder_of
    from deepnlp.training import Result, RunFolder

    folder = run_folder_of(path)
    return None if folder is None else Result.of(RunFolder(folder))


def _facts(model: "Model", size: int, result: "Result | None") -> dict[str, Any]:
    vocabularies = {name: len(vocab) for name, vocab in _vocabularies(model).items()}
    return {
        "model": type(model).__name__,
        "config": model.config(),
        "parameters": [
            {
                "name": name,
                "shape": list(parameter.shape),
                "size": int(parameter.value.size),
                "dtype": str(parameter.dtype),
                "bytes": int(parameter.value.nbytes),
            }
            for name, parameter in model.named_parameters()
        ],
        "size": model.size(),
        "bytes": size,
        "vocabulary": vocabularies.get("vocab") or vocabularies or None,
        "result": None if result is None else result.to_dict(),
    }
