# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lesson 4 · word2vec at speed
#
# **The question.** The models of lesson 3 spend nearly all of their time on the softmax, on
# probabilities of words that nobody asks for. How can they be trained on a real text, with ten
# thousand words, in seconds?
#
# The answer is another question. Instead of "which of the $V$ words is it?" the network is asked
# "is it this one?", once for the right word and a few times for words drawn at random. This is
# **negative sampling** (Mikolov et al. 2013). You write its parts, train word vectors on a real
# text and judge them. Then you tie the two matrices of the model, see it fail, find out why, and
# repair it.
#
# You need lesson 3; sections 3 and 5 refer to lesson 2.
#
# *Time.* To read and work: 90 minutes. To run from top to bottom: about two minutes, or some
# seconds with `DEEPNLP_LESSON=short`. To build it with its outputs:
# `python -m notebooks.build 04`.

# %%
import itertools
import time
from dataclasses import replace

import numpy as np

from deepnlp.backend.functions import softplus
from deepnlp.datasets import data_folder, load_analogies, load_corpus, load_similarity
from deepnlp.layers import (
    AffineSoftmaxWithLoss,
    Embedding,
    EmbeddingDot,
    NegativeSamplingLoss,
)
from deepnlp.lessons.exercises import check, short_form
from deepnlp.lessons.experiments import skipgram_tying
from deepnlp.lessons.figures import moving_window
from deepnlp.models import CBOW, SkipGram
from deepnlp.optimizers import AdaGrad
from deepnlp.plots import curves, embeddings
from deepnlp.tasks import Word2Vec
from deepnlp.vectors import WordVectors, evaluate_analogies, evaluate_similarity
from deepnlp.vectors.counting import cooccurrence, ppmi, svd_vectors

short = short_form()

# %% [markdown]
# The text is the Penn Treebank, newspaper English of 1989, where a folder with data is there
# (`DEEPNLP_DATA`, see `datasets/README.md`), and otherwise `pydocs`, the English that comes with
# Python.

# %%
try:
    corpus = load_corpus("ptb")
except FileNotFoundError:
    corpus = load_corpus("pydocs")
if short:
    corpus = replace(corpus, train=corpus.train[:20_000], valid=corpus.valid[:2_000])
tokens, V = corpus.vocab.tokens, len(corpus.vocab)
counts = np.bincount(corpus.train, minlength=V)
counts[corpus.vocab.eos_id] = 0  # the end of a line is no word
print(corpus.describe())

# %% [markdown]
# ## 1 Rows instead of a matrix
#
# The lookup touches a few rows of the embedding $(V, D)$, and its gradient is zero in all others.
# Lesson 3 added up a whole matrix $dE$ nevertheless. To fill ten thousand rows with zeros, and
# then to subtract them, takes longer than the lookup. So we keep the rows and their ids: the
# gradient is a list of different ids $(U,)$ with one row each, $(U, D)$.
#
# Merging the ids matters. `E[ids] -= lr * rows` is right if each id occurs once; of an id that
# occurs twice NumPy would apply only one of the two rows.
#
# ### Exercise 4.1 ★★ Rows instead of a matrix
#
# From ids $(n,)$ with repetitions and the gradients $dy$ $(n, D)$ of the rows that were looked up,
# return the ids that occur, each once and in any order, and their rows $(U, D)$. Do not build
# anything of size $V$, which you are not given. (`np.unique` has an option `return_inverse`.)


# %%
def rows_of_gradient(ids, dy): ...


check("4.1", rows_of_gradient)


# %% [markdown]
# The package's `Embedding` does this inside: its gradient stays sparse, and the optimizer updates
# those rows only.

# %%
ids, dy = np.array([4, 1, 4, 0]), np.arange(8.0).reshape(4, 2)
embed = Embedding(np.zeros((6, 2)))
embed.forward(ids)
embed.backward(dy)
print("rows 0, 1 and 4 of dE:", embed.W.grad[[0, 1, 4]].tolist())

