# An affine layer, as in CS231n: two functions and a cache.
# check: affine --input "x=5,4" --weight "w=4,3" --weight "b=3"
import numpy as np


def affine_forward(x, w, b):
    out = x @ w + b
    cache = (x, w, b)
    return out, cache


def affine_backward(dout, cache):
    x, w, b = cache
    dx = dout @ w.T
    dw = x.T @ dout
    db = dout.mean(axis=0)
    return dx, dw, db
