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
# # Lesson 7b · What is shared
#
# **The question.** A language model has two matrices with a row for every word: one where words
# come in, one where they go out. Can they be one? And if words that are alike have vectors that are
# alike, should the loss know it?
#
# This is the second part of lesson 7. It ends with the model that you train on the whole of
# `pydocs`. You need the first part. *Time.* Core: 70 minutes, 5 of them for running; further: 45
# more. What is marked *further* can be skipped, but let its cells run. With `DEEPNLP_LESSON=short`
# all run in seconds.

# %%
import numpy as np

from deepnlp.datasets import load_corpus
from deepnlp.evaluation import evaluating, perplexity
from deepnlp.lessons.exercises import check, short_form
from deepnlp.models import RNNLM, RegularisedRNNLM

short = short_form()
seeds = [0] if short else [0, 1, 2]

# %% [markdown]
# ## 3 · Tying the weights
#
# Text and training are those of the first part.

# %%
from deepnlp.models.ngrams import KneserNey, Unigram
from deepnlp.optimizers import Adam, clip_gradients
from deepnlp.training import BPTTBatches, Linear

corpus = load_corpus("pydocs", vocab_size=1000)
train_ids = corpus.train[: 4_000 if short else 30_000]
valid_ids = corpus.valid[: 800 if short else 5_000]
V = len(corpus.vocab)
counts = np.bincount(train_ids, minlength=V)
print(f"trigram {KneserNey(3).fit(train_ids, V).perplexity(valid_ids):.1f}")


def train(model, epochs, ids=train_ids, valid=valid_ids, N=20, T=35, lr=0.01):
    """Truncated BPTT with Adam; perplexity on the validation text after each epoch."""
    batches, optimizer = BPTTBatches(ids, N, T), Adam(model.parameters(), lr=lr)
    schedule, history, step = Linear(epochs * len(batches), floor=0.05), [], 0
    for epoch in range(1, epochs + 1):
        model.train()
        model.reset_state()
        for inputs, targets in batches:
            optimizer.lr = lr * schedule.scale(step)
            model.forward(inputs, targets)
            model.zero_grad()
            model.backward()
            clip_gradients(model.parameters(), 1.0)
            optimizer.step()
            step += 1
        found = {"train_perplexity": perplexity(model, ids[: len(valid)], batch_size=10)}
        found["valid_perplexity"] = perplexity(model, valid, batch_size=10)
        history.append({"epoch": epoch, "lr": lr, **found})
    return history


def fresh(layers=2, tie="tied", dropout=0.0, seed=0, **options):
    """A model of LSTM layers with 64 units that begins as the unigram model."""
    options = {"embed_bound": 0.3, "rng": np.random.default_rng(seed), **options}
    model = RegularisedRNNLM(V, 64, 64, layers, tie=tie, dropout=dropout, **options)
    model.start_from_unigram(counts)
    return model


# %% [markdown]
# The model has two matrices with a row for every word: the embedding $E$ $(V, D)$, where words come
# in, and the output matrix, where they go out. **Weight tying** (Press and Wolf 2017; Inan,
# Khosravi and Socher 2017) makes them one: $s = h E^\top + b$, which needs $D = H$.

# %%
from material.figures import gate_traces, layers_in_time

sentence = ["the", "function", "returns", "a", "list"]
layers_in_time(fresh(2, "tied", 0.2), sentence, title="Tied: the output is the embedding")

# %% [markdown]
# In code this is easy to write, as the transpose of a Parameter is the same Parameter, read the
# other way. Its gradient is a sum over both uses (exercise 7.5): in an untied model the row of a
# rare word in $E$ learns only where that word is read, while in a tied one it learns at every step,
# as an output that should have been more or less likely. That this is why tying helps, no run here
# shows. Which of the two matrices of an untied model has the better vectors, as judged by people,
# is [Table 2](../docs/results/table2.md) of the paper that section 3 follows.
#
# ### When D and H differ
#
# In general two projections stand around the recurrence, $P_{DH}$ on the way in and $P_{HD}$ on the
# way out. With vectors as columns, as in most papers,
#
# $$h_t = f(P_{DH}\, e_t + W_{hh} h_{t-1} + b_1), \qquad s_t = U P_{HD}\, h_t + b_2$$
#
# In row vectors $P_{DH}$ is our $W_x$, transposed, and $P_{HD}$ the matrix **L** $(H, D)$ between
# state and embedding, transposed: *tied+L* (Gulordava, Aina and Boleda 2018).
#
# ### Why tied+L helps
#
# The paper's argument: the score of word $j$ is $e_j \cdot h_t$, so training pulls $h_t$ towards
# the embedding of the word that comes next. But $h_t$ has a second job, to carry the past to step
# $t + 1$, and the two may be at odds. With L between, $h_t L$ can point at the next word, and $h_t$
# stays free. (The paper adds that for *each* dimension $k$ the product $h_k e_{ik}$ increases. That
# need not be, nor need their sum: what a step against the gradient raises is $\log p_j$.)
#
# After training we measure the cosine between $h_t$ and the embedding of the word that did come
# next; and that between what is multiplied by the output matrix ($h_t$, or $h_t L$) and the word's
# row of it.


