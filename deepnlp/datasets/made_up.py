"""Made-up data: sums of whole numbers, dates in many writings, points on a spiral."""

import datetime
from collections.abc import Callable, Hashable

import numpy as np

from deepnlp import backend
from deepnlp.backend import check_number

Pair = tuple[str, str]
Drawn = list[tuple[Hashable, Pair]]  # pairs, each with what may occur once only

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

#: How a date may be written, each as likely as the others.
DATE_FORMS: tuple[Callable[[datetime.date], str], ...] = (
    lambda d: f"{d.month}/{d.day}/{d.year % 100:02}",
    lambda d: f"{MONTHS[d.month - 1][:3]} {d.day}, {d.year}",
    lambda d: f"{MONTHS[d.month - 1]} {d.day}, {d.year}",
    lambda d: f"{DAYS[d.weekday()]}, {MONTHS[d.month - 1]} {d.day}, {d.year}",
)
#: In which letters: as they are twice as often as in lower case or in capitals.
DATE_CASES: tuple[Callable[[str], str], ...] = (str, str, str.lower, str.upper)
FIRST_DAY, LAST_DAY = datetime.date(1970, 1, 1), datetime.date(2017, 12, 31)

MOST_TRIES = 100  # draws for each pair that is wanted, before giving up


def addition(n: int, digits: int = 3, seed: int = 0) -> list[Pair]:
    """Return sums of two whole numbers, each with 1 to ``digits`` digits: ``("16+75", "91")``.

    How many digits a number has is drawn first, so that short numbers are not rare. No sum occurs
    twice, and of a + b and b + a only one.

    Parameters
    ----------
    n : int
        How many sums.
    digits : int
        The most digits of a number.
    seed : int
        The same seed gives the same sums.

    Returns
    -------
    list of (str, str)

    Raises
    ------
    ValueError
        If there are not so many sums.

    References
    ----------
    The data of the Keras example ``addition_rnn``, which K. Saito, "Deep Learning from Scratch 2",
    2018, section 7.2 takes over.

    Examples
    --------
    >>> addition(3)
    [('75+1', '76'), ('17+8', '25'), ('6+9', '15')]
    """
    numbers = 10**digits
    rng = np.random.default_rng(seed)

    def draw() -> Drawn:
        lengths = rng.integers(1, digits + 1, size=(n, 2))
        operands = rng.integers(0, 10**lengths).tolist()
        return [((min(a, b), max(a, b)), (f"{a}+{b}", str(a + b))) for a, b in operands]

    return _different(draw, n, numbers * (numbers + 1) // 4, f"sums of {digits} digits")


def dates(n: int, seed: int = 0) -> list[Pair]:
    """Draw dates as people write them, with the form of ISO 8601: ``("8/12/73", "1973-08-12")``.

    The days are drawn from 1970 to 2017, the writings from :data:`DATE_FORMS` and
    :data:`DATE_CASES`, which are those of the book's file. No writing occurs twice.

    Parameters
    ----------
    n : int
        How many pairs.
    seed : int
        The same seed gives the same pairs.

    Returns
    -------
    list of (str, str)

    Raises
    ------
    ValueError
        If there are not so many writings.

    References
    ----------
    K. Saito, "Deep Learning from Scratch 2", 2018, section 8.3.1.

    Examples
    --------
    >>> dates(3)
    [('october 31, 2010', '2010-10-31'), ('Dec 13, 1982', '1982-12-13'), ('8/12/73', '1973-08-12')]
    """
    days = (LAST_DAY - FIRST_DAY).days + 1
    rng = np.random.default_rng(seed)

    def draw() -> Drawn:
        drawn = rng.integers(0, (days, len(DATE_FORMS), len(DATE_CASES)), size=(n, 3)).tolist()
        return [(text, (text, iso)) for text, iso in (_written(*numbers) for numbers in drawn)]

    return _different(draw, n, 5 * days, "writings of days")


def _written(day: int, form: int, case: int) -> Pair:
    date = FIRST_DAY + datetime.timedelta(days=day)
    return DATE_CASES[case](DATE_FORMS[form](date)), date.isoformat()


def _different(draw: Callable[[], Drawn], n: int, most: int, what: str) -> list[Pair]:
    """Return the first n draws whose keys differ; an error if that may be more than there are."""
    if n > most:
        raise ValueError(f"too few {what} to draw {n:,}: ask for at most {most:,} examples")
    drawn: dict[Hashable, Pair] = {}
    for _ in range(MOST_TRIES):
        for key, pair in draw():
            drawn.setdefault(key, pair)
        if len(drawn) >= n:
            break
    return list(drawn.values())[:n]


def spiral(
    n_per_class: int = 100, classes: int = 3, rng: np.random.Generator | None = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return points on the arms of a spiral, one arm per class: no straight line separates them.

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
