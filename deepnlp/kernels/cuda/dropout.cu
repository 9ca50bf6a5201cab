// Dropout, which draws its mask itself: the numbers of deepnlp.backend.philox_uint16, bit for bit.

// Four words that are a pure function of (key, counter): Philox4x64 with ten rounds (Salmon,
// Moraes, Dror, Shaw 2011), whose counter's and key's upper halves are 0 and `call`.
__device__ void philox(Word key, Word call, Word counter, Word* words) {
    Word c0 = counter, c1 = 0, c2 = 0, c3 = 0;
    for (int round = 0; round < 10; ++round) {
        const Word high0 = __umul64hi(0xD2E7470EE14C6C93ull, c0);
        const Word high2 = __umul64hi(0xCA5A826395121157ull, c2);
        const Word low0 = 0xD2E7470EE14C6C93ull * c0;
        const Word low2 = 0xCA5A826395121157ull * c2;
        c0 = high2 ^ c1 ^ key;
        c1 = low2;
        c2 = high0 ^ c3 ^ call;
        c3 = low0;
        key += 0x9E3779B97F4A7C15ull;
        call += 0xBB67AE8584CAA73Bull;
    }
    words[0] = c0;
    words[1] = c1;
    words[2] = c2;
    words[3] = c3;
}

// y = x scale where the mask's number is at least the threshold, else 0.
//
// The mask has `entries` numbers. In x each run of `inner` of them stands `repeats` times, one
// after the other: x (N, T, D) under a mask (N, 1, D) has inner = D and repeats = T.
// A block draws for four times as many entries as it has threads, then applies what it drew.
extern "C" __global__ void dropout(
    Index entries, Index repeats, Index inner, const Real* x, Real* y,
    Word key, Word call, Index threshold, double scale
) {
    __shared__ Word words[BLOCK];  // each holds four numbers of 16 bits, the first one lowest
    const Index span = 4 * BLOCK;
    const Index spans = (entries + span - 1) / span;
    for (Index work = blockIdx.x; work < spans * repeats; work += gridDim.x) {
        const Index start = work / repeats * span, repeat = work % repeats;
        // NumPy counts before it draws: its first four words have counter 1.
        if (threadIdx.x < BLOCK / 4)
            philox(key, call, start / 16 + threadIdx.x + 1, words + 4 * threadIdx.x);
        __syncthreads();
        for (int k = threadIdx.x; k < span && start + k < entries; k += BLOCK) {
            const Index number = words[k / 4] >> (16 * (k % 4)) & 0xFFFF;
            const Index m = start + k;
            const Index i = (m / inner * repeats + repeat) * inner + m % inner;
            y[i] = x[i] * (number >= threshold ? Real(scale) : Real(0));
        }
        __syncthreads();  // until all have used the words
    }
}