# %%
from deepnlp import Parameter, Sequential
from deepnlp.layers import (
    AffineSoftmaxWithLoss,
    AugmentedLoss,
    Embedding,
    TimeAffine,
    TimeDropout,
    TimeLSTM,
)
from deepnlp.plots import bars, learning_curve


def cosine(a, b):
    return np.mean(np.sum(a * b, axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1))


epochs, ids = 1 if short else 4, valid_ids[:1000]
ties = ("none", "tied", "tied+L")
pointing = {tie: {"h and E": [], "output's input and matrix": []} for tie in ties}
for tie in ties:
    for seed in seeds:
        model = fresh(2, tie, dropout=0.2, seed=seed)
        train(model, epochs)
        with evaluating(model):
            model.reset_state()
            x = model.hidden(ids[None, :-1])[0]  # h, or with L h L
            model.reset_state()
            states = Sequential(*(one for one in model.layers if not isinstance(one, TimeAffine)))
            h = states.forward(ids[None, :-1])[0]
        E, W = model.layers[0].W.value, model.output.W.value.T
        pointing[tie]["h and E"].append(cosine(h, E[ids[1:]]))
        pointing[tie]["output's input and matrix"].append(cosine(x, W[ids[1:]]))
    print(f"{tie:6} {model.size():9,} parameters")
bars(
    {
        tie: {name: float(np.mean(runs)) for name, runs in of.items()}
        for tie, of in pointing.items()
    },
    title="Tied, h points at the row of the next word; with L, hL does it",
    ylabel="cosine with the next word, mean",
    number=".2f",
)

# %% [markdown]
# In the tied model $h$ points towards the row of the next word, with every seed<!--= short or
# min(pointing["tied"]["h and E"]) > 0.15 -->. With L between, $hL$ does the pointing<!--= short or
# min(pointing["tied+L"]["output's input and matrix"]) > 0.15 -->, and $h$ is nearly at right angles
# to the embeddings, as in the untied model<!--= short or max(map(abs, pointing["tied+L"]["h and
# E"] + pointing["none"]["h and E"])) < 0.1 -->. What it is worth takes more text to see. On the
# whole of `pydocs`, with two layers of 128 units and three seeds, [the
# runs](../docs/results/depth.md) find test perplexities of 79.9 untied, 73.9 tied and 70.0 tied+L,
# with standard deviations of 0.7 at most. On the Penn Treebank (Table 1 of the paper) tying is
# worth 4 to 5 points, and L up to 0.8 more. (The paper says that tied+L with 600 units and
# embeddings of 400 has 55 % of the parameters of the tied model with 600; by its own table it is 81
# %<!--= 9.5 / 11.8 -->.)
#
# ### Exercise 7.3 ★ Which matrix is P_HD?
#
# Which matrix of the package is $P_{HD}$ in the equations above?

# %%
p_hd = ...  # "Wx transposed", "L transposed", "E transposed" or "Wh transposed"
check("7.3", p_hd)

# %% [markdown]
# ### Exercise 7.4 ★★ Count the parameters
#
# Write `count(V, D, H, tie)`: how many numbers has a language model with two LSTM layers and an
# output bias? The ways of tying are `"none"`, where the output matrix is $(H, V)$, `"tied"`, only
# with $D = H$, and `"tied+L"`. (L has no bias.) Then try $V = 10{,}000$ with the sizes of the
# paper's Table 1. Its figures come from PyTorch, whose LSTM has two biases: 8H numbers more, which
# drown in the rounding.


# %%
def count(V, D, H, tie):
    return None


