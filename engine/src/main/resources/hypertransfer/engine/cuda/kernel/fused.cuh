// y = x w^T or y = x w in bfloat16, or x w^T in eight bits, on compute capability 9.0, with what follows the product done before y
// is written: heads' norms and rotary embedding, relu squared, the slope of relu squared, or softmax's powers and their sums.
//
// A block takes tiles of ROWS x COLUMNS of y in turn. One thread starts the copies of STAGES tiles of x and w ahead; two warp
// groups multiply, each 64 rows. Every number of y is one sum in the order of k, so its bits do not depend on the card.

constexpr int GROUPS = THREADS / 128 - 1; // warp groups that multiply
constexpr int X_BYTES = ROWS * STEP * 2, W_BYTES = COLUMNS * STEP * 2, STAGE = X_BYTES + W_BYTES;
constexpr int Y_BYTES = COLUMNS / 64 * PANEL; // of a group's part of y
constexpr int HELPERS = 3; // warps of the first group, except that of the thread which starts copies
static_assert(BYTES >= 1024 + STAGES * STAGE + GROUPS * Y_BYTES + 8 * (2 * STAGES + 2 * GROUPS), "shared memory");
static_assert(ROWS == 64 * GROUPS && COLUMNS == 256 && COLUMNS % D == 0, "a warp group's product is 64 x 256");

// What follows the product. `before` is called when a tile begins, `all` when its sums are there, `each` for every two units of 8
// columns that are about to be written, in eight bits `pairs` for two neighbours of each, with those of s. A kind with EXTRA reads a
// tile of the map `s`, which lies where y's tile will be written and which, in bfloat16, the warps that have nothing else to do
// `prepare`. Tiles follow each other down the columns of a band of BAND rows of tiles, so that those of one moment share what they
// read of x and of w. OUT is the format of y.
enum { BFLOAT16, E4M3, E5M2 };
struct ReluSquared {
    static constexpr bool EXTRA = false;
    static constexpr int OUT = BFLOAT16;
    static constexpr int BAND = 8;
    __device__ __forceinline__ void before(int, int) {}
    __device__ __forceinline__ void all(float (&)[TILES][4], int, int, int) {}
    __device__ __forceinline__ void each(float (&x)[4], float (&y)[4], u32) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float a = fmaxf(x[i], 0), b = fmaxf(y[i], 0);
            x[i] = a * a, y[i] = b * b;
        }
    }
    static __device__ __forceinline__ void prepare(u32, int, int) {}
};

// y times 2 relu(f), which is 2 sqrt(s).
struct Slope {
    static constexpr bool EXTRA = true;
    static constexpr int OUT = BFLOAT16;
    static constexpr int BAND = 8;
    static __device__ __forceinline__ float twiceRoot(float x) {
        float y;
        asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
        return 2 * y;
    }
    __device__ __forceinline__ void before(int, int) {}
    __device__ __forceinline__ void all(float (&)[TILES][4], int, int, int) {}
    __device__ __forceinline__ void each(float (&x)[4], float (&y)[4], u32 at) {
        u32 s[4];
        take4(s, at);
        x[0] *= low(s[0]), x[1] *= high(s[0]), x[2] *= low(s[1]), x[3] *= high(s[1]);
        y[0] *= low(s[2]), y[1] *= high(s[2]), y[2] *= low(s[3]), y[3] *= high(s[3]);
    }
    // Roots take the special function unit longer than the products that they would wait for.
    static __device__ __forceinline__ void prepare(u32 tile, int thread, int threads) {
        for (int i = thread; i < Y_BYTES / 16; i += threads) {
            u32 a[4];
            asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                         : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(tile + 16 * i) : "memory");
#pragma unroll
            for (int k = 0; k < 4; k++) a[k] = pack(twiceRoot(low(a[k])), twiceRoot(high(a[k])));
            asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(tile + 16 * i), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]) : "memory");
        }
    }
};

