"""Small changes of a learner's backward, tried one after the other: which of them makes it right?

The edits of the reverse pass say what is missing from a backward; a change of its source says what
stands there wrongly: an axis, an index, a name, a sign. A change counts only if it makes gradients
right that were wrong, and none wrong that was right, also for other numbers and shapes.

Nothing of this runs the learner's code: ``evaluator`` evaluates its syntax tree, ``guard`` and
``allowed`` say what it may touch, ``trials`` evaluates a backward after one forward. ``locating``
compares its values with those of the tape. ``repairing`` makes and tries changes: ``rules`` reads
what could stand in place of a piece of code from a table, ``forms`` applies it, ``substituting``
puts in other values; ``proof`` tries a repair for other numbers. ``telling`` and ``wording`` put it
into words.
"""

from deepnlp.diagnosis.rewriting.locating import located
from deepnlp.diagnosis.rewriting.repairing import STEPS, STEPS_BESIDE, repairs

__all__ = ["STEPS", "STEPS_BESIDE", "located", "repairs"]
