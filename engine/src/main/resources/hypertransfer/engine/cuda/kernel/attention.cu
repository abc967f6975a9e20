// Causal attention for any head size and format, with or without a window and shared keys, written plainly: the fallback, and
// what the fast kernels are compared with. A warp works on one query (or one key); its lanes each score one key (or query) of
// 32, then each sums some of the D columns.

constexpr int COLS = (D + 31) / 32; // columns of a lane
constexpr int SHARE = H / G; // heads of queries for each of keys and values

__device__ __forceinline__ float dot(const float* x, const act* y) {
    float sum = 0;
    for (int d = 0; d < D; d += VEC) {
        float v[VEC];
        load<VEC>(y + d, v);
#pragma unroll
        for (int k = 0; k < VEC; k++) sum += x[d + k] * v[k];
    }
    return sum;
}

__device__ __forceinline__ float warpMax(float x) {
#pragma unroll
    for (int o = 16; o > 0; o /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, o));
    return x;
}

// Where the query (part 0), key (1) or value (2) of token n that head h works with starts in qkv (N,QD).
__device__ __forceinline__ i64 part(i64 n, int part, int h) {
    return (n * (H + 2 * G) + (part ? H + (part - 1) * G + h / SHARE : h)) * D;
}

// The first key that query n sees.
__device__ __forceinline__ i64 firstKey(i64 n) { return n % T < WINDOW ? n / T * T : n - WINDOW + 1; }

__device__ __forceinline__ void fetch(float* to, const act* from, int lane, float scale) {
    for (int d = lane; d < D; d += 32) to[d] = scale * wide(from[d]);
}

// o (N,C), lse (N,H); count = N H.
extern "C" __global__ void attention(const act* qkv, act* o, float* lse, i64 count) {
    __shared__ float queries[WARPS][D];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    i64 at = (i64)blockIdx.x * WARPS + warp; // n H + h
    if (at >= count) return;
    int h = at % H;
    i64 n = at / H, first = firstKey(n);
    float* q = queries[warp];
    fetch(q, qkv + part(n, 0, h), lane, 1.f / sqrtf((float)D));
    __syncwarp();
    float max = -INF, sum = 0, acc[COLS] = {};
    for (i64 j0 = first; j0 <= n; j0 += 32) {
        i64 j = j0 + lane;
        float s = j <= n ? dot(q, qkv + part(j, 1, h)) : -INF;
        float top = fmaxf(max, warpMax(s)), keep = expf(max - top), p = expf(s - top);
        sum = sum * keep + lanesSum<32>(p);
        max = top;
#pragma unroll
        for (int c = 0; c < COLS; c++) acc[c] *= keep;
        int keys = n - j0 < 31 ? (int)(n - j0) + 1 : 32;
        for (int k = 0; k < keys; k++) {
            float pk = __shfl_sync(0xffffffffu, p, k);
            const act* v = qkv + part(j0 + k, 2, h);
#pragma unroll
            for (int c = 0; c < COLS; c++) {
                if (lane + 32 * c < D) acc[c] += pk * wide(v[lane + 32 * c]);
            }
        }
    }
#pragma unroll
    for (int c = 0; c < COLS; c++) {
        if (lane + 32 * c < D) narrow(acc[c] / sum, o[n * C + h * D + lane + 32 * c]);
    }
    if (lane == 0) lse[n * H + h] = max + logf(sum);
}

// delta (N,H): the sum of o dO over a head, which is the mean that softmax's backward takes away. DELTA_LANES threads per head.
extern "C" __global__ void attention_delta(const act* o, const act* dO, float* delta, i64 count) {
    i64 at = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / DELTA_LANES; // n H + h: a head's numbers begin at D times it
    int lane = threadIdx.x % DELTA_LANES;
    float sum = 0;
    if (at < count) {
        for (int d = lane * VEC; d < D; d += DELTA_LANES * VEC) {
            float a[VEC], b[VEC];
            load<VEC>(o + at * D + d, a);
            load<VEC>(dO + at * D + d, b);
#pragma unroll
            for (int k = 0; k < VEC; k++) sum += a[k] * b[k];
        }
    }
    sum = lanesSum<DELTA_LANES>(sum);
    if (at < count && lane == 0) delta[at] = sum;
}

