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
# # Lesson 10 · The Transformer: a network without recurrence
#
# **The question.** With attention there is one step between any word of the target and any word of
# the source. Within a text the way is still long: in a recurrent network what the first word says
# reaches the last one through all the states between. Can the words of a text ask each other
# directly, as the decoder of lesson 9 asked the source?
#
# Vaswani et al. (2017) built a network from nothing else: the *Transformer*. All positions of a
# text are computed at once, since none of them waits for the one before, and the gradient between
# two words passes through one attention, whatever their distance.
#
# In this lesson you write its parts by hand: a head, and the block that joins attention and a
# feed-forward network, and in the exercises marked *further* also the backward pass of attention,
# rotary positions and layer norm. At the end you train a small one and look at what its heads do.
# Lesson 11 puts your parts together to a language model. You need lesson 9 (attention and its
# backward) and the fork rule of lesson 1. *Time.* Core: 90 minutes, 2 of them
# for running; further: 55 more. What is marked *further* can be skipped, but let its cells run.
# With `DEEPNLP_LESSON=short` all run in seconds.

# %%
import numpy as np

from deepnlp.gradcheck import check_gradients
from deepnlp.layers import FeedForward, LayerNorm, MultiHeadAttention, TransformerBlock
from deepnlp.lessons.exercises import check, short_form
from deepnlp.plots import attention_map, curves

short = short_form()

# %% [markdown]
# ## 1 Words that ask each other
#
# In lesson 9 the decoder's state was the query, and the encoder's states were both what is compared
# with it and what is averaged. In **self-attention** all three come from the same vectors $x_1
# \dots x_T$, one for each position of a text. So that a word does not have to look for something
# like itself, each of the three gets its own linear map:
#
# $$ q_t = x_t W_q, \qquad k_s = x_s W_k, \qquad v_s = x_s W_v. $$
#
# The **query** says what position $t$ is looking for, the **key** what can be found at position
# $s$, and the **value** what is read there. From here on it is the attention of lesson 9. The
# scores are sums of $d$ products, whose standard deviation grows with $\sqrt d$; they are divided
# by it, so that the softmax does not begin with nearly all its weight in one place:
#
# $$ e_{ts} = \frac{q_t \cdot k_s}{\sqrt{d}}, \qquad
#    a_{ts} = \frac{\exp e_{ts}}{\sum_{s'} \exp e_{ts'}}, \qquad
#    o_t = \sum_s a_{ts}\, v_s. $$
#
# A language model predicts the word at $t + 1$ from those up to $t$. Position $t$ may therefore
# look at the positions $s \le t$ only: all other scores are set to $-\infty$, as those of the
# padding were in lesson 9. This is the **causal mask**. With it the predictions at all positions
# of a text can be trained at once, and none of them has seen its answer.
#
# ### Exercise 10.1 ★★ One head
#
# Return $o$ from `q`, `k` and `v`, all of shape $(T, d)$, with scale and causal mask. Loops are
# welcome. Scores may be so large that $\exp$ of them overflows: take the largest of a row from all
# of the row first, which changes none of the weights.


# %%
def head(q, k, v): ...


check("10.1", head)

# %% [markdown]
# What can such a head do? Let each position have a vector with a single one, at its own place. A
# query that is the vector of the position *before* fits one key alone, and the head copies the
# word on its left:

# %%
from deepnlp.backend.functions import softmax

words = ["the", "cat", "that", "the", "dog", "saw", "ran"]
T = len(words)
places = np.eye(T)
before = np.roll(places, 1, axis=0)  # row t holds the vector of position t - 1
before[0] = places[0]
scores = np.where(np.tri(T, dtype=bool), 20 * before @ places.T, -np.inf)
title = "Each word reads the one on its left"
attention_map(words, words, softmax(scores), title=title, labels=("is read", "reads"))

# %% [markdown]
# A recurrent network hands on what it has seen step by step. This head fetches it, and a head with
# other queries fetches something else.
#
# ## 2 Several heads
#
# The softmax gives most of the weight to few positions. A verb that needs its subject *and* its
# object would need two averages. So the vectors are cut into $h$ parts of $d = D / h$ numbers, the
# **heads**; each part is an attention of its own, and the outputs are put side by side again and
# sent through one more matrix:
#
# $$ \mathrm{output} = [o^{(1)}, \dots, o^{(h)}]\, W_o. $$
#
# This costs as much as one head of size $D$: $h$ times as many scores, each a sum of $D / h$
# products. In NumPy the heads are one more axis. Attention of $(N, h, T, d)$ arrays is a batched
# product, as it was with $(N, T, d)$.
#
# ### Exercise 10.2 ★ Several heads
#
# Cut `x` $(N, T, D)$ into heads $(N, h, T, D / h)$; the first head gets the first $D / h$ numbers
# of each position, and so on. A reshape alone will not do.


