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
# # Lesson 9 · Attention: reading the source again
#
# **The question.** The decoder of lesson 8 knows of the source only the one vector that the encoder
# ends in. Could it not look at the source again, at each step, at the place that it needs?
#
# It can, if the encoder's states of all steps are kept. The decoder takes an average of them,
# weighted by how well each of them fits its own state, and where to look is learned with all else
# (Bahdanau, Cho and Bengio 2015). You write attention and its backward pass, put it into a decoder
# that rewrites dates, test what its alignments say, and end with a small translation. You need
# lesson 8 (encoder, decoder, padded batches) and the softmax of lesson 1. *Time.* Core: 90 minutes,
# 4 of them for running; further: 85 more. What is marked *further* can be skipped, but let its
# cells run. With `DEEPNLP_LESSON=short` all run in seconds.

# %%
from collections import Counter

import numpy as np

from deepnlp.backend.functions import softmax_grad
from deepnlp.datasets import Pairs, load_pairs
from deepnlp.generation import align, translate
from deepnlp.gradcheck import check_gradients
from deepnlp.layers import DotAttention, TimeBidirectional, TimeRNN, reverse_by_length
from deepnlp.lessons.exercises import check, short_form
from deepnlp.models import Seq2Seq
from deepnlp.optimizers import Adam, clip_gradients
from deepnlp.plots import attention_map, bars, curves
from deepnlp.tasks import SequenceToSequence
from deepnlp.text import Vocabulary, pad
from material.figures import arrangements, weighted_sum

short = short_form()

# %% [markdown]
# ## 1 One vector for everything
#
# The task: a date as people write it, turned into the form of ISO 8601, character by character.

# %%
pairs = load_pairs("dates", examples=400 if short else 10_000)
print(pairs.describe())
for source, target in pairs.train[:5]:
    print(f"{source:>30}  ->  {target}")

# %% [markdown]
# Each of the ten characters of an answer depends on a few places of the source. The encoder of
# lesson 8 packs all of it into one vector, the state after its last step, which has the same size
# for `7/4/76` and for `Tuesday, September 27, 1994`, and the decoder has nothing else to go by: the
# **bottleneck** of lesson 8. (Here the encoder is a GRU, whose state is $H$ numbers; the LSTM of
# lesson 8 had $2H$.)
#
# But the encoder has had a state after each character. We keep all of them as the **memory** $m_1
# \dots m_S$, vectors of $H$ numbers, one for each place of the source; for a padded batch this is
# an array $(N, S, H)$.
#
# ## 2 A weighted sum
#
# The decoder, with state $h_t$ at step $t$, asks the memory with a **query** $q_t$; for now it is
# $h_t$ itself. Three lines answer it:
#
# $$ e_{ts} = q_t \cdot m_s, \qquad
#    a_{ts} = \frac{\exp e_{ts}}{\sum_{s'} \exp e_{ts'}}, \qquad
#    c_t = \sum_s a_{ts}\, m_s. $$
#
# The **score** $e_{ts}$ says how well place $s$ fits the query. The softmax turns the scores of a
# step into **weights**, positive and with sum 1. The **context** $c_t$ is the average of the memory
# with these weights. The memory has two parts to play, which newer papers name apart: what the
# query is compared with are the **keys**, what is averaged are the **values**. Here both are the
# states $m_s$. A small example, with padding at the fourth place:

# %%
memory = np.array([[2.0, 0.5, -1.0], [0.0, 2.0, 1.0], [1.0, -1.0, 2.0], [9.0, 9.0, 9.0]])
query = np.array([0.5, -0.5, 1.0])
title = "The query fits the third place best, so the context is close to that place"
weighted_sum(["J", "u", "n", "(pad)"], memory, query, length=3, title=title)

