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
# **The question.** An LSTM language model reads a text and predicts its next words. What makes it
# better? In this lesson you stack several layers on each other and see when that helps, and you
# keep the model from learning its text by heart. The second part, *What is shared* (07b), lets the
# two matrices that have a row for every word be one, and puts everything together.
#
# You need lesson 6: the LSTM, and the stories that test a memory. Every comparison is made with
# three seeds, on a text that the model has not seen.
#
# *Time.* Core: 60 minutes, 5 of them for running; seconds with `DEEPNLP_LESSON=short`, which cuts
# every experiment down.

# %%

import numpy as np

from deepnlp.datasets import load_corpus
from deepnlp.evaluation import perplexity
from deepnlp.lessons.exercises import check, short_form
from deepnlp.models import RegularisedRNNLM

short = short_form()
seeds = [0] if short else [0, 1, 2]

# %% [markdown]
# ## 1 · One layer, and more
#
# The models learn from 30,000 words of `pydocs`, with a vocabulary of 1,000. The 5,000 words after
# these are put aside: no model learns from them, but unlike the validation text they come from the
# same documents as the training text, which will be of use below. The training loop is that of
# lesson 5, with clipping.

# %%
from deepnlp.optimizers import Adam, clip_gradients
from deepnlp.training import BPTTBatches, Linear

corpus = load_corpus("pydocs", vocab_size=1000)
cut = 4_000 if short else 30_000
train_ids, aside_ids = corpus.train[:cut], corpus.train[cut : cut + (800 if short else 5_000)]
valid_ids = corpus.valid[: len(aside_ids)]
V = len(corpus.vocab)
counts = np.bincount(train_ids, minlength=V)
texts = {"training": train_ids[: len(aside_ids)], "aside": aside_ids, "validation": valid_ids}


def train(model, epochs, N=20, T=35, lr=0.01):
    """Truncated BPTT with Adam; perplexity on each text at the end."""
    batches, optimizer = BPTTBatches(train_ids, N, T), Adam(model.parameters(), lr=lr)
    schedule, step = Linear(epochs * len(batches), floor=0.05), 0
    for _ in range(epochs):
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
    return [perplexity(model, text, batch_size=10) for text in texts.values()]


def fresh(layers=2, tie="tied", dropout=0.0, seed=0, **options):
    """A model of LSTM layers with 64 units that begins as the unigram model."""
    options = {"embed_bound": 0.3, "rng": np.random.default_rng(seed), **options}
    model = RegularisedRNNLM(V, 64, 64, layers, tie=tie, dropout=dropout, **options)
    model.start_from_unigram(counts)
    return model


# %% [markdown]
# The step from the simple RNN of lesson 5 to one LSTM layer is measured elsewhere, for both at a
# rate of their own: [the ladder](../docs/results/ladder.md). In a stacked network one LSTM reads
# the states of another: the $h$ of the lower layer, $(N, T, H)$, is the $x$ of the upper one.

# %%
from material.figures import layers_in_time

sentence = ["the", "function", "returns", "a", "list"]
layers_in_time(fresh(2, "none"), sentence, title="Two layers: h goes up as well, c does not")

# %% [markdown]
# For the Penn Treebank, with 900,000 words and dozens of epochs, two to four layers are the usual
# choice. Here the text is small, and there are four epochs. The models have two separate matrices
# of words and no dropout. Since one learning rate need not suit models of every size, each size is
# trained with three rates, and then with two further seeds at the rate that was best for it.

# %%
from deepnlp.models.ngrams import KneserNey, Unigram
from deepnlp.plots import bars, curves

