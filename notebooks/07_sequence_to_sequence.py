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
# # Lesson 7 · Sequence to sequence
#
# **The question.** A language model continues a text. Translation, dialogue and sums ask for
# something else: read one text to its end, then write another one, of another length. How can
# recurrent networks do that?
#
# With two of them. An **encoder** reads the source and ends in a state; a **decoder** starts from
# that state and writes the target, like a language model (Sutskever, Vinyals and Le 2014; Cho et
# al. 2014). You build both, write the backward pass of the joint between them, and train the
# network to add numbers that it knows only as text: `57+5` becomes `62`. Then you improve it by
# turning the source round and by letting the decoder look at the encoder's state at every step,
# and search for the likeliest answer by beam search.
#
# You need lesson 5 (recurrent networks, language models); lesson 6 (the LSTM) helps.
#
# *Time.* To read and work: 90 minutes. To run from top to bottom: about two and a half minutes on
# one core, or some seconds with `DEEPNLP_LESSON=short`. To build it with its outputs:
# `python -m notebooks.build 07`.

# %%
import numpy as np

from deepnlp import Layer, no_backward
from deepnlp.datasets import load_pairs
from deepnlp.exercises import check, short_form
from deepnlp.functions import log_softmax, softmax
from deepnlp.generation import beam_search
from deepnlp.gradcheck import check_gradients
from deepnlp.layer import map_state
from deepnlp.layers import ContextDecoder, Embedding, SoftmaxWithLoss, TimeAffine, TimeLSTM
from deepnlp.models import Seq2Seq
from deepnlp.optimizers import Adam, clip_gradients
from deepnlp.plots import Candidate, bars, beam_tree, curves, encoder_decoder

short = short_form()

# %% [markdown]
# ## 1 A text into a text
#
# `load_pairs` makes up sums of two numbers with one to three digits, and divides them so that no
# sum of the test is among those for training, not even with its numbers exchanged. To the network
# both sides are rows of ids. There are eleven symbols and one **mark**, which has two uses: the
# decoder reads it before its first symbol, and writes it when it is done.

# %%
SYMBOLS = "0123456789+"
END = len(SYMBOLS)  # the id of the mark
V = len(SYMBOLS) + 1

pairs = load_pairs("addition", examples=1000 if short else 20_000, digits=3)


def ids_of(text):
    return [SYMBOLS.index(symbol) for symbol in text]


def text_of(ids):
    """The text before the first mark."""
    return "".join([*SYMBOLS, " "][k] for k in ids).partition(" ")[0]


print(f"{len(pairs.train):,} sums to learn from, such as", pairs.train[:3])
print("ids of", pairs.train[0][0], "are", ids_of(pairs.train[0][0]))

# %% [markdown]
# A batch is made of pairs of different lengths, so the shorter ones are **padded** at their ends:
#
# * the source $(N, S)$ with any id, beside the true lengths $(N,)$, so that the encoder can stop in
#   time;
# * the decoder's inputs $(N, T)$ with any id: the mark, then the target;
# * its targets $(N, T)$ with $-1$, which the loss does not count: the target, then the mark.
#
# So at step $t$ the decoder reads what it should have written at step $t - 1$. While it learns, it
# is given the right symbol there, whatever it would have written itself. This is called **teacher
# forcing**.
#
# ### Exercise 7.1 ★★ A batch of pairs
#
# Return source, lengths, inputs and targets for `sources` and `targets`, two lists of lists of ids.


# %%
def make_batch(sources, targets, end): ...


check("7.1", make_batch)


# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["solution"]
# Solution 7.1
def make_batch_solution(sources, targets, end):
    def padded(rows, fill):
        width = max(len(row) for row in rows)
        return np.array([row + [fill] * (width - len(row)) for row in rows])

    lengths = np.array([len(row) for row in sources])
    inputs = padded([[end, *row] for row in targets], 0)
    return padded(sources, 0), lengths, inputs, padded([[*row, end] for row in targets], -1)


check("7.1", make_batch_solution)


# %%
def batch_of(some, reverse=False):
    """Source, lengths, inputs and targets of pairs of texts."""
    sources = [ids_of(a)[::-1] if reverse else ids_of(a) for a, _ in some]
    return make_batch_solution(sources, [ids_of(b) for _, b in some], END)


three = pairs.train[:3]
for (a, b), *rows in zip(three, *batch_of(three)):
    print(f"{a:>7} = {b:<4}", *(f"{np.array2string(row):<18}" for row in rows))

# %% [markdown]
# ## 2 The encoder
#
# An embedding and an LSTM, as in lesson 6. The state after step $s$ knows the symbols up to $s$;
# the one that we want is the state after the last symbol, which knows them all. In a padded batch
# every sequence has its last symbol somewhere else. After it `TimeLSTM` holds the state as it is,
# and gives zeros as outputs.
#
# ### Exercise 7.2 ★ The last state
#
# From outputs $(N, S, H)$ and lengths $(N,)$ return the states after the last symbols, $(N, H)$.


