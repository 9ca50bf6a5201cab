# %% [markdown]
# # Lesson 5 · Recurrent networks
#
# **The question.** A network of fixed size takes inputs of a fixed size. A text has any length. How
# can one read the other, word after word, and predict the next word better the more of the text it
# has read?
#
# In this lesson a language model grows from nothing. It begins as a die with 2,000 sides, learns
# which words are frequent, gets a cell with a memory, and ends by writing sentences. You follow its
# gradient back through time by hand, and measure how far back its memory reaches.
#
# You need lesson 1. The embedding of lesson 3 returns: a layer that looks up a row for each word.
#
# *Time.* To read and work: 90 minutes; exercise 5.7 is for those who want more. To run: about two
# minutes on two cores, a few seconds with `DEEPNLP_LESSON=short`, which cuts the experiments down.

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
# A **language model** gives every possible next word a probability. By the chain rule of
# probability that is enough to give one to a whole text $w_1 \dots w_n$:
#
# $$P(w_1, \dots, w_n) = \prod_{t=1}^{n} P(w_t \mid w_1, \dots, w_{t-1})$$
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
# A model with perplexity 60 is on average as unsure as somebody who throws a fair die with 60
# sides. The two simplest models are the die and the **unigram**, which knows word frequencies only:


# %%
def perplexity(surprisals):
    return math.exp(np.mean(surprisals))


counts = np.bincount(corpus.train, minlength=V)
p = (counts + 1) / (counts + 1).sum()  # one more for each word, so that none is impossible
unigram = perplexity(-np.log(p[corpus.valid[1:]]))  # the first token is context only
die = perplexity(-np.log(np.full(V, 1 / V)[corpus.valid[1:]]))
print(f"die {die:.1f}, unigram {unigram:.1f}")

# %% [markdown]
# ### What there is to beat
#
# An **n-gram** model looks at the last $n - 1$ words and counts what followed them in training.
# Where it has seen little it falls back on shorter contexts. Kneser and Ney (1995) found a very
# good way to do that; their model is our contestant, and no part of what we build.

# %%
from deepnlp.models.ngrams import KneserNey

orders = [1, 2, 3, 4, 5]
by_order = [KneserNey(n).fit(corpus.train, V).perplexity(corpus.valid) for n in orders]
plots.curves(
    {"validation": (orders, by_order)},
    title="Counting: one word of context helps most, more than two hardly help",
    xlabel="n, words in an n-gram (n - 1 of them context)",
    ylabel="perplexity",
    logy=True,
)

# %% [markdown]
# A second word of context takes the perplexity from 76.3<!--= by_order[1] --> to 66.5<!--=
# by_order[2] -->, a fourth one from 65.7<!--= by_order[3] --> only to 64.3<!--= by_order[4] -->:
# the longer a context, the fewer of its occurrences there are to count. In a table of counts, *the
# first argument is* and *the second argument is* have nothing to do with each other. What we want
# is a **summary of all that was read**, in a few numbers, in which similar pasts look similar. That
# summary will be the state of a recurrent network.
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
# from the step before, and gives a new state $h_t$. From $h_t$ the next word is predicted. The blue
# arrows are values, the red dashed ones gradients.

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
# (With column vectors $W_{hh}$ is our $W_h$ transposed.) One text of three steps:

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
# The package has the same twice: `RNN` is one step, `TimeRNN` all of them, $(N, T, D)$ to $(N, T,
# H)$. The graph is drawn from the layer itself. The state enters on the left and leaves on the
# right, into the next step.

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
# The factor $\tanh'(a) = 1 - h^2$ lies between 0 and 1. The source notes on chapter 6 say *below*
# 1; at $a = 0$ it is exactly 1, and a unit that stays near zero hardly weakens what passes through.
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
# `TimeRNN.backward`, in `deepnlp/layers/rnn.py`, does the same in a loop.
#
# ### A path of many steps
#
# Follow one loss, $L_t$, to a state far behind it, $h_k$. Each step contributes two factors:
#
# $$\frac{\partial L_t}{\partial h_k} = dh_t^{\uparrow} \prod_{j=k+1}^{t}
#   \mathrm{diag}(1 - h_j^2)\, W_h^\top \qquad\text{(the factor with $j = t$ first)}$$
#
# (The survey among the sources has $W_{xh}$ in this product as well. It does not belong there:
# $W_x$ leads from an input into a state, and no path from state to state passes through it.) We
# measure the product: for each $t$ a gradient enters at step $t$ alone, and the layer's hook
# `watch` shows the norm with which it arrives at every $h_k$.


