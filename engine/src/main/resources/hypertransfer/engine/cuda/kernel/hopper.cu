// Causal attention on the tensor cores of compute capability 9.0, bfloat16, D = 64 or 128: what flash.cu does, by
// products that a warp group (four warps) starts and does not wait for, with tiles read from shared memory.
//
// A tile is panels of 64 columns. A panel's row is 128 bytes, its 16-byte chunks permuted by the row modulo 8: the
// layout that the hardware calls a swizzle of 128 bytes.

constexpr int ROWS = FORWARD_ROWS, THREADS = FORWARD_THREADS; // of a block; rows are queries, or keys
constexpr int GROUP = ROWS / (THREADS / 128); // rows of a warp group: those of its product
constexpr int SHORT = FORWARD_STEP; // rows of the tiles that stream by
constexpr int LONG = QUERY_STEP; // the same where there are registers left
constexpr int UNITS = D / 8; // columns of an accumulator, in units of 8
constexpr int ROW = D * 2; // bytes per row of a tile

static_assert(KEY_ROWS == ROWS && QUERY_ROWS == ROWS && KEY_STEP == SHORT && STAGES == 2, "one set of tiles");
static_assert(KEY_THREADS == THREADS && QUERY_THREADS == THREADS && GROUP == 64, "a warp group's product has 64 rows");
static_assert(FORWARD_BYTES >= ROWS * ROW + 4 * SHORT * ROW + 1024, "shared memory, forward");
static_assert(KEY_BYTES >= 2 * ROWS * ROW + 4 * SHORT * ROW + 4 * SHORT * 4 + 1024, "shared memory, keys");
static_assert(QUERY_BYTES >= 2 * ROWS * ROW + 4 * LONG * ROW + 1024, "shared memory, queries");

template <int COUNT> __device__ __forceinline__ u32 place(int row, int chunk) {
    return chunk / 8 * COUNT * 128 + row * 128 + (chunk % 8 ^ row & 7) * 16;
}

template <int COUNT> __device__ __forceinline__ void fetch(u32 tile, const bf16* from, int stride, int live) {
    copyRows<COUNT, THREADS, 128>(tile + place<COUNT>(threadIdx.x / (D / 8), threadIdx.x % (D / 8)), from, stride, live);
}

// Until the copies of all threads are there, for the tensor cores too.
__device__ __forceinline__ void arrive() {
    await();
    visible();
    __syncthreads();
}

// c = the group's rows of tile a times the transposed rows of tile b: inner products over D.
template <int N> __device__ __forceinline__ void inner(float (&c)[N][4], u32 a, u32 b) {
#pragma unroll
    for (int k = 0; k < D / 16; k++) {
        u32 panel = k / 4, within = k % 4 * 32;
        multiply(c, view<ROWS * 128>(a + panel * ROWS * 128 + within), view<8 * N * 128>(b + panel * 8 * N * 128 + within), k > 0);
    }
}

// c (64, D) += p (64, 8 N), packed, times the rows of tile b.
template <int N> __device__ __forceinline__ void outer(float (&c)[UNITS][4], const u32 (&p)[N][2], u32 b) {
#pragma unroll
    for (int k = 0; k < N / 2; k++) multiply(c, p[2 * k], p[2 * k + 1], view<8 * N * 128>(b + k * 16 * 128));
}

// An accumulator, row r times its factor, to memory by way of the warp's own rows of a tile.
__device__ __forceinline__ void put(const float (&c)[UNITS][4], float factor0, float factor1, char* tile, int row,
        bf16* to, i64 stride, int live) {
    int lane = threadIdx.x % 32, r = row + lane / 4;
    __syncwarp();
#pragma unroll
    for (int n = 0; n < UNITS; n++) {
        *(u32*)(tile + place<ROWS>(r, n) + lane % 4 * 4) = pack(c[n][0] * factor0, c[n][1] * factor0);
        *(u32*)(tile + place<ROWS>(r + 8, n) + lane % 4 * 4) = pack(c[n][2] * factor1, c[n][3] * factor1);
    }
    __syncwarp();
#pragma unroll
    for (int i = lane; i < 16 * (D / 8); i += 32) {
        int at = row + i / (D / 8), chunk = i % (D / 8);
        if (at < live) *(uint4*)(to + at * stride + chunk * 8) = *(uint4*)(tile + place<ROWS>(at, chunk));
    }
    __syncwarp();
}

