"""gensim: word2vec trained on the same lines, with the same options."""

from __future__ import annotations

import time
from itertools import groupby

from benchmarks.contestant import Answer
from benchmarks.settings import Spec
from benchmarks.similarity import fresh_seed, spearman
from deepnlp.datasets import load_corpus
from deepnlp.vectors import WordVectors


def run(spec: Spec) -> Answer:
    """Words per second of all epochs, and Spearman's rho.

    Parameters
    ----------
    spec : Spec
        The model, the corpus, the size of the vectors, the window, the negatives, the epochs; as
        many workers as there are threads.
    """
    from gensim.models import Word2Vec

    corpus = load_corpus(str(spec.options["corpus"]))
    eos = corpus.vocab.eos_id
    tokens = corpus.vocab.tokens
    lines = [
        [tokens[id_] for id_ in line]
        for is_end, line in groupby(corpus.train.tolist(), lambda id_: id_ == eos)
        if not is_end
    ]
    epochs = spec.number("epochs")
    model = Word2Vec(
        vector_size=spec.number("embed_size"),
        window=spec.number("window"),
        negative=spec.number("negatives"),
        sg=int(spec.options["model"] == "skipgram"),
        workers=spec.threads,
        min_count=1,
        sample=1e-3,
        alpha=float(spec.options.get("alpha", 0.025)),
        seed=fresh_seed(),
    )
    model.build_vocab(lines)
    start = time.perf_counter()
    model.train(lines, total_examples=len(lines), epochs=epochs)
    seconds = time.perf_counter() - start
    words = epochs * sum(map(len, lines))
    vectors = WordVectors(model.wv.index_to_key, model.wv.vectors)
    return {"training": {"words_per_s": words / seconds, **spearman(vectors)}}