# %%
rng = np.random.default_rng(0)
fresh = TimeRNN.init(16, 32, rng=rng, dtype="float64")
norms = gradient_norms(fresh, rng.normal(size=(1, 24, 16)), rng)
left = norms[23, ::-1] / norms[23, 23]
print("left after 0, 1, 2, 4, 8, 16 steps:", left[[0, 1, 2, 4, 8, 16]].round(5))

# %% [markdown]
# With fresh weights 0.5 %<!--= left[8] --> of the gradient is left after eight steps. That the
# gradient of a recurrent network shrinks or grows exponentially with the distance was found by
# Hochreiter (1991) and, with its consequences for learning, by Bengio, Simard and Frasconi (1994).
# What decides between the two, and what to do about it, is the subject of lesson 6. Here it is a
# fact to use: **most of the gradient stays near its loss.**
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
# This is **truncated backpropagation through time**, TBPTT.

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
# How much of the measurement of section 3 does a window keep? In this map each row is a loss, each
# column a state.

# %%
figures.gradient_reach(norms, window=8)

# %% [markdown]
# TBPTT computes the triangles along the diagonal, about a third of the paths and most of the
# gradient.
#
# ### Cutting a text for N readers
#
# A batch of $N$ windows should be $N$ texts read side by side, so that row $n$ of one batch goes on
# where row $n$ of the batch before ended. `BPTTBatches` cuts the stream into $N$ long rows and
# walks along them:

# %%
from deepnlp.training import BPTTBatches

for inputs, targets in BPTTBatches(np.arange(25), batch_size=2, time_size=5):
    print(inputs.tolist(), "->", targets.tolist())

# %% [markdown]
# Cutting the stream into windows first, and stacking neighbours into a batch, is the classic
# mistake: each row would then go on from a state that belongs to another place of the text.
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
# Three layers stand around the cell. An embedding turns words into vectors (lesson 3). An affine
# map, the same at every step, gives each of $V$ words a score, and the softmax makes probabilities
# of them:
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
# Before training the loss is 7.60<!--= L --> nats, that of the die, $\log V$ = 7.60<!--=
# math.log(V) -->.
#
# ### Two tools for training
#
# A window can now and then give a gradient many times larger than usual. **Clipping** shortens all
# gradients together to a joint norm of at most `max_norm` (Pascanu, Mikolov and Bengio 2013).
#
# **Adam** (Kingma and Ba 2015) keeps a running mean $m$ of each gradient and a running mean $v$ of
# its square, and steps by their ratio. So the size of a step does not depend on the unit of the
# loss. Both in NumPy, beside those of the package:

# %%
from deepnlp.optimizers import Adam, clip_gradients
from deepnlp.parameter import Parameter

W = Parameter(np.array([1.0, -2.0]))
adam, mine, m, v = Adam([W], lr=0.01), W.value.copy(), 0.0, 0.0
for k in range(1, 4):
    g = np.array([30.0, 40.0]) * k
    W.zero_grad()
    W.accumulate(g)
    clip_gradients([W], max_norm=5.0)
    adam.step()

    g = g * min(1, 5.0 / np.linalg.norm(g))
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
    mine -= 0.01 * (m / (1 - 0.9**k)) / (np.sqrt(v / (1 - 0.999**k)) + 1e-8)
assert np.allclose(mine, W.value)

# %% [markdown]
# ### What truncation cannot learn
#
# Is what a window cuts off only a small error? A sharp test: the input is a stream of coin tosses,
# and the answer at each step is **the toss four steps earlier**. A model that remembers needs 0
# bits, one that does not needs 1 bit. We train with windows of several lengths, and once with the
# state carried, once with the state reset at the start of every window.


# %%
def update(model, optimizer, inputs, targets):
    """One step of training: its loss in nats."""
    L = float(model.forward(inputs, targets))
    model.zero_grad()
    model.backward()
    clip_gradients(model.parameters(), max_norm=1.0)
    optimizer.step()
    return L


