"""``deepnlp generate``: continue a prompt with a trained model.

examples:
  deepnlp generate pydocs-small "the function"              a model that comes with deepnlp
  deepnlp generate runs/book                                without a prompt
  deepnlp generate runs/book --prompt "the list is" --length 30
  deepnlp generate runs/book --temperature 0.8 --top-p 0.9 --samples 3 --seed 1
"""

import secrets
import sys
from typing import Annotated, Any

import numpy as np

from deepnlp import generation
from deepnlp.cli.models import load_model
from deepnlp.cli.shared import Answer, Flag, Model, note_unknown
from deepnlp.options import Option

MOST_WORDS = 10_000_000  # of all samples, which are held until the last is done


def run(
    model: Model,
    text: Annotated[str | None, Option(metavar="TEXT")] = None,
    *,
    prompt: Annotated[str, Option(metavar="TEXT")] = "",
    length: Annotated[int, Option(low=0, high=1_000_000)] = 50,
    seed: Annotated[int | None, Option(metavar="S", low=0)] = None,
    samples: Annotated[int, Option(metavar="K", low=1, high=1000)] = 1,
    temperature: Annotated[float, Option(metavar="T")] = 1.0,
    top_k: Annotated[int | None, Option(metavar="K")] = None,
    top_p: Annotated[float | None, Option(metavar="P")] = None,
    greedy: Flag = False,
    stop_at_eos: Flag = False,
    allow_unknown: Flag = False,
) -> Answer:
    """Print one continuation word by word as it is generated, or several at the end.

    Parameters
    ----------
    text : str, optional
        the text to continue; by default a new line.
    prompt : str
        the same, as an option.
    length : int
        words to add.
    seed : int, optional
        the same seed gives the same text.
    samples : int
        number of continuations, generated side by side.
    temperature : float
        below 1 favours likely words, above 1 unlikely ones.
    top_k : int, optional
        choose among the K likeliest words.
    top_p : float, optional
        choose among the fewest likeliest words with a probability of P or more.
    greedy : bool
        always choose the likeliest word.
    stop_at_eos : bool
        stop at the end of the sentence.
    allow_unknown : bool
        <unk> may be chosen like any other word.
    """
    if text is not None and prompt:
        raise ValueError("the text to continue is given twice: once by --prompt, once without")
    prompt = text or prompt
    if samples > 1 and samples * length > MOST_WORDS:
        raise ValueError(
            f"--samples {samples} of --length {length} are {samples * length:,} words, expected at "
            f"most {MOST_WORDS:,}"
        )
    loaded = load_model(model)
    vocab = generation.vocabulary_of(loaded)
    tokens = generation.tokenize_prompt(vocab, prompt)
    note_unknown(vocab, tokens)
    seed = secrets.randbelow(2**31) if seed is None else seed
    options: dict[str, Any] = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    options |= {"greedy": greedy, "stop_at_eos": stop_at_eos, "allow_unknown": allow_unknown}
    options["rng"] = np.random.default_rng(seed)
    if samples > 1:
        texts = generation.generate_many(loaded, [prompt] * samples, length, **options)
        return Answer({"prompt": prompt, "seed": seed, "samples": texts}, "\n\n".join(texts))
    pieces = []
    ids = generation.generate_ids(loaded, vocab.encode(tokens).tolist(), length, **options)
    for piece in generation.text_pieces(vocab, tokens, ids):
        print(piece, end="", flush=sys.stdout.isatty())
        pieces.append(piece)
    print()
    return Answer({"prompt": prompt, "seed": seed, "samples": ["".join(pieces)]})
