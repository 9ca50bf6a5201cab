# %% [markdown]
# # Lesson 1 · Layers by hand
#
# **The question.** A program that tells three kinds of things apart need not be told how. It can
# begin with random numbers, guess, be told how wrong it was, and change each number a little, in
# the direction that would have made the guess better. How does it know that direction, for
# thousands of numbers at once?
#
# The answer is one rule, the chain rule, applied backwards through the computation. In this lesson
# one network grows from a single formula to a trained classifier. You write down the rule for its
# four layers, check it against numbers to fifteen digits, and watch the network learn a border that
# no straight line can draw. Everything that comes later (recurrent networks, LSTMs, attention) is
# made of the same two movements, forward and backward.
#
# You need: matrix products, the derivative of a function of one variable, a little NumPy.
#
# *Time.* To read and work: 90 minutes. To run: about half a minute on two cores, a few seconds with
# `DEEPNLP_LESSON=short`, which cuts the experiments down.

# %%
import numpy as np

import deepnlp
from deepnlp import plots
from deepnlp.datasets import spiral
from deepnlp.lessons import figures
from deepnlp.lessons.exercises import check, short_form

deepnlp.seed(0)
short = short_form()

# %% [markdown]
# The data are three hundred points in a plane, on three arms of a spiral, one arm a class. Points
# are row vectors: $x$ has shape $(N, D) = (300, 2)$, one row a point. The classes $t$ are 300
# integers, 0, 1 or 2.
#
# Here is the whole network of this lesson, as one line of NumPy with random numbers in it. The
# background of the figure is what it answers for every place in the plane; points with a black rim
# lie on the wrong ground. By the end of the lesson hardly any will.

# %%
x, t = spiral(n_per_class=100, rng=np.random.default_rng(1984))
rng = np.random.default_rng(1)
W1, b1, W2, b2 = rng.normal(size=(2, 10)), 0.0, rng.normal(size=(10, 3)), 0.0


def untrained(points):
    """Scores of three classes (n, 3) from points (n, 2)."""
    return 1 / (1 + np.exp(-(points @ W1 + b1))) @ W2 + b2


print("x", x.shape, x.dtype, "  t", t.shape, t.dtype)
figures.decision_regions(untrained, x, t, title="Untrained: the ground ignores the arms")

# %% [markdown]
# ## 1 Affine: a weighted sum of everything
#
# Each output is a weighted sum of all inputs plus a constant:
#
# $$ y_{nm} = \sum_d x_{nd} W_{dm} + b_m, \qquad\text{or}\qquad y = x W + b. $$
#
# With $x$ of shape $(N, D)$ and $W$ of shape $(D, M)$, $y$ has shape $(N, M)$. The bias $b$ of
# shape $(M)$ is added to each of the $N$ rows. Row vectors on the left, weights on the right: this
# order holds throughout the project.

# %%
x_small = np.array([[1.0, 3.0], [0.0, -1.0], [2.0, 0.5]])  # (N, D) = (3, 2)
W_small = np.array([[2.0, 0.0, 1.0, -1.0], [-1.0, 1.0, 0.5, 0.0]])  # (D, M) = (2, 4)
b_small = np.array([0.5, 0.0, -1.0, 0.0])  # (M,)

y_small = x_small @ W_small + b_small  # (3, 4)
y_small

# %% [markdown]
# ### Exercise 1.1 ★ An affine map
#
# Write it yourself: a function of $x$ $(N, D)$, $W$ $(D, M)$ and $b$ $(M)$.
#
# `check` runs your function and prints a verdict. A wrong answer is never an error, so run it as
# often as you like. The solution is folded away below it.


# %%
def affine(x, W, b): ...


check("1.1", affine)

# %% [markdown]
# ## 2 Why there must be something between two affine layers
#
# One affine layer after another gains nothing: the two together are again an affine layer. Which
# one is the exercise.
#
# ### Exercise 1.2 ★★ Two affine maps are one
#
# Given $y = (x W_1 + b_1) W_2 + b_2$, return the $W$ and the $b$ of the one map $y = x W + b$ that
# gives the same.


