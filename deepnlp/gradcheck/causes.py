"""The list of causes that a diagnosis can name; docs/diagnosis.md shows each with its lines."""

from __future__ import annotations

from dataclasses import dataclass

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

CAUSES: dict[str, str] = {
    ZERO: "The gradient, or a whole block of it, is zero: it was never computed or never stored.",
    SIGN: "The gradient, or one term of it, has the wrong sign.",
    FACTOR: "The gradient is a fixed multiple of the right one; the multiple is named.",
    TRANSPOSED: "A matrix was transposed, or was not where it should have been.",
    WRONG_AXIS: "A sum, or its undoing, runs over another axis than in the forward.",
    NOT_SUMMED_N: "A bias serves every sample, so its gradient is a sum over N; here it is not.",
    NOT_SUMMED_T: "A bias serves every step, so its gradient is a sum over T; here it is not.",
    ASSIGNED: "A weight that is used more than once has only one contribution: = for +=.",
    REPEATED_IDS: "Of an id that occurs twice, one occurrence is lost: dW[ids] = or += dy.",
    TIED_LOOKUP: "Of a tied weight, the gradient from its use as a look-up table is lost.",
    TIED_OUTPUT: "Of a tied weight, the gradient from its use in the output product is lost.",
    GATES_SWAPPED: "The blocks of two gates stand in each other's place.",
    EXCHANGED: "Two gradients are stored, returned or used in each other's place.",
    DERIVATIVE_AT_INPUT: "1 - y^2 or y (1 - y) was written with x, or the like.",
    DERIVATIVE_MISSING: "The derivative of an activation is left out, or is another function's.",
    H_PATH: "The gradient that h_prev passes back, or one way it takes, is left out.",
    C_PATH: "The gradient that the memory cell passes back is left out.",
    TIME_REVERSED: "Steps stand in reversed order.",
    TIME_SHIFTED: "A value or a gradient of the neighbouring step is used, or a step is left out.",
    MASK_MISSING: "What dropout set to zero gets a gradient.",
    MASK_SCALE: "The factor 1 / (1 - p) of dropout is applied twice, or not at all.",
    LOSS_NOT_AVERAGED: "The forward takes a mean, the backward forgets to divide.",
    LOSS_WRONG_COUNT: "The forward divides by another count than the backward.",
    IGNORED_COUNTED: "Targets that the forward leaves out get a gradient.",
    CACHE: "A saved value was overwritten before backward used it, or backward changes it.",
    INPUT_CHANGED: "An array of the caller was changed in place.",
    TERM_MISSING: "One way by which a value reaches the outputs is left out.",
    WRONG_VALUE: "A derivative was computed with another array than it should have been.",
    NOT_A_NUMBER: "The gradient holds nan or infinity.",
    TWO_BACKWARDS: "A layer lets backward run twice for one forward.",
    STATE_WRONG: "The state a layer over time ends in is not its last output.",
    EPSILON: "The gradient is off by a trace: log(y + 1e-7) differentiated as if it were log(y).",
    NOT_LINEAR: "A mask or a clip on dy, or dy left out: backward is a linear function of dy.",
    FORWARD: "The outputs differ from those of the reference, whatever the gradient is.",
    FLOAT32: "The layer computes in float32; the difference is no larger than its rounding.",
    UNKNOWN: "None of the above explains it; the evidence says where and how it differs.",
}
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
