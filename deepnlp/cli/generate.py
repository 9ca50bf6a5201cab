"""``deepnlp generate``: continue a prompt with a trained model.

examples:
  deepnlp generate runs/book                                without a prompt
  deepnlp generate runs/book --prompt "the list is" --length 30
  deepnlp generate runs/book --temperature 0.8 --top-p 0.9 --samples 3 --seed 1
"""

import argparse
import secrets
import sys
from functools import partial

from deepnlp.cli.output import answer
from deepnlp.cli.parser import add_json, add_model, at_least, option
from deepnlp.cli.texts import note_unknown

MOST_WORDS = 10_000_000  # of all samples, which are held until the last is done


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    add = partial(option, parser)
    add_model(parser)
    add("--prompt TEXT", "the text to continue; by default a new line", default="")
    add("--length N", "words to add", at_least(0, 1000000), 50)
    add("--temperature T", "below 1 favours likely words, above 1 unlikely ones", float, 1.0)
    add("--top-k K", "choose among the K likeliest words", int)
    nucleus = "choose among the fewest likeliest words with a probability of P or more"
    add("--top-p P", nucleus, float)
    add("--greedy", "always choose the likeliest word", bool)
    add("--seed S", "the same seed gives the same text", at_least(0))
    add("--samples K", "number of continuations, generated side by side", at_least(1, 1000), 1)
    add("--stop-at-eos", "stop at the end of the sentence", bool)
    add("--allow-unknown", "<unk> may be chosen like any other word", bool)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print one continuation word by word as it is generated, or several at the end."""
    import numpy as np

    from deepnlp.cli.models import load_model
    from deepnlp.generation import (
        generate,
        generate_ids,
        generate_many,
        text_pieces,
        tokenize_prompt,
        vocabulary_of,
    )

    words = arguments.samples * arguments.length
    if arguments.samples > 1 and words > MOST_WORDS:
        raise ValueError(
            f"--samples {arguments.samples} of --length {arguments.length} are {words:,} words, "
            f"expected at most {MOST_WORDS:,}"
        )
    model = load_model(arguments.model)
    vocab = vocabulary_of(model)
    tokens = tokenize_prompt(vocab, arguments.prompt)
    note_unknown(vocab, tokens)
    seed = secrets.randbelow(2**31) if arguments.seed is None else arguments.seed
    names = ("temperature", "top_k", "top_p", "greedy", "stop_at_eos", "allow_unknown")
    options = {name: getattr(arguments, name) for name in names}
    options["rng"] = np.random.default_rng(seed)

    if arguments.samples == 1 and not arguments.json:
        ids = generate_ids(model, vocab.encode(tokens).tolist(), arguments.length, **options)
        for piece in text_pieces(vocab, tokens, ids):
            print(piece, end="", flush=sys.stdout.isatty())
        print()
        return 0
    if arguments.samples == 1:
        samples = [generate(model, arguments.prompt, arguments.length, **options)]
    else:
        prompts = [arguments.prompt] * arguments.samples
        samples = generate_many(model, prompts, arguments.length, **options)
    facts = {"prompt": arguments.prompt, "seed": seed, "samples": samples}
    return answer(arguments, facts, "\n\n".join(samples))
