# word2vec with negative sampling, as in CS224n: a function that gives the loss and its gradients.
# check: neg_sampling_loss --call "neg_sampling_loss(center, 2, outside, [4, 1, 4, 5])"
import numpy as np

rng = np.random.default_rng(0)
center, outside = rng.normal(size=3), rng.normal(size=(7, 3))


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def neg_sampling_loss(center_vec, outside_idx, outside_vecs, negatives):
    u_o = outside_vecs[outside_idx]
    u_k = outside_vecs[negatives]
    p_o = sigmoid(u_o @ center_vec)
    p_k = sigmoid(-u_k @ center_vec)
    loss = -np.log(p_o) - np.log(p_k).sum()

    grad_center = (p_o - 1) * u_o + (1 - p_k) @ u_k
    grad_outside = np.zeros_like(outside_vecs)
    grad_outside[outside_idx] = (p_o - 1) * center_vec
    grad_outside[negatives] += np.outer(1 - p_k, center_vec)
    return loss, grad_center, grad_outside