# %% [markdown]
# If the best place were picked, `memory[argmax]`, there would be no gradient to learn from. The
# average can be differentiated, and where one score is far above the others it is nearly that place
# alone. Padding must have weight 0, whatever its score. Since $\exp(-\infty) = 0$, its scores are
# set to $-\infty$ before the softmax.
#
# ### Exercise 9.1 ★★ The weights
#
# Return the weights $a$ $(N, T, S)$ from queries $(N, T, H)$, a memory $(N, S, H)$ and lengths
# $(N,)$. In sequence $n$ the places $s < \mathrm{lengths}_n$ (counted from 0, as in the array)
# count. Large scores should do no harm (see exercise 1.3).


# %%
def attention_weights(query, memory, lengths): ...


check("9.1", attention_weights)


# %% [markdown]
# Weights and contexts, `a @ memory`, together are the package's `DotAttention`:

# %%
rng = np.random.default_rng(0)
q, m, lengths = rng.standard_normal((2, 3, 4)), rng.standard_normal((2, 5, 4)), np.array([5, 2])
attention = DotAttention()
c = attention.forward(q, m, lengths)
np.testing.assert_allclose(c, attention.weights @ m)  # (N, T, S) (N, S, H) -> (N, T, H)
print("the weights of sequence 1, which has two places:\n", attention.weights[1].round(2))

# %% [markdown]
# ## 3 Backward
#
# Given the gradient $dc$ of the contexts, what are $dq$ and $dm$? Go back line by line.
#
# **The weighted sum**, $c_t = \sum_s a_{ts} m_s$, has products; each factor gets the other one:
#
# $$ da_{ts} = dc_t \cdot m_s, \qquad dm_s \mathrel{+}= \sum_t a_{ts}\, dc_t. $$
#
# **The softmax.** A weight depends on all scores of its row. Its derivatives are $\partial a_j /
# \partial e_s = a_j\,([j = s] - a_s)$: a larger $e_s$ raises $a_s$ and lowers all others, since
# they sum to 1. Summed over the ways by which $e_s$ reaches the loss,
#
# $$ de_s = \sum_j da_j\, a_j\,([j = s] - a_s) = a_s \Big( da_s - \sum_j a_j\, da_j \Big). $$
#
# The sum in the brackets is the mean of $da$, weighted by $a$: a step against the gradient raises
# the scores of the places whose $da$ lies below it.
#
# ### Exercise 9.2 ★★ Back through the softmax
#
# Return $de$ from $a$ and $da$, all three $(N, T, S)$. (What becomes of the padding, with $a = 0$?)


# %%
def softmax_backward(a, da): ...


check("9.2", softmax_backward)


# %% [markdown]
# **The scores**, $e_{ts} = q_t \cdot m_s$, are products again: $dq_t = \sum_s de_{ts}\, m_s$ and
# $dm_s \mathrel{+}= \sum_t de_{ts}\, q_t$.
#
# Note the two $\mathrel{+}=$. The memory is used twice, in the scores, which say where to look, and
# in the sum, which says what is seen there. By the fork rule of lesson 1 both gradients are added.
#
# ### Exercise 9.3 ★★★ Attention, backward · further
#
# Write the layer: `forward(query, memory, lengths)`, with an array of lengths, gives the contexts,
# `backward(dc)` returns `(dquery, dmemory)`. If a gradient is wrong, the check names the mistake.


# %%
class MyAttention:
    def forward(self, query, memory, lengths): ...

    def backward(self, dc): ...


check("9.3", MyAttention)


# %%
print(check_gradients(DotAttention(), q, m, lengths))  # the package's, by a complex step

# %% [markdown]
# ## 4 In the decoder
#
# What does the decoder do with its context? Luong, Pham and Manning (2015) put it beside the state
# and send both through one layer,
#
# $$ y_t = \tanh([c_t, h_t]\, W), $$
#
# from which an affine layer and a softmax make the probabilities of the next character, as they did
# from $h_t$ before. (From here on $y_t$ is this output; in lesson 8 it was the symbol written, and
# $c_t$, here the context, was the memory cell.) The rows of $W$ $(2H, M)$ belong to the $2H$
# numbers of $[c_t, h_t]$, the context's first. The state $h_t$ now has two uses as well: it stands
# in $[c_t, h_t]$, and it is the query.
#
# ### Exercise 9.4 ★★ A state with two uses
#
# Write the layer, with a `DotAttention()` inside: `forward(h, memory, lengths)` takes states $(N,
# T, H)$ and gives $y$ $(N, T, M)$; `backward(dy)` returns `(dh, dmemory)` and sets `self.dW`.


