// Where tokens meet the network: the embedding, and the softmax cross entropy.

constexpr int CHUNKS = C / VEC;
constexpr int W = LOGITS_VEC;

// x = w[tokens]. x (N,C), w (V,C).
extern "C" __global__ void embed(const act* w, const int* tokens, act* x, i64 count) {
    i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count * CHUNKS) return;
    i64 n = at / CHUNKS, chunk = at % CHUNKS;
    float v[VEC];
    load<VEC>(w + (i64)tokens[n] * C + chunk * VEC, v);
    store<VEC>(x + n * C + chunk * VEC, v);
}

// dw[token] += its rows of dx. order: positions sorted by token; block b takes those from starts[b] to starts[b+1], all
// of one token. blockDim (columns, rows): each row of threads sums every blockDim.y-th position, then one adds them up.
extern "C" __global__ void embed_backward(
        const act* dx, const int* tokens, const int* order, const int* starts, float* dw) {
    extern __shared__ float part[]; // (blockDim.y, blockDim.x * VEC)
    int from = starts[blockIdx.x], to = starts[blockIdx.x + 1], step = blockDim.y;
    i64 token = tokens[order[from]];
    for (int first = 0; first < CHUNKS; first += blockDim.x) {
        int chunk = first + threadIdx.x;
        float sum[VEC] = {};
        if (chunk < CHUNKS) {
#pragma unroll 4
            for (int i = from + threadIdx.y; i < to; i += step) {
                float v[VEC];
                load<VEC>(dx + (i64)order[i] * C + chunk * VEC, v);
#pragma unroll
                for (int k = 0; k < VEC; k++) sum[k] += v[k];
            }
        }
        float* mine = part + (threadIdx.y * blockDim.x + threadIdx.x) * VEC;
#pragma unroll
        for (int k = 0; k < VEC; k++) mine[k] = sum[k];
        __syncthreads();
        if (threadIdx.y == 0 && chunk < CHUNKS) {
            for (int row = 1; row < blockDim.y; row++) {
#pragma unroll
                for (int k = 0; k < VEC; k++) sum[k] += part[(row * blockDim.x + threadIdx.x) * VEC + k];
            }
#pragma unroll
            for (int k = 0; k < VEC; k++) dw[token * C + chunk * VEC + k] += sum[k];
        }
        __syncthreads();
    }
}

// exp(x - y). The product with LOG2E is part of one instruction; __expf would take its own.
__device__ __forceinline__ float power(float x, float y) {
#if BF16
    return power2(x * LOG2E - y * LOG2E);
#else
    return expf(x - y);
#endif
}

// One block per row of logits (rows,V): its loss and, if asked, `scale` times the loss's gradient in place. Where shared
// memory holds a row (`held`), it is read only once. Two blocks share a multiprocessor: one computes, one reads.
extern "C" __global__ void __launch_bounds__(SOFTMAX_THREADS) softmax(
        act* logits, const int* targets, float* losses, double scale, i64 gradient, i64 held) {
    extern __shared__ uint4 memory[];
    __shared__ float part[32];
    act* row = logits + (i64)blockIdx.x * V;
    act* from = row;
    int target = targets[blockIdx.x], warp = threadIdx.x / 32;
    float top = -INF, sum = 0;
    if (held) { // a thread reads only the chunks that it copied
        from = (act*)memory;
        for (int c = threadIdx.x; c < V / W; c += blockDim.x) copy(shared(from + c * W), row + c * W, 16);
        commit();
        await();
    }
    for (int c = threadIdx.x; c < V / W; c += blockDim.x) {
        float x[W];
        load<W>(from + c * W, x);
#pragma unroll
        for (int k = 0; k < W; k++) top = fmaxf(top, x[k]);
    }
#pragma unroll
    for (int o = 16; o > 0; o /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, o));
    if (threadIdx.x % 32 == 0) part[warp] = top;
    __syncthreads();
    for (int k = 0; k < blockDim.x / 32; k++) top = fmaxf(top, part[k]);
    for (int c = threadIdx.x; c < V / W; c += blockDim.x) {
        float x[W];
        load<W>(from + c * W, x);
#pragma unroll
        for (int k = 0; k < W; k++) sum += power(x[k], top);
    }
    sum = lanesSum<32>(sum);
    __syncthreads();
    if (threadIdx.x % 32 == 0) part[warp] = sum;
    __syncthreads();
    sum = 0;
    for (int k = 0; k < blockDim.x / 32; k++) sum += part[k];
    float lse = top + logf(sum), s = (float)scale;
    if (threadIdx.x == 0) losses[blockIdx.x] = lse - wide(row[target]);
    if (!gradient) return;
    __syncthreads(); // the target's logit is read before it is overwritten
    for (int c = threadIdx.x; c < V / W; c += blockDim.x) {
        float x[W];
        load<W>(from + c * W, x);
#pragma unroll
        for (int k = 0; k < W; k++) x[k] = s * (power(x[k], lse) - (c * W + k == target ? 1.f : 0.f));
        store<W>(row + c * W, x);
    }
}

// The logits of one row x (1,C), one warp per word. w (V,C), y (1,V).
extern "C" __global__ void logits(const act* x, const act* w, float* y) {
    i64 v = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (v >= V) return;
    float sum = 0;
    for (int c = threadIdx.x % 32; c < C; c += 32) sum += wide(x[c]) * wide(w[v * C + c]);
    sum = lanesSum<32>(sum);
    if (threadIdx.x % 32 == 0) y[v] = sum;
}
