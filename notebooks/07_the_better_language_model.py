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
# # Lesson 7 · The better language model
#
# **The question.** An LSTM language model reads and predicts words. What makes it better: more
# layers, dropout, one matrix for both ends, a cheaper output, vectors learned elsewhere?
#
# One model grows through this lesson, from a single LSTM layer to the one that you train on the
# whole of `pydocs`. Each section changes one thing and measures it. You need lesson 6: the LSTM,
# and the stories that test a memory.
#
# *Time.* To read and work: 90 minutes. To run from top to bottom: three minutes on one core, or
# some seconds with `DEEPNLP_LESSON=short`, which cuts every experiment down. To build it with its
# outputs: `python -m notebooks.build 07`.

# %%
from functools import partial

import numpy as np

import deepnlp
from deepnlp import Sequential
from deepnlp.backend.functions import log_softmax, softmax
from deepnlp.datasets import load_corpus
from deepnlp.evaluation import evaluating, perplexity
from deepnlp.generation import generate
from deepnlp.gradflow import gate_values
from deepnlp.layers import (
    LSTM,
    AffineSoftmaxWithLoss,
    AugmentedLoss,
    Embedding,
    TimeAffine,
    TimeDropout,
    TimeLSTM,
    Unrolled,
)
from deepnlp.lessons.exercises import check, short_form
from deepnlp.lessons.experiments.stories import WORDS, arrivals, learn_stories, story_net
from deepnlp.lessons.figures import gate_traces, layers_in_time
from deepnlp.models import RNNLM
from deepnlp.models.ngrams import KneserNey, Unigram
from deepnlp.optimizers import Adam, clip_gradients
from deepnlp.plots import bars, curves, learning_curve
from deepnlp.training import BPTTBatches, Linear

short = short_form()

# %% [markdown]
# ## 1 · One layer, and more
#
# The first sections use 30,000 words of `pydocs` with a vocabulary of 1,000. The counting models of
# lesson 5 are there to compare with, and the training loop is that of lesson 5, with clipping.

# %%
corpus = load_corpus("pydocs", vocab_size=1000)
train_ids = corpus.train[: 4_000 if short else 30_000]
valid_ids = corpus.valid[: 800 if short else 5_000]
V = len(corpus.vocab)
counts = np.bincount(train_ids, minlength=V)
unigram = Unigram().fit(train_ids, V).perplexity(valid_ids)
trigram = KneserNey(3).fit(train_ids, V).perplexity(valid_ids)
print(f"validation perplexity: unigram {unigram:.1f}, trigram {trigram:.1f}")


def train(model, epochs, ids=train_ids, valid=valid_ids, N=20, T=35, lr=0.01):
    """Truncated BPTT with Adam; perplexity on training and validation text after each epoch."""
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
        texts = {"train_perplexity": ids[: len(valid)], "valid_perplexity": valid}
        found = {name: perplexity(model, text, batch_size=10) for name, text in texts.items()}
        history.append({"epoch": epoch, "lr": lr if epoch == 1 else optimizer.lr, **found})
    return history


def fresh(layers=2, tie="tied", dropout=0.0, **options):
    """A model of LSTM layers with 64 units that begins as the unigram model."""
    options = {"embed_bound": 0.3, "rng": np.random.default_rng(0), **options}
    model = RNNLM(V, 64, 64, layers, tie=tie, dropout=dropout, **options)
    model.start_from_unigram(counts)
    return model


# %% [markdown]
# A stacked network reads its own states: the $h$ of one layer is the $x$ of the next, $(N, T, H)$.

# %%
sentence = ["the", "function", "returns", "a", "list"]
layers_in_time(fresh(2, "none"), sentence, title="Two layers: h goes up as well, c does not")

# %% [markdown]
# On the Penn Treebank, with 900,000 words, two to four layers do best, the notes say. Here, with
# two matrices and no dropout:

# %%
epochs = 1 if short else 4
by_layers = {}
for layers in (1, 2) if short else (1, 2, 3):
    model = fresh(layers, "none")
    last = train(model, epochs)[-1]
    by_layers[f"{layers} layer{'s' * (layers > 1)}\n{model.size():,} numbers"] = {
        "training text": last["train_perplexity"],
        "validation text": last["valid_perplexity"],
    }
depth = np.array([[*pair.values()] for pair in by_layers.values()])  # (layers, 2)
bars(
    by_layers,
    title=f"On so little text, depth does not pay (after {epochs} epochs)",
    ylabel="perplexity",
    levels={"unigram": unigram, "trigram": trigram},
)

# %% [markdown]
# Depth alone does not help here: with 30,000<!--= len(train_ids) --> words there is little to
# learn. And look at the two bars of each pair. On the text it was trained on, one layer reaches a
# perplexity of 31<!--= depth[0, 0] -->, on new text 115<!--= depth[0, 1] -->. That **gap** is
# *overfitting*: the model has learned the text and not the language. Judge a model by its
# validation text. (On all of `pydocs`, in three epochs, a further layer does not help either, and
# the matrix L of section 3 gains less in a deeper model: [the runs](../docs/results/depth.md), by
# `deepnlp reproduce depth`.)
#
# ## 2 · Dropout, and where to put it
#
# **Dropout** sets each number to zero with probability $p$ while training, and multiplies the
# others by $1 / (1 - p)$ so that the mean stays. No unit can rely on another being there. In a
# recurrent network there are two directions for it. In **depth**, it acts on what goes up (Zaremba,
# Sutskever and Vinyals 2014):

# %%
layers_in_time(fresh(2, "none", 0.2), sentence, title="Dropout in depth: each colour is a mask")

# %% [markdown]
# In **time**, it acts on the state between two steps. Either may be **locked**, one mask for all
# steps of a sequence (Gal and Ghahramani 2016).

# %%
rng = np.random.default_rng(0)
noisy = [Unrolled(LSTM.init(64, 64, rng), dropout=(0.2, 0.2), locked=k == 1) for k in (0, 1)]
net = Sequential(Embedding.init(V, 64), *noisy, TimeAffine.init(64, V))
layers_in_time(
    net, sentence, title="Dropout in time: fresh masks in the lower layer, locked in the upper"
)

# %% [markdown]
# Dropout in time is a bad idea, say the notes, because its noise accumulates. The clearest case is
# a memory that only keeps ($f = 1$, $i = 0$):

# %%
rng = np.random.default_rng(0)
p, units = 0.3, 100_000
c = np.ones(units)
alive, spread_of_c = [1.0], [0.0]
for _ in range(12):
    c = c * (rng.random(units) >= p) / (1 - p)
    alive.append(float(np.mean(c > 0)))
    spread_of_c.append(float(c.std()))
t = np.arange(13)
assert np.allclose(alive, (1 - p) ** t, atol=0.01)
curves(
    {
        "memories alive": (t, alive),
        "mean of $c$": (t, [1.0] * 13),
        "spread of $c$\n(std. deviation)": (t, spread_of_c),
    },
    title="Dropout on $c$ with p = 0.3: the mean is kept, the memories are not",
    xlabel="steps",
    ylabel="share, or size of $c$ (1 at the start)",
)

# %% [markdown]
# After ten steps 3 %<!--= 0.7**10 --> of the memories are still there, and each survivor has grown
# by $1 / (1 - p)$ per step, to the 35-fold<!--= 0.7**-10 -->. A mask locked on $c$ spares the same
# units at every step, and those grow just as fast.
#
# Is it the time or the memory cell that matters? Four cases over three seeds, on the story *who was
# first?* of lesson 6: dropout on $h$ alone, or on $h$ and $c$, with fresh masks or a locked one.

# %%
seeds = [0] if short else [0, 1, 2]
first = partial(arrivals, which=0)


def recall(dropout, locked, seed):
    """Share of right answers after training with dropout on (h,) or (h, c) in time."""

    def make(D, H, rng):
        return Unrolled(LSTM.init(D, H, rng, forget_bias=3.0), dropout, locked, rng)

    return learn_stories(story_net(make, WORDS, seed), first, 20, 10 if short else 200, seed)