# %%
class MyStep:
    def __init__(self, W):
        self.W, self.dW = W, None
        self.attention = DotAttention()

    def forward(self, h, memory, lengths): ...

    def backward(self, dy): ...


check("9.4", MyStep)


# %% [markdown]
# The encoder's states are the memory, its last state starts the decoder. Going back, $dm$ enters
# the encoder at every step, and $dh_0$ of the decoder at the last one: `encoder.backward(dmemory,
# dh0)`. The package's `Seq2Seq(attention="dot")` is this model. Its decoder is a recurrent layer
# with the layer that you have just written behind it, called `combine`. One batch goes through its
# parts:


# %%
task = SequenceToSequence(pairs, batch_size=64)


def fresh(**options):
    """A model of gated recurrent units for the dates."""
    sizes = len(pairs.source_vocab), len(pairs.target_vocab), 16, 64  # the last two: D and H
    made = Seq2Seq(*sizes, cell="gru", rng=np.random.default_rng(0), **options)
    task.prepare(made)  # sets the vocabularies
    return made


source, lengths, inputs, targets = task.batches(0)[0]
model = fresh(attention="dot")
memory = model.encoder.forward(model.source.forward(source), lengths)  # (N, S, H)
x = model.target.forward(inputs)  # (N, T, D)
model.decoder.set_state(*model.encoder.state)
y = model.decoder.forward(x, memory, lengths)  # (N, T, H)
weights = model.decoder.attention.weights  # (N, T, S)
print("memory", memory.shape, "  weights", weights.shape, "  outputs", y.shape)

# %% [markdown]
# ### Does it help?
#
# Two models, with attention and without, all else equal. After each epoch we count the dates of the
# validation split, none of whose days occurs in training, that are right as a whole.


# %%
def train(model, task, epochs, lr=0.003):
    """Percentage of the validation texts that are written exactly, after each epoch."""
    optimizer, exact = Adam(model.parameters(), lr=lr), []
    for epoch in range(epochs):
        for batch in task.batches(epoch):
            model.forward(*batch)
            model.zero_grad()
            model.backward()
            clip_gradients(model.parameters(), 5.0)
            optimizer.step()
        exact.append(task.evaluate(model)["exact_match"])
    return exact


epochs = 1 if short else 6
models = {"none": fresh(), "attention": model}
exact = {name: train(one, task, epochs) for name, one in models.items()}
tokens = {name: task.evaluate(one)["accuracy"] for name, one in models.items()}
print("characters that are right:", {name: f"{share:.0f} %" for name, share in tokens.items()})
curves(
    {name: (np.arange(1, epochs + 1), shares) for name, shares in exact.items()},
    title=f"After {epochs} epochs {exact['attention'][-1]:.0f} % of the dates are right, without "
    f"attention {exact['none'][-1]:.0f} %",
    xlabel="epoch",
    ylabel="dates written exactly (%)",
)

# %% [markdown]
# With three seeds (`dates.py` of the chapter) six epochs give 100, 8 and 100 % with attention and
# 1, 4 and 1 % without: it is ahead each time, but one seed has hardly begun. And this is a result
# about a budget, not about what a vector can hold. Without attention 76 ± 8 %<!--= tokens["none"] /
# 100 --> of the characters are right, hardly ever a whole date. Trained longer or faster, the
# vector is enough: with $H = 256$ and rate 0.005, [the runs](../docs/results/dates.md) find 100.0 %
# of the dates with attention (three seeds) and 99.6 % without (one).
#
# ## 5 Looking at the weights
#
# The weights $(T, S)$ of a date make a picture, a row for each character that was written.
#
# ### Exercise 9.5 ★ June or July? · further
#
# Before you look: the encoder reads from left to right. The source is `June 14, 2001`. Which states
# of the memory can tell June from July: `"the letter J"`, `"from the third letter on"`, `"the last
# one only"` or `"all of them"`?

