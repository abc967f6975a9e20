// Causal attention on the tensor cores, bfloat16, D = 32, 64 or 128. Scores live in registers only; the backward pass
// computes them again, once for dk and dv and once for dq, so that every sum has a fixed order.
//
// A tile is rows of D numbers in shared memory, its 16-byte chunks permuted within a row so that eight rows at one
// column lie in different banks.

constexpr int STEP = FORWARD_STEP; // rows of the tiles that stream by
constexpr int ROWS = KEY_ROWS;     // keys, or queries, of a block, backward: 16 for each warp
static_assert(KEY_STEP == STEP && QUERY_STEP == STEP && QUERY_ROWS == ROWS, "one set of tiles");
static_assert(KEY_THREADS == ROWS / 16 * 32 && QUERY_THREADS == KEY_THREADS, "a warp holds 16 rows");
constexpr int TILES = D / 8; // columns of an accumulator, in units of 8

__device__ __forceinline__ u32 place(int row, int chunk) { // bytes
    return row * D * 2 + ((D >= 64 ? chunk ^ (row & 7) : chunk ^ (row >> 1 & 3)) * 16);
}

template <int COUNT, int THREADS> __device__ __forceinline__ void fetch(u32 tile, const bf16* from, int stride, int live) {
    copyRows<COUNT, THREADS, D * 2>(tile + place(threadIdx.x / (D / 8), threadIdx.x % (D / 8)), from, stride, live);
}

__device__ __forceinline__ void arrive() {
    await();
    __syncthreads();
}

__device__ __forceinline__ void ldsm(u32* r, u32 address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}
__device__ __forceinline__ void ldsmT(u32* r, u32 address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}
__device__ __forceinline__ void mma(float* c, const u32* a, const u32* b) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// c (16 M, 8 N) += rows of tile a times the transposed rows of tile b: inner products over D.
template <int M, int N> __device__ __forceinline__ void inner(float (&c)[M][N][4], u32 a, int row, u32 b) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < D / 16; k++) {
        u32 x[M][4];
#pragma unroll
        for (int m = 0; m < M; m++) ldsm(x[m], a + place(row + 16 * m + lane % 16, 2 * k + lane / 16));
#pragma unroll
        for (int n = 0; n < N; n += 2) {
            u32 y[4];
            ldsm(y, b + place(8 * n + lane % 8 + lane / 16 * 8, 2 * k + lane / 8 % 2));
#pragma unroll
            for (int m = 0; m < M; m++) {
                mma(c[m][n], x[m], y);
                mma(c[m][n + 1], x[m], y + 2);
            }
        }
    }
}

// c (16 M, D) += p (16 M, 8 N), packed, times the rows of tile b.
template <int M, int N> __device__ __forceinline__ void outer(float (&c)[M][TILES][4], const u32 (&p)[M][N][2], u32 b) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < N / 2; k++) {
#pragma unroll
        for (int n = 0; n < TILES; n += 2) {
            u32 y[4];
            ldsmT(y, b + place(16 * k + lane % 16, n + lane / 16));
#pragma unroll
            for (int m = 0; m < M; m++) {
                const u32 x[4] = {p[m][2 * k][0], p[m][2 * k][1], p[m][2 * k + 1][0], p[m][2 * k + 1][1]};
                mma(c[m][n], x, y);
                mma(c[m][n + 1], x, y + 2);
            }
        }
    }
}

// 16 rows of an accumulator, row r times its factor, to memory by way of the warp's own rows of a tile.
template <int M> __device__ __forceinline__ void put(const float (&c)[M][TILES][4], const float (&factor)[M][2], char* tile, int row,
        bf16* to, i64 stride, int live) {
    int lane = threadIdx.x % 32;
    __syncwarp();
#pragma unroll
    for (int m = 0; m < M; m++) {
#pragma unroll
        for (int n = 0; n < TILES; n++) {
            int r = row + 16 * m + lane / 4;
            *(u32*)(tile + place(r, n) + lane % 4 * 4) = pack(c[m][n][0] * factor[m][0], c[m][n][1] * factor[m][0]);
            *(u32*)(tile + place(r + 8, n) + lane % 4 * 4) = pack(c[m][n][2] * factor[m][1], c[m][n][3] * factor[m][1]);
        }
    }
    __syncwarp();
#pragma unroll
    for (int i = lane; i < 16 * M * (D / 8); i += 32) {
        int r = row + i / (D / 8), chunk = i % (D / 8);
        if (r < live) *(uint4*)(to + r * stride + chunk * 8) = *(uint4*)(tile + place(r, chunk));
    }
    __syncwarp();
}

