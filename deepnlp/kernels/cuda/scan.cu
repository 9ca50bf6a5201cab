// A linear recurrence h_t = a_t h_(t-1) + b_t: all steps in one launch, a thread for each number.

// h (T + 1, M) has h_0 in its first row; b is (T, M), and a (T, M / repeats), each of whose numbers
// serves as many neighbours. Backwards, b is dy and h the gradient g, which has that with respect
// to the last state in its last row: g_(t+1) += dy_t, g_t = a_t g_(t+1).
extern "C" __global__ void scan(
    Index T, Index M, Index repeats, const Real* a, const Real* b, Real* h, Index backwards
) {
    for (Index j = (Index)blockIdx.x * blockDim.x + threadIdx.x; j < M;
         j += (Index)gridDim.x * blockDim.x) {
        const Index width = M / repeats, k = j / repeats;
        if (backwards) {
            Real g = h[T * M + j];
            for (Index t = T - 1; t >= 0; --t) {
                g += b[t * M + j];
                h[(t + 1) * M + j] = g;
                g *= a[t * width + k];
            }
            h[j] = g;
        } else {
            Real state = h[j];
            for (Index t = 0; t < T; ++t) {
                state = a[t * width + k] * state + b[t * M + j];
                h[(t + 1) * M + j] = state;
            }
        }
    }
}
