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
# # Lesson 6 · Gated networks
#
# **The question.** A recurrent network carries its whole past in one vector, and rewrites that
# vector at every word. How can it learn to keep something for fifty words, when both the vector and
# the gradient that should teach it pass through the same matrix fifty times?
#
# You will watch gradients explode and vanish, and find out which number decides. You will hold the
# first with a leash (clipping) and cure the second with gates: an LSTM, grown piece by piece, each
# piece tested for what it buys. In the end you stack layers, add dropout, tie the weights, and plug
# together a language model in twenty lines that beats the counting models of lesson 5.
#
# You need lesson 5: the RNN cell, backpropagation through time, perplexity.
#
# *Time.* To read and work: four hours. To run from top to bottom: about five minutes on two
# cores. With the environment variable `DEEPNLP_LESSON=short` set, every experiment is cut down and
# the lesson runs in about a minute. To build it with its outputs:
# `python -m notebooks.build 06`.

# %%
import copy
from dataclasses import replace

import numpy as np

import deepnlp
from deepnlp import Layer, Parameter, Sequential, no_backward
from deepnlp.datasets import load_corpus
from deepnlp.evaluation import evaluating, perplexity
from deepnlp.exercises import check, short_form
from deepnlp.experiments import cells, chapter, clipping, memory, phase
from deepnlp.experiments.memory import NAMES, VOCABULARY, names_batch
from deepnlp.functions import sigmoid, softmax
from deepnlp.generation import generate
from deepnlp.gradcheck import check_gradients
from deepnlp.gradflow import gate_values, gradient_flow, spectrum
from deepnlp.layers import (
    GRU,
    LSTM,
    RNN,
    Embedding,
    SoftmaxWithLoss,
    TimeAffine,
    TimeDropout,
    TimeLSTM,
    TimeRNN,
)
from deepnlp.models import RNNLM
from deepnlp.models.ngrams import KneserNey, Unigram
from deepnlp.optimizers import Adam, clip_gradients
from deepnlp.plots import (
    bars,
    computation_graph,
    curves,
    embeddings,
    gate_traces,
    learning_curve,
    long_link,
)
from deepnlp.plots import gradient_flow as draw_gradient_flow
from deepnlp.training import BPTTBatches, Linear

deepnlp.seed(0)
short = short_form()

# %% [markdown]
# ## 1 · Who was watching TV?
#
# *Tom was watching TV in the room. Mary came into the room. Mary said hi to ...* You know the last
# word. To know it, you kept a name in mind while other words went by, among them another name. A
# language model that should learn this gets its lesson at the last word alone: only there does the
# loss say "it was Tom", and that message must travel back to the first word.

# %%
ids, answers = names_batch(np.random.default_rng(4), N=1, distance=20)
words = [VOCABULARY[k] for k in [*ids[0], answers[0]]]
long_link(
    words, cause=0, distractor=17, title="Who is meant? The answer stands at the very beginning"
)

# %% [markdown]
# Let us give the task to the simple RNN of lesson 5. `names_batch` makes such stories with eight
# names and any distance between the first word and the question. The model is an ordinary language
# model, but its loss counts at the question only: a target of $-1$ is ignored.
#
# Here is the training step, once and for all; it is the one of lesson 5, with the clipping of
# section 3 in it.


# %%
def training_step(model, optimizer, inputs, targets, max_norm=1.0):
    loss = model.forward(inputs, targets)
    model.zero_grad()
    model.backward()
    clip_gradients(model.parameters(), max_norm)
    optimizer.step()
    return float(loss)


def learn_stories(model, stories, distance, updates, seed=0, N=32, lr=0.01):
    """Learn to answer a question at the end of a story; accuracy on 500 fresh stories."""
    rng = np.random.default_rng(seed)
    optimizer = Adam(model.parameters(), lr=lr)
    for _ in range(updates):
        ids, answers = stories(rng, N, distance)  # (N, T) and (N,)
        targets = np.full_like(ids, -1)
        targets[:, -1] = answers
        model.reset_state()
        training_step(model, optimizer, ids, targets)
    ids, answers = stories(rng, 500, distance)
    with evaluating(model):
        scores = model.logits(ids)[:, -1]  # (500, V)
    return float(np.mean(scores.argmax(axis=1) == answers))


def story_model(cell, forget_bias=1.0, seed=0):
    rng, V = np.random.default_rng(seed), len(VOCABULARY)
    return RNNLM(
        V, 16, 32, layers=1, cell=cell, tie="none", dropout=0.0,
        embedding=rng.normal(size=(V, 16)), forget_bias=forget_bias, rng=rng,
    )  # fmt: skip


updates = 20 if short else 300
for distance in (5, 20, 40):
    right = [
        learn_stories(story_model("rnn", seed=seed), names_batch, distance, updates, seed)
        for seed in (0, 1)
    ]
    print(f"{distance:2} words apart: {np.mean(right):4.0%} right")
print(f"a guess among the names but the last one heard: {1 / (len(NAMES) - 1):.0%}")

# %% [markdown]
# Five words apart it is easy; at twenty it mostly guesses, at forty it guesses. It is not too
# small: 32 numbers could hold one name of eight. The next section finds out what happens to the
# message on its way back.

# %% [markdown]
# ## 2 · Exploding and vanishing
#
# Here is one step of the RNN, with the gradient's way back in red:

# %%
computation_graph(RNN.init(3, 4, np.random.default_rng(0)))

# %% [markdown]
# Read the red arrows from $h$ to $h_{prev}$. The gradient is multiplied by the derivative of tanh,
# goes through the sum unchanged, and is multiplied by $W_h^\top$:
#
# $$\frac{\partial L}{\partial h_{t-1}} =
#   \Big(\frac{\partial L}{\partial h_t} \odot \tanh'(a_t)\Big) W_h^\top,
#   \qquad \tanh'(a_t) = 1 - h_t^2$$
#
# After $k$ steps, $k$ of these factors have been multiplied. By hand, against the package's layer:

# %%
rng = np.random.default_rng(0)
N, T, D, H = 2, 6, 3, 4
layer = TimeRNN.init(D, H, rng, "float64")
hs = layer.forward(rng.normal(size=(N, T, D)))  # (N, T, H)
dhs = np.zeros_like(hs)
dhs[:, -1] = rng.normal(size=(N, H))  # a loss at the last step only
layer.backward(dhs)

dh = dhs[:, -1]
for t in reversed(range(T)):
    dh = (dh * (1 - hs[:, t] ** 2)) @ layer.Wh.value.T  # (N, H)
assert np.allclose(dh, layer.dh0)

# %% [markdown]
# One thing is *not* in the formula: $W_x$. It stands beside the path, not on it. (The survey lists
# $W_{xh}$ among the factors of $\partial h_n / \partial h_0$; it is none of them.)
#
# ### The two experiments of chapter 6
#
# Leave out tanh for a moment. Then the way back is nothing but $T$ products with the same matrix.
# The book's notes try two matrices, one of them half the other. (The code printed there does not
# run: the line ends are lost, and `dh2` should be `dh**2`.)


# %%
def experiment(scale, N=2, H=3, T=20):
    Wh = np.random.RandomState(3).randn(H, H) * scale
    dh = np.ones((N, H))
    norms = []
    for _ in range(T):
        dh = dh @ Wh.T
        norms.append(np.sqrt(np.sum(dh**2)) / N)
    return np.array(norms), Wh


for scale in (1.0, 0.5):
    norms, Wh = experiment(scale)
    assert np.allclose(norms, chapter.run(chapter.Config(scale=scale, matrices=1)).norms)
    print(f"scale {scale}: {norms[0]:.6f} after one step, {norms[19]:.6g} after twenty")

# %% [markdown]
# The first gradient **explodes**: a hundredfold in twenty steps. The second **vanishes**: one five
# thousandth is left. Both go exponentially, so forty steps would square it.
#
# A word about the number itself. The notes call it the mean L2 norm over the batch. It is the norm
# of the whole matrix (the *Frobenius norm*), divided by $N$: 2.468407 at step 1. The mean of the
# rows' norms would be 3.490854. For a curve on a logarithmic axis it makes no difference; for
# comparing figures with another paper it does.

# %%
_, Wh = experiment(1.0)
dh = np.ones((2, 3)) @ Wh.T
print(f"Frobenius norm over N: {np.linalg.norm(dh) / 2:.6f}")
print(f"mean of the rows' norms: {np.linalg.norm(dh, axis=1).mean():.6f}")

# %% [markdown]
# ### Which number decides?
#
# The notes look at the largest **singular value** $\sigma_1$ of $W_h$, and say: below 1 the
# gradient must vanish; above 1 it will very likely, though not certainly, explode. The survey drops
# the caution and says it explodes. Let us look closely, because here the two experiments are a
# trap.
#
# $\sigma_1$ is the most that *one* product can stretch a vector. That bounds every step, so the
# first half is right: $\sigma_1 < 1$ means vanishing. But to be stretched by $\sigma_1$ each time,
# the vector would have to come out of one product pointing just where the next one stretches most.
# What *many* products do is told by the **spectral radius** $\rho$, the size of the largest
# eigenvalue:
#
# $$\rho(W) = \lim_{k \to \infty} \lVert W^k \rVert^{1/k} \le \sigma_1(W)$$

# %%
k = np.arange(1, 41)
lines, levels = {}, {}
for scale, name in ((1.0, "unscaled"), (0.5, "scaled by 0.5")):
    Wh = experiment(scale)[1]
    stretch = [np.linalg.norm(np.linalg.matrix_power(Wh, n), 2) ** (1 / n) for n in k]
    lines[name] = (k, stretch)
    levels[f"$\\rho$ = {spectrum(Wh).spectral_radius:.2f}"] = spectrum(Wh).spectral_radius
    print(
        f"{name:13}  largest singular value {spectrum(Wh).largest:.2f}, "
        f"spectral radius {spectrum(Wh).spectral_radius:.2f}"
    )
