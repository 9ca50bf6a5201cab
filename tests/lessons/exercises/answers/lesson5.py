"""Answers to the exercises of lesson 5 that need several lines, and what several share."""

import numpy as np

from tests.lessons.exercises.tools import changed, solution_of


def step_with(change):
    """The solution of 5.3 with its gradients changed on their way out."""
    right = solution_of("5.3")
    return changed(right, backward=lambda self, dh: change(*right.backward(self, dh)))


def step_with_slope(slope):
    """The solution of 5.3 with another slope of the activation."""

    def backward(self, dh):
        da = dh * slope(self, self.x @ self.Wx + self.h_prev @ self.Wh + self.b)
        self.dWx, self.dWh, self.db = self.x.T @ da, self.h_prev.T @ da, da.sum(axis=0)
        return da @ self.Wx.T, da @ self.Wh.T

    return changed("5.3", backward=backward)


def by_steps(
    name, passes_on=lambda t: True, reads_state=lambda t: True, adds=True, back=True, parts_of=1
):
    """The solution of 5.4 or 5.7 in steps of time, where a step may leave something out."""

    def backward(self, dhs):
        dx, dh_next = np.empty_like(self.x), 0.0
        total = [np.zeros_like(weight) for weight in (self.Wx, self.Wh, self.b)]
        for t in reversed(range(self.x.shape[1])):
            da = (dhs[:, t] + dh_next) * (1 - self.h[t + 1] ** 2)
            parts = self.x[:, t].T @ da, reads_state(t) * self.h[t].T @ da, da.sum(axis=0)
            total = [a + b for a, b in zip(total, parts)] if adds else parts
            dx[:, t], dh_next = da @ self.Wx.T, passes_on(t) * (da @ self.Wh.T if back else da)
        self.dWx, self.dWh, self.db = (one / parts_of for one in total)
        return dx

    return changed(name, backward=backward)


def one_array(self, x):
    """Forward with one array for all states, filled anew at every step."""
    solution_of("5.4").forward(self, x)
    h = np.zeros((len(x), len(self.Wh)))
    states = []
    for t in range(x.shape[1]):
        h[...] = np.tanh(x[:, t] @ self.Wx + h @ self.Wh + self.b)
        states.append(h)
    return np.stack(states, axis=1)


def windows_in_a_row(ids, N, T):
    """The classic mistake: neighbouring windows of the stream are the rows of a batch."""
    size = N * T
    return [
        (ids[k : k + size].reshape(N, T), ids[k + 1 : k + size + 1].reshape(N, T))
        for k in range(0, len(ids) - size, size)
    ]


def likeliest(model, ids):
    return int(model.logits(np.array([ids]))[0, -1].argmax())


def without_reset(model, ids, length):
    found = [likeliest(model, ids)]
    while len(found) < length:
        found.append(likeliest(model, found[-1:]))
    return found


def without_prompt(model, ids, length):
    model.reset_state()
    return without_reset(model, ids[-1:], length)


def all_again(model, ids, length, forgets):
    """The whole text is read again for each word, with the state of before or without it."""
    model.reset_state()
    text = list(ids)
    for _ in range(length):
        if forgets:
            model.reset_state()
        text.append(likeliest(model, text))
    return text[len(ids) :]


def forgetful(model, ids, length):
    found = solution_of("5.9")(model, ids, 1)
    while len(found) < length:
        found += solution_of("5.9")(model, found[-1:], 1)
    return found


class StepByEinsum:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x, h):
        self.both = x, h
        self.out = np.tanh(np.einsum("nd,dh->nh", x, self.Wx) + h.dot(self.Wh) + self.b)
        return self.out

    def backward(self, grad):
        x, h = self.both
        through = grad - grad * self.out * self.out
        self.dWx, self.dWh = np.einsum("nd,nh->dh", x, through), np.einsum("nk,nh->kh", h, through)
        self.db = through.sum(0)
        return [np.einsum("nh,dh->nd", through, self.Wx), through.dot(self.Wh.T)]  # a list


class StepInLoops:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x, h_prev):
        self.x, self.h_prev = x, h_prev
        self.a = np.array([xn @ self.Wx + hn @ self.Wh + self.b for xn, hn in zip(x, h_prev)])
        return np.tanh(self.a)

    def backward(self, dh):
        self.dWx, self.dWh = np.zeros_like(self.Wx), np.zeros_like(self.Wh)
        self.db = np.zeros_like(self.b)
        dx, dh_prev = np.zeros_like(self.x), np.zeros_like(self.h_prev)
        for n in range(len(dh)):
            da = dh[n] / np.cosh(self.a[n]) ** 2
            self.dWx += np.outer(self.x[n], da)
            self.dWh += np.outer(self.h_prev[n], da)
            self.db += da
            dx[n], dh_prev[n] = self.Wx @ da, self.Wh @ da
        return dx, dh_prev


