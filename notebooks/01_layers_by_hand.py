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
# # Lesson 1 · Layers by hand
#
# **The question.** A program that tells three kinds of things apart need not be told how. It can
# begin with numbers drawn by lot, guess, hear how wrong it was, and change each number a little, in
# the direction that would have made the guess better. How does it know that direction, for
# thousands of numbers at once?
#
# The answer is one rule, the chain rule, applied backwards through the computation. In this lesson
# you write it down for four small layers, check it against numbers to fifteen digits, and watch
# the layers learn a border that no straight line can draw. Everything that comes later (recurrent
# networks, LSTMs, attention) is made of the same two movements, forward and backward, and nothing
# else.
#
# You need: matrix products, the derivative of a function of one variable, a little NumPy.
#
# *Time.* To read and work: two to three hours. To run from top to bottom: about half a minute on
# two cores; with the environment variable `DEEPNLP_LESSON=short` the experiments are cut down and
# it takes a few seconds. To build it with its outputs: `python -m notebooks.build 01`.

# %%
import numpy as np

import deepnlp
from deepnlp import Sequential, no_backward
from deepnlp.datasets import spiral
from deepnlp.exercises import check, short_form
from deepnlp.gradcheck import check_gradients
from deepnlp.layers import Affine, ReLU, Sigmoid, Softmax, SoftmaxWithLoss, Tanh
from deepnlp.optimizers import SGD
from deepnlp.plots import computation_graph, curves, decision_regions

deepnlp.seed(0)
short = short_form()

# %% [markdown]
# The data are three hundred points in a plane, on three arms of a spiral, one arm a class. Points
# are row vectors: $x$ has shape $(N, D) = (300, 2)$, one row a point. The classes $t$ are 300
# integers, 0, 1 or 2.
#
# The figure below shows them over the guesses of a network that has learnt nothing yet. The
# background is what the network says about every place in the plane; points with a black rim lie
# on the wrong ground. By the end of the lesson hardly any will.

# %%
x, t = spiral(n_per_class=100, rng=np.random.default_rng(1984))
print("x", x.shape, x.dtype, "  t", t.shape, t.dtype)

untrained = Sequential(
    Affine.init(2, 10, np.random.default_rng(1)),
    Sigmoid(),
    Affine.init(10, 3, np.random.default_rng(2)),
)


def scores(model):
    """The model's scores of points, with nothing kept for a backward pass."""

    def of_points(points):
        with no_backward():
            return model.forward(points)

    return of_points


decision_regions(scores(untrained), x, t, title="Untrained: the ground ignores the arms")

# %% [markdown]
# ## 1 The picture
#
# This is the network. It is drawn from the layers themselves, which were just run on the data. Blue
# arrows are values, going forward: points $x$ enter on the left, a single number leaves on the
# right, the loss $L$, which says how bad the guesses were. Red dashed arrows are gradients, going
# backward: $da_1$ stands for $\partial L / \partial a_1$, *by how much the loss would change if
# that value changed a little*. We always write $dx$ for the gradient of the loss with respect to
# $x$.
#
# Note two things. Each gradient has the shape of the value it belongs to. And the four arrows that
# point down are what training needs: $dW_1, db_1, dW_2, db_2$ tell each weight where to go.

# %%
computation_graph(
    untrained, x, targets=t, title="Two affine layers, a sigmoid, a loss: forward and backward"
)

# %% [markdown]
# ## 2 Affine: a weighted sum of everything
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

layer = Affine(W_small, b_small)
np.testing.assert_allclose(layer.forward(x_small), y_small)
y_small

# %% [markdown]
# ### Exercise 1.1 ★ An affine map
#
# Write it yourself: a function of $x$ $(N, D)$, $W$ $(D, M)$ and $b$ $(M)$.
#
# `check` runs your function and prints a verdict. A wrong answer is never an error, so run it as
# often as you like. The solution is folded away in the cell after it.


