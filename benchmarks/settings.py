"""Settings of the benchmarks: options of a run, and the input of one contestant."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

FULL_SHAPE = {"V": 10_000, "N": 20, "T": 35}
QUICK_SHAPE = {"V": 50, "N": 2, "T": 3}
SIZES = (100, 200, 650)
QUICK_SIZES = (4, 8)


class Sizes(NamedTuple):
    """Sizes of a language model and its windows.

    Parameters
    ----------
    V, N, T, H : int
        Vocabulary, batch, time and hidden size.
    """

    V: int
    N: int
    T: int
    H: int


@dataclass(frozen=True)
class Settings:
    """Options that all suites share.

    Parameters
    ----------
    backend : {"numpy", "cupy"}
        Of deepnlp; PyTorch runs on the same device.
    threads : int
        In every library.
    rounds : int
        How often each contestant is started.
    sizes : tuple of int
        Hidden sizes H.
    quick : bool
        Tiny sizes and hardly any repetition: whether it runs, not how fast.
    torch : bool
        Whether PyTorch takes part.
    tf32 : bool
        On a GPU: float32 products with inputs rounded to 10 bits, in every library.
    epochs : int, optional
        Of the suite ``translation``, in place of its own number.
    minutes : int, optional
        Of the suite ``soak``, in place of its own number.

    Examples
    --------
    >>> Settings(quick=True).shape
    {'V': 50, 'N': 2, 'T': 3}
    """

    backend: str = "numpy"
    threads: int = 1
    rounds: int = 5
    sizes: tuple[int, ...] = SIZES
    quick: bool = False
    torch: bool = True
    tf32: bool = False
    epochs: int | None = None
    minutes: int | None = None

    @property
    def shape(self) -> dict[str, int]:
        """Vocabulary V, batch N and time T of the language model."""
        return dict(QUICK_SHAPE if self.quick else FULL_SHAPE)

    def to_dict(self) -> dict[str, Any]:
        """All options by name, with the shape they stand for, ready for JSON."""
        return asdict(self) | {"sizes": list(self.sizes), "shape": self.shape}


@dataclass(frozen=True)
class Spec:
    """The input of one contestant's process.

    Parameters
    ----------
    work : str
        Name of its file in ``benchmarks/contestants``.
    options : dict
        Sizes and other options of the work.
    backend, threads, tf32
        As in :class:`Settings`.
    warmup, steps : int
        Untimed and timed repetitions; timed ones go on until ``seconds`` have passed.
    seconds : float

    Examples
    --------
    >>> Spec("language_model", {"V": 50, "N": 2, "T": 3, "H": 8}).model
    Sizes(V=50, N=2, T=3, H=8)
    """

    work: str
    options: dict[str, Any] = field(default_factory=dict)
    backend: str = "numpy"
    threads: int = 1
    tf32: bool = False
    warmup: int = 3
    steps: int = 10
    seconds: float = 0.5

    @property
    def model(self) -> Sizes:
        """The sizes of the language model."""
        return Sizes(*(int(self.options[letter]) for letter in Sizes._fields))

    def number(self, name: str) -> int:
        """Another size, by its name."""
        return int(self.options[name])