# %%
my_choice = ...
check("9.5", my_choice)


# %%
def aligned(model, text):
    """The model's own translation of a text, and the weights (T, S) with which it was written."""
    (best,) = translate(model, [text], max_length=14)[0]
    return best.text, align(model, text, best.tokens)


def look(model, text):
    """The attention map of the model's own translation of a text."""
    written, found = aligned(model, text)
    return attention_map(found.source, found.target, found.weights, title=f"{text} → {written}")


look(models["attention"], "June 14, 2001")

# %%
look(models["attention"], "7/4/76")

# %% [markdown]
# The year is written first and read at the end of the source, the month at its beginning. A state
# is not a character, though. When the 0 of the day 04 is written, a look at the 4 cannot help: the
# state there does not know whether another digit follows. The state at the slash *after* the 4
# does. Is this how the model does it? Here are the weights of that 0 for all such dates of the
# validation split:


# %%
def teacher_forced(model, some):
    """The likeliest characters (N, T) after the right ones so far, and these."""
    source, lengths = pad([model.source_vocab.encode([*text]) for text, _ in some])
    targets, _ = pad([model.target_vocab.encode([*text]) for _, text in some])
    inputs = np.insert(targets, 0, model.target_vocab.eos_id, axis=1)
    return model.logits(source, lengths, inputs)[:, :-1].argmax(axis=2), targets


def one_digit_days(model):
    """Mean weights on the digit of the day and on the slash behind it, as the 0 is written."""
    some = [pair for pair in pairs.valid if pair[0].count("/") == 2 and pair[1][8] == "0"]
    teacher_forced(model, some)
    slashes = np.array([text.rindex("/") for text, _ in some])
    zero = model.attention_weights[np.arange(len(some)), 8]  # (N, S)
    return [zero[np.arange(len(some)), slashes - back].mean() for back in (1, 0)]


on_digit, on_slash = one_digit_days(models["attention"])
print(f"mean weight on the digit {on_digit:.2f}, on the slash behind it {on_slash:.2f}")

# %% [markdown]
# This model looks at the slash more than twice as much<!--= short or on_slash > 2 * on_digit -->. A
# weight at place $s$ belongs to an encoder that has read up to $s$: a map is no list of the
# characters needed.
#
# ### What the picture does not show · further
#
# Are the weights an explanation of the output? Jain and Wallace (2019) showed for text classifiers
# that quite different weights can give nearly the same predictions; Wiegreffe and Pinter (2019)
# replied that it depends on the task, and on what one asks of an explanation. First, are the
# weights used? We replace them in the trained model and count the digits that are still right, with
# the right characters before them as inputs.


# %%
class Altered(DotAttention):
    """Attention whose weights (N, T, S) are changed before they are used."""

    def __init__(self, change):
        super().__init__()
        self.change = change

    def attend(self, query, keys, memory, padding):
        super().attend(query, keys, memory, padding)
        return self.change(self.weights, ~padding) @ memory


own = models["attention"].decoder.attention
for name, change in {
    "as learned": lambda a, counts: a,
    "heaviest place only": lambda a, counts: np.eye(a.shape[2])[a.argmax(axis=2)],
    "all places alike": lambda a, counts: (a >= 0) * counts / counts.sum(axis=2, keepdims=True),
}.items():
    models["attention"].decoder.attention = Altered(change)
    found, right = teacher_forced(models["attention"], pairs.valid)
    year, month, day = ((found == right)[:, k].mean() for k in ([0, 1, 2, 3], [5, 6], [8, 9]))
    print(f"{name:>20}: right digits of year {year:.0%}, month {month:.0%}, day {day:.0%}")
    if name == "all places alike":
        alike = month
