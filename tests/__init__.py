"""The tests. What is set here is set before anything imports NumPy: one BLAS thread, NumPy."""

import os

for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
os.environ.pop("DEEPNLP_BACKEND", None)