// The norm of each head, whose factor goes to r (M,3H), and the turn of queries and keys; turns (T, D/2): cosine and sine.
template <bool EIGHT = false> struct Heads {
    static constexpr bool EXTRA = false;
    static constexpr int OUT = BFLOAT16;
    static constexpr int BAND = 8;
    static constexpr int WIDTH = D / 8, HALF = WIDTH / 2; // of a head, in units of 8 columns
    float* r;
    const float* turns;
    bool norm, turn, normV;
    float by; // what undoes the scales of eight bits
    float4 table[2][HALF];

    __device__ __forceinline__ void before(int row, int column) {
        if (turn && column < 2 * C) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const float4* from = (const float4*)(turns + ((row + 8 * half) % T * (D / 2) + threadIdx.x % 4 * 2) * 2);
#pragma unroll
                for (int i = 0; i < HALF; i++) table[half][i] = from[4 * i];
            }
        }
    }

    __device__ __forceinline__ void all(float (&c)[TILES][4], int row, int column, int rows) {
#pragma unroll
        for (int i = 0; EIGHT && i < TILES * 4; i++) c[i / 4][i % 4] *= by;
#pragma unroll
        for (int h = 0; h < COLUMNS / D; h++) {
            int head = column / D + h;
            bool value = head >= 2 * H, normed = value ? normV : norm;
#pragma unroll
            for (int half = 0; half < 2; half++) {
                float s = 1;
                if (normed) {
                    float a = 0, b = 0;
#pragma unroll
                    for (int i = h * WIDTH; i < (h + 1) * WIDTH; i++) {
                        a += c[i][2 * half] * c[i][2 * half];
                        b += c[i][2 * half + 1] * c[i][2 * half + 1];
                    }
                    s = 1.f / sqrtf(lanesSum<4>(a + b) / D + EPSILON);
                    int n = row + 8 * half;
                    if (threadIdx.x % 4 == 0 && n < rows && head < 3 * H) r[(i64)n * 3 * H + head] = s;
                }
#pragma unroll
                for (int i = h * WIDTH; i < (h + 1) * WIDTH; i++) c[i][2 * half] *= s, c[i][2 * half + 1] *= s;
                if (turn && !value) {
#pragma unroll
                    for (int i = 0; i < HALF; i++) {
                        float4 w = table[half][i];
                        float *x = c[h * WIDTH + i] + 2 * half, *y = c[h * WIDTH + i + HALF] + 2 * half;
                        float x0 = x[0], x1 = x[1];
                        x[0] = x0 * w.x + y[0] * w.y, y[0] = y[0] * w.x - x0 * w.y;
                        x[1] = x1 * w.z + y[1] * w.w, y[1] = y[1] * w.z - x1 * w.w;
                    }
                }
            }
        }
    }

    __device__ __forceinline__ void each(float (&)[4], float (&)[4], u32) {}
    static __device__ __forceinline__ void prepare(u32, int, int) {}
};

// y = 2^(x w^T unit - top - HEADROOM), where unit is LOG2E, times what undoes the scales of eight bits. top (M): one number per row; sums (M,POWERS): those of a tile's row.
struct Powers {
    static constexpr bool EXTRA = false;
    static constexpr int OUT = BFLOAT16;
    static constexpr int BAND = 64;
    const float* top;
    float* sums;
    int rows, width; // of y
    float unit;
    float less[2];

    __device__ __forceinline__ void before(int row, int) {
#pragma unroll
        for (int half = 0; half < 2; half++) less[half] = HEADROOM + (row + 8 * half < rows ? top[row + 8 * half] : 0);
    }

    __device__ __forceinline__ void all(float (&c)[TILES][4], int row, int column, int) {
        if (column + COLUMNS > width) {
#pragma unroll
            for (int i = 0; i < TILES; i++) {
                if (column + 8 * i >= width) c[i][0] = c[i][1] = c[i][2] = c[i][3] = -INF;
            }
        }
        float sum[4] = {};
#pragma unroll
        for (int i = 0; i < TILES; i++) {
#pragma unroll
            for (int k = 0; k < 4; k++) sum[k] += c[i][k] = power2(c[i][k] * unit - less[k / 2]);
        }
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float both = lanesSum<4>(sum[2 * half] + sum[2 * half + 1]);
            i64 n = row + 8 * half;
            if (threadIdx.x % 4 == 0 && n < rows) sums[n * POWERS + column / COLUMNS] = both;
        }
    }

    __device__ __forceinline__ void each(float (&)[4], float (&)[4], u32) {}
    static __device__ __forceinline__ void prepare(u32, int, int) {}
};

// A tile of eight bits, in panels of 128 columns.
template <typename After> __device__ __forceinline__ void eights(After& after, float (&c)[TILES][4], u32 tile, int row, int lane) {
#pragma unroll
    for (int i = 0; i < TILES; i += 4) {
        int chunk = i / 2 + lane / 16;
        u32 to = tile + chunk / 8 * PANEL + row * 128 + (chunk % 8 ^ row & 7) * 16, s[4];
        if (After::EXTRA) take4(s, to);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float *x = c[i + k / 2 * 2] + k % 2 * 2, *y = c[i + k / 2 * 2 + 1] + k % 2 * 2;
            after.pairs(x, y, After::EXTRA ? ::pairs(s[k]) : 0);
            s[k] = word(narrow2<After::OUT == E5M2>(x[0], x[1]) | (u32)narrow2<After::OUT == E5M2>(y[0], y[1]) << 16);
        }
        put4(to, s[0], s[1], s[2], s[3]);
    }
}

// The step of a product: 16 numbers of bfloat16 or 32 of eight bits along k, and how w lies.
template <bool F> struct Bfloat16 { // w (N,K) if FLIPPED or (K,N)
    static constexpr bool FLIPPED = F;
    static __device__ __forceinline__ void step(float (&c)[TILES][4], u64 a, u64 b, int add) { multiply<F>(c, a, b, add); }
};

