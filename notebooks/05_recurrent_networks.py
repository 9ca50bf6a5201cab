# %% [markdown]
# # Lesson 5 · Recurrent networks
#
# **The question.** A network of fixed size takes inputs of a fixed size. A text has any length. How
# can one read the other, word after word, and predict the next word better the more of the text it
# has read?
#
# In this lesson a language model grows from a die with 2,000 sides to a network that writes
# sentences. You follow its gradient back through time by hand, and measure how far back its memory
# reaches. You need lesson 1, and from lesson 3 the embedding, which looks up a row for each word.
#
# *Time.* To read: 90 minutes, with the exercises of one and two stars; those of three stars take an
# hour more. To run: about five minutes on one core, or a few seconds with `DEEPNLP_LESSON=short`,
# which cuts the experiments down.

# %%
import math
from dataclasses import replace

import numpy as np

import deepnlp
from deepnlp import plots
from deepnlp.datasets import load_corpus
from deepnlp.gradcheck import check_gradients
from deepnlp.lessons import figures
from deepnlp.lessons.exercises import check, short_form
from deepnlp.lessons.experiments.brackets import closing_brackets
from deepnlp.lessons.experiments.reach import gradient_norms

deepnlp.seed(0)
short = short_form()

# %% [markdown]
# ## 1 · How surprised are you?
#
# A **language model** gives every possible next word a probability, and so by the chain rule one to
# a whole text: $P(w_1, \dots, w_n) = \prod_{t=1}^{n} P(w_t \mid w_1, \dots, w_{t-1})$.
#
# The text of this lesson is `pydocs`: the English that your own Python installation carries, its
# docstrings and the topics of its manual. We keep the 2,000 most frequent words; every other word
# is read as `<unk>`, and `<eos>` ends a sentence.

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
# A model with perplexity 60 is on average as unsure as somebody who throws a fair die with 60
# sides. The two simplest models are the die and the **unigram**, which knows word frequencies only:


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
# Where it has seen little it falls back on shorter contexts. Kneser and Ney (1995) found a very
# good way to do that; their model is our contestant, and no part of what we build.

# %%
from deepnlp.models.ngrams import KneserNey

by_order = [KneserNey(n).fit(corpus.train, V).perplexity(corpus.valid) for n in (1, 2, 3, 4, 5)]
print("1 to 5 words:", " ".join(f"{one:.1f}" for one in by_order))

# %% [markdown]
# A second word of context takes the perplexity from 76.3<!--= by_order[1] --> to 66.5<!--=
# by_order[2] -->, a fourth one from 65.7<!--= by_order[3] --> only to 64.3<!--= by_order[4] -->:
# the longer a context, the fewer of its occurrences there are to count. In a table of counts, *the
# first argument is* and *the second argument is* have nothing to do with each other.
#
# The **neural language model** of Bengio, Ducharme, Vincent and Jauvin (2003) solves half of this.
# It looks up the vectors of the last $n - 1$ words, puts them side by side and sends them through a
# hidden layer: $h = \tanh([x_{t-n+2}, \dots, x_t]\, W + b)$, with a softmax over all words above
# it. Since *first* and *second* have similar vectors, what was learned after one is of use after
# the other. But its window is as fixed as that of an n-gram: a word further back has no influence,
# and each place of the window has weights of its own, so a phrase has to be learned anew at every
# place. What we want is a **summary of all that was read**, in a few numbers, in which similar
# pasts look similar. That summary will be the state of a recurrent network.
#
# ### Exercise 5.1 ★ Perplexity
#
# `log_p` holds the natural logarithms of the probabilities that a model gave to the words of a
# text, shape $(n,)$. Return the perplexity.


# %%
def my_perplexity(log_p): ...


check("5.1", my_perplexity)

# %% [markdown]
# ### Exercise 5.2 ★ In your head
#
# A model gives every second word of a text probability 1/4 and the others 1/16. What is its
# perplexity? Answer with a number.

# %%
check("5.2", ...)

# %% [markdown]
# ## 2 · A cell with a memory
#
# One cell reads the text from left to right. At step $t$ it takes the word $w_t$ and its own state
# from the step before, and gives a new state $h_t$, from which the next word is predicted.

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
# The *same* weights at every step: that is how a network of fixed size reads a text of any length.
# One text of three steps:

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
# In the package `RNN` is one step, `TimeRNN` all of them, $(N, T, D)$ to $(N, T, H)$. The graph is
# drawn from the layer itself.