check("7.4", count)


# %% [markdown]
# ### Exercise 7.5 ★★★ One matrix, two uses · further
#
# A tied+L model without recurrence: ids $(n,)$ to $h = \tanh(E_{ids})$ to scores $s = h L E^\top$,
# $(n, V)$, with $L$ $(D, D)$. Write forward and backward; leave the gradients in `dE` and `dL`. The
# matrix $E$ is used twice, and words may repeat.


# %%
class MyTied:
    def __init__(self, E, L):
        self.E, self.L = E, L

    def forward(self, ids):
        return None

    def backward(self, ds):
        return None


check("7.5", MyTied)


# %% [markdown]
# ## 4 · What the softmax costs · further
#
# The output costs $H V$ multiplications a word, the two LSTM layers $4 H (D + H)$ and $8 H^2$: with
# $H = D = 600$ and $V = 10{,}000$ that is 6.0 million<!--= 600 * 10_000 / 1e6 --> against 5.8
# million<!--= 16 * 600**2 / 1e6 -->, and with a larger vocabulary the output is the most expensive
# part by far. With L between, a smaller $D$ makes it cheaper: $h L$ costs $H D$, the scores $D V$
# (Figure 1 of the paper, which calls L the bottleneck). Measured for $H = 600$ by `deepnlp bench
# bottleneck`, whose figure writes $n$ for $H$ and $m$ for $D$, as the paper does:
#
# ![Time of scores, softmax and loss over D, for 10,000 and 50,000
# words](../docs/maintaining/images/performance-bottleneck.png)
#
# The time falls less than the multiplications, because the $V$ exponentials of the softmax stay. A
# model may also predict fewer words than it reads: with `output_ids` input and output have
# vocabularies of their own, and a word in both has one vector ([the
# runs](../docs/results/output-vocabulary.md), by `deepnlp reproduce output-vocabulary`).
# Perplexities over different sets of words cannot be compared.
#
# ### Exercise 7.6 ★★ What a token costs · further
#
# Write `multiplications(V, D, H)`: how many are needed from one $h$ to its scores with L between?
# (Only the matrix products count, neither bias nor softmax.)


# %%
def multiplications(V, D, H):
    return None


check("7.6", multiplications)


# %% [markdown]
# ## 5 · A loss that knows which words are alike?
#
# Inan, Khosravi and Socher (2017) came to tying by another way. The cross-entropy counts every word
# but the target as equally wrong. But a word whose vector resembles that of the target $t$ is less
# wrong. So let the model also come near a distribution $q$:
#
# $$q = \mathrm{softmax}(E_t E^\top / \tau), \qquad
#   L' = \gamma \tau \, \mathrm{KL}\big(q \,\|\, \mathrm{softmax}(s / \tau)\big)$$
#
# with a high temperature $\tau$, so that all words have a say. For large $\tau$ its gradient pulls
# the output matrix towards $E$: with $W = E^\top$ one gets this for nothing.

# %%
from deepnlp.backend.functions import log_softmax, softmax

rng, tau, gamma = np.random.default_rng(0), 2.0, 0.5
E, h, targets = rng.normal(size=(7, 4)), rng.normal(size=(3, 4)), np.array([1, 6, 1])
q, log_p = softmax(E[targets] @ E.T / tau), log_softmax(h @ E.T / tau)
kl = np.sum(q * (np.log(q) - log_p), axis=1).mean()
assert np.isclose(AugmentedLoss(E.T, None, E, gamma, tau).forward(h, targets), gamma * tau * kl)

# %% [markdown]
# If the model gains by this term, is it because $q$ knows which words are alike? A **control**
# takes that knowledge away: the same term with a uniform $q$, the same for every word. (With
# vectors of zeros all scores are equal.) Training towards the uniform distribution as well is known
# as **label smoothing**.


# %%
def smoothed(model):
    """The model with a uniform q in its augmented loss."""
    (term,) = model._augmented
    term.E = Parameter(np.zeros((V, 1), "float32"))
    return model


epochs = 1 if short else 4
inan = {}
for tie in ("none", "tied"):
    variants = {
        "cross-entropy": lambda seed, tie=tie: fresh(2, tie, 0.2, seed),
        "and Inan's term": lambda seed, tie=tie: fresh(2, tie, 0.2, seed, augment=0.5),
        "and q uniform": lambda seed, tie=tie: smoothed(fresh(2, tie, 0.2, seed, augment=0.5)),
    }
    for name, make in variants.items():
        runs = [train(make(seed), epochs)[-1]["valid_perplexity"] for seed in seeds]
        inan[tie, name] = np.array(runs)
        print(f"{tie:5} {name:16}", "  ".join(f"{one:.1f}" for one in runs))
