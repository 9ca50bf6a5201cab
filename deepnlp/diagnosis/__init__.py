"""Find the mistake that would give exactly the wrong gradient that was found.

:mod:`deepnlp.gradcheck` compares a backward with numbers; where the two disagree it calls
:func:`diagnose`. The forward is run once on a ``tape`` that notes what
was computed from what (``trace``); each of the ``mistakes`` predicts from a ``problem`` what a
known mistake would have given; ``explaining`` ranks those that predict the gradient that was found.
"""

from deepnlp.diagnosis.explaining import diagnose

__all__ = ["diagnose"]