# %% [markdown]
# ## 2 Yes or no
#
# Take a centre with hidden vector $h$ and one word $j$. Is $j$ really in the window, or was it
# drawn at random? That is a choice between two classes, and for it one score and a sigmoid
# suffice:
#
# $$ s_j = h \cdot w_j, \qquad P(\text{yes}) = \sigma(s_j), \qquad
#    P(\text{no}) = 1 - \sigma(s_j) = \sigma(-s_j). $$
#
# Here $w_j$ is a vector of the output. Now that single words are looked up on the output side too,
# we store the matrix with one *row* per word, $W$ of shape $(V, D)$. Only the rows of the words in
# question are touched, forward and backward.
#
# ### Exercise 4.2 ★★ A few scores
#
# Write the layer: `forward(h, ids)` takes $h$ $(N, D)$ and ids $(N, K)$ and gives
# $s_{nk} = h_n \cdot W_{\mathrm{id}_{nk}}$; `backward(ds)` returns $dh$ and sets `self.dW`
# $(V, D)$.


# %%
class MyEmbeddingDot:
    def __init__(self, W):
        self.W, self.dW = W, None

    def forward(self, h, ids): ...

    def backward(self, ds): ...


check("4.2", MyEmbeddingDot)


# %% [markdown]
# If there were only true pairs, the network would soon say yes to everything. So each pair comes
# with $K$ **negatives**, words $z_1 \dots z_K$ drawn from a noise distribution, for which the
# right answer is no:
#
# $$ L = -\frac{1}{N} \sum_n \Big( \log \sigma(s_n) + \sum_{k=1}^{K} \log \sigma(-s_{nk}) \Big). $$
#
# With the softmax one learns by comparison with all other words, here with a handful. The gradient
# is again guess minus truth, with truth 1 for the pair and 0 for a negative. The function
# $-\log \sigma(-s) = \log(1 + e^s)$ is called **softplus**.
#
# ### Exercise 4.3 ★★★ The loss of yes and no
#
# From the scores $s$ $(N,)$ of the pairs and $s_\mathrm{neg}$ $(N, K)$ of the negatives return the
# loss and the gradients $ds$ $(N,)$ and $ds_\mathrm{neg}$ $(N, K)$. Scores of $\pm 800$ should do
# no harm (`np.logaddexp(a, b)` is $\log(e^a + e^b)$ without overflow).


# %%
def negative_sampling(s, s_neg): ...


check("4.3", negative_sampling)


# %% [markdown]
# The package has both, as `EmbeddingDot` and, with the loss, as `NegativeSamplingLoss`:

# %%
rng = np.random.default_rng(0)
W, h = rng.standard_normal((9, 4)), rng.standard_normal((3, 4))
targets, negatives = np.array([2, 0, 5]), np.array([[1, 3], [7, 7], [8, 2]])
s = EmbeddingDot(W).forward(h, np.column_stack([targets, negatives]))  # (3, 1 + 2)
by_formula = np.mean(softplus(-s[:, 0]) + softplus(s[:, 1:]).sum(axis=1))
np.testing.assert_allclose(NegativeSamplingLoss(W).forward(h, targets, negatives), by_formula)

# %% [markdown]
# What has been gained? Here is one step of the output layer, forward and backward, for 1,000 pairs
# and $D = 100$, with five negatives.


# %%
def milliseconds(V, N=1000, D=100, K=5):
    """Time of one step of softmax and of negative sampling, in float32."""
    rng = np.random.default_rng(0)
    W = rng.standard_normal((V, D), "float32")
    h, some = rng.standard_normal((N, D), "float32"), rng.integers(V, size=(N, 1 + K))
    softmax, sampled = AffineSoftmaxWithLoss(W.T.copy()), NegativeSamplingLoss(W)
    shortest = [np.inf, np.inf]  # what disturbs a step only makes it longer
    for turn in range(20 if short else 80):  # in turn, so that both meet the same disturbances
        begun = time.perf_counter()
        if turn % 10 == 0:
            softmax.forward(h, some[:, 0])
            softmax.zero_grad()
            softmax.backward()
        else:
            sampled.forward(h, some[:, 0], some[:, 1:])
            sampled.zero_grad()
            sampled.backward()
        place = int(turn % 10 > 0)
        shortest[place] = min(shortest[place], 1000 * (time.perf_counter() - begun))
    return shortest


sizes = [1000, 3000] if short else [1000, 3000, 10_000, 30_000]
times = np.array([milliseconds(size) for size in sizes])
ratio = times[-1, 0] / times[-1, 1]
curves(
    {"softmax": (sizes, times[:, 0]), "5 negatives": (sizes, times[:, 1])},
    title=f"With {sizes[-1]:,} words the softmax takes {ratio:.0f} times as long as five negatives",
    xlabel="V, words in the vocabulary",
    ylabel="milliseconds per step of 1,000 pairs",
    logx=True,
    logy=True,
)