# %%
def merge(W1, b1, W2, b2): ...


check("1.2", merge)

# %% [markdown]
# So a function that is not linear stands between them. Three are common, each applied to every
# entry separately:
#
# $$ \sigma(x) = \frac{1}{1 + e^{-x}}, \qquad \tanh(x), \qquad \mathrm{ReLU}(x) = \max(x, 0). $$
#
# Their derivatives can be written with the *output* $y$ alone, which a backward pass has at hand:
#
# $$ \sigma' = y (1 - y), \qquad \tanh' = 1 - y^2, \qquad \mathrm{ReLU}' = [y > 0]. $$

# %%
from deepnlp.layers import ReLU, Sigmoid, Tanh

a = np.linspace(-5, 5, 201)
slopes = {}
for name, layer in {"sigmoid": Sigmoid(), "tanh": Tanh(), "ReLU": ReLU()}.items():
    y = layer.forward(a)
    slopes[f"{name}'"] = (a, layer.backward(np.ones_like(y)))
    by_hand = {"sigmoid": y * (1 - y), "tanh": 1 - y**2, "ReLU": 1.0 * (y > 0)}[name]
    np.testing.assert_allclose(slopes[f"{name}'"][1], by_hand)

steepest = {name: float(slope.max()) for name, (_, slope) in slopes.items()}
print("largest slopes:", steepest)
plots.curves(
    slopes,
    title="A sigmoid passes on at most a quarter of a gradient, tanh up to all of it",
    xlabel="input $a$",
    ylabel="derivative $dy/da$",
)

# %% [markdown]
# The slope of the sigmoid is never above 0.25<!--= steepest["sigmoid'"] -->, that of tanh reaches
# 1<!--= steepest["tanh'"] -->, at 0. (The notes on chapter 6 of *Deep Learning from Scratch 2*,
# from which lesson 6 takes its experiments, say that the derivative of tanh is below 1. That is so
# everywhere except at one point, and a freshly initialised network works around this point.)
#
# This is the first half of the network: an affine layer from 2 numbers to 10, then a sigmoid. It is
# drawn from the layers themselves, run on the data. Blue arrows are values, going forward. Red
# dashed arrows are gradients, going backward: $da$ stands for $\partial L / \partial a$, *by how
# much the loss would change if that value changed a little*. We always write $dx$ for the gradient
# of the loss with respect to $x$; it has the shape of $x$.

# %%
from deepnlp import Sequential
from deepnlp.layers import Affine  # x W + b, as in section 1

np.testing.assert_allclose(Affine(W_small, b_small).forward(x_small), y_small)
first_half = Sequential(Affine.init(2, 10, np.random.default_rng(1)), Sigmoid())
figures.computation_graph(first_half, x, title="The first half: from points to ten hidden units")

# %% [markdown]
# ## 3 Softmax and its loss: from scores to the price of a guess
#
# The last layer gives three scores $s$ per point, any real numbers. The **softmax** turns a row of
# scores into probabilities: positive, and 1 in sum.
#
# $$ p_{nk} = \frac{e^{s_{nk}}}{\sum_j e^{s_{nj}}} $$
#
# Adding the same number to all scores of a row changes nothing, because $e^{s + c} = e^c e^s$ and
# $e^c$ cancels. Only differences of scores count.
#
# The **cross-entropy** is the price of a guess: minus the logarithm of the probability that was
# given to the right class, as a mean over the rows,
#
# $$ L = -\frac{1}{N} \sum_n \log p_{n, t_n}. $$
#
# A probability of 1 for the right class costs nothing. A model that gives a third to each of three
# classes pays $\log 3 \approx 1.10$<!--= np.log(3) --> nats per point. The cost of a confident
# wrong guess has no limit.

# %%
s = np.array([[2.0, 0.0, -1.0], [0.0, 0.0, 0.0]])  # (N, V) = (2, 3)
right = np.array([0, 2])

