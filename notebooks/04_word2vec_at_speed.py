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
# text and judge them. Then you tie the two matrices of the model, see it fail, find out how much
# of the failure is one missing constant, and what more a small matrix can do.
#
# You need lesson 3; sections 3 and 5 refer to lesson 2.
#
# *Time.* Core: 90 minutes, 4 of them for running; further: 105 more. What is marked *further* can
# be skipped, but let its cells run. With `DEEPNLP_LESSON=short` all run in seconds.

# %%
import itertools
import time
from dataclasses import replace

import numpy as np

from deepnlp.backend.functions import softplus
from deepnlp.datasets import data_folder, load_analogies, load_corpus, load_similarity
from deepnlp.demos import skipgram_tying
from deepnlp.layers import (
    AffineSoftmaxWithLoss,
    Embedding,
    EmbeddingDot,
    NegativeSamplingLoss,
)
from deepnlp.lessons.exercises import check, short_form
from deepnlp.models import CBOW, SkipGram
from deepnlp.optimizers import SGD, AdaGrad
from deepnlp.plots import curves
from deepnlp.tasks import Word2Vec
from deepnlp.vectors import WordPairs, WordVectors, evaluate_analogies, evaluate_similarity
from deepnlp.vectors.counting import cooccurrence, ppmi, svd_vectors
from material.figures import moving_window

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
# ### Exercise 4.3 ★★★ The loss of yes and no · further
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
# adds up the whole matrix after all, and five negatives save little or nothing.)
#
# ## 3 The noise
#
# From which distribution should negatives be drawn? By frequency, the network practises mostly on
# *the* and *of*; with all words alike, mostly on words it hardly ever sees. Mikolov et al. found
# by trial that counts to the power 3/4 work best, a compromise that helps rare words a little:
#
# $$ q_j = \frac{n_j^{3/4}}{\sum_k n_k^{3/4}}. $$
#
# ### Exercise 4.4 ★ The noise · further
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
# in proportion to $p$. A word may occur twice in a row. `rng.choice(V, size=..., p=p)` draws as
# many as you like at once.


# %%
def draw_negatives(p, targets, K, rng): ...


check("4.5", draw_negatives)


# %% [markdown]
# ### The best scores · further
#
# Lesson 3 found that the softmax pulls its probabilities towards the observed ones. And here?
# Collect the terms of one pair $(i, j)$. It occurs $N_{ij}$ times with the answer yes. Centre $i$
# occurs in $N_i = \sum_j N_{ij}$ pairs, each with $K$ negatives, so $j$ comes up $K N_i q_j$ times
# with the answer no, on average. If nothing else depended on the score $s_{ij}$, it would minimise
#
# $$ N_{ij}\, \mathrm{softplus}(-s_{ij}) + K N_i q_j\, \mathrm{softplus}(s_{ij}). $$
#
# ### Exercise 4.6 ★★★ What the scores tend to · further
#
# Return the matrix of the best scores, from counts $N$ $(V, V)$, all above 0, the noise $q$ $(V,)$
# and $K$. (Set the derivative to zero; softplus has derivative $\sigma$.)


# %%
def best_scores(counts, noise, K): ...


check("4.6", best_scores)


# %% [markdown]
# If the noise is the frequency itself, this is the pointwise mutual information of lesson 2, less
# $\log K$ (put $p(j \mid i) = N_{ij} / N_i$ into the answer). So skip-gram with negative sampling
# approximates a matrix of PMI, shifted by $\log K$, by a product of rank $D$ (Levy and Goldberg
# 2014). Note the shift: two words that have nothing to do with each other should get the score
# $-\log K$, below zero. We need this in section 6.
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
# ### Exercise 4.7 ★★ Windows of any reach · further
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
# $\min(1, \sqrt{t / f} + t / f)$ with $t = 0.001$. This is the rule of the word2vec program; the
# paper has $\sqrt{t / f}$ alone, with $t = 10^{-5}$. What is left out is removed from the text
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
# task `Word2Vec` makes their batches, with one change for speed. A processor computes one large
# product of matrices much faster than many inner products. So a batch holds blocks of running
# text, 16 centres each, and the centres of a block share eight negatives, each of which counts
# 5/8, so that they stand for five.
#
# The optimizer is plain gradient descent, as in the word2vec program, with a rate that falls
# linearly to 0. The loss is a mean over the pairs of a batch, about six thousand, so that a rate
# of 150 is a step of 0.025 for each pair. How long should one train? Here are 3, 10 and 30 epochs.