constexpr int TILE = STEP * D * 2; // bytes of a tile that streams by
static_assert(FORWARD_BYTES >= FORWARD_ROWS * D * 2 + 2 * STAGES * TILE, "shared memory, forward");
static_assert(KEY_BYTES >= 2 * ROWS * D * 2 + 2 * STAGES * TILE + STAGES * 2 * STEP * 4, "shared memory, keys");
static_assert(QUERY_BYTES >= 2 * ROWS * D * 2 + 2 * STAGES * TILE + 2 * ROWS * 4, "shared memory, queries");

// Blocks of all three kernels: x the tile of rows, those with the most work first; y the head; z the sequence.

extern "C" __global__ void __launch_bounds__(FORWARD_THREADS) flash(const bf16* qkv, bf16* o, float* lse) {
    constexpr int M = 2, N = STEP / 8, THREADS = FORWARD_THREADS;
    extern __shared__ __align__(128) char memory[];
    int h = blockIdx.y, warp = threadIdx.x / 32;
    i64 sequence = (i64)blockIdx.z * T;
    const bf16* base = qkv + sequence * 3 * C + h * D;
    int q0 = (gridDim.x - 1 - blockIdx.x) * FORWARD_ROWS, row = warp * 16 * M, lane = threadIdx.x % 32;
    u32 Q = shared(memory), K = Q + FORWARD_ROWS * D * 2, VALUE = K + STAGES * TILE;
    int last = min(q0 + FORWARD_ROWS, T), tiles = (last + STEP - 1) / STEP;
    fetch<FORWARD_ROWS, THREADS>(Q, base + (i64)q0 * 3 * C, 3 * C, T - q0);
    fetch<STEP, THREADS>(K, base + C, 3 * C, T);
    fetch<STEP, THREADS>(VALUE, base + 2 * C, 3 * C, T);
    commit();
    float acc[M][TILES][4] = {}, top[M][2], sum[M][2] = {};
#pragma unroll
    for (int m = 0; m < M; m++) top[m][0] = top[m][1] = -INF;
    const float scale = LOG2E / sqrtf((float)D);
    for (int j = 0; j < tiles; j++) {
        arrive();
        int k0 = j * STEP, slot = j % STAGES;
        if (STAGES > 1 && j + 1 < tiles) {
            int next = k0 + STEP, other = (j + 1) % STAGES;
            fetch<STEP, THREADS>(K + other * TILE, base + C + (i64)next * 3 * C, 3 * C, T - next);
            fetch<STEP, THREADS>(VALUE + other * TILE, base + 2 * C + (i64)next * 3 * C, 3 * C, T - next);
            commit();
        }
        if (k0 <= q0 + row + 16 * M - 1) { // else all of it lies in this warp's future
            float s[M][N][4] = {};
            inner(s, Q, row, K + slot * TILE);
            u32 p[M][N][2];
#pragma unroll
            for (int m = 0; m < M; m++) {
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    int q = q0 + row + 16 * m + lane / 4 + 8 * half;
                    if (k0 + STEP - 1 > q0 + row + 16 * m) { // the diagonal passes here
#pragma unroll
                        for (int n = 0; n < N; n++) {
                            int k = k0 + 8 * n + lane % 4 * 2;
                            if (k > q) s[m][n][2 * half] = -INF;
                            if (k + 1 > q) s[m][n][2 * half + 1] = -INF;
                        }
                    }
                    join(s[m], 2 * half, scale, top[m][half], sum[m][half], acc[m], p[m]);
                }
            }
            outer(acc, p, VALUE + slot * TILE);
        }
        if (STAGES == 1 && j + 1 < tiles) {
            __syncthreads();
            int next = k0 + STEP;
            fetch<STEP, THREADS>(K, base + C + (i64)next * 3 * C, 3 * C, T - next);
            fetch<STEP, THREADS>(VALUE, base + 2 * C + (i64)next * 3 * C, 3 * C, T - next);
            commit();
        }
    }
    float factor[M][2];
