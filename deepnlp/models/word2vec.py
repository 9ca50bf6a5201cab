"""word2vec: a word and the words around it predict each other; CBOW and skip-gram."""

from typing import Annotated, Any

from deepnlp.backend import Array, Rng, xp
from deepnlp.backend.initialisers import uniform
from deepnlp.layer import Layer, Sequential
from deepnlp.layers import AffineSoftmaxWithLoss, Embedding, NegativeSamplingLoss, TimeAffine
from deepnlp.layers.dense import rows
from deepnlp.layers.losses import IGNORED
from deepnlp.models import options
from deepnlp.models.model import Model
from deepnlp.options import Option
from deepnlp.parameter import Parameter, View, add_rows

Tie = Annotated[str, Option(choices=options.TIES)]
Loss = Annotated[str, Option(choices=("negative", "softmax"))]
Negatives = Annotated[int, Option(low=1, high=100_000)]


class Word2Vec(Model):
    """The base of CBOW and SkipGram: the vectors and their tying, the loss, the shapes.

    Both learn from blocks of running text. text (N, S) holds S positions of N blocks, centres
    (N, B) the words in the middle, and windows (N, B, S) is 1 where a position is in the window of
    a centre, else 0. The negatives (N, K) are shared by the centres of a block.
    """

    def _plug(self, rng: Rng) -> None:
        """Make the layers: embedding, L where there is one, the output with its loss."""
        config = self._config
        V, D, tie, dtype = self.vocab_size, config["embed_size"], config["tie"], config["dtype"]
        self._is_sampled = config["loss"] == "negative"
        self.embed = Embedding(Parameter(uniform((V, D), 0.5 / D, rng, dtype), "E"))
        L = Parameter(xp.eye(D, dtype=dtype), "L")
        self.project: Layer = TimeAffine(L) if tie == "tied+L" else Sequential()
        W = Parameter.zeros(V, D, dtype=dtype, name="W") if tie == "none" else self.embed.W
        self.output: Any = (
            NegativeSamplingLoss(W, config["negatives"])
            if self._is_sampled
            else AffineSoftmaxWithLoss(W.T)
        )

    def _tables(self) -> tuple[View, View]:
        """E (V, D), and the table that words are predicted by (V, D): E again where it is tied."""
        return self.embed.W, self.output.W if self._is_sampled else self.output.W.T

    def _check(self, text: Array, windows: Array, centres: Array, negatives: Any) -> None:
        """Check the shapes; the layers check ids and negatives."""
        self._expect("text", text, "N S")
        N, S = text.shape
        self._expect("centres", centres, "N B", N=N)
        self._expect("windows", windows, "N B S", N=N, B=centres.shape[1], S=S)
        if self._is_sampled and negatives is None:
            raise ValueError(f"{type(self).__name__}: loss='negative' needs negatives (N, K)")


class CBOW(Word2Vec):
    r"""Continuous bag of words: the words of a window predict the word in its middle.

    .. math::
        h_i &= \frac{1}{|C_i|} \sum_{j \in C_i} E_{w_j} \quad\text{(mean)}, \qquad
               \sum_{j \in C_i} E_{w_j} \quad\text{(sum)} \\
        s_{iv} &= h_i \cdot W_v \quad\text{(none)}, \qquad h_i \cdot E_v \quad\text{(tied)},
               \qquad h_i L \cdot E_v \quad\text{(tied+L)}

    with C_i the positions in the window of word i. The loss compares the score of w_i with those of
    sampled words (:class:`~deepnlp.layers.NegativeSamplingLoss`) or of all words (softmax).

    Parameters
    ----------
    vocab_size : int
        V, the number of words.
    embed_size : int
        D, size of a word vector.
    tie : {"none", "tied", "tied+L"}
        Tied: words are predicted by the vectors they are read by; tied+L: with a matrix L between.
        ``"none"`` gives the output a table of its own; L is (D, D) (Gulordava, Aina and Boleda
        2018).
    loss : {"negative", "softmax"}
        Negative sampling, or the full softmax over the vocabulary.
    context : {"mean", "sum"}
        What is made of the vectors of a window.
    negatives : int
        Negative words for which each pair of words is weighed against noise. As many are drawn as
        ``forward`` is given.
    dtype : data-type
        Number type of the weights.
    rng : numpy.random.Generator, optional

    Notes
    -----
    ``forward(text, windows, centres, negatives)`` takes N blocks of running text: integers (N, S),
    of which B are centres (N, B), with 1 in windows (N, B, S) where a position is in the window of
    a centre, else 0, and negatives (N, K) that the centres of a block share. It gives the mean loss
    of the centres that have a window, a 0-d array in nats. A textbook's example with C words around
    a centre is a block of one: contexts (N, C), windows of ones (N, 1, C), centres (N, 1).
    E starts in U(-1 / 2D, 1 / 2D), W at zero, L as the identity. Mikolov et al. 2013.

    Raises
    ------
    ValueError
        If an option is out of its range, or shapes do not fit.

    Examples
    --------
    >>> model = CBOW(vocab_size=9, embed_size=4, tie="tied")
    >>> contexts, centres = xp.asarray([[3, 5], [5, 8]]), xp.asarray([[4], [7]])
    >>> loss = model.forward(contexts, xp.ones((2, 1, 2)), centres, xp.asarray([[0, 1], [2, 7]]))
    >>> model.zero_grad()
    >>> model.backward()
    >>> model.vectors().shape
    (9, 4)
    """

    def __init__(
        self,
        vocab_size: int,
        embed_size: options.Size = 100,
        tie: Tie = "none",
        loss: Loss = "negative",
        *,
        context: Annotated[str, Option(choices=("mean", "sum"))] = "mean",
        negatives: Negatives = 5,
        dtype: options.DType = "float32",
        rng: Rng = None,
    ) -> None:
        self._remember(CBOW, **locals())
        self._plug(rng)

    def forward(
        self, text: Array, windows: Array, centres: Array, negatives: Array | None = None
    ) -> Array:
        """Compute the mean loss of the centres, each predicted from its window."""
        self._check(text, windows, centres, negatives)
        X = self.embed.forward(text)  # (N, S, D)
        A = windows.astype(X.dtype)
        size = A @ xp.ones(A.shape[2], dtype=A.dtype)  # of each window
        if self._config["context"] == "mean":
            A = A * (1 / xp.maximum(size, 1))[:, :, None]
        self.save_for_backward(A)
        h = self.project.forward(A @ X)  # (N, B, D)
        t = xp.where(size > 0, centres, IGNORED)
        return self.output.forward(h, t, *((negatives,) if self._is_sampled else ()))

    def backward(self, dloss: Any = 1) -> None:
        """Go back through the output and the sum over windows to the vectors of the text."""
        (A,) = self.saved()
        dh = self.project.backward(self.output.backward(dloss))
        # h = A X: dX = A^T dh
        self.embed.backward(A.transpose(0, 2, 1) @ dh)