e = np.exp(s)
p = e / e.sum(axis=1, keepdims=True)  # (2, 3), each row sums to 1
prices = -np.log(p[np.arange(2), right])  # (2,)
L = prices.mean()

print("p =", p.round(3).tolist())
print(f"prices {prices.round(3).tolist()}, mean L = {L:.4f} nats")

# %% [markdown]
# ### Exercise 1.3 ★★ A softmax that does not overflow
#
# Write the softmax of scores $(N, V)$, over the last axis. It should survive a score of 1000, where
# `np.exp` gives infinity.


# %%
def softmax(s): ...


check("1.3", softmax)

# %% [markdown]
# ### Exercise 1.4 ★ The price of a guess
#
# Write the cross-entropy from probabilities $p$ $(N, V)$ and right classes $t$ $(N)$. Indexing with
# two arrays, `p[rows, columns]`, picks one entry from each row.


# %%
def cross_entropy(p, t): ...


check("1.4", cross_entropy)

# %% [markdown]
# The second half of the network is an affine layer from 10 hidden units to 3 scores, and softmax
# and cross-entropy in one layer. The two arrows that point down are what training needs: $dW$ and
# $db$ tell each weight where to go.

# %%
from deepnlp.layers import Softmax, SoftmaxWithLoss

np.testing.assert_allclose(Softmax().forward(s), p)
np.testing.assert_allclose(SoftmaxWithLoss().forward(s, right), L)
second_half = Sequential(Affine.init(10, 3, np.random.default_rng(2)))
hidden = first_half.forward(x)
figures.computation_graph(
    second_half, hidden, targets=t, title="The second half: from hidden units to the loss"
)

# %% [markdown]
# ## 4 Backward: the chain rule as a drawing
#
# Now the way back. Take the smallest network there is: one number in, one weight, one bias, a
# sigmoid. All numbers fit into the drawing.

# %%
tiny = Sequential(Affine([[2.0]], [-1.5]), Sigmoid())
figures.computation_graph(
    tiny, np.array([[1.0]]), title="Each gradient is the one from the right times a local slope"
)

# %% [markdown]
# Read the red numbers from the right. The gradient of the output with respect to itself is 1. Each
# node takes the gradient that arrives and multiplies it by its own slope. This is the chain rule,
#
# $$ \frac{\partial L}{\partial x} = \frac{\partial L}{\partial y} \frac{\partial y}{\partial x}, $$
#
# and each kind of node has a rule that you can keep in your head:
#
# | node | forward | backward |
# |---|---|---|
# | sum | $y = a + b$ | $da = dy$ and $db = dy$: it passes the gradient on, unchanged |
# | product | $y = a b$ | $da = dy \cdot b$ and $db = dy \cdot a$: times *the other* factor |
# | function | $y = f(a)$ | $da = dy \cdot f'(a)$ |
# | fork | $a$ goes two ways | $da$ is the *sum* of what comes back |
#
# Here it is by hand, and the numbers are those of the drawing.

# %%
w, b, x1 = 2.0, -1.5, 1.0
a = w * x1 + b
y = 1 / (1 + np.exp(-a))
dy = 1.0
da = dy * y * (1 - y)  # y = sigmoid(a)
db = da  # a = w x + b: the sum passes it on
dw = da * x1  # the product: times the other factor
dx = da * w

print(f"y = {y:.3f}   da = {da:.3f}   dx = {dx:.3f}   dw = {dw:.3f}   db = {db:.3f}")

# %% [markdown]
# ### The same with matrices
#
# For $y = x W + b$ with rows and columns, follow one weight. $W_{dm}$ enters $y_{nm}$ for every
# $n$, each time multiplied by $x_{nd}$. So it collects, over all $n$ (the fork rule!),
#
# $$ dW_{dm} = \sum_n x_{nd}\, dy_{nm}, \qquad\text{that is}\qquad dW = x^\top dy. $$
#
# In the same way $x_{nd}$ enters $y_{nm}$ for every $m$, and $b_m$ enters $y_{nm}$ for every $n$:
#
# $$ dx_{nd} = \sum_m dy_{nm} W_{dm}, \quad dx = dy\, W^\top, \qquad\qquad db_m = \sum_n dy_{nm}. $$
#
# The shapes alone almost tell you: $dW$ must be $(D, M)$, and $x^\top dy$ is $(D, N)(N, M)$. But
# *almost* is the word. When $N = D = M$ every transposition fits, and only the derivation, or a
# check against numbers, tells right from wrong.