levels["1"] = 1.0
curves(
    lines,
    levels=levels,
    title="One product can stretch by the singular value;\n"
    "a step of many products stretches by the spectral radius",
    xlabel="number of products, $k$",
    ylabel="stretch a product, $\\|W_h^k\\|^{1/k}$",
)

# %% [markdown]
# There it is. The matrix of the *second* experiment has a largest singular value of 1.33, above 1,
# yet its gradient vanishes, because $\rho = 0.63$. Is that a rare accident? Two thousand random
# matrices of the same kind:

# %%
matrices = 200 if short else 2000
outcome = chapter.run(chapter.Config(scale=0.5, matrices=matrices))
print(outcome.table())
outcome.figure()

# %% [markdown]
# Three in four have a singular value above 1, and of these nearly two in three shrink the gradient
# nevertheless. A large singular value is *necessary* for an explosion, and far from sufficient.
#
# The survey also says that weights initialised near zero have a singular value below 1. Let us take
# the usual initialisation, uniform in $\pm 1/\sqrt{H}$, at the size of a real model:

# %%
H = 200 if short else 650
Wh = np.random.default_rng(0).uniform(-1, 1, (H, H)) / np.sqrt(H)
found = spectrum(Wh)
print(
    f"H = {H}: largest singular value {found.largest:.2f}, "
    f"spectral radius {found.spectral_radius:.2f}"
)

# %% [markdown]
# Each weight is below 0.04 in size, and the singular value is above 1. Yet a fresh RNN's gradient
# vanishes, quickly: $0.59^{20}$ is 0.00003.
#
# ### The phase diagram
#
# Now turn the scale like a knob. Random matrices $W_h = g \cdot \mathrm{randn}(H, H) / \sqrt H$
# have a singular value near $2g$ and a spectral radius near $g$. Each dot is one matrix; its
# height is the factor by which a gradient grows per step.

# %%
outcome = phase.run(phase.Config(H=12, T=20, scales=9, matrices=12) if short else phase.Config())
outcome.figure()

# %% [markdown]
# Without an activation the border lies where the spectral radius passes 1, at $g = 1$. Where the
# singular value passes 1, at half of that, nothing happens at all. With tanh, growth starts later
# and is tame.
#
# ### What tanh and ReLU do
#
# Why tame? Because of the other factor, $\tanh'$. The notes say its value is below 1. Nearly: at 0
# it *is* 1, and only away from 0 does it fall. ReLU's derivative is 1 or 0, with nothing between.

# %%
x = np.linspace(-4, 4, 161)
curves(
    {
        "$\\tanh(x)$": (x, np.tanh(x)),
        "$\\tanh'(x)$": (x, 1 - np.tanh(x) ** 2),
        "ReLU$'(x)$": (x, (x > 0).astype(float)),
    },
    title="tanh' is 1 at zero and falls on both sides; ReLU' is 1 or 0",
    xlabel="$x$",
    ylabel="value, or derivative",
)

# %% [markdown]
# So a gradient that passes tanh is never stretched by it, and shrinks the more, the more the unit
# is saturated. Passing $T$ tanhs means $T$ such factors; how much that costs depends on where the
# units stand. Measured on a running network, for small and for large $W_h$:

# %%
rng = np.random.default_rng(0)
H = 64
noise = rng.normal(size=(1, 100, H))
for g in (0.5, 1.0, 2.0):
    Wh = g * rng.normal(size=(H, H)) / np.sqrt(H)
    shares = []
    for activation in ("tanh", "relu"):
        layer = TimeRNN(0.3 * np.eye(H), Wh, np.zeros(H), activation)
        h = layer.forward(noise)
        slope = 1 - h**2 if activation == "tanh" else (h > 0).astype(float)
        shares.append(slope[:, 50:].mean())
    print(f"g = {g}: mean of tanh' {shares[0]:.2f}, open ReLUs {shares[1]:.0%}")

# %% [markdown]
# ReLU lets the gradient through undiminished where the unit is open; that is the hope the notes
# mention. But half of its units are shut, $W_h$ is still there, and nothing bounds $h$ from above:
# a ReLU network explodes in the forward pass too. The next section needs exactly such a network.

# %% [markdown]
# ### Exercise 6.1 ★ Will it explode?
#
# A gradient is multiplied by the same matrix again and again. Does it grow or vanish?
#
# $$A = \begin{pmatrix} 0.5 & 4 \\ 0 & 0.5 \end{pmatrix} \qquad
#   B = \begin{pmatrix} 0 & 1.1 \\ -1.1 & 0 \end{pmatrix} \qquad
#   C = 0.9 \begin{pmatrix} 0.6 & 0.8 \\ -0.8 & 0.6 \end{pmatrix}$$

# %%
matrices_6_1 = {"A": ..., "B": ..., "C": ...}  # "grows" or "vanishes"
check("6.1", matrices_6_1)

# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 6.1
# A is a shear: its eigenvalues stand on the diagonal, 0.5 and 0.5. B and C turn by an angle and
# stretch by 1.1 and 0.9; their eigenvalues are complex, of just that size.
for name, M in {"A": [[0.5, 4], [0, 0.5]], "B": [[0, 1.1], [-1.1, 0]]}.items():
    print(name, np.abs(np.linalg.eigvals(np.array(M))))
solution_6_1 = {"A": "vanishes", "B": "grows", "C": "vanishes"}
check("6.1", solution_6_1)

# %% [markdown]
# ## 3 · Clipping: a leash for the gradient
#
# Against the explosion there is a simple remedy (Pascanu, Mikolov and Bengio 2013). Take *all*
# gradients of the model, of every parameter, as one long vector $g$. If it is longer than a
# threshold $\theta$, shorten it, and leave its direction alone:
#
# $$g \leftarrow \min\Big(1, \frac{\theta}{\lVert g \rVert}\Big)\, g$$
#
# In NumPy, against the package:

# %%
rng = np.random.default_rng(0)
grads = [rng.normal(size=shape) for shape in ((3, 4), (4, 4), (4,))]
threshold = 1.5

norm = np.sqrt(sum(np.sum(g**2) for g in grads))
clipped = [g * min(1.0, threshold / (norm + 1e-6)) for g in grads]

parameters = [Parameter(np.zeros(g.shape)) for g in grads]
for parameter, g in zip(parameters, grads):
    parameter.accumulate(g)
before = clip_gradients(parameters, threshold)
assert np.isclose(before, norm)
assert all(np.allclose(p.grad, g) for p, g in zip(parameters, clipped))
print(f"norm {norm:.3f}, clipped to {threshold}")

# %% [markdown]
# Why not clip each array separately? Because that would bend the step: a parameter with a large
# gradient would be held back, its neighbour not, and the sum would no longer point downhill.
#
# ### The same run, without and with
#
# A ReLU RNN, plain SGD, the same weights, the same text, the same learning rate:

# %%
config = clipping.Config(updates=40 if short else 300)
outcome = clipping.run(config)
outcome.figure()

# %% [markdown]
# One step across the edge of a cliff is enough. Without clipping the weights are thrown so far that
# nothing can be learned from there; with it, that update is one of many.
#
# ### Would a smaller learning rate not do?
#
# It would prevent the throw, too. But it makes *every* step small, where clipping shortens the rare
# long ones only. Try four rates, without and with:

# %%
rates = [1.0, 0.1] if short else [1.0, 0.3, 0.1, 0.03]
free, leashed = [], []
for lr in rates:
    outcome = clipping.run(replace(config, lr=lr))
    last = outcome.free_loss[-30:]
    free.append(float("nan") if outcome.diverged else float(np.exp(last.mean())))
    leashed.append(outcome.final_perplexity)
    told = "lost" if outcome.diverged else f"{free[-1]:.0f}"
    print(f"learning rate {lr:5}: without clipping {told:>4}, with {leashed[-1]:.0f}")

bars(
    {
        f"rate {lr:g}": {"without clipping": a, "with clipping": b}
        for lr, a, b in zip(rates, free, leashed)
    },
    title="A small rate avoids the cliff and learns slowly; clipping allows the large one",
    missing="lost",
    ylabel=f"perplexity after {config.updates} updates",
)

# %% [markdown]
# ### What one step can do: the bound
#
# There is an argument behind this, and the survey gives it, but loses a letter on the way.
# Suppose the loss $f$ cannot change faster than at a rate $L$ (it is *Lipschitz* with constant
# $L$). Then one step of gradient descent, from $x$ to $x - \eta g$, changes it by at most
#
# $$|f(x) - f(x - \eta g)| \le L\, \eta\, \lVert g \rVert.$$
#
# The survey's conclusion says $\eta \lVert g \rVert$, without $L$, and so promises too much. With
# clipping, $\lVert g \rVert \le \theta$ and one step changes the loss by no more than
# $L \eta \theta$: bounded, but not necessarily small, as $L$ is large on a cliff. Let us measure
# all three on a small RNN, along the line of one gradient, with $f$ the loss of a whole text of 80
# words (their sum, not their mean). $L$ is the steepest slope on the way.

# %%
rng = np.random.default_rng(0)
model = RNNLM(12, 6, 6, layers=1, cell="rnn", tie="none", dropout=0.0, dtype="float64", rng=rng)
for parameter in model.parameters():
    parameter.value *= 2
ids, targets = rng.integers(12, size=(2, 4, 20))


