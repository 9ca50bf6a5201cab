// All steps of an LSTM in one launch, where the steps of lstm.cu are a product and a launch each. The
// formulas and their letters are those of layers/lstm.py.
//
// A block has a few units of the layer, the weights that lead to them (on the way back, from them) in
// its shared memory, and all rows of the batch. A step is the product of what all blocks wrote in the
// step before, h or da, with these weights; the gates; and a wait for all blocks. So all blocks must
// be on the device at once: launching.py launches them together, at most one a multiprocessor.
//
// What the blocks exchange, x, has the rows of the batch last, filled up to a multiple of 4: a thread
// reads and multiplies four of them by four columns. Two such arrays take turns from step to step.

struct alignas(4 * sizeof(Real)) Four { Real of[4]; };

// From where another block may have written, past the cache of this multiprocessor.
__device__ Four fresh(const Real* from) {
    if constexpr (sizeof(Real) == sizeof(float)) {
        const float4 read = __ldcg((const float4*)from);
        return {{Real(read.x), Real(read.y), Real(read.z), Real(read.w)}};
    } else
        return {{__ldcg(from), __ldcg(from + 1), __ldcg(from + 2), __ldcg(from + 3)}};
}

// Go on when all blocks are here for the time that makes `goal` arrivals.
__device__ void wait_for_all_blocks(unsigned* arrived, unsigned goal) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();  // what this block has written is seen by the others
        atomicAdd(arrived, 1u);
        while (*(volatile unsigned*)arrived < goal) __nanosleep(20);
        __threadfence();
    }
    __syncthreads();
}

// x^T W from x (K, rows) and W (K, 4 columns), in tiles of 4 by 4. The threads that share a tile have
// every so many of its K terms each, and leave their sums in `parts`.
__device__ void product(
    const Real* x, Index K, Index rows, const Four* W, Index columns, Four* parts
) {
    const int groups = rows / 4, tiles = groups * columns, sharing = blockDim.x / tiles;
    const int tile = threadIdx.x % tiles, part = threadIdx.x / tiles;
    if (part < sharing) {
        Real sum[4][4] = {};
        const Real* row = x + 4 * (tile % groups);
        const Four* column = W + tile / groups;
#pragma unroll 8
        for (int k = part; k < K; k += sharing) {
            const Four a = fresh(row + k * rows), b = column[k * columns];
#pragma unroll
            for (int n = 0; n < 4; ++n)
#pragma unroll
                for (int j = 0; j < 4; ++j) sum[n][j] += a.of[n] * b.of[j];
        }
#pragma unroll
        for (int n = 0; n < 4; ++n)
            parts[4 * threadIdx.x + n] = {{sum[n][0], sum[n][1], sum[n][2], sum[n][3]}};
    }
    __syncthreads();
}

// Row n and column j of a tile: the parts, always added up in the same order.
__device__ Real total(const Four* parts, Index tiles, Index tile, Index n, Index j) {
    Real sum = 0;
    for (int part = 0; part < blockDim.x / tiles; ++part)
        sum += parts[4 * (part * tiles + tile) + n].of[j];
    return sum;
}