# %%
def split(x, heads): ...


check("10.2", split)


# %% [markdown]
# ## 3 Backward
#
# Nothing in it is new. Three inputs need a gradient, and each is used once:
#
# $$ da_{ts} = do_t \cdot v_s, \qquad dv_s = \sum_t a_{ts}\, do_t, \qquad
#    de_{ts} = a_{ts} \Big( da_{ts} - \sum_{s'} a_{ts'}\, da_{ts'} \Big), $$
# $$ dq_t = \frac{1}{\sqrt{d}} \sum_s de_{ts}\, k_s, \qquad
#    dk_s = \frac{1}{\sqrt{d}} \sum_t de_{ts}\, q_t. $$
#
# A key is used by all queries and a query by all keys, so one sum runs over $t$ and the other over
# $s$: in the code, one matrix is transposed. The mask needs no line of its own. Where $a_{ts}$ is
# 0, $de_{ts}$ is 0 as well.
#
# ### Exercise 10.3 ★★★ Attention, backward · further
#
# Write the layer: `forward(q, k, v)` takes heads $(N, h, T, d)$ and gives $o$ of the same shape,
# with scale and causal mask; `backward(do)` returns `(dq, dk, dv)`.


# %%
class MyHeads:
    def forward(self, q, k, v): ...

    def backward(self, do): ...


check("10.3", MyHeads)

# %% [markdown]
# The package's `MultiHeadAttention` has the four matrices beside it; $W_q$, $W_k$ and $W_v$ stand
# side by side in one matrix `W` $(D, 3D)$, so that there is one product in place of three. The
# same $x$ goes into all three, and by the fork rule $dx$ is the sum of what comes back through
# each.

# %%
rng = np.random.default_rng(0)
x = rng.standard_normal((2, 5, 12))
attention = MultiHeadAttention.init(12, heads=3, causal=True, rng=rng, dtype="float64")
print("output", attention.forward(x).shape, "  weights", attention.weights.shape)
print(check_gradients(attention, x))

# %% [markdown]
# ## 4 Where does a word stand?
#
# ### Exercise 10.4 ★ Who bites whom?
#
# Take a head without a mask, and read *dog bites man*, then *man bites dog*; the vector $x$ of a
# word is its embedding, wherever it stands. What comes out at the word *dog* the second time,
# compared with the first: `"the same"`, `"a different one"` or `"that of man"`?

# %%
my_choice = ...
check("10.4", my_choice)

# %% [markdown]
# A recurrent network knows the order of words because it reads them in this order. Attention is an
# average over a *set*, and has to be told the positions. There are two common ways.
#
# **A vector for each position** is added to the word's: $x_t = E_{w_t} + P_t$. The table $P$ is
# learned like the embedding (GPT-2), or made of sines and cosines of different wavelengths (the
# paper of 2017), $P_{t, 2i} = \sin(t / 10000^{2i/D})$ and $P_{t, 2i+1} = \cos(t / 10000^{2i/D})$.
# These are numbers of size 1, and fresh embeddings are small, so the paper multiplies the embedding
# by $\sqrt D$ before it adds them.
#
# **Rotary positions** (Su et al. 2021) turn queries and keys by an angle that grows with the
# position. The $d = 2m$ numbers of a head are taken as $m$ pairs $(u, w) = (x_i, x_{i+m})$, the
# halves of the vector, and pair $i$ at position $t$ is turned by $\alpha = t\, \theta_i$:
#
# $$ u' = u \cos\alpha - w \sin\alpha, \qquad w' = u \sin\alpha + w \cos\alpha, \qquad
#    \theta_i = 10000^{-i/m}. $$
#
# If both $q_t$ and $k_s$ are turned, the inner product of a pair depends on the difference of
# their angles, $(t - s)\, \theta_i$. So a head can ask for "three words before", and it means the
# same wherever it is asked.
#
# ### Exercise 10.5 ★★ Turning by the position · further
#
# Write the rotation as a layer with given `angles` $(T, m)$: `forward(x)` takes $(\dots, T, 2m)$,
# and `backward(dy)` returns $dx$. (What is the transpose of a rotation?)