model = fresh(2, "tied", 0.2, augment=0.5)
train(model, epochs)
E = model.layers[0].W.value.astype(float)
q = softmax(E[valid_ids[:1000]] @ E.T / 20)
entropy = -np.sum(q * np.log(q), axis=1).mean()
print(f"entropy of q {entropy:.3f} nats, of the uniform distribution {np.log(V):.3f}")

# %% [markdown]
# On so little text the term lowers the perplexity by more than three points with every seed, untied
# and tied<!--= short or all(inan[tie, "and Inan's term"].max() < inan[tie, "cross-entropy"].min() -
# 3 for tie in ("none", "tied")) -->. But with the uniform $q$, which knows nothing, it is worth as
# much<!--= short or all(inan[tie, "and q uniform"].mean() < inan[tie, "and Inan's term"].mean() + 2
# for tie in ("none", "tied")) -->. The reason is the temperature. At $\tau = 20$, the package's
# default, $q$ has an entropy of 6.9<!--= entropy --> nats, nearly that of all words alike, $\log V$
# = 6.9<!--= np.log(V) -->. So what was measured is label smoothing. Whether it helps to know which
# words are alike, these runs do not show; without the control they would have seemed to.
#
# ### Exercise 7.7 ★★ Words that resemble the target
#
# Write `soft_targets(E, ids, tau)`: the distribution $q$ for each target, $(n, V)$.


# %%
def soft_targets(E, ids, tau):
    return None


check("7.7", soft_targets)


# %% [markdown]
# ## 6 · Vectors that were learned elsewhere · further
#
# The embedding may start from GloVe vectors, learned from six billion words, and be trained on or
# stay *frozen*. Runs on the Penn Treebank (`deepnlp reproduce glove`, one epoch, $H = 128$, $D =
# 50$):

# %%
glove = {  # validation perplexities, means of three seeds, of docs/results/glove.md
    "random": {"untied": 153.19, "tied": 166.19},
    "GloVe, frozen": {"untied": 177.80, "tied": 274.44},
    "GloVe, trained": {"untied": 148.37, "tied": 159.84},
}
bars(
    glove,
    title="Good vectors help as a start; frozen they do harm, most of all in a tied model",
    ylabel="validation perplexity, PTB, one epoch",
)

# %% [markdown]
# Trained on, both models are better than from random vectors with each of three seeds; in the
# mean<!--= all(glove["GloVe, trained"][tie] < glove["random"][tie] for tie in ("tied", "untied"))
# --> 148.4<!--= glove["GloVe, trained"]["untied"] --> against 153.2<!--=
# glove["random"]["untied"] --> untied. Frozen, the untied model loses 25<!--=
# glove["GloVe, frozen"]["untied"] - glove["random"]["untied"] --> points and the tied one
# 108<!--= glove["GloVe, frozen"]["tied"] - glove["random"]["tied"] -->. In the tied model the
# frozen rows are the output as well, and vectors that say which words are alike do not say which
# word comes next.
#
# ### Exercise 7.8 ★ What is still trained? · further
#
# A tied+L model with a frozen embedding. Which parameters of its *output* are still trained? Choose
# `"nothing"`, `"b alone"`, `"L and b"` or `"E, L and b"`.

# %%
trained = ...
check("7.8", trained)

# %% [markdown]
# ## 7 · All together
#
# What do the experiments recommend for the whole of `pydocs` with all its words? Tying helps there
# (section 3), and saves half of the parameters. Dropout in depth helped on 30,000 words; from ten
# times the text a model overfits less, so we take a little. The model has two layers so that you
# can see how they are stacked, not because they were better: [with three
# seeds](../docs/results/depth.md) one layer has the lower perplexity after three epochs. What
# follows is one run with one seed: it shows the way, and compares nothing. Layer by layer, and as
# `RNNLM` makes it, with the same loss:

# %%
import deepnlp

corpus = load_corpus("pydocs")
cut = 3000 if short else None
train_ids, valid_ids, test_ids = (ids[:cut] for ids in (corpus.train, corpus.valid, corpus.test))
V, D = len(corpus.vocab), 32 if short else 64
deepnlp.seed(6)