# %%
rng = np.random.default_rng(0)
dy_small = rng.standard_normal(y_small.shape)  # (3, 4): what arrives from the right

dx_small = dy_small @ W_small.T  # (3, 4) (4, 2) -> (3, 2)
dW_small = x_small.T @ dy_small  # (2, 3) (3, 4) -> (2, 4)
db_small = dy_small.sum(axis=0)  # (3, 4) -> (4,)

layer = Affine(W_small, b_small)
layer.forward(x_small)
np.testing.assert_allclose(layer.backward(dy_small), dx_small)
np.testing.assert_allclose(layer.W.grad, dW_small)
np.testing.assert_allclose(layer.b.grad, db_small)

# %% [markdown]
# ### Exercise 1.5 ★★ Affine, forward and backward
#
# Write it as a class. `forward` keeps what `backward` will need; `backward` takes `dy`, sets `dW`
# and `db`, and returns `dx`. The check compares each of the three gradients with numbers that need
# no backward at all, and if one is wrong it says what is likely to be the matter.


# %%
class MyAffine:
    def __init__(self, W, b):
        self.W, self.b = W, b
        self.dW, self.db = None, None

    def forward(self, x): ...

    def backward(self, dy): ...


check("1.5", MyAffine)

# %% [markdown]
# ### Exercise 1.6 ★★ The sigmoid, backward
#
# A layer without weights: $y = \sigma(x)$, $dx = dy \cdot y (1 - y)$, entry by entry. What must
# `forward` keep?


# %%
class MySigmoid:
    def forward(self, x): ...

    def backward(self, dy): ...


check("1.6", MySigmoid)

# %% [markdown]
# ### The loss, backward
#
# Taken one after the other, the logarithm and the softmax have ugly derivatives. Taken together
# they nearly vanish. For one row with right class $t$,
#
# $$ L = -\log p_t = -s_t + \log \sum_j e^{s_j}, \qquad
#    \frac{\partial L}{\partial s_k} = -[k = t] + \frac{e^{s_k}}{\sum_j e^{s_j}} = p_k - [k = t]. $$
#
# Guess minus truth: each score is pulled by the error that was made on it. Over $N$ rows the loss
# is a mean, so each row counts one $N$-th: $ds = (p - \mathrm{onehot}(t)) / N$.

# %%
onehot = np.eye(3)[right]  # (2, 3)
loss = SoftmaxWithLoss()
loss.forward(s, right)
np.testing.assert_allclose(loss.backward(), (p - onehot) / len(right))

# %% [markdown]
# ### Exercise 1.7 ★★★ Softmax with loss, backward
#
# Softmax and cross-entropy in one layer: `forward(s, t)` gives the loss, a number;
# `backward(dloss=1)` gives `ds`. Two things are easily forgotten here, and the check recognises
# both.


# %%
class MySoftmaxWithLoss:
    def forward(self, s, t): ...

    def backward(self, dloss=1): ...


check("1.7", MySoftmaxWithLoss)

# %% [markdown]
# ### A fork
#
# The last rule of the table is forgotten most often. When a value is used twice, its gradient is
# the sum of what comes back from both uses. In a recurrent network every state is used twice, and a
# tied weight is too; so we meet the rule here, in one line.
#
# ### Exercise 1.8 ★★★ A layer with two ways through
#
# The function $y = x\,\sigma(x)$ is known as swish, or SiLU. Write its class. Here $x$ reaches $y$
# by two ways: as a factor, and through the sigmoid.


# %%
class MySwish:
    def forward(self, x): ...

    def backward(self, dy): ...


