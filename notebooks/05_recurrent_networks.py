# %% [markdown]
# # Lesson 5 · Recurrent networks
#
# **The question.** A network of fixed size takes inputs of a fixed size. A text has any length. How
# can one read the other, word after word, and predict the next word better the more of the text it
# has read?
#
# You begin with a model that guesses blindly and end with a network that writes sentences, follow
# its gradient back through time, and measure how far its memory reaches. You need lesson 1, and
# from lesson 3 the embedding, which looks up a row for each word.
#
# *Time.* Core: 90 minutes, 5 of them for running; further: 85 more. What is marked *further* can be
# skipped, but let its cells run. With `DEEPNLP_LESSON=short` all run in seconds.

# %%
import inspect
import math
from dataclasses import replace

import numpy as np

import deepnlp
from deepnlp import plots
from deepnlp.datasets import load_corpus
from deepnlp.demos.brackets import closing_brackets, distances
from deepnlp.evaluation import surprisal
from deepnlp.generation import apply_temperature
from deepnlp.gradcheck import check_gradients
from deepnlp.layers import RNN, TimeRNN
from deepnlp.lessons.exercises import check, short_form
from deepnlp.models import SimpleRNNLM
from deepnlp.models.ngrams import KneserNey
from deepnlp.optimizers import Adam, clip_gradients
from deepnlp.training import BPTTBatches
from material import figures
from material.gradient_norms import gradient_norms

deepnlp.seed(0)
short = short_form()

# %% [markdown]
# ## 1 · How surprised are you?
#
# A **language model** gives every possible next word a probability, and so a whole text the product
# of those of its words, $\prod_t P(w_t \mid w_1, \dots, w_{t-1})$. (This is the chain rule *of
# probability*, which has nothing to do with derivatives.)
#
# The text is `pydocs`: the English of your own Python installation, its docstrings and the topics
# of its manual. Each entry of it, a word, a sign or the `<eos>` that ends a sentence, is a
# **token**. The 2,000 most frequent are kept; every other is read as `<unk>`.

# %%
corpus = load_corpus("pydocs", vocab_size=2000)
if short:
    corpus = replace(corpus, train=corpus.train[:6_000], valid=corpus.valid[:1_000])
vocab, V = corpus.vocab, len(corpus.vocab)
print(corpus.describe(), " ".join(vocab.decode(corpus.train[1000:1040])), sep="\n")

# %% [markdown]
# How good is a model? Let it read a text that it has not seen, and note at every word how much
# probability it had given to the word that came. The **surprisal** of a word is $-\log P(w_t \mid
# w_1, \dots, w_{t-1})$, in *nats* with the natural logarithm, in *bits* with that to base 2. A word
# that was certain costs 0 bits, one in two costs 1 bit, one in 1,024 costs 10. The **perplexity**
# turns the mean back into a number of words:
#
# $$\mathrm{ppl} = \exp\Big(-\frac{1}{n} \sum_{t=1}^{n} \log P(w_t \mid w_1, \dots, w_{t-1})\Big)$$
#
# Two words with the probabilities 1/2 and 1/8 have a perplexity of 4: together they are as probable
# as two words of 1/4 each. A model with perplexity 60 is on average as unsure as somebody who
# throws a fair die with 60 sides. The two simplest models are the die with a side for each word and
# the **unigram**, which knows word frequencies only:


# %%
def perplexity(surprisals):
    return math.exp(np.mean(surprisals))


counts = np.bincount(corpus.train, minlength=V)
p = (counts + 1) / (counts + 1).sum()  # one more for each word, so that none is impossible
unigram = perplexity(-np.log(p[corpus.valid[1:]]))  # the first token is context only
print(f"die {V}, unigram {unigram:.1f}")

# %% [markdown]
# ### What there is to beat
#
# An **n-gram** model looks at the last $n - 1$ words and counts what followed them in training.
# Where it has seen little it falls back on shorter contexts; how to do that best was found by
# Kneser and Ney (1995). Theirs is the model that our network has to beat. We use it as it is.

# %%
by_order = [KneserNey(n).fit(corpus.train, V).perplexity(corpus.valid) for n in (1, 2, 3, 4, 5)]
print("context of 0 to 4 words:", " ".join(f"{one:.1f}" for one in by_order))

