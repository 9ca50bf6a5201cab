# %% [markdown]
# # Lesson 1 · Layers by hand
#
# **The question.** A program that tells three kinds of things apart need not be told how. It can
# begin with random numbers, guess, be told how wrong it was, and change each number a little, in
# the direction that would have made the guess better. How does it know that direction, for
# thousands of numbers at once?
#
# It applies one rule, the chain rule, backwards through the computation. You write this rule down
# for the layers of a small network, check it to fifteen digits, and watch the network learn borders
# that are not straight. All networks of the later lessons are trained in the same way.
#
# You need: matrix products, derivatives (also partial ones), a little NumPy.
#
# *Time.* Core: 90 minutes, 1 of them for running; further: 105 more. What is marked *further* can
# be skipped, but let its cells run. With `DEEPNLP_LESSON=short` all run in seconds.

# %%
import numpy as np

from deepnlp import Sequential, plots
from deepnlp.datasets import spiral
from deepnlp.gradcheck import check_gradients
from deepnlp.layers import Affine, ReLU, Sigmoid, SoftmaxWithLoss, Tanh
from deepnlp.lessons.exercises import check, short_form
from deepnlp.optimizers import SGD
from material import figures

short = short_form()

# %% [markdown]
# The data are 300 points in a plane, on three arms of a spiral, one class for each arm. Points are
# row vectors: $x$ has shape $(N, D) = (300, 2)$. The classes $t$ are 300 integers, 0, 1 or 2.
#
# Here is the **network** of this lesson (without its biases, of which section 1 tells), a function
# of a point with many numbers in it, now random ones. It gives three scores, one for each class,
# and its answer is the class with the largest. The background of the figure is the answer at every
# place in the plane; here only two of the classes occur. On a border two scores are equal. Points
# with a black rim lie in the region of another class. By the end of the lesson few will.

# %%
x, t = spiral(n_per_class=100, rng=np.random.default_rng(1984))
rng = np.random.default_rng(1)
W1, W2 = rng.normal(size=(2, 10)), rng.normal(size=(10, 3))


def untrained(points):
    return 1 / (1 + np.exp(-points @ W1)) @ W2  # (n, 2) -> (n, 10) -> (n, 3)


print("x", x.shape, x.dtype, "  t", t.shape, t.dtype)
figures.decision_regions(untrained, x, t, title="Untrained: the regions do not follow the arms")

# %% [markdown]
# ## 1 Affine: a weighted sum of everything
#
# Each output is a weighted sum of all inputs plus a constant:
#
# $$ y_{nm} = \sum_d x_{nd} W_{dm} + b_m, \qquad\text{or}\qquad y = x W + b. $$
#
# With $x$ of shape $(N, D)$ and $W$ of shape $(D, M)$, $y$ has shape $(N, M)$. The bias $b$ of
# shape $(M)$ is added to each of the $N$ rows. This order, $x$ on the left, holds throughout the
# project.

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
# `check` prints a verdict. The arrays that it hands over have to stay as they are, in all lessons.
# The solution is folded away below it.


# %%
def affine(x, W, b): ...


check("1.1", affine)

# %% [markdown]
# ## 2 Why there must be something between two affine layers
#
# One affine layer after another gains nothing, since the two together are again an affine layer.
#
# ### Exercise 1.2 ★★ Two affine maps are one · further
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
# Their derivatives can be written with the *output* $y$ alone. (A square bracket is 1 if what it
# says is true, otherwise 0.)
#
# $$ \sigma' = y (1 - y), \qquad \tanh' = 1 - y^2, \qquad \mathrm{ReLU}' = [y > 0]. $$

# %%
a, slopes = np.linspace(-5, 5, 2001), {}
for name, layer in {"sigmoid": Sigmoid(), "tanh": Tanh(), "ReLU": ReLU()}.items():
    y = layer.forward(a)
    slopes[f"{name}'"] = layer.backward(np.ones_like(y))
    by_hand = {"sigmoid": y * (1 - y), "tanh": 1 - y**2, "ReLU": 1.0 * (y > 0)}[name]
    np.testing.assert_allclose(slopes[f"{name}'"], by_hand)
