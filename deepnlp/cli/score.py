"""``deepnlp score``: how unexpected each word of a text is to a model, in bits.

A word's surprisal is -log2 of the probability that the model gives it: 1 bit for a
probability of one half. A text starts after <eos>, and the <eos> that closes a line counts.

examples:
  deepnlp score runs/book "the list is empty."
  deepnlp score runs/book --file letter.txt --json
  echo "the list is empty." | deepnlp score runs/book -
  deepnlp score runs/gpt "the list is empty." --attention heads.png
"""

from itertools import pairwise

from deepnlp.cli.models import load_model
from deepnlp.cli.shared import Answer, Model, Picture, Text, TextFile, text_of
from deepnlp.evaluation import Score, score
from deepnlp.files.tables import table
from deepnlp.generation import look, vocabulary_of
from deepnlp.text import Vocabulary

MARK = "not in the vocabulary"


def _shown(vocab: Vocabulary, token: str) -> str:
    """Return a token as text: byte pairs decoded, blanks at its borders in quotes."""
    text = vocab.detokenize([token]) if vocab.tokenizer == "bpe" else token
    return repr(text) if text != text.strip() or not text else text


def run(
    model: Model, text: Text = None, *, file: TextFile = None, attention: Picture = None
) -> Answer:
    """Print a table of surprisals for each line of the text, and the figures of the whole.

    Parameters
    ----------
    text : str, optional
        the text, or - for standard input.
    file : str, optional
        a text file, a sentence a line.
    attention : str, optional
        draw what each head of a GPT looks at, of a text of at most 64 tokens; the suffix chooses
        the format (.png, .pdf, .svg).
    """
    loaded, given = load_model(model), text_of(text, file)
    whole, vocab = score(loaded, given), vocabulary_of(loaded)
    ends = [end for end, token in enumerate(whole.tokens, start=1) if vocab.ends_line(token)]
    lines, shown = [], []
    for start, end in pairwise([0, *ends]):
        if end - start == 1:  # an empty line
            continue
        part = slice(start, end)
        line = Score(whole.tokens[part], whole.surprisals[part], whole.unknown[part])
        words = [*zip(line.tokens, line.surprisals, line.unknown, strict=True)]
        rows = [
            [_shown(vocab, word), f"{bits:.2f}", MARK if unknown else ""]
            for word, bits, unknown in words
        ]
        shown.append(table(["word", ">bits", ""], rows))
        shown.append(f"line: {line.total:.2f} bits, perplexity {line.perplexity:.2f}\n")
        named = [dict(zip(("word", "bits", "unknown"), word, strict=True)) for word in words]
        figures = {"total_bits": line.total, "perplexity": line.perplexity}
        lines.append({**figures, "words": named})
    count, per_word = len(whole.tokens), whole.total / len(whole.tokens)
    bits = f"{whole.total:.2f} bits for {count} words, {per_word:.2f} a word"
    shown.append(f"total: {bits}, perplexity {whole.perplexity:.2f}")
    if attention is not None:
        from deepnlp.plots import attention_heads

        attention_heads(*look(loaded, given.removesuffix("\n")), path=attention)
        shown.append(f"attention: {attention}")
    facts = {
        "words": count,
        "unknown": sum(whole.unknown),
        "total_bits": whole.total,
        "bits_per_word": per_word,
        "perplexity": whole.perplexity,
        "lines": lines,
    }
    return Answer(facts, "\n".join(shown))