# %% [markdown]
# A second word of context takes the perplexity from 76.3<!--= by_order[1] --> to 66.5<!--=
# by_order[2] -->, the fourth from 65.7<!--= by_order[3] --> only to 64.3<!--= by_order[4] -->.
# (Without context it is a unigram, smoothed otherwise.) Counting has two weaknesses. The longer a
# context is, the fewer of its occurrences there are to count. And *the first argument is* and *the
# second argument is* have nothing to do with each other in a table.
#
# The **neural language model** of Bengio, Ducharme, Vincent and Jauvin (2003) cures the second. It
# puts the vectors of the last $n - 1$ words side by side, as one row of $(n - 1) D$ numbers, and
# sends it through a hidden layer, with a softmax over all words above it. If *first* and *second*
# have similar vectors, what was learned after one is of use after the other. But its window is as
# fixed as that of an n-gram: a word further back has no influence, and each place of the window has
# weights of its own, so that a phrase has to be learned anew at every place. What we want is a
# **summary of all that was read**, in a few numbers, in which similar pasts look similar. The state
# of a recurrent network is one.
#
# ### Exercise 5.1 ★ Perplexity
#
# `log_p` holds the natural logarithms of the probabilities that a model gave to the words of a
# text, shape $(n,)$. Return the perplexity.


# %%
def my_perplexity(log_p): ...


check("5.1", my_perplexity)

# %% [markdown]
# ### Exercise 5.2 ★ In your head · further
#
# A model gives every second word of a text probability 1/4 and the others 1/16. What is its
# perplexity? Answer with a number.

# %%
check("5.2", ...)

# %% [markdown]
# ## 2 · A cell with a memory
#
# A **cell** is one layer that is called again at every step. At step $t$ it takes the word $w_t$
# and its own state from the step before, and gives a new state $h_t$, from which the next word is
# predicted. The circles are four calls of one cell; above stand the words to predict and the
# losses.

# %%
figures.unrolled(["<eos>", "the", "file", "is", "closed"])

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
# The *same* weights at every step: so a network of fixed size reads a text of any length. By hand:

# %%
Wx = np.array([[0.5, -0.3], [0.8, 0.2]])  # (D, H)
Wh = np.array([[0.1, 0.4], [-0.2, 0.3]])  # (H, H)
b = np.array([0.0, 0.1])  # (H,)
x = np.array([[[1.0, 0.5], [-1.0, 2.0], [0.3, 0.7]]])  # (N, T, D) = (1, 3, 2)
h0 = np.zeros((1, 2))
h1 = np.tanh(x[:, 0] @ Wx + h0 @ Wh + b)
h2 = np.tanh(x[:, 1] @ Wx + h1 @ Wh + b)
h3 = np.tanh(x[:, 2] @ Wx + h2 @ Wh + b)
print(h1, h2, h3)

# %% [markdown]
# In the package `RNN` is one step. `TimeRNN` takes all $T$ steps at once, $(N, T, D)$, and gives
# all states, $(N, T, H)$. The graph of a step is drawn from the layer itself.

# %%
step = RNN(Wx, Wh, b)
assert np.allclose(step.forward(x[:, 1], h1), h2)
layer = TimeRNN(Wx, Wh, b)
assert np.allclose(layer.forward(x), np.stack([h1, h2, h3], axis=1))
figures.computation_graph(step)

# %% [markdown]
# Its derivative is that of lesson 1: two affine layers, whose outputs are added, and a tanh. With
# $a = x W_x + h_{prev} W_h + b$ and $h = \tanh a$, and $\odot$ for the product entry by entry,
#
# $$da = dh \odot (1 - h^2), \qquad dx = da\, W_x^\top, \qquad dh_{prev} = da\, W_h^\top$$
# $$dW_x = x^\top da, \qquad dW_h = h_{prev}^\top da, \qquad db = \sum_n da_n$$
#
# The factor $\tanh'(a) = 1 - h^2$ is 1 at $a = 0$ and smaller everywhere else: a unit that stays
# near zero hardly weakens the gradient that passes through it, a **saturated** one, near $\pm 1$,
# stops it.
#
# ### Exercise 5.3 ★★ One step backward
#
# `forward` keeps what `backward` needs; `backward(dh)` returns `(dx, dh_prev)` and sets `self.dWx`,
# `self.dWh` and `self.db`. The gradient checker looks at all five.