# %%
task = Word2Vec(corpus)
print({name: array.shape for name, array in task.batches(0)[0]._asdict().items()})


def train(model, optimizer, epochs):
    """The validation loss before training and after each epoch, at a rate that falls to 0."""
    history, rate, steps = [task.evaluate(model)["loss"]], optimizer.lr, len(task.batches(0))
    for epoch in range(epochs):
        for step, batch in enumerate(task.batches(epoch)):
            optimizer.lr = rate * (1 - (epoch + step / steps) / epochs)
            model.forward(*batch)
            model.zero_grad()
            model.backward()
            optimizer.step()
        history.append(task.evaluate(model)["loss"])
    return history


vectors = {}
for name, kind, epochs in [("skip-gram", SkipGram, n) for n in (3, 10, 30)] + [("CBOW", CBOW, 10)]:
    model = kind(V, 16 if short else 100, rng=np.random.default_rng(0))
    begun = time.perf_counter()
    loss = train(model, SGD(model.parameters(), lr=150), 1 if short else epochs)
    speed = (len(loss) - 1) * len(corpus.train) / (time.perf_counter() - begun)
    vectors[f"{name}, {epochs} epochs"] = WordVectors(tokens, model.vectors())
    print(f"{name}, {epochs} epochs: loss {loss[-1]:.2f}, {speed:,.0f} words a second")

# %% [markdown]
# Before training all scores are close to zero, each answer has probability one half, and a pair
# with its five negatives costs $6 \log 2$, about 4.16<!--= 6 * np.log(2) --> nats. `WordVectors`
# holds words and rows together and finds neighbours by cosine.

# %%
asked = {"ptb": ["stock", "president", "year", "japan"], "pydocs": ["function", "string", "file"]}
for word in asked[corpus.name]:
    for name, found in list(vectors.items())[2:]:
        near = ", ".join(other for other, _ in found.neighbours(word, 5))
        print(f"{word:>10}, {name:>9}: {near}")

# %% [markdown]
# ### Are they good?
#
# As in lesson 2 we ask for **similarity**, the agreement of cosines with the ratings of people,
# and for **analogies**. A pair of words counts only where both have a vector, so that $\rho$
# without its **coverage** says little. To compare: the vectors of lesson 2, PPMI and SVD, from the
# same text and of the same size, and a cut of GloVe, trained on six billion words (Pennington,
# Socher and Manning 2014). The intervals (lesson 2, section 7) are of 95 %.

# %%
table = ppmi(cooccurrence(corpus.train, V, window=5, sentence_end=corpus.vocab.eos_id))
vectors["counting"] = WordVectors(tokens, svd_vectors(table, 16 if short else 100))
try:
    ratings = [load_similarity(name) for name in ("men", "wordsim353", "simlex")]
    questions = load_analogies("google")
    glove = data_folder() / "glove" / "glove.6B.50d.subset9336.txt.gz"
    vectors["GloVe"] = WordVectors.load(glove)
except FileNotFoundError as missing:
    ratings, questions = [], None
    print(f"{missing}\nThe lesson goes on without the tests.")


SETS = ("men", "wordsim353", "simlex")


def judge(found, among=None):
    """Rho by similarity file, shown with its 95 % interval and the pairs covered."""
    scores = [evaluate_similarity(found, pairs) for pairs in among or ratings]
    for score in scores:
        text = "    {}: {:.2f} ({:.2f} to {:.2f}), {} of {} pairs".format
        print(text(score.name, score.rho, *score.interval, score.covered, score.total))
    return dict.fromkeys(SETS, np.nan) | {score.name: score.rho for score in scores}


