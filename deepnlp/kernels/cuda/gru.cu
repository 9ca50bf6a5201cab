// The GRU, with its reset gate before or after the product. The formulas and their letters are
// those of layers/gru.py; gates stand in the order r, z, n. The rows of arrays are numbered by k here.

// r, z = sigmoid(a + p); u = r h_prev
extern "C" __global__ void gru_gates(
    Index N, Index H, Real* a, const Real* p, Index p_row, Index p_col, const Real* h_prev, Real* u
) {
    FOR_EACH(k, N, j, H) {
        Real* gates = a + k * 3 * H + j;
        const Real* share = p + k * p_row + j * p_col;
        const Real r = sigmoid(gates[0] + share[0]);
        gates[0] = r;
        gates[H] = sigmoid(gates[H] + share[H * p_col]);
        u[k * H + j] = r * h_prev[k * H + j];
    }
}

__device__ Real between(Real n, Real z, Real h_prev) { return n + z * (h_prev - n); }

// n = tanh(a_n + p_n); h = (1 - z) n + z h_prev
extern "C" __global__ void gru_output(
    Index N, Index H, Real* a, const Real* p_n, Index p_row, Index p_col, const Real* h_prev, Real* h
) {
    FOR_EACH(k, N, j, H) {
        Real* gates = a + k * 3 * H + j;
        const Real n = tanh(gates[2 * H] + p_n[k * p_row + j * p_col]);
        gates[2 * H] = n;
        h[k * H + j] = between(n, gates[H], h_prev[k * H + j]);
    }
}

// p += bh; r, z = sigmoid(a + p); n = tanh(a_n + r p_n); h = (1 - z) n + z h_prev
// Of p only the block n is asked for later, so only that is written.
extern "C" __global__ void gru_step(
    Index N, Index H, Real* a, Real* p, Index p_row, Index p_col, const Real* bh,
    const Real* h_prev, Real* h
) {
    FOR_EACH(k, N, j, H) {
        Real* gates = a + k * 3 * H + j;
        Real* share = p + k * p_row + j * p_col;
        const Index next = H * p_col;  // from one gate to the next
        Real p_r = share[0], p_z = share[next], p_n = share[2 * next];
        if (bh) {
            p_r += bh[j];
            p_z += bh[H + j];
            p_n += bh[2 * H + j];
            share[2 * next] = p_n;
        }
        const Real r = sigmoid(gates[0] + p_r);
        const Real z = sigmoid(gates[H] + p_z);
        const Real n = tanh(gates[2 * H] + r * p_n);
        gates[0] = r;
        gates[H] = z;
        gates[2 * H] = n;
        h[k * H + j] = between(n, z, h_prev[k * H + j]);
    }
}

// dh/da_r (or du/da_r, where there is no p_n), dh/da_z, dh/da_n into da
extern "C" __global__ void gru_slopes(
    Index N, Index H, const Real* gates, const Real* h_prev,
    const Real* p_n, Index p_row, Index p_col, Real* da
) {
    FOR_EACH(k, N, j, H) {
        const Real* gate = gates + k * 3 * H + j;
        const Real r = gate[0], z = gate[H], n = gate[2 * H];
        const Real before = h_prev[k * H + j];
        const Real dn = (1 - z) * tanh_grad(n);
        Real* slope = da + k * 3 * H + j;
        slope[0] = (p_n ? dn * p_n[k * p_row + j * p_col] : before) * sigmoid_grad(r);
        slope[H] = (before - n) * sigmoid_grad(z);
        slope[2 * H] = dn;
    }
}

// dh = dh_above + dh_next; da_z, da_n *= dh; dh_prev = dh z, the part that comes past the gates
extern "C" __global__ void gru_output_backward(
    Index N, Index H,
    const Real* dh_above, Index above_row, Index above_col,
    const Real* dh_next, Index next_row, Index next_col,
    Real* dh_prev, const Real* gates, Real* da
) {
    FOR_EACH(k, N, j, H) {
        const Real dh =
            dh_above[k * above_row + j * above_col] + dh_next[k * next_row + j * next_col];
        Real* slope = da + k * 3 * H + j;
        slope[H] *= dh;
        slope[2 * H] *= dh;
        dh_prev[k * H + j] = dh * gates[k * 3 * H + H + j];
    }
}

// da_r *= du; dh_prev += du r
extern "C" __global__ void gru_gates_backward(
    Index N, Index H, const Real* du, Index du_row, Index du_col, Real* dh_prev, const Real* gates,
    Real* da
) {
    FOR_EACH(k, N, j, H) {
        const Real d = du[k * du_row + j * du_col];
        da[k * 3 * H + j] *= d;
        dh_prev[k * H + j] += d * gates[k * 3 * H + j];
    }
}

// dh = dh_above + dh_next; da *= dh; dp = da (dp_n = da_n r); dh_prev = dh z
extern "C" __global__ void gru_step_backward(
    Index N, Index H,
    const Real* dh_above, Index above_row, Index above_col,
    const Real* dh_next, Index next_row, Index next_col,
    Real* dh_prev, const Real* gates, Real* da, Real* dp
) {
    FOR_EACH(k, N, j, H) {
        const Real dh =
            dh_above[k * above_row + j * above_col] + dh_next[k * next_row + j * next_col];
        const Real* gate = gates + k * 3 * H + j;
        Real* slope = da + k * 3 * H + j;
        Real* share = dp + k * 3 * H + j;
        share[0] = slope[0] *= dh;
        share[H] = slope[H] *= dh;
        share[2 * H] = (slope[2 * H] *= dh) * gate[0];
        dh_prev[k * H + j] = dh * gate[H];
    }
}