# %%
def affine(x, W, b): ...


check("1.1", affine)


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 1.1
def affine_solution(x, W, b):
    return x @ W + b


check("1.1", affine_solution)

# %% [markdown]
# ## 3 Why there must be something between two affine layers
#
# Put one affine layer after another and you have gained nothing: the two together are again an
# affine layer. You find out which one in the exercise.
#
# ### Exercise 1.2 ★★ Two affine maps are one
#
# Given $y = (x W_1 + b_1) W_2 + b_2$, return the $W$ and the $b$ of the one map $y = x W + b$ that
# gives the same.


# %%
def merge(W1, b1, W2, b2): ...


check("1.2", merge)


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 1.2
def merge_solution(W1, b1, W2, b2):
    return W1 @ W2, b1 @ W2 + b2  # multiply the bracket out


check("1.2", merge_solution)

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
a = np.linspace(-5, 5, 201)
slopes = {}
for name, layer in {"sigmoid": Sigmoid(), "tanh": Tanh(), "ReLU": ReLU()}.items():
    y = layer.forward(a)
    slopes[f"{name}'"] = (a, layer.backward(np.ones_like(y)))
    by_hand = {"sigmoid": y * (1 - y), "tanh": 1 - y**2, "ReLU": 1.0 * (y > 0)}[name]
    np.testing.assert_allclose(slopes[f"{name}'"][1], by_hand)

print("largest slopes:", {name: float(slope.max()) for name, (_, slope) in slopes.items()})
curves(
    slopes,
    title="A sigmoid passes on at most a quarter of a gradient, tanh up to all of it",
    xlabel="input $a$",
    ylabel="derivative $dy/da$",
)

# %% [markdown]
# Look at the largest values: the slope of the sigmoid is never above 0.25, that of tanh reaches
# exactly 1, at 0. (The notes on chapter 6 of the book *Deep Learning from Scratch 2*, from which
# lesson 6 takes its experiments, say that the derivative of tanh is below 1. That is so everywhere
# except at one point, and a freshly initialised network works around this point.)
#
# ## 4 Softmax and its loss: from scores to the price of a guess
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
# A probability of 1 for the right class costs nothing. A third for each of three classes costs
# $\log 3 \approx 1.1$ nats per point. The cost of a confident wrong guess has no limit.

# %%
s = np.array([[2.0, 0.0, -1.0], [0.0, 0.0, 0.0]])  # (N, V) = (2, 3)
right = np.array([0, 2])

e = np.exp(s - s.max(axis=1, keepdims=True))  # the largest score off: nothing overflows
p = e / e.sum(axis=1, keepdims=True)  # (2, 3), each row sums to 1
prices = -np.log(p[np.arange(2), right])  # (2,)
L = prices.mean()

np.testing.assert_allclose(Softmax().forward(s), p)
np.testing.assert_allclose(SoftmaxWithLoss().forward(s, right), L)
print("p =", p.round(3).tolist())
print(f"prices {prices.round(3).tolist()}, mean L = {L:.4f} nats")

# %% [markdown]
# ### Exercise 1.3 ★★ A softmax that does not overflow
#
# Write the softmax of scores $(N, V)$, over the last axis. It should survive a score of 1000,
# where `np.exp` gives infinity.


# %%
def softmax(s): ...


check("1.3", softmax)


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 1.3
def softmax_solution(s):
    e = np.exp(s - s.max(axis=1, keepdims=True))  # at most exp(0) = 1
    return e / e.sum(axis=1, keepdims=True)


check("1.3", softmax_solution)

# %% [markdown]
# ### Exercise 1.4 ★ The price of a guess
#
# Write the cross-entropy from probabilities $p$ $(N, V)$ and right classes $t$ $(N)$. Indexing
# with two arrays, `p[rows, columns]`, picks one entry from each row.


# %%
def cross_entropy(p, t): ...


