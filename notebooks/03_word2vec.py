# %% [markdown]
# # Lesson 3 · word2vec: predicting instead of counting
#
# **The question.** Lesson 2 made vectors of words by counting: which words stand near which, and
# then a matrix decomposition. Can a network learn such vectors from a text, one window at a time,
# without a table of counts?
#
# It can, with the network of lesson 1. You take a word out of the text and let two affine layers
# guess it from the words around it. The guesses themselves are not what we want. To make them, the
# network needs a row of numbers for each word in its first weight matrix, and words that are used
# alike get similar rows.
#
# In this lesson you build both models of word2vec, CBOW and skip-gram (Mikolov et al. 2013), with
# the full softmax, train them on a text small enough to know by heart, and find out what their
# best possible weights have to do with counts.
#
# You need lesson 1 (affine layer, softmax with loss, a step of training). Lesson 2 helps.
#
# *Time.* Core: 85 minutes, 1 of them for running; further: 80 more. What is marked *further* can be
# skipped, but let its cells run. With `DEEPNLP_LESSON=short` all run in seconds.

# %%

import numpy as np

from deepnlp import Sequential
from deepnlp.layers import Affine, Embedding, SoftmaxWithLoss
from deepnlp.lessons.exercises import check, short_form
from material.figures import computation_graph, moving_window, vector_paths

short = short_form()

# %% [markdown]
# ## 1 The text, and the window
#
# The text is written by a program that knows eight kinds of words and three kinds of sentences.
# The network is told nothing of this. It sees a long row of words and has to find out which words
# are of a kind.

# %%
KINDS = {
    "people": ["king", "queen", "man", "woman"],
    "animals": ["cat", "dog", "cow", "horse"],
    "food": ["bread", "fish", "rice", "soup"],
    "for food": ["eats", "cooks"],
    "for animals": ["feeds", "rides"],
    "of animals": ["sleeps", "runs"],
    "time": ["today", "now"],
    "article": ["the", "this"],
}
SENTENCES = [
    ["article", "people", "for food", "article", "food", "time"],
    ["article", "people", "for animals", "article", "animals", "time"],
    ["article", "animals", "of animals", "time"],
]


def write(sentences, rng):
    """A text of random sentences, as a list of words."""
    text = []
    for _ in range(sentences):
        text += [str(rng.choice(KINDS[kind])) for kind in SENTENCES[rng.integers(3)]] + ["."]
    return text


text = write(600, np.random.default_rng(6))
words = list(dict.fromkeys(text))  # the vocabulary, in the order of first occurrence
id_of = {word: k for k, word in enumerate(words)}
ids = np.array([id_of[word] for word in text])
V = len(words)
print(f"{len(ids):,} words, {V} different ones")
print(" ".join(text[:38]))

# %% [markdown]
# A **window** moves over the text. The word in its middle is the centre, and the $w$ words on
# either side of it are its context; here $w = 2$. The first model, **CBOW** (continuous bag of
# words), predicts the centre from the context:

# %%
moving_window(text[:12], 2, [2, 3, 4], title="CBOW: the context predicts the centre", arrows="in")

# %% [markdown]
# As arrays, the text becomes contexts of shape $(N, C)$ with $C = 2w$, and targets of shape
# $(N,)$. We use only complete windows: the first and the last $w$ words are never targets.
#
# ### Exercise 3.1 ★★ Contexts and targets
#
# Return contexts and targets for a text `ids` and a window $w$. The context is in the order of the
# text; the centre does not belong to it.


# %%
def contexts_and_targets(ids, w): ...


check("3.1", contexts_and_targets)


# %%
windows = np.lib.stride_tricks.sliding_window_view(ids, 5)  # (N, 5): five words in a row
contexts, targets = windows[:, [0, 1, 3, 4]], windows[:, 2]
print("contexts", contexts.shape, "  targets", targets.shape)
for c, t in zip(contexts[:3], targets[:3]):
    before, after = (" ".join(words[k] for k in side) for side in (c[:2], c[2:]))
    print(f"{before} _____ {after}    (the answer is {words[t]})")