check("1.8", MySwish)

# %% [markdown]
# ## 5 The gradient checker: how do you know?
#
# A wrong backward pass raises no error. The network still learns, only worse, and you look for the
# reason in the data or the learning rate. So check. The derivative *is* a limit of differences, and
# a difference needs only `forward`:
#
# $$ \frac{f(x + h) - f(x)}{h} \quad\text{(one-sided)}, \qquad
#    \frac{f(x + h) - f(x - h)}{2h} \quad\text{(central)}. $$
#
# How small should $h$ be? Smaller is better, until the two values agree in all but their last
# digits and their difference is made of rounding. A third formula has no difference in it: step
# into the *complex* plane, where for an analytic $f$
#
# $$ f(x + ih) = f(x) + i h f'(x) - \tfrac{h^2}{2} f''(x) - \dots, \qquad
#    f'(x) = \frac{\mathrm{Im}\, f(x + ih)}{h} + O(h^2), $$
#
# and $h$ may be as small as $10^{-30}$ (Squire and Trapp 1998).


# %%
def f(x):
    return np.exp(np.sin(x))


x0 = 0.7
exact = np.cos(x0) * np.exp(np.sin(x0))
steps = 10.0 ** -np.arange(0.5, 16, 0.5)


def relative_error(slopes):
    return np.abs(np.asarray(slopes) / exact - 1)


errors = {
    "one-sided": relative_error([(f(x0 + h) - f(x0)) / h for h in steps]),
    "central": relative_error([(f(x0 + h) - f(x0 - h)) / (2 * h) for h in steps]),
    "complex step": relative_error([np.imag(f(x0 + 1j * h)) / h for h in steps]),
}
for name, error in errors.items():
    print(f"{name:>12}: best relative error {error.min():.0e} at h = {steps[error.argmin()]:.0e}")

last_digit = np.finfo(float).eps / 2  # half a unit in the last digit: smaller errors are drawn here
plots.curves(
    {
        name: (-np.log10(steps), np.log10(np.maximum(error, last_digit)))
        for name, error in errors.items()
    },
    title="Differences drown in rounding as $h$ shrinks, the complex step does not",
    xlabel="step: $-\\log_{10} h$, smaller steps to the right",
    ylabel="$\\log_{10}$ of the relative error",
    levels={"last digit": np.log10(last_digit)},
)

# %% [markdown]
# The best a one-sided difference reaches here is a relative error of 6e-10<!--=
# errors["one-sided"].min() -->, a central one 1e-11<!--= errors["central"].min() -->. The complex
# step has an error of 0<!--= errors["complex step"].min() -->: no digit differs.
#
# ### Exercise 1.9 ★★ A gradient from values alone
#
# Write the central difference, for a function of one number.


# %%
def slope(f, x, h): ...


check("1.9", slope)

# %% [markdown]
# The project's checker does this for every entry of every input and parameter of a layer. It weighs
# the outputs at random to make one number of them, runs your `backward`, and compares. Where
# `forward` is analytic it takes the complex step, otherwise central differences. Below the
# gradients it lists what else a layer must do or leave undone. A class like yours, which sets `dW`
# anew at every backward, may do so; a layer of the package adds up.

# %%
from deepnlp.gradcheck import check_gradients

print(check_gradients(Affine(W_small, b_small), x_small))
print(check_gradients(SoftmaxWithLoss(), s, right))

# %% [markdown]
# Now let us make mistakes. Each class below is right except for one line. All of them run; with the
# same number of samples, inputs and outputs not even a shape is off.


# %%
class Turned:
    def __init__(self, W, b):
        self.W, self.b = W, b

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dy):
        self.dW = dy.T @ self.x  # x.T @ dy, turned round
        self.db = dy.sum(axis=0)
        return dy @ self.W.T


class SumOverOutputs(Turned):
    def backward(self, dy):
        self.dW = self.x.T @ dy
        self.db = dy.sum(axis=1)  # over the outputs instead of the samples
        return dy @ self.W.T