model = RNNLM(V, D, D, layers=2, tie="tied", dropout=0.1, embed_bound=0.3)
model.start_from_unigram(np.bincount(train_ids, minlength=V))
model.vocab = corpus.vocab

embed = Embedding(model.layers[0].W.value)
by_hand = Sequential(
    embed,
    TimeDropout(0.1),
    TimeLSTM.init(D, D, stateful=True),
    TimeDropout(0.1),
    TimeLSTM.init(D, D, stateful=True),
    TimeDropout(0.1),
)
output = AffineSoftmaxWithLoss(embed.W.T, model.output.b.value)  # the embedding, transposed
for one, other in zip(by_hand.parameters()[1:], model.parameters()[1:]):
    one.value = other.value
ids, targets = BPTTBatches(train_ids, 4, 10)[0]
with evaluating(model), evaluating(by_hand):
    assert output.forward(by_hand.forward(ids), targets) == model.forward(ids, targets)
print(f"{model.size():,} parameters, of them {embed.W.value.size:,} in the words")

# %%
history = train(model, 1 if short else 2, train_ids, valid_ids, N=10)
baselines = {"unigram": Unigram().fit(train_ids, V), "trigram": KneserNey(3).fit(train_ids, V)}
learning_curve(history, {name: one.perplexity(valid_ids) for name, one in baselines.items()})

# %%
for name, one in baselines.items():
    print(f"test perplexity, {name}: {one.perplexity(test_ids):.1f}")
print(f"test perplexity, our model: {perplexity(model, test_ids):.1f}")

# %% [markdown]
# ### What it writes
#
# Sampled word by word, a little below temperature 1 (a stroke stands for the end of a line).

# %%
from deepnlp.generation import generate

for seed, prompt in enumerate(["the function", "return a", "if the"]):
    rng = np.random.default_rng(seed)
    print(generate(model, prompt, length=30, temperature=0.8, rng=rng).replace("\n", " / "), "\n")

# %% [markdown]
# ### Its gates over a sentence · further
#
# For each gate of the first LSTM layer: the units that change most, and below each panel the mean
# over all of them.

# %%
from deepnlp.gradflow import gate_values

eos = corpus.vocab.eos_id
ends = np.flatnonzero(valid_ids == eos)
begin = ends[np.flatnonzero((np.diff(ends) >= 14) & (np.diff(ends) <= 20))[3]]
line = valid_ids[begin : begin + 18]
reader = model.layers[2]  # after the embedding and its dropout
with evaluating(model):
    x = model.layers[0].forward(line[None])
    hs = reader.forward(x)[0]
gates = gate_values(reader, x[0], np.concatenate([np.zeros_like(hs[:1]), hs[:-1]]))
gate_traces(
    corpus.vocab.decode(line),
    {"forget, f": gates["f"], "input, i": gates["i"], "output, o": gates["o"]},
    title="At the end of a line the forget gate shuts",
)

# %%
text = valid_ids[: 500 if short else 5_000]
with evaluating(model):
    reader.reset_state()
    x = model.layers[0].forward(text[None])
    hs = reader.forward(x)[0]
f = gate_values(reader, x[0], np.concatenate([np.zeros_like(hs[:1]), hs[:-1]]))["f"].mean(axis=1)
at_end, elsewhere = f[text == eos].mean(), f[text != eos].mean()
print(f"mean f at {np.sum(text == eos)} ends of lines {at_end:.2f}, elsewhere {elsewhere:.2f}")

# %% [markdown]
# Over a longer text, too, the gate of this one model is open less far at the end of a line than
# elsewhere<!--= short or at_end < 0.7 * elsewhere -->: what was kept of the line is dropped.

# %% [markdown]
# ## What to read next
#
# * **Lesson 8, sequence to sequence**: one language model reads, another writes. At full size, from
#   the shell: `chapters/ch07b_what_is_shared/` and `deepnlp reproduce`.
# * K. Saito, *Deep Learning from Scratch 2*, section 6.5, whose path this lesson follows.
# * Press and Wolf, *Using the output embedding to improve language models* (2017); Inan, Khosravi
#   and Socher, *Tying word vectors and word classifiers* (2017); Gulordava, Aina and Boleda, *How
#   to represent a word and predict it, too* (2018).