plots.curves(
    {name: (a, slope) for name, slope in slopes.items()},
    title="The slope of a sigmoid is at most a quarter, that of tanh up to 1",
    xlabel="input $a$",
    ylabel="derivative $dy/da$",
)

# %% [markdown]
# ### What a hidden unit does
#
# One sigmoid of a weighted sum, $\sigma(x \cdot w + b)$, divides the plane by the straight line $x
# \cdot w + b = 0$: on one side it is near 1, on the other near 0, and the longer $w$ is, the
# narrower the slope between. It is a soft half-plane. Such an output is called a **hidden unit**,
# since it is neither input nor answer. The next layer adds and subtracts half-planes. Exclusive or,
# which is 1 at $(0, 1)$ and $(1, 0)$ and 0 at the other two corners, cannot be had from one
# half-plane (Minsky and Papert 1969). Two will do: *at least one* minus *both*.

# %%
corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
half_planes = Sigmoid().forward(corners @ [[20.0, 20.0], [20.0, 20.0]] + [-10.0, -30.0])  # (4, 2)
print("at least one, both:", half_planes.round(2).tolist())
print("the first minus the second:", (half_planes @ [1.0, -1.0]).round(2))

# %% [markdown]
# This is the first half of our network, an affine layer from 2 numbers to 10 and a sigmoid, drawn
# from the layers themselves. Blue arrows are values, going forward. Red dashed arrows are
# **gradients**, going backward: $da$ stands for $\partial L / \partial a$, *by how much the loss
# $L$ would change if that value changed a little*. (The loss, from section 3, says how wrong the
# answer is.) We always write $dx$ for the gradient of the loss with respect to $x$; it has the
# shape of $x$.

# %%
np.testing.assert_allclose(Affine(W_small, b_small).forward(x_small), y_small)
first_half = Sequential(Affine.init(2, 10, np.random.default_rng(1)), Sigmoid())
figures.computation_graph(first_half, x, title="The first half: from points to ten hidden units")

# %% [markdown]
# ## 3 Softmax and its loss: from scores to the price of a guess
#
# The last layer gives $V$ scores $s$ per point, here three, any real numbers. The **softmax** turns
# a row of scores into probabilities: positive, and 1 in sum. The exponential makes each positive,
# and turns differences of scores into ratios.
#
# $$ p_{nk} = \frac{e^{s_{nk}}}{\sum_j e^{s_{nj}}} $$
#
# Adding the same number $c$ to all scores of a row changes nothing, because $e^c$ cancels.
#
# The **cross-entropy** is the price of a guess: minus the logarithm of the probability that was
# given to the right class, as a mean over the rows,
#
# $$ L = -\frac{1}{N} \sum_n \log p_{n, t_n}. $$
#
# Why a logarithm? If the points are independent, the model gives all $N$ right classes together the
# probability $\prod_n p_{n, t_n}$. This is the **likelihood** of the data, which training should
# make large. $L$ is minus its logarithm, divided by $N$: to lower the loss is to raise the
# likelihood.
#
# With the natural logarithm the unit is the **nat**; one bit, with $\log_2$, is $\log 2 =
# 0.69$<!--= np.log(2) --> nats. A probability of 1 for the right class costs nothing, a third $\log
# 3 \approx 1.10$<!--= np.log(3) --> nats, and the cost of a confident wrong guess has no limit. If
# the classes themselves are drawn with probabilities $q_k$, the best guess is $p = q$ (because
# $\log x \le x - 1$), and its mean price $-\sum_k q_k \log q_k$ is the **entropy** of $q$, of which
# lesson 3 makes use.

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
# ### Exercise 1.3 ★★ A softmax that does not overflow · further
#
# Write the softmax of scores $(N, V)$, over the last axis. It should survive a score of 1000, where
# `np.exp` gives infinity.


