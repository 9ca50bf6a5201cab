"""Made-up data for the first lessons."""

import numpy as np

from deepnlp import backend
from deepnlp.backend import check_number


def spiral(
    n_per_class: int = 100, classes: int = 3, rng: np.random.Generator | None = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""Points on the arms of a spiral, one arm per class: no straight line separates them.

    .. math:: x = r (\sin\theta, \cos\theta), \quad \theta = 4 j + 4 r + 0.2 \epsilon

    with r from 0 to 1 along the arm of class j, and standard normal noise epsilon.

    Parameters
    ----------
    n_per_class : int
        Points of each class.
    classes : int
        Number of arms.
    rng : numpy.random.Generator, optional
        Source of the noise; by default the generator that ``deepnlp.seed`` set.

    Returns
    -------
    x : ndarray, shape (n_per_class * classes, 2)
        float32 points, class after class.
    t : ndarray, shape (n_per_class * classes,)
        Their classes, int64.

    Raises
    ------
    ValueError
        If there is no point or no class.

    References
    ----------
    K. Saito, "Deep Learning from Scratch 2", 2018, section 1.4.

    Examples
    --------
    >>> x, t = spiral(n_per_class=5, rng=np.random.default_rng(0))
    >>> x.shape, t.tolist()
    ((15, 2), [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2])
    """
    check_number("n_per_class", n_per_class, whole=True, low=1)
    check_number("classes", classes, whole=True, low=1)
    rng = backend.rng() if rng is None else rng
    t = np.repeat(np.arange(classes), n_per_class)
    r = np.tile(np.arange(n_per_class) / n_per_class, classes)
    theta = 4.0 * t + 4.0 * r + 0.2 * rng.standard_normal(len(t))
    x = np.stack([r * np.sin(theta), r * np.cos(theta)], axis=1)
    return x.astype(np.float32), t