// From the gradient at a head to the one before its norm and its turn, in place. x: the head as it is, this warp's rows of a
// tile. turns (T, D/2): cosine and sine side by side. A turn keeps inner products, so the norm comes first.
__device__ __forceinline__ void throughHead(float (&d)[UNITS][4], float factor, const char* x, int row, const float* r, int stride,
        bool norm, const float* turns, bool turn, int position) {
    constexpr int HALF = UNITS / 2;
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int at = row + lane / 4 + 8 * half, here = position + at;
        float s = factor, mean = 0;
        if (norm) {
            float sum = 0;
#pragma unroll
            for (int n = 0; n < UNITS; n++) {
                u32 both = *(const u32*)(x + place<ROWS>(at, n) + lane % 4 * 4);
                sum += d[n][2 * half] * low(both) + d[n][2 * half + 1] * high(both);
            }
            mean = lanesSum<4>(sum) / D;
            s *= here < T ? r[at * stride] : 0;
        }
#pragma unroll
        for (int n = 0; n < UNITS; n++) {
            u32 both = *(const u32*)(x + place<ROWS>(at, n) + lane % 4 * 4);
            d[n][2 * half] = s * (d[n][2 * half] - low(both) * mean);
            d[n][2 * half + 1] = s * (d[n][2 * half + 1] - high(both) * mean);
        }
        if (turn && here < T) {
            const float* table = turns + (here * (D / 2) + lane % 4 * 2) * 2;
#pragma unroll
            for (int n = 0; n < HALF; n++) {
                float4 w = constant4(table + 16 * n);
                float *a = d[n] + 2 * half, *b = d[n + HALF] + 2 * half;
                float a0 = a[0], a1 = a[1], b0 = b[0], b1 = b[1];
                a[0] = a0 * w.x - b0 * w.y, b[0] = b0 * w.x + a0 * w.y;
                a[1] = a1 * w.z - b1 * w.w, b[1] = b1 * w.z + a1 * w.w;
            }
        }
    }
}

// Blocks of all three kernels: x the tile of rows, those with the most work first; y the head; z the sequence. Tiles begin
// at multiples of 1024 bytes.
__device__ __forceinline__ char* aligned(char* raw) { return raw + (1024 - (shared(raw) & 1023)) % 1024; }

extern "C" __global__ void __launch_bounds__(THREADS, 2) hopper(const bf16* qkv, bf16* o, float* lse) {
    constexpr int N = SHORT / 8;
    extern __shared__ char raw[];
    char* memory = aligned(raw);
    int h = blockIdx.y, group = threadIdx.x / 128, row = threadIdx.x / 32 * 16, lane = threadIdx.x % 32;
    i64 sequence = (i64)blockIdx.z * T;
    const bf16* base = qkv + sequence * 3 * C + h * D;
    int q0 = (gridDim.x - 1 - blockIdx.x) * ROWS, q = q0 + row + lane / 4;
    u32 Q = shared(memory), K = Q + ROWS * ROW, VALUE = K + 2 * SHORT * ROW;
    int last = min(q0 + ROWS, T), tiles = (last + SHORT - 1) / SHORT;
    auto next = [&](int j) {
        int k0 = j * SHORT, slot = j % 2;
        fetch<SHORT>(K + slot * SHORT * ROW, base + C + (i64)k0 * 3 * C, 3 * C, T - k0);
        fetch<SHORT>(VALUE + slot * SHORT * ROW, base + 2 * C + (i64)k0 * 3 * C, 3 * C, T - k0);
        commit();
    };
    fetch<ROWS>(Q, base + (i64)q0 * 3 * C, 3 * C, T - q0);
    next(0);
    float acc[UNITS][4] = {}, top[2] = {-INF, -INF}, sum[2] = {};
    const float scale = LOG2E / sqrtf((float)D);
    for (int j = 0; j < tiles; j++) {
        arrive();
        int k0 = j * SHORT, slot = j % 2;
        if (j + 1 < tiles) next(j + 1);
        if (k0 > q0 + group * GROUP + GROUP - 1) continue; // all of it lies in this group's future
        float s[N][4];
        u32 p[N][2];
        ready();
        inner(s, Q + group * GROUP * 128, K + slot * SHORT * ROW);
        batch();
        finish<0>();
#pragma unroll
        for (int half = 0; half < 2; half++) {
            if (k0 + SHORT - 1 > q0 + group * GROUP) { // the diagonal passes here
#pragma unroll
                for (int n = 0; n < N; n++) {
                    int k = k0 + 8 * n + lane % 4 * 2;
                    if (k > q + 8 * half) s[n][2 * half] = -INF;
                    if (k + 1 > q + 8 * half) s[n][2 * half + 1] = -INF;
                }
            }
            join(s, 2 * half, scale, top[half], sum[half], acc, p);
        }
        ready();
        outer(acc, p, VALUE + slot * SHORT * ROW);
        batch();
        finish<0>();
    }
    __syncthreads();
    float factor[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float all = lanesSum<4>(sum[half]);
        factor[half] = 1 / all;
        if (lane % 4 == 0 && q + 8 * half < T) lse[(sequence + q + 8 * half) * H + h] = (top[half] * scale + log2f(all)) / LOG2E;
    }
    put(acc, factor[0], factor[1], memory, row, o + (sequence + q0) * C + h * D, C, T - q0);
}