# %%
from deepnlp.layers import RNN, TimeRNN

step = RNN(Wx, Wh, b)
assert np.allclose(step.forward(x[:, 1], h1), h2)
layer = TimeRNN(Wx, Wh, b)
assert np.allclose(layer.forward(x), np.stack([h1, h2, h3], axis=1))
figures.computation_graph(step)

# %% [markdown]
# The derivative of the cell is short. With $a = x W_x + h_{prev} W_h + b$ and $h = \tanh a$:
#
# $$da = dh \odot (1 - h^2), \qquad dx = da\, W_x^\top, \qquad dh_{prev} = da\, W_h^\top$$
# $$dW_x = x^\top da, \qquad dW_h = h_{prev}^\top da, \qquad db = \sum_n da_n$$
#
# The factor $\tanh'(a) = 1 - h^2$ is 1 at $a = 0$ and smaller everywhere else: a unit that stays
# near zero hardly weakens the gradient that passes through it, a saturated one stops it.
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
# Unrolled over three steps, the recurrent network is a deep network with three layers that share
# their weights. Its backward pass follows from two observations, both the fork rule of lesson 1:
#
# 1. $h_t$ is used **twice**, by the layer above at step $t$ and by the cell at step $t + 1$. The
#    two gradients add.
# 2. The weights are used **three times**, once per step. Their three gradients add.
#
# Written down, with $dh_t^{\uparrow}$ for what comes from the layer above and $da_{T+1} = 0$:
#
# $$dh_t = dh_t^{\uparrow} + da_{t+1} W_h^\top, \qquad da_t = dh_t \odot (1 - h_t^2)$$
# $$dW_h = \sum_t h_{t-1}^\top da_t, \qquad dW_x = \sum_t x_t^\top da_t, \qquad db = \sum_t da_t$$
#
# This is **backpropagation through time** (Werbos 1990): the last step comes first. By hand, on the
# three steps of section 2, with some gradient from above at each:

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
assert np.allclose(layer.Wh.grad, dWh)
print(check_gradients(TimeRNN(Wx, Wh, b), x))

# %% [markdown]
# ### A path of many steps
#
# Follow one loss, $L_t$, to a state far behind it, $h_k$. Each step contributes two factors:
#
# $$\frac{\partial L_t}{\partial h_k} = dh_t^{\uparrow} \prod_{j=k+1}^{t}
#   \mathrm{diag}(1 - h_j^2)\, W_h^\top \qquad\text{(the factor with $j = t$ first)}$$
#
# $W_x$ is not in the product: it leads from an input into a state, and no path from one state to
# another passes through it. `gradient_norms` measures the product. For each $t$ it sends a random
# gradient into step $t$ alone, runs the layer's backward pass, and notes the norm of what arrives
# at every $h_k$; the result is $(T, T)$, with a row for each loss.


# %%
rng = np.random.default_rng(0)
fresh = TimeRNN.init(16, 32, rng=rng, dtype="float64")
norms = gradient_norms(fresh, rng.normal(size=(1, 24, 16)), rng)
left = norms[23, ::-1] / norms[23, 23]
print("left after 0, 1, 2, 4, 8, 16 steps:", left[[0, 1, 2, 4, 8, 16]].round(5))

# %% [markdown]
# Of this gradient 0.5 %<!--= left[8] --> is left after eight steps. The figure belongs to these
# fresh weights, drawn from $U(-1/\sqrt{H}, 1/\sqrt{H})$ as is usual; section 7 measures the trained
# network, which keeps far more. But that the gradient of a recurrent network shrinks or grows
# exponentially with the distance holds in general. It was found by Hochreiter (1991) and, with its
# consequences for learning, by Bengio, Simard and Frasconi (1994), and lesson 6 asks what decides
# between the two. Here we use it: **at the start of training most of the gradient stays near its
# loss.**
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
# * backward, the gradient stops where the window starts: what came earlier is taken as given.
#
# This is **truncated backpropagation through time**, TBPTT (Williams and Peng 1990). Its gradient
# is biased: paths across a border are always missing. *Randomised* truncation draws the borders and
# weighs what passes the more, the less likely it was to pass. Its gradient is right in the mean
# (Tallec and Ollivier 2017), but varies more, and fixed windows are what is used.

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
# ### Exercise 5.5 ★ Before you run it
#
# In what do the whole and the windows agree: `"states"`, `"gradients"`, `"both"` or `"neither"`?
# When you have chosen, compare `np.concatenate(h_parts, axis=1)` with `h_whole`, and so for $dx$.

