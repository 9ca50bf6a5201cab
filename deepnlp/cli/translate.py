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
from functools import partial

from deepnlp.cli.output import answer, aside
from deepnlp.cli.parser import Number, add_json, add_model, at_least, option, picture
from deepnlp.cli.texts import add_text, note_unknown, text_of


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    add = partial(option, parser)
    add_model(parser)
    add_text(parser, "a text")
    beam = "width of the beam search; 1, the default without --n-best, is greedy search"
    add("--beam K", beam, at_least(1, 1000))
    n_best = "show the N best translations of a beam search with their scores"
    add("--n-best N", n_best, at_least(1, 1000), 1)
    add(
        "--length-penalty A",
        "power of the length that a log-probability is divided by in a beam search (default "
        "1; 0 prefers short translations)",
        Number(float, low=0, high=100),
        1.0,
    )
    most = "the most tokens of a translation, which is cut there"
    add("--max-length T", most, at_least(1, 100000), 100)
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
    from deepnlp.generation import align, translate
    from deepnlp.generation.translating import vocabularies_of
    from deepnlp.models import Seq2Seq

    model = load_model(arguments.model, Seq2Seq)
    text = text_of(arguments)
    if not text.strip():
        raise ValueError("there is no text to translate: what was given is empty")
    if arguments.beam is not None and arguments.n_best > arguments.beam:
        raise ValueError(f"--n-best {arguments.n_best} needs --beam {arguments.n_best} or more")
    texts = text.removesuffix("\n").split("\n")
    if arguments.attention is not None and len(texts) != 1:
        raise ValueError(f"--attention draws one text, got {len(texts)} lines")
    vocab, _ = vocabularies_of(model)
    note_unknown(vocab, (token for line in texts for token in vocab.tokenize(line)))
    translations = translate(
        model,
        texts,
        beam=arguments.beam or arguments.n_best,
        n_best=arguments.n_best,
        length_penalty=arguments.length_penalty,
        max_length=arguments.max_length + 1,  # with the end
        allow_unknown=arguments.allow_unknown,
    )
    lines = [
        {"source": source, "translations": [translation._asdict() for translation in best]}
        for source, best in zip(texts, translations, strict=True)
    ]
    shown = [
        best[0].text
        if arguments.n_best == 1
        else "".join(f"{score:8.3f}  {text}\n" for text, _, _, score in best)
        for best in translations
    ]
    answer(arguments, {"lines": lines}, "\n".join(shown))
    if arguments.attention is not None:
        from deepnlp.plots import attention_map

        alignment = align(model, texts[0], translations[0][0].tokens)
        attention_map(*alignment, path=arguments.attention)
        print(f"attention: {arguments.attention}", file=aside(arguments))
    return 0