# %%
def softmax(s): ...


check("1.3", softmax)

# %% [markdown]
# ### Exercise 1.4 ★ The price of a guess · further
#
# Write the cross-entropy from probabilities $p$ $(N, V)$ and right classes $t$ $(N)$. Indexing with
# two arrays, `p[rows, columns]`, picks one entry from each row.


# %%
def cross_entropy(p, t): ...


check("1.4", cross_entropy)

# %% [markdown]
# The second half of the network is an affine layer from 10 to 3, and both in one layer, the
# package's `SoftmaxWithLoss`.
#
# ## 4 Backward: the chain rule as a drawing
#
# Now the way back. Take the smallest network: one number in, one weight, one bias, a sigmoid.

# %%
np.testing.assert_allclose(SoftmaxWithLoss().forward(s, right), L)
tiny = Sequential(Affine([[2.0]], [-1.5]), Sigmoid())
figures.computation_graph(
    tiny, np.array([[1.0]]), title="Each gradient is the one from the right times a local slope"
)

# %% [markdown]
# Read the red numbers from the right. Here the output stands for the loss, and its gradient with
# respect to itself is 1. Each node takes the gradient that arrives and multiplies it by its own
# slope. This is the chain rule,
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
# The last rule carries much of what follows, so here is why it holds. Let $L(u, v)$ depend on two
# copies of $a$, $u = a$ and $v = a$. If $a$ moves by $h$, both move. Move one after the other:
#
# $$ L(a + h, a + h) - L(a, a) = \underbrace{L(a + h, a + h) - L(a, a + h)}_{\textstyle \approx\,
#    h\, \partial L / \partial u} + \underbrace{L(a, a + h) - L(a, a)}_{\textstyle =\, h\,
#    \partial L / \partial v + \dots} $$
#
# (On the left the derivative is that at $(a, a + h)$, hence $\approx$.) Divided by $h$, as $h \to
# 0$, this is $da = du + dv$. It holds for any number of uses.
#
# By hand, with the numbers of the drawing:

# %%
w, b, x1, dy = 2.0, -1.5, 1.0, 1.0
y = 1 / (1 + np.exp(-(w * x1 + b)))  # y = sigmoid(a), a = w x + b
da = dy * y * (1 - y)
db = da  # the sum passes it on
dw, dx = da * x1, da * w  # the product: times the other factor
print(f"y = {y:.3f}   da = {da:.3f}   dx = {dx:.3f}   dw = {dw:.3f}   db = {db:.3f}")

# %% [markdown]
# ### The same with matrices
#
# For $y = x W + b$ with rows and columns, follow one weight. $W_{dm}$ enters $y_{nm}$ for every
# $n$, each time multiplied by $x_{nd}$. So it collects, over all $n$ (the fork rule!),
#
# $$ dW_{dm} = \sum_n x_{nd}\, dy_{nm}, \qquad\text{that is}\qquad dW = x^\top dy. $$
#
# In the same way $x_{nd}$ enters $y_{nm}$ for every $m$, and $b_m$ for every $n$:
#
# $$ dx_{nd} = \sum_m dy_{nm} W_{dm}, \quad dx = dy\, W^\top, \qquad\qquad db_m = \sum_n dy_{nm}. $$
#
# The shapes nearly tell, but when $N = D = M$ every transposition fits.
#
# ### Exercise 1.5 ★★ Affine, forward and backward
#
# Write it as a class. `forward` keeps what `backward` will need; `backward` takes `dy`, sets `dW`
# and `db`, and returns `dx`. The check compares all three with numerical gradients (section 5).


# %%
class MyAffine:
    def __init__(self, W, b):
        self.W, self.b = W, b
        self.dW, self.db = None, None

    def forward(self, x): ...

    def backward(self, dy): ...


