// What the kernels of blocks.cu are made of: rings of tiles, products of warp groups, and the backward pass of heads.
// Tiles have 64 rows, one per warp group that multiplies.

constexpr int SIDE = STEP, TILE = 2 * PANEL; // rows of a tile; its bytes
constexpr int UNITS = D / 8; // columns of an accumulator, in units of 8
constexpr int ROWS16 = 16 * 128; // bytes of a warp's rows in a panel
constexpr int GROUPS = 2; // warp groups that multiply
constexpr int FEW = 24, MANY = 240; // registers of a thread that starts copies, and of one that multiplies
static_assert(D == 128 && THREADS == 128 * (GROUPS + 1), "tiles of two panels");

// Places in shared memory that are filled in turn, each with two barriers: it is full, it is empty.
template <int DEPTH> struct Ring {
    u32 barriers;
    int slot = 0;
    u32 phase = 0;

    __device__ __forceinline__ Ring(u32 at) : barriers(at) {}
    __device__ __forceinline__ void begin() const {
        for (int i = 0; i < DEPTH; i++) init(barriers + 16 * i, 1), init(barriers + 16 * i + 8, 4 * GROUPS);
    }
    __device__ __forceinline__ u32 full() const { return barriers + 16 * slot; }
    __device__ __forceinline__ void awaitFull() const { wait(full(), phase); }
    __device__ __forceinline__ void awaitEmpty() const { wait(full() + 8, phase ^ 1); }
    __device__ __forceinline__ void next() {
        if (++slot == DEPTH) slot = 0, phase ^= 1;
    }
    // By every warp that multiplies.
    __device__ __forceinline__ void release(int back = 0) const {
        int at = slot >= back ? slot - back : slot - back + DEPTH;
        if (threadIdx.x % 32 == 0) arrive(barriers + 16 * at + 8);
    }
};

// Before a kernel's first copy.
template <typename... Rings> __device__ __forceinline__ void begin(const Rings&... rings) {
    if (threadIdx.x == 0) {
        (rings.begin(), ...);
        begun();
    }
    __syncthreads();
}

// Copies of plain bytes.
__device__ __forceinline__ void pull(u32 to, const void* from, int bytes, u32 barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(to), "l"(from), "r"(bytes), "r"(barrier) : "memory");
}
__device__ __forceinline__ void push(void* to, u32 from, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2; cp.async.bulk.commit_group;"
                 ::"l"(to), "r"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void fewer() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(FEW)); }
__device__ __forceinline__ void more() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(MANY)); }

// c (64,128) += a (16,64) transposed times b (16,128).
__device__ __forceinline__ void multiply(float (&c)[UNITS][4], u64 a, u64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" L64 "}, %64, %65, 1, 1, 1, 1, 1;"
                 : R32(c, 0), R32(c, 8) : "l"(a), "l"(b));
}

// c = the rows of tile a times the transposed rows of tile b: inner products over D.
__device__ __forceinline__ void inner(float (&c)[8][4], u32 a, u32 b) {
#pragma unroll
    for (int k = 0; k < D / 16; k++) {
        u32 at = k / 4 * PANEL + k % 4 * 32;
        multiply(c, view(a + at), view(b + at), k > 0);
    }
}
// c += p (64,64), packed, times the rows of tile b.
__device__ __forceinline__ void outer(float (&c)[UNITS][4], const u32 (&p)[8][2], u32 b) {
#pragma unroll
    for (int k = 0; k < 4; k++) multiply(c, p[2 * k], p[2 * k + 1], view(b + k * ROWS16));
}

// The row that this lane names to put4 and take4: of units n and n + 1, n even, in 16 rows of a panel.
__device__ __forceinline__ u32 spot(u32 rows, int n) {
    int lane = threadIdx.x % 32;
    return (rows + lane % 16 * 128 + (lane / 16 ^ lane % 8) * 16 ^ n % 8 * 16) + n / 8 * PANEL;
}

