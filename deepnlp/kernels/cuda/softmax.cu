// The softmax with its loss: one block reads one row of scores, forth and never back to memory.
// The scores stay as they were; backward knows the probabilities from the row's log of the sum of
// exponentials (lse): p = exp(s + b - lse).

__device__ Real score(const Real* s, const Real* b, Index j) { return b ? s[j] + b[j] : s[j]; }

extern "C" __global__ void softmax_nll(
    Index rows, Index V, const Real* s, const Real* b, const Index* t, Real* nll, Real* lse
) {
    for (Index n = blockIdx.x; n < rows; n += gridDim.x) {
        const Real* s_n = s + n * V;
        Real largest = score(s_n, b, 0);  // cancels, and nothing overflows
        for (Index j = threadIdx.x; j < V; j += BLOCK)
            largest = Max::join(largest, score(s_n, b, j));
        largest = over_block<Max>(largest);

        Real total = 0;
        for (Index j = threadIdx.x; j < V; j += BLOCK) total += exp(score(s_n, b, j) - largest);
        total = over_block<Sum>(total);

        if (threadIdx.x == 0) {
            const Index target = t[n];
            const bool exists = 0 <= target && target < V;  // else no number, but no foreign memory
            const Real s_t = exists ? score(s_n, b, target) : Real(nan(""));
            nll[n] = log(total) - (s_t - largest);
            lse[n] = log(total) + largest;
        }
    }
}

// s = p - [j = t], which a factor of each row makes the gradient by the scores
extern "C" __global__ void softmax_nll_backward(
    Index rows, Index V, Real* s, const Real* b, const Index* t, const Real* lse
) {
    FOR_EACH(n, rows, j, V) {
        Real* s_n = s + n * V;
        s_n[j] = exp(score(s_n, b, j) - lse[n]) - Real(j == t[n]);
    }
}