check("1.5", MyAffine)

# %% [markdown]
# ### Exercise 1.6 ★★ The sigmoid, backward · further
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
# nearly everything cancels. For one row with right class $t$,
#
# $$ L = -\log p_t = -s_t + \log \sum_j e^{s_j}, \qquad
#    \frac{\partial L}{\partial s_k} = -[k = t] + \frac{e^{s_k}}{\sum_j e^{s_j}} = p_k - [k = t]. $$
#
# The gradient is guess minus truth. Over $N$ rows the loss is a mean, so each row counts one
# $N$-th: $ds = (p - \mathrm{onehot}(t)) / N$, where $\mathrm{onehot}(t)$ has a 1 at place $t_n$ of
# row $n$ and 0 elsewhere.
#
# ### Exercise 1.7 ★★★ Softmax with loss, backward · further
#
# Softmax and cross-entropy in one layer: `forward(s, t)` gives the loss, a number;
# `backward(dloss=1)` gives `ds`, and changes nothing that forward kept. (`dloss` is the gradient
# that arrives; it is 1 unless something follows the loss, and all of `ds` is multiplied by
# it.)


# %%
class MySoftmaxWithLoss:
    def forward(self, s, t): ...

    def backward(self, dloss=1): ...


check("1.7", MySoftmaxWithLoss)

# %% [markdown]
# ### Exercise 1.8 ★★★ A layer with two ways through · further
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
# A wrong backward pass raises no error. The network still learns, only worse, and one looks for the
# reason in the data. So it has to be checked. The derivative is a limit of differences, which need
# only `forward`:
#
# $$ \frac{f(x + h) - f(x)}{h} \quad\text{(one-sided)}, \qquad
#    \frac{f(x + h) - f(x - h)}{2h} \quad\text{(central)}. $$
#
# Smaller $h$ are better, until the two values agree in all but their last digits and their
# difference is made of rounding.

# %%
h, at, f = 10.0 ** -np.arange(0.5, 16, 0.5), 0.7, np.exp  # exp is its own derivative
found = {"one-sided": (f(at + h) - f(at)) / h, "central": (f(at + h) - f(at - h)) / (2 * h)}
errors = {name: np.abs(slopes / f(at) - 1) for name, slopes in found.items()}
plots.curves(
    {name: (-np.log10(h), np.log10(error)) for name, error in errors.items()},
    title="The error of a difference: of the formula on the left, of rounding on the right",
    xlabel="step: $-\\log_{10} h$, smaller steps to the right",
    ylabel="$\\log_{10}$ of the relative error",
)

# %% [markdown]
# At its best $h$ a one-sided difference has about eight right digits<!--= 1e-10 <
# errors["one-sided"].min() < 1e-7 -->, a central one about ten<!--= 1e-12 < errors["central"].min()
# < 1e-9 -->, apart from lucky hits.
#
# ### The complex step, and the checker · further
#
# There is a way to have all digits. If the formula of $f$ can be computed with complex numbers (the
# package calls such an $f$ *analytic*), Taylor's formula with the step $ih$ is $f(x) + i h f'(x) -
# h^2 f''(x) / 2 - i h^3 f'''(x) / 6 + \dots$, so that $\mathrm{Im}\, f(x + ih) / h$ is $f'(x)$, up
# to a term in $h^2$. Since real and imaginary parts are stored apart, nothing is subtracted, and
# $h$ may be $10^{-30}$ (Squire and Trapp 1998). This is the **complex step**.
#
# ### Exercise 1.9 ★★ A gradient from values alone · further
#
# Write the central difference, the second formula above, for a function of one number.


# %%
def slope(f, x, h): ...


check("1.9", slope)