#pragma unroll
    for (int m = 0; m < M; m++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float all = lanesSum<4>(sum[m][half]);
            factor[m][half] = 1 / all;
            int q = q0 + row + 16 * m + lane / 4 + 8 * half;
            if (lane % 4 == 0 && q < T) lse[(sequence + q) * H + h] = (top[m][half] * scale + log2f(all)) / LOG2E;
        }
    }
    put(acc, factor, memory, row, o + (sequence + q0) * C + h * D, C, T - q0);
}

// From scores and dP (16, 8 N) to p and ds, packed. Rows are queries, columns keys (or, KEYROWS, the other way round).
template <int N, bool KEYROWS> __device__ __forceinline__ void gradients(const float (&s)[1][N][4], const float (&dp)[1][N][4],
        int row0, int col0, const float* lse, const float* delta, u32 (&p)[1][N][2], u32 (&ds)[1][N][2]) {
    int lane = threadIdx.x % 32;
    const float scale = LOG2E / sqrtf((float)D);
    bool diagonal = KEYROWS ? row0 + 15 > col0 : col0 + 8 * N - 1 > row0;
#pragma unroll
    for (int n = 0; n < N; n++) {
        float e[4], g[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int r = lane / 4 + i / 2 * 8, c = 8 * n + lane % 4 * 2 + i % 2, at = KEYROWS ? c : r;
            e[i] = power2(s[0][n][i] * scale - lse[at]);
            if (diagonal && (KEYROWS ? row0 + r > col0 + c : col0 + c > row0 + r)) e[i] = 0;
            g[i] = e[i] * (dp[0][n][i] - delta[at]);
        }
        p[0][n][0] = pack(e[0], e[1]);
        p[0][n][1] = pack(e[2], e[3]);
        ds[0][n][0] = pack(g[0], g[1]);
        ds[0][n][1] = pack(g[2], g[3]);
    }
}

extern "C" __global__ void __launch_bounds__(KEY_THREADS) flash_key(
        const bf16* qkv, const float* lse, const float* delta, const bf16* dO, bf16* dqkv) {
    constexpr int N = STEP / 8, THREADS = KEY_THREADS;
    extern __shared__ __align__(128) char memory[];
    int h = blockIdx.y, warp = threadIdx.x / 32;
    i64 sequence = (i64)blockIdx.z * T;
    const bf16* base = qkv + sequence * 3 * C + h * D;
    int k0 = blockIdx.x * ROWS, row = warp * 16; // the first keys have the most queries
    const bf16* grad = dO + sequence * C + h * D;
    u32 K = shared(memory), VALUE = K + ROWS * D * 2, Q = VALUE + ROWS * D * 2, G = Q + STAGES * TILE;
    float* rows = (float*)(memory + 2 * ROWS * D * 2 + 2 * STAGES * TILE); // STAGES times lse, delta
    fetch<ROWS, THREADS>(K, base + C + (i64)k0 * 3 * C, 3 * C, T - k0);
    fetch<ROWS, THREADS>(VALUE, base + 2 * C + (i64)k0 * 3 * C, 3 * C, T - k0);
    int first = k0 / STEP, end = (T + STEP - 1) / STEP;
    auto next = [&](int i) {
        int q0 = i * STEP, slot = i % STAGES;
        fetch<STEP, THREADS>(Q + slot * TILE, base + (i64)q0 * 3 * C, 3 * C, T - q0);
        fetch<STEP, THREADS>(G + slot * TILE, grad + (i64)q0 * C, C, T - q0);
        fetchRows<STEP, THREADS>(rows + slot * 2 * STEP, lse, delta, sequence, q0, h);
        commit();
    };
    next(first);
    float dk[1][TILES][4] = {}, dv[1][TILES][4] = {};
    for (int i = first; i < end; i++) {
        arrive();
        int q0 = i * STEP, slot = i % STAGES;
        if (STAGES > 1 && i + 1 < end) next(i + 1);
        if (q0 + STEP - 1 >= k0 + row) {
            u32 p[1][N][2], ds[1][N][2];
            {
                float s[1][N][4] = {}, dp[1][N][4] = {};
                inner(s, K, row, Q + slot * TILE);
                inner(dp, VALUE, row, G + slot * TILE);
                const float* l = rows + slot * 2 * STEP;
                gradients<N, true>(s, dp, k0 + row, q0, l, l + STEP, p, ds);
            }
            outer(dv, p, G + slot * TILE);
            outer(dk, ds, Q + slot * TILE);
        }
        if (STAGES == 1 && i + 1 < end) {
            __syncthreads();
            next(i + 1);
        }
    }
    const float one[1][2] = {{1, 1}}, scale[1][2] = {{1 / sqrtf((float)D), 1 / sqrtf((float)D)}};
    bf16* to = dqkv + (sequence + k0) * 3 * C + h * D;
    put(dk, scale, memory, row, to + C, 3 * C, T - k0);
    put(dv, one, memory, row, to + 2 * C, 3 * C, T - k0);
}

