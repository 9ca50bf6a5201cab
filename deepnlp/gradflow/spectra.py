"""Singular values and spectral radius: of a matrix, and of products of step Jacobians."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepnlp.backend import HostArray


class Measured:
    """Measurements as fields of a dataclass."""

    def to_dict(self) -> dict[str, Any]:
        """Return lists and numbers, for JSON."""
        return {name: _plain(value) for name, value in vars(self).items()}


def _plain(value: Any) -> Any:
    """Return a measurement as lists and numbers, at any depth."""
    if isinstance(value, Measured):
        return value.to_dict()
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


@dataclass(frozen=True)
class Spectrum(Measured):
    """Singular values (n,), the largest first, and the spectral radius of a square matrix."""

    singular_values: HostArray
    spectral_radius: float

    @property
    def largest(self) -> float:
        """The largest singular value: the most that one product can stretch a vector."""
        return float(self.singular_values[0])


def spectrum(W: HostArray) -> Spectrum:
    r"""Singular values and spectral radius.

    .. math:: \sigma_1 = \max_{|v| = 1} |v W|, \qquad
        \rho = \max_i |\lambda_i(W)| = \lim_{k \to \infty} \|W^k\|^{1/k} \le \sigma_1

    Parameters
    ----------
    W : array (n, n)

    Examples
    --------
    A shear stretches at first, but its powers vanish:

    >>> found = spectrum(np.array([[0.5, 4.0], [0.0, 0.5]]))
    >>> round(found.largest, 2), round(found.spectral_radius, 2)
    (4.06, 0.5)
    """
    singular_values = np.linalg.svd(W, compute_uv=False)
    return Spectrum(singular_values, spectral_radius(W))


def spectral_radius(W: HostArray) -> float:
    """Return the largest absolute value of an eigenvalue.

    Parameters
    ----------
    W : array (n, n)
    """
    return float(np.abs(np.linalg.eigvals(W)).max())


@dataclass(frozen=True)
class Jacobians(Measured):
    """Step Jacobians of one layer, multiplied and averaged.

    ``singular_values`` (K, H) and ``spectral_radius`` (K,) are those of dh_t / dh_(t-k) for the K
    lags k in ``lags``, along the sequence, ending at step t, in which the first of them is largest:
    by this layer alone, no gradient keeps a larger share. ``rate`` is the spectral radius of the
    mean step Jacobian, the factor by which this layer should change a gradient per step.
    """

    lags: tuple[int, ...]
    singular_values: HostArray
    spectral_radius: HostArray
    rate: float


def jacobian_products(
    sequences: Iterable[Sequence[HostArray]], H: int, lags: Sequence[int]
) -> Jacobians:
    r"""Multiply step Jacobians back from the last step, and look at the product at some lags.

    .. math:: \frac{dh_t}{dh_{t-k}} = [J_t J_{t-1} \cdots J_{t-k+1}]_{h, h}

    Parameters
    ----------
    sequences : iterable of sequence of array (S, S)
        Step Jacobians in the order of time, S = H, or 2H where the state is h and c. Each sequence
        is multiplied, and the product with the largest singular value is kept; the mean is over
        all.
    H : int
        Size of h, which comes first in the state.
    lags : sequence of int
        Between 1 and the number of steps, rising.

    Examples
    --------
    >>> half = np.array([[0.5]])
    >>> jacobian_products([[half, half, half]], H=1, lags=[1, 3]).singular_values.ravel()
    array([0.5  , 0.125])
    """
    largest: dict[int, Spectrum] = {}
    means = []
    for sequence in sequences:
        product = np.eye(len(sequence[0]))[:H]  # (H, S): only the rows of h are needed
        for k, step in enumerate(reversed(sequence), start=1):
            product = product @ step
            if k in lags:
                seen = spectrum(product[:, :H])
                largest[k] = max(seen, largest.get(k, seen), key=lambda each: each.largest)
        means.append(np.mean(sequence, axis=0))
    values = np.array([largest[k].singular_values for k in lags])
    radii = np.array([largest[k].spectral_radius for k in lags])
    return Jacobians(tuple(lags), values, radii, spectral_radius(np.mean(means, axis=0)))