epochs, rates = 1 if short else 4, [0.01] if short else [0.005, 0.01, 0.02]
by_layers, tried = {}, {}
for layers in (1, 2) if short else (1, 2, 3):
    for rate in rates:
        tried[layers, rate] = train(fresh(layers, "none"), epochs, lr=rate)
    best = min(rates, key=lambda rate: tried[layers, rate][2])
    more = [train(fresh(layers, "none", seed=k), epochs, lr=best) for k in seeds[1:]]
    by_layers[layers] = np.array([tried[layers, best], *more])  # (seeds, texts)
    print(f"{layers} layers, rate {best}: training and validation perplexity",
          *(f"{one[0]:.0f} / {one[2]:.0f}" for one in by_layers[layers]), sep="  ")  # fmt: skip
unigram, trigram = (
    [counter.fit(train_ids, V).perplexity(text) for text in texts.values()]
    for counter in (Unigram(), KneserNey(3))
)
bars(
    {
        f"{layers} layer{'s' * (layers > 1)}": dict(zip(texts, runs.mean(axis=0)))
        for layers, runs in by_layers.items()
    },
    title=f"In {epochs} epochs, a deeper model learns less, of every text",
    ylabel="perplexity, mean of the seeds",
    levels={"trigram, validation": trigram[2]},
)

# %% [markdown]
# The deeper models are worse on the validation text<!--= short or by_layers[1][:, 2].mean() <
# by_layers[2][:, 2].mean() < by_layers[3][:, 2].mean() -->. It would be wrong to conclude that
# there is too little text for so many weights, since they are worse on the *training* text too<!--=
# short or by_layers[1][:, 0].mean() < by_layers[2][:, 0].mean() < by_layers[3][:, 0].mean() -->:
# they have not learned even that. What fails in so few updates is the optimisation. For all three
# sizes the largest of the three rates was the best<!--= short or all(min(rates, key=lambda rate:
# tried[n, rate][2]) == max(rates) for n in by_layers) -->, so that a still larger one might do
# more, although one seed of three layers already ended far above the others at it<!--= short or
# by_layers[3][:, 2].max() > 1.2 * np.median(by_layers[3][:, 2]) -->. On all of `pydocs` the order
# is the same after three epochs, at one rate for all sizes ([the runs](../docs/results/depth.md),
# by `deepnlp reproduce depth`).
#
# ### What is overfitting here?
#
# In the first group of bars, one layer has a far lower perplexity on the text that it was trained
# on than on the validation text. It is tempting to say that the difference is what the model has
# learned by heart. But the two texts differ anyway, and one may be harder to predict than the other
# for any model. To find out we need a model that has seen neither of them. We train a trigram
# (lesson 5) on the 25,000 words after the first 5,000, and ask it for these 5,000 and for the
# validation text.

# %%
rest = train_ids[len(aside_ids) :]
unseen = KneserNey(3).fit(rest, V)
easier = unseen.perplexity(valid_ids) / unseen.perplexity(texts["training"])
gap = by_layers[1].mean(axis=0)
print(f"a trigram that saw neither: validation over training region {easier:.2f}")
print(f"one layer: validation over training {gap[2] / gap[0]:.2f}, aside over training "
      f"{gap[1] / gap[0]:.2f}")  # fmt: skip

# %% [markdown]
# For a model that has learned neither by heart, the validation text is harder by a factor of 2.1 ±
# 0.2<!--= easier -->. Only the rest of the ratio of 5.3 ± 0.9<!--= gap[2] / gap[0] --> is therefore
# due to **overfitting**, to knowing this text rather than the language. The words put aside show it
# unmixed, because they come from the same documents as the training text: between these two the
# ratio is 2.4 ± 0.5<!--= gap[1] / gap[0] -->. A ratio is a bad measure of a model in any case,
# since a model can improve it by learning less. From here on we judge by the validation perplexity
# alone.
#
# ## 2 · Dropout, and where to put it
#
# While a model is trained, **dropout** sets each number to zero with probability $p$, so that no
# unit can rely on another being there, and multiplies the others by $1 / (1 - p)$, so that the mean
# stays as it was. A recurrent network offers two directions for it. In **depth**, dropout acts on
# what goes up from layer to layer (Zaremba, Sutskever and Vinyals 2014):