# %%
def last_states(hs, lengths): ...


check("7.2", last_states)


# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["solution"]
# Solution 7.2
def last_states_solution(hs, lengths):
    return hs[np.arange(len(hs)), lengths - 1]


check("7.2", last_states_solution)

# %%
rng = np.random.default_rng(0)
embed, encoder = Embedding.init(V, 4, rng), TimeLSTM.init(4, 3, rng)
source, lengths, *_ = batch_of(three)
hs = encoder.forward(embed.forward(source), lengths)
np.testing.assert_allclose(encoder.h, last_states_solution(hs, lengths))

in_the_batch = encoder.h[1].copy()
encoder.forward(embed.forward(source[1:2, : lengths[1]]))  # the second one alone, without padding
np.testing.assert_allclose(encoder.h[0], in_the_batch, rtol=1e-5)
print("the state of", three[1][0], "in the batch and alone:", in_the_batch.round(4))

# %% [markdown]
# The layer keeps this state in `encoder.h`, and that of the memory cells in `encoder.c`. Both are
# $(N, H)$, however long the sources were.
#
# ## 3 The decoder, and the joint
#
# The decoder is a language model over the targets that does not start from zeros:
#
# $$ (h^e_s, c^e_s) = \mathrm{LSTM}_e(x_s, h^e_{s-1}, c^e_{s-1}), \qquad
#    h^d_0 = h^e_S, \quad c^d_0 = c^e_S, \qquad
#    (h^d_t, c^d_t) = \mathrm{LSTM}_d(y_{t-1}, h^d_{t-1}, c^d_{t-1}), $$
#
# $$ P(y_1 \dots y_T \mid x) = \prod_t P(y_t \mid y_1 \dots y_{t-1}, x), \qquad
#    P(y_t \mid \dots) = \mathrm{softmax}(h^d_t W + b). $$

# %%
encoder_decoder("57+5", "62")

# %% [markdown]
# The red arrows are the backward pass. Through the decoder it is backpropagation through time, as
# in lesson 5. At the decoder's first step the gradient does not stop. It goes on into the state
# from which the decoder started, which is the encoder's last state:
#
# $$ \frac{\partial L}{\partial h^e_S} = \frac{\partial L}{\partial h^d_0}, \qquad
#    \frac{\partial L}{\partial c^e_S} = \frac{\partial L}{\partial c^d_0}. $$
#
# There is no other loss at the encoder. So all that it learns comes through these $2H$ numbers.
#
# ### Exercise 7.3 ★★★ Back through the joint
#
# Given are two `TimeLSTM`. `forward(x, lengths, y)` takes the embedded source $(N, S, D)$, its
# lengths and the decoder's embedded inputs $(N, T, D)$, and returns the decoder's outputs
# $(N, T, H)$. `backward(dhs)` returns $dx$ and $dy$. What you need of a `TimeLSTM`:
#
# * `layer.forward(x, lengths)`, after which `layer.h` and `layer.c` hold the last state;
# * `layer.set_state(h, c)` sets the state from which the next forward starts;
# * `layer.backward(dhs, dh, dc)` takes the gradients of all outputs and, if there are any, of the
#   last state; it returns $dx$, and leaves the gradients of the first state in `layer.dh0` and
#   `layer.dc0`.


# %%
class Joint:
    def __init__(self, encoder, decoder):
        self.encoder, self.decoder = encoder, decoder

    def forward(self, x, lengths, y): ...

    def backward(self, dhs): ...


check("7.3", Joint)


# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["solution"]
# Solution 7.3
class JointSolution:
    def __init__(self, encoder, decoder):
        self.encoder, self.decoder = encoder, decoder

    def forward(self, x, lengths, y):
        self.shape = self.encoder.forward(x, lengths).shape
        self.decoder.set_state(self.encoder.h, self.encoder.c)
        return self.decoder.forward(y)

    def backward(self, dhs):
        dy = self.decoder.backward(dhs)
        # the encoder's outputs were not used, only its last state
        nothing = np.zeros(self.shape, dhs.dtype)
        dx = self.encoder.backward(nothing, self.decoder.dh0, self.decoder.dc0)
        return dx, dy


check("7.3", JointSolution)

# %% [markdown]
# With embeddings before it and an affine layer with the softmax after it, this is the whole model.
# To write, it needs two more methods: `start` reads the sources and returns the state, and `step`
# reads one symbol each and returns scores for the next one and the new state.


