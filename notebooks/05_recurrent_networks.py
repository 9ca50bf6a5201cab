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
# # Lesson 5 · Recurrent networks
#
# **The question.** A network of fixed size takes inputs of a fixed size. A text has any length. How
# can one read the other, word after word, and get better at guessing the next word the more of the
# text it has read?
#
# On the way you will build the simplest network with a memory, follow its gradient back through
# time by hand, train it until it beats every counting model of the same text, and see exactly
# where its memory ends. That end is where lesson 6 begins.
#
# You need lesson 1: affine layers, the softmax with its loss, and the gradient checker.
#
# *Time.* To read and work: three hours. To run from top to bottom: about two minutes on two
# cores, with the outputs kept by `python -m notebooks.build 05`. With the environment
# variable `DEEPNLP_LESSON=short` set, every experiment is cut down and it takes half a minute.

# %%
import math
from dataclasses import replace

import numpy as np

import deepnlp
from deepnlp.datasets import load_corpus
from deepnlp.evaluation import perplexity, score, surprisal
from deepnlp.exercises import check, short_form
from deepnlp.generation import apply_temperature, draw, generate
from deepnlp.gradcheck import check_gradients
from deepnlp.layers import RNN, Embedding, SoftmaxWithLoss, TimeAffine, TimeRNN
from deepnlp.models import RNNLM, SimpleRNNLM
from deepnlp.models.ngrams import KneserNey, Unigram, baselines
from deepnlp.optimizers import SGD, Adam, clip_gradients
from deepnlp.plots import (
    computation_graph,
    curves,
    gradient_reach,
    learning_curve,
    next_words,
    surprisal_text,
    unrolled,
)
from deepnlp.training import BPTTBatches, Linear, Trainer

deepnlp.seed(0)
short = short_form()

# %% [markdown]
# ## 1 · How surprised are you?
#
# A **language model** gives every possible next word a probability. By the chain rule of
# probability that is enough to give one to a whole text $w_1 \dots w_n$:
#
# $$P(w_1, \dots, w_n) = \prod_{t=1}^{n} P(w_t \mid w_1, \dots, w_{t-1})$$
#
# The text for this lesson is `pydocs`: the English that your own Python installation carries, its
# docstrings and the topics of its manual. Nothing is downloaded. We keep the 2,000 most frequent
# words; every other word is read as `<unk>`, and `<eos>` ends a sentence.

# %%
corpus = load_corpus("pydocs", vocab_size=2000)
if short:
    corpus = replace(corpus, train=corpus.train[:40_000], valid=corpus.valid[:4_000])
vocab, V = corpus.vocab, len(corpus.vocab)
print(corpus.describe())
print(" ".join(vocab.decode(corpus.train[1000:1060])))

# %% [markdown]
# How good is a model? Let it read a text that it has not seen, and ask at every word how much
# probability it had given to the word that came. The **surprisal** of a word is
#
# $$s_t = -\log P(w_t \mid w_1, \dots, w_{t-1}),$$
#
# in *nats* with the natural logarithm, in *bits* with the logarithm to base 2. A word that was
# certain costs 0 bits, one in two costs 1 bit, one in 1,024 costs 10. The **perplexity** turns the
# mean back into a number of words:
#
# $$\mathrm{ppl} = \exp\Big(\frac{1}{n} \sum_{t=1}^{n} s_t\Big)$$
#
# A model with perplexity 60 is, on average, as unsure as one that throws a fair die with 60 sides.
# In NumPy, for a model that knows only how often each word occurs:

# %%
counts = np.bincount(corpus.train, minlength=V)
p = (counts + 1) / (counts + 1).sum()  # one more for each word, so that none is impossible
s = -np.log(p[corpus.valid[1:]])  # (n - 1,): the first token of a text is context only
print(f"mean surprisal {s.mean():.3f} nats = {s.mean() / math.log(2):.3f} bits")
print(f"perplexity     {math.exp(s.mean()):.1f}")

uniform = np.full(V, 1 / V)
surprise = -np.log(uniform[corpus.valid[1:]]).mean()
assert math.isclose(math.exp(surprise), V)  # knowing nothing: a die with V sides

# %% [markdown]
# ### What there is to beat
#
# A **unigram** model like this one looks at no context. An **n-gram** model looks at the last
# $n - 1$ words and counts what followed them in the training text. Where it has seen little it
# falls back on shorter contexts; Kneser and Ney (1995) found a very good way to do that, which is
# `KneserNey` in `deepnlp.models.ngrams`.

# %%
orders = [1, 2, 3, 4, 5]
by_order = [KneserNey(n).fit(corpus.train, V).perplexity(corpus.valid) for n in orders]
curves(
    {"validation": (orders, by_order)},
    title="Counting: one word of context helps most, more than two hardly help",
    xlabel="n, words in an n-gram (n - 1 of them context)",
    ylabel="perplexity",
    logy=True,
)

# %% [markdown]
# Why does it stop? A longer context is a rarer one. Here is the share of contexts in the validation
# text that never occurred in training, so that a count has nothing to say about them:


# %%
def contexts(ids, length):
    return [tuple(ids[k : k + length].tolist()) for k in range(len(ids) - length)]


for length in (1, 2, 3, 4):
    known = set(contexts(corpus.train, length))
    asked = contexts(corpus.valid, length)
    unseen = sum(c not in known for c in asked) / len(asked)
    print(f"context of {length} words: {unseen:5.1%} never seen")

# %% [markdown]
# To a table of counts, *the first argument is* and *the second argument is* have nothing to do
# with each other. What we want instead is a **summary of all that was read**, in a few numbers,
# in which similar pasts look similar. That summary will be the state of a recurrent network.

# %% [markdown]
# ### Exercise 5.1 ★ Perplexity
#
# `log_p` holds the natural logarithms of the probabilities that a model gave to the words of a
# text, shape $(n,)$. Return the perplexity.


# %%
def my_perplexity(log_p):
    return None