# %%
class MyRNN:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x, h_prev): ...

    def backward(self, dh): ...


check("5.3", MyRNN)

# %% [markdown]
# ## 3 · Back through time
#
# Written out over three steps (**unrolled**), the recurrent network is one of three layers that
# share their weights. Its backward pass follows from two observations, both the fork rule of lesson
# 1:
#
# 1. $h_t$ is used **twice**: at step $t$ by the layer above, which predicts the word (section
#    5), and by the cell at step $t + 1$. The two gradients add.
# 2. The weights are used **three times**, once per step. Their three gradients add.
#
# Written down, with $dh_t^{\uparrow}$ for what comes from the layer above and $da_{T+1} = 0$:
#
# $$dh_t = dh_t^{\uparrow} + da_{t+1} W_h^\top, \qquad da_t = dh_t \odot (1 - h_t^2)$$
# $$dW_h = \sum_t h_{t-1}^\top da_t, \qquad dW_x = \sum_t x_t^\top da_t, \qquad db = \sum_t da_t$$
#
# This is **backpropagation through time** (Werbos 1990). By hand, on the three steps of section 2:

# %%
dhs = np.array([[[0.1, -0.2], [0.3, 0.0], [-0.5, 0.4]]])  # (N, T, H): from above

dh3 = dhs[:, 2]  # nothing comes after step 3
da3 = dh3 * (1 - h3**2)
dh2 = dhs[:, 1] + da3 @ Wh.T  # from above, and from step 3
da2 = dh2 * (1 - h2**2)
dh1 = dhs[:, 0] + da2 @ Wh.T  # from above, and from step 2, which holds step 3's as well
da1 = dh1 * (1 - h1**2)

dWh = h0.T @ da1 + h1.T @ da2 + h2.T @ da3
dx = np.stack([da1 @ Wx.T, da2 @ Wx.T, da3 @ Wx.T], axis=1)  # (N, T, D)

layer.forward(x)
assert np.allclose(layer.backward(dhs), dx)
print("dWh agrees:", np.allclose(layer.Wh.grad, dWh), check_gradients(layer, x).ok)

# %% [markdown]
# ### A path of many steps
#
# Put the formula for $dh_t$ into itself again and again, for one text ($N = 1$) and one loss,
# $L_t$. Each step on the way to a state far behind, $h_k$, contributes two factors:
#
# $$\frac{\partial L_t}{\partial h_k} = dh_t^{\uparrow} \prod_{j=k+1}^{t}
#   \mathrm{diag}(1 - h_j^2)\, W_h^\top \qquad\text{(the factor with $j = t$ first)}$$
#
# `gradient_norms` measures it: it sends a random gradient into one step $t$ alone, runs the layer's
# backward pass, and notes the norm at every $h_k$; the result is $(T, T)$, a row for each loss.


# %%
rng = np.random.default_rng(0)
fresh = TimeRNN.init(16, 32, rng=rng, dtype="float64")
norms = gradient_norms(fresh, rng.normal(size=(1, 24, 16)), rng)
left = norms[23, ::-1] / norms[23, 23]  # of the last loss, from step to step further back
print("left after", *(f"{k} steps: {left[k]:.3%} " for k in (1, 2, 4, 8, 16)))

# %% [markdown]
# Of this gradient 0.5 %<!--= left[8] --> is left after eight steps. The number belongs to these
# fresh weights, drawn uniformly between $\pm 1/\sqrt{H}$ as is usual; a trained network keeps more
# (lesson 6). But a product with a pair of factors for each step shrinks or grows exponentially with
# the number of steps, whatever the weights are. Lesson 6 asks what decides between the two
# (Hochreiter 1991; Bengio, Simard and Frasconi 1994). For the next section one thing counts: **at
# the start of training most of the gradient stays near its loss.**
#
# ### Exercise 5.4 ★★ Three steps, or three hundred
#
# Write backpropagation through time for any number of steps. `forward(x)` takes $(N, T, D)$, starts
# from a state of zeros and gives all states $(N, T, H)$; `backward(dhs)` returns `dx` and sets
# `dWx`, `dWh`, `db`.