# %% [markdown]
# (In small vocabularies the 6,000 ids of a step are more than there are words. There the package
# adds up the whole matrix after all, and five negatives take longer.)
#
# ## 3 The noise
#
# From which distribution should negatives be drawn? By frequency, the network practises mostly on
# *the* and *of*; with all words alike, mostly on words it hardly ever sees. Mikolov et al. found
# by trial that counts to the power 3/4 work best, a compromise that helps rare words a little:
#
# $$ q_j = \frac{n_j^{3/4}}{\sum_k n_k^{3/4}}. $$
#
# ### Exercise 4.4 ★ The noise
#
# Return $q$ for counts $(V,)$ and a power. A word that never occurs has probability 0.


# %%
def noise(counts, power): ...


check("4.4", noise)


# %%
ranked = np.sort(counts)[::-1]
ranked = ranked[ranked > 0]
ranks = np.unique(np.geomspace(1, len(ranked), 200).astype(int))
curves(
    {
        f"power {power}": (ranks, 100 * ranked[ranks - 1] ** power / np.sum(ranked**power))
        for power in (1.0, 0.75, 0.0)
    },
    title=f"The power 0.75 takes the most frequent word from {ranked[0] / ranked.sum():.1%} of the "
    f"noise to {ranked[0] ** 0.75 / np.sum(ranked**0.75):.1%}",
    xlabel="rank of the word by frequency",
    ylabel="probability as a negative (%)",
    logx=True,
    logy=True,
)

# %% [markdown]
# A negative that happens to be the target would be told yes and no at once. One can draw again
# until it is another word, or leave it out of the loss, as `NegativeSamplingLoss` does.
#
# ### Exercise 4.5 ★★ Never the target
#
# Draw negatives $(N, K)$ from $p$ $(V,)$, none of them the target of its row, with the other words
# in proportion to $p$. `rng.choice(V, size=..., p=p)` draws as many as you like at once.


# %%
def draw_negatives(p, targets, K, rng): ...


check("4.5", draw_negatives)


# %% [markdown]
# ### The best scores
#
# Lesson 3 found that the softmax pulls its probabilities towards the observed ones. And here?
# Collect the terms of one pair $(i, j)$. It occurs $N_{ij}$ times with the answer yes. Centre $i$
# occurs in $N_i = \sum_j N_{ij}$ pairs, each with $K$ negatives, so $j$ comes up $K N_i q_j$ times
# with the answer no, on average. If nothing else depended on the score $s_{ij}$, it would minimise
#
# $$ N_{ij}\, \mathrm{softplus}(-s_{ij}) + K N_i q_j\, \mathrm{softplus}(s_{ij}). $$
#
# ### Exercise 4.6 ★★★ What the scores tend to
#
# Return the matrix of the best scores, from counts $N$ $(V, V)$, all above 0, the noise $q$ $(V,)$
# and $K$. (Set the derivative to zero; softplus has derivative $\sigma$.)


# %%
def best_scores(counts, noise, K): ...


check("4.6", best_scores)


# %% [markdown]
# If the noise is the frequency itself, this is the pointwise mutual information of lesson 2, less
# $\log K$ (put $p(j \mid i) = N_{ij} / N_i$ into the answer). So
# skip-gram with negative sampling approximates a matrix of PMI, shifted by $\log K$, by a product
# of rank $D$ (Levy and Goldberg 2014). Note the shift: two words that have nothing to do with each
# other should get the score $-\log K$, below zero. We need this in section 6.
#
# ## 4 Windows
#
# Two more tricks of word2vec concern the text. First, each window has a **reach** of its own,
# drawn from $1 \dots w$. A near neighbour is then a target more often than a far one.

# %%
lines = np.flatnonzero(corpus.train == corpus.vocab.eos_id)
start = next(a for a, b in itertools.pairwise(lines) if b - a > 12 and a > lines[20]) + 1
sentence = [tokens[k] for k in corpus.train[start : start + 11]]
moving_window(sentence, [2, 1, 4], [2, 3, 4], title="Windows with reach 2, 1 and 4", arrows="out")