# %%
layers_in_time(fresh(2, "none", 0.2), sentence, title="Dropout in depth: each colour is a mask")

# %% [markdown]
# In **time**, it acts on the state on its way from one step to the next. In both directions the
# mask may be drawn afresh at every step, or be **locked**: drawn once and used at all steps of a
# sequence (Gal and Ghahramani 2016).

# %%
from deepnlp import Sequential
from deepnlp.layers import LSTM, Embedding, TimeAffine, Unrolled

rng = np.random.default_rng(0)
noisy = [Unrolled(LSTM.init(64, 64, rng), dropout=(0.2, 0.2), locked=k == 1) for k in (0, 1)]
net = Sequential(Embedding.init(V, 64), *noisy, TimeAffine.init(64, V))
layers_in_time(
    net, sentence, title="Dropout in time: fresh masks in the lower layer, locked in the upper"
)

# %% [markdown]
# Many texts warn of dropout in time, because its noise accumulates. This is plainest in a memory
# cell that only keeps what it has ($f = 1$, $i = 0$):

# %%
rng = np.random.default_rng(0)
p, units = 0.3, 100_000
c = np.ones(units)
alive, mean_of_c, spread_of_c = [1.0], [1.0], [0.0]
for _ in range(12):
    c = c * (rng.random(units) >= p) / (1 - p)
    alive.append(float(np.mean(c > 0)))
    mean_of_c.append(float(c.mean()))
    spread_of_c.append(float(c.std()))
t = np.arange(13)
assert np.allclose(alive, (1 - p) ** t, atol=0.01)
curves(
    {
        "memories alive": (t, alive),
        "mean of $c$": (t, mean_of_c),
        "spread of $c$\n(std. deviation)": (t, spread_of_c),
    },
    title="Dropout on $c$ with p = 0.3: the mean is kept, the memories are not",
    xlabel="steps",
    ylabel="share, or size of $c$ (1 at the start)",
)

# %% [markdown]
# After ten steps only 3 %<!--= 0.7**10 --> of the memories are left, and each of these has been
# multiplied by $1 / (1 - p)$ at every step, so that it is 35 times<!--= 0.7**-10 --> as large as at
# the start. If the mask on $c$ is locked, the same units are spared at every step, but they grow
# just as fast. Moon and others (2015) therefore lock the mask on $c$ and leave out the factor,
# while Semeniuta, Severyn and Barth (2016) leave $c$ alone and apply dropout to the candidate $g$,
# which is only added to it.
#
# Is it the direction, time, that does the harm, or is it the memory cell? The story *who was
# first?* of lesson 6 can tell. We train on it with dropout in time on $h$ alone, with fresh masks,
# and on both $h$ and $c$, once with fresh masks and once with locked ones, with three seeds each.

# %%
from functools import partial

from material.stories import WORDS, arrivals, learn_stories, story_net

first = partial(arrivals, which=0)


def recall(dropout, locked, seed):
    """Share of right answers after training with dropout on (h,) or (h, c) in time."""

    def make(D, H, rng):
        return Unrolled(LSTM.init(D, H, rng, forget_bias=3.0), dropout, locked, rng)

    return learn_stories(story_net(make, WORDS, seed), first, 20, 10 if short else 200, seed)


recalled = {
    "h, fresh": [recall((0.3,), False, s) for s in seeds],
    "h and c, fresh": [recall((0.3, 0.3), False, s) for s in seeds],
    "h and c, locked": [recall((0.3, 0.3), True, s) for s in seeds],
}
for name, runs in recalled.items():
    print(f"{name:16}", "  ".join(f"{one:.2f}" for one in runs))