models["attention"].decoder.attention = own

# %% [markdown]
# This model uses them: with all places alike about half of the month's digits are wrong<!--= short
# or 0.25 < alike < 0.75 -->. Together with the decoder's own state the heaviest place is enough.
# But is the *character* at that place the reason? In dates that begin with the name of a month we
# replace one of the first five characters by an `a` and ask whether the two digits of the month
# change.

# %%
named = [(text.lower(), target) for text, target in pairs.valid if text[0].isalpha()]
named = [pair for pair in named if "day" not in pair[0]]
before, _ = teacher_forced(models["attention"], named)
weights = models["attention"].attention_weights[:, 5:7].mean(axis=(0, 1))  # of the month's digits
influence = []
for k, name in enumerate(["first", "second", "third", "fourth", "fifth"]):
    others = [(text[:k] + "a" + text[k + 1 :], target) for text, target in named]
    after, _ = teacher_forced(models["attention"], others)
    differs = np.array([text[k] != "a" for text, _ in named])
    influence.append((after != before)[differs, 5:7].any(axis=1).mean())
    text = f"weight {weights[k]:.0%}; if it is replaced, {influence[-1]:.0%} other months"
    print(f"{name:>7} letter: {text}")

# %% [markdown]
# Here the weight is no measure of the influence: the first letter has a far smaller part of it than
# of the influence<!--= short or weights[0] / weights[:3].sum() < 0.6 * influence[0] /
# sum(influence[:3]) -->, since the recurrence carries it to the states that the decoder looks at.
# (The last two rows prove nothing: many months are abbreviated, so the fourth and fifth character
# are often a space or a digit of the day.) A map shows the states that are read, not the
# characters.
#
# ## 6 Other scores, and their scale · further
#
# The inner product needs queries and memory of the same size, in the same coordinates. Two other
# scores have weights of their own (Luong et al. 2015; concat is the one of Bahdanau et al.):
#
# $$ \text{dot: } q \cdot m, \qquad \text{general: } q\, W\, m^\top, \qquad
#    \text{concat: } v \cdot \tanh([q, m]\, W). $$
#
# General is dot with keys $m W^\top$, computed once for all steps. Concat is a small network for
# each pair of a step and a place, and costs accordingly.
#
# ### Exercise 9.6 ★★ How large is a score? · further
#
# Let the numbers in $q$ and $m$ be independent, with mean 0 and variances `var_q` and `var_m`. By
# which number must $q \cdot m$, a sum of $H$ products, be divided to have variance 1?


# %%
def divisor(H, var_q, var_m): ...


check("9.6", divisor)


# %% [markdown]
# Scores that are far apart make one weight nearly 1 and all others nearly 0. Then $de = a\,(da -
# \dots)$ is nearly zero everywhere, and where to look is no longer learned. So Vaswani et al.
# (2017) divide the scores by $\sqrt{H}$. With random $q$ and $m$, for 20 places:

# %%
sizes = [1, 4, 16, 64, 256, 1024]
ratios = {"divided by √H": [], "plain": []}
for H in sizes:
    q, m = rng.standard_normal((500, 1, H)), rng.standard_normal((500, 20, H))
    for name, factor in {"plain": 1.0, "divided by √H": np.sqrt(H)}.items():
        attention.forward(q / factor, m)
        a = attention.weights
        da = rng.standard_normal(a.shape)
        ratios[name].append(np.abs(softmax_grad(da, a)).mean() / np.abs(da).mean())
        if sizes[-1] == H:
            print(f"H = {H}, {name}: the largest of 20 weights is {a.max(axis=2).mean():.2f}")
times = ratios["divided by √H"][-1] / ratios["plain"][-1]
curves(
    {name: (sizes, values) for name, values in ratios.items()},
    title=f"With H = {H} a scaled score gets {times:.0f} times the gradient of a plain one",
    xlabel="H",
    ylabel="mean |de| / mean |da|",
    logx=True,
    logy=True,
)