# %% [markdown]
# ## 2 Words as input: one-hot vectors
#
# A layer takes vectors, and a word is a number that means nothing: word 7 is not larger than word
# 3 in any useful sense. So a word becomes a **one-hot vector** of length $V$, with a 1 in its own
# place and 0 elsewhere. An affine layer without a bias (the package's `Affine(E)` with no `b`, a
# plain matrix product) then gives

# %%
rng = np.random.default_rng(0)
E_small = rng.standard_normal((5, 3)).round(1)  # (V, D): five words, vectors of three numbers
onehot = np.eye(5)[[3]]  # (1, 5): word 3
print("one-hot vector times E:", Affine(E_small).forward(onehot), "  row 3 of E:", E_small[3])

# %% [markdown]
# One row of the matrix. The product multiplies $V D$ numbers, nearly all of them by zero, to copy
# $D$ numbers. So nobody computes it; one takes the row, `E[ids]`. The package's layer for this is
# `Embedding(E)`, and the row is called the word's **embedding** or vector:

# %%
np.testing.assert_allclose(
    Embedding(E_small).forward(np.array([3, 0, 3])), Affine(E_small).forward(np.eye(5)[[3, 0, 3]])
)

# %% [markdown]
# CBOW has $C$ words as input, not one, and they share one matrix: a word has the same vector to
# the left of the gap and to the right. The vectors of the context are averaged,
#
# $$ h_n = \frac{1}{C} \sum_{c=1}^{C} E_{\mathrm{id}_{nc}}, $$
#
# which forgets their order; hence "bag of words". Because the matrix product is linear, averaging
# the rows is the same as averaging the one-hot vectors first. So for now CBOW's input is a vector
# $x_n$ of shape $(V,)$ that says which share of the context each word has, and its hidden layer is
# $h = x E$.
#
# ### Exercise 3.2 ★ A bag of words
#
# Return $x$ of shape $(N, V)$ for contexts $(N, C)$. A word that occurs twice in a context counts
# twice, so that each row sums to 1.


# %%
def bag_of_words(contexts, V): ...


check("3.2", bag_of_words)


# %% [markdown]
# ## 3 CBOW is a network that you know
#
# From $h$ a second matrix $W$ $(D, V)$ makes a score for each word of the vocabulary, and the
# softmax turns scores into probabilities of the missing word:
#
# $$ h = x E, \qquad s = h W, \qquad
#    P(w_t \mid \mathrm{context}) = \mathrm{softmax}(s)_{w_t}, \qquad
#    L = -\frac{1}{N} \sum_n \log \mathrm{softmax}(s_n)_{t_n}. $$
#
# This is the network of lesson 1 without its sigmoid and its biases. Forward and backward are
# already written. (A one-hot vector is a row of the unit matrix, so the bags of words are means of
# looked-up rows as well.)

# %%
x = Embedding(np.eye(V)).forward(contexts).mean(axis=1)  # (N, V)


def two_matrices(D, seed=0):
    """E (V, D) and W (D, V), with small random weights."""
    rng = np.random.default_rng(seed)
    E, W = 0.1 * rng.standard_normal((V, D)), 0.1 * rng.standard_normal((D, V))
    return Sequential(Affine(E), Affine(W))


title = "CBOW: two matrix products and a softmax"
letters = {"W_1": "E", "W_2": "W", "a_1": "h"}
computation_graph(two_matrices(D=2), x[:50], targets=targets[:50], title=title, names=letters)

# %% [markdown]
# ### Exercise 3.3 ★ Two matrices or one? · further
#
# By exercise 1.2 two affine maps in a row are one: $x E W = x M$ with $M = E W$ of shape $(V, V)$.
# Suppose somebody trains $M$ itself, all $V^2$ numbers of it, in place of $E$ and $W$ with $D$
# much smaller than $V$. Compared with the two matrices, the best possible loss on the training
# text is
#
# * `"never lower"`, because one matrix can do less than two
# * `"the same"`, because the two are one affine map anyway
# * `"never higher"`, because every $E W$ is some $M$, but not every $M$ is some $E W$

# %%
my_choice = ...
check("3.3", my_choice)