# %%
class MyRotation:
    def __init__(self, angles): ...

    def forward(self, x): ...

    def backward(self, dy): ...


check("10.5", MyRotation)


# %% [markdown]
# ### One number along each diagonal · further
#
# The scores of one query and one key at all pairs of positions, turned and not turned:


# %%
def turned(x, base=10_000.0):
    """Rotary positions of x (T, 2m)."""
    T, m = len(x), x.shape[-1] // 2
    alpha = np.outer(np.arange(T), base ** (-np.arange(m) / m))
    u, w = np.split(x, 2, axis=-1)
    return np.concatenate(
        [u * np.cos(alpha) - w * np.sin(alpha), u * np.sin(alpha) + w * np.cos(alpha)], axis=-1
    )


q, k = rng.standard_normal((2, 8))
scores = turned(np.tile(q, (6, 1))) @ turned(np.tile(k, (6, 1))).T
with np.printoptions(precision=2, suppress=True):
    print(scores)
print("one number along each diagonal:", np.allclose(scores[1:, 1:], scores[:-1, :-1]))

# %% [markdown]
# ## 5 Layer norm
#
# A deep network multiplies by many matrices, and the sizes of its vectors drift. **Layer norm**
# (Ba, Kiros and Hinton 2016) gives each position mean 0 and variance 1 over its $D$ numbers, and
# then a scale $g$ and a shift $b$, which are learned:
#
# $$ \mu = \frac{1}{D} \sum_j x_j, \qquad
#    \sigma = \sqrt{\frac{1}{D} \sum_j (x_j - \mu)^2 + \varepsilon}, \qquad
#    \hat x_j = \frac{x_j - \mu}{\sigma}, \qquad y_j = g_j\, \hat x_j + b_j, $$
#
# with $\varepsilon = 10^{-5}$, so that a vector of equal numbers is not divided by zero. Unlike
# batch norm, it does not look at other examples, so it works the same way on a single text.
#
# **Backward.** Write $d\hat x_j = g_j\, dy_j$. A number $x_i$ reaches the outputs in three ways:
# directly, by the mean, which it shifts by $1/D$, and by the standard deviation. Of the last,
#
# $$ \frac{\partial \sigma}{\partial x_i} = \frac{1}{2\sigma} \cdot \frac{2}{D} (x_i - \mu)
#    = \frac{\hat x_i}{D}. $$
#
# (That $\mu$ also depends on $x_i$ adds nothing here, because $\sum_j (x_j - \mu) = 0$.) Now add
# the three ways, using $\hat x_j = (x_j - \mu) / \sigma$:
#
# $$ dx_i = \frac{1}{\sigma} \Big( d\hat x_i
#    - \underbrace{\frac{1}{D} \sum_j d\hat x_j}_{\text{by the mean}}
#    - \underbrace{\hat x_i\, \frac{1}{D} \sum_j d\hat x_j\, \hat x_j}_{\text{by } \sigma} \Big). $$
#
# Two components are subtracted, and we can say which: if all $x_j$ grow by the same number, or all
# $x_j - \mu$ by the same factor, then $\hat x$ does not change, so $dx$ has no part along $(1,
# \dots, 1)$ and (but for $\varepsilon$) none along $\hat x$.
#
# ### Exercise 10.6 ★★★ Layer norm, backward · further
#
# Write the layer for $x$ $(N, T, D)$: `forward(x)`, and `backward(dy)`, which returns $dx$ and
# sets `self.dg` and `self.db`.


# %%
class MyLayerNorm:
    def __init__(self, g, b):
        self.g, self.b = g, b
        self.dg, self.db = None, None

    def forward(self, x): ...

    def backward(self, dy): ...


check("10.6", MyLayerNorm)

# %%
layer = LayerNorm.init(12, dtype="float64")
layer.forward(x)
dx = layer.backward(rng.standard_normal(x.shape))
print("sum of dx over the last axis:", np.abs(dx.sum(axis=-1)).max().round(12))