# %% [markdown]
# The project's checker does this for every entry of every input and parameter of a layer. It forms
# one number from the outputs, their sum with random weights, and compares its numerical gradient
# with what `backward` gives (`deepnlp/gradcheck/first.py` does so in sixty lines). Where `forward`
# is analytic it takes the complex step, otherwise central differences. The number in a row is the
# largest relative difference. The rows below the gradients are rules for layers of the package:
# these leave their inputs as they are, *refuse* a second backward without a forward, and *add* to
# the gradients that are there, as the fork rule asks. A class like yours may set `dW` anew.

# %%
print(check_gradients(Affine(W_small, b_small), x_small))

# %% [markdown]
# Two mistakes: each class below is right except for one line, and all shapes fit (in the first
# there are as many samples as inputs and outputs).


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


class NotAveraged(SoftmaxWithLoss):
    def backward(self, dloss=1):
        return super().backward(dloss) * len(right)  # the mean of forward forgotten


square = np.random.default_rng(0).standard_normal((3, 3))
reports = [
    check_gradients(Turned(square, square[0]), square + 1),
    check_gradients(NotAveraged(), s, right),
]
for report in reports:
    wrong = ", ".join(row.name for row in report.rows if not row.ok)
    print(f"{report.subject}: {wrong} wrong. Likely: {report.to_dict()['causes'][0]['name']}")

# %% [markdown]
# (*Logits* is another word for scores.) The report, `print(reports[0])`, also says where a gradient
# is furthest off. For the likely mistake the checker tries each that it knows and looks which of
# them gives the gradient found.
#
# ### Exercise 1.10 ★ A check that sees nothing · further
#
# Why are the outputs weighted at random? Somebody has written a softmax whose `backward` returns
# zeros, whatever comes in, and compares with the numerical gradient of a weighted sum of the
# outputs. With which weights does the comparison not notice? Predict, and write one of the words
# below, in quotes, in place of the dots; the solution computes it.
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
# 2. forget the gradients of the step before (they *add up*, as forks and shared weights need it);
# 3. backward, from the loss to every weight;
# 4. for each weight $W$ in turn:
# 5. $W \leftarrow W - \eta\, dW$, with a **learning rate** $\eta$.
#
# The loss grows fastest along its gradient, so we go the other way.
#
# ### Exercise 1.11 ★★ A step of training
#
# Write it. `model` and `loss` are layers, so you have `model.forward(x)`, `loss.forward(scores,
# t)`, `loss.backward()`, which gives $ds$, `model.backward(ds)`, `model.zero_grad()` and
# `model.parameters()`, each with `.value` and `.grad`. Return the loss.


# %%
def train_step(model, loss, x, t, lr): ...


check("1.11", train_step)

# %% [markdown]
# `SGD` (*stochastic gradient descent*) does lines 4 and 5. One pass through all points, thirty at a
# time in random order, is an **epoch**. The thirty are a **minibatch**: its gradient is rougher
# than that of all points, but there are ten steps in an epoch.


# %%
def train(model, epochs, lr=1.0, batch=30, data=(x, t)):
    """Mean loss of every epoch, in nats per point."""
    (points, classes), loss = data, SoftmaxWithLoss()
    optimizer = SGD(model.parameters(), lr=lr)
    rng = np.random.default_rng(0)
    history = []
    for _ in range(epochs):
        losses = []
        for some in rng.permutation(len(points)).reshape(-1, batch):
            losses.append(float(loss.forward(model.forward(points[some]), classes[some])))
            model.zero_grad()
            model.backward(loss.backward())
            optimizer.step()
        history.append(np.mean(losses))
    return history


def network(hidden, seed=0, between=None):
    """Affine, sigmoid, affine: 2 inputs, 3 scores."""
    rng = np.random.default_rng(seed)
    first, last = Affine.init(2, hidden, rng), Affine.init(hidden, 3, rng)
    return Sequential(first, between or Sigmoid(), last)


def share_right(model):
    return float((model.forward(x).argmax(axis=1) == t).mean())