# %%
class MyTimeRNN:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x): ...

    def backward(self, dhs): ...


check("5.4", MyTimeRNN)

# %% [markdown]
# ## 4 · Truncated: the state goes on, the gradient stops
#
# The training text has a third of a million words. Going back through all of them for one update
# would need the states of all steps in memory. So the text is cut into **windows** of $T$ steps:
#
# * forward, a window starts from the state in which the one before it ended: nothing is forgotten;
# * backward, the gradient stops where the window starts: the state it began with is a constant.
#
# This is **truncated backpropagation through time**, TBPTT (Williams and Peng 1990). Paths across a
# border are missing from its gradient. (With borders drawn at random it can be right in the mean:
# Tallec and Ollivier 2017.)

# %%
figures.unrolled(["<eos>", "the", "file", "is", "closed", "when", "the"], window=3)

# %% [markdown]
# In the package, `stateful=True` carries the state from call to call. Twelve steps together, and
# the same twelve in three windows of four:

# %%
rng = np.random.default_rng(1)
Wx, Wh, b = (0.5 * rng.normal(size=shape) for shape in [(3, 4), (4, 4), (4,)])
x, dhs = rng.normal(size=(2, 12, 3)), rng.normal(size=(2, 12, 4))

whole = TimeRNN(Wx, Wh, b)
h_whole, dx_whole = whole.forward(x), whole.backward(dhs)
windows = TimeRNN(Wx, Wh, b, stateful=True)
h_parts, dx_parts = [], []
for k in range(0, 12, 4):
    h_parts.append(windows.forward(x[:, k : k + 4]))
    dx_parts.append(windows.backward(dhs[:, k : k + 4]))  # gradients of weights add up

# %% [markdown]
# ### Exercise 5.5 ★ Before you run it · further
#
# In what do the whole and the windows agree: `"states"`, `"gradients"`, `"both"` or `"neither"`?
# When you have chosen, compare `np.concatenate(h_parts, axis=1)` with `h_whole`, and
# `np.concatenate(dx_parts, axis=1)` with `dx_whole`.

# %%
check("5.5", ...)

# %% [markdown]
# How much of section 3's measurement does a window keep? Each row of the figure belongs to a loss,
# each column to a state.

# %%
figures.gradient_reach(norms, window=8)

# %% [markdown]
# TBPTT computes the triangles along the diagonal. These are 30 %<!--= 3 * 28 / 276 --> of the paths
# back in time, but with these weights they carry 84 ± 5 %<!--= np.sum(np.tril(norms, -1) *
# np.kron(np.eye(3), np.ones((8, 8)))) / np.sum(np.tril(norms, -1)) --> of the gradient that goes
# back, since most of it does not go far.
#
# ### Cutting a text for N readers
#
# Row $n$ of one batch should go on where row $n$ of the batch before ended. `BPTTBatches` cuts the
# stream into $N$ long rows and walks along them:

# %%
for inputs, targets in BPTTBatches(np.arange(25), batch_size=2, time_size=5):
    print(inputs.tolist(), "->", targets.tolist())

# %% [markdown]
# Windows cut first and then stacked, `[[0 .. 4], [5 .. 9]]` and `[[10 .. 14], [15 .. 19]]`, would
# be wrong: after 4 the first row would go on with 10, from another state.
#
# ### Exercise 5.6 ★★ Windows · further
#
# `ids` is a stream of tokens, shape $(n,)$. Cut it into $N$ rows of $\lfloor (n - 1) / N \rfloor$
# inputs each (what is left over is dropped), and return a list of pairs of arrays `(inputs,
# targets)`, each $(N, T)$, that walk along the rows; the last pair may be narrower. A target is the
# token after its input.


# %%
def my_windows(ids, N, T): ...


check("5.6", my_windows)