def loss_and_gradient():
    model.reset_state()
    loss = float(model.forward(ids, targets)) * ids.size
    model.zero_grad()
    model.backward(ids.size)
    return loss, [p.grad.copy() for p in model.parameters()]


def length(vectors):
    return float(np.sqrt(sum(np.sum(v**2) for v in vectors)))


start, g = loss_and_gradient()
x = [p.value.copy() for p in model.parameters()]
etas = np.logspace(-3, 0, 61)
changes, steepest = [], []
for eta in etas:
    for parameter, value, gradient in zip(model.parameters(), x, g):
        parameter.value = value - eta * gradient
    loss, slope = loss_and_gradient()
    changes.append(abs(start - loss))
    steepest.append(length(slope))
L = np.maximum.accumulate([max(length(g), s) for s in steepest])  # so far on the way
assert (np.array(changes) <= 1.001 * L * etas * length(g)).all()
curves(
    {
        "$L\\,\\eta\\,|g|$": (etas, L * etas * length(g)),
        "$\\eta\\,|g|$": (etas, etas * length(g)),
        "measured": (etas, changes),
    },
    title="The change of the loss stays below $L\\eta|g|$; without the $L$ the bound is broken",
    xlabel="learning rate, $\\eta$",
    ylabel="change of the loss, nats",
    logx=True,
    logy=True,
)

# %% [markdown]
# ### Exercise 6.2 ★★ Clip all gradients as one vector
#
# Write `clip(grads, max_norm)`: it takes a list of arrays and gives `(clipped, norm)`, a list of
# new arrays and the norm before.


# %%
def clip(grads, max_norm):
    return None


check("6.2", clip)


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 6.2
def clip_solution(grads, max_norm):
    norm = np.sqrt(sum(np.sum(g**2) for g in grads))
    scale = min(1.0, max_norm / (norm + 1e-6))
    return [g * scale for g in grads], norm


check("6.2", clip_solution)

# %% [markdown]
# ## 4 · The LSTM, piece by piece
#
# Clipping does nothing for the gradient that has vanished: nothing is there to be shortened. For
# that, the cell itself must change. Hochreiter and Schmidhuber (1997) gave it a second road, the
# **memory cell** $c$, which never leaves the layer: the layers above see $h$ alone.
#
# We build it in five stages. Each is a small layer with its own backward, and each will be
# sent to two schools. All stages share their frame: a pre-activation with one block of $H$ columns
# for each of its parts,
#
# $$a = x W_x + h_{prev} W_h + b \qquad (N, \text{blocks} \cdot H)$$
#
# and its backward, which you know from lesson 5. What differs is the small step from $a$ and
# $c_{prev}$ to $h$ and $c$.


# %%
class Stage(Layer):
    """One step of a cell with a memory: (x, h_prev, c_prev) -> (h, c)."""

    blocks = 1

    def __init__(self, D, H, rng):
        bound, self.H = 1 / np.sqrt(H), H
        self.Wx = Parameter(rng.uniform(-bound, bound, (D, self.blocks * H)).astype("float32"))
        self.Wh = Parameter(rng.uniform(-bound, bound, (H, self.blocks * H)).astype("float32"))
        self.b = Parameter.zeros(self.blocks * H)

    def forward(self, x, h_prev, c_prev):
        a = x @ self.Wx.value + h_prev @ self.Wh.value + self.b.value
        h, c, *kept = self.step(*np.split(a, self.blocks, axis=1), c_prev)
        self.save_for_backward(x, h_prev, c_prev, kept)
        return h, c

    def backward(self, dh, dc):
        x, h_prev, c_prev, kept = self.saved()
        *da, dc_prev = self.step_backward(dh, dc, c_prev, *kept)
        da = np.concatenate(da, axis=1)
        self.Wx.accumulate_product(x.T, da)
        self.Wh.accumulate_product(h_prev.T, da)
        self.b.accumulate(da.sum(axis=0))
        return da @ self.Wx.value.T, da @ self.Wh.value.T, dc_prev


def check_stage(stage):
    rng = np.random.default_rng(1)
    x, h_prev, c_prev = rng.normal(size=(2, 3)), rng.normal(size=(2, 4)), rng.normal(size=(2, 4))
    report = check_gradients(stage(3, 4, rng), x, h_prev, c_prev)
    assert report.ok, report
    print(f"{stage.__name__}: {len(report.rows)} gradients, largest error {report.error:.0e}")


# %% [markdown]
# **Stage 1: a memory.** Whatever comes in is added; nothing is ever multiplied on the way from
# $c_{prev}$ to $c$.
#
# $$c = c_{prev} + a, \qquad h = \tanh(c)$$
#
# So on the way back $\partial c / \partial c_{prev} = 1$: this road neither shrinks nor stretches.


# %%
class Memory(Stage):
    def step(self, a, c_prev):
        c = c_prev + a
        h = np.tanh(c)
        return h, c, h

    def step_backward(self, dh, dc, c_prev, h):
        dc = dc + dh * (1 - h**2)  # h = tanh(c)
        return dc, dc  # c = c_prev + a: da, dc_prev


check_stage(Memory)

# %% [markdown]
# **Stage 2: an output gate.** To know something and to say it are two things. A gate is a number
# between 0 and 1 for each unit, made by a sigmoid, that says how much goes through. (Rule of thumb:
# gates are sigmoids, contents are tanh.)
#
# $$o = \sigma(a_o), \qquad h = o \odot \tanh(c)$$
#
# The notes say that this gate governs the *next* hidden state. It is the present one: $o_t$ makes
# $h_t$.


# %%
class OutputGate(Stage):
    blocks = 2

    def step(self, a, a_o, c_prev):
        c = c_prev + a
        o, u = sigmoid(a_o), np.tanh(c)
        return o * u, c, o, u

    def step_backward(self, dh, dc, c_prev, o, u):
        do = dh * u  # h = o u
        dc = dc + dh * o * (1 - u**2)  # u = tanh(c)
        return dc, do * o * (1 - o), dc  # da, da_o, dc_prev


check_stage(OutputGate)

# %% [markdown]
# **Stage 3: a forget gate.** So far the memory can only pile up. To learn who came *last*, it must
# let go of who came before:
#
# $$f = \sigma(a_f), \qquad c = f \odot c_{prev} + a$$
#
# A fresh forget gate would stand half open and halve the memory at each step; a bias of 1 opens it
# to 0.73.


# %%
class ForgetGate(Stage):
    blocks = 3

    def __init__(self, D, H, rng):
        super().__init__(D, H, rng)
        self.b.value[:H] = 1  # the block of f

    def step(self, a_f, a, a_o, c_prev):
        f, o = sigmoid(a_f), sigmoid(a_o)
        c = f * c_prev + a
        u = np.tanh(c)
        return o * u, c, f, o, u

    def step_backward(self, dh, dc, c_prev, f, o, u):
        do = dh * u
        dc = dc + dh * o * (1 - u**2)
        df = dc * c_prev  # c = f c_prev + a
        return df * f * (1 - f), dc, do * o * (1 - o), dc * f


check_stage(ForgetGate)

# %% [markdown]
# **Stage 4: new memory.** What is added gets a shape: a tanh keeps each contribution between $-1$
# and 1, so that one loud word cannot drown the rest.
#
# $$g = \tanh(a_g), \qquad c = f \odot c_{prev} + g$$


# %%
class NewMemory(ForgetGate):
    def step(self, a_f, a_g, a_o, c_prev):
        f, g, o = sigmoid(a_f), np.tanh(a_g), sigmoid(a_o)
        c = f * c_prev + g
        u = np.tanh(c)
        return o * u, c, f, g, o, u

    def step_backward(self, dh, dc, c_prev, f, g, o, u):
        do = dh * u
        dc = dc + dh * o * (1 - u**2)
        df, dg = dc * c_prev, dc  # c = f c_prev + g
        return df * f * (1 - f), dg * (1 - g**2), do * o * (1 - o), dc * f


check_stage(NewMemory)

# %% [markdown]
# **Stage 5: an input gate.** Not every word is worth keeping. The last gate decides how much of the
# new memory is let in, and the LSTM is complete:
#
# $$i, f, o = \sigma(a_i), \sigma(a_f), \sigma(a_o), \qquad g = \tanh(a_g)$$
# $$c = f \odot c_{prev} + i \odot g, \qquad h = o \odot \tanh(c)$$
#
# (The survey prints the new memory as $g = \sigma(\dots)$. Its own text says tanh, and so does
# every LSTM in use: with a sigmoid the memory could only grow.)


# %%
class InputGate(Stage):
    blocks = 4  # i, f, g, o

    def __init__(self, D, H, rng):
        super().__init__(D, H, rng)
        self.b.value[H : 2 * H] = 1

    def step(self, a_i, a_f, a_g, a_o, c_prev):
        i, f, g, o = sigmoid(a_i), sigmoid(a_f), np.tanh(a_g), sigmoid(a_o)
        c = f * c_prev + i * g
        u = np.tanh(c)
        return o * u, c, i, f, g, o, u

    def step_backward(self, dh, dc, c_prev, i, f, g, o, u):
        do = dh * u  # h = o u
        dc = dc + dh * o * (1 - u**2)  # u = tanh(c)
        di, df, dg = dc * g, dc * c_prev, dc * i  # c = f c_prev + i g
        return di * i * (1 - i), df * f * (1 - f), dg * (1 - g**2), do * o * (1 - o), dc * f


check_stage(InputGate)

# %% [markdown]
# It is the package's LSTM, number for number, forward and backward:

