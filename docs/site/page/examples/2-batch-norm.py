# Batch norm, as in CS231n. "Gradient error 1e0", and nothing says why.
# check: batchnorm --input "x=6,4" --weight "gamma=4" --weight "beta=4" --input "bn_param={'mode': 'train'}"
import numpy as np


def batchnorm_forward(x, gamma, beta, bn_param):
    eps = bn_param.get("eps", 1e-5)
    mu = x.mean(axis=0)
    var = x.var(axis=0)
    std = np.sqrt(var + eps)
    x_hat = (x - mu) / std
    out = gamma * x_hat + beta
    cache = (x, mu, std, x_hat, gamma)
    return out, cache


def batchnorm_backward(dout, cache):
    x, mu, std, x_hat, gamma = cache
    N = len(x)
    dbeta = dout.sum(axis=0)
    dgamma = (dout * x_hat).sum(axis=0)
    dx_hat = dout * gamma
    dvar = (dx_hat * (x - mu)).sum(axis=0) * -0.5 * std**-2
    dmu = -(dx_hat / std).sum(axis=0)
    dx = dx_hat / std + dvar * 2 * (x - mu) / N + dmu / N
    return dx, dgamma, dbeta
