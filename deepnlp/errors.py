"""The exceptions that are deepnlp's own."""


class DeepNLPError(Exception):
    """Something a user can put right: the text says what was wrong, what was expected, what to do.

    The command line prints it on one line and exits with code 2. Where a built-in exception says
    the same (``ValueError``, ``TypeError``, ``FileNotFoundError``), that one is raised instead.
    """


class DivergedError(DeepNLPError):
    """The loss, the gradient or the validation of a training run is no longer finite.

    Examples
    --------
    >>> issubclass(DivergedError, DeepNLPError)
    True
    """