# %%
rng = np.random.default_rng(2)
ours = InputGate(3, 4, rng)
theirs = LSTM(ours.Wx.value.copy(), ours.Wh.value.copy(), ours.b.value.copy())
x, h_prev, c_prev, dh, dc = (rng.normal(size=(2, n)).astype("float32") for n in (3, 4, 4, 4, 4))
for one, other in zip(ours.forward(x, h_prev, c_prev), theirs.forward(x, h_prev, c_prev)):
    assert np.allclose(one, other, atol=1e-6)
for one, other in zip(ours.backward(dh, dc), theirs.backward(dh, dc)):
    assert np.allclose(one, other, atol=1e-6)
for one, other in zip(ours.parameters(), theirs.parameters()):
    assert np.allclose(one.grad, other.grad, atol=1e-5)

computation_graph(LSTM.init(3, 4, np.random.default_rng(0)))

# %% [markdown]
# ### Two schools
#
# Unrolled over time, a stage is $T$ copies of one step that share their Parameters. Memory and
# hidden state go from copy to copy, gradients come back the same way.


# %%
class Unrolled(Layer):
    """A step over T inputs: (N, T, D) -> (N, T, H), from a state of zeros."""

    def __init__(self, step):
        self.step = step

    def forward(self, x):
        N, T, _ = x.shape
        h = c = np.zeros((N, self.step.H), x.dtype)
        steps, hs = [copy.copy(self.step) for _ in range(T)], []
        for t, step in enumerate(steps):
            h, c = step.forward(x[:, t], h, c)
            hs.append(h)
        self.save_for_backward(steps)
        return np.stack(hs, axis=1)

    def backward(self, dhs):
        (steps,) = self.saved()
        dh = dc = np.zeros_like(dhs[:, 0])
        dxs = []
        for t in reversed(range(len(steps))):
            dx, dh, dc = steps[t].backward(dhs[:, t] + dh, dc)
            dxs.append(dx)
        return np.stack(dxs[::-1], axis=1)


class Plugged(Layer):
    """Layers in a row with a loss on top: a language model."""

    def __init__(self, V, *layers, vocab=None):
        self.vocab_size, self.vocab = V, vocab
        self.net, self.loss = Sequential(*layers), SoftmaxWithLoss()

    def forward(self, ids, targets):
        return self.loss.forward(self.net.forward(ids), targets)

    def backward(self):
        self.net.backward(self.loss.backward())

    def logits(self, ids):
        with no_backward():
            return self.net.forward(ids)

    def start(self, N):
        return self.net.start(N)

    def step(self, ids, state=None):
        return self.net.step(ids, state)


# %% [markdown]
# The stories: five times someone comes in, one of eight people, among words that mean nothing;
# after a while comes a question. In the first school it is *who was first?*, in the second *who
# came last?* The stories are the same. The first asks the memory to keep, the second to replace.
#
# And then the real world: ordinary English, a piece of `pydocs` with 1,000 words.

# %%
PEOPLE, FILLER = 8, 12
WORDS = PEOPLE + FILLER + 1  # and the question


def stories(which):
    def make(rng, N, distance):
        ids = rng.integers(PEOPLE, PEOPLE + FILLER, (N, distance + 1))
        places = range(0, distance // 2, max(1, distance // 8))
        came = rng.integers(PEOPLE, size=(N, len(places)))
        ids[:, places] = came
        ids[:, -1] = WORDS - 1  # the question
        return ids, came[:, which]

    return make


shown, first = stories(0)(np.random.default_rng(0), 1, 20)
told = [NAMES[k] if k < PEOPLE else "..." for k in shown[0, :-1]]
print(*told, "who was first?", NAMES[first[0]])

# %%
corpus = load_corpus("pydocs", vocab_size=1000)
train_ids = corpus.train[: 4_000 if short else 60_000]
valid_ids = corpus.valid[: 800 if short else 6_000]
V = len(corpus.vocab)
counts = np.bincount(train_ids, minlength=V)
unigram = Unigram().fit(train_ids, V).perplexity(valid_ids)
trigram = KneserNey(3).fit(train_ids, V).perplexity(valid_ids)
print(f"validation perplexity: unigram {unigram:.1f}, trigram {trigram:.1f}")


def unigram_bias(counts):
    """An output bias with which a fresh model predicts as the unigram does."""
    return Parameter(np.log((counts + 1) / (counts + 1).sum()).astype("float32"))


def train(model, epochs, ids=None, N=20, T=35, lr=0.01):
    """Truncated BPTT with Adam; perplexity on training and validation text after each epoch."""
    ids = train_ids if ids is None else ids
    batches = BPTTBatches(ids, N, T)
    optimizer, schedule = Adam(model.parameters(), lr=lr), Linear(epochs * len(batches), floor=0.05)
    history, step = [], 0
    for epoch in range(1, epochs + 1):
        model.train()
        model.reset_state()
        for inputs, targets in batches:
            optimizer.lr = lr * schedule.scale(step)
            training_step(model, optimizer, inputs, targets)
            step += 1
        history.append(
            {
                "epoch": epoch,
                "train_perplexity": perplexity(model, ids[: len(valid_ids)], batch_size=10),
                "valid_perplexity": perplexity(model, valid_ids, batch_size=10),
                "lr": optimizer.lr,
            }
        )
    return history


# %%
def story_reader(stage, D=16, H=32, seed=0):
    rng = np.random.default_rng(seed)
    look_up = Embedding(rng.normal(size=(WORDS, D)).astype("float32"))
    answer = TimeAffine.init(H, PEOPLE, rng)  # one of eight people
    return Plugged(PEOPLE, look_up, Unrolled(stage(D, H, rng)), answer)


def text_reader(stage, H=48, seed=0):
    rng = np.random.default_rng(seed)
    look_up = Embedding.init(V, H, rng, bound=0.3)
    answer = TimeAffine(look_up.W.T, unigram_bias(counts))  # the next word
    return Plugged(V, look_up, Unrolled(stage(H, H, rng)), answer)


stages = {
    "memory": Memory,
    "+ output\ngate": OutputGate,
    "+ forget\ngate": ForgetGate,
    "+ new\nmemory": NewMemory,
    "+ input\ngate": InputGate,
}
seeds = [0] if short else [0, 1, 2]
updates = 10 if short else 200
accuracies, text = {}, {}
for name, stage in stages.items():
    accuracies[name] = {
        question: np.mean(
            [learn_stories(story_reader(stage, seed=s), stories(k), 20, updates, s) for s in seeds]
        )
        for question, k in (("who was first?", 0), ("who came last?", -1))
    }
    history = train(text_reader(stage), 1, train_ids[:20_000], N=10, T=25)
    text[name] = {"pydocs": history[-1]["valid_perplexity"]}

bars(
    accuracies,
    title="To keep, a bare memory is best; to replace, it needs to forget",
    ylabel="right answers, mean of three runs",
    levels={"chance": 1 / PEOPLE},
    number=".2f",
)

# %% [markdown]
# Read the bars from left to right. The bare memory, the crudest of all, is unbeaten at keeping the
# *first* name: it cannot forget. Asked for the *last* name it is lost, and the output gate helps
# only a little. The forget gate changes everything, and the input gate finishes the job: with all
# parts in place the second school is solved.
#
# What that costs shows in the first school. A forget gate that starts at 0.73 has lost all but
# 0.2 % of a memory after twenty steps ($0.73^{20}$), and must first learn to stay open. A larger
# bias would have told it from the start: keep that in mind for exercise 6.5.

# %%
bars(
    text,
    title="On English the forget gate is the step that counts (one epoch of 20,000 words)",
    ylabel="validation perplexity",
    levels={"unigram": unigram},
)

# %% [markdown]
# On text it is the same: without forgetting, the memory fills with everything that was ever read,
# and is of little more use than a count of words. What the new memory's tanh and the input gate
# add is not to be seen in one short epoch.
#
# ### Its limits
#
# Two settings of the gates are worth knowing by heart. With $f = 1$ and $i = 0$, a memory is kept
# **for ever**, to the last bit, whatever is read meanwhile. With $o$ near 0 a cell can **gather in
# silence**: $c$ grows and nobody hears of it, until the gate opens.


# %%
def run_cell(biases, x, c, opens_at=None):
    """An LSTM of one unit with biases (i, f, g, o), no other weights; h and c at every step."""
    cell = LSTM(np.zeros((1, 4)), np.zeros((1, 4)), np.array(biases))
    h, c, traces = np.zeros((1, 1)), np.full((1, 1), c), []
    for t in range(len(x)):
        if t == opens_at:
            cell.b.value[3] = 40.0  # o = 1
        h, c = cell.forward(x[t : t + 1], h, c)
        traces.append((h[0, 0], c[0, 0]))
    return np.array(traces).T


x = np.random.default_rng(0).normal(size=(60, 1))
h_kept, c_kept = run_cell([-800.0, 800.0, 0.0, 40.0], x, c=0.7)
assert (c_kept == 0.7).all()  # not nearly: exactly
h_silent, c_silent = run_cell([0.0, 40.0, 0.1, -9.0], x, c=0.0, opens_at=50)
t = np.arange(1, 61)
curves(
    {
        "$c$ kept": (t, c_kept),
        "$c$ gathered": (t, c_silent),
        "$h$, silent": (t, h_silent),
    },
    title="f = 1, i = 0: a memory for ever. o near 0: gathered in silence, said at step 51",
    xlabel="step",
    ylabel="value",
)

# %% [markdown]
# ### Exercise 6.3 ★★★ An LSTM over time
#
# Write the whole thing yourself: a class with `forward(x)` from $(N, T, D)$ to all states
# $(N, T, H)$, starting from zeros, and `backward(dhs)` to the gradient of $x$. Gates in the order
# i, f, g, o. Leave the gradients of the weights in `dWx`, `dWh` and `db`.
#
# If something is wrong, the check compares your gradients with those that known mistakes would
# give, and says which it is.


# %%
class MyLSTM:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b
        self.dWx, self.dWh, self.db = np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)

    def forward(self, x):
        return None

    def backward(self, dhs):
        return None