# %%
check("5.5", ...)

# %% [markdown]
# How much of section 3's measurement does a window keep? A row is a loss, a column a state:

# %%
figures.gradient_reach(norms, window=8)

# %% [markdown]
# TBPTT computes the triangles along the diagonal: a third of the paths, with these weights most of
# the gradient.
#
# ### Cutting a text for N readers
#
# Row $n$ of one batch should go on where row $n$ of the batch before ended. `BPTTBatches` cuts the
# stream into $N$ long rows and walks along them:

# %%
from deepnlp.training import BPTTBatches

for inputs, targets in BPTTBatches(np.arange(25), batch_size=2, time_size=5):
    print(inputs.tolist(), "->", targets.tolist())

# %% [markdown]
# Were the stream cut into windows first, and neighbours stacked into a batch, each row would go on
# from a state that belongs to another place of the text.
#
# ### Exercise 5.6 ★★ Windows
#
# `ids` is a stream of tokens, shape $(n,)$. Cut it into $N$ rows of $\lfloor (n - 1) / N \rfloor$
# inputs each, and return a list of pairs `(inputs, targets)`, each $(N, T)$, that walk along the
# rows; the last pair may be narrower. A target is the token after its input.


# %%
def my_windows(ids, N, T): ...


check("5.6", my_windows)

# %% [markdown]
# ### Exercise 5.7 ★★★ A layer that truncates by itself
#
# Give your `MyTimeRNN` a `window`. `forward` reads all $T$ steps together, as before. `backward`
# cuts the gradient at the start of each window: between the steps $0 \dots w - 1$, $w \dots 2w - 1$
# and so on. The result must equal that of windows with carried state. Look closely at the first
# step of a window: which part of its gradient is dropped, and which is not?


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
# Three layers stand around the cell: an embedding (lesson 3), an affine map, the same at every
# step, that gives each of $V$ words a score, and the softmax, which makes probabilities of them:
#
# $$s_t = h_t W + b_o, \qquad p_t = \mathrm{softmax}(s_t), \qquad
#   L = -\frac{1}{N T} \sum_{n, t} \log p_{n, t, w_{n, t + 1}}$$
#
# No step depends on another here, so the affine map over time is one matrix product of $N T$ rows,
# and `SoftmaxWithLoss` is that of lesson 1 over $N T$ targets. This is the whole model:

# %%
import inspect

from deepnlp.models import SimpleRNNLM

print(inspect.getsource(SimpleRNNLM.forward), inspect.getsource(SimpleRNNLM.backward), sep="\n")

model = SimpleRNNLM(V, embed_size=100, hidden_size=100)
inputs, targets = BPTTBatches(corpus.train, batch_size=20, time_size=35)[0]
L = float(model.forward(inputs, targets))

# %% [markdown]
# Before training the loss is 7.60<!--= L --> nats, that of the die, $\log V$.
#
# ### Two tools for training
#
# A window can now and then give a gradient many times larger than usual. **Clipping** shortens all
# gradients together to a joint norm of at most `max_norm` (Pascanu, Mikolov and Bengio 2013).
#
# **Adam** (Kingma and Ba 2015) keeps a running mean $m$ of each gradient $g$ and a running mean $v$
# of its square, and steps by $m / \sqrt{v}$, in which the unit of the loss cancels:
#
# $$m \leftarrow \beta_1 m + (1 - \beta_1)\, g, \qquad v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2,
#   \qquad W \leftarrow W - \eta\, \frac{m / (1 - \beta_1^k)}{\sqrt{v / (1 - \beta_2^k)} +
#   \epsilon}$$
#
# Both means start at 0 and are too small at first: in the $k$-th step the weights that $m$ has
# given to gradients sum to $1 - \beta_1^k$ and not to 1. Divided by these sums, $m$ and $v$ are
# means from the first step on. The usual values are $\beta_1 = 0.9$, $\beta_2 = 0.999$, $\epsilon =
# 10^{-8}$.
#
# ### What truncation does not teach
#
# Is what a window cuts off only a small error? A sharp test: the input is a stream of coin tosses,
# and the answer at each step is **the toss four steps earlier**. A model that remembers needs 0
# bits, one that does not needs 1 bit. We train with windows of several lengths, and once with the
# state carried, once with the state reset at the start of every window.