check("1.4", cross_entropy)


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 1.4
def cross_entropy_solution(p, t):
    return -np.log(p[np.arange(len(t)), t]).mean()


check("1.4", cross_entropy_solution)

# %% [markdown]
# ## 5 Backward: the chain rule as a drawing
#
# Now the way back. Take the smallest network there is: one number in, one weight, one bias, a
# sigmoid. All numbers fit into the drawing.

# %%
tiny = Sequential(Affine([[2.0]], [-1.5]), Sigmoid())
computation_graph(
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
# Here it is by hand. The slope of the sigmoid at $a = 0.5$ is $y(1-y) = 0.235$; the sum passes it
# on; the product multiplies by the other factor.

# %%
w, b, x1 = 2.0, -1.5, 1.0
a = w * x1 + b
y = 1 / (1 + np.exp(-a))
dy = 1.0
da = dy * y * (1 - y)  # y = sigmoid(a)
db = da  # a = w x + b: the sum passes it on
dw = da * x1  # the product: times the other factor
dx = da * w

tiny.forward(np.array([[x1]]))
dx_of_layer = tiny.backward(np.array([[dy]]))
dw_of_layer, db_of_layer = [parameter.grad for parameter in tiny.parameters()]
np.testing.assert_allclose([dx, dw, db], [*dx_of_layer[0], *dw_of_layer[0], *db_of_layer])
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
# and `db`, and returns `dx`. The check compares each of the three gradients with numbers that
# need no backward at all, and if one is wrong it says what is likely to be the matter.


# %%
class MyAffine:
    def __init__(self, W, b):
        self.W, self.b = W, b
        self.dW, self.db = None, None

    def forward(self, x): ...

    def backward(self, dy): ...


check("1.5", MyAffine)


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 1.5
class MyAffineSolution:
    def __init__(self, W, b):
        self.W, self.b = W, b
        self.dW, self.db = None, None

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dy):
        self.dW = self.x.T @ dy
        self.db = dy.sum(axis=0)  # b went to every row
        return dy @ self.W.T


check("1.5", MyAffineSolution)

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


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 1.6
class MySigmoidSolution:
    def forward(self, x):
        self.y = 1 / (1 + np.exp(-x))
        return self.y

    def backward(self, dy):
        return dy * self.y * (1 - self.y)  # the output, not the input


check("1.6", MySigmoidSolution)

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
((p - onehot) / len(right)).round(3)

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


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 1.7
class MySoftmaxWithLossSolution:
    def forward(self, s, t):
        e = np.exp(s - s.max(axis=1, keepdims=True))
        self.p, self.t = e / e.sum(axis=1, keepdims=True), t
        return -np.log(self.p[np.arange(len(t)), t]).mean()

    def backward(self, dloss=1):
        ds = self.p.copy()  # a copy: backward should not change what forward kept
        ds[np.arange(len(self.t)), self.t] -= 1
        return dloss * ds / len(self.t)  # the loss is a mean


check("1.7", MySoftmaxWithLossSolution)

# %% [markdown]
# ### A fork
#
# The last rule of the table is the one that is most often forgotten. When a value is used twice,
# its gradient is the sum of what comes back from both uses. In a recurrent network every state is
# used twice, and a tied weight is too; so it pays to meet the rule early, in one line.
#
# ### Exercise 1.8 ★★★ A layer with two ways through
#
# The function $y = x\,\sigma(x)$ is known as swish, or SiLU. Write its class. Here $x$ reaches
# $y$ by two ways: as a factor, and through the sigmoid.


# %%
class MySwish:
    def forward(self, x): ...

    def backward(self, dy): ...


check("1.8", MySwish)


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 1.8
class MySwishSolution:
    def forward(self, x):
        self.x, self.gate = x, 1 / (1 + np.exp(-x))
        return self.x * self.gate

    def backward(self, dy):
        as_factor = dy * self.gate
        through_gate = dy * self.x * self.gate * (1 - self.gate)
        return as_factor + through_gate