# %% [markdown]
# ## 6 The block and its residual connections
#
# Attention carries numbers between positions. What is read has to be worked on, too: a
# **feed-forward** network of two layers, the same for all positions, $D$ to $4D$ and back (the
# factor 4 is the paper's choice), with $\mathrm{GELU}(z) = z\, \Phi(z)$ between them, where $\Phi$
# is the distribution function of the normal distribution: a smooth ReLU. The two parts make a
# **block**, and blocks are stacked. Each part is *added* to its input:
#
# $$ h = x + \mathrm{attention}(\mathrm{norm}_1(x)), \qquad
#    y = h + \mathrm{feedforward}(\mathrm{norm}_2(h)). $$
#
# The $x$ that bypasses each part is a **residual connection** (He et al. 2016), and what runs from
# the first block to the last, with each part reading it and adding to it, is the **residual
# stream**. It is a road on which nothing is multiplied, as the memory cell of the LSTM is a road
# through time (lesson 6). Without biases and norms a block has $4 D^2$ weights in its attention
# ($W_q$, $W_k$, $W_v$, $W_o$) and $8 D^2$ in the feed-forward network: $12 D^2$.
#
# ### Exercise 10.7 ★★ Two residual connections
#
# Write the block from its four parts, layers with `forward(x)` and `backward(dy)`.


# %%
class MyBlock:
    def __init__(self, norm1, attention, norm2, feed_forward):
        self.norm1, self.attention = norm1, attention
        self.norm2, self.feed_forward = norm2, feed_forward

    def forward(self, x): ...

    def backward(self, dy): ...


check("10.7", MyBlock)

# %% [markdown]
# ### Exercise 10.8 ★ The norm first or last · further
#
# The paper of 2017 put the norm after the sum: $y = \mathrm{norm}(x + f(x))$; above it stands
# before the part, $y = x + f(\mathrm{norm}(x))$. In which arrangement is $dy$, unchanged, one of
# the terms that $dx$ is the sum of: `"norm first"`, `"norm last"`, `"both"` or `"neither"`?

# %%
my_road = ...
check("10.8", my_road)


# %% [markdown]
# Do the residual connections matter? We stack blocks with fresh weights, send random vectors up and
# a random gradient back, and measure two things: how large the gradient is that arrives at the
# first block, and how different the vectors of the positions of a text still are after each block,
# that is, the share of $x$ that is left when the mean over the positions is taken off. Further
# stacks have the same parts without residual connections, and only the one part or the other. Three
# seeds.


# %%
from deepnlp import Sequential


def no_residuals(D, heads, rng, kinds=("attention", "feed-forward")):
    """The parts of a block, each in the place of its input."""
    attention = MultiHeadAttention.init(D, heads, causal=True, rng=rng)
    parts = {"attention": attention, "feed-forward": FeedForward.init(D, 4 * D, rng=rng)}
    return Sequential(*(layer for kind in kinds for layer in (LayerNorm.init(D), parts[kind])))


def through(make, depth, seed, D=32, T=16):
    """What positions differ by after 0, 1, ... blocks, and the gradient that arrives below."""
    rng = np.random.default_rng(seed)
    blocks = [make(D, rng) for _ in range(depth)]
    xs = [rng.standard_normal((4, T, D)).astype("float32")]
    for block in blocks:
        xs.append(block.forward(xs[-1]))
    dy = dx = rng.standard_normal(xs[-1].shape).astype("float32")
    for block in reversed(blocks):
        dx = block.backward(dx)
    apart = [np.linalg.norm(x - x.mean(axis=1, keepdims=True)) / np.linalg.norm(x) for x in xs]
    return apart, np.linalg.norm(dx) / np.linalg.norm(dy)


depth = 4 if short else 24
kinds = {
    "norm first": lambda D, rng: TransformerBlock.init(D, 4, causal=True, rng=rng),
    "norm last": lambda D, rng: TransformerBlock.init(D, 4, causal=True, norm="post", rng=rng),
    "no residuals": lambda D, rng: no_residuals(D, 4, rng),
    "attention alone": lambda D, rng: no_residuals(D, 4, rng, ["attention"]),
    "feed-forward alone": lambda D, rng: no_residuals(D, 4, rng, ["feed-forward"]),
}
runs = {name: [through(make, depth, seed) for seed in range(3)] for name, make in kinds.items()}
apart = {name: np.array([shares for shares, _ in of]) for name, of in runs.items()}
gradients = {name: np.array([ratio for _, ratio in of]) for name, of in runs.items()}
for name in kinds:
    below = ", ".join(f"{ratio:.2f}" for ratio in gradients[name])
    left = ", ".join(f"{share:.4f}" for share in apart[name][:, -1])
    print(f"{name:>18}: gradient below / above {below}; positions differ by {left}")