# %% [markdown]
# Is that more than theory? The translations of section 9, with attention from an encoder that is
# read from both ends, were trained with the score general as it stands, with the same score divided
# by $\sqrt{H}$ (`Seq2Seq(attention_scale=...)`), and with concat. Here are the validation sentences
# that are right as a whole, for three seeds, and the mean weight on the *last* place of the source,
# the full stop (`chapters/ch09_attention/short_sentences.py`, $H = 96$):

# %%
scaled = {  # of docs/results/lessons/short_sentences.json
    "general": {"exact": [15.523, 18.231, 16.968], "last": [0.901, 0.914, 0.997]},
    "general, scaled": {"exact": [35.74, 37.545, 33.574], "last": [0.365, 0.306, 0.127]},
    "concat": {"exact": [34.296, 36.282, 31.227], "last": [0.227, 0.226, 0.256]},
}
bars(
    {name: {"right": float(np.mean(of["exact"]))} for name, of in scaled.items()},
    title="A missing factor of 1/√H costs half of the sentences (mean of three seeds)",
    ylabel="sentences that are right (%)",
)

# %% [markdown]
# Without the scale 17 %<!--= np.mean(scaled["general"]["exact"]) / 100 --> of the sentences are
# right, with it 36 %<!--= np.mean(scaled["general, scaled"]["exact"]) / 100 -->, no fewer than with
# concat, 34 %<!--= np.mean(scaled["concat"]["exact"]) / 100 -->, whose tanh bounds its scores
# anyway. Unscaled, the softmax saturates early, on the one place whose state has read the whole
# sentence: 94 %<!--= np.mean(scaled["general"]["last"]) --> of the weight lies on the full stop,
# and attention is the one vector of section 1 again.
#
# ## 7 An encoder that reads from both ends · further
#
# A second layer, from right to left, knows what follows a 4. In a **bidirectional** encoder
# (Schuster and Paliwal 1997) the states of both stand side by side, $2H$ numbers. In a padded batch
# the second layer must begin at the true end of its sequence: the input is reversed by its length,
# read, and the states are reversed again. As a tagger it is in `docs/results/tagger.md`.
#
# ### Exercise 9.7 ★★★ From both ends, backward · further
#
# `ahead` and `back` are recurrent layers such as `TimeRNN(Wx, Wh, b)`, with `forward(x, lengths)`
# $(N, T, D) \to (N, T, H)$ and `backward(dhs)`, which knows the lengths of the forward before it.
# Write the layer that has both: `forward(x, lengths)` gives $(N, T, 2H)$, those of `ahead` first;
# `backward(dhs)` returns $dx$. `reverse_by_length(x, lengths)` reverses each sequence and leaves
# its padding after it:

# %%
print(reverse_by_length(np.array([[1, 2, 3, 4], [5, 6, 0, 0]]), [4, 2]))


# %%
class MyBoth:
    def __init__(self, ahead, back):
        self.ahead, self.back = ahead, back

    def forward(self, x, lengths): ...

    def backward(self, dhs): ...


check("9.7", MyBoth)


# %%
x, lengths = rng.standard_normal((2, 4, 3)), np.array([4, 2])
ahead, back = TimeRNN.init(3, 5, rng, "float64"), TimeRNN.init(3, 5, rng, "float64")
both = TimeBidirectional(ahead, back)  # the package's
print("states", both.forward(x, lengths).shape)
print("gradients are right:", check_gradients(both, x).ok)

# %% [markdown]
# The memory is now wider than the query, so the score is general.

# %%
models["both ends"] = fresh(attention="general", bidirectional=True)
exact["both ends"] = train(models["both ends"], task, epochs)
for name in ("attention", "both ends"):
    print(f"{name:>9}: {', '.join(f'{share:.1f} %' for share in exact[name])}")
look(models["both ends"], "7/4/76")