# %% [markdown]
# ### Exercise 5.7 ★★★ A layer that truncates by itself · further
#
# Write `MyTimeRNN` once more, with a `window`. `forward` reads all $T$ steps together, as before.
# `backward` cuts the gradient at the start of each window: between the steps $0 \dots w - 1$, $w
# \dots 2w - 1$ and so on. The result must equal that of windows with carried state. Look closely at
# the first step of a window: which part of its gradient is dropped, and which is not?


# %%
class MyTruncatedRNN:
    def __init__(self, Wx, Wh, b, window):
        self.Wx, self.Wh, self.b, self.window = Wx, Wh, b, window

    def forward(self, x): ...

    def backward(self, dhs): ...


check("5.7", MyTruncatedRNN)

# %% [markdown]
# ## 5 · The whole model
#
# Three layers stand around the cell: an embedding (lesson 3), an affine map that gives each of $V$
# words a score, and the softmax:
#
# $$s_t = h_t W + b_o, \qquad p_t = \mathrm{softmax}(s_t), \qquad
#   L = -\frac{1}{N T} \sum_{n, t} \log p_{n, t}(w_{n, t + 1})$$
#
# with $W$ $(H, V)$, $b_o$ $(V,)$ and $p_{n,t}(w)$ for the probability of the word $w$. No step
# depends on another here, so the affine map over time is one matrix product of $N T$ rows, and
# `SoftmaxWithLoss` is that of lesson 1 over $N T$ targets. This is the whole model:

# %%
print(inspect.getsource(SimpleRNNLM.forward), inspect.getsource(SimpleRNNLM.backward), sep="\n")

model = SimpleRNNLM(V, embed_size=100, hidden_size=100)
inputs, targets = BPTTBatches(corpus.train, batch_size=20, time_size=35)[0]
L = float(model.forward(inputs, targets))
print(f"loss before training: {L:.2f} nats")

# %% [markdown]
# Before training the loss is 7.60<!--= L --> nats, that of the die, $\log V$.
#
# ### Two tools for training
#
# **Clipping** takes the gradients of all weights as one long vector, and shortens it to a norm of
# at most `max_norm`: now and then a window gives one many times longer (lesson 6).
#
# **Adam** (Kingma and Ba 2015) keeps a running mean $m$ of each gradient $g$ and a running mean $v$
# of its square, and steps by $m / \sqrt{v}$: if the loss is multiplied by 100, the step stays as it
# is.
#
# $$m \leftarrow \beta_1 m + (1 - \beta_1)\, g, \qquad v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2,
#   \qquad W \leftarrow W - \eta\, \frac{m / (1 - \beta_1^k)}{\sqrt{v / (1 - \beta_2^k)} +
#   \epsilon}$$
#
# Both start at 0 and are too small at first. In step $k$ the gradient of $j$ steps ago has the
# factor $(1 - \beta_1) \beta_1^j$ in $m$; these factors sum to $1 - \beta_1^k$. Divided by the sum,
# $m$ is a mean from the first step on, and so is $v$. Usual are $\beta_1 = 0.9$, $\beta_2 = 0.999$
# and, against a division by 0, $\epsilon = 10^{-8}$.
#
# ### What truncation does not teach · further
#
# Is what a window cuts off only a small error? In this test the input is a row of coin tosses, and
# the answer at each step is **the toss four steps earlier**. A model that remembers needs 0 bits,
# one that does not 1 bit. We train with windows of several lengths, and once with the state
# carried, once with the state reset at the start of every window.


# %%
def update(model, optimizer, inputs, targets):
    """One step of training: its loss in nats."""
    L = float(model.forward(inputs, targets))
    model.zero_grad()
    model.backward()
    clip_gradients(model.parameters(), max_norm=1.0)
    optimizer.step()
    return L


