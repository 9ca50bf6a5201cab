"""``deepnlp score``: how unexpected each word of a text is to a model, in bits.

A word's surprisal is -log2 of the probability that the model gives it: 1 bit for a
probability of one half. A text starts after <eos>, and the <eos> that closes a line counts.

examples:
  deepnlp score runs/book "the list is empty."
  deepnlp score runs/book --file letter.txt --json
  echo "the list is empty." | deepnlp score runs/book -
"""

from collections.abc import Iterator

from deepnlp.cli.models import load_model
from deepnlp.cli.shared import Answer, Model, Text, TextFile, text_of
from deepnlp.evaluation import Score, score
from deepnlp.files.tables import table
from deepnlp.generation import vocabulary_of

UNKNOWN_MARK = "not in the vocabulary"


def run(model: Model, text: Text = None, *, file: TextFile = None) -> Answer:
    """Print a table of surprisals for each line of the text, and the figures of the whole.

    Parameters
    ----------
    text : str, optional
        the text, or - for standard input.
    file : str, optional
        a text file, a sentence a line.
    """
    loaded = load_model(model)
    whole, vocab = score(loaded, text_of(text, file)), vocabulary_of(loaded)
    lines = list(_lines(whole, vocab.token(vocab.eos_id)))
    words, per_word = len(whole.tokens), whole.total / len(whole.tokens)
    facts = {
        "words": words,
        "unknown": sum(whole.unknown),
        "total_bits": whole.total,
        "bits_per_word": per_word,
        "perplexity": whole.perplexity,
        "lines": [_to_dict(line) for line in lines],
    }
    total = (
        f"total: {whole.total:.2f} bits for {words} words, "
        f"{per_word:.2f} a word, perplexity {whole.perplexity:.2f}"
    )
    return Answer(facts, "".join(map(_table, lines)) + total)


def _lines(whole: Score, eos: str) -> Iterator[Score]:
    """The score of each line, its end-of-line token included; empty lines are left out."""
    start = 0
    for end, token in enumerate(whole.tokens, start=1):
        if token == eos:
            part = slice(start, end)
            if end - start > 1:
                yield Score(whole.tokens[part], whole.surprisals[part], whole.unknown[part])
            start = end


def _table(line: Score) -> str:
    rows = [
        [repr(word) if word.isspace() else word, f"{bits:.2f}", UNKNOWN_MARK if unknown else ""]
        for word, bits, unknown in zip(line.tokens, line.surprisals, line.unknown, strict=True)
    ]
    total = f"line: {line.total:.2f} bits, perplexity {line.perplexity:.2f}"
    return f"{table(['word', '>bits', ''], rows)}\n{total}\n\n"


def _to_dict(line: Score) -> dict[str, object]:
    rows = zip(line.tokens, line.surprisals, line.unknown, strict=True)
    words = [dict(zip(("word", "bits", "unknown"), row, strict=True)) for row in rows]
    return {"total_bits": line.total, "perplexity": line.perplexity, "words": words}