class TimeOfSteps:
    """A step's object for each step of time; ``window`` cuts the gradient."""

    def __init__(self, Wx, Wh, b, window=None):
        self.Wx, self.Wh, self.b, self.window = Wx, Wh, b, window

    def forward(self, x):
        self.steps, h, hs = [], np.zeros((len(x), len(self.b))), []
        for xt in np.swapaxes(x, 0, 1):
            self.steps.append(StepInLoops(self.Wx, self.Wh, self.b))
            h = self.steps[-1].forward(xt, h)
            hs.append(h)
        return np.array(hs).transpose(1, 0, 2)

    def backward(self, dhs):
        dx, carried = [], 0
        for t, step in reversed(list(enumerate(self.steps))):
            dxt, carried = step.backward(dhs[:, t] + carried)
            dx.insert(0, dxt)
            if self.window and t % self.window == 0:
                carried = 0
        for name in ("dWx", "dWh", "db"):
            setattr(self, name, sum(getattr(step, name) for step in self.steps))
        return np.stack(dx, 1)


class TimeInOneProduct:
    """All da first, then the gradients of the weights over all steps at once."""

    def __init__(self, Wx, Wh, b, window=10**9):
        self.Wx, self.Wh, self.b, self.window = Wx, Wh, b, window

    def forward(self, x):
        self.x, self.h = x, np.zeros((x.shape[0], x.shape[1] + 1, len(self.b)))
        for t in range(x.shape[1]):
            self.h[:, t + 1] = np.tanh(x[:, t] @ self.Wx + self.h[:, t] @ self.Wh + self.b)
        return self.h[:, 1:].copy()

    def backward(self, up):
        da = (1 - self.h[:, 1:] ** 2) * up
        for t in range(da.shape[1] - 2, -1, -1):
            if (t + 1) % self.window:
                da[:, t] += (1 - self.h[:, t + 1] ** 2) * (da[:, t + 1] @ self.Wh.T)
        self.dWx = np.einsum("ntd,nth->dh", self.x, da)
        self.dWh = np.einsum("ntk,nth->kh", self.h[:, :-1], da)
        self.db = da.sum((0, 1))
        return da @ self.Wx.T


def windows_by_index(stream, N, T):
    length, found = (len(stream) - 1) // N, []
    for k in range(0, length, T):
        places = np.arange(N)[:, None] * length + np.arange(k, min(k + T, length))
        found.append([stream[places], stream[places + 1]])
    return found


def windows_lazily(ids, N, T):
    length = (len(ids) - 1) // N
    for k in range(0, length, T):
        stop = min(length, k + T)
        rows = [ids[n * length + k : n * length + stop + 1] for n in range(N)]
        yield np.array([row[:-1] for row in rows]), np.array([row[1:] for row in rows])


def continue_by_steps(model, ids, length):
    state = None
    for id_ in ids:
        scores, state = model.step(np.array([id_]), state)
    found = []
    while len(found) < length:
        found.append(np.argmax(scores[0]))
        scores, state = model.step(np.array(found[-1:]), state)
    return np.array(found)


def continue_word_by_word(model, prompt, length):
    model.reset_state()
    said = list(prompt)
    for k in range(len(prompt) + length - 1):
        best = model.logits(np.array([[said[k]]])).argmax(axis=-1)
        if k >= len(prompt) - 1:
            said.append(best.item())
    return said[len(prompt) :]


def rows_of_n(ids, N, T):
    length = len(ids) // N
    inputs = ids[: N * length].reshape(N, length)
    targets = np.append(ids, 0)[1 : N * length + 1].reshape(N, length)
    return [(inputs[:, k : k + T], targets[:, k : k + T]) for k in range(0, length, T)]


def rows_rolled(ids, N, T):
    length = len(ids) // N
    inputs, targets = (a[: N * length].reshape(N, -1) for a in (ids, np.roll(ids, -1)))
    return [(inputs[:, k : k + T], targets[:, k : k + T]) for k in range(0, length, T)]


def late(self, dhs):
    dx, carry = np.empty_like(self.x), 0.0
    self.dWx, self.dWh, self.db = map(np.zeros_like, (self.Wx, self.Wh, self.b))
    for t in reversed(range(self.x.shape[1])):
        da = dhs[:, t] * (1 - self.h[t + 1] ** 2) + carry
        self.dWx += self.x[:, t].T @ da
        self.dWh += self.h[t].T @ da
        self.db += da.sum(axis=0)
        dx[:, t], carry = da @ self.Wx.T, da @ self.Wh.T
    return dx


by_steps_late = changed("5.4", backward=late)


def from_the_last_state(self, x):
    first = self.h[-1] if hasattr(self, "h") else np.zeros((len(x), len(self.Wh)))
    self.x, self.h = x, [first]
    for t in range(x.shape[1]):
        self.h.append(np.tanh(x[:, t] @ self.Wx + self.h[t] @ self.Wh + self.b))
    return np.stack(self.h[1:], axis=1)


class Sliding(changed("5.7")):
    """Each loss goes back over `window` steps, wherever it is."""

    def backward(self, dhs):
        whole, total = solution_of("5.4")(self.Wx, self.Wh, self.b), 0.0
        gradients = dict.fromkeys(("dWx", "dWh", "db"), 0.0)
        for t in range(dhs.shape[1]):
            begin = max(0, t - self.window + 1)
            whole.x, whole.h = self.x[:, begin : t + 1], self.h[begin : t + 2]
            only_t = np.zeros_like(dhs[:, begin : t + 1])
            only_t[:, -1] = dhs[:, t]
            dx = np.zeros_like(self.x)
            dx[:, begin : t + 1] = whole.backward(only_t)
            total = total + dx
            gradients = {name: of + getattr(whole, name) for name, of in gradients.items()}
        self.__dict__ |= gradients
        return total