# %% [markdown]
# What, then, are two matrices for? For the narrow place between them. With $D$ numbers per word
# the network cannot keep a separate score for every pair of words; it has to describe *king* by
# few numbers that serve for all its neighbours. Words that need similar scores get similar rows.
# Lesson 2 did the same to its matrix when it kept $D$ singular values.
#
# ### Without the one-hot vectors
#
# The affine layer's gradient is $dE = x^\top dh$. Row $k$ of it is
#
# $$ dE_k = \sum_n x_{nk}\, dh_n, $$
#
# and $x_{nk}$ is zero except for the words of context $n$. In other words: $h_n$ is $1/C$ times a
# sum of $C$ rows, so each of these rows gets $dh_n / C$. A word that occurs in several contexts,
# or twice in one, collects the gradients of all its places. This is the fork rule of lesson 1,
# since its row is used several times.
#
# ### Exercise 3.4 ★★★ The input layer of CBOW · further
#
# Write the layer with row lookups. `forward(contexts)` takes $(N, C)$ integers and gives $h$ $(N,
# D)$; `backward(dh)` sets `self.dE` $(V, D)$. Build neither $x$ nor other one-hot vectors;
# `backward` need not return anything. (NumPy's `dE[ids] += ...` keeps only one of several additions
# to the same row; `np.add.at` keeps all.)


# %%
class ContextMean:
    def __init__(self, E):
        self.E, self.dE = E, None

    def forward(self, contexts): ...

    def backward(self, dh): ...


check("3.4", ContextMean)


# %% [markdown]
# With the package's `Embedding` the lookup and the product with the bag of words give the same, in
# both directions:

# %%
rng = np.random.default_rng(1)
E, dh = rng.standard_normal((V, 4)), rng.standard_normal((len(x), 4))
by_product, by_rows = Affine(E), Embedding(E)
np.testing.assert_allclose(by_rows.forward(contexts).mean(axis=1), by_product.forward(x))
by_product.backward(dh)
by_rows.backward(np.stack([dh / 4] * 4, axis=1))  # (N, C, D): a quarter to each of four rows
np.testing.assert_allclose(np.asarray(by_rows.W.grad), by_product.W.grad)

# %% [markdown]
# ## 4 Training
#
# The five lines of lesson 1, with minibatches of 50 windows. With $D = 2$ a vector is a point in
# the plane, so we can draw it as it is, without any projection. After every epoch we keep a copy
# of $E$.


# %%
from deepnlp.optimizers import SGD
from deepnlp.plots import curves