# %% [markdown]
# It learns in fewer epochs<!--= short or exact["both ends"][1] > 5 * exact["attention"][1] -->:
# with three seeds 86, 90 and 74 % of the dates are right after two, and 4, 0 and 2 % with an
# encoder that reads one way. But each epoch takes longer.
#
# ## 8 Three arrangements · further
#
# In Luong's arrangement $h_t$ depends on no context; in two others it does. With **input feeding**
# (Luong et al.) $y_{t-1}$ enters step $t$ beside the word. In **Bahdanau's** decoder the state
# *before* the step is the query, and the context enters the step.

# %%
arrangements(title="Arrows in red lead from one step to the next by way of an attention")

# %% [markdown]
# ### Exercise 9.8 ★ Which can run ahead? · further
#
# In training all inputs of the decoder are known. In which arrangement can its recurrent layer run
# over all $T$ steps first, and the attention of all steps follow as one product: `"Luong"`, `"with
# input feeding"`, `"Bahdanau"` or `"all three"`?

# %%
my_arrangement = ...
check("9.8", my_arrangement)

# %% [markdown]
# ## 9 A translation
#
# Now words: short sentences from Tatoeba, English to Spanish, of the 800 most frequent words of
# either language. Without the corpus (`datasets/README.md`), phrases are made up.


# %%
def simple(part, vocabs):
    """The pairs of at most seven words on a side, all of them in the vocabularies."""
    cut = [[v.tokenize(text) for v, text in zip(vocabs, pair)] for pair in part]
    known = [all(w in v for v, words in zip(vocabs, pair) for w in words) for pair in cut]
    return [pair for k, pair in enumerate(part) if known[k] and max(map(len, cut[k])) <= 7]


try:
    big = load_pairs("tatoeba-en-es", vocab_size=800)
    vocabs = big.source_vocab, big.target_vocab
    some = 5_000 if short else None
    parts = [simple(part[:some], vocabs) for part in (big.train, big.valid, big.test)]
    asked = ["We have a big dog.", "Do you speak French?", "He is older than me."]
    asked += ["I have never been to Boston.", "Why didn't you tell me?", "I saw you yesterday."]
except FileNotFoundError as missing:
    print(f"{missing}\nThe lesson goes on with phrases that are made up.")
    nouns = {"cat": "gato", "dog": "perro", "horse": "caballo", "bird": "pájaro", "wolf": "lobo"}
    colours = {"white": "blanco", "black": "negro", "red": "rojo", "big": "grande"}
    things = [(f"the {c} {n}", f"el {nouns[n]} {colours[c]}") for n in nouns for c in colours]
    made = [(f"{a[0]} and {b[0]}", f"{a[1]} y {b[1]}") for a in things for b in things]
    made = [made[k] for k in rng.permutation(len(made))]
    vocabs = [Vocabulary.build(w for pair in made for w in pair[side].split()) for side in (0, 1)]
    parts, asked = [made[:320], made[320:360], made[360:]], [text for text, _ in made[320:326]]
sentences = Pairs("short sentences", *vocabs, *(part[: 200 if short else None] for part in parts))
print(sentences.describe())

# %% [markdown]
# The model is that of section 7, wider, with concat and a tied output.

# %%
size = 16 if short else 96
options = {"cell": "gru", "attention": "concat", "bidirectional": True, "tie": "output"}
rng = np.random.default_rng(0)
translator = Seq2Seq(*map(len, vocabs), embed_size=size, hidden_size=size, rng=rng, **options)
task = SequenceToSequence(sentences, batch_size=64)
task.prepare(translator)  # sets the vocabularies
train(translator, task, epochs=1 if short else 8, lr=0.004)
judged = task.evaluate(translator)
print({name: round(value, 1) for name, value in judged.items()})
for text in asked:
    greedy, beam = (translate(translator, [text], beam=k, max_length=14)[0][0].text for k in (1, 5))
    print(f"{text:>30}  greedy: {greedy:32} beam 5: {'the same' if beam == greedy else beam}")

# %%
look(translator, asked[0])