check("5.1", my_perplexity)


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 5.1
def perplexity_solution(log_p):
    return np.exp(-np.mean(log_p))


check("5.1", perplexity_solution)

# %% [markdown]
# ### Exercise 5.2 ★ In your head
#
# A model gives every second word of a text probability 1/4 and the others 1/16. What is its
# perplexity? Answer with a number.

# %%
my_number = None
check("5.2", my_number)

# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 5.2
number_solution = 8  # 2 bits and 4 bits in turn: 3 bits on average, 2 to the 3rd
check("5.2", number_solution)

# %% [markdown]
# ## 2 · A cell with a memory
#
# The picture first. One cell reads the text from left to right. At step $t$ it takes the word
# $w_t$ and its own state from the step before, and gives a new state $h_t$. From $h_t$ the next
# word is guessed. The blue arrows are values; the red dashed ones are for section 3.

# %%
unrolled(["<eos>", "the", "file", "is", "closed"])

# %% [markdown]
# The equation (Elman 1990), with row vectors as everywhere in this package:
#
# $$h_t = \tanh(x_t W_x + h_{t-1} W_h + b)$$
#
# | | shape | |
# |---|---|---|
# | $x_t$ | $(N, D)$ | the embedding of the word at step $t$, for $N$ texts side by side |
# | $h_t$ | $(N, H)$ | the state; $h_0 = 0$ |
# | $W_x$, $W_h$, $b$ | $(D, H)$, $(H, H)$, $(H,)$ | the same at every step |
#
# The *same* weights at every step: that is how a network of fixed size reads a text of any length.
# Papers that write column vectors, such as the survey among the sources of this project, have
# $W_{hh} h_{t-1}$ instead; their $W_{hh}$ is our $W_h$ transposed.
#
# In NumPy, on small numbers: one text of three steps, two inputs, two units.

# %%
Wx = np.array([[0.5, -0.3], [0.8, 0.2]])  # (D, H)
Wh = np.array([[0.1, 0.4], [-0.2, 0.3]])  # (H, H)
b = np.array([0.0, 0.1])  # (H,)
x = np.array([[[1.0, 0.5], [-1.0, 2.0], [0.3, 0.7]]])  # (N, T, D) = (1, 3, 2)

h0 = np.zeros((1, 2))
h1 = np.tanh(x[:, 0] @ Wx + h0 @ Wh + b)
h2 = np.tanh(x[:, 1] @ Wx + h1 @ Wh + b)
h3 = np.tanh(x[:, 2] @ Wx + h2 @ Wh + b)
print(h1, h2, h3, sep="\n")

# %% [markdown]
# The package has the same twice: `RNN` is one step, `TimeRNN` all of them, $(N, T, D)$ to
# $(N, T, H)$.

# %%
step = RNN(Wx, Wh, b)
assert np.allclose(step.forward(x[:, 0], h0), h1)
assert np.allclose(step.forward(x[:, 1], h1), h2)

layer = TimeRNN(Wx, Wh, b)
assert np.allclose(layer.forward(x), np.stack([h1, h2, h3], axis=1))

# %% [markdown]
# And the same once more as a graph, drawn from the layer itself. Blue arrows go forward; the red
# dashed ones carry, backward, what the next equations say. The state enters on the left and leaves
# on the right, into the next step: that way is the memory.

# %%
computation_graph(step)

# %% [markdown]
# Does $h_3$ still know what $x_1$ was? Change the first input a little and look at the last state.

# %%
changed = x.copy()
changed[:, 0, 0] += 0.1
print(layer.forward(changed)[:, -1] - h3[0])

# %% [markdown]
# A small change remains, so a small gradient will flow back along the same way. The derivative of
# the cell is short. With $a = x W_x + h_{prev} W_h + b$ and $h = \tanh a$:
#
# $$da = dh \odot (1 - h^2), \qquad dx = da\, W_x^\top, \qquad dh_{prev} = da\, W_h^\top$$
# $$dW_x = x^\top da, \qquad dW_h = h_{prev}^\top da, \qquad db = \sum_n da_n$$
#
# Here $dx$ stands for $\partial L / \partial x$, as always. The factor $\tanh'(a) = 1 - h^2$ lies
# between 0 and 1. The source notes on chapter 6 say *below* 1; at $a = 0$ it is exactly 1, and a
# unit that stays near zero hardly weakens what passes through.

# %% [markdown]
# ### Exercise 5.3 ★ One step forward
#
# Return $h$, shape $(N, H)$.


# %%
def my_step(x, h_prev, Wx, Wh, b):
    return None


check("5.3", my_step)


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 5.3
def step_solution(x, h_prev, Wx, Wh, b):
    return np.tanh(x @ Wx + h_prev @ Wh + b)


check("5.3", step_solution)

# %% [markdown]
# ### Exercise 5.4 ★★ One step backward
#
# Complete the cell: `forward` keeps what `backward` needs; `backward(dh)` returns `(dx, dh_prev)`
# and sets `self.dWx`, `self.dWh` and `self.db`. The gradient checker looks at all five.


# %%
class MyRNN:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b
        self.dWx = self.dWh = self.db = None

    def forward(self, x, h_prev):
        return None

    def backward(self, dh):
        return None


check("5.4", MyRNN)


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 5.4
class RNNSolution:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b
        self.dWx = self.dWh = self.db = None

    def forward(self, x, h_prev):
        self.x, self.h_prev = x, h_prev
        self.h = np.tanh(x @ self.Wx + h_prev @ self.Wh + self.b)
        return self.h

    def backward(self, dh):
        da = dh * (1 - self.h**2)
        self.dWx = self.x.T @ da
        self.dWh = self.h_prev.T @ da
        self.db = da.sum(axis=0)
        return da @ self.Wx.T, da @ self.Wh.T


check("5.4", RNNSolution)