// A warp's 16 rows of an accumulator to memory, by way of its rows of a tile.
template <bool EIGHT = false> __device__ __forceinline__ void put(const float (&c)[UNITS][4], u32 rows, const Map* to, int row, int panel) {
    auto four = [&](int n, int k) {
        const float *x = c[n] + k, *y = c[n + 1] + k;
        u32 low = narrow2<1>(x[0] * OPERAND_GRADIENT, x[1] * OPERAND_GRADIENT);
        return word(low | (u32)narrow2<1>(y[0] * OPERAND_GRADIENT, y[1] * OPERAND_GRADIENT) << 16);
    };
    __syncwarp();
#pragma unroll
    for (int n = 0; n < UNITS; n += EIGHT ? 4 : 2) {
        if (EIGHT) put4(spot(rows, n / 2), four(n, 0), four(n, 2), four(n + 2, 0), four(n + 2, 2));
        else put4(spot(rows, n), pack(c[n][0], c[n][1]), pack(c[n][2], c[n][3]), pack(c[n + 1][0], c[n + 1][1]), pack(c[n + 1][2], c[n + 1][3]));
    }
    visible();
    __syncwarp();
    if (threadIdx.x % 32 == 0) push(to, rows, row, EIGHT ? panel / 2 : panel);
    if (threadIdx.x % 32 == 0 && !EIGHT) push(to, rows + PANEL, row, panel + 1);
}

// The backward pass of a head's norm, then of its turn; x, r and turns are those of the warp's first row.
__device__ __forceinline__ void factors(float (&r)[2], const float* from) {
#pragma unroll
    for (int half = 0; half < 2; half++)
        asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(r[half]) : "l"(from + (threadIdx.x % 32 / 4 + 8 * half) * 3 * H));
}
__device__ __forceinline__ void throughNorm(float (&d)[UNITS][4], float factor, u32 x, const float (&r)[2]) {
    u32 xs[UNITS / 2][4];
    float s[2], mean[2] = {};
#pragma unroll
    for (int n = 0; n < UNITS; n += 2) take4(xs[n / 2], spot(x, n));
#pragma unroll
    for (int n = 0; n < UNITS; n++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            u32 both = xs[n / 2][n % 2 * 2 + half];
            mean[half] += d[n][2 * half] * low(both) + d[n][2 * half + 1] * high(both);
        }
    }
#pragma unroll
    for (int half = 0; half < 2; half++) mean[half] = lanesSum<4>(mean[half]) / D, s[half] = factor * r[half];
#pragma unroll
    for (int n = 0; n < UNITS; n++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            u32 both = xs[n / 2][n % 2 * 2 + half];
            d[n][2 * half] = s[half] * (d[n][2 * half] - low(both) * mean[half]);
            d[n][2 * half + 1] = s[half] * (d[n][2 * half + 1] - high(both) * mean[half]);
        }
    }
}
__device__ __forceinline__ void throughHead(float (&d)[UNITS][4], float factor, u32 x, const float (&r)[2], bool norm) {
    if (norm) {
        throughNorm(d, factor, x, r);
        return;
    }
#pragma unroll
    for (int n = 0; n < UNITS; n++) {
#pragma unroll
        for (int i = 0; i < 4; i++) d[n][i] *= factor;
    }
}
__device__ __forceinline__ void throughHead(float (&d)[UNITS][4], float factor, u32 x, const float (&r)[2], bool norm,
        const float* turns, bool turn) {
    if (!turn) {
        throughHead(d, factor, x, r, norm);
        return;
    }
    float4 w[2][UNITS / 2]; // asked for before they are needed
    turns += (threadIdx.x % 32 / 4 * (D / 2) + threadIdx.x % 4 * 2) * 2;
#pragma unroll
    for (int half = 0; half < 2; half++) {
#pragma unroll
        for (int n = 0; n < UNITS / 2; n++) w[half][n] = constant4(turns + half * 8 * D + 16 * n);
    }
    throughHead(d, factor, x, r, norm);
#pragma unroll
    for (int half = 0; half < 2; half++) {
#pragma unroll
        for (int n = 0; n < UNITS / 2; n++) {
            float4 v = w[half][n];
            float *a = d[n] + 2 * half, *b = d[n + UNITS / 2] + 2 * half;
            float a0 = a[0], a1 = a[1], b0 = b[0], b1 = b[1];
            a[0] = a0 * v.x - b0 * v.y, b[0] = b0 * v.x + a0 * v.y;
            a[1] = a1 * v.z - b1 * v.w, b[1] = b1 * v.z + a1 * v.w;
        }
    }
}