# %% [markdown]
# In this task, whose answer is kept in $c$, dropout on $h$ does no harm<!--= short or
# min(recalled["h, fresh"]) > 0.9 -->, even though it acts in time. With fresh masks on $c$ the
# answers are hardly better than a guess, which is right once in eight times<!--= short or
# max(recalled["h and c, fresh"]) < 0.4 -->, and a locked mask does less harm<!--= short or
# min(recalled["h and c, locked"]) > max(recalled["h and c, fresh"]) + 0.1 -->. So what has to be
# spared is the memory cell. (`chapters/ch07_the_better_language_model/dropout_in_time.py` has $c$
# alone as well.)
#
# Now we compare the kinds of dropout in a language model with two layers. The one in time is called
# `weight_drop`: it sets entries of $W_h$ to zero, with one mask for each window, so that the way
# through $h$ is thinned and $c$ is left alone (Merity, Keskar and Socher 2018, after the
# *DropConnect* of Wan and others 2013).

# %%
epochs = 1 if short else 6
kinds = {
    "none": {},
    "depth": {"dropout": 0.2},
    "locked depth": {"dropout": 0.2, "locked_dropout": True},
    "weight drop": {"weight_drop": 0.2},
}
dropped = {}  # validation perplexities, by seed
for kind, options in kinds.items():
    dropped[kind] = np.array([train(fresh(seed=k, **options), epochs)[2] for k in seeds])
    print(f"{kind:14}", "  ".join(f"{one:.1f}" for one in dropped[kind]))
none = dropped["none"].mean()
bars(
    {kind: {"validation": of.mean()} for kind, of in dropped.items()},
    title=f"Dropout in depth helps, weight drop does not (after {epochs} epochs)",
    ylabel="validation perplexity, mean of the seeds",
    levels={"trigram": trigram[2]},
)

# %% [markdown]
# Dropout in depth, with fresh or locked masks, lowers the perplexity by 7 ± 3<!--= none -
# min(dropped["depth"].mean(), dropped["locked depth"].mean()) --> points in the mean, and by more
# than one point with every seed<!--= short or dropped["none"].min() > 1 +
# max(dropped["depth"].max(), dropped["locked depth"].max()) -->. Weight drop makes no difference
# here<!--= short or abs(none - dropped["weight drop"].mean()) < 2.5 -->. All of these models are
# still behind the trigram, which has 113<!--= trigram[2] --><!--= short or min(of.mean() for of in
# dropped.values()) > trigram[2] -->: from thirty thousand words it is hard to learn more than
# counting finds. In the second part the models share more of their weights, and in the end they get
# more text.
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
# Write `locked_dropout(x, p, rng)` for $x$ of shape $(N, T, D)$: dropout with probability $p$, the
# rest divided by $1 - p$, with one mask for all steps of a row and another one for each row. Draw
# it from `rng`, and leave $x$ as it is.


# %%
def locked_dropout(x, p, rng):
    return None


check("7.2", locked_dropout)

# %% [markdown]
# ## What to read next
#
# * **Lesson 7b, what is shared**: the embedding and the output as one matrix, and the whole recipe.
#   At full size, from the shell: `chapters/ch07_the_better_language_model/` and `deepnlp
#   reproduce`.
# * **What is not here**: a penalty on the size of the weights (L2; `weight_decay` in the recipes,
#   and in lesson 11 a part of AdamW), which no run of this course measures; and deep transitions
#   and deep outputs (Pascanu, Gulcehre, Cho and Bengio 2014; `deepnlp/layers/deep.py`).
# * Zaremba, Sutskever and Vinyals, *Recurrent neural network regularization* (2014); Gal and
#   Ghahramani, *A theoretically grounded application of dropout in recurrent neural networks*
#   (2016); Moon and others, *RNNDrop* (2015); Semeniuta, Severyn and Barth, *Recurrent dropout
#   without memory loss* (2016); Wan and others, *Regularization of neural networks using
#   DropConnect* (2013); Merity, Keskar and Socher, *Regularizing and optimizing LSTM language
#   models* (2018).