def train(model, loss, inputs, targets, epochs, lr=1.0, batch=50, seed=0):
    """Mean loss of each epoch in nats, and the first matrix before and after each."""
    optimizer = SGD(model.parameters(), lr=lr)
    rng = np.random.default_rng(seed)
    history, kept = [], [model.layers[0].W.value.copy()]
    for _ in range(epochs):
        losses = []
        for some in np.array_split(rng.permutation(len(targets)), len(targets) // batch):
            losses.append(float(loss.forward(model.forward(inputs[some]), targets[some])))
            model.zero_grad()
            model.backward(loss.backward())
            optimizer.step()
        history.append(np.mean(losses))
        kept.append(model.layers[0].W.value.copy())
    return history, np.array(kept)


epochs = 4 if short else 30
frequency = np.bincount(ids) / len(ids)
entropy = -np.sum(frequency * np.log(frequency))
plane = two_matrices(D=2)
history = {}
history["D = 2"], kept = train(plane, SoftmaxWithLoss(), x, targets, epochs)
model = two_matrices(D=8)
history["D = 8"], _ = train(model, SoftmaxWithLoss(), x, targets, epochs)

curves(
    {name: (np.arange(1, epochs + 1), losses) for name, losses in history.items()},
    title=f"CBOW after {epochs} epochs: {history['D = 2'][-1]:.2f} nats with two numbers per word, "
    f"{history['D = 8'][-1]:.2f} with eight",
    xlabel="epoch",
    ylabel="loss (nats per missing word)",
    levels={"all words alike": np.log(V), "frequencies only": entropy},
)

# %% [markdown]
# The upper level is the loss of a model that knows nothing, $\log V$. The lower one is the loss of
# a model that knows how frequent each word is and ignores the context, the entropy of the
# frequencies (lesson 1). A loss of zero is out of reach, since nothing in *the ____ eats the*
# tells king from queen.
#
# Here is where the vectors went. All begin near the origin, as 0.1 times a random number.

# %%
shown = [kind for kind in KINDS if kind not in ("time", "article")]  # three of the six are verbs
vector_paths(
    {kind: KINDS[kind] for kind in shown},
    {word: kept[:, id_of[word]] for word in words},
    title="Words of a kind leave the origin together",
)

# %% [markdown]
# No loss term asks for this picture. *King* and *queen* are never in one sentence, and no gradient
# compares their vectors. But they fill the same gaps and are surrounded by the same words, so at
# nearly every step they are pulled in the same direction.
#
# Vectors of $D = 8$ cannot be drawn like this, but we can ask for neighbours. Similarity is the
# cosine of the angle, as in lesson 2:


# %%
def nearest(vectors, word, count=3):
    """The words whose vectors, rows of (V, D), have the largest cosine with that of the word."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit[id_of[word]]
    cosines[id_of[word]] = -np.inf
    return [words[k] for k in np.argsort(-cosines)[:count]]


for word in ("king", "cat", "bread", "eats", "today"):
    print(f"{word:>6}: {', '.join(nearest(model.layers[0].W.value, word))}")

# %% [markdown]
# ## 5 Skip-gram: the other direction
#
# **Skip-gram** goes the other way. From the centre it predicts each word of the context:

# %%
notes = [f"{text[k]}: {', '.join(text[k + j] for j in (-2, -1, 1, 2))}" for k in (2, 3, 4)]
title = "Skip-gram: the centre predicts each word of its context"
moving_window(text[:12], 2, [2, 3, 4], title=title, arrows="out", notes=notes)

# %% [markdown]
# The hidden layer is now one row, $h_n = E_{t_n}$ for the centre $t_n$; there is nothing to
# average. There is one row of scores, $s_n = h_n W$, and it has to serve for all $C$ words of the
# context:
#
# $$ L = -\frac{1}{N C} \sum_n \sum_{c=1}^{C} \log \mathrm{softmax}(s_n)_{\mathrm{id}_{nc}}. $$
#
# The same scores are used $C$ times, so their gradient is a sum over the $C$ uses.
#
# ### Exercise 3.5 ★★ The gradient of skip-gram's scores
#
# Return $ds$ $(N, V)$ for the loss above, from scores $s$ $(N, V)$ and contexts $(N, C)$. Each use
# contributes "guess minus truth" (section 4 of lesson 1).


# %%
def skipgram_ds(s, contexts): ...


check("3.5", skipgram_ds)


# %% [markdown]
# So each step pulls the probability of a word towards its share in the context, that is towards
# the bag of words of exercise 3.2; section 6 follows this up. For training we make a loss layer
# that uses a row of scores $C$ times. Its input is the one-hot vector of the centre.


# %%
from deepnlp.backend.functions import softmax


class SkipGramLoss:
    """The loss of section 5, made of SoftmaxWithLoss: the scores are repeated C times."""

    def __init__(self):
        self.loss = SoftmaxWithLoss()

    def forward(self, s, contexts):
        C = contexts.shape[1]
        return self.loss.forward(np.repeat(s[:, None], C, axis=1), contexts)  # (N, C, V), (N, C)

    def backward(self):
        return self.loss.backward().sum(axis=1)  # C uses of the same scores: their sum


loss, s = SkipGramLoss(), np.random.default_rng(2).standard_normal((len(contexts), V))
loss.forward(s, contexts)
np.testing.assert_allclose(loss.backward() * len(s), softmax(s) - x, atol=1e-12)

skipgram = two_matrices(D=8)
losses, _ = train(skipgram, SkipGramLoss(), np.eye(V)[targets], contexts, epochs)
print(f"skip-gram, D = 8: {losses[0]:.2f} nats in the first epoch, {losses[-1]:.2f} in the last")

# %% [markdown]
# ### Which matrix holds the word vectors? · further
#
# Each word has two vectors: a row of $E$, used where it is the input, and a column of $W$, used
# where it is predicted. By convention the word vector is the row of $E$. Is it better? We know the
# kinds of our words, so we can measure. For a word with $m$ others of its kind, which share of its
# $m$ nearest words are of the same kind?


# %%
def purity(vectors):
    """Mean over all words of the share of the nearest words that are of the same kind."""
    shares = [
        np.mean([other in kind for other in nearest(vectors, word, len(kind) - 1)])
        for kind in KINDS.values()
        for word in kind
    ]
    return np.mean(shares)


pure = {}
for seed in range(1 if short else 3):
    other = two_matrices(D=8, seed=seed) if seed else skipgram
    if seed:
        train(other, SkipGramLoss(), np.eye(V)[targets], contexts, epochs)
    A, B = (layer.W.value for layer in other.layers)
    pure[seed] = {"E": purity(A), "W transposed": purity(B.T), "their sum": purity(A + B.T)}
    print(f"seed {seed}:", ", ".join(f"{side} {share:.0%}" for side, share in pure[seed].items()))
E, W = (layer.W.value for layer in skipgram.layers)

# %% [markdown]
# Both matrices group the words of this text<!--= min(p["E"] for p in pure.values()) > 0.7 -->;
# their sum does so no better with any of the seeds<!--= short or all(p["their sum"] <= p["E"] for p
# in pure.values()) -->. (On other texts it may: GloVe publishes the sum, lesson 4.) A row of $E$
# and a column of $W$ lie in the same space of $D$ numbers, but they say different things. Compare
# *king* with all words in three ways, with skip-gram's matrices:

# %%
k = id_of["king"]
for name, scores in {"E E^T": E @ E[k], "W^T W": W.T @ W[:, k], "E W": E[k] @ W}.items():
    best = [words[j] for j in np.argsort(-scores) if j != k][:4]
    print(f"{name:>6}: {', '.join(best)}")

# %% [markdown]
# ### Exercise 3.6 ★ Ask the right product · further
#
# You want a list of the words that are likely to stand *next to* a given word. Which product of
# skip-gram's matrices do you read it from: `"E E^T"`, `"W^T W"` or `"E W"`?

# %%
my_product = ...
check("3.6", my_product)

# %% [markdown]
# ## 6 What the models are, as probabilities
#
# With $w_1 \dots w_T$ for the text, both models maximise a log-likelihood:
#
# $$ \text{CBOW:}\quad \sum_t \log P(w_t \mid w_{t-2}, w_{t-1}, w_{t+1}, w_{t+2}), \qquad
#    \text{skip-gram:}\quad \sum_t \sum_{0 < |j| \le 2} \log P(w_{t+j} \mid w_t). $$
#
# Three things can be read off. Skip-gram treats the words of a context as independent of each
# other, given the centre, and their places as equal. It makes $C$ predictions per window where
# CBOW makes one, so it gets more gradients from the same text, at a higher price. And neither sum
# is the log-probability of the text: a language model (lesson 5) predicts a word from the past
# only. The losses of the two are means over different questions, so one cannot say that the lower
# loss belongs to the better model.
#
# ### Exercise 3.7 ★★ The log-likelihood of a text · further
#
# `P` $(V, V)$ holds skip-gram's probabilities, `P[i, j]` for context word $j$ given centre $i$.
# Return the second sum for the text `ids` and a window of $w$ words on each side in place of 2.
# Here every word is a centre; at the ends of the text the context is shorter.


# %%
def log_likelihood(P, ids, w): ...


check("3.7", log_likelihood)


# %% [markdown]
# ### Back to counting · further
#
# Skip-gram's sum goes over all pairs of a centre $i$ and a context word $j$. Equal pairs have
# equal terms. So collect them: with $N_{ij}$ for the number of times that $j$ stands near $i$ (the
# table $C$ of lesson 2; here $C$ is the size of a context),
#
# $$ L = -\sum_{ij} N_{ij} \log p(j \mid i) \Big/ \sum_{ij} N_{ij}. $$
#
# Skip-gram sees the text only through the counts. For a fixed $i$ the best $p(j \mid i)$ is the
# one that was observed, $N_{ij} / N_i$ with $N_i = \sum_j N_{ij}$ (that is where "guess minus
# truth" sums to zero). With it the loss reaches its lowest value, the **conditional entropy** of
# the context word given the centre.
#
# ### Exercise 3.8 ★★★ How low can it go? · further
#
# Return the lowest possible loss of skip-gram, in nats per prediction, from the counts $(V, V)$.
# Pairs that never occur contribute nothing: $0 \log 0$ counts as 0. Some centre may have no pairs
# at all.


# %%
def lowest_loss(counts): ...


check("3.8", lowest_loss)


# %% [markdown]
# Now we can train on the table itself, all pairs at once, and see what the width $D$ costs. With
# $D \ge V$ the product $E W$ can be any matrix, so the loss should come down to the conditional
# entropy.

# %%
counts = np.zeros((V, V))
np.add.at(counts, (np.repeat(targets, 4), contexts.ravel()), 1)


def fit_counts(D, steps, lr=2.0, seed=0):
    """The probabilities (V, V) of a skip-gram trained on all pairs at once, and its loss."""
    rng = np.random.default_rng(seed)
    E, W = 0.1 * rng.standard_normal((V, D)), 0.1 * rng.standard_normal((D, V))
    for _ in range(steps):
        p = np.exp(E @ W)
        p /= p.sum(axis=1, keepdims=True)
        ds = (counts.sum(axis=1, keepdims=True) * p - counts) / counts.sum()  # guess minus truth
        E, W = E - lr * ds @ W.T, W - lr * E.T @ ds
    return p, -np.sum(counts * np.log(p)) / counts.sum()


sizes = [1, 2, 3, 4, 6, 8, 12, V]
fitted = {D: fit_counts(D, steps=50 if short else 3000) for D in sizes}
joint = counts / counts.sum()  # floor: entropy of the pairs less that of their centres
centre, seen = joint.sum(axis=1), joint[joint > 0]
floor = -np.sum(seen * np.log(seen)) + np.sum(centre * np.log(centre))
curves(
    {"skip-gram": (sizes, [loss for _, loss in fitted.values()])},
    title=f"Skip-gram approaches the entropy of the counts: {fitted[2][1]:.3f} nats with D = 2,\n"
    f"{fitted[8][1]:.3f} with D = 8, {fitted[V][1]:.3f} with D = {V}; the floor is {floor:.3f}",
    xlabel="D, numbers per word",
    ylabel="loss (nats per context word)",
    levels={"conditional entropy": floor},
    logx=True,
)

# %%
P, k = counts / counts.sum(axis=1, keepdims=True), id_of["cat"]
for name, p in {"counted": P, "D = 2": fitted[2][0], "D = 8": fitted[8][0]}.items():
    near = ", ".join(f"{words[j]} {p[k, j]:.3f}" for j in np.argsort(-P[k])[:5])
    print(f"near cat, {name}: {near}")

# %% [markdown]
# With $D = V$ the loss has reached the floor<!--= short or fitted[V][1] - floor < 0.005 -->, and
# with $D = 8$ the probabilities are those that were counted, to 0.01<!--= short or
# abs(fitted[8][0][k] - P[k]).max() < 0.01 -->. So predicting is a way of counting. What a wide
# skip-gram approaches is $e_i \cdot w_j = \log p(j \mid i) + c_i$, with any constant $c_i$ for each
# centre. Subtract $\log p(j)$ on both sides and the right one holds the pointwise mutual
# information $\log \frac{p(j \mid i)}{p(j)}$ that lesson 2 computed from the table. For a pair that
# never occurs this is $-\infty$, which no product reaches: such scores fall as long as one trains,
# where lesson 2 cut them off at 0. A narrow skip-gram is an approximation of that matrix with rank
# $D$, like the truncated SVD; it weighs errors differently, by how often a pair occurs. (Levy and
# Goldberg 2014 show the same for the loss of lesson 4.) What speaks for the network is that it
# never builds the table of $V^2$ counts, and can be trained while the text is read.
#
# ## 7 The price
#
# Our vocabulary has two dozen words. A real one has ten thousand or a million, and each prediction
# needs a score for all of them: $N D V$ multiplications for the product $h W$ of $N$ windows, and
# twice as many in its backward.
#
# Here is one step of training, forward and backward, for $N = 100$ windows and $D = 100$. The
# lookup and its backward touch $N C$ rows, however large the vocabulary is; the output touches all
# of it.


# %%
import time


def step_times(V, N=100, D=100, C=10):
    """Seconds for the lookup and for the output of one step, forward and backward, in float32."""
    rng = np.random.default_rng(0)
    embed = Embedding.init(V, D, rng)
    output, loss = Affine.init(D, V, rng), SoftmaxWithLoss()
    some, right = rng.integers(V, size=(N, C)), rng.integers(V, size=N)
    h = dh = rng.standard_normal((N, D)).astype("float32")
    marks = []
    for _ in range(3 if short else 8):
        marks.append([time.perf_counter()])
        embed.forward(some).mean(axis=1)
        embed.zero_grad()
        embed.backward(np.repeat(dh[:, None] / C, C, axis=1))
        marks[-1].append(time.perf_counter())
        loss.forward(output.forward(h), right)
        output.zero_grad()
        output.backward(loss.backward())
        marks[-1].append(time.perf_counter())
    return np.diff(marks, axis=1).min(axis=0)  # what disturbs a run only makes it longer


vocabularies = [1000, 3000] if short else [1000, 3000, 10_000, 30_000]
times = np.array([step_times(size) for size in vocabularies])  # (4, 2)
minutes = times[-1].sum() / 100 * 1e6 / 60
print(
    f"a text of a million words, with {vocabularies[-1]:,} different ones: "
    f"{minutes:.0f} minutes per epoch"
)
share = times[-1, 1] / times[-1].sum()
curves(
    {"output": (vocabularies, 1000 * times[:, 1]), "lookup": (vocabularies, 1000 * times[:, 0])},
    title=f"With {vocabularies[-1]:,} words the output takes {share:.1%} of a step",
    xlabel="V, words in the vocabulary",
    ylabel="milliseconds per step of 100 windows",
    logx=True,
    logy=True,
)

# %% [markdown]
# The network computes a probability for each word of the vocabulary, although only that of the
# right one enters the loss.
#
# ### A tree in place of a list · further
#
# The oldest remedy is the **hierarchical softmax** (Morin and Bengio 2005; Mikolov et al. 2013).
# Put the words at the leaves of a binary tree. To name a word is to walk from the root to its
# leaf, with a decision for left or right at each inner node $k$. Each inner node has a vector
# $w_k$, and
#
# $$ P(j \mid \text{context}) = \prod_{k\ \text{on the way to}\ j} \sigma(\pm h \cdot w_k), $$
#
# with the sign $+$ for left and $-$ for right. Since $\sigma(s) + \sigma(-s) = 1$ at each node,
# the probabilities of all leaves sum to 1, without a sum over the vocabulary. A prediction and its
# gradient touch only the nodes on one way: about $\log_2 V$ of them in a balanced tree, 13<!--=
# np.log2(10_000) --> for ten thousand words, and fewer on average if frequent words stand near the
# root, as in a Huffman tree.

# %%
rng, D = np.random.default_rng(0), 6
h, nodes = rng.standard_normal(D), rng.standard_normal((7, D))  # 7 inner nodes, 8 leaves
leaves = []
for word in range(8):
    probability, node = 1.0, 0
    for bit in f"{word:03b}":  # the way to a leaf: 0 for left, 1 for right
        sign = 1 if bit == "0" else -1
        probability *= 1 / (1 + np.exp(-sign * h @ nodes[node]))
        node = 2 * node + (1 if bit == "0" else 2)
    leaves.append(probability)
print("eight probabilities of three decisions each:", np.round(leaves, 3), "sum", sum(leaves))

# %% [markdown]
# The tree keeps a full distribution at a low price, but it has to be built, and words that share a
# branch share parameters whether or not they are alike. Lesson 4 gives up the distribution and
# replaces the choice among $V$ words by a few yes-or-no questions.
#
# ## What to read next
#
# * **In this project**: `deepnlp/layers/embedding.py`, the lookup with its backward;
#   `chapters/ch03_word2vec/`, both models with the full softmax on a real text.
# * Mikolov, Chen, Corrado and Dean, *Efficient estimation of word representations in vector space*
#   (2013). Rong, *word2vec parameter learning explained* (2014): all gradients, written out. Levy
#   and Goldberg, *Neural word embedding as implicit matrix factorization* (2014). Morin and
#   Bengio, *Hierarchical probabilistic neural network language model* (2005).
# * **Next here**: lesson 4, word2vec at speed.
