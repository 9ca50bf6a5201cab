"""The inside of a language model while it reads a sentence."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from deepnlp import plots
from deepnlp.generation import gates, induction, lens, look, text_pieces, vocabulary_of
from deepnlp.reports.page import RETURN, coloured, picture, table, write_page
from deepnlp.text import Vocabulary
from deepnlp.text.bpe import BPE, pretokenise


def write_look(model: Any, text: str, path: str | PathLike[str]) -> Path:
    """Write a page: what each layer would predict, gates, attention, tokens.

    Parameters
    ----------
    model : RNNLM or GPT
        With its vocabulary.
    text : str
    path : str or path

    Raises
    ------
    ValueError
        If the text is empty or too long for the model.
    """
    seen, vocab = lens(model, text), vocabulary_of(model)
    rows = dict(zip(seen.layers, seen.probabilities[..., 0]))
    likeliest = [label(vocab, [best[0] for best in words]) for words in seen.words]
    how: Any = {"title": "What each layer would predict next", "scale": "p"}
    how["words"] = dict(zip(seen.layers, likeliest))
    lenses = plots.by_token(label(vocab, seen.tokens), rows, **how)
    parts = {
        "What each layer would predict": lambda: picture(lenses),
        "Gates": lambda: gate_map(model, text),
        "Attention": lambda: attention_maps(model, text) + induction_table(model),
        "Tokens": lambda: pieces(vocab, text, seen.tokens),
    }
    said = f"{len(seen.tokens)} tokens, read by {type(model).__name__}."
    return write_page(path, text, [said], parts)


def gate_map(model: Any, text: str) -> str:
    """The gates of a model at each token of a text."""
    tokens, means = gates(model, text)
    how = {"title": "How far each gate is open at each token", "scale": "mean"}
    return picture(plots.by_token(label(vocabulary_of(model), tokens), means, **how))


def attention_maps(model: Any, text: str) -> str:
    """Draw what each head of a model looks at."""
    tokens, weights = look(model, text)
    return picture(plots.attention_heads(label(vocabulary_of(model), tokens), weights))


def induction_table(model: Any) -> str:
    """How much each head looks for what came after the same token before."""
    scores = induction(model)
    heads = [f"head {head}" for head in range(1, 1 + scores.shape[1])]
    rows = [[str(block), *row] for block, row in enumerate(scores.tolist(), start=1)]
    return table(["block", *heads], rows, "Induction score of each head")


def pieces(vocab: Vocabulary, text: str, tokens: list[str]) -> str:
    """The tokens of a text in colours; of byte pairs each with the merges of its word."""
    notes = [
        f"number {vocab.id(t)}" if t in vocab else f"{t}: not in the vocabulary" for t in tokens
    ]
    if isinstance(vocab.cut, BPE):
        notes = []
        for word in pretokenise(text):
            steps = [*vocab.cut.steps(word)]
            notes += [" → ".join(" ".join(label(vocab, step)) for step in steps)] * len(steps[-1])
    styles = [f"--s:.6;--hot:hsl({77 * n % 360} 80% 55%)" for n in range(len(tokens))]
    return coloured(text_pieces(vocab, [], vocab.encode(tokens)), styles, notes)


def label(vocab: Vocabulary, tokens: Sequence[str]) -> list[str]:
    """Tokens as they stand beside a figure."""
    return [
        RETURN if vocab.ends_line(token) else vocab.detokenize([token]).strip() or "␣"
        for token in tokens
    ]