check("1.8", MySwishSolution)

# %% [markdown]
# ## 6 The gradient checker: how do you know?
#
# A wrong backward pass raises no error. The network still learns, only worse, and you look for the
# reason in the data, the learning rate, the weather. So check. The derivative *is* a limit of
# differences, and a difference needs only `forward`:
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
    return np.maximum(np.abs(np.asarray(slopes) / exact - 1), 1e-17)  # a log axis has no zero


errors = {
    "one-sided": relative_error([(f(x0 + h) - f(x0)) / h for h in steps]),
    "central": relative_error([(f(x0 + h) - f(x0 - h)) / (2 * h) for h in steps]),
    "complex step": relative_error([np.imag(f(x0 + 1j * h)) / h for h in steps]),
}
for name, error in errors.items():
    print(f"{name:>12}: best relative error {error.min():.0e} at h = {steps[error.argmin()]:.0e}")

# %%
curves(
    {name: (-np.log10(steps), np.log10(error)) for name, error in errors.items()},
    title="Differences drown in rounding as $h$ shrinks, the complex step does not",
    xlabel="step: $-\\log_{10} h$, smaller steps to the right",
    ylabel="$\\log_{10}$ of the relative error",
)

# %% [markdown]
# ### Exercise 1.9 ★★ A gradient from values alone
#
# Write the central difference, for a function of one number.


# %%
def slope(f, x, h): ...


check("1.9", slope)


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 1.9
def slope_solution(f, x, h):
    return (f(x + h) - f(x - h)) / (2 * h)


check("1.9", slope_solution)

# %% [markdown]
# The project's checker does this for every entry of every input and parameter of a layer. It
# weighs the outputs at random to make one number of them, runs your `backward`, and compares.
# Where `forward` is analytic it takes the complex step, otherwise central differences. Below the
# gradients it lists what else a layer must do or leave undone. A class like yours, which sets
# `dW` anew at every backward, may do so; a layer of the package adds up.

# %%
print(check_gradients(Affine(W_small, b_small), x_small))
print(check_gradients(MyAffineSolution(W_small, b_small), x_small))  # a plain class will do
print(check_gradients(SoftmaxWithLoss(), s, right))

# %% [markdown]
# Now let us make mistakes. Each class below is right except for one line, and each mistake is one
# that people make. All of them run; with the same number of samples, inputs and outputs not even
# a shape is off.


# %%
class Turned(MyAffineSolution):
    def backward(self, dy):
        self.dW = dy.T @ self.x  # x.T @ dy, turned round
        self.db = dy.sum(axis=0)
        return dy @ self.W.T


class SumOverOutputs(MyAffineSolution):
    def backward(self, dy):
        self.dW = self.x.T @ dy
        self.db = dy.sum(axis=1)  # over the outputs instead of the samples
        return dy @ self.W.T


class SlopeAtInput(MySigmoidSolution):
    def forward(self, x):
        self.x = x
        return super().forward(x)

    def backward(self, dy):
        return dy * self.x * (1 - self.x)  # y (1 - y), taken at the input


class NotAveraged(MySoftmaxWithLossSolution):
    def backward(self, dloss=1):
        return super().backward(dloss) * len(self.t)  # the mean of forward forgotten


square = rng.standard_normal((3, 3))
reports = [
    check_gradients(Turned(square, square[0]), rng.standard_normal((3, 3))),
    check_gradients(SumOverOutputs(square, square[0]), rng.standard_normal((3, 3))),
    check_gradients(SlopeAtInput(), rng.standard_normal((3, 3))),
    check_gradients(NotAveraged(), s, right),
]
print(reports[0])

# %% [markdown]
# The report says which gradient is wrong, where it is furthest off, and what is likely to be the
# matter: the checker replays your forward, tries each known mistake, and looks which of them
# gives exactly the gradient that was found. Here is what it says of all four.