# %% [markdown]
# ## 3 · Back through time
#
# Unrolled over three steps, the recurrent network is an ordinary deep network with three layers
# that share their weights. So backpropagation is the ordinary one, in two observations:
#
# 1. $h_t$ is used **twice**: by the layer above at step $t$, and by the cell at step $t + 1$. Two
#    uses, two gradients, and they add.
# 2. The weights are used **three times**, once per step. Their three gradients add up.
#
# Written down, with $dh_t^{\uparrow}$ for what comes from the layer above:
#
# $$dh_t = dh_t^{\uparrow} + da_{t+1} W_h^\top, \qquad da_t = dh_t \odot (1 - h_t^2)$$
# $$dW_h = \sum_t h_{t-1}^\top da_t, \qquad dW_x = \sum_t x_t^\top da_t, \qquad db = \sum_t da_t$$
#
# with $da_{T+1} = 0$. This is **backpropagation through time** (Werbos 1990): last step first. By
# hand, on the three steps of section 2, with some gradient from above at each:

# %%
dhs = np.array([[[0.1, -0.2], [0.3, 0.0], [-0.5, 0.4]]])  # (N, T, H): from above

dh3 = dhs[:, 2]  # nothing comes after step 3
da3 = dh3 * (1 - h3**2)

dh2 = dhs[:, 1] + da3 @ Wh.T  # from above, and from step 3
da2 = dh2 * (1 - h2**2)

dh1 = dhs[:, 0] + da2 @ Wh.T  # from above, and from step 2: which holds step 3's as well
da1 = dh1 * (1 - h1**2)

dWh = h0.T @ da1 + h1.T @ da2 + h2.T @ da3
dWx = x[:, 0].T @ da1 + x[:, 1].T @ da2 + x[:, 2].T @ da3
db = (da1 + da2 + da3).sum(axis=0)
dx = np.stack([da1 @ Wx.T, da2 @ Wx.T, da3 @ Wx.T], axis=1)  # (N, T, D)

layer = TimeRNN(Wx, Wh, b)
layer.forward(x)
assert np.allclose(layer.backward(dhs), dx)
assert np.allclose(layer.Wh.grad, dWh)
assert np.allclose(layer.Wx.grad, dWx)
assert np.allclose(layer.b.grad, db)
assert np.allclose(layer.dh0, da1 @ Wh.T)  # what would go on to the steps before
print(check_gradients(layer, x))

# %% [markdown]
# Every line above is a line of `TimeRNN.backward`, which does the same in a loop. Open
# `deepnlp/layers/rnn.py` beside this page and find them.
#
# ### A way back of many steps
#
# Follow one loss, $L_t$, to a state far behind it, $h_k$. Each step contributes two factors:
#
# $$\frac{\partial L_t}{\partial h_k} = dh_t^{\uparrow} \prod_{j=k+1}^{t}
#   \mathrm{diag}(1 - h_j^2)\, W_h^\top \qquad\text{(the factor with $j = t$ first)}$$
#
# The survey among the sources has $W_{xh}$ multiplied into this product as well. It is not there:
# $W_x$ leads from an input into a state, and no way from state to state passes through it.
#
# We can measure the product. For each $t$, send a gradient in at step $t$ alone and note its norm
# at every $h_k$. The hook `watch` of a recurrent layer shows what arrives at each step.


# %%
def reach(layer, x, rng):
    """Norms of dL_t / dh_k for all t and k, (T, T), of a loss with random slope at each step."""
    N, T, _ = x.shape
    norms = np.zeros((T, T))
    slopes = rng.normal(size=(N, T, layer.H))
    for t in range(T):
        only_t = np.zeros_like(slopes)
        only_t[:, t] = slopes[:, t]
        layer.forward(x)
        arrived = norms[t]
        layer.watch = lambda k, _x, _h, dh, to=arrived: to.__setitem__(k, np.linalg.norm(dh))
        layer.backward(only_t)
    layer.watch = None
    return norms


rng = np.random.default_rng(0)
fresh = TimeRNN.init(16, 32, rng=rng, dtype="float64")
norms = reach(fresh, rng.normal(size=(1, 24, 16)), rng)
for k in (0, 1, 2, 4, 8, 16):
    print(f"{k:2} steps back: {norms[23, 23 - k] / norms[23, 23]:.5f} of the gradient is left")

# %% [markdown]
# With fresh weights, little is left after a few steps. What decides this, and what to do about it,
# is the subject of lesson 6. Here it is a fact to use: **most of the gradient stays near its
# loss.**

# %% [markdown]
# ### Exercise 5.5 ★★ Three steps, or three hundred
#
# Write backpropagation through time for any number of steps. `forward(x)` takes $(N, T, D)$, starts
# from a state of zeros and gives all states $(N, T, H)$; `backward(dhs)` returns `dx` and sets
# `dWx`, `dWh`, `db`.


# %%
class MyTimeRNN:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b
        self.dWx = self.dWh = self.db = None

    def forward(self, x):
        return None

    def backward(self, dhs):
        return None


check("5.5", MyTimeRNN)


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 5.5
class TimeRNNSolution:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b
        self.dWx = self.dWh = self.db = None

    def forward(self, x):
        N, T, _ = x.shape
        self.x = x
        self.h = [np.zeros((N, len(self.Wh)))]  # h[t] is the state after t steps
        for t in range(T):
            a = x[:, t] @ self.Wx + self.h[t] @ self.Wh + self.b
            self.h.append(np.tanh(a))
        return np.stack(self.h[1:], axis=1)

    def backward(self, dhs):
        dx = np.empty_like(self.x)
        self.dWx, self.dWh = np.zeros_like(self.Wx), np.zeros_like(self.Wh)
        self.db = np.zeros_like(self.b)
        dh_next = 0.0
        for t in reversed(range(self.x.shape[1])):
            da = (dhs[:, t] + dh_next) * (1 - self.h[t + 1] ** 2)
            self.dWx += self.x[:, t].T @ da
            self.dWh += self.h[t].T @ da
            self.db += da.sum(axis=0)
            dx[:, t] = da @ self.Wx.T
            dh_next = da @ self.Wh.T
        return dx


check("5.5", TimeRNNSolution)