extern "C" __global__ void __launch_bounds__(QUERY_THREADS) flash_query(
        const bf16* qkv, const float* lse, const float* delta, const bf16* dO, bf16* dqkv) {
    constexpr int N = STEP / 8, THREADS = QUERY_THREADS;
    extern __shared__ __align__(128) char memory[];
    int h = blockIdx.y, warp = threadIdx.x / 32;
    i64 sequence = (i64)blockIdx.z * T;
    const bf16* base = qkv + sequence * 3 * C + h * D;
    int q0 = (gridDim.x - 1 - blockIdx.x) * ROWS, row = warp * 16;
    u32 Q = shared(memory), G = Q + ROWS * D * 2, K = G + ROWS * D * 2, VALUE = K + STAGES * TILE;
    float* rows = (float*)(memory + 2 * ROWS * D * 2 + 2 * STAGES * TILE);
    fetch<ROWS, THREADS>(Q, base + (i64)q0 * 3 * C, 3 * C, T - q0);
    fetch<ROWS, THREADS>(G, dO + (sequence + q0) * C + h * D, C, T - q0);
    fetchRows<ROWS, THREADS>(rows, lse, delta, sequence, q0, h);
    int last = min(q0 + ROWS, T), tiles = (last + STEP - 1) / STEP;
    auto next = [&](int j) {
        int k0 = j * STEP, slot = j % STAGES;
        fetch<STEP, THREADS>(K + slot * TILE, base + C + (i64)k0 * 3 * C, 3 * C, T - k0);
        fetch<STEP, THREADS>(VALUE + slot * TILE, base + 2 * C + (i64)k0 * 3 * C, 3 * C, T - k0);
        commit();
    };
    next(0);
    float dq[1][TILES][4] = {};
    for (int j = 0; j < tiles; j++) {
        arrive();
        int k0 = j * STEP, slot = j % STAGES;
        if (STAGES > 1 && j + 1 < tiles) next(j + 1);
        if (k0 <= q0 + row + 15) {
            u32 p[1][N][2], ds[1][N][2];
            {
                float s[1][N][4] = {}, dp[1][N][4] = {};
                inner(s, Q, row, K + slot * TILE);
                inner(dp, G, row, VALUE + slot * TILE);
                gradients<N, false>(s, dp, q0 + row, k0, rows + row, rows + ROWS + row, p, ds);
            }
            outer(dq, ds, K + slot * TILE);
        }
        if (STAGES == 1 && j + 1 < tiles) {
            __syncthreads();
            next(j + 1);
        }
    }
    const float scale[1][2] = {{1 / sqrtf((float)D), 1 / sqrtf((float)D)}};
    put(dq, scale, memory, row, dqkv + (sequence + q0) * 3 * C + h * D, 3 * C, T - q0);
}