// r (N,3H), turns, norm, turn, normV: the rule of heads, whose backward pass follows at once.
extern "C" __global__ void __launch_bounds__(THREADS) hopper_key(const bf16* qkv, const float* lse, const float* delta,
        const bf16* dO, bf16* dqkv, const float* r, const float* turns, i64 norm, i64 turn, i64 normV) {
    constexpr int N = SHORT / 8;
    extern __shared__ char raw[];
    char* memory = aligned(raw);
    int h = blockIdx.y, group = threadIdx.x / 128, row = threadIdx.x / 32 * 16, lane = threadIdx.x % 32;
    i64 sequence = (i64)blockIdx.z * T;
    const bf16* base = qkv + sequence * 3 * C + h * D;
    int k0 = blockIdx.x * ROWS; // the first keys have the most queries
    const bf16* grad = dO + sequence * C + h * D;
    u32 K = shared(memory), VALUE = K + ROWS * ROW, Q = VALUE + ROWS * ROW, G = Q + 2 * SHORT * ROW;
    float* rows = (float*)(memory + 2 * ROWS * ROW + 4 * SHORT * ROW); // twice lse, delta
    fetch<ROWS>(K, base + C + (i64)k0 * 3 * C, 3 * C, T - k0);
    fetch<ROWS>(VALUE, base + 2 * C + (i64)k0 * 3 * C, 3 * C, T - k0);
    int first = k0 / SHORT, end = (T + SHORT - 1) / SHORT;
    auto next = [&](int i) {
        int q0 = i * SHORT, slot = i % 2;
        fetch<SHORT>(Q + slot * SHORT * ROW, base + (i64)q0 * 3 * C, 3 * C, T - q0);
        fetch<SHORT>(G + slot * SHORT * ROW, grad + (i64)q0 * C, C, T - q0);
        fetchRows<SHORT, THREADS>(rows + slot * 2 * SHORT, lse, delta, sequence, q0, h);
        commit();
    };
    next(first);
    const float scale = LOG2E / sqrtf((float)D);
    float dk[UNITS][4] = {}, dv[UNITS][4] = {};
    for (int i = first; i < end; i++) {
        arrive();
        int q0 = i * SHORT, slot = i % 2;
        if (i + 1 < end) next(i + 1);
        if (q0 + SHORT - 1 < k0 + group * GROUP) continue; // these keys lie in the future of all queries
        float s[N][4], dp[N][4];
        u32 p[N][2], ds[N][2];
        ready();
        inner(s, K + group * GROUP * 128, Q + slot * SHORT * ROW);
        batch();
        inner(dp, VALUE + group * GROUP * 128, G + slot * SHORT * ROW);
        batch();
        finish<1>();
        const float *l = rows + slot * 2 * SHORT + lane % 4 * 2, *d = l + SHORT;
        bool diagonal = k0 + group * GROUP + GROUP - 1 > q0;
#pragma unroll
        for (int n = 0; n < N; n++) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                s[n][i] = power2(s[n][i] * scale - l[8 * n + i % 2]);
                if (diagonal && k0 + row + lane / 4 + i / 2 * 8 > q0 + 8 * n + lane % 4 * 2 + i % 2) s[n][i] = 0;
            }
            p[n][0] = pack(s[n][0], s[n][1]), p[n][1] = pack(s[n][2], s[n][3]);
        }
        ready();
        outer(dv, p, G + slot * SHORT * ROW);
        batch();
        finish<1>();
