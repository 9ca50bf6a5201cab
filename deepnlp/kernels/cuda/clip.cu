// Clipping of all gradients by their common norm, which never leaves the device.

// Each block's share of the sum of squares, into its place among the parts.
extern "C" __global__ void clip_sum(const __grid_constant__ Weights weights, double* parts) {
    const Weight& weight = weight_of_block(weights);
    double sum = 0;  // in which no square of a float overflows
    FOR_EACH_ENTRY(i, weight) sum += double(weight.g[i]) * double(weight.g[i]);
    const double whole = over_block<Sum>(sum);
    if (threadIdx.x == 0) parts[blockIdx.x] = whole;
}

// n = sqrt(sum of all parts); g *= min(1, max_norm / (n + 1e-6))
extern "C" __global__ void clip_scale(
    const __grid_constant__ Weights weights, const double* parts, Index count, double max_norm,
    double* norm
) {
    double sum = 0;
    for (Index k = threadIdx.x; k < count; k += BLOCK) sum += parts[k];
    const double n = sqrt(over_block<Sum>(sum));
    if (blockIdx.x == 0 && threadIdx.x == 0) *norm = n;

    const double scale = max_norm / (n + 1e-6);
    if (weights.count == 0 || scale >= 1) return;  // a norm that is no number goes on, and shows
    const Weight& weight = weight_of_block(weights);
    FOR_EACH_ENTRY(i, weight) weight.g[i] = Real(weight.g[i] * scale);
}