# %%
for report in reports:
    wrong = ", ".join(row.name for row in report.rows if not row.ok)
    print(f"{report.subject:>15}: {wrong} wrong; {report.causes[0]}")

# %% [markdown]
# ### Why the outputs are weighted at random
#
# To check a layer with many outputs you need one number, and the plain sum of the outputs seems
# the natural choice. Suppose you check a softmax like that.
#
# ### Exercise 1.10 ★ A check that sees nothing
#
# Somebody has written a softmax whose `backward` returns zeros, whatever comes in. The checker
# compares with the numerical gradient of a weighted sum of the outputs. With which weights does
# that backward pass the check? Predict, then run the cell after it.
#
# * `"ones"`: every output counts 1, the plain sum
# * `"random"`: every output has a random weight
# * `"one output"`: one output counts 1, the others 0

# %%
my_prediction = ...

check("1.10", my_prediction)

# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 1.10
prediction = "ones"

check("1.10", prediction)


# %%
def gradient_of_weighted_sum(weights, h=1e-30):
    """Of softmax(s), by complex steps; shape of s."""
    gradient = np.zeros(s.shape)
    for index in np.ndindex(s.shape):
        moved = s.astype(complex)
        moved[index] += 1j * h
        gradient[index] = (weights * Softmax().forward(moved)).sum().imag / h
    return gradient


for name, weights in {
    "ones": np.ones(s.shape),
    "random": rng.standard_normal(s.shape),
    "one output": np.eye(2, 3),
}.items():
    print(f"{name:>10}: largest gradient {np.abs(gradient_of_weighted_sum(weights)).max():.1e}")

# %% [markdown]
# ## 7 Training: follow the gradient down
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
# Write it. `model` and `loss` are layers, so you have `model.forward(x)`,
# `loss.forward(scores, t)`, `loss.backward()`, `model.backward(ds)`, `model.zero_grad()` and
# `model.parameters()`, each with `.value` and `.grad`. Return the loss.


# %%
def train_step(model, loss, x, t, lr): ...


check("1.11", train_step)


# %% jupyter={"source_hidden": true} tags=["solution"]
# Solution 1.11
def train_step_solution(model, loss, x, t, lr):
    value = loss.forward(model.forward(x), t)
    model.zero_grad()
    model.backward(loss.backward())
    for parameter in model.parameters():
        parameter.value -= lr * parameter.grad
    return value


check("1.11", train_step_solution)

# %% [markdown]
# The package's `SGD` does lines 4 and 5. One pass through all points, thirty at a time in random
# order, is an **epoch**. Thirty points (a **minibatch**) give a rougher gradient than three
# hundred, ten times as often.


# %%
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
    return float((scores(model)(x).argmax(axis=1) == t).mean())


epochs = 60 if short else 600
straight = Sequential(Affine.init(2, 3, np.random.default_rng(0)))
bent = network(hidden=10)
history = {
    "affine alone": train(straight, epochs),
    "10 hidden units": train(bent, epochs),
}
for name, model in {"affine alone": straight, "10 hidden units": bent}.items():
    print(f"{name:>15}: loss {history[name][-1]:.3f}, {share_right(model):.1%} right")

# %%
curves(
    {name: (np.arange(1, epochs + 1), losses) for name, losses in history.items()},
    title=f"After {epochs} epochs: {history['affine alone'][-1]:.2f} nats without a bend, "
    f"{history['10 hidden units'][-1]:.2f} with ten",
    xlabel="epoch",
    ylabel="training loss (nats a point)",
    levels={"know nothing": np.log(3)},
)

# %% [markdown]
# Before the first step both pay about $\log 3$, the price of knowing nothing. The affine layer
# stops improving almost immediately: it has said all it can say. Its borders are straight lines,
# and you can see it struggle. The other lingers at the same level for a while, as if there were no
# better, before its bends find the arms.

