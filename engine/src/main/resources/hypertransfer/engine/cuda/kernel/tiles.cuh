// What flash.cu, hopper.cu and blocks.cu share: how tiles are filled, and the online softmax.

// COUNT rows of D from a matrix with that stride, rows from `live` on being zeros. The threads take chunks of 16 bytes in
// turn; `to` is where this thread's first chunk goes. A thread's rows are a multiple of 8 rows apart, PITCH bytes per row,
// so the permutation by the row modulo 8 is the same for all of them.
template <int COUNT, int THREADS, int PITCH, int CHUNKS = D / 8> __device__ __forceinline__ void copyRows(
        u32 to, const bf16* from, int stride, int live) {
    constexpr int STRIDE = THREADS / CHUNKS;
    int row = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS;
    from += row * stride + chunk * 8;
#pragma unroll
    for (int k = 0; k < COUNT; k += STRIDE) {
        bool there = T % COUNT == 0 || row + k < live;
        copy(to + k * PITCH, there ? from + k * stride : from - row * stride, there ? 16 : 0);
    }
}

// lse in base 2 and delta of rows from q0 on; past the end of the sequence infinity, so that p is 0.
template <int COUNT, int THREADS> __device__ __forceinline__ void fetchRows(float* to, const float* lse, const float* delta, i64 sequence, int q0, int h) {
    for (int i = threadIdx.x; i < COUNT; i += THREADS) {
        bool live = q0 + i < T;
        to[i] = live ? lse[(sequence + q0 + i) * H + h] * LOG2E : INF;
        to[COUNT + i] = live ? delta[(sequence + q0 + i) * H + h] : 0;
    }
}

// The inner product of a row of D from x and from y on, as far as one of the four threads that share it goes: 8 of every 32 numbers.
__device__ __forceinline__ float quarter(const bf16* x, const bf16* y) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < D; i += 32) {
        float a[8], b[8];
        load<8>(x + i, a);
        load<8>(y + i, b);
#pragma unroll
        for (int k = 0; k < 8; k++) sum += a[k] * b[k];
    }
    return sum;
}

// A row's next scores join its online softmax. Four threads share a row; this one has the scores s[n][at] and s[n][at + 1], which
// become powers. `top` and `sum` are the row's largest score and its sum of powers so far; what else was summed so far must be scaled
// by what is returned. `scale` turns a score into an exponent of 2.
template <int N> __device__ __forceinline__ float powers(float (&s)[N][4], int at, float scale, float& top, float& sum) {
    float max = top;
#pragma unroll
    for (int n = 0; n < N; n++) max = fmaxf(max, fmaxf(s[n][at], s[n][at + 1]));
    max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, 1));
    max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, 2));
    float keep = power2((top - max) * scale), more = 0, off = max * scale;
    top = max;
#pragma unroll
    for (int n = 0; n < N; n++) {
        float a = power2(s[n][at] * scale - off), b = power2(s[n][at + 1] * scale - off);
        more += a + b;
        s[n][at] = a, s[n][at + 1] = b;
    }
    sum = sum * keep + more;
    return keep;
}

// The same with p, the powers packed, and `acc` scaled.
template <int N, int M> __device__ __forceinline__ void join(float (&s)[N][4], int at, float scale, float& top, float& sum,
        float (&acc)[M][4], u32 (&p)[N][2]) {
    float keep = powers(s, at, scale, top, sum);
#pragma unroll
    for (int n = 0; n < N; n++) p[n][at / 2] = pack(s[n][at], s[n][at + 1]);
#pragma unroll
    for (int n = 0; n < M; n++) acc[n][at] *= keep, acc[n][at + 1] *= keep;
}
