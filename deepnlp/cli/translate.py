"""``deepnlp translate``: what a sequence-to-sequence model writes, given a text.

Each line is a text of its own, and its translation is a line. With --n-best each translation stands
behind its score, the log-probability divided by a power of the length, and a blank line follows the
last one of a text.

examples:
  deepnlp translate runs/dates "AUG 19, 2003"
  deepnlp translate runs/en-es --file letter.txt --beam 5
  echo "Where is the library?" | deepnlp translate runs/en-es -
  deepnlp translate runs/en-es "Where is the library?" --beam 5 --n-best 3
  deepnlp translate runs/dates "AUG 19, 2003" --attention attention.png
"""

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING

from deepnlp.cli.output import aside, print_json
from deepnlp.cli.parser import Number, add_json, add_model, at_least, option, picture, read_text

if TYPE_CHECKING:
    from deepnlp.models import Seq2Seq


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    add = partial(option, parser)
    add_model(parser)
    given = parser.add_mutually_exclusive_group(required=True)
    option(given, "text TEXT", "the text, or - for standard input", nargs="?")
    option(given, "--file FILE", "a text file, a text a line")
    add(
        "--beam K",
        "width of the beam search; 1, the default without --n-best, is greedy search",
        at_least(1, 1000),
    )
    add(
        "--n-best N",
        "show the N best translations of a beam search with their scores",
        at_least(1, 1000),
        1,
    )
    add(
        "--length-penalty A",
        "power of the length that a log-probability is divided by in a beam search (default "
        "1; 0 prefers short translations)",
        Number(float, low=0, high=100),
        1.0,
    )
    add(
        "--max-length T",
        "the most tokens of a translation, which is cut there",
        at_least(1, 100000),
        100,
    )
    add("--allow-unknown", "<unk> may be written like any other token", bool)
    add(
        "--attention FILE",
        "draw what the decoder looked at as it wrote the best translation of one text; the "
        "suffix chooses the format (.png, .pdf, .svg)",
        picture,
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the translations of every line."""
    from deepnlp.cli.models import load_model
    from deepnlp.generation import translate
    from deepnlp.models import Seq2Seq

    model = load_model(arguments.model, Seq2Seq)
    text = arguments.text
    if arguments.file is not None or text == "-":
        text = read_text(arguments.file or "-")
    if not text.strip():
        raise ValueError("there is no text to translate: what was given is empty")
    if arguments.beam is not None and arguments.n_best > arguments.beam:
        raise ValueError(f"--n-best {arguments.n_best} needs --beam {arguments.n_best} or more")
    texts = text.removesuffix("\n").split("\n")
    if arguments.attention is not None and len(texts) != 1:
        raise ValueError(f"--attention draws one text, got {len(texts)} lines")
    _tell_unknown(model, texts)
    found = translate(
        model,
        texts,
        beam=arguments.beam or arguments.n_best,
        n_best=arguments.n_best,
        length_penalty=arguments.length_penalty,
        max_length=arguments.max_length + 1,  # with the end
        allow_unknown=arguments.allow_unknown,
    )
    if arguments.json:
        lines = [
            {"source": source, "translations": [one._asdict() for one in translations]}
            for source, translations in zip(texts, found, strict=True)
        ]
        print_json({"lines": lines})
    else:
        for translations in found:
            if arguments.n_best == 1:
                print(translations[0].text)
            else:
                print("".join(f"{one.score:8.3f}  {one.text}\n" for one in translations))
    if arguments.attention is not None:
        _draw(model, texts[0], found[0][0].tokens, arguments)
    return 0


def _tell_unknown(model: "Seq2Seq", texts: list[str]) -> None:
    """Name the words that the model reads as ``<unk>``."""
    from deepnlp.generation.translating import vocabularies_of

    vocab, _ = vocabularies_of(model)
    tokens = (token for text in texts for token in vocab.tokenize(text))
    unknown = ", ".join(dict.fromkeys(token for token in tokens if token not in vocab))
    if unknown:
        print(f"not in the vocabulary, read as <unk>: {unknown}", file=sys.stderr)


def _draw(model: "Seq2Seq", text: str, tokens: list[str], arguments: argparse.Namespace) -> None:
    """Write the heat map of the attention."""
    from deepnlp.generation import align
    from deepnlp.plots import attention_map

    attention_map(*align(model, text, tokens), path=arguments.attention)
    print(f"attention: {arguments.attention}", file=aside(arguments))
