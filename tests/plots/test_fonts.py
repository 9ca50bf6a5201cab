"""Words of other scripts are drawn with a font that has them, or one sentence says what to do."""

import numpy as np
import pytest

from deepnlp.plots import attention_map, embeddings, surprisal_text
from deepnlp.plots.fonts import families_for

IN_STIX = "Ⓐⓑ"  # letters of a font that matplotlib brings, and its default font lacks
NOWHERE = "\U000106a0"  # Linear A, of which no usual font has a letter
DRAW = {
    "attention": lambda words, path: attention_map(words, words, np.eye(3), path=path),
    "map": lambda words, path: embeddings(
        {"a": words}, {w: [k, 1.0 - k] for k, w in enumerate(words)}, title="", path=path
    ),
    "text": lambda words, path: surprisal_text(words, [1.0, 2.0, 3.0], path=path),
}


def test_letters_of_the_default_font_need_no_other():
    assert families_for(frozenset("aäЖα")) == families_for(frozenset())


def test_a_font_is_chosen_that_has_the_letters():
    assert "STIXGeneral" in families_for(frozenset(IN_STIX))


@pytest.mark.parametrize("kind", DRAW)
def test_no_warning_of_matplotlib_is_seen(kind, tmp_path, capsys):
    families_for.cache_clear()
    DRAW[kind]([NOWHERE, IN_STIX, "c"], tmp_path / "a.png")
    DRAW[kind](["plain", NOWHERE, "c"], tmp_path / "b.png")
    told = capsys.readouterr().err
    assert told.count("note: no font has") <= 2
    assert "LINEAR" in told
    assert "Glyph" not in told