# %% [markdown]
# ### Exercise 4.7 ★★ Windows of any reach
#
# Return all pairs (centre, context word) of a text `ids`, for given `reaches`, one for each
# centre, as a list of tuples or an array $(P, 2)$, in any order. Windows are cut off at the ends
# of the text.


# %%
def pairs(ids, reaches): ...


check("4.7", pairs)


# %% [markdown]
# Second, **subsampling**. The most frequent words are near everything and say little, but most
# pairs contain them. An occurrence of a word with frequency $f$ is kept with probability
# $\min(1, \sqrt{t / f} + t / f)$, $t = 0.001$ or less; what is left out is removed from the text
# before the windows are laid, so that these reach further.

# %%
f = counts / counts.sum()
keep = np.minimum(1, np.sqrt(1e-3 / np.maximum(f, 1e-12)) + 1e-3 / np.maximum(f, 1e-12))
for k in np.argsort(-counts)[[0, 1, 5, 20, 100, 500]]:
    print(f"{tokens[k]:>12}: {f[k]:8.3%} of the words, kept with probability {keep[k]:.2f}")
print(f"of all words {np.sum(f * keep):.0%} are kept")

# %% [markdown]
# ## 5 Training on a real text
#
# The models `CBOW` and `SkipGram` of the package are made of the layers you have written, and the
# task `Word2Vec` makes their batches, with one change for speed. Small inner products waste a
# processor's time; matrix products do not. So a batch holds blocks of running text, 16 centres
# each, and the centres of a block share their negatives. The scores of a block with its words are
# then one product of matrices.
#
# A step of training is the one you know. The optimizer AdaGrad divides each number's step by the
# root of the sum of its squared gradients so far, so that rows of rare words take larger steps.

# %%
task = Word2Vec(corpus)
print({name: array.shape for name, array in task.batches(0)[0]._asdict().items()})
epochs = 1 if short else 3


def train(kind, tie="none"):
    """A model, and the validation loss before training and after each epoch."""
    model = kind(V, 16 if short else 100, tie=tie, rng=np.random.default_rng(0))
    optimizer = AdaGrad(model.parameters(), lr=0.2)
    history = [task.evaluate(model)["loss"]]
    for epoch in range(epochs):
        for batch in task.batches(epoch):
            model.forward(*batch)
            model.zero_grad()
            model.backward()
            optimizer.step()
        history.append(task.evaluate(model)["loss"])
    return model, history


begun = time.perf_counter()
models, losses = {}, {}
models["skip-gram"], losses["skip-gram"] = train(SkipGram)
speed = epochs * len(corpus.train) / (time.perf_counter() - begun)
models["CBOW"], losses["CBOW"] = train(CBOW)
print(f"skip-gram: {speed:,.0f} words per second;", {k: round(v[-1], 3) for k, v in losses.items()})

# %% [markdown]
# Before training all scores are close to zero, each answer has probability one half, and a pair
# with its five negatives costs $6 \log 2$, about 4.16<!--= 6 * np.log(2) --> nats. `WordVectors`
# holds words and rows together and finds neighbours by cosine.

# %%
vectors = {name: WordVectors(tokens, model.vectors()) for name, model in models.items()}
asked = {"ptb": ["stock", "president", "year", "japan"], "pydocs": ["function", "string", "file"]}
for word in asked[corpus.name]:
    for name, found in vectors.items():
        near = ", ".join(other for other, _ in found.neighbours(word, 5))
        print(f"{word:>10}, {name:>9}: {near}")

# %%
groups = {
    "ptb": {
        "months": ["january", "march", "june", "august", "october", "november"],
        "family names": ["bush", "reagan", "gorbachev", "thatcher"],
        "money": ["dollar", "yen", "mark", "pound"],
        "places": ["japan", "germany", "europe", "california", "texas"],
        "verbs": ["rose", "fell", "climbed", "dropped", "gained"],
    },
    "pydocs": {
        "types": ["string", "integer", "list", "tuple", "dictionary"],
        "verbs": ["returns", "raises", "reads", "writes", "creates"],
        "files": ["file", "directory", "path", "stream", "socket"],
    },
}[corpus.name]
shown = {name: [w for w in group if w in vectors["skip-gram"]] for name, group in groups.items()}
embeddings(
    shown,
    {word: vectors["skip-gram"][word] for group in shown.values() for word in group},
    title="Skip-gram's vectors in the two directions in which these words differ most",
)