curves(
    {name: (np.arange(depth + 1), of.mean(axis=0)) for name, of in apart.items()},
    title="Without residual connections all positions soon hold the same vector",
    xlabel="blocks passed",
    ylabel="share of x in which positions differ",
)

# %% [markdown]
# The gradient: in both arrangements with residual connections it stays within a factor of two<!--=
# all(0.5 < r < 2 for name in ("norm first", "norm last") for r in gradients[name]) -->. The norms
# are not the reason, since the stack without residual connections has the same norms, and there the
# gradient is another one with each seed, by a factor of more than two<!--= short or gradients["no
# residuals"].max() > 2 * gradients["no residuals"].min() -->.
#
# What is lost without them are the *words*. Each attention is an average, and averages of averages
# become equal: after 24<!--= depth --> blocks less than a thousandth of $x$ distinguishes one
# position from another<!--= short or apart["no residuals"][:, -1].max() < 0.001 -->, and a network
# cannot say what stands where. Attention is the cause: alone it does the same<!--= short or
# apart["attention alone"][:, -1].max() < 0.001 -->, while feed-forward layers alone leave more than
# a tenth<!--= apart["feed-forward alone"][:, -1].min() > 0.1 -->. (Dong, Cordonnier and Loukas 2021
# prove that with attention alone this happens doubly exponentially fast. It holds for fresh
# weights, whose attention is flat; with sharper attention from the start deep stacks train without
# residual connections, too: He et al. 2023.) With them more than half of $x$ still does<!--=
# min(apart[name][:, -1].min() for name in ("norm first", "norm last")) > 0.5 -->.
#
# ### Where the norm stands · further
#
# Norm first and norm last look alike here. In training, the gradients of the upper blocks' weights
# are large at the start where the norm comes last, and deep stacks of this kind are trained with a
# learning rate that begins near zero, the *warm-up*; with the norm first they do without it (Xiong
# et al. 2020, for translation). Not everything deep needs this: the task of section 7 is learned by
# 12 blocks of either kind, with and without warm-up, in one run each (`norms.py` of the chapter).
# Since GPT-2 the norm usually comes first.
#
# ## 7 A network that reverses
#
# Eight letters are read and then written in the reverse order. The model sees the letters and what
# it has written so far, and predicts the next letter; the loss counts the written half only: a
# target of -1 is left out. It is the package's `GPT`: an embedding, positions, blocks with a causal
# mask, a last norm, and an output that shares its weights with the embedding (lesson 7b).
#
# The letter that is due stands at a place that is known before anything is read. So this is a
# look-up by *place*, and one block may be enough for it. As controls: a single block, and copying,
# where the letters are written in the order in which they were read.

# %%
from deepnlp.models import GPT
from deepnlp.optimizers import Adam

L, V = 8, 20  # letters of a text, and of the alphabet


def batch(rng, N=64, order=-1):
    """Texts and their reversal, as inputs and targets (N, 2L - 1), where -1 does not count."""
    text = rng.integers(0, V, (N, L))
    both = np.concatenate([text, text[:, ::order]], axis=1)
    targets = both[:, 1:].copy()
    targets[:, : L - 1] = -1
    return both[:, :-1], targets


def reversing(seed, steps, blocks=2, order=-1, **options):
    """A model trained to reverse, and the share of letters that it gets right in new texts."""
    rng = np.random.default_rng(seed)
    made = GPT(V, 32, blocks, heads=2, context=2 * L, rng=rng, **options)
    optimizer = Adam(made.parameters(), lr=0.003)
    for _ in range(steps):
        made.forward(*batch(rng, order=order))
        made.zero_grad()
        made.backward()
        optimizer.step()
    ids, targets = batch(rng, 500, order)
    found = made.logits(ids).argmax(axis=-1)
    return made, (found == targets)[targets >= 0].mean()


steps = 5 if short else 300
trials = {
    "learned": {},
    "sinusoidal": {"positions": "sinusoidal"},
    "rotary": {"positions": "rotary"},
    "learned, one block": {"blocks": 1},
    "rotary, copying": {"positions": "rotary", "order": 1},
}
shares, models = {}, {}
for name, options in trials.items():
    runs = [reversing(seed, steps, **options) for seed in range(3)]
    shares[name], models[name] = [share for _, share in runs], runs[0][0]
    print(f"{name:>18}: {', '.join(f'{share:.1%}' for share in shares[name])} right")