# %% [markdown]
# ## 4 · Truncated: the state goes on, the gradient stops
#
# The training text has a third of a million words. Going back through all of them for every update
# would need the states of all steps in memory, and a very long time for one single update. So the
# text is cut into **windows** of $T$ steps:
#
# * forward, a window starts from the state in which the one before it ended: nothing is forgotten;
# * backward, the gradient stops where the window starts: what came earlier is taken as given.
#
# This is **truncated backpropagation through time**, TBPTT.

# %%
text = ["<eos>", "the", "file", "is", "closed", "when", "the", "object", "is", "deleted"]
unrolled(text, window=3)

# %% [markdown]
# In the package, `stateful=True` carries the state from call to call. Twelve steps together, and
# the same twelve in three windows of four:

# %%
rng = np.random.default_rng(1)
Wx, Wh, b = (0.5 * rng.normal(size=shape) for shape in [(3, 4), (4, 4), (4,)])
x, dhs = rng.normal(size=(2, 12, 3)), rng.normal(size=(2, 12, 4))

whole = TimeRNN(Wx, Wh, b)
h_whole = whole.forward(x)
dx_whole = whole.backward(dhs)

windows = TimeRNN(Wx, Wh, b, stateful=True)
h_parts, dx_parts = [], []
for k in range(0, 12, 4):
    h_parts.append(windows.forward(x[:, k : k + 4]))
    dx_parts.append(windows.backward(dhs[:, k : k + 4]))  # gradients of weights add up

assert np.allclose(np.concatenate(h_parts, axis=1), h_whole)  # the states are the same
difference = np.abs(np.concatenate(dx_parts, axis=1) - dx_whole).max(axis=(0, 2))
print("largest difference of dx, step by step:", difference.round(4))
print("difference of dWh:", np.linalg.norm(windows.Wh.grad - whole.Wh.grad).round(4))

# %% [markdown]
# The states agree to the last digit. The gradients agree in the last window, which has nothing
# after it, and differ in the others, mostly near the border, where the gradient from the next
# window is missing.
#
# The map of section 3 shows what is kept and what is dropped. Each row is a loss, each column a
# state that its gradient reaches. TBPTT computes the triangles along the diagonal.

# %%
gradient_reach(norms, window=8)

# %% [markdown]
# A third of the ways, and most of the gradient: a good bargain. It gets better with longer windows.
# Here is the gradient of a real loss with respect to $E$, $W_x$ and $W_h$ over 64 words of text,
# once whole and once in windows of $T$; the error is the norm of the difference, relative to the
# norm of the whole gradient. We look at fresh weights, and at a network after a short training, in
# which most of what there is to learn first depends on the last few words.


# %%
def learn(model, optimizer, updates, N=10, T=35, max_norm=1.0):
    """A training loop: the losses of a number of updates by windows of the training text."""
    losses = []
    for inputs, targets in BPTTBatches(corpus.train, N, T):
        if len(losses) == updates:
            break
        losses.append(float(model.forward(inputs, targets)))
        model.zero_grad()
        model.backward()
        clip_gradients(model.parameters(), max_norm)
        optimizer.step()
    return losses


def text_gradient(model, ids, window):
    """Gradient of the mean loss over a text, in windows, by parameter."""
    model.reset_state()
    model.zero_grad()
    inputs, targets = ids[None, :-1], ids[None, 1:]
    for k in range(0, inputs.shape[1], window):
        part = slice(k, k + window)
        model.forward(inputs[:, part], targets[:, part])
        model.backward(targets[:, part].size / targets.size)  # its share of the mean
    return [parameter.grad.copy() for parameter in model.parameters()]


def truncation_error(model, lengths, texts=8):
    """Relative error by window length for E, Wx and Wh, the mean over a few texts."""
    errors = np.zeros(len(lengths))
    for start in range(0, 64 * texts, 64):
        ids = corpus.valid[start : start + 65]
        full = np.concatenate([g.ravel() for g in text_gradient(model, ids, 64)[:3]])
        for i, T in enumerate(lengths):
            part = np.concatenate([g.ravel() for g in text_gradient(model, ids, T)[:3]])
            errors[i] += np.linalg.norm(part - full) / np.linalg.norm(full) / texts
    return errors


lengths = [1, 2, 4, 8, 16, 32]
deepnlp.seed(0)
model = SimpleRNNLM(V, 64, 64)
errors = {"fresh weights": (lengths, truncation_error(model, lengths))}
model.reset_state()
learn(model, Adam(model.parameters(), lr=0.01), updates=20 if short else 200)
errors["after training"] = (lengths, truncation_error(model, lengths))
curves(
    errors,
    title="The longer the window, the less of the gradient is missing",
    xlabel="T, steps in a window",
    ylabel="relative error of the gradient",
    logx=True,
)

# %% [markdown]
# ### What truncation cannot learn
#
# Is the missing part only a small error, then? No: it is the whole gradient of everything that lies
# further back than a window reaches. A sharp test: the input is a stream of coin tosses, and the
# answer at each step is **the toss four steps earlier**. A model that remembers needs 0 bits, one
# that does not needs 1 bit. We train with windows of different lengths, and once with the state
# carried, once with the state reset at the start of every window.