epochs = 60 if short else 600
straight = Sequential(Affine.init(2, 3, np.random.default_rng(0)))
bent = network(hidden=10)
begin = [float(SoftmaxWithLoss().forward(model.forward(x), t)) for model in (straight, bent)]
history = {"affine alone": train(straight, epochs), "10 hidden units": train(bent, epochs)}
for name, model in {"affine alone": straight, "10 hidden units": bent}.items():
    print(f"{name:>15}: loss {history[name][-1]:.3f}, {share_right(model):.1%} right")
more = [train(network(10, seed), epochs)[-1] for seed in (1, 2)]
print("before training:", np.round(begin, 2), "  10 units, two other seeds:", np.round(more, 3))

# %%
plots.curves(
    {name: (np.arange(1, epochs + 1), losses) for name, losses in history.items()},
    title=f"After {epochs} epochs: {history['affine alone'][-1]:.2f} nats with an affine layer "
    f"alone, {history['10 hidden units'][-1]:.2f} with ten hidden units",
    xlabel="epoch",
    ylabel="training loss (nats per point)",
    levels={"know nothing": np.log(3)},
)

# %% [markdown]
# Before the first step both pay within 0.15 nats of $\log 3$<!--= max(abs(one - np.log(3)) for one
# in begin) < 0.15 -->, the price of knowing nothing. The affine layer soon stops improving, at
# 0.7<!--= history["affine alone"][-1] --> nats, since its borders are straight lines. The other
# stays near that level for some fifty epochs<!--= history["10 hidden units"][40] > 0.6 -->, until
# its half-planes have turned to the arms, and ends at 0.1<!--= history["10 hidden units"][-1] -->;
# from two other seeds, too, it ends at less than half of the affine layer's loss<!--= short or
# max(more) < 0.5 * history["affine alone"][-1] -->.
#
# ### What the hidden layer has learned · further
#
# The dashed lines are those of the ten half-planes.

# %%
title = f"Ten half-planes together follow the arms: {share_right(bent):.0%} right"
figure = figures.decision_regions(bent.forward, x, t, title=title)
figure.axes[0].autoscale(False)
for (w1, w2), b in zip(bent.layers[0].W.value.T, bent.layers[0].b.value):
    foot = -b / (w1**2 + w2**2)  # the point of the line that is nearest to the origin
    figure.axes[0].axline((foot * w1, foot * w2), slope=-w1 / w2, color="0.35", lw=0.8, ls="--")
figure

# %% [markdown]
# Behind the hidden layer there is only an affine layer, so in the space of the ten hidden numbers
# the borders, where two scores are equal, are straight. We look at these ten numbers from the side
# from which the borders can be seen; the cell finds it by a decomposition of lesson 2, and how does
# not matter here. The hidden layer has moved the three arms into three sectors:

# %%
last = bent.layers[2]
U, S, Vt = np.linalg.svd(last.W.value - last.W.value.mean(axis=1, keepdims=True))
plane, to_scores = U[:, :2] * S[:2], Vt[:2]  # (10, 2), (2, 3)
seen = bent.layers[1].forward(bent.layers[0].forward(x)) @ plane  # (300, 2)
title = "What the last layer sees has straight borders"
figure = figures.decision_regions(lambda z: z @ to_scores + last.b.value, seen, t, title=title)
figure.axes[0].set(xlabel="first direction of the hidden numbers", ylabel="second direction")
figure

# %% [markdown]
# ### The start and the learning rate · further
#
# Why begin with random weights, and how large? The package draws $W$ uniformly between
# $-1/\sqrt{D}$ and $1/\sqrt{D}$: a sum of $D$ terms with random signs grows like $\sqrt{D}$, so
# that the outputs are about as large as the inputs, in every layer. Here the start is multiplied by
# some factors, and then the learning rate is varied, with three seeds each and 100 epochs.