# %%
decision_regions(
    scores(straight),
    x,
    t,
    title=f"An affine layer draws straight borders: {share_right(straight):.0%} right",
)

# %%
decision_regions(
    scores(bent), x, t, title=f"Ten bends follow the arms: {share_right(bent):.0%} right"
)

# %% [markdown]
# ### How many bends does a spiral need?
#
# Each hidden unit is a soft step across one straight line, and the borders are put together from
# these. With too few the arms cannot be followed. With more than enough, training finds a good
# arrangement more easily. Each number is the mean of a few networks with different first weights,
# for one training may be lucky.

# %%
sizes = [1, 2, 3, 5, 10, 30]
seeds = range(1 if short else 5)
shares = {}
for hidden in sizes:
    models = [network(hidden, seed) for seed in seeds]
    for model in models:
        train(model, epochs)
    shares[hidden] = float(np.mean([share_right(model) for model in models]))
    print(f"{hidden:>2} hidden units: {shares[hidden]:.1%} right")

curves(
    {"right": (sizes, [100 * share for share in shares.values()])},
    title=f"{shares[3]:.0%} right with 3 hidden units, {shares[10]:.0%} with 10, "
    f"{shares[30]:.0%} with 30",
    xlabel="hidden units",
    ylabel="points on the right ground (%)",
    levels={"by chance": 100 / 3},
    logx=True,
)

# %% [markdown]
# These are points the network was trained on. Whether it has understood the arms or learnt the
# points by heart is another question; for text it is the main one, and lesson 5 begins with it.
#
# ## 8 Your layers, plugged together
#
# Last of all, your own classes instead of the package's. They have `W`, `dW`, and so on, and no
# `Sequential`: the chain is written out. It is the same network with the same first weights, and
# it ends with the same loss.

# %%
first, _, last = network(hidden=10).layers
layers = [
    MyAffineSolution(first.W.value.copy(), first.b.value.copy()),
    MySigmoidSolution(),
    MyAffineSolution(last.W.value.copy(), last.b.value.copy()),
]
my_loss = MySoftmaxWithLossSolution()
shuffle = np.random.default_rng(0)
for _ in range(epochs):
    losses = []
    for some in shuffle.permutation(len(x)).reshape(-1, 30):
        values = x[some]
        for layer in layers:
            values = layer.forward(values)
        losses.append(my_loss.forward(values, t[some]))
        gradient = my_loss.backward()
        for layer in reversed(layers):
            gradient = layer.backward(gradient)
        for layer in (layers[0], layers[2]):
            layer.W -= 1.0 * layer.dW
            layer.b -= 1.0 * layer.db

print(f"by hand {np.mean(losses):.4f}, the package {history['10 hidden units'][-1]:.4f}")
np.testing.assert_allclose(np.mean(losses), history["10 hidden units"][-1], rtol=0.02)

# %% [markdown]
# Put your answers to 1.5, 1.6 and 1.7 into this cell in place of the solutions, and the network is
# yours, down to the last multiplication.
#
# ## What to read next
#
# * **In this project**: `deepnlp/layers/dense.py`, `activations.py` and `losses.py` are the
#   layers of this lesson as the package has them, a page each. `docs/notation.md` lists every
#   letter and shape. `chapters/ch01_layers_by_hand/` runs the spiral at full size, compares seven
#   optimizers on it, and checks the gradient of every layer there is.
# * **On the chain rule**: Rumelhart, Hinton and Williams, *Learning representations by
#   back-propagating errors* (1986), four pages that can still be read. Baydin, Pearlmutter, Radul
#   and Siskind, *Automatic differentiation in machine learning: a survey* (2018), for where this
#   rule stands among other ways to differentiate a program.
# * **On the complex step**: Squire and Trapp, *Using complex variables to estimate derivatives of
#   real functions* (1998), two pages.
# * **Next here**: lesson 5, where the same weights are used at every step of a text, and the fork
#   rule of exercise 1.8 becomes backpropagation through time.
