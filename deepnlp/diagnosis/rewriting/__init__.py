"""Small changes of a learner's backward, tried one after the other: which of them makes it right?

The edits of the reverse pass say what is missing from a backward; a change of its source says what
stands there wrongly: an axis, an index, a name, a sign. A change counts only if it makes gradients
right that were wrong, and none wrong that was right.
"""

from deepnlp.diagnosis.rewriting.repairing import STEPS, STEPS_BESIDE, repairs

__all__ = ["STEPS", "STEPS_BESIDE", "repairs"]
