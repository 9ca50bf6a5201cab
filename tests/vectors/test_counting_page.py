"""The page that compares counting with word2vec is what its committed results say."""

import json

from tests.lessons.test_chapters import CHAPTERS, load

RESULTS = CHAPTERS.parent / "docs" / "results"


def test_the_page_is_written_from_its_results():
    script = load(CHAPTERS / "ch02_counting_words" / "against_word2vec.py")
    found = json.loads((RESULTS / f"{script.NAME}.json").read_text(encoding="utf-8"))
    assert (RESULTS / f"{script.NAME}.md").read_text(encoding="utf-8") == script.page(found)
    assert list(found["corpora"]) == ["ptb", "wikitext-2"]
    for one in found["corpora"].values():
        kinds = {method.partition(",")[0] for method in one["methods"]}
        assert kinds == {"PPMI + SVD", "CBOW", "skip-gram"}
