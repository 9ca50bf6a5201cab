# The LSTM cell of the sequence models course: samples in columns, parameters and gradients in dicts.
# check: lstm_cell --call "lstm_cell(xt, a_prev, c_prev, parameters)"
import numpy as np

rng = np.random.default_rng(0)
xt, a_prev, c_prev = rng.normal(size=(3, 6)), rng.normal(size=(5, 6)), rng.normal(size=(5, 6))
parameters = {name: rng.normal(size=(5, 8)) for name in ("Wf", "Wi", "Wc", "Wo")}
parameters |= {name: rng.normal(size=(5, 1)) for name in ("bf", "bi", "bc", "bo")}


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def lstm_cell_forward(xt, a_prev, c_prev, parameters):
    concat = np.concatenate((a_prev, xt), axis=0)
    ft = sigmoid(parameters["Wf"] @ concat + parameters["bf"])
    it = sigmoid(parameters["Wi"] @ concat + parameters["bi"])
    cct = np.tanh(parameters["Wc"] @ concat + parameters["bc"])
    c_next = ft * c_prev + it * cct
    ot = sigmoid(parameters["Wo"] @ concat + parameters["bo"])
    a_next = ot * np.tanh(c_next)
    cache = (a_next, c_next, a_prev, c_prev, ft, it, cct, ot, xt, parameters)
    return a_next, c_next, cache


def lstm_cell_backward(da_next, dc_next, cache):
    a_next, c_next, a_prev, c_prev, ft, it, cct, ot, xt, parameters = cache
    n_a = a_next.shape[0]
    dot = da_next * np.tanh(c_next) * ot * (1 - ot)
    dc = dc_next + da_next * ot * (1 - np.tanh(c_next) ** 2)
    dcct = dc * it * (1 - cct**2)
    dit = dc * cct * it * (1 - it)
    dft = dc * c_next * ft * (1 - ft)
    concat = np.concatenate((a_prev, xt), axis=0)
    dWf, dbf = dft @ concat.T, dft.sum(axis=1, keepdims=True)
    dWi, dbi = dit @ concat.T, dit.sum(axis=1, keepdims=True)
    dWc, dbc = dcct @ concat.T, dcct.sum(axis=1, keepdims=True)
    dWo, dbo = dot @ concat.T, dot.sum(axis=1, keepdims=True)
    dconcat = (
        parameters["Wf"].T @ dft
        + parameters["Wi"].T @ dit
        + parameters["Wc"].T @ dcct
        + parameters["Wo"].T @ dot
    )
    da_prev, dxt = dconcat[:n_a], dconcat[n_a:]
    dc_prev = dc * ft
    return {
        "dxt": dxt,
        "da_prev": da_prev,
        "dc_prev": dc_prev,
        "dWf": dWf,
        "dbf": dbf,
        "dWi": dWi,
        "dbi": dbi,
        "dWc": dWc,
        "dbc": dbc,
        "dWo": dWo,
        "dbo": dbo,
    }