rhos = {}
for name, found in vectors.items():
    print(name)
    rhos[name] = judge(found)
    if questions:
        answers = evaluate_analogies(found, questions).total
        print(f"    analogies: {answers.correct} right of {answers.covered}")
common = {"GloVe": {"MEN": np.nan}, "counting": {"MEN": np.nan}}
if questions:  # on the pairs of which both have both words
    known = [p for p in ratings[0].pairs if all(w in vectors["GloVe"] for w in p[:2])]
    known = [p for p in known if all(w in corpus.vocab for w in p[:2])]
    common = {name: judge(vectors[name], [WordPairs("MEN", tuple(known))]) for name in common}

# %% [markdown]
# After three epochs skip-gram is far behind counting, on MEN by more than 0.1<!--=
# rhos["counting"]["men"] - rhos["skip-gram, 3 epochs"]["men"] > 0.1 -->, and one might conclude
# that with so little text counting beats predicting. After thirty the two differ by less than
# their intervals<!--= abs(rhos["counting"]["men"] - rhos["skip-gram, 30 epochs"]["men"]) < 0.07
# -->. Levy, Goldberg and Dagan (2015) found the same in general: most differences between such
# methods are differences of settings. `docs/results/counting-and-word2vec.md` has three seeds and
# a second text. GloVe is ahead on the same pairs, too<!--= common["GloVe"]["MEN"] >
# common["counting"]["MEN"] + 0.15 -->: a million words of financial news are not enough for good
# vectors of general English.
#
# ### GloVe, and words that were never seen · further
#
# GloVe lies between lessons 2 and 3. It fits the logarithms of the counts of a table, by gradient:
#
# $$ \sum_{ij} g(C_{ij})\, \big(e_i \cdot w_j + b_i + b'_j - \log C_{ij}\big)^2, \qquad
#    g(C) = \min\big(1, (C / 100)^{3/4}\big). $$
#
# The biases $b_i$ and $b'_j$ can take up how frequent the two words are, so that what is left for
# $e_i \cdot w_j$ is close to PMI. The weight $g$ keeps frequent pairs from deciding everything,
# and is 0 where nothing was seen, so that only the entries above 0 are visited. The vector of a
# word is $e_i + w_i$, the sum of both sides.
#
# In all of these a word outside the vocabulary has no vector. **fastText** (Bojanowski, Grave,
# Joulin and Mikolov 2017) gives a vector to each sequence of three to six letters, and lets $e_i$
# be the sum of the vectors of a word's sequences: *unhappily* then shares most of its vector with
# *unhappy*, and any string of letters has one. Today's models go further and have no words at all
# but **subwords**, pieces learned from the text by byte-pair encoding (Sennrich, Haddow and Birch
# 2016; lesson 11).
#
# ### What vectors learn of us · further
#
# Vectors are the input layer of other networks, which learn from less text with them
# (`docs/results/glove.md`), and a means to search and to compare texts. Whatever is usual in the
# text is in them too. Project some occupations on the step from *he* to *she*, in GloVe's vectors:

# %%
occupations = ["nurse", "housekeeper", "dancer", "librarian", "engineer", "mathematician"]
towards_her = dict.fromkeys(occupations, np.nan)
if questions:
    glove = vectors["GloVe"]
    step = (glove["she"] - glove["he"]) / np.linalg.norm(glove["she"] - glove["he"])
    towards_her = {w: float(glove[w] @ step / np.linalg.norm(glove[w])) for w in occupations}
    print({word: round(value, 2) for word, value in towards_her.items()})
    print("apple:", ", ".join(word for word, _ in glove.neighbours("apple", 6)))

