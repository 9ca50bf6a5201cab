// The optimizers' formulas, over all weights in one launch. The letters are those of
// optimizers/; weights.py says in which order the scalars stand.

__device__ Real decayed(const Weight& weight, Index i, Real decay) {
    return decay != 0 ? weight.g[i] + decay * weight.W[i] : weight.g[i];
}

// W -= lr g
extern "C" __global__ void update_sgd(const __grid_constant__ Weights weights) {
    const Weight& weight = weight_of_block(weights);
    const Real lr = weight.scalars[0], decay = weight.scalars[1];
    FOR_EACH_ENTRY(i, weight) weight.W[i] -= lr * decayed(weight, i, decay);
}

// v = mu v + g; W -= lr v
extern "C" __global__ void update_momentum(const __grid_constant__ Weights weights) {
    const Weight& weight = weight_of_block(weights);
    const Real lr = weight.scalars[0], mu = weight.scalars[1], decay = weight.scalars[2];
    FOR_EACH_ENTRY(i, weight) {
        const Real v = mu * weight.kept[0][i] + decayed(weight, i, decay);
        weight.kept[0][i] = v;
        weight.W[i] -= lr * v;
    }
}

// v = mu v + g; W -= lr (g + mu v)
extern "C" __global__ void update_nesterov(const __grid_constant__ Weights weights) {
    const Weight& weight = weight_of_block(weights);
    const Real lr = weight.scalars[0], mu = weight.scalars[1], decay = weight.scalars[2];
    FOR_EACH_ENTRY(i, weight) {
        const Real g = decayed(weight, i, decay);
        const Real v = mu * weight.kept[0][i] + g;
        weight.kept[0][i] = v;
        weight.W[i] -= lr * (g + mu * v);
    }
}

// s += g^2; W -= lr g / (sqrt(s) + eps)
extern "C" __global__ void update_adagrad(const __grid_constant__ Weights weights) {
    const Weight& weight = weight_of_block(weights);
    const Real lr = weight.scalars[0], eps = weight.scalars[1], decay = weight.scalars[2];
    FOR_EACH_ENTRY(i, weight) {
        const Real g = decayed(weight, i, decay);
        const Real s = weight.kept[0][i] + g * g;
        weight.kept[0][i] = s;
        weight.W[i] -= lr * g / (sqrt(s) + eps);
    }
}

// s = alpha s + (1 - alpha) g^2; W -= lr g / (sqrt(s) + eps)
extern "C" __global__ void update_rmsprop(const __grid_constant__ Weights weights) {
    const Weight& weight = weight_of_block(weights);
    const Real lr = weight.scalars[0], alpha = weight.scalars[1], eps = weight.scalars[2];
    const Real rest = 1 - weight.scalars[1], decay = weight.scalars[3];
    FOR_EACH_ENTRY(i, weight) {
        const Real g = decayed(weight, i, decay);
        const Real s = alpha * weight.kept[0][i] + rest * g * g;
        weight.kept[0][i] = s;
        weight.W[i] -= lr * g / (sqrt(s) + eps);
    }
}

// W *= shrink; m += (1 - beta1) (g - m); s = beta2 s + (1 - beta2) g^2;
// W -= step m / (sqrt(s) / root + eps)
// Adam has shrink = 1, AdamW has decay = 0.
extern "C" __global__ void update_adam(const __grid_constant__ Weights weights) {
    const Weight& weight = weight_of_block(weights);
    const Real rest1 = 1 - weight.scalars[0];
    const Real beta2 = weight.scalars[1], rest2 = 1 - weight.scalars[1];
    const Real step = weight.scalars[2], root = weight.scalars[3], eps = weight.scalars[4];
    const Real decay = weight.scalars[5], shrink = weight.scalars[6];
    FOR_EACH_ENTRY(i, weight) {
        const Real g = decayed(weight, i, decay);
        const Real m = weight.kept[0][i] + rest1 * (g - weight.kept[0][i]);
        const Real s = beta2 * weight.kept[1][i] + rest2 * g * g;
        weight.kept[0][i] = m;
        weight.kept[1][i] = s;
        weight.W[i] = shrink * weight.W[i] - step * m / (sqrt(s) / root + eps);
    }
}