# %%
from deepnlp.optimizers import Adam, clip_gradients


def update(model, optimizer, inputs, targets):
    """One step of training: its loss in nats."""
    L = float(model.forward(inputs, targets))
    model.zero_grad()
    model.backward()
    clip_gradients(model.parameters(), max_norm=1.0)
    optimizer.step()
    return L


def remember(seed, T, carried=True, H=8, enlarge=1.0, lag=4, N=20):
    """Loss in bits at the end of training on tosses that return after ``lag`` steps."""
    deepnlp.seed(seed)
    coins = np.random.default_rng(seed).integers(0, 2, (N, 1_000 if short else 5_000))
    answers = np.full_like(coins, -1)  # -1: no answer is asked for
    answers[:, lag:] = coins[:, :-lag]
    model = SimpleRNNLM(vocab_size=2, embed_size=2, hidden_size=H)
    model.embed.W.value[...] = np.eye(2)
    model.rnn.Wh.value *= enlarge
    optimizer = Adam(model.parameters(), lr=0.01 * min(1.0, T / 8))
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
#   nothing teaches the network to keep that toss.
# * With windows of five, one answer in each window has its toss inside. That is enough, for every
#   seed, down to 0.0<!--= kept[:, Ts.index(5)].max() --> bits, because the weights are the same at
#   every step.
# * But only if the state is carried. Reset, the first four answers of each window cannot be known,
#   and the loss stays at $4/T$ bits, 0.8<!--= reset[:, Ts.index(5)].mean() --> for $T = 5$.
#
# Is a task out of reach, then, if its distance is longer than the window? No. Here is a larger
# state with larger recurrent weights, in which a toss echoes for some steps, trained with windows
# of *one* step, that is without any gradient through time:

# %%
echoes = {
    (H, enlarge): [remember(seed, T=1, H=H, enlarge=enlarge) for seed in seeds]
    for H, enlarge in ((8, 1.0), (64, 1.0), (64, 1.7))
}
for (H, enlarge), bits in echoes.items():
    print(f"H = {H:2}, W_h times {enlarge}: {', '.join(f'{loss:.3f}' for loss in bits)} bits")

# %% [markdown]
# With the larger weights the loss falls to 0.00<!--= max(echoes[64, 1.7]) --> bits with every seed:
# four steps on, the random recurrence still holds the toss, and the output layer learns to read it.
# A recurrent network whose recurrence stays as it was drawn is an **echo state network** (Jaeger
# 2001). So the state decides what *can be used*, and the length of a window what the recurrence
# **is trained to keep**. How much that matters is a question of the text, as the next section
# shows.
#
# ### In earnest
#
# The output bias starts from the logarithms of the word frequencies, which the first updates would
# otherwise have to learn; the learning rate falls to zero. Windows have 35 steps, and there are
# three seeds.

# %%
from deepnlp.evaluation import surprisal  # of each word of a text under a model, in nats

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

# %% [markdown]
# With a state of one hundred numbers the network beats the counts on a text that nothing was tuned
# on, with every seed<!--= short or tested.max() < penta -->: 61 ± 1<!--= tested.mean() --> in the
# mean against 65.6<!--= tri --> for the trigram and 61.8<!--= penta --> for the 5-gram. On its
# training text it is much surer than on a new one, 44 ± 1<!--= training[-1] --> against 60 ± 1<!--=
# validation[-1] -->; lesson 7 asks how much of this is overfitting. And the windows? With as many
# words an update, but windows of 1, 5 or 70 steps, a smaller training hardly differs: in one run
# each, `chapters/ch05_recurrent_networks/truncation_length.py` finds validation perplexities of
# 64.3, 62.1 and 64.7. Most of what can be used in this text stands near.
#
# ## 6 · Letting it speak
#
# Draw a word from $p_t$, feed it back as the next input, repeat. The state carries all that was
# said so far, so one word at a time is enough. The **temperature** $\tau$ divides the scores before
# the softmax:
#
# $$p_i = \frac{\exp(s_i / \tau)}{\sum_j \exp(s_j / \tau)}$$
#
# A low temperature makes the likely words likelier, in the limit always the likeliest; a high one
# brings all words closer to each other, towards the die.

# %%
from deepnlp.generation import apply_temperature


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
# ### Exercise 5.8 ★★ Temperature
#
# Return the probabilities at temperature `tau`. Scores may be as large as 1,000.


# %%
def my_temperature(logits, tau): ...