# %% [markdown]
# The *nurse* lies on the side of *she*, with 0.38<!--= towards_her["nurse"] -->, the
# *mathematician* on that of *he*, with -0.18<!--= towards_her["mathematician"] -->. Such **bias**
# passes into whatever is built on the vectors (Bolukbasi et al. 2016; Caliskan, Bryson and
# Narayanan 2017). And one vector has to serve for all **senses** of a word: those nearest to
# *apple* are computers and their makers, and no fruit. Vectors that depend on the sentence
# (lessons 5 to 11) do better.
#
# ## 6 One matrix for both sides
#
# Half of the model's numbers are thrown away after training. Why not use one matrix for both
# sides, $W = E$? In language models **tying** saves half of the words' numbers and improves the
# model (lesson 7). For skip-gram Press and Wolf (2017) tried it and found it worse. Gulordava,
# Aina and Boleda (2018) put a small matrix $L$ $(D, D)$ between, $s_{ij} = e_i L e_j^\top$.
# Besides these we train a control with a single number more than the tied model,
# $s_{ij} = e_i \cdot e_j + b$.
#
# $L$ starts as the unit matrix, that is from the tied model. Plain gradient descent diverges with
# $L$, which has a part in every score. So all four are trained with AdaGrad, which divides each
# number's step by the root of the sum of its squared gradients so far, for three epochs.


# %%
class OneConstant(SkipGram):
    """Tied, with a constant: the last number of every vector is 1, and the last of L is b."""

    def __init__(self, V, D, tie, rng):
        super().__init__(V, D + 1, tie="tied+L", rng=rng)
        self.project.W.value[-1, -1] = 0  # b starts at 0

    def forward(self, *batch):
        E, L = self.embed.W.value, self.project.W.value
        E[:, -1], L[:-1], L[-1, :-1] = 1, np.eye(len(L))[:-1], 0  # all but b goes back
        return super().forward(*batch)


TIES = {"two matrices": "none", "tied": "tied", "tied and b": "b", "tied with L": "tied+L"}
models, losses = {}, {}
for seed in range(1 if short else 3):
    for name, tie in TIES.items():
        kind, rng = OneConstant if tie == "b" else SkipGram, np.random.default_rng(seed)
        models[name, seed] = model = kind(V, 16 if short else 100, tie=tie, rng=rng)
        losses[name, seed] = train(model, AdaGrad(model.parameters(), lr=0.2), 1 if short else 3)
last = {name: [history[-1] for (n, _), history in losses.items() if n == name] for name in TIES}
curves(
    {name: (np.arange(len(losses[name, 0])), losses[name, 0]) for name in TIES},
    title=f"Tied, skip-gram learns next to nothing: {last['tied'][0]:.2f} nats; one constant\n"
    f"brings {last['tied and b'][0]:.2f}, L {last['tied with L'][0]:.2f}, "
    f"two matrices {last['two matrices'][0]:.2f}",
    xlabel="epoch",
    ylabel="validation loss (nats per pair)",
    levels={"all scores 0": 6 * np.log(2)},
)

# %%
of_tie = {name: [] for name in TIES}
for (name, seed), model in models.items():
    print(f"{name}, seed {seed}: loss {losses[name, seed][-1]:.3f}")
    of_tie[name].append(judge(WordVectors(tokens, model.vectors()[:, : 16 if short else 100])))
tied, with_b, untied = (np.array(last[name]) for name in ("tied", "tied and b", "two matrices"))
repaired = (tied - with_b) / (tied - untied)
print("share of the gap that b repairs:", repaired.round(3).tolist())