recalled = {
    "no dropout": [recall((), False, s) for s in seeds],
    "h, fresh": [recall((0.3,), False, s) for s in seeds],
    "h, locked": [recall((0.3,), True, s) for s in seeds],
    "h and c, fresh": [recall((0.3, 0.3), False, s) for s in seeds],
    "h and c, locked": [recall((0.3, 0.3), True, s) for s in seeds],
}
for name, runs in recalled.items():
    print(f"{name:16}", "  ".join(f"{one:.2f}" for one in runs))
bars(
    {name: {"right": float(np.mean(runs))} for name, runs in recalled.items()},
    title="Who was first, 20 words ago? Dropout on h does no harm, dropout on c does",
    ylabel="right answers, mean of the seeds",
    levels={"chance": 1 / 8},
    number=".2f",
)

# %% [markdown]
# Dropout on $h$ does no harm, with fresh masks or a locked one <!--= short or min(recalled["h,
# fresh"] + recalled["h, locked"]) > 0.9 -->. What does the damage is dropout on $c$: with fresh
# masks the answers are a guess, 0.17<!--= float(np.mean(recalled["h and c, fresh"])) --> right;
# with a locked mask 0.65<!--= float(np.mean(recalled["h and c, locked"])) -->. So the rule of the
# notes, no dropout in time, is too strict for an LSTM. What has to be spared is the memory cell.
# (`chapters/ch07_the_better_language_model/dropout_in_time.py` has $c$ alone as well.)
#
# Now the language model: two layers and the gap between the texts. Dropout in time is here
# `weight_drop`, which zeroes entries of $W_h$, one mask for a window: the way through $h$ is
# thinned, and $c$ is left alone (Merity, Keskar and Socher 2018).

# %%
epochs = 1 if short else 6
kinds = {
    "none": {},
    "depth": {"dropout": 0.2},
    "locked depth": {"dropout": 0.2, "locked_dropout": True},
    "weight drop": {"weight_drop": 0.2},
}
gaps, ratio = {}, {}
for kind, options in kinds.items():
    last = train(fresh(2, **options), epochs)[-1]
    gaps[kind] = {
        "training text": last["train_perplexity"],
        "validation text": last["valid_perplexity"],
    }
    ratio[kind] = last["valid_perplexity"] / last["train_perplexity"]
    print(f"{kind:22} validation over training: {ratio[kind]:.2f}")
bars(
    gaps,
    title=f"Dropout narrows the gap between training and validation ({epochs} epochs)",
    ylabel="perplexity",
    levels={"trigram": trigram},
)

# %% [markdown]
# Without dropout the validation perplexity is 4.1<!--= ratio["none"] --> times that of the training
# text, with dropout in depth 3.2<!--= ratio["depth"] --> times, with weight drop 3.9<!--=
# ratio["weight drop"] --> times.
#
# ### Exercise 7.1 ★ Noise in time
#
# A memory with $f = 1$, $i = 0$ and dropout in time with $p = 0.5$: which share of its units is
# still other than zero after ten steps?

# %%
share = ...
check("7.1", share)

# %% [markdown]
# ### Exercise 7.2 ★★ A mask locked over time
#
# Write `locked_dropout(x, p, rng)` for $x$ of shape $(N, T, D)$: inverted dropout with one mask for
# all steps of a row, another one for each row.


# %%
def locked_dropout(x, p, rng):
    return None


check("7.2", locked_dropout)


# %% [markdown]
# ## 3 · Tying the weights
#
# The model has two matrices with a row for every word: the embedding $E$ $(V, D)$, where words come
# in, and the output matrix, where they go out. **Weight tying** (Press and Wolf 2017; Inan,
# Khosravi and Socher 2017) makes them one: $s = h E^\top + b$, which needs $D = H$.

# %%
layers_in_time(fresh(2, "tied", 0.2), sentence, title="Tied: the output is the embedding")

