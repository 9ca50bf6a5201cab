"""Terms that keep the states of a recurrent layer small (AR) and slow (TAR)."""

from typing import Any

from deepnlp.backend import Array, check_number, xp
from deepnlp.layer import Layer


class ActivationRegularisation(Layer):
    r"""AR: a loss that is large where activations are large.

    .. math:: L = \alpha \, \frac{1}{M} \sum_{ntj} h_{ntj}^2, \qquad
        dh = \frac{2 \alpha}{M} \, h

    with M the number of entries of h. In AWD-LSTM h is the output of the last layer after dropout.

    Parameters
    ----------
    alpha : float
        0 or more.

    Notes
    -----
    ``forward(h)`` takes any shape and gives a 0-d loss; ``backward(dloss=1)`` gives the gradient to
    be added to the one that comes from the layers above. Merity, McCann and Socher 2017;
    Merity, Keskar and Socher 2018, section 4.6.

    Raises
    ------
    ValueError
        If alpha is negative.

    Examples
    --------
    >>> loss = ActivationRegularisation(alpha=2.0)
    >>> round(float(loss.forward(xp.asarray([[1.0, 0.0, -2.0, 1.0]]))), 6)   # 2 * 6 / 4
    3.0
    >>> loss.backward()
    array([[ 1.,  0., -2.,  1.]])
    """

    axes = "... ->"

    def __init__(self, alpha: float) -> None:
        check_number(f"{type(self).__name__}: alpha", alpha, low=0)
        self.alpha = alpha

    def forward(self, h: Array) -> Array:
        """L = alpha mean(h^2)."""
        self.save_for_backward(h)
        loss: Array = self.alpha * xp.sum(h * h) / max(1, h.size)
        return loss

    def backward(self, dloss: Any = 1) -> Array:
        """dh = dloss 2 alpha h / M."""
        (h,) = self.saved()
        # L = alpha / M sum h^2
        dh: Array = h * (dloss * 2 * self.alpha / max(1, h.size))
        return dh.astype(h.dtype, copy=False)


class TemporalActivationRegularisation(Layer):
    r"""TAR: a loss that is large where states change quickly from one step to the next.

    .. math::
        L = \beta \, \frac{1}{M} \sum_{n} \sum_{t=2}^T \sum_j (h_{ntj} - h_{n,t-1,j})^2, \qquad
        dh_t = \frac{2 \beta}{M} \, \bigl((h_t - h_{t-1}) - (h_{t+1} - h_t)\bigr)

    with M = N (T - 1) H differences; at the first and the last step one of the two is absent. In
    AWD-LSTM h is the output of the last layer before dropout.

    Parameters
    ----------
    beta : float
        0 or more.

    Notes
    -----
    ``forward(h)`` takes (N, T, H) and gives a 0-d loss, zero for one step; ``backward(dloss=1)``
    gives the gradient to be added to the one that comes from the layers above. Merity, McCann and
    Socher 2017; Merity, Keskar and Socher 2018, section 4.6.

    Raises
    ------
    ValueError
        If beta is negative.

    Examples
    --------
    >>> loss = TemporalActivationRegularisation(beta=1.0)
    >>> float(loss.forward(xp.asarray([[[1.0], [3.0], [3.0]]])))   # (2^2 + 0^2) / 2
    2.0
    >>> loss.backward()[0, :, 0]
    array([-2.,  2.,  0.])
    """

    axes = "N T H ->"

    def __init__(self, beta: float) -> None:
        check_number(f"{type(self).__name__}: beta", beta, low=0)
        self.beta = beta

    def forward(self, h: Array) -> Array:
        """L = beta mean((h_t - h_(t-1))^2)."""
        d = h[:, 1:] - h[:, :-1]
        self.save_for_backward(h, d)
        loss: Array = self.beta * xp.sum(d * d) / max(1, d.size)
        return loss

    def backward(self, dloss: Any = 1) -> Array:
        """dh from the differences on both sides of each step."""
        h, d = self.saved()
        # L = beta / M sum d^2
        dd = d * (dloss * 2 * self.beta / max(1, d.size))
        # d_t = h_t - h_(t-1)
        dh: Array = xp.zeros_like(h)
        dh[:, 1:] += dd
        dh[:, :-1] -= dd
        return dh