# %% [markdown]
# With each seed one constant repairs more than nine tenths of what tying costs<!--= min(repaired) >
# 0.9 -->. What $L$ adds beyond it is small in the loss, which is then that of two matrices<!--=
# max(abs(np.subtract(last["tied with L"], last["two matrices"]))) < 0.05 -->. The vectors do not
# rank the models: with all three seeds above the constant is ahead of $L$ on MEN<!--= short or
# all(b["men"] > l["men"] for b, l in zip(of_tie["tied and b"], of_tie["tied with L"])) -->, and $L$
# ahead of the constant on SimLex<!--= short or all(b["simlex"] < l["simlex"] for b, l in
# zip(of_tie["tied and b"], of_tie["tied with L"])) -->, while on WordSim the order changes with the
# seed, and most of these differences lie within the intervals. (Two matrices are behind both on
# MEN<!--= short or all(a["men"] < min(b["men"], l["men"]) for a, b, l in zip(of_tie["two
# matrices"], of_tie["tied and b"], of_tie["tied with L"])) -->, but after three epochs they have
# not gone far; see section 5.) Why does a tied model need a constant?
#
# ### Why? · further
#
# Tied, the matrix of all scores is $E E^\top$. Such a matrix is **positive semi-definite**: for
# any vector $a$,
#
# $$ a S a^\top = \sum_{ij} a_i a_j\, e_i \cdot e_j
#    = \Big\lVert \sum_i a_i e_i \Big\rVert^2 \ge 0. $$
#
# where $S = E E^\top$. Put the frequencies of words for $a$: the sum becomes the mean score of two
# words drawn at random, and it cannot be negative. But nearly all pairs of words have nothing to
# do with each other, and by section 3 their scores should be near $-\log K$. On average, a tied
# model cannot answer no. A constant $b < 0$ lets it.
#
# ### Exercise 4.8 ★★★ The least that a tied model pays · further
#
# Let centres and negatives be drawn from the same distribution. What is the least that the $K$
# negatives of a pair cost a tied model on average, in nats? Return a function of $K$. Each negative
# costs the mean of $\mathrm{softplus}(s)$. Softplus is **convex** (the straight line between two
# points of its curve lies above the curve), and by Jensen's inequality the mean of a convex
# function is not below the function of the mean. Which means of $s$ are possible, by the argument
# above, and which of them costs least?


# %%
def least(K): ...


check("4.8", least)


# %% [markdown]
# (The noise is not quite the distribution of the centres, so the bound holds nearly. It is not
# reached: with all scores at 0, the model cannot tell the targets either.) Here are the mean
# scores of the trained models, for centres drawn by frequency and negatives from the noise.

# %%
q, kept = counts**0.75 / np.sum(counts**0.75), f * keep / np.sum(f * keep)
random_pair = {name: [] for name in TIES}
for (name, _), model in models.items():
    H, W = model.vectors(), model.vectors("output")
    H = H @ model.project.W.value if TIES[name] in ("b", "tied+L") else H
    random_pair[name].append(float(f @ H @ (q @ W)))
print("mean score of a random pair, by seed")
for name, means in random_pair.items():
    print(f"{name:>12}: {', '.join(f'{mean:.2f}' for mean in means)}")
there = kept > 0
unrelated = float(np.sum(q[there] * np.log(kept[there] / (5 * q[there]))))  # exercise 4.6
print(f"best where words are independent: {unrelated:.2f}")

# %% [markdown]
# With each seed a constant mends the mean<!--= short or min(random_pair["tied"]) > -0.5 > -1.5 >
# max(random_pair["tied and b"]) -->, but not the rest. With $a_i = 1$ and all others 0, $s_{ii} =
# \lVert e_i \rVert^2 \ge 0$ is the largest score that a vector of its length can have. So a tied
# model expects a word beside itself, for which there is no reason (Goldberg and Levy 2014). With
# the full softmax, where only differences within a row count, no constant is needed, and this
# remains: $a = (1, -1)$ on two words gives $s_{ii} + s_{jj} \ge 2 s_{ij}$, and therefore
#
# $$ p(i \mid i)\, p(j \mid j) \ge p(j \mid i)\, p(i \mid j) $$
#
# for all words, whatever the size of the vectors. How much does it cost? Take a toy of 30 words,
# in which words of one kind avoid each other, and the 500 most frequent words of our text, and fit
# a softmax skip-gram to the whole table of each. (Here $L$ starts at random, since from the unit
# matrix it hardly leaves the tied model in the time.)

# %%
config = skipgram_tying.Config(worlds=1, sizes=(4, 30), steps=200) if short else None
outcome = skipgram_tying.run(config or skipgram_tying.Config())
outcome.figure()