# %%
class EncoderDecoder(Layer):
    def __init__(self, V, D, H, rng, dtype="float32"):
        self.read, self.encoder = Embedding.init(V, D, rng, dtype), TimeLSTM.init(D, H, rng, dtype)
        self.write, self.decoder = Embedding.init(V, D, rng, dtype), TimeLSTM.init(D, H, rng, dtype)
        self.output, self.loss = TimeAffine.init(H, V, rng, dtype), SoftmaxWithLoss()
        self.joint = JointSolution(self.encoder, self.decoder)

    def scores(self, source, lengths, inputs):
        hs = self.joint.forward(self.read.forward(source), lengths, self.write.forward(inputs))
        return self.output.forward(hs)  # (N, T, V)

    def forward(self, source, lengths, inputs, targets):
        return self.loss.forward(self.scores(source, lengths, inputs), targets)

    def backward(self, dloss=1):
        dx, dy = self.joint.backward(self.output.backward(self.loss.backward(dloss)))
        self.write.backward(dy)
        self.read.backward(dx)
        return dx  # with respect to the embedded source, for section 5

    def logits(self, source, lengths, inputs):
        with no_backward():
            return self.scores(source, lengths, inputs)

    def start(self, source, lengths):
        with no_backward():
            self.encoder.forward(self.read.forward(source), lengths)
        return self.encoder.h, self.encoder.c

    def step(self, ids, state):
        y, _ = self.write.step(ids)
        h, state = self.decoder.step(y, state)
        return self.output.step(h)[0], state  # (N, V)


class WithoutReturn(EncoderDecoder):
    def backward(self, dloss=1):
        super().backward(dloss)


print(check_gradients(WithoutReturn(V, 2, 3, np.random.default_rng(1), "float64"), *batch_of(three)))

# %% [markdown]
# The package's `Seq2Seq` is made of the same parts. With the same weights both give the same loss:

# %%
mine = EncoderDecoder(V, 16, 64, np.random.default_rng(2))
package = Seq2Seq(V, V, 16, 64)
for theirs, ours in zip(package.parameters(), mine.parameters(), strict=True):
    theirs.value = ours.value.copy()
batch = batch_of(pairs.train[:50])
np.testing.assert_allclose(package.forward(*batch), mine.forward(*batch), rtol=1e-5)

# %% [markdown]
# ## 4 Learning to add
#
# How good is an answer? Two figures are usual: the share of **tokens** that are right, and the
# share of texts that are right as a whole, the **exact match**. Nobody wants a sum of which three
# digits in four are right, so the second one counts.
#
# ### Exercise 7.4 ★★ Two accuracies
#
# From `predicted` $(N, T)$ and `targets` $(N, T)$, padded with $-1$, return the share of right
# tokens and the share of texts without a mistake. (A text that ends too late, or too early, has a
# wrong token where the mark should be or where it is.)


# %%
def accuracies(predicted, targets): ...


check("7.4", accuracies)


# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["solution"]
# Solution 7.4
def accuracies_solution(predicted, targets):
    counts = targets != -1
    right = predicted == targets
    return right[counts].mean(), np.all(right | ~counts, axis=1).mean()


check("7.4", accuracies_solution)

# %% [markdown]
# For the exact match the model has to write by itself. The simplest way is **greedy search**: take
# the likeliest symbol, read it at the next step, and so on.


# %%
def greedy(model, source, lengths, steps):
    """What the model writes, (N, steps); after a mark it does not matter."""
    state, ids, written = model.start(source, lengths), np.full(len(source), END), []
    for _ in range(steps):
        scores, state = model.step(ids, state)
        ids = scores.argmax(axis=1)
        written.append(ids)
    return np.stack(written, axis=1)