# %% [markdown]
# In code this is the natural thing to write, as the transpose of a Parameter is the same Parameter,
# read the other way. Its gradient is a sum over both uses (exercise 7.5). That is a part of why it
# helps: in an untied model the row of a rare word in $E$ learns only where that word is read. Tied,
# it learns at every step, as an output that should have been more or less likely.
#
# ### When D and H differ
#
# The weight-tying note draws vectors as columns and puts two projections around the recurrence,
# $P_{DH}$ on the way in and $P_{HD}$ on the way out:
#
# $$h_t = f(P_{DH}\, e_t + W_{hh} h_{t-1} + b_1), \qquad s_t = U P_{HD}\, h_t + b_2$$
#
# In row vectors $P_{DH}$ is our $W_x$, transposed, and $P_{HD}$ the matrix **L** $(H, D)$ between
# state and embedding, transposed: *tied+L* (Gulordava, Aina and Boleda 2018). The note's closing
# summary exchanges the two names, and for $D = H$ it drops $P_{DH}$, which gives another model.
#
# ### Why tied+L helps
#
# The paper's argument: the score of word $j$ is $e_j \cdot h_t$, so training pulls $h_t$ towards
# the embedding of the word that comes next. But $h_t$ has a second job, to carry the past to step
# $t + 1$, and the two may be at odds. With L between, $h_t L$ can point at the next word, and $h_t$
# stays free. (The paper adds that for *each* dimension $k$ the product $h_k e_{ik}$ increases. Only
# the sum must.)
#
# After training we measure the cosine between $h_t$ and the embedding of the word that did come
# next; and that between what is multiplied by the output matrix ($h_t$, or $h_t L$) and the word's
# row of it.


# %%
def cosine(a, b):
    return np.mean(np.sum(a * b, axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1))


epochs, ids = 1 if short else 5, valid_ids[:1000]
pointing, tied_perplexity = {}, {}
for tie in ("none", "tied", "tied+L"):
    model = fresh(2, tie, dropout=0.2)
    tied_perplexity[tie] = train(model, epochs)[-1]["valid_perplexity"]
    with evaluating(model):
        model.reset_state()
        x = model.hidden(ids[None, :-1])[0]  # h, or with L h L
        model.reset_state()
        states = Sequential(*(one for one in model.layers if not isinstance(one, TimeAffine)))
        h = states.forward(ids[None, :-1])[0]
    E, W = model.layers[0].W.value, model.output.W.value.T
    pointing[tie] = {
        "h and E": cosine(h, E[ids[1:]]),
        "output's input and matrix": cosine(x, W[ids[1:]]),
    }
    told = f"validation perplexity {tied_perplexity[tie]:.1f}"
    print(f"{tie:6} {model.size():9,} parameters, {told}")
bars(
    pointing,
    title="Tied, h points at the row of the next word; with L, hL does it",
    ylabel="mean cosine with the next word",
    number=".2f",
)

# %% [markdown]
# In the tied model $h$ points towards the row of the next word, with a mean cosine of 0.24<!--=
# pointing["tied"]["h and E"] -->. With L between, $hL$ does the pointing, 0.24<!--=
# pointing["tied+L"]["output's input and matrix"] -->, and $h$ is nearly at right angles to the
# embeddings, -0.01<!--= pointing["tied+L"]["h and E"] -->, as in the untied model, 0.02<!--=
# pointing["none"]["h and E"] -->. On so little text the perplexities of a single run decide
# nothing. On the whole of `pydocs`, with 5,000 words and 128 units,
# `chapters/ch07_the_better_language_model/tying.py` measures 78.8 without tying, 70.5 tied and 68.5
# tied+L. On the Penn Treebank (Table 1 of the paper) tying is worth 4 to 5 points, and L up to 0.8
# more.  (The paper says that tied+L with 600 units and embeddings of 400 has 55 % of the parameters
# of the tied model with 600; by its own table it is 81 %<!--= 9.5 / 11.8 -->.)
#
# ### Exercise 7.3 ★ Which matrix is P_HD?
#
# Which matrix of the package is the note's $P_{HD}$, the one of its definitions?

