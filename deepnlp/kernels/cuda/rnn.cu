// The simple recurrent layer. The formulas and their letters are those of layers/rnn.py.

// h = f(a + p)
extern "C" __global__ void rnn_step(
    Index N, Index H, const Real* a, const Real* p, Index p_row, Index p_col, Real* h, Index relu
) {
    FOR_EACH(n, N, j, H) {
        const Real x = a[n * H + j] + p[n * p_row + j * p_col];
        h[n * H + j] = relu ? (x < 0 ? 0 : x) : tanh(x);  // "x < 0" lets a NaN through
    }
}

// da = f'(a), from h
extern "C" __global__ void rnn_slopes(Index N, Index H, const Real* h, Real* da, Index relu) {
    FOR_EACH(n, N, j, H) {
        const Real y = h[n * H + j];
        da[n * H + j] = relu ? Real(y > 0) : tanh_grad(y);
    }
}

// da *= dh_above + dh_next
extern "C" __global__ void rnn_step_backward(
    Index N, Index H,
    const Real* dh_above, Index above_row, Index above_col,
    const Real* dh_next, Index next_row, Index next_col,
    Real* da
) {
    FOR_EACH(n, N, j, H) {
        da[n * H + j] *=
            dh_above[n * above_row + j * above_col] + dh_next[n * next_row + j * next_col];
    }
}