// dq: one warp per query.
extern "C" __global__ void attention_query(
        const act* qkv, const float* lse, const float* delta, const act* dO, act* dqkv, i64 count) {
    __shared__ float queries[WARPS][D], outs[WARPS][D];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    i64 at = (i64)blockIdx.x * WARPS + warp; // n H + h
    if (at >= count) return;
    int h = at % H;
    i64 n = at / H, first = firstKey(n);
    float *q = queries[warp], *d = outs[warp], scale = 1.f / sqrtf((float)D);
    fetch(q, qkv + part(n, 0, h), lane, scale);
    fetch(d, dO + n * C + h * D, lane, 1);
    __syncwarp();
    float l = lse[n * H + h], m = delta[n * H + h], acc[COLS] = {};
    for (i64 j0 = first; j0 <= n; j0 += 32) {
        i64 j = j0 + lane;
        float ds = 0;
        if (j <= n) ds = scale * expf(dot(q, qkv + part(j, 1, h)) - l) * (dot(d, qkv + part(j, 2, h)) - m);
        int keys = n - j0 < 31 ? (int)(n - j0) + 1 : 32;
        for (int k = 0; k < keys; k++) {
            float dk = __shfl_sync(0xffffffffu, ds, k);
            const act* key = qkv + part(j0 + k, 1, h);
#pragma unroll
            for (int c = 0; c < COLS; c++) {
                if (lane + 32 * c < D) acc[c] += dk * wide(key[lane + 32 * c]);
            }
        }
    }
#pragma unroll
    for (int c = 0; c < COLS; c++) {
        if (lane + 32 * c < D) narrow(acc[c], dqkv[part(n, 0, h) + lane + 32 * c]);
    }
}

// dk and dv: one warp per key, against the queries of its heads from itself on to the last that sees it. count = N G.
extern "C" __global__ void attention_key(
        const act* qkv, const float* lse, const float* delta, const act* dO, act* dqkv, i64 count) {
    __shared__ float keys[WARPS][D], values[WARPS][D];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    i64 at = (i64)blockIdx.x * WARPS + warp; // n G + g
    if (at >= count) return;
    int from = at % G * SHARE;
    i64 n = at / G, end = n / T * T + T;
    if (end > n + WINDOW) end = n + WINDOW;
    float *key = keys[warp], *value = values[warp], scale = 1.f / sqrtf((float)D);
    fetch(key, qkv + part(n, 1, from), lane, scale);
    fetch(value, qkv + part(n, 2, from), lane, 1);
    __syncwarp();
    float dk[COLS] = {}, dv[COLS] = {};
    for (int h = from; h < from + SHARE; h++) {
        for (i64 i0 = n; i0 < end; i0 += 32) {
            i64 i = i0 + lane;
            float p = 0, ds = 0;
            if (i < end) {
                p = expf(dot(key, qkv + part(i, 0, h)) - lse[i * H + h]);
                ds = scale * p * (dot(value, dO + i * C + h * D) - delta[i * H + h]);
            }
            int queries = end - i0 < 32 ? (int)(end - i0) : 32;
            for (int k = 0; k < queries; k++) {
                float pk = __shfl_sync(0xffffffffu, p, k), dsk = __shfl_sync(0xffffffffu, ds, k);
                const act *q = qkv + part(i0 + k, 0, h), *d = dO + (i0 + k) * C + h * D;
#pragma unroll
                for (int c = 0; c < COLS; c++) {
                    if (lane + 32 * c < D) {
                        dk[c] += dsk * wide(q[lane + 32 * c]);
                        dv[c] += pk * wide(d[lane + 32 * c]);
                    }
                }
            }
        }
    }
#pragma unroll
    for (int c = 0; c < COLS; c++) {
        if (lane + 32 * c < D) {
            narrow(dk[c], dqkv[part(n, 1, from) + lane + 32 * c]);
            narrow(dv[c], dqkv[part(n, 2, from) + lane + 32 * c]);
        }
    }
}