# %%
p_hd = ...  # "Wx transposed", "L transposed", "E transposed" or "Wh transposed"
check("7.3", p_hd)

# %% [markdown]
# ### Exercise 7.4 ★★ Count the parameters
#
# Write `count(V, D, H, tie)`: how many numbers has a language model with two LSTM layers and an
# output bias? The ways of tying are `"none"`, `"tied"` and `"tied+L"`. (L has no bias.) Then try
# $V = 10{,}000$ with the sizes of the paper's Table 1. Its figures come from PyTorch, whose LSTM
# has two biases: 8H numbers more, which drown in the rounding.


# %%
def count(V, D, H, tie):
    return None


check("7.4", count)


# %% [markdown]
# ### Exercise 7.5 ★★★ One matrix, two uses
#
# A tied+L model without recurrence: ids $(n,)$ to $h = \tanh(E_{ids})$ to scores
# $s = h L E^\top$, $(n, V)$, with $L$ $(D, D)$. Write forward and backward; leave the gradients in
# `dE` and `dL`. The matrix $E$ is used twice, and words may repeat.


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
# ## 4 · What the softmax costs
#
# The output is the most expensive part of the model: $H V$ multiplications a word, and $V$ is much
# larger than anything else. With L between, a smaller $D$ makes it cheaper: $h L$ costs $H D$, the
# scores $D V$ (Figure 1 of the paper). Measured for $H = 600$ by `deepnlp bench bottleneck`:
#
# ![Time of scores, softmax and loss over D, for 10,000 and 50,000
# words](../docs/images/performance-bottleneck.png)
#
# The time falls less than the multiplications, because the $V$ exponentials of the softmax stay. A
# model may also predict fewer words than it reads: with `output_ids` input and output have
# vocabularies of their own, and a word in both has one vector ([the
# runs](../docs/results/output-vocabulary.md), by `deepnlp reproduce output-vocabulary`).
# Perplexities over different sets of words cannot be compared.
#
# ### Exercise 7.6 ★★ What a token costs
#
# Write `multiplications(V, D, H)`: how many are needed from one $h$ to its scores with L between?


# %%
def multiplications(V, D, H):
    return None


check("7.6", multiplications)


# %% [markdown]
# ## 5 · A loss that knows which words are alike
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
rng, tau, gamma = np.random.default_rng(0), 2.0, 0.5
E, h, targets = rng.normal(size=(7, 4)), rng.normal(size=(3, 4)), np.array([1, 6, 1])
q, log_p = softmax(E[targets] @ E.T / tau), log_softmax(h @ E.T / tau)
kl = np.sum(q * (np.log(q) - log_p), axis=1).mean()
assert np.isclose(AugmentedLoss(E.T, None, E, gamma, tau).forward(h, targets), gamma * tau * kl)

epochs = 1 if short else 4
inan = {}
for tie in ("none", "tied"):
    for name, weight in (("cross-entropy", 0.0), ("and Inan's term", 0.5)):
        model = fresh(2, tie, dropout=0.2, augment=weight)
        inan[tie, name] = train(model, epochs)[-1]["valid_perplexity"]
        print(f"{tie:5} {name:16} validation perplexity {inan[tie, name]:.1f}")

# %% [markdown]
# Here the term is worth a lot, on so little text: untied 113.5<!--= inan["none", "and Inan's term"]
# --> instead of 126.1<!--= inan["none", "cross-entropy"] -->, tied 111.9<!--= inan["tied", "and
# Inan's term"] --> instead of 127.8<!--= inan["tied", "cross-entropy"] -->.
#
# ### Exercise 7.7 ★★ Words that resemble the target
#
# Write `soft_targets(E, ids, tau)`: the distribution $q$ for each target, $(n, V)$.


# %%
def soft_targets(E, ids, tau):
    return None


check("7.7", soft_targets)


# %% [markdown]
# ## 6 · Vectors that were learned elsewhere
#
# The embedding may start from GloVe vectors, learned from six billion words, and be trained on or
# stay *frozen*. Runs on the Penn Treebank (`deepnlp reproduce glove`, one epoch, $H = 128$, $D =
# 50$):

