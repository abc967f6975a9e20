// Softmax around a product that leaves powers instead of logits (product_powers): e = 2^(x w^T LOG2E - top - HEADROOM). A row's
// top is not its maximum, which nobody knows yet, but its target's logit in units of LN2, rounded. So sums stay finite while a loss
// is below (128 + HEADROOM) LN2 = 133, and what is 2^-62 of the target's power or less vanishes. One warp per row in all kernels.
constexpr float LN2 = 0.6931471805599453f;
constexpr int CHUNKS = C / VEC, ITER = (CHUNKS + 31) / 32;

struct Line { // a row of C numbers in a warp
    float x[ITER * VEC];
    __device__ __forceinline__ void load(const act* row) {
#pragma unroll
        for (int i = 0; i < ITER; i++) {
            int chunk = threadIdx.x % 32 + 32 * i;
            if (chunk < CHUNKS) ::load<VEC>(row + chunk * VEC, x + i * VEC);
            else for (int k = 0; k < VEC; k++) x[i * VEC + k] = 0;
        }
    }
    __device__ __forceinline__ void store(act* row, float factor) {
#pragma unroll
        for (int i = 0; i < ITER; i++) {
            int chunk = threadIdx.x % 32 + 32 * i;
#pragma unroll
            for (int k = 0; k < VEC; k++) x[i * VEC + k] *= factor;
            if (chunk < CHUNKS) ::store<VEC>(row + chunk * VEC, x + i * VEC);
        }
    }
    static __device__ __forceinline__ i64 row() { return ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32; }
};

// x (rows,C), w (V,C); target: its logit, top: see above, both (rows).
extern "C" __global__ void head_top(const act* x, const act* w, const int* targets, float* target, float* top, i64 rows) {
    i64 n = Line::row();
    if (n >= rows) return;
    Line a, b;
    a.load(x + n * C);
    b.load(w + (i64)targets[n] * C);
    float sum = 0;
#pragma unroll
    for (int i = 0; i < ITER * VEC; i++) sum += a.x[i] * b.x[i];
    sum = lanesSum<32>(sum);
    if (threadIdx.x % 32 == 0) target[n] = sum, top[n] = rintf(sum * LOG2E);
}

// losses (rows) from the sums (rows,POWERS) of e (rows,V). If asked, what the gradients need: e less its sum at the target,
// factors (rows), and scaled (rows,C) = factors x.
extern "C" __global__ void head_loss(const float* sums, const float* target, const float* top, const int* targets, float* losses,
        double scale, const act* x, act* e, float* factors, act* scaled, i64 gradient, i64 rows) {
    i64 n = Line::row();
    if (n >= rows) return;
    int lane = threadIdx.x % 32;
    Line a;
    if (gradient) a.load(x + n * C);
    float sum = 0;
#pragma unroll
    for (int i = 0; i < POWERS; i += 32) sum += i + lane < POWERS ? sums[n * POWERS + i + lane] : 0;
    sum = lanesSum<32>(sum);
    bool large = sum > 1; // a loss of 44 and more
    float more = large ? top[n] + HEADROOM : top[n];
    if (lane == 0) losses[n] = logf(large ? sum : ldexpf(sum, HEADROOM)) + (more * LN2 - target[n]);
    if (!gradient) return;
    // The target's gradient is as large as all others of its row together: the factor makes good for what it loses to rounding.
    float exact = power2(target[n] * LOG2E - top[n] - HEADROOM) - sum, kept = rounded(exact);
    float factor = (float)scale / sum * (kept == 0 ? 1 : exact / kept);
    if (lane == 0) factors[n] = factor, narrow(kept, e[n * V + targets[n]]);
    a.store(scaled + n * C, factor);
}

// dx (rows,C) times the row's factor.
extern "C" __global__ void head_scale(act* dx, const float* factors, i64 rows) {
    i64 n = Line::row();
    if (n >= rows) return;
    Line a;
    a.load(dx + n * C);
    a.store(dx + n * C, factors[n]);
}