class SlopeAtInput:
    def forward(self, x):
        self.x = x
        return 1 / (1 + np.exp(-x))

    def backward(self, dy):
        return dy * self.x * (1 - self.x)  # y (1 - y), taken at the input


class NotAveraged(SoftmaxWithLoss):
    def backward(self, dloss=1):
        return super().backward(dloss) * len(right)  # the mean of forward forgotten


square = rng.standard_normal((3, 3))
reports = [
    check_gradients(Turned(square, square[0]), rng.standard_normal((3, 3))),
    check_gradients(SumOverOutputs(square, square[0]), rng.standard_normal((3, 3))),
    check_gradients(SlopeAtInput(), rng.standard_normal((3, 3))),
    check_gradients(NotAveraged(), s, right),
]
print(reports[0])
for report in reports:
    wrong = ", ".join(row.name for row in report.rows if not row.ok)
    print(f"{report.subject:>15}: {wrong} wrong; {report.causes[0]}")

# %% [markdown]
# The report says which gradient is wrong, where it is furthest off, and what is likely to be the
# matter: the checker replays the forward pass, tries each known mistake, and looks which of them
# gives exactly the gradient that was found.
#
# ### Why the outputs are weighted at random
#
# To check a layer with many outputs you need one number, and the plain sum of the outputs seems the
# natural choice. Suppose you check a softmax like that.
#
# ### Exercise 1.10 ★ A check that sees nothing
#
# Somebody has written a softmax whose `backward` returns zeros, whatever comes in. The checker
# compares with the numerical gradient of a weighted sum of the outputs. With which weights does
# that backward pass the check? Predict; the solution computes it.
#
# * `"ones"`: every output counts 1, the plain sum
# * `"random"`: every output has a random weight
# * `"one output"`: one output counts 1, the others 0

# %%
check("1.10", ...)


# %% [markdown]
# ## 6 Training: follow the gradient down
#
# A step of training has five lines, and every model of this project is trained by the same five:
#
# 1. forward, to the loss;
# 2. forget the gradients of the step before (they *add up*: that is what makes forks and shared
#    weights right, and what makes this line necessary);
# 3. backward, from the loss to every weight;
# 4. and 5. for each weight, $W \leftarrow W - \eta\, dW$, with a small learning rate $\eta$.
#
# The gradient points to where the loss grows fastest, so we go the other way.
#
# ### Exercise 1.11 ★★ A step of training
#
# Write it. `model` and `loss` are layers, so you have `model.forward(x)`, `loss.forward(scores,
# t)`, `loss.backward()`, `model.backward(ds)`, `model.zero_grad()` and `model.parameters()`, each
# with `.value` and `.grad`. Return the loss.


# %%
def train_step(model, loss, x, t, lr): ...


check("1.11", train_step)

# %% [markdown]
# The package's `SGD` does lines 4 and 5. One pass through all points, thirty at a time in random
# order, is an **epoch**. Thirty points (a **minibatch**) give a rougher gradient than three
# hundred, ten times as often.


# %%
from deepnlp.optimizers import SGD


def train(model, epochs, lr=1.0, batch=30):
    """Mean loss of every epoch, in nats a point."""
    loss = SoftmaxWithLoss()
    optimizer = SGD(model.parameters(), lr=lr)
    rng = np.random.default_rng(0)
    history = []
    for _ in range(epochs):
        losses = []
        for some in rng.permutation(len(x)).reshape(-1, batch):
            losses.append(float(loss.forward(model.forward(x[some]), t[some])))
            model.zero_grad()
            model.backward(loss.backward())
            optimizer.step()
        history.append(np.mean(losses))
    return history


def network(hidden, seed=0):
    """Affine, sigmoid, affine: 2 inputs, 3 scores."""
    rng = np.random.default_rng(seed)
    return Sequential(Affine.init(2, hidden, rng), Sigmoid(), Affine.init(hidden, 3, rng))


def share_right(model):
    return float((model.forward(x).argmax(axis=1) == t).mean())


