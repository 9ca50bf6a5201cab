// The LSTM. The formulas and their letters are those of layers/lstm.py; gates stand in the order
// i, f, g, o.

// i, f, o = sigmoid(a + p), g = tanh(a + p); c = f c_prev + i g; h = o tanh(c)
extern "C" __global__ void lstm_step(
    Index N, Index H, Real* a, const Real* p, Index p_row, Index p_col, const Real* c_prev,
    Real* h, Real* c, Real* tanh_c
) {
    FOR_EACH(n, N, j, H) {
        Real* gates = a + n * 4 * H + j;
        const Real* share = p + n * p_row + j * p_col;
        const Index next = H * p_col;  // from one gate to the next
        const Real i = sigmoid(gates[0 * H] + share[0 * next]);
        const Real f = sigmoid(gates[1 * H] + share[1 * next]);
        const Real g = tanh(gates[2 * H] + share[2 * next]);
        const Real o = sigmoid(gates[3 * H] + share[3 * next]);
        gates[0 * H] = i;
        gates[1 * H] = f;
        gates[2 * H] = g;
        gates[3 * H] = o;
        const Real cell = f * c_prev[n * H + j] + i * g;
        const Real squashed = tanh(cell);
        c[n * H + j] = cell;
        tanh_c[n * H + j] = squashed;
        h[n * H + j] = o * squashed;
    }
}

// dc/da_i, dc/da_f, dc/da_g, dh/da_o into da; dh/dc in place of tanh(c)
extern "C" __global__ void lstm_slopes(
    Index N, Index H, const Real* gates, const Real* c_prev, Real* tanh_c, Real* da
) {
    FOR_EACH(n, N, j, H) {
        const Real* gate = gates + n * 4 * H + j;
        const Real i = gate[0 * H], f = gate[1 * H], g = gate[2 * H], o = gate[3 * H];
        const Real squashed = tanh_c[n * H + j];
        Real* slope = da + n * 4 * H + j;
        slope[0 * H] = g * sigmoid_grad(i);
        slope[1 * H] = c_prev[n * H + j] * sigmoid_grad(f);
        slope[2 * H] = i * tanh_grad(g);
        slope[3 * H] = squashed * sigmoid_grad(o);
        tanh_c[n * H + j] = o * tanh_grad(squashed);
    }
}

// dh = dh_above + dh_next; dc += dh dh/dc; da *= dc (da_o *= dh); dc *= f
extern "C" __global__ void lstm_step_backward(
    Index N, Index H,
    const Real* dh_above, Index above_row, Index above_col,
    const Real* dh_next, Index next_row, Index next_col,
    Real* dc, const Real* gates, const Real* dh_dc, Real* da
) {
    FOR_EACH(n, N, j, H) {
        const Real dh =
            dh_above[n * above_row + j * above_col] + dh_next[n * next_row + j * next_col];
        const Real cell = dc[n * H + j] + dh * dh_dc[n * H + j];
        Real* slope = da + n * 4 * H + j;
        slope[0 * H] *= cell;
        slope[1 * H] *= cell;
        slope[2 * H] *= cell;
        slope[3 * H] *= dh;
        dc[n * H + j] = cell * gates[n * 4 * H + H + j];
    }
}