def train(model, epochs, reverse=False, learn_from=lambda model, batch, epoch: batch, seed=0):
    """Exact match on validation sums after each epoch, and which tokens were right (N, T)."""
    optimizer, rng = Adam(model.parameters(), lr=0.005), np.random.default_rng(seed)
    source, lengths, inputs, targets = batch_of(pairs.valid, reverse)
    exact, hits = [], []
    for epoch in range(epochs):
        order = rng.permutation(len(pairs.train))
        for some in np.array_split(order, max(1, len(order) // 128)):
            batch = batch_of([pairs.train[k] for k in some], reverse)
            model.forward(*learn_from(model, batch, epoch))
            model.zero_grad()
            model.backward()
            clip_gradients(model.parameters(), 5.0)
            optimizer.step()
        written = greedy(model, source, lengths, targets.shape[1])
        exact.append(100 * accuracies_solution(written, targets)[1])
        hits.append(written == targets)
    return exact, hits


epochs = 1 if short else 12
models, exact, hits = {}, {}, {}
models["plain"] = EncoderDecoder(V, 16, 64, np.random.default_rng(0))
exact["plain"], hits["plain"] = train(models["plain"], epochs)
print(f"exact match after {epochs} epochs: {exact['plain'][-1]:.1f} %")

# %% [markdown]
# That is little. Which digits are wrong? Here are the sums with three digits in their answer,
# digit by digit.

# %%
targets = batch_of(pairs.valid)[3]
three_digits = (targets != -1).sum(axis=1) == 4
PLACES = ("hundreds", "tens", "ones", "mark")
by_place = {
    place: [100 * hit[three_digits, t].mean() for hit in hits["plain"]]
    for t, place in enumerate(PLACES)
}
curves(
    {place: (np.arange(1, epochs + 1), values) for place, values in by_place.items()},
    title=f"After {epochs} epochs the hundreds are right in {by_place['hundreds'][-1]:.0f} %, "
    f"the tens in {by_place['tens'][-1]:.0f} %,\nthe ones in {by_place['ones'][-1]:.0f} %",
    xlabel="epoch",
    ylabel="right (% of sums)",
    levels={"guessed": 10.0},
)

# %% [markdown]
# TODO by place

# %% [markdown]
# ## 5 Three ways to make it easier
#
# ### Turn the source round
#
# Sutskever, Vinyals and Le (2014, section 3.3) found that a translation gets much better if the
# encoder reads the source from its end to its beginning. The first symbols of the source are then
# near the first ones of the target. Between reading symbol $s$ of $S$ and writing symbol $t$ there
# are $S - s + t$ steps in the natural order, and $s + t - 1$ in the reversed one. For pairs of
# symbols in the same place, $t = s$ and $T = S$, the mean distance is $S$ in both cases. But
# in the natural order *every* distance is $S$; reversed they run from 1 to $2S - 1$. So a few pairs
# are very near, from which the network can begin to learn.
#
# Does it matter how far a gradient has to go? Here is a fresh model, with the loss of the first
# digit only: how large is the gradient with respect to each symbol of the source?


# %%
long_sums = [pair for pair in pairs.train if len(pair[0]) == 7][:200]


def gradient_by_symbol(model, reverse=False):
    """Mean norm of the gradient of the first digit's loss, symbol by symbol of the text."""
    source, lengths, inputs, targets = batch_of(long_sums, reverse)
    targets[:, 1:] = -1  # only the first digit counts
    model.forward(source, lengths, inputs, targets)
    norms = np.linalg.norm(model.backward(), axis=2).mean(axis=0)
    return norms[::-1] if reverse else norms


norms = {
    name: gradient_by_symbol(EncoderDecoder(V, 16, 64, np.random.default_rng(0)), reverse)
    for name, reverse in (("natural order", False), ("reversed", True))
}
first, last = norms["natural order"][[0, -1]]
curves(
    {name: (np.arange(1, 8), values) for name, values in norms.items()},
    title=f"In natural order the gradient of the last symbol is {last / first:.0f} times that of "
    "the first",
    xlabel="symbol of the source, such as 1 2 3 + 4 5 6",
    ylabel="norm of the gradient",
    logy=True,
)

# %% [markdown]
# TODO gradient
#
# In a padded batch the reversal must leave the padding where it is. (`batch_of` reverses the texts
# before they are padded. A model that is handed a padded batch has to do it afterwards.)
#
# ### Exercise 7.5 ★ Reversed, but not the padding
#
# Return the `source` $(N, S)$ with each row reversed by its own length.


# %%
def reverse(source, lengths): ...


check("7.5", reverse)


# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["solution"]
# Solution 7.5
def reverse_solution(source, lengths):
    turned = source.copy()
    for row, old, length in zip(turned, source, lengths):
        row[:length] = old[:length][::-1]
    return turned


check("7.5", reverse_solution)

# %%
models["reversed"] = EncoderDecoder(V, 16, 64, np.random.default_rng(0))
exact["reversed"], hits["reversed"] = train(models["reversed"], epochs, reverse=True)
print(f"exact match after {epochs} epochs: {exact['reversed'][-1]:.1f} %")

# %% [markdown]
# ### Let the decoder peek
#
# The state that the decoder starts from is overwritten as it writes: at the last digit it is
# several steps away. Cho et al. (2014) hand the encoder's last $h$ to *every* step, beside the
# symbol that is read, and to every output. The book calls this decoder **peeky**.

# %%
encoder_decoder("5+75", "80", peeky=True)

# %% [markdown]
# The input of step $t$ is now $z_t = [y_{t-1}, h]$, of shape $(N, T, D + H)$, with the same $h$
# $(N, H)$ at all steps. In the backward pass that is the fork rule of lesson 1.
#
# ### Exercise 7.6 ★★ One vector, many uses
#
# From $dz$ $(N, T, D + H)$ return $dy$ $(N, T, D)$ and $dh$ $(N, H)$.


# %%
def peeky_backward(dz, D): ...


check("7.6", peeky_backward)


# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["solution"]
# Solution 7.6
def peeky_backward_solution(dz, D):
    return dz[:, :, :D], dz[:, :, D:].sum(axis=1)


check("7.6", peeky_backward_solution)

# %% [markdown]
# In the package this decoder is `ContextDecoder`, and the model `Seq2Seq(context="every")`. Its
# context is used twice at each step, in the input and beside the output. Taken apart, with your
# backward:

# %%
rng = np.random.default_rng(3)
recurrent = TimeLSTM.init(2 + 3, 4, rng, "float64")
peeky = ContextDecoder(recurrent)
y, h, dout = (rng.standard_normal(shape) for shape in ((2, 5, 2), (2, 3), (2, 5, 4 + 3)))
peeky.forward(y, h)
dy, dh = peeky.backward(dout)

recurrent.forward(np.concatenate([y, np.repeat(h[:, None], 5, axis=1)], axis=2))
dhs, dh_output = peeky_backward_solution(dout, 4)  # output: [h_t, h]
dy_mine, dh_input = peeky_backward_solution(recurrent.backward(dhs), 2)
np.testing.assert_allclose(dy, dy_mine)
np.testing.assert_allclose(dh, dh_output + dh_input)

models["reversed, peeky"] = Seq2Seq(V, V, 16, 64, context="every", rng=np.random.default_rng(0))
exact["reversed, peeky"], hits["reversed, peeky"] = train(
    models["reversed, peeky"], epochs, reverse=True
)
curves(
    {name: (np.arange(1, epochs + 1), values) for name, values in exact.items()},
    title="Exact match: "
    + ", ".join(f"{name} {values[-1]:.0f} %" for name, values in exact.items()).replace(
        "reversed, peeky", "both"
    ),
    xlabel="epoch",
    ylabel="sums that are right (%)",
)

# %% [markdown]
# The book (Deep Learning from Scratch 2, chapter 7) trains for 25 epochs on 45,000 sums, with
# $H = 128$ and a smaller learning rate, and prints about 10 % for the plain model, 43 % reversed
# and 98 % reversed and peeky. [docs/results/addition.md](../docs/results/addition.md) has the same
# three in this project's runs.
#
# Digit by digit, for answers of three digits:

# %%
for name, kept in hits.items():
    shares = 100 * kept[-1][three_digits].mean(axis=0)
    print(f"{name:>15}:", ", ".join(f"{p} {x:3.0f} %" for p, x in zip(PLACES, shares)))

# %% [markdown]
# TODO digits
#
# ## 6 Teacher forcing, and its price
#
# The models have learnt with the right symbol as the next input, whatever they would have written.
# When they write by themselves they read their own symbols, among them wrong ones, which never
# occurred in training. This gap is called **exposure bias**. Here are the same validation sums,
# once with the target as input and once with what the model wrote.


# %%
def forced_and_free(model, reverse):
    """Predictions on validation sums from right inputs and from the model's own; the targets."""
    source, lengths, inputs, targets = batch_of(pairs.valid, reverse)
    forced = model.logits(source, lengths, inputs).argmax(axis=2)
    return forced, greedy(model, source, lengths, targets.shape[1]), targets


for name, model in models.items():
    forced, free, targets = forced_and_free(model, reverse="reversed" in name)
    tokens, texts = zip(*(accuracies_solution(one, targets) for one in (forced, free)))
    print(
        f"{name:>15}: tokens {tokens[0]:.1%} forced, {tokens[1]:.1%} free; "
        f"texts {texts[0]:.1%} forced, {texts[1]:.1%} free"
    )

# %% [markdown]
# The share of whole texts is the same in both. It must be: as long as all symbols are right, the
# model's own inputs *are* the right ones, and after the first wrong one the text is lost anyway. So
# teacher forcing costs nothing until the first mistake; what it costs is what comes after. For a
# sum one mistake is the end. A translation with one odd word should still go on well.


# %%
def after_a_mistake(model, reverse):
    """Share of right tokens among those that follow a wrong digit: forced, and free."""
    forced, free, targets = forced_and_free(model, reverse)
    wrong = (free != targets) & (targets != -1)
    late = np.cumsum(wrong, axis=1) - wrong > 0  # a digit before it is wrong
    late &= targets != -1
    return [(one == targets)[late].mean() for one in (forced, free)]


forced_late, free_late = after_a_mistake(models["reversed"], reverse=True)
print(f"tokens after a mistake: right {free_late:.1%}; had the digits before been right: "
      f"{forced_late:.1%}")  # fmt: skip

# %% [markdown]
# **Scheduled sampling** (Bengio et al. 2015) mixes both. Each input is the right one with
# probability $\epsilon$ and else the model's own choice, and $\epsilon$ falls from 1 in the course
# of training. The paper proposes three ways to fall: linear, $\epsilon = \max(\epsilon_{end},
# k - c\,i)$; exponential, $\epsilon = k^i$; and the inverse sigmoid,
# $\epsilon = k / (k + e^{i/k})$, where $i$ counts the updates.
#
# ### Exercise 7.7 ★★ Inputs of its own
#
# Return what the decoder reads, $(N, T)$. `step(ids, state)` returns scores $(N, V)$ and the new
# state, `inputs` $(N, T)$ are the right inputs, and `forced` $(N, T)$ is true where they should be
# used. The first input is always the mark. The model's own input is the likeliest symbol after
# what it *has read* so far.


# %%
def mixed_inputs(step, state, inputs, forced): ...


check("7.7", mixed_inputs)


# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["solution"]
# Solution 7.7
def mixed_inputs_solution(step, state, inputs, forced):
    read = [inputs[:, 0]]
    for t in range(1, inputs.shape[1]):
        scores, state = step(read[-1], state)
        read.append(np.where(forced[:, t], inputs[:, t], scores.argmax(axis=1)))
    return np.stack(read, axis=1)


check("7.7", mixed_inputs_solution)

# %% [markdown]
# The gradient takes no account of the choice: the mixed inputs are inputs like any others. We let
# $\epsilon$ fall linearly from 1 to 0.5.

# %%
coins = np.random.default_rng(4)


def partly_forced(model, batch, epoch):
    """A batch in which some of the decoder's inputs are the model's own."""
    source, lengths, inputs, targets = batch
    epsilon = 1 - 0.5 * epoch / max(1, epochs - 1)
    forced = coins.random(inputs.shape) < epsilon
    state = model.start(source, lengths)
    return source, lengths, mixed_inputs_solution(model.step, state, inputs, forced), targets


models["scheduled"] = EncoderDecoder(V, 16, 64, np.random.default_rng(0))
exact["scheduled"], _ = train(models["scheduled"], epochs, True, partly_forced)
rows = {
    name: {"all sums": exact[model][-1], "tokens after a mistake": 100 * late}
    for name, model, late in (
        ("teacher forcing", "reversed", free_late),
        ("scheduled sampling", "scheduled", after_a_mistake(models["scheduled"], True)[1]),
    )
}
bars(rows, title="TODO scheduled", ylabel="right (%)")

# %% [markdown]
# TODO scheduled
#
# ## 7 Searching for the likeliest answer
#
# Greedy search takes the likeliest symbol at every step. That need not give the likeliest *text*:
# a good first symbol may have only poor continuations. One can also draw each symbol at random
# from its distribution, as a language model does (lesson 5). Here are the greedy answer of the
# weak plain model and five random ones, with their probabilities.


# %%
def log_probabilities(model, state, ids):
    """(n, V), and the new state."""
    scores, state = model.step(np.asarray(ids), state)
    return log_softmax(scores.astype(float)), state


def sampled(model, source, rng, steps=6):
    """A text drawn symbol by symbol, and its log-probability."""
    state, ids, total = model.start(source[None], [len(source)]), [END], 0.0
    while ids[-1] != END or len(ids) == 1:
        log_p, state = log_probabilities(model, state, ids[-1:])
        ids.append(int(rng.choice(V, p=np.exp(log_p[0]))) if len(ids) < steps else END)
        total += log_p[0, ids[-1]]
    return text_of(ids[1:]), total


plain, rng = models["plain"], np.random.default_rng(5)
asked, answer = pairs.test[1]
source = np.array(ids_of(asked))
print(f"{asked} = {answer}; greedy: {text_of(greedy(plain, source[None], [len(source)], 5)[0])}")
for _ in range(5):
    text, total = sampled(plain, source, rng)
    print(f"drawn: {text:<5} with probability {np.exp(total):.4f}")

# %% [markdown]
# **Beam search** keeps the $k$ likeliest beginnings at every step, not only one. Each of them has
# $V$ continuations, so there are $k V$ candidates:
#
# $$ \log P(y_1 \dots y_t) = \log P(y_1 \dots y_{t-1}) + \log P(y_t \mid y_1 \dots y_{t-1}), $$
#
# of which again the best $k$ are kept. Two of these may continue the same beginning, and another
# beginning none at all. So the decoder's states have to be put in order: each kept beginning goes
# on from the state of its **parent**.
#
# ### Exercise 7.8 ★★★ One step of a beam search
#
# `totals` $(k,)$ are the log-probabilities of the beginnings so far, `log_p` $(k, V)$ those of the
# next symbols, and `state` is the tuple $(h, c)$, each with a row for each beginning. Return the
# `width` best continuations, the best one first: their totals, the ids of their new symbols, the
# parents (rows from 0 to $k - 1$), and the state of each, a tuple $(h, c)$ in the new order.


# %%
def beam_step(totals, log_p, state, width): ...


check("7.8", beam_step)


# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["solution"]
# Solution 7.8
def beam_step_solution(totals, log_p, state, width):
    sums = totals[:, None] + log_p  # (k, V)
    best = np.argsort(-sums, axis=None)[:width]
    parents, ids = np.divmod(best, sums.shape[1])
    return sums.flat[best], ids, parents, tuple(array[parents] for array in state)


check("7.8", beam_step_solution)

# %% [markdown]
# A beginning that ends with the mark is a finished text. It leaves the beam, and the search goes
# on with the others until `width` texts are finished. `seen` keeps all candidates for a picture.


# %%
def my_beam_search(model, source, width, steps=5):
    """The likeliest text that was found, its log-probability, and the candidates of each step."""
    state, totals = model.start(source[None], [len(source)]), np.zeros(1)
    texts, places, found, seen = [[]], [0], [], []
    for t in range(steps):
        last = [text[-1] if text else END for text in texts]
        log_p, state = log_probabilities(model, state, last)
        log_p[:, SYMBOLS.index("+")] = -np.inf  # no sum holds a plus
        if t == steps - 1:
            log_p[:, :END] = -np.inf  # the last step: only the mark
        totals, ids, parents, state = beam_step_solution(totals, log_p, state, 2 * width)
        rank = np.arange(len(ids))
        ended, kept = ids == END, np.zeros(len(ids), bool)
        kept[np.flatnonzero(~ended)[:width]] = True
        found += [(totals[j], texts[parents[j]]) for j in rank[ended & (rank < width)]]
        seen.append([
            Candidate(places[p], [*SYMBOLS, "end"][i], total, bool(keep or (i == END and j < width)))
            for j, (p, i, total, keep) in enumerate(zip(parents, ids, totals, kept))
            if np.isfinite(total)
        ])  # fmt: skip
        texts, places = [[*texts[p], int(i)] for p, i in zip(parents[kept], ids[kept])], rank[kept]
        totals, state = totals[kept], map_state(lambda array, kept=kept: array[kept], state)
        if len(found) >= width or not len(totals):
            break
    total, text = max(found)
    return text_of(text), total, seen


for (asked, answer), width in zip(pairs.test[:3], (1, 2, 4)):
    text, total, _ = my_beam_search(plain, np.array(ids_of(asked)), width)
    print(f"{asked:>7} = {answer:<4} width {width}: {text:<4} with probability {np.exp(total):.3f}")

# %% [markdown]
# The package's `beam_search` does the same for many texts at once. Both against an **exhaustive**
# search: an answer has at most four digits, so there are only 11,111 texts, and the model can give
# us the probability of each. The beginnings of $t$ digits are the numbers from 0 to $10^t - 1$ in
# order, with zeros in front.


# %%
def exhaustive_search(model, source):
    """The likeliest of all texts of up to four digits, and its log-probability."""
    state, totals, ids, best = model.start(source[None], [len(source)]), np.zeros(1), [END], []
    for t in range(5):
        log_p, state = log_probabilities(model, state, ids)
        ends = totals + log_p[:, END]
        best.append((ends.max(), f"{ends.argmax():0{t}d}" if t else ""))
        totals = (totals[:, None] + log_p[:, :10]).ravel()  # each beginning with each digit
        ids = np.tile(np.arange(10), len(ends))
        state = map_state(lambda array: np.repeat(array, 10, axis=0), state)
    return max(best)[::-1]


some = pairs.test[: 5 if short else 60]
sources = [np.array(ids_of(asked)) for asked, _ in some]
likeliest = [exhaustive_search(plain, source) for source in sources]

marks = {"start_id": END, "end_id": END, "max_length": 5, "banned": [SYMBOLS.index("+")]}
padded, lengths, *_ = batch_of(some)
widths, missed, right = [1, 2, 3, 5, 10], [], []
for width in widths:
    texts = [my_beam_search(plain, source, width)[0] for source in sources]
    theirs = beam_search(plain.step, plain.start(padded, lengths), len(some), width=width,
                         length_penalty=0.0, **marks)  # fmt: skip
    assert texts == [text_of(found[0].ids) for found in theirs]
    missed.append(100 * np.mean([a != b for a, (b, _) in zip(texts, likeliest)]))
    right.append(100 * np.mean([a == b for a, (_, b) in zip(texts, some)]))
    print(f"width {width:2}: {missed[-1]:4.1f} % miss the likeliest text, {right[-1]:4.1f} % are right")
print(f"the likeliest text itself is right in "
      f"{np.mean([a == b for (a, _), (_, b) in zip(likeliest, some)]):.1%}")  # fmt: skip

# %% [markdown]
# TODO search errors
#
# Here is a sum for which greedy search misses, with everything that a beam of width 2 looked at:
# the symbol and the log-probability of the beginning that ends with it. Grey candidates were
# dropped.


# %%
def way_through(seen, text):
    """The places of a text's candidates, step by step."""
    way = []
    for t, symbol in enumerate([*text, "end"]):
        before = way[-1] if way else 0
        way.append([(one.parent, one.token) for one in seen[t]].index((before, symbol)))
    return way


for (asked, answer), source in zip(some, sources):
    (first, _, _), (text, total, seen) = (my_beam_search(plain, source, k) for k in (1, 2))
    if first != text and len(first) == len(text):
        break
beam_tree(
    seen,
    {f"greedy: {first}": way_through(seen, first), f"beam: {text}": way_through(seen, text)},
    title=f"{asked} = {answer}: the likeliest first digit does not lead to the likeliest text",
)

# %% [markdown]
# ### Texts of different lengths
#
# Every further symbol makes a text less probable, so that a sum of log-probabilities prefers short
# texts. For sums that does no harm. For translations the usual remedy is to divide by a power of
# the length (Wu et al. 2016 use one like it, and add a term for coverage):
#
# $$ \mathrm{score}(y) = \frac{1}{T^\alpha} \sum_{t=1}^{T} \log P(y_t \mid y_1 \dots y_{t-1}, x),
#    \qquad 0 \le \alpha \le 1. $$
#
# ### Exercise 7.9 ★ Texts of different lengths
#
# Return the score from `log_p` $(T,)$, the log-probabilities of the symbols of a text, its end
# included.


# %%
def score(log_p, alpha): ...


check("7.9", score)


# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["solution"]
# Solution 7.9
def score_solution(log_p, alpha):
    return np.sum(log_p) / len(log_p) ** alpha


check("7.9", score_solution)

# %%
for alpha in (0.0, 0.6, 1.0):
    found = beam_search(plain.step, plain.start(padded, lengths), len(some), width=10,
                        length_penalty=alpha, **marks)  # fmt: skip
    texts = [text_of(best.ids) for (best, *_) in found]
    longest = np.mean([len(text) for text in texts])
    right_now = np.mean([text == answer for text, (_, answer) in zip(texts, some)])
    print(f"alpha {alpha}: {longest:.2f} digits on average, {right_now:.1%} right")

# %% [markdown]
# ## 8 What one vector cannot hold
#
# However long the source is, the decoder gets $2H$ numbers. How much fits in there? The purest test
# is copying: the source is a row of random digits, and the target is the same row. There is nothing
# to compute and no regularity to use; the state has to hold it all. We train with lengths from 1 to
# 16, all alike in number, and ask for the share of right digits by length.


# %%
def digits_to_copy(rng, N, low, high):
    """A batch of rows of random digits, as source and target."""
    rows = [rng.integers(10, size=n).tolist() for n in rng.integers(low, high + 1, size=N)]
    return make_batch_solution([row[::-1] for row in rows], rows, END)


def copying(H, updates, longest=16):
    """Share of right digits by length, from right inputs, after training."""
    rng = np.random.default_rng(0)
    model = Seq2Seq(V, V, 16, H, rng=rng)
    optimizer = Adam(model.parameters(), lr=0.01)
    for _ in range(updates):
        model.forward(*digits_to_copy(rng, 64, 1, longest))
        model.zero_grad()
        model.backward()
        clip_gradients(model.parameters(), 5.0)
        optimizer.step()
    shares = []
    for n in range(1, longest + 1):
        source, lengths, inputs, targets = digits_to_copy(rng, 200, n, n)
        predicted = model.logits(source, lengths, inputs).argmax(axis=2)
        shares.append(100 * (predicted == targets)[:, :n].mean())
    return shares


sizes = (8, 16) if short else (16, 32, 64)
copied = {H: copying(H, 5 if short else 1000) for H in sizes}
curves(
    {f"H = {H}": (np.arange(1, 17), shares) for H, shares in copied.items()},
    title=f"Copying 16 digits: {copied[sizes[0]][-1]:.0f} % of them right with H = {sizes[0]}, "
    f"{copied[sizes[-1]][-1]:.0f} % with H = {sizes[-1]}",
    xlabel="digits in the source",
    ylabel="digits that are right (%)",
    levels={"guessed": 10.0},
)

# %% [markdown]
# TODO copy
#
# ## What to read next
#
# * **In this project**: `deepnlp/models/seq2seq.py`, the model with all its options;
#   `deepnlp/layers/decoders.py`; `deepnlp/generation/beam.py`. `deepnlp train --task seq2seq
#   --corpus addition` trains one from the command line.
#   `chapters/ch07_sequence_to_sequence/` has the experiments at full size.
# * Sutskever, Vinyals and Le, *Sequence to sequence learning with neural networks* (2014). Cho et
#   al., *Learning phrase representations using RNN encoder-decoder for statistical machine
#   translation* (2014).
# * Bengio, Vinyals, Jaitly and Shazeer, *Scheduled sampling for sequence prediction with recurrent
#   neural networks* (2015). Graves, *Sequence transduction with recurrent neural networks* (2012),
#   has a beam search for a network that writes. Wu et al., *Google's neural machine translation
#   system* (2016), on the length.
# * Saito, *Deep Learning from Scratch 2*, chapter 7.
# * **Next here**: lesson 8, attention.