check("5.8", my_temperature)

# %% [markdown]
# ### Exercise 5.9 ★★★ One word at a time
#
# Continue `ids` (a list of token ids) by `length` further ids, each the likeliest after all before
# it, and return the new ids as a list. `model.logits` takes ids $(N, T)$, gives scores $(N, T, V)$
# and carries the state; the model may have read something else before you got it. Feed each id to
# the model **once**: the check counts.


# %%
def my_continuation(model, ids, length): ...


check("5.9", my_continuation)

# %% [markdown]
# ## 7 · Where it is surprised
#
# The surprisal of each word says more than one perplexity. Replace the sentence by one of yours.


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
print(f"the validation text: {costs.mean():.2f} bits a word, of them *of* {of:.2f}")
print(f"the sentence: {bits.mean():.2f} bits a word, its words in twenty orders {shuffled:.2f}")

# %% [markdown]
# Where grammar leaves hardly a choice a word costs little: the end of a line, or *of* after a noun,
# which over the whole validation text costs less than the mean word<!--= short or of < costs.mean()
# -->. Where many words could stand it costs more, small words no less than nouns. It is the order
# that makes words cheap: in twenty random orders they cost more than one and a half times as
# much<!--= short or shuffled > 1.5 * bits.mean() -->.
#
# ### How long is its memory?
#
# A trigram knows of an open bracket for two words; an RNN can keep it in its state. We sort every
# closing bracket of the validation and test texts by the distance to the one that was opened, and
# ask how surprising the `)` was.

# %%
text = np.concatenate([corpus.valid, corpus.test])
tokens = vocab.decode(text)
groups = [(2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 8), (9, 11), (12, 16)]
nats = {f"RNN, seed {k}": surprisal(model, text) for k, (model, *_) in enumerate(runs)}
nats["trigram"] = -trigram.log_probabilities(text)
closed = {name: closing_brackets(tokens, one / math.log(2), groups) for name, one in nats.items()}
for row in zip(*closed.values()):
    told = [f"{group.mean:.2f} ± {group.error:.2f}" for group in row]
    print(f"{row[0].distance:4} words, {row[0].count:3} brackets:", ", ".join(told), "bits")
plots.curves(
    {name: ([g.distance for g in of], [g.mean for g in of]) for name, of in closed.items()},
    title="The RNN knows that a bracket is open, and forgets it in a dozen words",
    xlabel="words since the bracket was opened",
    ylabel="surprisal of the closing bracket (bits)",
)

# %%
x = model.embed.forward(corpus.valid[None, 1:41])  # (1, 40, D)
trained = TimeRNN(model.rnn.Wx, model.rnn.Wh, model.rnn.b)
norms = gradient_norms(trained, x, np.random.default_rng(0))
left = [np.mean([norms[t, t - k] / norms[t, t] for t in range(20, 40)]) for k in (1, 4, 16)]
print("trained: left after 1, 4, 16 steps:", np.round(left, 3))

# %% [markdown]
# Over the first words the RNN is far ahead of the counts: it does remember. (± is the standard
# error of the mean over the brackets of a row.) After 12 to 16 words its lead is gone, with every
# seed<!--= short or max(closed["trigram"][-1].mean - of[-1].mean for of in closed.values()) < 1
# -->. Windows of 35 steps reach further than that, so truncation is not to blame. The gradient that
# fades on the way back is a suspect: the trained network keeps far more of it than the fresh one of
# section 3, but after sixteen steps a twentieth at most<!--= short or left[-1] < 0.05 -->. Lesson 6
# repeats the test with another cell.
#
# ## What to read next
#
# * **Lesson 6**: why the gradient fades or explodes, and the LSTM.
# * Bengio and others, *A neural probabilistic language model* (2003); Elman, *Finding structure in
#   time* (1990); Mikolov and others, *Recurrent neural network based language model* (2010).
# * Werbos, *Backpropagation through time* (1990); Williams and Peng, *An efficient gradient-based
#   algorithm for on-line training of recurrent network trajectories* (1990); Tallec and Ollivier,
#   *Unbiasing truncated backpropagation through time* (2017); Jaeger, *The "echo state" approach*
#   (2001).
# * Hochreiter, *Untersuchungen zu dynamischen neuronalen Netzen* (1991), and Bengio, Simard and
#   Frasconi, *Learning long-term dependencies with gradient descent is difficult* (1994), on the
#   gradient that fades.