check("6.3", MyLSTM)


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 6.3
class MyLSTMSolution:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b
        self.dWx, self.dWh, self.db = np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)

    def forward(self, x):
        N, T, _ = x.shape
        h = c = np.zeros((N, self.Wh.shape[0]))
        self.kept, hs = [], []
        for t in range(T):
            a = x[:, t] @ self.Wx + h @ self.Wh + self.b
            a_i, a_f, a_g, a_o = np.split(a, 4, axis=1)
            i, f, g, o = sigmoid(a_i), sigmoid(a_f), np.tanh(a_g), sigmoid(a_o)
            h_prev, c_prev = h, c
            c = f * c_prev + i * g
            u = np.tanh(c)
            h = o * u
            self.kept.append((x[:, t], h_prev, c_prev, i, f, g, o, u))
            hs.append(h)
        return np.stack(hs, axis=1)

    def backward(self, dhs):
        dh_next = dc_next = np.zeros_like(dhs[:, 0])
        dx = np.zeros((dhs.shape[0], dhs.shape[1], self.Wx.shape[0]))
        for t in reversed(range(dhs.shape[1])):
            x, h_prev, c_prev, i, f, g, o, u = self.kept[t]
            dh = dhs[:, t] + dh_next  # from above and from the next step
            dc = dc_next + dh * o * (1 - u**2)  # h = o tanh(c)
            di, df, dg, do = dc * g, dc * c_prev, dc * i, dh * u
            da = np.concatenate(
                [di * i * (1 - i), df * f * (1 - f), dg * (1 - g**2), do * o * (1 - o)], axis=1
            )
            self.dWx += x.T @ da
            self.dWh += h_prev.T @ da
            self.db += da.sum(axis=0)
            dx[:, t] = da @ self.Wx.T
            dh_next, dc_next = da @ self.Wh.T, dc * f
        return dx


check("6.3", MyLSTMSolution)

# %% [markdown]
# ### Exercise 6.4 ★★ Gather in silence
#
# An LSTM of one unit has no weights but its four biases (i, f, g, o), and starts at $h = c = 0$.
# Choose them so that after 100 steps $c$ is between 95 and 100, and $|h|$ was below 0.01 all the
# time: a clock that tells nobody the time.

# %%
biases = [..., ..., ..., ...]
check("6.4", biases)

# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 6.4
# i and f wide open, g near 1, o shut. sigmoid(12) = 0.999994, tanh(3) = 0.995.
biases_solution = [12.0, 12.0, 3.0, -12.0]
check("6.4", biases_solution)

# %% [markdown]
# ## 5 · Where the gradient goes
#
# Follow the gradient along $c$. Its equation is $c_t = f_t \odot c_{t-1} + i_t \odot g_t$, so
#
# $$\frac{\partial L}{\partial c_{t-1}} = \frac{\partial L}{\partial c_t} \odot f_t
#   \qquad \text{(along } c \text{ alone)}.$$
#
# No matrix, no tanh: an element-wise product with the forget gate, which is another one at every
# step, and as near to 1 as the network wants. In ten lines, against the package:

# %%
rng = np.random.default_rng(0)
N, T, D, H = 2, 12, 3, 4
layer = TimeLSTM.init(D, H, rng, "float64")
x = rng.normal(size=(N, T, D))
layer.Wh.value[...] = 0  # cuts the way through h, and leaves the way through c
hs = layer.forward(x)
dhs = np.zeros_like(hs)
dhs[:, -1] = 1
layer.backward(dhs)

values = gate_values(layer, x.reshape(N * T, D), np.zeros((N * T, H)))
f, o = (values[gate].reshape(N, T, H) for gate in "fo")
dc = o[:, -1] * (1 - np.tanh(layer.c) ** 2)  # h = o tanh(c), at the last step
for t in reversed(range(T)):
    dc = dc * f[:, t]
assert np.allclose(dc, layer.dc0)

# %% [markdown]
# It is often said, by the notes too, that an LSTM therefore "does not vanish or explode". That is
# true of the way through $c$ while $f$ is near 1, and of nothing else. Here is what five cells
# leave of a gradient, fresh from their initialisation, by all paths and by $c$ alone; and on the
# right, what an LSTM's gradient does when $W_h$ is large:

# %%
outcome = cells.run(
    cells.Config(H=16, T=60, shown=(10, 50, 60), sweep_steps=30) if short else cells.Config()
)
outcome.figure()

# %% [markdown]
# A forget bias of 0 means $f \approx 0.5$, and a millionth is left after twenty steps: such an LSTM
# vanishes like any RNN. A large $W_h$ makes the way through $h$ explode, memory cell or not. The
# cell offers a road; whether anything travels on it is decided by $f$, that is, by learning and by
# the bias it starts from.
#
# ### On trained models
#
# The **microscope** of `deepnlp.gradflow` measures it where it matters: on a trained model, reading
# text, with the loss at the last word only. First our story, twenty words long. The LSTM's forget
# bias is $\log 20$, of which exercise 6.5 says why.

# %%
distance = 20
updates = 20 if short else 300
readers = {
    "RNN": story_model("rnn", seed=1),
    "LSTM": story_model("lstm", forget_bias=float(np.log(distance)), seed=1),
}
flows = {}
for name, model in readers.items():
    accuracy = learn_stories(model, names_batch, distance, updates, seed=1)
    text_of_stories = names_batch(np.random.default_rng(9), 40, distance)[0].ravel()
    flows[name] = gradient_flow(model, text_of_stories, steps=distance).layers[0]
    print(
        f"{name}: {accuracy:.0%} right, {flows[name].dh_share[-1]:.2g} of the gradient is left "
        f"after {distance} steps, {flows[name].measured_rate:.2f} per step"
    )

k = np.arange(distance + 1)
curves(
    {
        "RNN, w.r.t. $h$": (k, flows["RNN"].dh_share),
        "LSTM, w.r.t. $h$": (k, flows["LSTM"].dh_share),
        "LSTM, w.r.t. $c$": (k, flows["LSTM"].dc_share),
    },
    title="Trained on the stories: the LSTM's gradient reaches the first word,\nthe RNN's does not",
    xlabel="steps back in time, from the question to the name",
    ylabel="share of the gradient that is left",
    logy=True,
)

# %% [markdown]
# And on English, where few words depend on what stood twenty words before. Both models have one
# layer of 64 units and learned from the same text.

# %%
epochs = 1 if short else 3
flow = {}
for cell in ("rnn", "lstm"):
    model = RNNLM(V, 64, 64, 1, cell, dropout=0.1, embed_bound=0.3, rng=np.random.default_rng(0))
    model.start_from_unigram(counts)
    history = train(model, epochs)
    flow[cell] = gradient_flow(model, valid_ids, steps=30)
    print(
        f"{cell}: validation perplexity {history[-1]['valid_perplexity']:.1f}, "
        f"gradient w.r.t. h {flow[cell].layers[0].measured_rate:.2f} per step"
    )
draw_gradient_flow(flow["lstm"])

# %% [markdown]
# A sobering result: on this text the two lose their gradient at about the same rate. The road along
# $c$ is there, and the figure shows that more is left with respect to $c$ than to $h$; but the
# gates say that it is hardly used: most of $f$ stands in between, and only a few units hold on
# ($f$ above 0.9). A manual asks for little long memory, so little is learned. An LSTM *can* keep;
# the text decides whether it does.
#
# ### Exercise 6.5 ★ A bias for a long memory
#
# An LSTM whose $W_x$ and $W_h$ are small has $f = \sigma(b_f)$ at every step. Which bias leaves
# half of a memory after $n$ steps? Write `forget_bias(n)`.


# %%
def forget_bias(n):
    return None


check("6.5", forget_bias)


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 6.5
# f^n = 1/2, and sigmoid(b) = f is solved by b = log(f / (1 - f)). For large n it is about
# log(n / log 2): the logarithm of the distance, as the experiments of this lesson use it.
def forget_bias_solution(n):
    f = 0.5 ** (1 / n)
    return np.log(f / (1 - f))


check("6.5", forget_bias_solution)

# %% [markdown]
# ## 6 · The GRU: two gates, one state
#
# Cho et al. (2014) asked how little would do. Their **gated recurrent unit** has no separate
# memory. One gate, $z$, decides how much of the old state is kept; where it keeps, nothing new
# comes in. A second, $r$, decides how much of the old state the new content may look at.
#
# $$r, z = \sigma(a_r), \sigma(a_z) \qquad a = x W_x + h_{prev} W_h + b \text{ in blocks } r, z$$
# $$n = \tanh\big(x W_{x,n} + (r \odot h_{prev})\, W_{h,n} + b_n\big)$$
# $$h = (1 - z) \odot n + z \odot h_{prev}$$

# %%
computation_graph(GRU.init(3, 4, np.random.default_rng(0)))

# %%
rng = np.random.default_rng(0)
N, D, H = 2, 3, 4
x, h_prev = rng.normal(size=(N, D)), rng.normal(size=(N, H))
Wx, Wh, b = rng.normal(size=(D, 3 * H)), rng.normal(size=(H, 3 * H)), rng.normal(size=3 * H)

