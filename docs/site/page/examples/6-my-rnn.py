# A class of one's own: an RNN over time, with its gradients in attributes.
# check: MyRNN --input "x=2,4,3" --weight "Wx=3,5" --weight "Wh=5,5" --weight "b=5"
import numpy as np


class MyRNN:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x):
        N, T, D = x.shape
        self.x = x
        self.h = np.zeros((N, T + 1, len(self.b)), dtype=x.dtype)
        for t in range(T):
            a = x[:, t] @ self.Wx + self.h[:, t] @ self.Wh + self.b
            self.h[:, t + 1] = np.tanh(a)
        return self.h[:, 1:]

    def backward(self, dh):
        N, T, D = self.x.shape
        self.dWx, self.dWh = np.zeros_like(self.Wx), np.zeros_like(self.Wh)
        self.db = np.zeros_like(self.b)
        dx = np.zeros_like(self.x)
        dh_next = 0
        for t in reversed(range(T)):
            da = (dh[:, t] + dh_next) * (1 - self.h[:, t + 1] ** 2)
            self.dWx += self.x[:, t].T @ da
            self.dWh += self.h[:, t + 1].T @ da
            self.db += da.sum(axis=0)
            dx[:, t] = da @ self.Wx.T
            dh_next = da @ self.Wh.T
        return dx
