"""The list of causes that a diagnosis can name; docs/diagnosis.md shows each with its lines."""

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

ZERO = "zero or missing"
SIGN = "sign"
FACTOR = "constant factor"
TRANSPOSED = "transposed"
WRONG_AXIS = "summed or broadcast over the wrong axis"
NOT_SUMMED_N = "bias gradient not summed over N"
NOT_SUMMED_T = "bias gradient not summed over T"
ASSIGNED = "assigned instead of accumulated"
REPEATED_IDS = "repeated ids overwritten"
TIED_LOOKUP = "tied use lost: lookup side"
TIED_OUTPUT = "tied use lost: output side"
GATES_SWAPPED = "gates swapped"
EXCHANGED = "gradients exchanged"
DERIVATIVE_AT_INPUT = "derivative taken at the input instead of the output"
DERIVATIVE_MISSING = "derivative of the activation missing or of another function"
H_PATH = "path through h_prev dropped"
C_PATH = "path through c_prev dropped"
TIME_REVERSED = "time reversed"
TIME_SHIFTED = "time off by one"
MASK_MISSING = "dropout mask missing"
MASK_SCALE = "dropout mask scaled twice or not at all"
LOSS_NOT_AVERAGED = "loss not averaged"
LOSS_WRONG_COUNT = "loss averaged over the wrong count"
IGNORED_COUNTED = "ignored targets counted"
CACHE = "cache overwritten or mutated"
INPUT_CHANGED = "input changed in place"
TERM_MISSING = "term of a sum or product missing"
WRONG_VALUE = "another value in its place"
NOT_A_NUMBER = "not a number"
TWO_BACKWARDS = "second backward not refused"
STATE_WRONG = "state is not the last output"
EPSILON = "epsilon added inside a function"
NOT_LINEAR = "not linear in dy"
FORWARD = "forward is wrong"
FLOAT32 = "float32 round-off and not a bug"
UNKNOWN = "unknown"

_DATA = tomllib.loads(files(__package__).joinpath("sentences.toml").read_text("utf-8"))
CAUSES: dict[str, str] = _DATA["causes"]
"""Every name a cause can have, with its meaning."""


@dataclass(frozen=True)
class Cause:
    """A likely reason for a wrong gradient.

    Attributes
    ----------
    name : str
        One of :data:`CAUSES`.
    evidence : str
        Where, and how it shows: the layer, the parameter, the gate, the step.
    distance : float
        How far the gradient that this mistake would give is from the one that was found,
        relative to the largest entry; nan where nothing was predicted.
    place : str
        The line of the code where it is, if that is known: ``"lstm.py:34: do = dh * tc"``.

    Examples
    --------
    >>> print(Cause("sign", "x = -1 times the right gradient", 0.0))
    sign: x = -1 times the right gradient
    """

    name: str
    evidence: str
    distance: float = float("nan")
    place: str = ""

    def __post_init__(self) -> None:
        if self.name not in CAUSES:
            raise ValueError(f"Cause: {self.name!r} is not in the list deepnlp.gradcheck.CAUSES")

    def __str__(self) -> str:
        return f"{self.name}: {self.evidence}"


def say(key: str, /, **places: Any) -> str:
    """The sentence of a key, with its places filled in.

    >>> say("returned None", name="x")
    'backward returned None for the gradient of x: end it with return dx'
    """
    sentence: str = _DATA["sentences"][key]
    return sentence.format(**places)