ax = x @ Wx + b  # (N, 3H), blocks r, z, n
gates = sigmoid(ax[:, : 2 * H] + h_prev @ Wh[:, : 2 * H])
r, z = np.split(gates, 2, axis=1)
n = np.tanh(ax[:, 2 * H :] + (r * h_prev) @ Wh[:, 2 * H :])
h = (1 - z) * n + z * h_prev

step = GRU(Wx, Wh, b)
assert np.allclose(h, step.forward(x, h_prev))
print(check_gradients(step, x, h_prev))

# %% [markdown]
# Three notes for readers of the survey. Its gates are printed with a wrong size: $r_t$ and $z_t$
# are
# $(n \times h)$, a row for each sample. It says that $r = 1$ gives back the simple RNN; that wants
# $z = 0$ as well. And its GRU resets *before* the product with $W_{h,n}$, as Cho et al. do and as
# we do here, while it calls the parts by PyTorch's names, where the reset comes *after*
# (`reset_after=True` in this package, for weights that come from there). With $r = 1$ and $z = 0$:

# %%
b_open = b.copy()
b_open[:H], b_open[H : 2 * H] = 1e3, -1e3  # r = 1, z = 0
rnn = RNN(Wx[:, 2 * H :], Wh[:, 2 * H :], b[2 * H :])
assert np.allclose(GRU(Wx, Wh, b_open).forward(x, h_prev), rnn.forward(x, h_prev))

# %% [markdown]
# ### All three at school
#
# The stories of section 1 at four distances, and the **adding problem**: a long stream of numbers,
# two of them marked, whose sum is asked for at the end.

# %%
config = memory.Config()
if short:
    config = replace(config, names_distances=(5, 10), adding_distances=(5, 10), tested=100)
    config = replace(config, names_updates=15, adding_updates=15)
outcome = memory.run(config)
print(outcome.table())
outcome.figure()

# %% [markdown]
# LSTM and GRU are equals here, as so often. What decides is the *bias* they start from: the same
# LSTM with the usual forget bias of 1 fails at forty words. The RNN at twenty is a matter of luck:
# in section 1 it mostly guessed, and another start may find weights that carry the name over.
# Nobody can count on it.
#
# ### Exercise 6.6 ★★ One step of a GRU
#
# Write `gru_step(x, h_prev, Wx, Wh, b)` without looking up: blocks r, z, n; reset before the
# product; $z = 1$ keeps.


# %%
def gru_step(x, h_prev, Wx, Wh, b):
    return None


check("6.6", gru_step)


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 6.6
def gru_step_solution(x, h_prev, Wx, Wh, b):
    H = h_prev.shape[1]
    ax = x @ Wx + b
    r, z = np.split(sigmoid(ax[:, : 2 * H] + h_prev @ Wh[:, : 2 * H]), 2, axis=1)
    n = np.tanh(ax[:, 2 * H :] + (r * h_prev) @ Wh[:, 2 * H :])
    return (1 - z) * n + z * h_prev


check("6.6", gru_step_solution)

# %% [markdown]
# ## 7 · A better language model, step by step
#
# Now for real text. Start from one LSTM layer and add what the notes' section 6.5 adds: more
# layers, dropout, tied weights. Everything in this section is measured on the 60,000 words of
# `pydocs` from above: enough to see each effect, small enough to wait for.
#
# ### More layers
#
# A stacked network reads its own states: the $h$ of one layer is the $x$ of the next, $(N, T, H)$
# all the way up. On the Penn Treebank, with 900,000 words, two to four layers do best, the notes
# say. Here:

# %%
epochs = 1 if short else 4


def stacked(layers, tie="tied", dropout=0.0):
    rng = np.random.default_rng(0)
    model = RNNLM(V, 64, 64, layers, tie=tie, dropout=dropout, embed_bound=0.3, rng=rng)
    model.start_from_unigram(counts)
    return model


by_layers = {}
for layers in (1, 2) if short else (1, 2, 3, 4):
    model = stacked(layers)
    last = train(model, epochs)[-1]
    by_layers[f"{layers} layer{'s' * (layers > 1)}\n{model.size():,} numbers"] = {
        "training text": last["train_perplexity"],
        "validation text": last["valid_perplexity"],
    }
bars(
    by_layers,
    title=f"On so little text, depth does not pay (after {epochs} epochs)",
    ylabel="perplexity",
    levels={"unigram": unigram, "trigram": trigram},
)

# %% [markdown]
# Two things. Depth alone does not help: how many layers is a question of how much there is to
# learn, and 60,000 words are little. And look at the two bars of each pair. On the text it was
# trained on, each model is two to three times as good. That **gap** is *overfitting*: the model has
# learned the text and not the language, and the remedy comes next. (Judge a model by its validation
# text, always; by the training text every larger model looks better.)
#
# ### Dropout, and where to put it
#
# **Dropout** sets each number to zero with probability $p$ while training, and scales the others by
# $1 / (1 - p)$ so that the mean stays. No unit can rely on another being there. In a recurrent
# network there are three places for it:
#
# * in **depth**: on what goes up, from the embedding to the first layer, between the layers, before
#   the output, a fresh mask at each step (Zaremba, Sutskever and Vinyals 2014);
# * in **time**: on the state, on its way from step to step;
# * in depth or in time, but **locked**: one mask for all steps of a sequence (Gal and Ghahramani
#   2016).
#
# Dropout in time is a bad idea, say the notes, because its noise accumulates. Take the clearest
# case, a memory that only keeps ($f = 1$, $i = 0$), and put dropout on it at every step:

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
    title="Dropout in time, p = 0.3: the mean is kept, the memory is not",
    xlabel="steps",
    ylabel="share, or size of $c$ (1 at the start)",
)

# %% [markdown]
# After ten steps 3 % of the memories are still there, each blown up thirty-fivefold. The mean over
# many of them is unchanged, but each single one is lost or far too large. A locked mask draws once:
# what survives the first step survives them all.
#
# Does it matter for learning? First the story with *who was first?* The layer below is an LSTM
# unrolled, with dropout on $h$ and $c$ between the steps.


# %%
class DropoutInTime(Unrolled):
    """An unrolled step with dropout on what it hands to the next one."""

    def __init__(self, step, p, locked, rng):
        super().__init__(step)
        self.p, self.locked, self.rng = p, locked, rng

    def masks(self, T, N):
        """For each step one for h and one for c, (T, 2, N, H)."""
        shape = (1 if self.locked else T, 2, N, self.step.H)
        kept = self.rng.random(shape) >= (self.p if self.training else 0.0)
        scale = 1 / (1 - self.p) if self.training else 1.0
        masks = np.broadcast_to(kept * scale, (T, *shape[1:])).astype("float32")
        if self.locked:  # c adds up over time: a mask on it, even a locked one, would shrink it
            masks = masks.copy()
            masks[:, 1] = 1
        return masks

    def forward(self, x):
        N, T, _ = x.shape
        h = c = np.zeros((N, self.step.H), x.dtype)
        steps, hs, masks = [copy.copy(self.step) for _ in range(T)], [], self.masks(T, N)
        for t, step in enumerate(steps):
            h, c = step.forward(x[:, t], h * masks[t, 0], c * masks[t, 1])
            hs.append(h)
        self.save_for_backward(steps, masks)
        return np.stack(hs, axis=1)

    def backward(self, dhs):
        steps, masks = self.saved()
        dh = dc = np.zeros_like(dhs[:, 0])
        dxs = []
        for t in reversed(range(len(steps))):
            dx, dh, dc = steps[t].backward(dhs[:, t] + dh, dc)
            dh, dc = dh * masks[t, 0], dc * masks[t, 1]
            dxs.append(dx)
        return np.stack(dxs[::-1], axis=1)


def dropped(kind, p, D, H, rng, forget_bias=1.0):
    """An LSTM with dropout in one of the places, as a list of layers."""
    step = LSTM.init(D, H, rng, forget_bias=forget_bias)
    if kind.endswith("time") or kind == "none":
        return [DropoutInTime(step, 0.0 if kind == "none" else p, "locked" in kind, rng)]
    locked = "locked" in kind
    return [TimeDropout(p, locked, rng), Unrolled(step), TimeDropout(p, locked, rng)]


KINDS = ("none", "depth", "locked, depth", "time", "locked, time")
updates = 10 if short else 200
recalled = {}
for kind in KINDS:
    rng = np.random.default_rng(0)
    look_up = Embedding(rng.normal(size=(WORDS, 16)).astype("float32"))
    layers = dropped(kind, 0.3, 16, 32, rng, forget_bias=3.0)
    model = Plugged(PEOPLE, look_up, *layers, TimeAffine.init(32, PEOPLE, rng))
    recalled[kind.replace(", ", ",\n")] = {"right": learn_stories(model, stories(0), 20, updates)}
bars(
    recalled,
    title="Who was first, 20 words ago? Dropout in time with a fresh mask wipes it out",
    ylabel="right answers",
    levels={"chance": 1 / PEOPLE},
    number=".2f",
)

# %% [markdown]
# Now the language model: two layers, $p = 0.2$, and the gap between the texts.

# %%
epochs = 1 if short else 6
gaps = {}
for kind in KINDS:
    rng = np.random.default_rng(0)
    look_up = Embedding.init(V, 64, rng, bound=0.3)
    layers = [layer for _ in range(2) for layer in dropped(kind, 0.2, 64, 64, rng)]
    model = Plugged(V, look_up, *layers, TimeAffine(look_up.W.T, unigram_bias(counts)))
    last = train(model, epochs)[-1]
    gaps[kind.replace(", ", ",\n")] = {
        "training text": last["train_perplexity"],
        "validation text": last["valid_perplexity"],
    }
    ratio = last["valid_perplexity"] / last["train_perplexity"]
    print(f"{kind:14} gap: a factor of {ratio:.2f}")
