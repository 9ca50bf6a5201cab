"""Options that several models share, for the signatures of their constructors."""

import hashlib
from collections.abc import Mapping, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Annotated, Any

from deepnlp.backend.initialisers import SCHEMES
from deepnlp.layers import (
    TimeGRU,
    TimeLinearAttention,
    TimeLSTM,
    TimeMinGRU,
    TimeMinLSTM,
    TimeMLSTM,
    TimeMogrifierLSTM,
    TimeRNN,
    TimeStateSpace,
)
from deepnlp.layers.lstm import LARGEST_BIAS
from deepnlp.layers.recurrent import TimeRecurrent
from deepnlp.layers.rnn import ACTIVATIONS
from deepnlp.options import Option


class Cells(dict[str, Any]):
    """The recurrent layers over time that a model can be built of, by name."""

    expected = ", or FILE.py:NAME; a cell in a file of your own, unchanged since the model was made"


CELLS = Cells(
    lstm=TimeLSTM,
    gru=TimeGRU,
    rnn=TimeRNN,
    mogrifier=TimeMogrifierLSTM,
    mingru=TimeMinGRU,
    minlstm=TimeMinLSTM,
    gla=TimeLinearAttention,
    ssm=TimeStateSpace,
    mlstm=TimeMLSTM,
)
TIES = ("none", "tied", "tied+L")

Ids = Sequence[int] | None

Activation = Annotated[str, Option(choices=ACTIVATIONS)]
Bound = Annotated[float, Option(above=0, high=1000)]
Chance = Annotated[float | None, Option(low=0, below=1)]
ForgetBias = Annotated[float | None, Option(low=-LARGEST_BIAS, high=LARGEST_BIAS)]
Positive = Annotated[float, Option(above=0)]
Rounds = Annotated[int, Option(low=0, high=100)]
Size = Annotated[int, Option(low=1)]
SizeOrNone = Annotated[int | None, Option(low=1)]
Sizes = Annotated[int | list[int], Option(low=1)]
Tie = Annotated[str, Option(choices=TIES)]
Weight = Annotated[float, Option(low=0)]
Layers = Annotated[int, Option(low=1, high=100)]
Cell = Annotated[str, Option(choices=CELLS)]
Init = Annotated[str, Option(choices=SCHEMES)]
Probability = Annotated[float, Option(low=0, below=1)]
Switch = Annotated[bool, Option()]
DType = Annotated[Any, Option(choices=("float32", "float64"))]


def refuse(owner: str, broken: Mapping[str, bool]) -> None:
    """Raise a ValueError with the first message that holds: options do not fit each other.

    >>> refuse("RNNLM", {"never": False, "tie='tied' needs D = H": True})
    Traceback (most recent call last):
        ...
    ValueError: RNNLM: tie='tied' needs D = H
    """
    for message, holds in broken.items():
        if holds:
            raise ValueError(f"{owner}: {message}")


def cell_options(cell: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the options that the fresh weights of a cell depend on.

    >>> cell_options("gru", {"reset_after": True, "forget_bias": 1.0})
    {'reset_after': True}
    """
    return {name: given[name] for name in CELLS[cell].init_options if name in given}


def check_cell(owner: str, cell: str, **given: Any) -> None:
    """Raise an error where an option of one kind of cell meets another."""
    for name, value in given.items():
        cells = " or ".join(repr(kind) for kind in CELLS if cell_options(kind, {name: value}))
        message = f"{name} is an option of cell={cells}, got cell={cell!r}"
        refuse(owner, {message: bool(value) and not cell_options(cell, {name: value})})


def cell_of_file(place: str) -> str:
    """Run a file of the user's own, and enter its cell among :data:`CELLS`.

    Parameters
    ----------
    place : str
        The file and the name of a class in it: ``"cells/mgu.py:MGU"``.

    Returns
    -------
    str
        The name of the cell, for ``RNNLM(cell=...)``: file, class, and a digest of the file. A
        checkpoint holds this name, and is loaded where a file of the same source was entered.

    Raises
    ------
    FileNotFoundError, ValueError
        If there is no such file, or no recurrent layer over time of that name in it.
    """
    file, _, name = place.rpartition(":")
    source = Path(file).read_bytes()
    spec: Any = spec_from_file_location(Path(file).stem, file)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    cell = getattr(module, name, None)
    if not (isinstance(cell, type) and issubclass(cell, TimeRecurrent)):
        raise ValueError(f"{file} should have a class {name} derived from TimeRecurrent")
    key = f"{Path(file).name}:{name}#{hashlib.sha256(source).hexdigest()[:12]}"
    CELLS[key] = cell
    return key
