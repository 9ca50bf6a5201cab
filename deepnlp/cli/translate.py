"""``deepnlp translate``: what a sequence-to-sequence model writes, given a text.

Each line is a text of its own, and its translation is a line. With --n-best each translation stands
behind its score, the log-probability divided by a power of the length, and a blank line follows the
last one of a text.

examples:
  deepnlp translate dates "AUG 19, 2003"                    a model that comes with deepnlp
  deepnlp translate runs/dates "AUG 19, 2003"
  deepnlp translate runs/en-es --file letter.txt --beam 5
  echo "Where is the library?" | deepnlp translate runs/en-es -
  deepnlp translate runs/en-es "Where is the library?" --beam 5 --n-best 3
  deepnlp translate runs/dates "AUG 19, 2003" --attention attention.png
"""

from collections.abc import Sequence
from typing import Annotated

from deepnlp.cli.models import load_model
from deepnlp.cli.shared import Answer, Flag, Model, Picture, TextFile, note_unknown, text_of
from deepnlp.generation import align
from deepnlp.generation import translate as translate_texts
from deepnlp.generation.translating import vocabularies_of
from deepnlp.models import Seq2Seq
from deepnlp.options import Option

Texts = Annotated[Sequence[str], Option(metavar="TEXT", either="text")]


def run(
    model: Model,
    text: Texts = (),
    *,
    file: TextFile = None,
    beam: Annotated[int | None, Option(metavar="K", low=1, high=1000)] = None,
    n_best: Annotated[int, Option(low=1, high=1000)] = 1,
    length_penalty: Annotated[float, Option(metavar="A", low=0, high=100)] = 1.0,
    max_length: Annotated[int, Option(metavar="T", low=1, high=100_000)] = 100,
    allow_unknown: Flag = False,
    attention: Picture = None,
) -> Answer:
    """Print the translations of every line.

    Parameters
    ----------
    text : sequence of str, optional
        the texts, or - for standard input.
    file : str, optional
        a text file, a text a line.
    beam : int, optional
        width of the beam search; 1, the default without --n-best, is greedy search.
    n_best : int
        show the N best translations of a beam search with their scores.
    length_penalty : float
        power of the length that a log-probability is divided by in a beam search; 0 prefers short
        translations.
    max_length : int
        the most tokens of a translation, which is cut there.
    allow_unknown : bool
        <unk> may be written like any other token.
    attention : str, optional
        draw what the decoder looked at as it wrote the best translation of one text; the suffix
        chooses the format (.png, .pdf, .svg).
    """
    loaded = load_model(model, Seq2Seq)
    given = "\n".join(text_of(each, None) for each in text) if text else text_of(None, file)
    if not given.strip():
        raise ValueError("there is no text to translate: what was given is empty")
    if beam is not None and n_best > beam:
        raise ValueError(f"--n-best {n_best} needs --beam {n_best} or more")
    texts = given.removesuffix("\n").split("\n")
    if attention is not None and len(texts) != 1:
        raise ValueError(f"--attention draws one text, got {len(texts)} lines")
    vocab, _ = vocabularies_of(loaded)
    note_unknown(vocab, (token for line in texts for token in vocab.tokenize(line)))
    translations = translate_texts(
        loaded,
        texts,
        beam=beam or n_best,
        n_best=n_best,
        length_penalty=length_penalty,
        max_length=max_length + 1,  # with the end
        allow_unknown=allow_unknown,
    )
    lines = [
        {"source": source, "translations": [translation._asdict() for translation in best]}
        for source, best in zip(texts, translations, strict=True)
    ]
    shown = [
        best[0].text
        if n_best == 1
        else "".join(f"{score:8.3f}  {text}\n" for text, _, _, score in best)
        for best in translations
    ]
    if attention is not None:
        from deepnlp.plots import attention_map

        attention_map(*align(loaded, texts[0], translations[0][0].tokens), path=attention)
        shown.append(f"attention: {attention}")
    return Answer({"lines": lines}, "\n".join(shown))
