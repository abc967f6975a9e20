// What flash.cu and hopper.cu share: how tiles are filled, and the online softmax.

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

// A row's next scores join its online softmax. Four threads share a row; this one has the scores s[n][at] and s[n][at + 1].
// They become p, packed; `top` and `sum` are the row's largest score and its sum of powers so far, and `acc` is scaled to
// the new top. `scale` turns a score into an exponent of 2.
template <int N, int M> __device__ __forceinline__ void join(const float (&s)[N][4], int at, float scale, float& top, float& sum,
        float (&acc)[M][4], u32 (&p)[N][2]) {
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
        p[n][at / 2] = pack(a, b);
    }
    sum = sum * keep + more;
#pragma unroll
    for (int n = 0; n < M; n++) acc[n][at] *= keep, acc[n][at + 1] *= keep;
}