class SkipGram(Word2Vec):
    r"""Skip-gram: a word predicts the words of the window around it, one by one.

    .. math::
        h_i = E_{w_i}, \qquad
        s_{iv} = h_i \cdot W_v \quad\text{(none)}, \qquad h_i \cdot E_v \quad\text{(tied)},
               \qquad h_i L \cdot E_v \quad\text{(tied+L)}

    Every word of a window is a pair with its centre, of which the loss is the mean. All pairs of a
    block come from one matrix product, and so do all its negatives.

    With ``tie="tied"`` the scores are E E^T: no word has a negative score beside itself, and the
    mean score of two words drawn alike is not negative either, so that with negative sampling the
    model learns next to nothing. Most of this is one missing constant (lesson 4, section 6); L,
    which starts as the identity, removes both restrictions.

    Parameters
    ----------
    vocab_size : int
        V, the number of words.
    embed_size : int
        D, size of a word vector.
    tie : {"none", "tied", "tied+L"}
        Tied: words are predicted by the vectors they are read by; tied+L: with a matrix L between.
        ``"none"`` gives the output a table of its own; L is (D, D) (Gulordava, Aina and Boleda
        2018).
    loss : {"negative", "softmax"}
        Negative sampling, or the full softmax over the vocabulary.
    negatives : int
        Negative words for which each pair of words is weighed against noise. As many are drawn as
        ``forward`` is given.
    dtype : data-type
        Number type of the weights.
    rng : numpy.random.Generator, optional

    Notes
    -----
    ``forward(text, windows, centres, negatives)`` takes the same blocks as :class:`CBOW`: the
    targets of a centre are the positions of the text in its window. A textbook's example of a
    centre and C words around it is a block of one. Mikolov et al. 2013, eq. (1) and (4).

    Raises
    ------
    ValueError
        If an option is out of its range, or shapes do not fit.

    Examples
    --------
    >>> model = SkipGram(vocab_size=9, embed_size=4, tie="tied+L", loss="softmax")
    >>> contexts, centres = xp.asarray([[3, 5], [5, 8]]), xp.asarray([[4], [7]])
    >>> round(float(model.forward(contexts, xp.ones((2, 1, 2)), centres)), 1)   # about log 9
    2.2
    """

    def __init__(
        self,
        vocab_size: int,
        embed_size: options.Size = 100,
        tie: Tie = "none",
        loss: Loss = "negative",
        *,
        negatives: Negatives = 5,
        dtype: options.DType = "float32",
        rng: Rng = None,
    ) -> None:
        self._remember(SkipGram, **locals())
        self._plug(rng)

    def forward(
        self, text: Array, windows: Array, centres: Array, negatives: Array | None = None
    ) -> Array:
        """Compute the mean loss of all pairs of a centre and a word of its window."""
        self._check(text, windows, centres, negatives)
        h = self.project.forward(self.embed.forward(centres))  # (N, B, D)
        if self._is_sampled:
            return self.output.forward(h, text, negatives, windows)
        n, i, j = xp.nonzero(windows)
        centre = n * centres.shape[1] + i  # the row of h that a pair belongs to
        self.save_for_backward(centre, h.shape)
        return self.output.forward(rows(h)[centre], text[n, j])

    def backward(self, dloss: Any = 1) -> None:
        """Go back through the output to the vectors of the centres."""
        dh = self.output.backward(dloss)
        if not self._is_sampled:
            centre, shape = self.saved()
            # a row of h was taken for each of its pairs: it collects their gradients
            of_pairs, dh = dh, xp.zeros(shape, dtype=dh.dtype)
            add_rows(rows(dh), centre, of_pairs)
        self.embed.backward(self.project.backward(dh))