# %% [markdown]
# A third of the validation sentences, 34 ± 5 %<!--= judged["exact_match"] / 100 -->, are exact by
# greedy search. Where the words of a sentence stand in another order in Spanish, as *big dog* and
# *perro grande*, the rows of the picture cross: nothing in the model prefers an order, it was
# learned from pairs.
#
# ### How good is a translation? · further
#
# An exact match is asked too much of longer sentences, which can be translated in many ways.
# **BLEU** (Papineni and others 2002) counts how many of the n-grams that were written occur in a
# translation by a person, for $n$ from 1 to 4. With $p_n$ the share of them over all sentences,
# where an n-gram counts at most as often as the reference has it,
#
# $$\mathrm{BLEU} = 100 \cdot \min\big(1,\; e^{1 - r / w}\big) \cdot
#   \Big(\prod_{n=1}^{4} p_n\Big)^{1/4},$$
#
# a geometric mean, times a penalty where what was written, $w$ words in all, is shorter than the
# references, $r$ words. It judges a test set and not a sentence. Only values with the same
# references and tokens can be compared
# ([docs/results/translation.md](../docs/results/translation.md)).


# %%
def bleu(written, references):
    """BLEU of lists of words, one reference each."""
    found, count = np.zeros(4), np.zeros(4)
    for ours, theirs in zip(written, references):
        for n in range(1, 5):
            a, b = (Counter(zip(*(words[k:] for k in range(n)))) for words in (ours, theirs))
            found[n - 1] += (a & b).total()  # the smaller of both counts
            count[n - 1] += a.total()
    shorter = sum(map(len, references)) / max(1, sum(map(len, written)))
    with np.errstate(divide="ignore"):  # 0 where no n-gram was right
        mean = np.exp(np.log(found / np.maximum(count, 1)).mean())
    return 100 * min(1.0, np.exp(1 - shorter)) * mean


sources, wanted = zip(*sentences.valid)
written = [best.text for (best,) in translate(translator, list(sources), max_length=14)]
cut = [[sentences.target_vocab.tokenize(text) for text in texts] for texts in (written, wanted)]
print(f"BLEU on the validation sentences: {bleu(*cut):.1f}")

# %% [markdown]
# `deepnlp train --recipe tatoeba-en-es` trains on all sentences of the corpus.
#
# ### What came next
#
# Within the source the way is still long: from the first word to the last it passes all states
# between. Vaswani et al. (2017) let the places of the source ask the source itself. With this
# **self-attention** no recurrence is needed, and in training all steps run at once. Each place
# makes a query, a key and a value of its own by three matrices.
#
# ### Exercise 9.9 ★★ A text that asks itself
#
# From vectors $x$ $(N, S, D)$ make queries $x W_q$, keys $x W_k$ $(N, S, d)$ and values $x W_v$
# $(N, S, H)$. Return the contexts $(N, S, H)$ of all places, with scores divided by $\sqrt{d}$ and
# no weight for what lies beyond `lengths` $(N,)$. What stands in the rows of the padding does not
# matter.


# %%
def self_attention(x, Wq, Wk, Wv, lengths): ...


check("9.9", self_attention)


# %% [markdown]
# ## What to read next
#
# * **In this project**: `deepnlp/layers/`: `attention.py`, `decoders.py`, `feeding.py`,
#   `bahdanau.py`; `deepnlp translate RUN "a text" --attention FILE`; `chapters/ch09_attention/`.
# * Bahdanau, Cho and Bengio, *Neural machine translation by jointly learning to align and
#   translate* (2015). Luong, Pham and Manning, *Effective approaches to attention-based neural
#   machine translation* (2015). Schuster and Paliwal, *Bidirectional recurrent neural networks*
#   (1997). Papineni, Roukos, Ward and Zhu, *BLEU* (2002). Vaswani et al., *Attention is all you
#   need* (2017).
# * Jain and Wallace, *Attention is not explanation*; Wiegreffe and Pinter, *Attention is not not
#   explanation* (both 2019). Saito, *Deep Learning from Scratch 2* (2018), chapter 8: the dates.