bars(
    gaps,
    title=f"Every dropout narrows the gap between training and validation ({epochs} epochs)",
    ylabel="perplexity",
    levels={"trigram": trigram},
)

# %% [markdown]
# Every dropout makes the two bars of its pair more alike, and dropout in depth most of all. (One or
# two points between the validation bars are luck: another seed would order them differently.)
#
# One result may surprise. On this text dropout in time does no harm; it does as well as any. The
# next word of a manual depends mostly on the last few, so there is little long memory to be wiped
# out. The damage is done where memory is needed, as in the story. The rule of the notes, dropout in
# depth, is the safe one, and locking the mask makes time safe, too.
#
# ### Exercise 6.7 ★ Noise in time
#
# A memory with $f = 1$, $i = 0$ and dropout in time with $p = 0.5$: which share of its units is
# still other than zero after ten steps?

# %%
share = ...
check("6.7", share)

# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 6.7
# A unit must be spared ten times, each time with probability 1/2: about one in a thousand.
share_solution = 0.5**10
check("6.7", share_solution)

# %% [markdown]
# ### Exercise 6.8 ★★ A mask locked over time
#
# Write `locked_dropout(x, p, rng)` for $x$ of shape $(N, T, D)$: inverted dropout with one mask for
# all steps of a row, another one for each row.


# %%
def locked_dropout(x, p, rng):
    return None


check("6.8", locked_dropout)


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 6.8
def locked_dropout_solution(x, p, rng):
    N, _, D = x.shape
    mask = rng.random((N, 1, D)) >= p  # (N, 1, D), the same for all T
    return x * mask / (1 - p)


check("6.8", locked_dropout_solution)

# %% [markdown]
# ### Tying the weights
#
# The model has two matrices with a row for every word: the embedding $E$ $(V, D)$, where words come
# in, and the output matrix, where they go out. **Weight tying** (Press and Wolf 2017; Inan,
# Khosravi and Socher 2017) makes them one: $s = h E^\top + b$, which needs $D = H$. It is the
# natural thing to write, as the transpose of a Parameter is the same Parameter, read the other way.
# Its gradient is a sum over both uses:

# %%
rng = np.random.default_rng(0)
look_up = Embedding(rng.normal(size=(6, 3)))
output = TimeAffine(look_up.W.T, np.zeros(6))
ids = np.array([[1, 4, 1]])
scores = output.forward(np.tanh(look_up.forward(ids)))  # (1, 3, 6)
ds = rng.normal(size=scores.shape)
dx = output.backward(ds) * (1 - np.tanh(look_up.W.value[ids]) ** 2)
look_up.backward(dx)

h = np.tanh(look_up.W.value[ids[0]])  # (3, D)
as_output = ds[0].T @ h  # (V, D): every word
as_input = np.zeros((6, 3))
np.add.at(as_input, ids[0], dx[0])  # the words that were read
assert np.allclose(look_up.W.grad, as_output + as_input)
print(
    f"rows with a gradient, read alone: {np.sum(np.any(as_input, axis=1))} of 6, "
    f"with the output: {np.sum(np.any(look_up.W.grad, axis=1))} of 6"
)

# %% [markdown]
# That last line is part of the secret: in an untied model the row of a rare word in $E$ learns only
# where that word is read. Tied, it learns at every single step, as an output that should have been
# more or less likely.
#
# ### When D and H differ
#
# The weight-tying note draws vectors as columns and puts two projections around the recurrence,
# $P_{DH}$ on the way in and $P_{HD}$ on the way out:
#
# $$h_t = f(P_{DH}\, e_t + W_{hh} h_{t-1} + b_1), \qquad s_t = U P_{HD}\, h_t + b_2$$
#
# These are no new layers. In row vectors $P_{DH}$ is our $W_x$, transposed, and $P_{HD}$ is the one
# matrix **L** $(H, D)$ between hidden state and embedding, transposed; a model with it is called
# *tied+L* (Gulordava, Aina and Boleda 2018). Careful with the note's closing summary: there the two
# names are exchanged. And for $D = H$ it drops $P_{DH}$ without saying so, which gives another
# model, $h_t = f(e_t + W_{hh} h_{t-1} + b_1)$. Both, asserted:

# %%
rng = np.random.default_rng(0)
C, D, H = 7, 3, 4  # C words, the note's letter
U, P_DH, P_HD = rng.normal(size=(C, D)), rng.normal(size=(H, D)), rng.normal(size=(D, H))
W_hh, b_1, b_2 = rng.normal(size=(H, H)), rng.normal(size=H), rng.normal(size=C)
h, note_scores = np.zeros(H), []
for word in (2, 5, 0):  # the note, in columns
    h = np.tanh(P_DH @ U[word] + W_hh @ h + b_1)
    note_scores.append(U @ (P_HD @ h) + b_2)

E = Parameter(U)
ours = Sequential(  # the package, in rows
    Embedding(E), TimeRNN(P_DH.T, W_hh.T, b_1), TimeAffine(P_HD.T), TimeAffine(E.T, b_2)
)
assert np.allclose(ours.forward(np.array([[2, 5, 0]]))[0], note_scores)

U_square = rng.normal(size=(C, H))  # D = H, and no P_DH
h = np.zeros(H)
for word in (2, 5, 0):
    h = np.tanh(U_square[word] + W_hh @ h + b_1)
without = TimeRNN(None, W_hh.T, b_1)
assert np.allclose(without.forward(U_square[[[2, 5, 0]]])[0, -1], h)

# %% [markdown]
# ### Why tied+L helps
#
# The paper's argument: the score of word $j$ is $e_j \cdot h_t$. So training pulls $h_t$ towards
# the embedding of the word that comes next. But $h_t$ has a second job, to carry the past to step
# $t + 1$, and the two may be at odds. With L between, $h_t L$ can point at the next word, and $h_t$
# stays free.
#
# (The paper adds that for *each* dimension $k$ the product $h_k e_{ik}$ increases. Not so: only the
# sum must. Watch one step:)

# %%
rng = np.random.default_rng(0)
E, h, target = rng.normal(size=(50, 40)), 0.1 * rng.normal(size=40), 7
dh = (softmax(E @ h) - np.eye(50)[target]) @ E  # the gradient of the loss with respect to h
change = (h - 0.1 * dh) * E[target] - h * E[target]
print(f"the sum grows by {change.sum():.2f}, but {np.mean(change < 0):.0%} of the terms shrink")

# %% [markdown]
# That can be seen in training. For the three models, with 64 units and two layers, we measure
# again and again the cosine between $h_t$ and the embedding of the word that did come next, over
# the validation text. For tied+L the cosine with $h_t L$ is drawn, too, and for the untied model
# the one with the row of the output matrix.


# %%
def cosine(a, b):
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return float(np.mean(np.sum(a * b, axis=1) / lengths))


def cosines(model, ids):
    """Mean cosines with the target's rows: of h with E, of the output's input with its matrix."""
    output = model.output.W.value.T  # (V, H or D)
    table = model.layers[0].W.value
    with evaluating(model):
        x = ids[None, :-1]
        for layer in model.layers:
            x = layer.forward(x)
            if isinstance(layer, TimeLSTM):
                h = x[0]  # of the highest LSTM in the end
    return cosine(h, table[ids[1:]]), cosine(x[0], output[ids[1:]])


def train_and_watch(model, epochs, every=10):
    """As `train`, looking at the cosines after every few updates."""
    batches = BPTTBatches(train_ids, 20, 35)
    optimizer = Adam(model.parameters(), lr=0.01)
    schedule = Linear(epochs * len(batches), floor=0.05)
    seen, step = [], 0
    for _ in range(epochs):
        model.train()
        model.reset_state()
        for inputs, targets in batches:
            if step % every == 0:
                seen.append((step, *cosines(model, valid_ids[:1000])))
            optimizer.lr = 0.01 * schedule.scale(step)
            training_step(model, optimizer, inputs, targets)
            step += 1
    return np.array([*seen, (step, *cosines(model, valid_ids[:1000]))]).T


epochs = 1 if short else 5
TIES = ("none", "tied", "tied+L")
watched, sizes, tied_perplexity = {}, {}, {}
for tie in TIES:
    model = stacked(2, tie, dropout=0.2)
    watched[tie] = train_and_watch(model, epochs)
    sizes[tie] = model.size()
    tied_perplexity[tie] = perplexity(model, valid_ids, batch_size=10)
    print(f"{tie:6} {sizes[tie]:9,} parameters, validation perplexity {tied_perplexity[tie]:.1f}")

# %%
curves(
    {
        "tied: $h$ and E": watched["tied"][[0, 1]],
        "tied+L: $hL$ and E": watched["tied+L"][[0, 2]],
        "tied+L: $h$ and E": watched["tied+L"][[0, 1]],
        "none: $h$ and E": watched["none"][[0, 1]],
        "none: $h$ and W": watched["none"][[0, 2]],
    },
    title="Tied, $h$ points at the row of the next word; with L between, only $hL$ does",
    xlabel="updates",
    ylabel="mean cosine",
)

# %% [markdown]
# The picture bears the argument out. In the tied model $h$ turns towards the embedding of the next
# word, to a cosine of 0.3. In the tied+L model $hL$ does the pointing, and $h$ is nearly at right
# angles to the embeddings, as in the untied model, whose output matrix has taken over the job. (The
# matrix L starts near zero, so its first updates go into growing.)