def remember(T, carried=True, lag=4, N=20):
    """Loss in bits at the end of training on tosses that return after ``lag`` steps."""
    deepnlp.seed(0)
    coins = np.random.default_rng(0).integers(0, 2, (N, 1_000 if short else 6_000))
    answers = np.full_like(coins, -1)  # -1: no answer is asked for
    answers[:, lag:] = coins[:, :-lag]
    model = SimpleRNNLM(vocab_size=2, embed_size=2, hidden_size=8)
    optimizer = Adam(model.parameters(), lr=0.01 * min(1.0, T / 8))
    losses = []
    for k in range(0, coins.shape[1] - T + 1, T):
        if not carried:
            model.reset_state()
        losses.append(update(model, optimizer, coins[:, k : k + T], answers[:, k : k + T]))
    return np.mean(losses[-len(losses) // 10 :]) / math.log(2)


Ts = [4, 5] if short else [1, 2, 3, 4, 5, 6, 8]
kept, reset = ([remember(T, carried) for T in Ts] for carried in (True, False))
plots.curves(
    {"state carried": (Ts, kept), "state reset": (Ts, reset)},
    title="A toss of four steps ago: a window of 5 can learn it, one of 4 never does",
    xlabel="T, steps in a window",
    ylabel="loss (bits per toss)",
    levels={"guessing": 1.0},
)

# %% [markdown]
# * With windows of four or fewer no gradient ever runs from an answer to the toss it depends on.
#   The carried state *holds* traces of that toss, but nothing tells the network to keep them.
# * With windows of five, one answer in each window has its toss inside. That is enough, down to
#   0.00<!--= kept[Ts.index(5)] --> bits: what it teaches serves all the others, because the weights
#   are the same at every step.
# * But only if the state is carried. Reset, the first four answers of each window cannot be known,
#   and the loss stays at $4/T$ bits, 0.80<!--= reset[Ts.index(5)] --> for $T = 5$.
#
# So the length of a window limits **what can be learned**, the state decides **what can be used**.
# `chapters/ch05_recurrent_networks/truncation_length.py` measures this limit on real text.
#
# ### In earnest
#
# The output bias starts from the logarithms of the word frequencies, which the first updates would
# otherwise have to learn; the embeddings start less close to zero. The learning rate falls to zero.

# %%
from deepnlp.evaluation import surprisal  # of each word of a text under a model, in nats

deepnlp.seed(0)
model = SimpleRNNLM(V, embed_size=100, hidden_size=100)
model.embed.W.value *= 3
model.affine.b.value[...] = np.log(p)
batches = BPTTBatches(corpus.train, 10, 35)
epochs = 1 if short else 3
optimizer = Adam(model.parameters(), lr=0.01)
training, validation = [], []
for epoch in range(epochs):
    model.reset_state()
    losses = []
    for k, (inputs, targets) in enumerate(batches):
        optimizer.lr = 0.01 * (1 - (epoch + k / len(batches)) / epochs)
        losses.append(update(model, optimizer, inputs, targets))
    training.append(perplexity(losses))
    validation.append(perplexity(surprisal(model, corpus.valid)))
trigram, five = (KneserNey(n).fit(corpus.train, V) for n in (3, 5))
tested = perplexity(surprisal(model, corpus.test))
tri, penta = trigram.perplexity(corpus.test), five.perplexity(corpus.test)
print(f"test text: RNN {tested:.1f}, trigram {tri:.1f}, 5-gram {penta:.1f}")

steps = range(1, epochs + 1)
plots.curves(
    {"training": (steps, training), "validation": (steps, validation)},
    title=f"The RNN ends at {validation[-1]:.1f}, below the trigram's {by_order[2]:.1f}",
    xlabel="epoch",
    ylabel="perplexity",
    levels={"bigram": by_order[1], "trigram": by_order[2]},
)

# %% [markdown]
# With a state of one hundred numbers the network beats the counts on a text that nothing was tuned
# on: 60.6<!--= tested --> against 65.6<!--= tri --> for the trigram and 61.8<!--= penta --> for the
# 5-gram. On its training text it is much surer than on a new one, 43.6<!--= training[-1] -->
# against 60.4<!--= validation[-1] -->. Lesson 7 narrows that gap.
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
# brings all words closer to each other, towards the die. This is what may follow *return a*. In a
# running notebook with `ipywidgets` the second figure has a slider.

# %%
from deepnlp.generation import apply_temperature

model.reset_state()
prompt = vocab.encode(["<eos>", "return", "a"])
s = model.logits(prompt[None, :])[0, -1].astype(float)  # (V,): scores after the last word


figures.next_words(
    vocab.tokens,
    {f"temperature {tau:g}": apply_temperature(s, tau) for tau in (1.0, 0.5, 1.5)},
    title="After “return a”: a low temperature sharpens, a high one flattens",
)


# %%
def draw_words(temperature):
    p = apply_temperature(s, temperature)
    title = f"The likeliest word has probability {p.max():.2f}"
    return figures.next_words(vocab.tokens, {f"temperature {temperature:.2f}": p}, title=title)


figures.explore(draw_words, temperature=(0.1, 3.0, 0.3))


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
words = np.random.default_rng(0).choice(V, 30, p=p)
print("unigram:", vocab.detokenize(vocab.decode(words)).replace("\n", " / "))

# %% [markdown]
# Every word of the unigram is real; what the RNN adds is the order.
#
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
cost = dict(zip(tokens, bits))
_, shuffled = bits_of(np.random.default_rng(4).permutation(sentence).tolist())
plots.surprisal_text(tokens, bits, title="Cheap where the grammar leaves one choice")

# %% [markdown]
# Where grammar leaves hardly a choice a word is cheap: *of* after *list*, the full stop, the end.
# Where many words could stand it is dear, and not only for words that carry the meaning: *files*
# costs 6.5<!--= cost["files"] --> bits and *names* 5.3<!--= cost["names"] -->, but the small word
# *all* costs 6.2<!--= cost["all"] -->, more than *names*<!--= cost["all"] > cost["names"] -->.
# Shuffled, the same words cost 7.80<!--= shuffled.mean() --> bits on average instead of 3.16<!--=
# bits.mean() -->.

# %% [markdown]
# ### How long is its memory?
#
# A bracket that was opened has to be closed. A trigram knows of an open bracket for two words; an
# RNN can keep it in its state. We collect every closing bracket of the validation and test texts,
# sort them by the distance to the one that was opened, and ask how surprising the `)` was.

# %%
text = np.concatenate([corpus.valid, corpus.test])
tokens = vocab.decode(text)
groups = [(2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 8), (9, 11), (12, 16)]
nats = {"RNN": surprisal(model, text), "trigram": -trigram.log_probabilities(text)}
closed = {name: closing_brackets(tokens, s / math.log(2), groups) for name, s in nats.items()}
for one, other in zip(closed["RNN"], closed["trigram"]):
    print(f"{one.distance:4} words: RNN {one.mean:.2f} ± {one.error:.2f} bits, "
          f"trigram {other.mean:.2f} ± {other.error:.2f}, {one.count} brackets")  # fmt: skip
plots.curves(
    {name: ([g.distance for g in of], [g.mean for g in of]) for name, of in closed.items()},
    title="The RNN knows that a bracket is open, and forgets it in a dozen words",
    xlabel="words since the bracket was opened",
    ylabel="surprisal of the closing bracket (bits)",
)

# %% [markdown]
# Over the first words the RNN is far ahead of the counts: it does remember. After 12 to 16 words
# its lead is gone: 5.7<!--= closed["RNN"][-1].mean --> ± 0.5<!--= closed["RNN"][-1].error --> bits,
# against 5.9<!--= closed["trigram"][-1].mean --> ± 0.3<!--= closed["trigram"][-1].error --> for the
# trigram. Windows of 35 steps reach further than that, so truncation is not to blame. The gradient
# that fades on the way back, as in section 3, is a suspect. Lesson 6 repeats this test with another
# cell.
#
# ## What to read next
#
# * **Lesson 6**: why the gradient fades or explodes, and the LSTM. **The code** of this lesson:
#   `deepnlp/layers/rnn.py`, `deepnlp/models/simple_rnnlm.py`.
# * Elman, *Finding structure in time* (1990); Mikolov and others, *Recurrent neural network based
#   language model* (2010); Werbos, *Backpropagation through time* (1990).
# * Hochreiter, *Untersuchungen zu dynamischen neuronalen Netzen* (1991), and Bengio, Simard and
#   Frasconi, *Learning long-term dependencies with gradient descent is difficult* (1994), on the
#   gradient that fades; Tallec and Ollivier, *Can recurrent neural networks warp time?* (2018), who
#   derive from the distances to be bridged how the gates of lesson 6 should start.
