"""A step of the same length in every direction of a matrix: orthogonalised momentum.

The gradient of a matrix is mostly a few large directions, its first singular vectors, and a step
along it hardly moves in the others. The matrix U V^T of a gradient U S V^T, its polar factor, has
the same directions, all of the same size. A singular value decomposition is slow; a polynomial of
odd powers, X (a + b X^T X + c (X^T X)^2), leaves U and V as they are and maps every singular value
s to a s + b s^3 + c s^5. Repeated, it brings all of them near 1 by products of matrices alone.
"""

import math
from collections.abc import Iterable
from typing import Annotated

from deepnlp.backend import Array, xp
from deepnlp.optimizers.adaptive import AdamW, Betas
from deepnlp.optimizers.descent import Velocity
from deepnlp.optimizers.optimizer import LearningRate, WeightDecay
from deepnlp.options import Option
from deepnlp.parameter import Parameter

Coefficients = tuple[float, float, float]
CUBIC: Coefficients = (1.5, -0.5, 0.0)
"""Newton and Schulz: every singular value becomes 1, a small one by a factor of 1.5 at a time."""
QUINTIC: Coefficients = (3.4445, -4.775, 2.0315)
"""After 5 rounds singular values from 0.01 to 1 are between 0.68 and 1.14 (Jordan et al. 2024)."""


def orthogonalised(G: Array, rounds: int = 5, coefficients: Coefficients = QUINTIC) -> Array:
    r"""Return about the polar factor U V^T of a matrix G = U S V^T.

    .. math::
        X_0 = G / \lVert G \rVert, \qquad
        X_{k+1} = a X_k + b (X_k X_k^T) X_k + c (X_k X_k^T)^2 X_k

    Parameters
    ----------
    G : array (n, m)
    rounds : int
        With :data:`CUBIC`, enough rounds give U V^T itself.
    coefficients : (float, float, float)
        a, b, c.

    Returns
    -------
    array (n, m)
        Zero where G is.

    Examples
    --------
    >>> orthogonalised(xp.asarray([[3.0, 0.0], [0.0, -0.5]]), 30, CUBIC).round(6)
    array([[ 1.,  0.],
           [ 0., -1.]])
    """
    a, b, c = coefficients
    X: Array = G.T if G.shape[0] > G.shape[1] else G  # X X^T should be the smaller of both products
    X = X / (xp.sqrt(xp.sum(X * X)) + xp.finfo(X.dtype).tiny)  # no singular value is above 1
    for _ in range(rounds):
        A = X @ X.T
        X = a * X + (b * A + c * (A @ A)) @ X
    return X.T if G.shape[0] > G.shape[1] else X


class Muon(AdamW):
    r"""Orthogonalised momentum for matrices (Jordan et al. 2024), and AdamW for all else.

    .. math::
        v &\leftarrow \mu v + g, \qquad
            W \leftarrow (1 - \mathrm{lr} \lambda) W \\
        W &\leftarrow W - 0.2 \sqrt{\max(n, m)}\, \mathrm{lr} \cdot
            \mathrm{orthogonalised}(g + \mu v)

    for W (n, m). Embeddings, whose rows are looked up, and vectors are updated as by
    :class:`AdamW`. The factor gives a step about the size of one of AdamW, so that one learning
    rate serves both (Liu et al. 2025, eq. 4).

    Parameters
    ----------
    parameters : iterable of Parameter
    lr : float
    momentum : float
        mu, in [0, 1).
    betas : (float, float)
        Of AdamW, each in [0, 1).
    eps : float
    weight_decay : float
        lambda.
    decay : {"all", "matrices", "products"}
        Which weights decay, as for :class:`AdamW`.

    Raises
    ------
    TypeError, ValueError
        As :class:`AdamW`; also if momentum is outside [0, 1).

    Examples
    --------
    >>> optimizer = Muon([Parameter([[1.0, 2.0]])], lr=1e-3)
    """

    def __init__(
        self,
        parameters: Iterable[Parameter],
        lr: LearningRate = 1e-3,
        momentum: Velocity = 0.95,
        betas: Betas = (0.9, 0.95),
        eps: float = 1e-8,
        weight_decay: WeightDecay = 0.0,
        decay: Annotated[str, Option(choices=("all", "matrices", "products"))] = "all",
    ) -> None:
        super().__init__(parameters, lr, betas, eps, weight_decay, decay)
        self.momentum = self._checked("momentum", momentum, below=1)

    @staticmethod
    def _is_matrix(parameter: Parameter) -> bool:
        return len(parameter.shape) == 2 and not parameter.looked_up

    def _slots_of(self, parameter: Parameter) -> tuple[str, ...]:
        return ("v",) if self._is_matrix(parameter) else self._slots

    def step(self) -> None:
        """Update every trainable parameter from its gradient, in place."""
        self._update(p for p in self.parameters if not self._is_matrix(p))
        for parameter in self.parameters:
            if not (parameter.trainable and self._is_matrix(parameter)):
                continue
            t, kept = self._counted(parameter)
            W, v, g = parameter.value, kept["v"], parameter.grad
            v *= self.momentum
            v += g
            W *= self._scalars_of(parameter, t)["shrink"]
            size = 0.2 * math.sqrt(max(W.shape)) * self.lr
            W -= size * orthogonalised(g + self.momentum * v)