# %%
bars(
    {f"{tie}\n{sizes[tie]:,} numbers": {"validation": tied_perplexity[tie]} for tie in TIES},
    title=f"None, tied, tied+L: two layers of 64 units, dropout 0.2, {epochs} epochs",
    ylabel="perplexity",
    levels={"trigram": trigram},
    number=".1f",
)

# %% [markdown]
# On this toy of a text the perplexities are close together, L buys nothing yet, and a single run
# decides nothing. What tying saves is plain: with 1,000 words a third of the parameters. With
# more text and more words the order of the paper appears: on the whole of `pydocs`, with 5,000
# words and 128 units, `chapters/ch06_gradients_and_gates/tying.py` measures a validation
# perplexity of 78.8 without tying, 70.5 tied and 68.5 tied+L. On the Penn Treebank (Table 1 of the
# paper) tying is worth 4 to 5 points, and L up to 0.8 more.
#
# The paper counts the savings, and slips once: tied+L with 600 units and embeddings of 400 has, it
# says, 55 % of the parameters of the tied model with 600. By its own table it is 9.5 of 11.8
# million, 80 %.
#
# ### Exercise 6.9 ★ Which matrix is P_HD?
#
# Which matrix of the package is the note's $P_{HD}$, the one of its definitions?

# %%
p_hd = ...  # "Wx transposed", "L transposed", "E transposed" or "Wh transposed"
check("6.9", p_hd)

# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 6.9
# s = U P_HD h: it stands between h (H numbers) and the embeddings (D numbers), on the way out.
p_hd_solution = "L transposed"
check("6.9", p_hd_solution)

# %% [markdown]
# ### Exercise 6.10 ★★ Count the parameters
#
# Write `count(V, D, H, tie)`: how many numbers has a language model with two LSTM layers and an
# output bias? The ways of tying are `"none"`, `"tied"` and `"tied+L"`. (L has no bias.) Then try
# $V = 10{,}000$ with the sizes of the paper's Table 1. Its figures come from PyTorch, whose LSTM
# has two biases: 8H numbers more, which drown in the rounding.


# %%
def count(V, D, H, tie):
    return None


check("6.10", count)


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 6.10
def count_solution(V, D, H, tie):
    first = 4 * H * (D + H + 1)
    second = 4 * H * (H + H + 1)
    output = {"none": H * V, "tied": 0, "tied+L": H * D}[tie] + V
    return V * D + first + second + output


for D, H, tie in ((600, 600, "none"), (600, 600, "tied"), (400, 600, "tied+L")):
    print(f"{H}/{D} {tie}: {count_solution(10_000, D, H, tie) / 1e6:.1f} million")
check("6.10", count_solution)

# %% [markdown]
# ### Exercise 6.11 ★★★ One matrix, two uses
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


check("6.11", MyTied)


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 6.11
class MyTiedSolution:
    def __init__(self, E, L):
        self.E, self.L = E, L

    def forward(self, ids):
        self.ids, self.h = ids, np.tanh(self.E[ids])
        return self.h @ self.L @ self.E.T

    def backward(self, ds):
        dhat = ds @ self.E  # s = (h L) E^T
        self.dE = ds.T @ (self.h @ self.L)  # the use as output
        self.dL = self.h.T @ dhat
        dx = (dhat @ self.L.T) * (1 - self.h**2)
        np.add.at(self.dE, self.ids, dx)  # the use as look-up, repeated ids included


check("6.11", MyTiedSolution)

# %% [markdown]
# ## 8 · All together, in twenty lines
#
# Everything is in place: embedding, two LSTM layers, dropout in depth, the output tied, clipping in
# the training step. Plugged together by hand, on the whole of `pydocs` with its 5,000 words:

# %%
corpus = load_corpus("pydocs")
if short:
    texts = {name: ids[:3000] for name, ids in corpus.splits.items()}
    corpus = replace(corpus, **texts)
V, counts = len(corpus.vocab), np.bincount(corpus.train, minlength=len(corpus.vocab))
D = 32 if short else 100
deepnlp.seed(6)

embed = Embedding.init(V, D, bound=0.3)
model = Plugged(
    V,
    embed,
    TimeDropout(0.1),
    TimeLSTM.init(D, D, stateful=True),
    TimeDropout(0.1),
    TimeLSTM.init(D, D, stateful=True),
    TimeDropout(0.1),
    TimeAffine(embed.W.T, unigram_bias(counts)),  # the embedding, transposed
    vocab=corpus.vocab,
)
print(
    f"{sum(p.value.size for p in model.parameters()):,} parameters, "
    f"of them {embed.W.value.size:,} in the words"
)

# %% [markdown]
# It is the same model as `RNNLM(V, D, D, layers=2, tie="tied", dropout=0.1)`. With the same weights
# it gives the same loss, to the last bit:

# %%
twin = RNNLM(V, D, D, layers=2, tie="tied", dropout=0.1)
for one, other in zip(twin.parameters(), model.parameters()):
    one.value = other.value.copy()
with evaluating(model), evaluating(twin):
    ids, targets = BPTTBatches(corpus.train, 4, 10)[0]
    assert model.forward(ids, targets) == twin.forward(ids, targets)

# %% [markdown]
# Train it, and set it beside the counting models:

# %%
valid_ids = corpus.valid
history = train(model, 1 if short else 4, corpus.train, N=10)
baselines = {
    "unigram": Unigram().fit(corpus.train, V).perplexity(corpus.valid),
    "trigram": KneserNey(3).fit(corpus.train, V).perplexity(corpus.valid),
}
learning_curve(history, baselines)

# %%
test = {
    "unigram": Unigram().fit(corpus.train, V).perplexity(corpus.test),
    "trigram": KneserNey(3).fit(corpus.train, V).perplexity(corpus.test),
    "our model": perplexity(model, corpus.test),
}
for name, value in test.items():
    print(f"test perplexity, {name}: {value:.1f}")

# %% [markdown]
# ### What it writes
#
# Each line is sampled word by word, a little below temperature 1 (a stroke stands for the end of a
# line). The text is nonsense, but its phrases hang together well beyond three words, and its
# sentences begin and end as sentences do: that is memory.

# %%
for seed, prompt in enumerate(["the function", "return a", "if the"]):
    rng = np.random.default_rng(seed)
    print(generate(model, prompt, length=30, temperature=0.8, rng=rng).replace("\n", " / "), "\n")

# %% [markdown]
# ### Its gates over a sentence
#
# A line of the validation text, read word by word. For each gate of the first LSTM layer: the units
# that change most, and below each panel the mean over all 100.


# %%
def gates_over(model, ids, number=0):
    """The gates of one LSTM layer while the model reads ids, each (T, H)."""
    recurrent = [layer for layer in model.net.layers if isinstance(layer, TimeLSTM)][number]
    with evaluating(model):
        x = np.asarray(ids)[None]
        for layer in model.net.layers:
            if layer is recurrent:
                break
            x = layer.forward(x)
        hs = recurrent.forward(x)[0]
    h_prev = np.concatenate([np.zeros_like(hs[:1]), hs[:-1]])
    return gate_values(recurrent, x[0], h_prev)


eos = corpus.vocab.eos_id
ends = np.flatnonzero(corpus.valid == eos)
lengths = np.diff(ends)
begin = ends[np.flatnonzero((lengths >= 14) & (lengths <= 20))[3]]
sentence = corpus.valid[begin : begin + 18]
gates = gates_over(model, sentence)
at_end = gates["f"][sentence == eos].mean()
gate_traces(
    corpus.vocab.decode(sentence),
    {"forget, f": gates["f"], "input, i": gates["i"], "output, o": gates["o"]},
    title=f"At the end of a line the memory is wiped: f falls to {at_end:.2f} on average",
)

# %% [markdown]
# ### What the tied matrix knows
#
# Each row of $E$ was trained as an input and as an output. Words that can stand in for one another
# should have come to lie together.

# %%
groups = {
    "numbers": ["one", "two", "three", "first", "second"],
    "types": ["list", "dict", "tuple", "string", "integer"],
    "auxiliaries": ["is", "are", "was", "can", "should"],
    "link words": ["and", "or", "but", "if", "when"],
}
words = [word for group in groups.values() for word in group]
vectors = dict(zip(words, embed.W.value[corpus.vocab.encode(words)]))
embeddings(groups, vectors, title="The rows of the tied matrix: words with like uses lie together")

# %% [markdown]
# ## 9 · What to read next
#
# * At full size, from the shell: `chapters/ch06_gradients_and_gates/` has
#   `exploding_and_vanishing.py`, `clipping.py`, `cells.py`, `better_language_model.py` and
#   `tying.py`, each with `--help`. They run on the Penn Treebank, too.
# * `deepnlp/layers/lstm.py` and `deepnlp/kernels/`: the LSTM you grew, as the package has it.
# * K. Saito, *Deep Learning from Scratch 2*, chapter 6, whose path this lesson follows.
# * S. Hochreiter and J. Schmidhuber, *Long short-term memory*, 1997; F. Gers, J. Schmidhuber and
#   F. Cummins, *Learning to forget*, 2000: the forget gate came three years after the rest.
# * R. Pascanu, T. Mikolov and Y. Bengio, *On the difficulty of training recurrent neural networks*,
#   2013, for section 2 and 3; W. Zaremba, I. Sutskever and O. Vinyals, *Recurrent neural network
#   regularization*, 2014, and Y. Gal and Z. Ghahramani, *A theoretically grounded application of
#   dropout in recurrent neural networks*, 2016, for section 7.
# * O. Press and L. Wolf, *Using the output embedding to improve language models*, 2017; K.
#   Gulordava, L. Aina and G. Boleda, *How to represent a word and predict it, too*, 2018.