// lstm_step at every t. a (T, N, 4H) becomes the gates; h and c (T + 1, N, H) have at t the state before
// step t; tanh_c (T, N, H) is written; x (2, H, rows) is what the blocks exchange.
extern "C" __global__ void __launch_bounds__(TOGETHER) loop_lstm(
    Index T, Index N, Index H, Index units_each, Real* a, const Real* Wh, Real* h, Real* c,
    Real* tanh_c, Real* x, unsigned* arrived
) {
    MEMORY_OF_BLOCK(Four, weights);  // (H, units): of each unit the weights of its four gates
    const Index first = blockIdx.x * units_each, rows = (N + 3) / 4 * 4;
    const Index units = units_each < H - first ? units_each : H - first;
    Four* parts = weights + H * units;
    for (Index entry = threadIdx.x; entry < H * units; entry += blockDim.x) {
        const Real* w = Wh + entry / units * 4 * H + first + entry % units;
        weights[entry] = {{w[0 * H], w[1 * H], w[2 * H], w[3 * H]}};
    }
    for (Index entry = threadIdx.x; entry < units * rows; entry += blockDim.x) {
        const Index u = entry / rows, n = entry % rows;
        if (n < N) x[first * rows + entry] = h[n * H + first + u];
    }
    for (Index t = 0; t < T; ++t) {
        wait_for_all_blocks(arrived, (t + 1) * gridDim.x);
        product(x + t % 2 * H * rows, H, rows, weights, units, parts);
        Real* x_next = x + (t + 1) % 2 * H * rows + first * rows;
        for (Index entry = threadIdx.x; entry < units * rows; entry += blockDim.x) {
            const Index u = entry / rows, n = entry % rows;
            if (n >= N) continue;
            Real p[4];  // h_prev Wh
#pragma unroll
            for (int k = 0; k < 4; ++k)
                p[k] = total(parts, units * rows / 4, entry / 4, entry % 4, k);
            const Index row = t * N + n, at = row * H + first + u, after = at + N * H;
            Real* gates = a + row * 4 * H + first + u;
            const Real i = sigmoid(gates[0 * H] + p[0]);
            const Real f = sigmoid(gates[1 * H] + p[1]);
            const Real g = tanh(gates[2 * H] + p[2]);
            const Real o = sigmoid(gates[3 * H] + p[3]);
            gates[0 * H] = i;
            gates[1 * H] = f;
            gates[2 * H] = g;
            gates[3 * H] = o;
            const Real cell = f * c[at] + i * g;
            const Real squashed = tanh(cell);
            c[after] = cell;
            tanh_c[at] = squashed;
            h[after] = o * squashed;
            x_next[entry] = o * squashed;
        }
    }
}

// lstm_step_backward at every t, last step first. The slopes in da (T, N, 4H) become gradients; dh and
// dc (N, H), given with respect to the last state, become those with respect to the first; dh_above and
// dh_dc are (T, N, H), x is (2, 4H, rows).
extern "C" __global__ void __launch_bounds__(TOGETHER) loop_lstm_backward(
    Index T, Index N, Index H, Index units_each, const Real* dh_above, const Real* gates,
    const Real* Wh, const Real* dh_dc, Real* da, Real* dh, Real* dc, Real* x, unsigned* arrived
) {
    MEMORY_OF_BLOCK(Four, weights);  // (4H, quads): from each a to four units
    const Index first = blockIdx.x * units_each, rows = (N + 3) / 4 * 4;
    const Index units = units_each < H - first ? units_each : H - first;
    const Index quads = (units + 3) / 4;
    Four* parts = weights + 4 * H * quads;
    for (Index entry = threadIdx.x; entry < 16 * H * quads; entry += blockDim.x) {
        const Index k = entry % (4 * H), u = entry / (4 * H);
        weights[k * quads + u / 4].of[u % 4] = u < units ? Wh[(first + u) * 4 * H + k] : 0;
    }
    for (Index t = T - 1; t >= 0; --t) {
        Real* x_now = x + t % 2 * 4 * H * rows;
        for (Index entry = threadIdx.x; entry < units * rows; entry += blockDim.x) {
            const Index u = entry / rows, n = entry % rows;
            if (n >= N) continue;
            const Index at = n * H + first + u, now = t * N * H + at;
            const Index gate = (t * N + n) * 4 * H + first + u;
            // h_t goes to the layer above and to the next step: a sum
            const Real d = dh_above[now] + dh[at];
            // c_t acts through later steps and through h_t = o tanh(c_t): a sum too
            const Real cell = dc[at] + d * dh_dc[now];
            // a_i, a_f, a_g lead to c_t, a_o leads to h_t: the gradient there times the slope
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const Real gradient = da[gate + k * H] * (k < 3 ? cell : d);
                da[gate + k * H] = gradient;
                x_now[(k * H + first + u) * rows + n] = gradient;
            }
            dc[at] = cell * gates[gate + H];  // c_t = f c_(t-1) + i g
        }
        wait_for_all_blocks(arrived, (T - t) * gridDim.x);
        product(x_now, 4 * H, rows, weights, quads, parts);  // a_t = ... + h_(t-1) Wh: da Wh^T
        for (Index entry = threadIdx.x; entry < units * rows; entry += blockDim.x) {
            const Index u = entry / rows, n = entry % rows;
            if (n >= N) continue;
            const Index tile = u / 4 * (rows / 4) + n / 4;
            dh[n * H + first + u] = total(parts, quads * rows / 4, tile, n % 4, u % 4);
        }
    }
}