# %%
ends = {}
for scale, rate in [(k, 1) for k in (0, 0.1, 1, 10, 1000)] + [(1, k) for k in (0.01, 0.1, 3, 30)]:
    models = [network(10, seed) for seed in range(3)]
    for parameter in [parameter for model in models for parameter in model.parameters()]:
        parameter.value *= scale
    ends[scale, rate] = [train(model, 10 if short else 100, lr=rate)[-1] for model in models]
    print(f"start times {scale}, rate {rate}: loss", np.round(ends[scale, rate], 2).tolist())

# %% [markdown]
# From zero all hidden units have the same gradient at every step and stay equal, so that the ten do
# the work of one<!--= min(ends[0, 1]) > 1.5 * max(ends[1, 1]) -->. From weights a thousand times as
# large the scores are far too large, and most sigmoids are flat, at 0 or 1, and pass on no
# gradient<!--= min(ends[1000, 1]) > 1.1 -->. In between a network with one hidden layer forgives
# much<!--= max(ends[0.1, 1] + ends[10, 1]) < 0.7 -->. Ten times our start, or three times our rate,
# even learns faster<!--= short or max(ends[10, 1] + ends[1, 3]) < min(ends[1, 1]) -->; in a deep
# network, where each layer would multiply by ten, it would not do (lesson 6). With too small a rate
# the loss hardly falls in the time<!--= min(ends[1, 0.01]) > 1 -->; with too large a one each step
# overshoots, and the loss ends above the $\log 3$ of a guess<!--= min(ends[1, 30]) > 1.1 -->.
#
# ### Points that it has not seen
#
# What matters is how a network does on points that it has not seen, a **test set**. Here 50 hidden
# units learn from thirty points and are asked about 300 new ones.

# %%
x_test, t_test = spiral(n_per_class=100, rng=np.random.default_rng(1985))
runs = []  # training and test loss by epoch, three seeds
for seed in range(3):
    model, ask, losses = network(50, seed, Tanh()), SoftmaxWithLoss(), []
    for _ in range(100 if short else 2000):
        seen = train(model, 1, lr=0.3, data=(x[::10], t[::10]))
        losses.append([*seen, float(ask.forward(model.forward(x_test), t_test))])
    runs.append(np.array(losses))
best, end = [run[:, 1].min() for run in runs], [run[-1, 1] for run in runs]
plots.curves(
    {name: (np.arange(len(runs[0])), runs[0][:, k]) for k, name in enumerate(["training", "test"])},
    title=f"Fifty units and thirty points: the test loss rises from {best[0]:.2f} to {end[0]:.2f}",
    xlabel="epoch",
    ylabel="loss (nats per point)",
)

# %% [markdown]
# The training loss falls on, while the test loss has a lowest point and then rises, with each of
# the three seeds<!--= all(1.1 * b < e for b, e in zip(best, end)) -->: the network learns its
# thirty points by heart. This is **overfitting**. When to stop, and how large a network should be,
# one chooses on a third set, for **validation**, since a test set cannot judge what was chosen on
# it.
#
# ## 7 Your layers, plugged together · further
#
# Once 1.5, 1.6 and 1.7 are right, your classes train to the same loss.


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
passed = [check(name, layer).ok for name, layer in mine.items()]
if all(passed):
    print(f"yours {train_by_hand(*mine.values()):.4f}")
print(f"the package {history['10 hidden units'][-1]:.4f}")

# %% [markdown]
# ## What to read next
#
# * **In this project**: `deepnlp/layers/dense.py`, `activations.py` and `losses.py`;
#   `docs/notation.md`; `chapters/ch01_layers_by_hand/`, with seven optimizers on the spiral.
# * Rumelhart, Hinton and Williams, *Learning representations by back-propagating errors* (1986).
#   Baydin, Pearlmutter, Radul and Siskind, *Automatic differentiation in machine learning* (2018).
#   Squire and Trapp, *Using complex variables to estimate derivatives of real functions* (1998).
# * **Next here**: lesson 2, in which words become vectors by counting, without any training;
#   lesson 3 then trains the network of this lesson to predict words.