# %%
frequent = np.argsort(-counts, kind="stable")[: 50 if short else 500]
near = cooccurrence(corpus.train, V, window=5, sentence_end=corpus.vocab.eos_id).tocsr()
joint = near[frequent][:, frequent].toarray() / near[frequent][:, frequent].sum()
share = joint.sum(axis=1)
print(f"beside itself {np.trace(joint):.2%}, by chance {np.sum(share**2):.2%}; less often than by "
      f"chance: {np.sum(np.diag(joint) < share**2)} of {len(share)} words")  # fmt: skip
of_pairs, of_words = (-np.sum(p * np.log(p)) for p in (joint[joint > 0], share))  # entropies
fits = {"frequency alone": float(2 * of_words - of_pairs)}
config = skipgram_tying.Config(steps=50 if short else 400)
for tie, name in skipgram_tying.TIES.items():
    fits[name] = skipgram_tying.distance(config, joint, 16 if short else 50, tie)
print("nats from the table:", {name: round(value, 3) for name, value in fits.items()})

# %% [markdown]
# In the toy the tied model learns less than half of what can be learned, as the figure shows. On
# the text it learns more than half of what two matrices learn<!--= (fits["frequency alone"] -
# fits["tied"]) > 0.5 * (fits["frequency alone"] - fits["two matrices"]) -->, and $L$ most of the
# rest<!--= fits["tied with L"] < (fits["tied"] + fits["two matrices"]) / 2 -->: here half of the
# words stand beside themselves more often than by chance. What tying costs depends on the text, and
# with negative sampling it was mostly the constant.
#
# ### What L does · further
#
# With $L$ the scores are $E L E^\top$, and $L$ may have negative eigenvalues (lesson 2, section
# 5). Along such a direction words that are alike do not stand beside each other. With $D = V$ any
# matrix of scores is possible, for $D^2$ numbers more.
#
# ### Exercise 4.9 ★★ What L can do · further
#
# Two words have the vectors $(1, 1)$ and $(1, -1)$. Find an $L$ $(2, 2)$, a list of two lists or an
# array, such that both expect the other and not themselves: in $E L E^\top$ the diagonal is
# negative and the other two scores are positive.

# %%
my_L = ...
check("4.9", my_L)

# %% [markdown]
# Is that what training finds? It began with the unit matrix, whose eigenvalues are all 1. For
# $e L e^\top$ only the **symmetric part** $(L + L^\top) / 2$ matters, and its eigenvalues on the
# text are now:

# %%
negative = {}
for seed in range(1 if short else 3):
    L = models["tied with L", seed].project.W.value
    eigenvalues = np.linalg.eigvalsh((L + L.T) / 2)
    negative[seed] = int(np.sum(eigenvalues < 0))
    print(f"{negative[seed]} of {len(L)} negative; {eigenvalues[0]:.2f} to {eigenvalues[-1]:.2f}")

# %% [markdown]
# With each seed more than a fifth of them have crossed zero<!--= min(negative.values()) > 20 -->.
# $L$ uses the freedom that the constant does not have.
#
# ## What to read next
#
# * **In this project**: `deepnlp/layers/negative_sampling.py` and `deepnlp/models/word2vec.py`;
#   `deepnlp train --task vectors` trains vectors, `deepnlp vectors` asks them; `deepnlp demo
#   skipgram-tying`. `chapters/ch04_word2vec_at_speed/` has the experiments at full size; CBOW with
#   one matrix, tied and tied+L, is in `docs/results/table3.md`.
# * Mikolov, Sutskever, Chen, Corrado and Dean, *Distributed representations of words and phrases
#   and their compositionality* (2013): negative sampling, subsampling, the noise.
# * Levy and Goldberg, *Neural word embedding as implicit matrix factorization* (2014). Goldberg
#   and Levy, *word2vec explained* (2014), for why $v \cdot v$ is a problem. Levy, Goldberg and
#   Dagan (2015), see lesson 2. Gulordava, Aina and Boleda, *How to represent a word and predict
#   it, too* (2018).
# * **Next here**: lesson 5, where a network reads the words one after the other.