# %% [markdown]
# ### Are they good?
#
# As in lesson 2 we ask for **similarity**, the agreement of cosines with the ratings of people,
# and for **analogies**. A pair of words counts only where both have a vector, so that $\rho$
# without its **coverage** says little. To compare: the vectors of lesson 2, PPMI and SVD, from the
# same text and of the same size, and a cut of GloVe, trained on six billion words (Pennington,
# Socher and Manning 2014).

# %%
table = ppmi(cooccurrence(corpus.train, V, window=5, sentence_end=corpus.vocab.eos_id))
vectors["counting"] = WordVectors(tokens, svd_vectors(table, 16 if short else 100))
try:
    ratings = [load_similarity(name) for name in ("men", "wordsim353", "simlex")]
    questions = load_analogies("google")
    glove = data_folder() / "glove" / "glove.6B.50d.subset9336.txt.gz"
    vectors["GloVe, 50 numbers"] = WordVectors.load(glove)
except FileNotFoundError as missing:
    ratings, questions = [], None
    print(f"{missing}\nThe lesson goes on without the tests.")


def judge(found):
    """One line for each similarity file: rho with its 95 % interval, and the pairs covered."""
    for score in (evaluate_similarity(found, pairs) for pairs in ratings):
        low, high = score.interval
        print(
            f"    {score.name:>10}: rho {score.rho:5.2f} ({low:.2f} to {high:.2f}), "
            f"{score.covered} of {score.total} pairs"
        )


for name, found in vectors.items() if questions else ():
    print(name)
    judge(found)
    score = evaluate_analogies(found, questions).total
    print(
        f"     analogies: {score.correct} right of {score.covered}, {score.total} questions in all"
    )

# %% [markdown]
# GloVe is far ahead<!--= all(evaluate_similarity(vectors["GloVe, 50 numbers"], p).rho > max(
# evaluate_similarity(v, p).rho for k, v in vectors.items() if k[:5] != "GloVe") for p in ratings)
# -->: a million words of financial news are not enough for good vectors of general English. With so
# little text counting does better than predicting, too<!--=
# all(evaluate_similarity(vectors["counting"], p).rho > max(evaluate_similarity( vectors[k], p).rho
# for k in ("skip-gram", "CBOW")) for p in ratings) -->, and most of what remains lies within the
# intervals. On the Penn Treebank the loss on held-out text and a look at the neighbours tell more
# about the models of this lesson than these tests.
#
# ## 6 One matrix for both sides
#
# Half of the model's numbers are thrown away after training. Why not use one matrix for both
# sides, $W = E$? In language models **tying** saves half of the words' numbers and improves the
# model (Press and Wolf 2017; lesson 7). Gulordava, Aina and Boleda (2018) tried it for word2vec,
# plain and with one small matrix $L$ $(D, D)$ between: $s_{ij} = e_i L e_j^\top$.

# %%
for tie in ("tied", "tied+L"):
    models[tie], losses[tie] = train(SkipGram, tie)
steps = np.arange(epochs + 1)
names = {"skip-gram": "two matrices", "tied": "tied", "tied+L": "tied with L"}
curves(
    {text: (steps, losses[name]) for name, text in names.items()},
    title=f"Tied, skip-gram learns next to nothing: {losses['tied'][-1]:.2f} nats; with L "
    f"{losses['tied+L'][-1]:.2f}",
    xlabel="epoch",
    ylabel="validation loss (nats per pair)",
    levels={"all scores 0": 6 * np.log(2)},
)

# %%
for name, text in names.items():
    print(f"{text:>12}: {models[name].size():,} numbers, loss {losses[name][-1]:.3f}")
    judge(WordVectors(tokens, models[name].vectors()))

# %% [markdown]
# ### Why?
#
# Tied, the matrix of all scores is $S = E E^\top$. Such a matrix is **positive semi-definite**:
# for any vector $a$,
#
# $$ a S a^\top = \sum_{ij} a_i a_j\, e_i \cdot e_j
#    = \Big\lVert \sum_i a_i e_i \Big\rVert^2 \ge 0. $$
#
# Put the frequencies of words for $a$: the sum becomes the mean score of two words drawn at
# random, and it cannot be negative. But nearly all pairs of words have nothing to do with each
# other, and by section 3 their scores should be near $-\log K$. On average, a tied model cannot
# answer no.
#
# ### Exercise 4.8 ★★★ The least that a tied model pays
#
# Let centres and negatives be drawn from the same distribution. What is the least that the $K$
# negatives of a pair cost a tied model on average, in nats? Return a function of $K$. (Softplus is
# convex, so its mean is not below the softplus of the mean.)