#pragma unroll
        for (int n = 0; n < N; n++) {
#pragma unroll
            for (int i = 0; i < 4; i++) dp[n][i] = s[n][i] * (dp[n][i] - d[8 * n + i % 2]);
            ds[n][0] = pack(dp[n][0], dp[n][1]), ds[n][1] = pack(dp[n][2], dp[n][3]);
        }
        ready();
        outer(dk, ds, Q + slot * SHORT * ROW);
        batch();
        finish<0>();
    }
    __syncthreads();
    float root = 1 / sqrtf((float)D);
    bf16* to = dqkv + (sequence + k0) * 3 * C + h * D;
    const float* factor = r + (sequence + k0) * 3 * H + H + h;
    throughHead(dk, root, memory, row, factor, 3 * H, norm, turns, turn, k0);
    put(dk, 1, 1, memory, row, to + C, 3 * C, T - k0);
    throughHead(dv, 1, memory + ROWS * ROW, row, factor + H, 3 * H, normV, turns, false, k0);
    put(dv, 1, 1, memory, row, to + 2 * C, 3 * C, T - k0);
}

// Writes delta too, the row sums of o times dO, which hopper_key reads.
extern "C" __global__ void __launch_bounds__(THREADS) hopper_query(const bf16* qkv, const bf16* o, const float* lse, float* delta,
        const bf16* dO, bf16* dqkv, const float* r, const float* turns, i64 norm, i64 turn) {
    constexpr int N = LONG / 8;
    extern __shared__ char raw[];
    char* memory = aligned(raw);
    int h = blockIdx.y, group = threadIdx.x / 128, row = threadIdx.x / 32 * 16, lane = threadIdx.x % 32;
    i64 sequence = (i64)blockIdx.z * T;
    const bf16* base = qkv + sequence * 3 * C + h * D;
    int q0 = (gridDim.x - 1 - blockIdx.x) * ROWS, q = q0 + row + lane / 4;
    u32 Q = shared(memory), G = Q + ROWS * ROW, K = G + ROWS * ROW, VALUE = K + 2 * LONG * ROW;
    fetch<ROWS>(Q, base + (i64)q0 * 3 * C, 3 * C, T - q0);
    fetch<ROWS>(G, dO + (sequence + q0) * C + h * D, C, T - q0);
    float l[2], d[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        i64 at = (sequence + q + 8 * half) * H + h;
        float sum = 0;
        if (q + 8 * half < T) {
            i64 from = (sequence + q + 8 * half) * C + h * D + lane % 4 * 8;
            sum = quarter(o + from, dO + from);
        }
        l[half] = q + 8 * half < T ? lse[at] * LOG2E : INF;
        d[half] = lanesSum<4>(sum);
        if (lane % 4 == 0 && q + 8 * half < T) delta[at] = d[half];
    }
    int last = min(q0 + ROWS, T), tiles = (last + LONG - 1) / LONG;
    auto next = [&](int j) {
        int k0 = j * LONG, slot = j % 2;
        fetch<LONG>(K + slot * LONG * ROW, base + C + (i64)k0 * 3 * C, 3 * C, T - k0);
        fetch<LONG>(VALUE + slot * LONG * ROW, base + 2 * C + (i64)k0 * 3 * C, 3 * C, T - k0);
        commit();
    };
    next(0);
    const float scale = LOG2E / sqrtf((float)D);
    float dq[UNITS][4] = {};
    for (int j = 0; j < tiles; j++) {
        arrive();
        int k0 = j * LONG, slot = j % 2;
        if (j + 1 < tiles) next(j + 1);
        float s[N][4], dp[N][4];
        u32 ds[N][2];
        ready();
        inner(s, Q + group * GROUP * 128, K + slot * LONG * ROW);
        batch();
        inner(dp, G + group * GROUP * 128, VALUE + slot * LONG * ROW);
        batch();
        finish<1>();
        bool diagonal = k0 + LONG - 1 > q0 + group * GROUP;
#pragma unroll
        for (int n = 0; n < N; n++) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                s[n][i] = power2(s[n][i] * scale - l[i / 2]);
                if (diagonal && k0 + 8 * n + lane % 4 * 2 + i % 2 > q + i / 2 * 8) s[n][i] = 0;
            }
        }
        finish<0>();
#pragma unroll
        for (int n = 0; n < N; n++) {
#pragma unroll
            for (int i = 0; i < 4; i++) dp[n][i] = s[n][i] * (dp[n][i] - d[i / 2]);
            ds[n][0] = pack(dp[n][0], dp[n][1]), ds[n][1] = pack(dp[n][2], dp[n][3]);
        }
        ready();
        outer(dq, ds, K + slot * LONG * ROW);
        batch();
        finish<0>();
    }
    __syncthreads();
    float root = 1 / sqrtf((float)D);
    throughHead(dq, root, memory, row, r + (sequence + q0) * 3 * H + h, 3 * H, norm, turns, turn, q0);
    put(dq, 1, 1, memory, row, dqkv + (sequence + q0) * 3 * C + h * D, 3 * C, T - q0);
}