# %%
def remember(T, lag=4, carried=True, tosses=2_000, N=20, seed=0):
    """Loss in bits at the end of training on tosses that return after ``lag`` steps."""
    deepnlp.seed(seed)
    coins = np.random.default_rng(seed).integers(0, 2, (N, tosses))
    answers = np.full_like(coins, -1)  # -1: no answer is asked for
    answers[:, lag:] = coins[:, :-lag]
    model = SimpleRNNLM(vocab_size=2, embed_size=2, hidden_size=8)
    optimizer = Adam(model.parameters(), lr=0.01 * min(1.0, T / 8))
    losses = []
    for k in range(0, tosses - T + 1, T):
        inputs, targets = coins[:, k : k + T], answers[:, k : k + T]
        if not carried:
            model.reset_state()
        loss = model.forward(inputs, targets)
        model.zero_grad()
        model.backward()
        clip_gradients(model.parameters(), max_norm=1.0)
        optimizer.step()
        losses.append(float(loss) / math.log(2))
    return np.mean(losses[-len(losses) // 10 :])


Ts = [4, 5] if short else [1, 2, 3, 4, 5, 6, 8]
tosses = 1_000 if short else 6_000
curves(
    {
        "state carried": (Ts, [remember(T, tosses=tosses) for T in Ts]),
        "state reset": (Ts, [remember(T, carried=False, tosses=tosses) for T in Ts]),
    },
    title="A toss of four steps ago: a window of 5 can learn it, one of 4 never does",
    xlabel="T, steps in a window",
    ylabel="loss (bits per toss)",
    levels={"guessing": 1.0},
)

# %% [markdown]
# Three things to see:
#
# * With windows of four or fewer no gradient ever runs from an answer to the toss it depends on.
#   The carried state *holds* traces of that toss, and nothing ever tells the network to keep them
#   well.
# * With windows of five, one answer in each window has its toss inside. That is enough: what it
#   teaches serves all the others, because the weights are the same at every step.
# * But only if the state is carried. Reset, the first four answers of each window are beyond
#   knowing, and the loss cannot fall below $4/T$ bits.
#
# So the length of a window limits **what can be learned**, the state decides **what can be used**.
#
# On real text the limit is softer, because most of what there is to learn about the next word lies
# close by. `chapters/ch05_recurrent_networks/truncation_length.py` trains the model of section 6
# with windows of 1 to 70 steps, always on 700 words per update. The validation perplexities after
# one epoch: 64.3 for windows of a single step, **62.1 for 5**, 63.6 for 35. Where the gradient
# fades within some ten steps anyway, longer windows have little to add; and the shorter they are,
# the more places of the text fit into one update.

# %% [markdown]
# ### Cutting a text for N readers
#
# A batch of $N$ windows should be $N$ texts read side by side, so that row $n$ of one batch goes on
# where row $n$ of the batch before ended. `BPTTBatches` cuts the stream into $N$ long rows and
# walks along them:

# %%
for inputs, targets in BPTTBatches(np.arange(25), batch_size=2, time_size=5):
    print(inputs.tolist(), "->", targets.tolist())

# %% [markdown]
# The last window is shorter, and nothing is lost. Cutting the stream into windows first, and
# stacking neighbours into a batch, is the classic mistake: each row would then go on from a state
# that belongs to another place of the text.

# %% [markdown]
# ### Exercise 5.6 ★ Before you run it
#
# A `TimeRNN` reads a text whole, a second one with the same weights reads it in windows of four
# with its state carried. What do the two agree in: `"states"`, `"gradients"`, `"both"` or
# `"neither"`?

# %%
my_choice = ""
check("5.6", my_choice)

# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 5.6
choice_solution = "states"
check("5.6", choice_solution)

# %% [markdown]
# ### Exercise 5.7 ★★ Windows
#
# `ids` is a stream of tokens, shape $(n,)$. Cut it into $N$ rows of $\lfloor (n - 1) / N \rfloor$
# inputs each, and return a list of pairs `(inputs, targets)`, each $(N, T)$, that walk along the
# rows; the last pair may be narrower. A target is the token after its input.


# %%
def my_windows(ids, N, T):
    return None


check("5.7", my_windows)


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 5.7
def windows_solution(ids, N, T):
    length = (len(ids) - 1) // N
    inputs = ids[: N * length].reshape(N, length)
    targets = ids[1 : N * length + 1].reshape(N, length)
    return [(inputs[:, k : k + T], targets[:, k : k + T]) for k in range(0, length, T)]


check("5.7", windows_solution)

# %% [markdown]
# ### Exercise 5.8 ★★★ A layer that truncates by itself
#
# Take your `MyTimeRNN` and give it a `window`. `forward` reads all $T$ steps together, as before.
# `backward` cuts the gradient at the start of each window: between the steps $0 \dots w - 1$,
# $w \dots 2w - 1$ and so on. The result must equal that of windows with carried state. Look closely
# at the first step of a window: which part of its gradient is dropped, and which is not?


# %%
class MyTruncatedRNN:
    def __init__(self, Wx, Wh, b, window):
        self.Wx, self.Wh, self.b, self.window = Wx, Wh, b, window
        self.dWx = self.dWh = self.db = None

    def forward(self, x):
        return None

    def backward(self, dhs):
        return None


check("5.8", MyTruncatedRNN)


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 5.8
class TruncatedRNNSolution:
    def __init__(self, Wx, Wh, b, window):
        self.Wx, self.Wh, self.b, self.window = Wx, Wh, b, window
        self.dWx = self.dWh = self.db = None

    def forward(self, x):
        self.x, self.h = x, [np.zeros((len(x), len(self.Wh)))]
        for t in range(x.shape[1]):
            self.h.append(np.tanh(x[:, t] @ self.Wx + self.h[t] @ self.Wh + self.b))
        return np.stack(self.h[1:], axis=1)

    def backward(self, dhs):
        dx = np.empty_like(self.x)
        self.dWx, self.dWh = np.zeros_like(self.Wx), np.zeros_like(self.Wh)
        self.db = np.zeros_like(self.b)
        dh_next = 0.0
        for t in reversed(range(self.x.shape[1])):
            da = (dhs[:, t] + dh_next) * (1 - self.h[t + 1] ** 2)
            self.dWx += self.x[:, t].T @ da
            self.dWh += self.h[t].T @ da  # the value of h_prev counts, also across a border
            self.db += da.sum(axis=0)
            dx[:, t] = da @ self.Wx.T
            dh_next = 0.0 if t % self.window == 0 else da @ self.Wh.T  # its gradient does not
        return dx


check("5.8", TruncatedRNNSolution)

# %% [markdown]
# ## 5 · The loss over time
#
# From states to guesses: an affine map, the same at every step, gives a score to each of $V$ words,
# and the softmax makes probabilities of them.
#
# $$s_t = h_t W + b_o, \qquad p_t = \mathrm{softmax}(s_t), \qquad
#   L = -\frac{1}{N T} \sum_{n, t} \log p_{n, t, w_{n, t + 1}}$$
#
# `TimeAffine` takes $(N, T, H)$ to $(N, T, V)$. As no step depends on another here, it is one
# matrix product of $N T$ rows:

# %%
rng = np.random.default_rng(2)
N, T, H, words = 2, 3, 4, 6
h, W, b_o = rng.normal(size=(N, T, H)), rng.normal(size=(H, words)), rng.normal(size=words)
targets = rng.integers(0, words, (N, T))

s = (h.reshape(N * T, H) @ W + b_o).reshape(N, T, words)  # (N, T, V)
e = np.exp(s - s.max(axis=-1, keepdims=True))
p = e / e.sum(axis=-1, keepdims=True)
onehot = np.eye(words)[targets]  # (N, T, V)
L = -np.log((p * onehot).sum(axis=-1)).mean()
ds = (p - onehot) / (N * T)
dW = h.reshape(N * T, H).T @ ds.reshape(N * T, words)

affine, loss = TimeAffine(W, b_o), SoftmaxWithLoss()
assert np.allclose(affine.forward(h), s)
assert np.allclose(loss.forward(s, targets), L)
assert np.allclose(loss.backward(), ds)
affine.backward(ds)
assert np.allclose(affine.W.grad, dW)

# %% [markdown]
# ### Why a learning rate of 20?
#
# Recipes for recurrent language models often say: plain SGD, learning rate **20**, gradient clipped
# to norm 0.25. For a reader of lesson 1 that is an alarming number. Look at the loss: it is a
# *mean* over $N T$ words. With $N = 20$ and $T = 35$ its gradient is 700 times smaller than that of
# the sum.
#
# Zaremba, Sutskever and Vinyals (2014) take the sum over the $T$ steps and the mean over the $N$
# texts, a loss $T$ times as large, and learn with rate 1 and norm 5. In the same unit our 20 is
# $20 / 35 = 0.57$ and our 0.25 is $0.25 \cdot 35 = 8.75$. The same order: only the unit differs.

# %%
deepnlp.seed(0)
model = SimpleRNNLM(V, 100, 100)
inputs, targets = BPTTBatches(corpus.train, 20, 35)[0]


def gradient_norm(dloss):
    model.reset_state()
    model.forward(inputs, targets)
    model.zero_grad()
    model.backward(dloss)
    return float(clip_gradients(model.parameters(), max_norm=math.inf))


print(f"gradient of the mean over N T words: norm {gradient_norm(1):8.3f}")
print(f"... of the sum over T, mean over N:  norm {gradient_norm(35):8.3f}")
print(f"... of the sum over N T words:       norm {gradient_norm(700):8.3f}")

# %% [markdown]
# A gradient norm of 0.2 times a rate of 0.02 moves all weights together by 0.004: nothing happens.
# We try a few rates on the same text. And because the recipe was found for another cell, the LSTM
# of lesson 6, that one is tried at 20 as well.


# %%
def smooth(losses, width=20):
    """Means over blocks of updates: their middles and values."""
    blocks = [losses[k : k + width] for k in range(0, len(losses) - width + 1, width)]
    return [width * (k + 0.5) for k in range(len(blocks))], [np.mean(block) for block in blocks]


updates = 40 if short else 240
tried = {}
for lr in (0.02, 1, 5, 20):
    deepnlp.seed(0)
    model = SimpleRNNLM(V, 100, 100)
    losses = learn(model, SGD(model.parameters(), lr), updates, N=20, max_norm=0.25)
    tried[f"RNN, rate {lr:g}"] = smooth(losses)
deepnlp.seed(0)
lstm = RNNLM(V, 100, 100, layers=1, cell="lstm", tie="none", dropout=0.0)
losses = learn(lstm, SGD(lstm.parameters(), lr=20), updates, N=20, max_norm=0.25)
tried["LSTM, rate 20"] = smooth(losses)
curves(
    tried,
    title="A mean over 700 words wants a large rate: the LSTM bears 20,\n"
    "the simple RNN does best near 5 and is thrown about by 20",
    xlabel="updates",
    ylabel="training loss (nats per word, log scale)",
    logy=True,
)

# %% [markdown]
# So 20 is not a universal value. It belongs to a mean over $N T$, to plain SGD, to a clipping that
# keeps one step below $20 \cdot 0.25 = 5$, and to a cell whose gradients are well behaved. Change
# one of these and the rate changes with it. Adam divides each gradient by its own size, so that the
# unit of the loss drops out: with Adam, 0.01 will do.

# %% [markdown]
# ### Exercise 5.9 ★★ The loss over time, backward
#
# `forward(logits, targets)` takes $(N, T, V)$ and $(N, T)$ and returns the mean cross-entropy over
# all $N T$ targets; `backward(dloss)` returns the gradient with respect to the logits.


# %%
class MyTimeLoss:
    def forward(self, logits, targets):
        return None

    def backward(self, dloss=1):
        return None


check("5.9", MyTimeLoss)


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 5.9
class TimeLossSolution:
    def forward(self, logits, targets):
        s = logits - logits.max(axis=-1, keepdims=True)
        e = np.exp(s)
        self.p = e / e.sum(axis=-1, keepdims=True)
        self.onehot = np.eye(logits.shape[-1])[targets]
        return -np.mean(np.log((self.p * self.onehot).sum(axis=-1)))

    def backward(self, dloss=1):
        N, T, _ = self.p.shape
        return dloss * (self.p - self.onehot) / (N * T)


check("5.9", TimeLossSolution)

# %% [markdown]
# ### Exercise 5.10 ★ The same step in another unit
#
# A recipe takes the mean over $N = 20$ texts but the **sum** over $T = 70$ steps, and SGD with
# learning rate 1. Which rate makes the same step with the loss of this package, the mean over both?

# %%
my_rate = None
check("5.10", my_rate)

# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 5.10
rate_solution = 70  # the mean's gradient is 70 times smaller, the rate has to make up for it
check("5.10", rate_solution)

# %% [markdown]
# ## 6 · A language model
#
# All parts are there. An embedding, a recurrent layer that carries its state, an affine output, the
# loss:

# %%
deepnlp.seed(0)
D = H = 100
embed = Embedding.init(V, D)
rnn = TimeRNN.init(D, H, stateful=True)
affine = TimeAffine.init(H, V)
loss = SoftmaxWithLoss()

h = rnn.forward(embed.forward(inputs))  # (N, T) -> (N, T, D) -> (N, T, H)
L = loss.forward(affine.forward(h), targets)  # (N, T, V) -> a number
embed.backward(rnn.backward(affine.backward(loss.backward())))

simple = SimpleRNNLM(V, D, H)  # the same four layers in a class, on one page
for mine, theirs in zip([embed, rnn, affine], [simple.embed, simple.rnn, simple.affine]):
    for ours, copy in zip(mine.parameters(), theirs.parameters()):
        copy.value[...] = ours.value
assert np.isclose(simple.forward(inputs, targets), L)
print(f"loss before training {float(L):.3f}, log V {math.log(V):.3f}")
print(simple.summary())

# %% [markdown]
# Before training, the loss is close to $\log V$: the model throws a die with 2,000 sides. Where do
# the first updates go? Into learning **which words are frequent**, and that we know already. So
# `start_from_unigram` sets the output bias to the logarithms of the frequencies, and training can
# begin with what depends on context. (`RNNLM` with `cell="rnn"`, one layer and no tying is
# `SimpleRNNLM` with more options.)


# %%
def fresh_model(informed):
    deepnlp.seed(0)
    model = RNNLM(
        V, D, H, layers=1, cell="rnn", tie="none", dropout=0.0, embed_bound=0.3 if informed else 0.1
    )
    if informed:
        model.start_from_unigram(counts)
    return model


def first_losses(model, updates):
    return smooth(learn(model, Adam(model.parameters(), lr=0.01), updates), 10)


updates = 40 if short else 200
unigram_loss = math.log(Unigram().fit(corpus.train, V).perplexity(corpus.valid))
curves(
    {
        "plain": first_losses(fresh_model(False), updates),
        "from the unigram": first_losses(fresh_model(True), updates),
    },
    title="A bias that knows how frequent words are, and embeddings that are not tiny,\n"
    "save the first updates",
    xlabel="updates",
    ylabel="training loss (nats per word)",
    levels={"unigram": unigram_loss},
)

# %% [markdown]
# Now in earnest. The `Trainer` does what the loops above do, and after each epoch measures the
# perplexity on the validation text. The learning rate falls in a straight line to zero.

# %%
epochs = 1 if short else 3
model = fresh_model(informed=True)
updates = epochs * len(BPTTBatches(corpus.train, 10, 35))
trainer = Trainer(
    model,
    corpus,
    Adam(model.parameters(), lr=0.01),
    epochs=epochs,
    batch_size=10,
    time_size=35,
    max_norm=1.0,
    schedule=Linear(updates),
    out=False,
    progress=False,
    baselines=False,
)
result = trainer.fit()
counted = baselines(corpus.train, {"valid": corpus.valid, "test": corpus.test}, V)
learning_curve(trainer.history, {name: found["valid"] for name, found in counted.items()})

# %%
five = KneserNey(5).fit(corpus.train, V).perplexity(corpus.test)
print("perplexity on the test text, which nothing was tuned on")
for name, found in counted.items():
    print(f"  {name:8} {found['test']:6.1f}")
print(f"  5-gram   {five:6.1f}")
print(f"  RNN      {perplexity(model, corpus.test):6.1f}")

# %% [markdown]
# A network of one hundred units, with a state of one hundred numbers, beats the counts: the trigram
# clearly, and by a little the 5-gram as well. The learning curve shows where more could come from:
# on its training text the model is much surer than on a new one. Lesson 6 narrows that gap.

# %% [markdown]
# ## 7 · Letting it speak
#
# A language model can be run forward: draw a word from $p_t$, feed it back as the next input,
# repeat. The state carries all that was said so far, so one word at a time is enough.


# %%
def speak(model, length, temperature, rng):
    model.eval()
    model.reset_state()
    id_, said = vocab.eos_id, []
    for _ in range(length):
        logits = model.logits(np.array([[id_]]))[0, 0]  # (V,), the state goes on
        logits[vocab.unk_id] = -np.inf  # we do not want to read <unk>
        id_ = draw(apply_temperature(logits, temperature), rng)
        said.append(id_)
    return vocab.detokenize(vocab.decode(said))


print(speak(model, 40, temperature=0.8, rng=np.random.default_rng(0)))
assert generate(model, length=40, temperature=0.8, seed=0) == speak(
    model, 40, 0.8, np.random.default_rng(0)
)

# %% [markdown]
# The **temperature** $\tau$ divides the scores before the softmax:
#
# $$p_i = \frac{\exp(s_i / \tau)}{\sum_j \exp(s_j / \tau)}$$
#
# At $\tau = 1$ these are the model's own probabilities. Below 1 the likely words become likelier,
# towards always the likeliest; above 1 all words come closer to each other, towards the die.
# Here is what may follow *return a* at three temperatures:

# %%
model.reset_state()
prompt = vocab.encode(["<eos>", "return", "a"])
s = model.logits(prompt[None, :])[0, -1]  # (V,): scores after the last word
by_hand = np.exp(s / 0.5 - (s / 0.5).max())
assert np.allclose(by_hand / by_hand.sum(), apply_temperature(s, 0.5), atol=1e-6)
next_words(
    vocab.tokens,
    {f"temperature {tau:g}": apply_temperature(s, tau) for tau in (1.0, 0.5, 1.5)},
    title="After “return a”: a low temperature sharpens, a high one flattens",
)

# %%
for tau in (0.3, 0.7, 1.0, 1.5):
    print(f"temperature {tau}:")
    print("  " + generate(model, length=45, temperature=tau, seed=3).replace("\n", "\n  "))

# %% [markdown]
# Compare with drawing words from the unigram alone, at temperature 1. Every word is real, and
# nothing hangs together: what the RNN adds is all in the order.

# %%
rng = np.random.default_rng(0)
known = np.delete(np.arange(V), vocab.unk_id)
drawn = rng.choice(known, 40, p=counts[known] / counts[known].sum())
print(vocab.detokenize(vocab.decode(drawn)))

# %% [markdown]
# ### Exercise 5.11 ★★ Temperature
#
# Return the probabilities at temperature `tau`. Scores may be as large as 1,000.


# %%
def my_temperature(logits, tau):
    return None


check("5.11", my_temperature)


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 5.11
def temperature_solution(logits, tau):
    e = np.exp((logits - logits.max()) / tau)
    return e / e.sum()


check("5.11", temperature_solution)

# %% [markdown]
# ### Exercise 5.12 ★★★ One word at a time
#
# Continue `ids` (a list of token ids) by `length` further ids, each the likeliest after all before
# it, and return the new ids as a list. `model.logits` takes ids $(N, T)$, gives scores $(N, T, V)$
# and carries the state; the model may have read something else before you got it. Feed each id to
# the model **once**.


# %%
def my_continuation(model, ids, length):
    return None


check("5.12", my_continuation)


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 5.12
def continuation_solution(model, ids, length):
    model.reset_state()
    logits = model.logits(np.array([ids]))  # the whole prompt
    found = []
    for _ in range(length):
        found.append(int(logits[0, -1].argmax()))
        logits = model.logits(np.array([[found[-1]]]))  # (1, 1): the new id alone
    return found


check("5.12", continuation_solution)

# %% [markdown]
# ## 8 · Where it is surprised
#
# A perplexity is one number for a whole text. The surprisal of each word says more: here for a
# sentence that is not in the training text, under the RNN.

# %%
sentence = "Return a list of the names of all the files in the current directory."
found = score(model, sentence)
surprisal_text(
    found.tokens,
    found.surprisals,
    title="The RNN expects the grammar, and not what the sentence is about",
).figure()

# %% [markdown]
# The small words that grammar asks for are cheap: *of* after *list*, the full stop, the end. The
# words that carry the meaning cost the most. Now the same words in another order:

# %%
rng = np.random.default_rng(4)
words = found.tokens[:-1]
shuffled = [words[k] for k in rng.permutation(len(words))]
found_shuffled = score(model, " ".join(shuffled))
surprisal_text(
    found_shuffled.tokens,
    found_shuffled.surprisals,
    title="The same words shuffled: now the grammar is what surprises it",
).figure()

# %% [markdown]
# In a notebook, `surprisal_text(tokens, bits)` without `.figure()` is shown as text that can be
# copied. Try a sentence of your own:

# %%
yours = score(model, "If the file does not exist, an exception is raised.")
surprisal_text(yours.tokens, yours.surprisals, title="Yours")

# %% [markdown]
# ### How long is its memory?
#
# A bracket that was opened has to be closed. A trigram knows of an open bracket for two words; an
# RNN can keep it in its state. We collect every closing bracket of the validation and test texts
# and sort them by the distance to the one that was opened: how surprising was the `)`?


# %%
def closing_brackets(ids, *bits):
    """Surprisals of each ')' by its distance from the '(' before it in the sentence."""
    found, opened = {}, None
    for k, word in enumerate(vocab.decode(ids)):
        if word == "<eos>":
            opened = None
        elif word == "(":
            opened = k
        elif word == ")" and opened is not None:
            found.setdefault(k - opened, []).append([one[k - 1] for one in bits])
            opened = None
    return found


trigram = KneserNey(3).fit(corpus.train, V)
text = np.concatenate([corpus.valid, corpus.test])
brackets = closing_brackets(
    text,
    surprisal(model, text) / math.log(2),
    -trigram.log_probabilities(text) / math.log(2),
)
groups = [(2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 8), (9, 11), (12, 16)]
where, means = [], []
for low, high in groups:
    rows = [row for d in range(low, high + 1) for row in brackets.get(d, [])]
    if rows:
        where.append((low + high) / 2)
        means.append(np.mean(rows, axis=0))
means = np.array(means)
print("closing brackets:", sum(len(rows) for rows in brackets.values()))
curves(
    {"RNN": (where, means[:, 0]), "trigram": (where, means[:, 1])},
    title="The RNN knows that a bracket is open, and forgets it in a dozen words",
    xlabel="words since the bracket was opened",
    ylabel="surprisal of the closing bracket (bits)",
)

# %% [markdown]
# Over the first words the RNN is far ahead of the counts: it does remember. After a dozen words its
# lead has melted away. It was trained with windows of 35 steps, so truncation is not to blame. The
# gradient itself fades on the way back, as section 3 measured, and what the gradient does not reach
# is not learned.
#
# ## What to read next
#
# * **Lesson 6, gated networks**: why the gradient fades or explodes, the LSTM and the GRU that keep
#   it, and the better language model, with its weights tied.
# * `deepnlp/layers/rnn.py` and `deepnlp/models/simple_rnnlm.py`: all of this lesson in two pages.
# * `chapters/ch05_recurrent_networks/`: the model on the full vocabulary, the length of windows in
#   real training, samples at many temperatures.
# * Elman, *Finding structure in time* (1990), for where it began; Mikolov and others, *Recurrent
#   neural network based language model* (2010), for this lesson's model; Werbos, *Backpropagation
#   through time: what it does and how to do it* (1990).
# * The note on weight tying in a simple RNN, among the sources of this project: its $P_{DH}$ is the
#   transpose of our $W_x$. Read it with lesson 6 at hand: in its closing summary the names of the
#   two projections have changed places.