# %%
glove = {  # validation perplexities, of docs/results/glove.md
    "random": {"untied": 154.32, "tied": 167.44},
    "GloVe, frozen": {"untied": 177.43, "tied": 275.13},
    "GloVe, trained": {"untied": 148.41, "tied": 160.28},
}
bars(
    glove,
    title="Good vectors help as a start; frozen they do harm, most of all in a tied model",
    ylabel="validation perplexity, PTB, one epoch",
)

# %% [markdown]
# Trained on, both models are better than from random vectors <!--= all(glove["GloVe, trained"][tie]
# < glove["random"][tie] for tie in ("tied", "untied")) -->: 148.4<!--= glove["GloVe,
# trained"]["untied"] --> against 154.3<!--= glove["random"]["untied"] --> untied. Frozen, the
# untied model loses 23<!--= glove["GloVe, frozen"]["untied"] - glove["random"]["untied"] --> points
# and the tied one 108<!--= glove["GloVe, frozen"]["tied"] - glove["random"]["tied"] -->. In the
# tied model the frozen rows are the output as well, and vectors that say which words are alike do
# not say which word comes next.
#
# ### Exercise 7.8 ★ What is still trained?
#
# A tied+L model with a frozen embedding. Which parameters of its *output* are still trained? Choose
# `"nothing"`, `"b alone"`, `"L and b"` or `"E, L and b"`.

# %%
trained = ...
check("7.8", trained)

# %% [markdown]
# ## 7 · All together
#
# Embedding, two LSTM layers, dropout in depth, the output tied, for the whole of `pydocs` with all
# its words: layer by layer, and as `RNNLM` makes it, with the same loss.

# %%
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
# Sampled word by word, a little below temperature 1 (a stroke stands for the end of a line):
# nonsense, but its phrases hang together beyond three words.

# %%
for seed, prompt in enumerate(["the function", "return a", "if the"]):
    rng = np.random.default_rng(seed)
    print(generate(model, prompt, length=30, temperature=0.8, rng=rng).replace("\n", " / "), "\n")

# %% [markdown]
# ### Its gates over a sentence
#
# For each gate of the first LSTM layer: the units that change most, and below each panel the mean
# over all of them.

# %%
eos = corpus.vocab.eos_id
ends = np.flatnonzero(valid_ids == eos)
begin = ends[np.flatnonzero((np.diff(ends) >= 14) & (np.diff(ends) <= 20))[3]]
line = valid_ids[begin : begin + 18]
reader = model.layers[2]  # after the embedding and its dropout
with evaluating(model):
    x = model.layers[0].forward(line[None])
    hs = reader.forward(x)[0]
gates = gate_values(reader, x[0], np.concatenate([np.zeros_like(hs[:1]), hs[:-1]]))
at_end = gates["f"][line == eos].mean()
gate_traces(
    corpus.vocab.decode(line),
    {"forget, f": gates["f"], "input, i": gates["i"], "output, o": gates["o"]},
    title=f"At the end of a line the memory is wiped: f falls to {at_end:.2f} on average",
)

# %% [markdown]
# ## What to read next
#
# * **Lesson 8, sequence to sequence**: one language model reads, another writes. At full size, from
#   the shell: `chapters/ch07_the_better_language_model/` and `deepnlp reproduce`.
# * K. Saito, *Deep Learning from Scratch 2*, section 6.5, whose path this lesson follows.
# * Zaremba, Sutskever and Vinyals, *Recurrent neural network regularization* (2014); Gal and
#   Ghahramani, *A theoretically grounded application of dropout in recurrent neural networks*
#   (2016); Merity, Keskar and Socher, *Regularizing and optimizing LSTM language models* (2018).
# * Press and Wolf, *Using the output embedding to improve language models* (2017); Inan, Khosravi
#   and Socher, *Tying word vectors and word classifiers* (2017); Gulordava, Aina and Boleda, *How
#   to represent a word and predict it, too* (2018).