def remember(seed, T, carried=True, H=8, enlarge=1.0, readout_alone=False, lag=4, N=20):
    """Loss in bits at the end of training on tosses that return after ``lag`` steps."""
    deepnlp.seed(seed)
    coins = np.random.default_rng(seed).integers(0, 2, (N, 1_000 if short else 5_000))
    answers = np.full_like(coins, -1)  # the loss leaves out targets of -1
    answers[:, lag:] = coins[:, :-lag]
    model = SimpleRNNLM(vocab_size=2, embed_size=2, hidden_size=H)
    model.embed.W.value[...] = np.eye(2)
    model.rnn.Wh.value *= enlarge
    optimizer = Adam(model.parameters(), lr=0.01 * min(1.0, T / 8))  # short: many small updates
    if readout_alone:
        optimizer = Adam(model.affine.parameters(), lr=0.01)
    losses = []
    for k in range(0, coins.shape[1] - T + 1, T):
        if not carried:
            model.reset_state()
        losses.append(update(model, optimizer, coins[:, k : k + T], answers[:, k : k + T]))
    return np.mean(losses[-len(losses) // 10 :]) / math.log(2)


seeds, Ts = ([0], [4, 5]) if short else ([0, 1, 2], [2, 4, 5, 8])
trials = {
    name: np.array([[remember(seed, T, name == "state carried") for T in Ts] for seed in seeds])
    for name in ("state carried", "state reset")
}  # (seeds, windows)
kept, reset = trials.values()
plots.curves(
    {name: (Ts, of.mean(axis=0)) for name, of in trials.items()},
    dots={name: (np.tile(Ts, len(seeds)), of.ravel()) for name, of in trials.items()},
    title="A toss of four steps ago: windows of 5 teach to keep it, windows of 4 do not",
    xlabel="T, steps in a window",
    ylabel="loss (bits per toss), mean of the seeds",
    levels={"guessing": 1.0},
)

# %% [markdown]
# * With windows of four or fewer no gradient ever runs from an answer to the toss it depends on:
#   nothing teaches the network to keep that toss, and the mean loss stays near 1 bit<!--= short or
#   kept[:, [Ts.index(2), Ts.index(4)]].mean(axis=0).min() > 0.85 -->.
# * With windows of five, one answer in each window has its toss inside. That is enough, down to
#   0.0<!--= kept[:, Ts.index(5)].max() --> bits with every seed: all steps have the same weights.
# * But only if the state is carried. Reset, the first four answers of each window cannot be known,
#   and the loss stays at $4/T$ bits, 0.8<!--= reset[:, Ts.index(5)].mean() --> for $T = 5$.
#
# Is a task out of reach, then, if its distance is longer than the window? No. Here no gradient goes
# through time at all: the recurrence stays as it was drawn, and only the output layer learns.

# %%
echoes = {
    (H, enlarge): [remember(seed, 1, True, H, enlarge, readout_alone=True) for seed in seeds]
    for H, enlarge in ((8, 1.0), (64, 1.0), (64, 1.7))
}
for (H, enlarge), bits in echoes.items():
    print(f"H = {H:2}, W_h times {enlarge}: {', '.join(f'{loss:.3f}' for loss in bits)} bits")

# %% [markdown]
# With 64 units and larger weights the loss falls below 0.05 bits with every seed<!--= short or
# max(echoes[64, 1.7]) < 0.05 -->: four steps on, the random recurrence still holds the toss, and
# the output layer learns to read it. With eight units there is too little of an echo<!--= short or
# min(echoes[8, 1.0]) > 0.3 -->. This is an **echo state network** (Jaeger 2001). So the state
# decides what *can be used*, and the length of a window what the recurrence **is trained to keep**.
# How much that matters, the text decides.
#
# ### Training on the text
#
# The output bias starts from the logarithms of the word frequencies, the learning rate falls to
# zero, windows have 35 steps, and there are three seeds.

# %%
epochs = 1 if short else 3


def learn(seed, T=35):
    """A model, and its perplexity on training and validation text after each epoch."""
    deepnlp.seed(seed)
    model = SimpleRNNLM(V, embed_size=100, hidden_size=100)
    model.embed.W.value *= 3
    model.affine.b.value[...] = np.log(p)
    batches, training, validation = BPTTBatches(corpus.train, 10, T), [], []
    optimizer = Adam(model.parameters(), lr=0.01)
    for epoch in range(epochs):
        model.reset_state()
        losses = []
        for k, (inputs, targets) in enumerate(batches):
            optimizer.lr = 0.01 * (1 - (epoch + k / len(batches)) / epochs)
            losses.append(update(model, optimizer, inputs, targets))
        training.append(perplexity(losses))
        validation.append(perplexity(surprisal(model, corpus.valid)))
    return model, training, validation


runs = [learn(seed) for seed in seeds]
tested = np.array([perplexity(surprisal(model, corpus.test)) for model, *_ in runs])
trigram, five = (KneserNey(n).fit(corpus.train, V) for n in (3, 5))
tri, penta = trigram.perplexity(corpus.test), five.perplexity(corpus.test)
print(f"test text: trigram {tri:.1f}, 5-gram {penta:.1f}, RNN", tested.round(1))
model, training, validation = runs[0]
print(f"seed 0: training {training[-1]:.1f}, validation {validation[-1]:.1f}")

# %% [markdown]
# With a state of one hundred numbers the network beats the counts on a text that nothing was tuned
# on. With every seed it is below the 61.8<!--= penta --> of the 5-gram<!--= short or tested.max() <
# penta --> and the 65.6<!--= tri --> of the trigram. On its training text it is much surer than on
# a new one, 44 ± 1<!--= training[-1] --> against 60 ± 1<!--= validation[-1] --> (± for another seed
# or processor); lesson 7 asks how much of this is overfitting.
#
# And the windows? With as many words in each update, a shorter training gives validation
# perplexities of 64.3, 64.7 and 64.5 (three seeds) with windows of one step, 62.1, 61.7 and 61.7
# with 5, 63.5, 63.4 and 63.8 with 35, and 64.7, 64.2 and 64.5 with 70 (`truncation_length.py` of
# the chapter). With no gradient through time it does as well as with 70 steps: most of what helps
# to predict a word of this text stands a few words before it, where an echo is still strong. But
# not all, as section 7 shows.
#
# ## 6 · Letting it speak
#
# Draw a word from $p_t$, feed it back as the next input, repeat. One word at a time is enough,
# since the state carries all that was said.  The **temperature** $\tau$ divides the scores before
# the softmax:
#
# $$p_i = \frac{\exp(s_i / \tau)}{\sum_j \exp(s_j / \tau)}$$
#
# A low temperature makes likely words likelier. In the samples " / " ends a line.


# %%
def speak(model, length, temperature, rng):
    model.reset_state()
    id_, said = vocab.eos_id, []
    for _ in range(length):
        s = model.logits(np.array([[id_]]))[0, 0].astype(float)  # the state goes on
        s[vocab.unk_id] = -np.inf  # we do not want to read <unk>
        id_ = rng.choice(V, p=apply_temperature(s, temperature))
        said.append(id_)
    return vocab.detokenize(vocab.decode(said)).replace("\n", " / ")


for tau in (0.3, 0.7, 1.0, 1.5):
    print(f"temperature {tau}: {speak(model, 40, tau, np.random.default_rng(3))}\n")

# %% [markdown]
# ### Exercise 5.8 ★★ Temperature · further
#
# Return the probabilities of scores `logits` $(V,)$ at temperature `tau`. Scores may be as large as
# 1,000.


# %%
def my_temperature(logits, tau): ...


check("5.8", my_temperature)

# %% [markdown]
# ### Exercise 5.9 ★★★ One word at a time · further
#
# Continue `ids` (a list of token ids, which stays as it is) by `length` further ids, each the
# likeliest after all before it, and return the new ids as a list. `model.logits` takes ids $(N,
# T)$, gives scores $(N, T, V)$ and carries the state. The model may have read something else before
# you got it; `model.reset_state()` lets it forget. Feed each id to the model **once** (the last new
# one need not be fed): the check counts.


# %%
def my_continuation(model, ids, length): ...


check("5.9", my_continuation)

# %% [markdown]
# ## 7 · Where it is surprised · further
#
# The surprisal of each word (`surprisal`, in nats) says more than one number. Try a sentence of
# yours.


# %%
def bits_of(words):
    ids = vocab.encode(["<eos>", *words, "<eos>"])
    return [*words, "<eos>"], surprisal(model, ids) / math.log(2)


sentence = vocab.tokenize("Return a list of the names of all the files in the current directory.")
tokens, bits = bits_of(sentence)
plots.surprisal_text(tokens, bits, title="Cheap where the grammar leaves one choice")

# %%
known = vocab.decode(corpus.valid[1:])
costs = surprisal(model, corpus.valid) / math.log(2)
of = np.mean([cost for cost, word in zip(costs, known) if word == "of"])
orders = [np.random.default_rng(k).permutation(sentence).tolist() for k in range(20)]
shuffled = np.mean([bits_of(words)[1].mean() for words in orders])
print(f"the validation text: {costs.mean():.2f} bits a word; the word *of* alone {of:.2f}")
print(f"the sentence: {bits.mean():.2f} bits a word, its words in twenty orders {shuffled:.2f}")

# %% [markdown]
# Where grammar leaves hardly a choice a word costs little: over the whole validation text the end
# of a line, and *of*, cost less than the mean word<!--= short or max(of, costs[np.array(known) ==
# "<eos>"].mean()) < costs.mean() -->. It is the order that makes words cheap: in twenty random
# orders the same words cost three times as much, 3.0 ± 0.5<!--= short * 3 or shuffled / bits.mean()
# -->.
#
# **How long is its memory?** A trigram knows of an open bracket for two words; an RNN can keep it
# in its state. We sort every `)` of the validation and test texts by its distance to the `(`, and
# ask how surprising it was. But a late `)` is less expected anyway, remembered or not. So we also
# change the text: with a comma in place of the `(`, how many bits more does the same `)` cost? A
# network that has forgotten the bracket notices nothing. (± is the standard error.)

# %%
text = np.concatenate([corpus.valid, corpus.test])
tokens = vocab.decode(text)
groups = [(2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 8), (9, 11), (12, 16)]
opened = [(k - d, d) for k, d in enumerate(distances(tokens)) if d and tokens[k] == ")"]
by_trigram = -trigram.log_probabilities(text) / math.log(2)
closed, rises = {"trigram": closing_brackets(tokens, by_trigram, groups)}, {}
for k, (model, *_) in enumerate(runs):
    name, plain = f"seed {k}", surprisal(model, text) / math.log(2)
    closed[name], rises[name] = closing_brackets(tokens, plain, groups), []
    for low, high in groups:
        changed = text.copy()
        changed[[place for place, d in opened if low <= d <= high]] = vocab.id(",")
        more = surprisal(model, changed) / math.log(2) - plain
        rises[name] += closing_brackets(tokens, more, [(low, high)])
for what, of in {"bits for the )": closed, "bits more without its (": rises}.items():
    print(f"{what}: {', '.join(of)}")
    for row in zip(*of.values()):
        shown = ", ".join(f"{group.mean:.2f} ± {group.error:.2f}" for group in row)
        print(f"{row[0].distance:4} words, {row[0].count:3} brackets: {shown}")
lines = {name: list(zip(*((g.distance, g.mean) for g in of))) for name, of in rises.items()}
labels = {"xlabel": "words since the bracket was opened", "ylabel": "bits more for the )"}
plots.curves(lines, title="The RNN notices a bracket that is gone, many words later", **labels)

# %% [markdown]
# From three to six words the RNN is far ahead of the trigram, with every seed<!--= short or
# max(of[k].mean - closed["trigram"][k].mean for name, of in closed.items() if name != "trigram" for
# k in range(1, 5)) < -1 -->. After 12 to 16 words it has no lead<!--= short or
# max(closed["trigram"][-1].mean - of[-1].mean for of in closed.values()) < 1 -->, and yet it has
# not forgotten: without the `(` the `)` costs it more than half a bit more, with each seed<!--=
# short or min(of[-1].mean - of[-1].error for of in rises.values()) > 0.5 -->. The memory fades,
# from more than four bits at two words<!--= short or min(of[0].mean for of in rises.values()) > 4
# -->. Lesson 6 measures the gradient on the way back, and repeats the test with another cell.
#
# ## What to read next
#
# * **Lesson 6**: why the gradient fades or explodes, and the LSTM.
# * Bengio and others, *A neural probabilistic language model* (2003); Elman, *Finding structure in
#   time* (1990); Mikolov and others, *Recurrent neural network based language model* (2010).
#   Williams and Peng on truncation (1990); Jaeger, *The "echo state" approach* (2001).
