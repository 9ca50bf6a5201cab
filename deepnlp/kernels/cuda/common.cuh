// The beginning of every source of this folder, put in front of each before compiling. The compiler's
// options define REAL (float or double), BLOCK, TOGETHER and WEIGHTS: see launching.py.

typedef REAL Real;
typedef long long Index;             // 64 bits: an array may have more than 2^31 entries
typedef unsigned long long Word;

#ifndef MEMORY_OF_BLOCK  // which tests without a GPU define otherwise
#define MEMORY_OF_BLOCK(Type, name) extern __shared__ Type name[]
#endif

// Every entry (n, j) of an (N, M) array, shared out between the threads of a grid whose y runs
// over rows and whose x runs over columns.
#define FOR_EACH(n, N, j, M)                                                                 \
    for (Index n = blockIdx.y; n < N; n += gridDim.y)                                        \
        for (Index j = (Index)blockIdx.x * blockDim.x + threadIdx.x; j < M;                  \
             j += (Index)gridDim.x * blockDim.x)

__device__ Real sigmoid(Real x) { return Real(0.5) * tanh(Real(0.5) * x) + Real(0.5); }
__device__ Real sigmoid_grad(Real y) { return y * (1 - y); }
__device__ Real tanh_grad(Real y) { return 1 - y * y; }

struct Sum {
    template <typename Number>
    static __device__ Number join(Number a, Number b) { return a + b; }
};

struct Max {
    template <typename Number>
    static __device__ Number join(Number a, Number b) { return a > b ? a : b; }
};

// One number from each of the BLOCK threads of a block, joined; every thread gets the result. The
// order is always the same, so the last bit is too.
template <typename Join, typename Number>
__device__ Number over_block(Number mine) {
    __shared__ Number parts[BLOCK];
    __syncthreads();  // until no thread reads the result of the last call any more
    parts[threadIdx.x] = mine;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            parts[threadIdx.x] = Join::join(parts[threadIdx.x], parts[threadIdx.x + half]);
        __syncthreads();
    }
    return parts[0];
}

// The weights that one launch changes, an argument of the launch by value: nothing has to be copied
// to the device before. weights.py has the same layout.
struct Weight {
    Real* W;
    Real* g;
    Real* kept[2];
    Index size;
    Index first;   // the blocks first ... first + blocks - 1 of the grid work on this weight
    Index blocks;
    double scalars[7];
};

struct Weights {
    Index count;
    Weight list[WEIGHTS];
};

__device__ const Weight& weight_of_block(const Weights& weights) {
    Index k = 0;
    while (k + 1 < weights.count && blockIdx.x >= weights.list[k + 1].first) ++k;
    return weights.list[k];
}

// Every entry i of a weight, shared out between its blocks.
#define FOR_EACH_ENTRY(i, weight)                                                            \
    for (Index i = (blockIdx.x - weight.first) * BLOCK + threadIdx.x; i < weight.size;       \
         i += weight.blocks * BLOCK)
