"""``deepnlp score``: how unexpected each word of a text is to a model, in bits.

A word's surprisal is -log2 of the probability that the model gives it: 1 bit for a
probability of one half. A text starts after <eos>, and the <eos> that closes a line counts.

examples:
  deepnlp score runs/book "the list is empty."
  deepnlp score runs/book --file letter.txt --json
  echo "the list is empty." | deepnlp score runs/book -
"""

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from deepnlp.cli.output import print_json, table
from deepnlp.cli.parser import add_json, add_model, option, read_text

if TYPE_CHECKING:
    from deepnlp.evaluation import Score

UNKNOWN_MARK = "not in the vocabulary"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    add_model(parser)
    given = parser.add_mutually_exclusive_group(required=True)
    option(given, "text TEXT", "the text, or - for standard input", nargs="?")
    option(given, "--file FILE", "a text file, a sentence a line")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print a table of surprisals for each line of the text, and the figures of the whole."""
    from deepnlp.cli.models import load_model
    from deepnlp.evaluation import score
    from deepnlp.generation import vocabulary_of

    model = load_model(arguments.model)
    text = arguments.text
    if arguments.file is not None or text == "-":
        text = read_text(arguments.file or "-")
    found = score(model, text)
    vocab = vocabulary_of(model)
    lines = list(_lines(found, vocab.token(vocab.eos_id)))
    if arguments.json:
        print_json(
            {
                "words": len(found.tokens),
                "unknown": sum(found.unknown),
                "total_bits": found.total,
                "bits_per_word": found.total / len(found.tokens),
                "perplexity": found.perplexity,
                "lines": [_to_dict(line) for line in lines],
            }
        )
        return 0
    for line in lines:
        rows = [
            [repr(word) if word.isspace() else word, f"{bits:.2f}", UNKNOWN_MARK if unknown else ""]
            for word, bits, unknown in zip(line.tokens, line.surprisals, line.unknown, strict=True)
        ]
        print(table(["word", ">bits", ""], rows))
        print(f"line: {line.total:.2f} bits, perplexity {line.perplexity:.2f}\n")
    print(
        f"total: {found.total:.2f} bits for {len(found.tokens)} words, "
        f"{found.total / len(found.tokens):.2f} a word, perplexity {found.perplexity:.2f}"
    )
    return 0


def _lines(found: "Score", eos: str) -> Iterator["Score"]:
    """The score of each line, its end-of-line token included; empty lines are left out."""
    start = 0
    for end, token in enumerate(found.tokens, start=1):
        if token == eos:
            part = slice(start, end)
            if end - start > 1:
                yield type(found)(found.tokens[part], found.surprisals[part], found.unknown[part])
            start = end


def _to_dict(line: "Score") -> dict[str, object]:
    return {
        "total_bits": line.total,
        "perplexity": line.perplexity,
        "words": [
            {"word": word, "bits": bits, "unknown": unknown}
            for word, bits, unknown in zip(line.tokens, line.surprisals, line.unknown, strict=True)
        ],
    }
