"""Loading the model that a command was given."""

from pathlib import Path

from deepnlp import checkpoint
from deepnlp.errors import DeepNLPError
from deepnlp.models import RNNLM


def load_model(path: str) -> RNNLM:
    """Load a language model from a run folder or a checkpoint.

    Parameters
    ----------
    path : str

    Returns
    -------
    RNNLM

    Raises
    ------
    FileNotFoundError
        If there is none.
    DeepNLPError
        If the file is damaged, or holds another kind of model.

    Examples
    --------
    >>> load_model("runs/none-of-that-name")
    Traceback (most recent call last):
        ...
    FileNotFoundError: no checkpoint runs/none-of-that-name
    """
    model = checkpoint.load(path)
    if not isinstance(model, RNNLM):
        raise DeepNLPError(
            f"{path} holds a {type(model).__name__}, expected an RNNLM, as deepnlp train makes"
        )
    return model


def run_folder_of(path: str) -> Path | None:
    """The run folder that a model belongs to.

    Parameters
    ----------
    path : str
        A folder, or a file in one.

    Returns
    -------
    pathlib.Path or None
        None where there is no ``config.toml``.

    Examples
    --------
    >>> run_folder_of("runs/none-of-that-name") is None
    True
    """
    folder = Path(path) if Path(path).is_dir() else Path(path).parent
    return folder if (folder / "config.toml").is_file() else None