epochs = 60 if short else 600
straight = Sequential(Affine.init(2, 3, np.random.default_rng(0)))
bent = network(hidden=10)
history = {"affine alone": train(straight, epochs), "10 hidden units": train(bent, epochs)}
for name, model in {"affine alone": straight, "10 hidden units": bent}.items():
    print(f"{name:>15}: loss {history[name][-1]:.3f}, {share_right(model):.1%} right")

# %%
plots.curves(
    {name: (np.arange(1, epochs + 1), losses) for name, losses in history.items()},
    title=f"After {epochs} epochs: {history['affine alone'][-1]:.2f} nats without a bend, "
    f"{history['10 hidden units'][-1]:.2f} with ten",
    xlabel="epoch",
    ylabel="training loss (nats a point)",
    levels={"know nothing": np.log(3)},
)

# %% [markdown]
# Before the first step both pay about $\log 3$, the price of knowing nothing. The affine layer
# stops improving almost at once, at 0.74<!--= history["affine alone"][-1] --> nats: it has said all
# it can say, and its borders are straight lines. The other lingers at the same level for a while,
# before its bends find the arms, and ends at 0.08<!--= history["10 hidden units"][-1] -->.

# %%
title = f"An affine layer draws straight borders: {share_right(straight):.0%} right"
figures.decision_regions(straight.forward, x, t, title=title)

# %%
title = f"Ten bends follow the arms: {share_right(bent):.0%} right"
figures.decision_regions(bent.forward, x, t, title=title)

# %% [markdown]
# These are points the network was trained on. Whether it has understood the arms or learnt the
# points by heart is another question; for text it is the main one, and lesson 5 begins with it.
#
# ## 7 Your layers, plugged together
#
# Last of all, your own classes instead of the package's. They have `W`, `dW`, and so on, and no
# `Sequential`: the chain is written out. Once 1.5, 1.6 and 1.7 are right this cell trains the same
# network with the same first weights, and ends with the same loss.


# %%
def train_by_hand(affine, sigmoid, softmax_with_loss):
    """The loss of the last epoch."""
    first, _, last = network(hidden=10).layers
    first, last = (affine(one.W.value.copy(), one.b.value.copy()) for one in (first, last))
    middle, loss, shuffle = sigmoid(), softmax_with_loss(), np.random.default_rng(0)
    for _ in range(epochs):
        losses = []
        for some in shuffle.permutation(len(x)).reshape(-1, 30):
            s = last.forward(middle.forward(first.forward(x[some])))
            losses.append(loss.forward(s, t[some]))
            first.backward(middle.backward(last.backward(loss.backward())))
            for layer in (first, last):
                layer.W -= layer.dW  # the learning rate is 1
                layer.b -= layer.db
    return np.mean(losses)


mine = {"1.5": MyAffine, "1.6": MySigmoid, "1.7": MySoftmaxWithLoss}
right = [check(name, layer).ok for name, layer in mine.items()]
if all(right):
    print(f"yours {train_by_hand(*mine.values()):.4f}")
print(f"the package {history['10 hidden units'][-1]:.4f}")

# %% [markdown]
# ## What to read next
#
# * **In this project**: `deepnlp/layers/dense.py`, `activations.py` and `losses.py` are the layers
#   of this lesson as the package has them, a page each. `docs/notation.md` lists every letter and
#   shape. `chapters/ch01_layers_by_hand/` runs the spiral at full size, compares seven optimizers
#   on it, and checks the gradient of every layer there is.
# * **On the chain rule**: Rumelhart, Hinton and Williams, *Learning representations by
#   back-propagating errors* (1986), four pages that can still be read. Baydin, Pearlmutter, Radul
#   and Siskind, *Automatic differentiation in machine learning: a survey* (2018), for where this
#   rule stands among other ways to differentiate a program.
# * **On the complex step**: Squire and Trapp, *Using complex variables to estimate derivatives of
#   real functions* (1998), two pages.
# * **Next here**: lesson 5, where the same weights are used at every step of a text, and the fork
#   rule of exercise 1.8 becomes backpropagation through time.