// x (M,K), w (N,K) if FLIPPED or (K,N), y and s (M,N). K counts pairs of bytes, is a multiple of 64 and at least 128, N is a multiple
// of 64; what lies past the last row or column is zeros on the way in and left out on the way back.
template <typename In, typename After> __device__ __forceinline__ void product(
        const Map* x, const Map* w, const Map* y, const Map* s, int M, int N, int K, After after) {
    constexpr bool FLIPPED = In::FLIPPED, EIGHT = After::OUT != BFLOAT16;
    extern __shared__ char raw[];
    u32 base = (shared(raw) + 1023) & ~1023u, out = base + STAGES * STAGE;
    u32 full = out + GROUPS * Y_BYTES, empty = full + 8 * STAGES, there = empty + 8 * STAGES, prepared = there + 8 * GROUPS;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) init(full + 8 * i, 1), init(empty + 8 * i, GROUPS);
        for (int i = 0; i < GROUPS; i++) init(there + 8 * i, 1), init(prepared + 8 * i, HELPERS);
        begun();
        visible();
    }
    __syncthreads();
    int down = (M + ROWS - 1) / ROWS, columns = (N + COLUMNS - 1) / COLUMNS, tiles = down * columns, steps = K / STEP;
    int slot = 0;
    auto band = [&](int t) { return t / (After::BAND * columns) * After::BAND; }; // its first row of tiles
    auto high = [&](int t) { return min(After::BAND, down - band(t)); };
    auto top = [&](int t) { return (band(t) + (t - band(t) * columns) % high(t)) * ROWS; };
    auto left = [&](int t) { return (t - band(t) * columns) / high(t) * COLUMNS; };
    u32 phase = 0, turn = 0;
    auto next = [&] {
        if (++slot == STAGES) slot = 0, phase ^= 1;
    };
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
                int m = top(t), n = left(t);
                for (int k = 0; k < steps; k++, next()) {
                    wait(empty + 8 * slot, phase ^ 1);
                    u32 to = base + slot * STAGE, barrier = full + 8 * slot;
                    announce(barrier, STAGE);
                    pull(to, x, barrier, m, k);
                    if (FLIPPED) pull(to + X_BYTES, w, barrier, n, k);
                    else pull(to + X_BYTES, w, barrier, k * STEP, n / 64);
                }
            }
        } else if (After::EXTRA && !EIGHT && threadIdx.x >= 32) {
            for (int t = blockIdx.x; t < tiles; t += gridDim.x, turn ^= 1) {
                for (int g = 0; g < GROUPS; g++) {
                    wait(there + 8 * g, turn);
                    After::prepare(out + g * Y_BYTES, threadIdx.x - 32, HELPERS * 32);
                    __syncwarp();
                    if (threadIdx.x % 32 == 0) arrive(prepared + 8 * g);
                }
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        int group = threadIdx.x / 128 - 1, lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
        bool chief = threadIdx.x % 128 == 0;
        u32 mine = out + group * Y_BYTES;
        int row = warp * 16 + lane % 16; // whose address this lane gives
        float c[TILES][4];
        for (int t = blockIdx.x; t < tiles; t += gridDim.x, turn ^= 1) {
            int m = top(t) + group * 64, n = left(t), last = 0;
            after.before(m + warp * 16 + lane / 4, n);
            for (int k = 0; k < steps; k++, next()) {
                wait(full + 8 * slot, phase);
                u32 a = base + slot * STAGE + group * PANEL, b = base + slot * STAGE + X_BYTES;
                ready();
#pragma unroll
                for (int i = 0; i < STEP / 16; i++) {
                    In::step(c, view(a + i * 32), view(b + i * (FLIPPED ? 32 : 16 * 128)), k > 0 || i > 0);
                }
                batch();
                if (k > 0) {
                    finish<1>();
                    if (chief) arrive(empty + 8 * last);
                }
                if (After::EXTRA && k == 1 && chief) {
                    pushed();
                    announce(there + 8 * group, Y_BYTES / (EIGHT ? 2 : 1));
                    pull(mine, s, there + 8 * group, m, n / (EIGHT ? 128 : 64));
                }
                last = slot;
            }
            finish<0>();
            if (chief) arrive(empty + 8 * last);
            after.all(c, m + warp * 16 + lane / 4, n, M);
            if (After::EXTRA) {
                wait((EIGHT ? there : prepared) + 8 * group, turn);
            } else {
                if (chief) pushed();
                meet(1 + group);
            }
            if constexpr (EIGHT) eights(after, c, mine, row, lane);
#pragma unroll
            for (int i = 0; i < TILES && !EIGHT; i += 2) {
                int chunk = i + lane / 16;
                u32 to = mine + chunk / 8 * PANEL + row * 128 + (chunk % 8 ^ row & 7) * 16;
                float(&p)[4] = c[i], (&q)[4] = c[i + 1];
                after.each(p, q, to);
                put4(to, pack(p[0], p[1]), pack(p[2], p[3]), pack(q[0], q[1]), pack(q[2], q[3]));
            }
            visible();
            meet(1 + group);
            if (chief) push(y, mine, m, n / (EIGHT ? 128 : 64));
        }
        if (chief) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
