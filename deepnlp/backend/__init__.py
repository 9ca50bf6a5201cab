"""The arrays that everything computes with, and what is done with them before there is a layer.

``arrays`` is the switch between NumPy and CuPy and the doors between host and device; ``random``
and ``checks`` stand beside it. ``functions`` are sigmoid, softmax and friends, ``products`` large
matrix products, ``threads`` the work shared out on the host, ``initialisers`` fresh weights.
"""

from deepnlp.backend.arrays import (
    NAMES,
    Array,
    HostArray,
    asarray,
    asnumpy,
    check_ids,
    erf,
    float_type,
    name,
    table_rows,
    use,
    use_module,
    use_tf32,
    xp,
)
from deepnlp.backend.checks import check_memory, check_number, check_numbers, check_shape
from deepnlp.backend.random import Generator, Rng, host_generator, philox_uint16, rng, seed
from deepnlp.backend.threads import cache_blocks

__all__ = [
    "NAMES", "Array", "Generator", "HostArray", "Rng", "asarray", "asnumpy", "cache_blocks",
    "check_ids", "check_memory", "check_number", "check_numbers", "check_shape", "erf",
    "float_type", "host_generator", "name", "philox_uint16", "rng", "seed", "table_rows", "use",
    "use_module", "use_tf32", "xp",
]  # fmt: skip