# %%
def least(K): ...


check("4.8", least)


# %% [markdown]
# (The noise is not quite the distribution of the centres, so the bound holds nearly.) Here are the
# mean scores of the trained models, for centres drawn by frequency and negatives from the noise,
# and the share of the hundred most frequent words that have a negative score beside themselves.

# %%
q = counts**0.75 / np.sum(counts**0.75)
for name, text in names.items():
    H, W = models[name].vectors(), models[name].vectors("output")
    if name == "tied+L":
        H = H @ models[name].project.W.value
    mean, itself = round(f @ H @ (q @ W), 2) + 0.0, np.sum(H * W, axis=1)[np.argsort(-counts)[:100]]
    print(
        f"{text:>12}: random pair {mean:6.2f}, negative beside themselves {np.mean(itself < 0):.0%}"
    )
print(f"{'best':>12}: unrelated pair {-np.log(5):6.2f}")

# %% [markdown]
# The last column shows another consequence. With $a_i = 1$ and all others 0,
# $s_{ii} = \lVert e_i \rVert^2 \ge 0$. So a tied model gives every word a probability of one half
# or more beside itself, where the other models find scores below zero for many words. The full
# softmax does not help. There only differences within a row count, so scores may be negative as a
# whole, but $a = (1, -1)$ on two words gives $s_{ii} + s_{jj} \ge 2 s_{ij}$, and therefore
#
# $$ p(i \mid i)\, p(j \mid j) \ge p(j \mid i)\, p(i \mid j) $$
#
# for all words. More dimensions do not help either: any positive semi-definite matrix is
# $E E^\top$ for some $E$ with $D = V$, and no other matrix is. In a toy of 30 words, in which
# words of one kind avoid each other, we know the true distribution and can measure how far a
# softmax skip-gram stays from it:

# %%
config = skipgram_tying.Config(worlds=1, sizes=(4, 30), steps=200) if short else None
outcome = skipgram_tying.run(config or skipgram_tying.Config())
outcome.figure()

# %% [markdown]
# ### What L does
#
# With $L$ the scores are $E L E^\top$, and $L$ may have negative eigenvalues. Along such a
# direction, words that are alike repel each other. With $D = V$ any matrix of scores is possible,
# for $D^2$ numbers more.
#
# ### Exercise 4.9 ★★ What L can do
#
# Two words have the vectors $(1, 1)$ and $(1, -1)$. Find an $L$ $(2, 2)$ such that both expect the
# other and not themselves: in $E L E^\top$ the diagonal is negative and the other two scores are
# positive.

# %%
my_L = ...
check("4.9", my_L)

# %% [markdown]
# Is that what training finds? The eigenvalues of the symmetric part of the $L$ that was learned on
# the text:

# %%
L = models["tied+L"].project.W.value
eigenvalues = np.linalg.eigvalsh((L + L.T) / 2)
print(
    f"{np.sum(eigenvalues < 0)} of {len(L)} eigenvalues are negative, "
    f"from {eigenvalues[0]:.2f} to {eigenvalues[-1]:.2f}"
)

# %% [markdown]
# ## What to read next
#
# * **In this project**: `deepnlp/layers/negative_sampling.py` and `deepnlp/models/word2vec.py`;
#   `deepnlp train --task vectors` trains vectors, `deepnlp vectors` asks them;
#   `deepnlp demo skipgram-tying`. `chapters/ch04_word2vec_at_speed/` has the experiments at full
#   size.
# * Mikolov, Sutskever, Chen, Corrado and Dean, *Distributed representations of words and phrases
#   and their compositionality* (2013): negative sampling, subsampling, the noise.
# * Levy and Goldberg, *Neural word embedding as implicit matrix factorization* (2014). Gulordava,
#   Aina and Boleda, *How to represent a word and predict it, too* (2018).
# * **Next here**: lesson 5, where a network reads the words one after the other.