# %% [markdown]
# All letters are right with a table of positions, learned or made of sines<!--= short or
# min(shares["learned"] + shares["sinusoidal"]) > 0.98 -->, and one block is enough<!--= short or
# min(shares["learned, one block"]) > 0.98 -->. Rotary positions say how far two places lie apart,
# and here the distance is different for every letter, 1, 3, 5 and so on; they learn it too, but not
# fully in this many steps<!--= short or max(shares["rotary"]) < min(shares["learned"]) -->. That is
# a matter of this task. In copying the distance is the same for all letters, and the same model
# with rotary positions has more of them right with each seed<!--= short or min(shares["rotary,
# copying"]) > max(shares["rotary"]) -->. Text is more like copying, and in language models rotary
# positions are the usual choice; lesson 11 measures by how much.
#
# What do the heads do? The picture shows the weights of one of them for one text. A row is a
# position that reads, and its letter is the input there.

# %%
ids, _ = batch(np.random.default_rng(5), 1)
alphabet = "abcdefghijklmnopqrst"
letters = [alphabet[i] for i in ids[0]]
model = models["learned"]
model.forward(ids, ids)
blocks = [layer for layer in model.layers if isinstance(layer, TransformerBlock)]
weights = np.stack([block.attention.layer.weights[0] for block in blocks])  # (blocks, heads, T, T)
written, due = np.arange(L - 1, 2 * L - 1), np.arange(L - 1, -1, -1)
on_mirror = weights[:, :, written, due].mean(axis=-1)  # (blocks, heads)
print("mean weight on the letter that is due, by block and head:\n", on_mirror.round(2))
b, h = np.unravel_index(on_mirror.argmax(), on_mirror.shape)
attention_map(
    letters,
    letters,
    weights[b, h],
    labels=("is read", "reads"),
    title=f"Head {h + 1} of block {b + 1}: each written letter reads the one that is due",
)

# %% [markdown]
# In the lower half of the picture each row has nearly all its weight on one letter of the upper
# half, the one that has to be written next. Nobody told the head to look there: the weights of its
# queries and keys were learned from right answers alone. The rows of the upper half may look nearly
# where they like: the loss does not count what is predicted there, and the other block, which could
# use what they read, is not needed.
#
# So the words of a text can ask each other directly; but here a place asks a place, and no letter
# matters for where it looks. Looking up by what *stands* somewhere takes two blocks, one after the
# other. Lesson 11 begins with it. This head can be read because the task is so plain. With real
# texts most heads cannot be read so easily, and the warning of lesson 9 holds: a weight says from
# which position something is fetched, not which word has decided.
#
# ### What it costs · further
#
# A recurrent layer does the same work at each of $T$ steps, one after the other. Attention computes
# $T^2$ scores, but all at once. For texts of some hundred words this is what processors are good
# at; for a book $T^2$ is too much. In multiplications, a block costs $12 D^2$ a token for its
# matrices and $2 T D$ for scores and averages, so that attention is the smaller part as long as $T
# < 6 D$. For the backward pass $h T^2$ weights of each text are kept beside some $30\, T D$ other
# numbers. And a recurrent network writes the next word from its state alone, while a Transformer
# has to keep the keys and values of all words so far, the *KV cache* of lesson 11.
#
# ## What to read next
#
# * **In this project**: `deepnlp/layers/multihead.py`, `positions.py`, `norm.py`,
#   `transformer.py`; `deepnlp/models/gpt.py`; `chapters/ch10_the_transformer/`.
# * Vaswani et al., *Attention is all you need* (2017). Ba, Kiros and Hinton, *Layer normalization*
#   (2016). He et al., *Deep residual learning for image recognition* (2016). Su et al., *RoFormer:
#   enhanced Transformer with rotary position embedding* (2021).
# * Dong, Cordonnier and Loukas, *Attention is not all you need: pure attention loses rank doubly
#   exponentially with depth* (2021). He et al., *Deep transformers without shortcuts* (2023).
# * Xiong et al., *On layer normalization in the Transformer architecture* (2020): norm first, norm
#   last. Zhang and Sennrich, *Root mean square layer normalization* (2019): without the mean.
# * Rush, *The annotated Transformer* (2018): the paper, line by line, with its code.
