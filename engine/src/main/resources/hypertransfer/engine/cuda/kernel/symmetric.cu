// Newton-Schulz's symmetric products in bfloat16 on compute capability 9.0, of all matrices of a batch: A = X X^T, or X^T X where X
// is tall, and B = keep A + by A A.
//
// Only tiles that reach below the diagonal are computed, and every 64 x 64 block below it is written a second time, turned, so that
// both halves have the same bits. Tiles are ROWS x COLUMNS as in fused.cu, whose threads share the work in the same way; of a tile
// that begins on the diagonal only the first half of the columns is needed. Every number is one sum in the order of k, so its bits
// depend neither on the card nor on the other matrices of the batch.
//
// Both sides of X are multiples of 64, and the shorter is at least 128. The matrices follow each other without gaps, so that a map
// sees a batch as one matrix.

constexpr int GROUPS = THREADS / 128 - 1, PANELS = COLUMNS / 64; // warp groups that multiply; of a tile
constexpr int X_BYTES = ROWS * STEP * 2, STAGE = X_BYTES + COLUMNS * STEP * 2;
constexpr int Y_BYTES = PANELS * PANEL; // of a group's part of a tile
static_assert(BYTES >= 1024 + STAGES * STAGE + GROUPS * Y_BYTES + 8 * (2 * STAGES + GROUPS), "shared memory");
static_assert(ROWS == 64 * GROUPS && COLUMNS == 256 && COLUMNS == 2 * ROWS, "a warp group's product is 64 x 256");

// The first half of the columns of c as in `multiply`.
template <int FLIPPED, int TURNED> __device__ __forceinline__ void multiplyHalf(float (&c)[TILES][4], u64 a, u64 b, int add) {
    asm volatile("{.reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" L64
                 "}, %64, %65, p, 1, 1, %68, %67;}"
                 : R32(c, 0), R32(c, 8) : "l"(a), "l"(b), "r"(add), "n"(1 - FLIPPED), "n"(TURNED));
}

// As put4, each matrix turned.
__device__ __forceinline__ void putTurned4(u32 to, u32 a, u32 b, u32 c, u32 d) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(to), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}

// The tiles of a block, matrix after matrix. Two tiles on the diagonal count as one other, so that all blocks have the same work.
struct Walk {
    int rows, columns, whole; // tiles of a column and of a row; of a matrix below the diagonal
    int next, end, nextHalf, endHalf;
    int matrix, row, column;
    bool half; // on the diagonal

    __device__ Walk(int side, int count) {
        rows = (side + ROWS - 1) / ROWS, columns = (side + COLUMNS - 1) / COLUMNS;
        whole = columns * (rows - columns);
        next = blockIdx.x, end = whole * count, endHalf = columns * count;
        nextHalf = 2 * ((blockIdx.x + gridDim.x - end % gridDim.x) % gridDim.x); // on from the block that has the last whole one
    }

    // To the next tile, if there is one.
    __device__ bool step() {
        bool there = next < end, thereHalf = nextHalf < endHalf;
        half = thereHalf && (!there || nextHalf / columns <= next / whole);
        if (half) {
            matrix = nextHalf / columns, column = nextHalf % columns, row = 2 * column;
            nextHalf += nextHalf % 2 == 0 ? 1 : 2 * gridDim.x - 1;
        } else if (there) {
            matrix = next / whole, row = next % whole, column = 0;
            for (int n = rows - 1; row >= n; n -= 2) row -= n, column++;
            row += 2 * column + 1;
            next += gridDim.x;
        }
        return half || there;
    }
};

// The tiles in flight: their barriers, and the next one's place.
struct Pipe {
    u32 base, full;
    int slot;
    u32 phase;
    __device__ __forceinline__ u32 empty() const { return full + 8 * STAGES; }
    __device__ __forceinline__ u32 there() const { return full + 16 * STAGES; }
    __device__ __forceinline__ void next() {
        if (++slot == STAGES) slot = 0, phase ^= 1;
    }
};

// A group's sums of one tile; of a HALF one the rows of x are the columns too. Meanwhile s comes to where the tile will be written.
template <int TURNED, bool ADDED, bool HALF> __device__ __forceinline__ void sums(
        float (&c)[TILES][4], Pipe& pipe, int steps, int group, const Map* s, int from, int panel) {
    bool chief = threadIdx.x % 128 == 0;
    int last = 0;
    for (int k = 0; k < steps; k++, pipe.next()) {
        wait(pipe.full + 8 * pipe.slot, pipe.phase);
        u32 a = pipe.base + pipe.slot * STAGE, b = a + (HALF ? 0 : X_BYTES);
        ready();
#pragma unroll
        for (int i = 0; i < STEP / 16; i++) {
            int offset = i * (TURNED ? 16 * 128 : 32);
            u64 left = view(a + group * PANEL + offset), right = view(b + offset);
            if (HALF) multiplyHalf<1 - TURNED, TURNED>(c, left, right, k > 0 || i > 0);
            else multiply<1 - TURNED, TURNED>(c, left, right, k > 0 || i > 0);
        }
        batch();
        if (k > 0) {
            finish<1>();
            if (chief) arrive(pipe.empty() + 8 * last);
        }
        if (k == 1 && chief) {
            pushed();
            if (ADDED) {
                announce(pipe.there() + 8 * group, Y_BYTES);
                pull(pipe.base + STAGES * STAGE + group * Y_BYTES, s, pipe.there() + 8 * group, from, panel);
            }
        }
        last = pipe.slot;
    }
    finish<0>();
    if (chief) arrive(pipe.empty() + 8 * last);
}

// y (side, side) = x x^T, where x is (side, K), or (K, side) if TURNED. With ADDED by x x^T + keep s instead. The maps x and w are
// of one matrix, in boxes of ROWS and of COLUMNS.
template <int TURNED, bool ADDED> __device__ __forceinline__ void product(
        const Map* x, const Map* w, const Map* y, const Map* s, int side, int K, int count, float by, float keep) {
    extern __shared__ char raw[];
    u32 base = (shared(raw) + 1023) & ~1023u, out = base + STAGES * STAGE;
    Pipe pipe{base, out + GROUPS * Y_BYTES, 0, 0};
    u32 there = pipe.there();
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) init(pipe.full + 8 * i, 1), init(pipe.empty() + 8 * i, GROUPS);
        for (int i = 0; i < GROUPS; i++) init(there + 8 * i, 1);
        begun();
        visible();
    }
    __syncthreads();
    Walk walk(side, count);
    int steps = K / STEP;
    u32 turn = 0;
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            auto fetch = [&](u32 to, const Map* map, u32 barrier, int from, int k) {
                if (TURNED) pull(to, map, barrier, walk.matrix * K + k * STEP, from / 64);
                else pull(to, map, barrier, walk.matrix * side + from, k);
            };
            while (walk.step()) {
                for (int k = 0; k < steps; k++, pipe.next()) {
                    wait(pipe.empty() + 8 * pipe.slot, pipe.phase ^ 1);
                    u32 to = base + pipe.slot * STAGE, barrier = pipe.full + 8 * pipe.slot;
                    announce(barrier, walk.half ? X_BYTES : STAGE);
                    fetch(to, x, barrier, walk.row * ROWS, k);
                    if (!walk.half) fetch(to + X_BYTES, w, barrier, walk.column * COLUMNS, k);
                }
            }
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    int group = threadIdx.x / 128 - 1, lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    bool chief = threadIdx.x % 128 == 0;
    u32 mine = out + group * Y_BYTES;
    int row = warp * 16 + lane % 16; // whose address this lane gives
    u32 turned = lane / 16 * 1024 + lane % 8 * 128 + (warp * 2 + lane / 8 % 2 ^ lane % 8) * 16; // that address in a turned block
    float c[TILES][4];
    u32 p[TILES][2]; // c as it is written
    for (; walk.step(); turn ^= 1) {
        int from = walk.matrix * side + walk.row * ROWS + group * 64; // the first row of s
        if (walk.half) sums<TURNED, ADDED, true>(c, pipe, steps, group, s, from, walk.column * PANELS);
        else sums<TURNED, ADDED, false>(c, pipe, steps, group, s, from, walk.column * PANELS);
        if (ADDED) wait(there + 8 * group, turn);
        else meet(1 + group);
        // Blocks are written and turned in places of their own, four in flight; one that is not wanted counts as well.
        int top = walk.row * GROUPS + group, left = walk.column * PANELS; // the first one's row and column
        auto send = [&](bool wanted, int q, int block, int panel) {
            if (chief && wanted) push(y, mine + q * PANEL, walk.matrix * side + block * 64, panel);
            if (chief && !wanted) asm volatile("cp.async.bulk.commit_group;");
        };
#pragma unroll
        for (int q = 0; q < PANELS; q++) {
            bool wanted = top < side / 64 && left + q <= top;
            if (wanted) {
#pragma unroll
                for (int i = 8 * q; i < 8 * q + 8; i += 2) {
                    u32 to = mine + q * PANEL + row * 128 + (i % 8 + lane / 16 ^ row & 7) * 16, r[4];
                    if (ADDED) take4(r, to);
#pragma unroll
                    for (int j = 0; j < 4; j++) {
                        float first = c[i + j / 2][j % 2 * 2], second = c[i + j / 2][j % 2 * 2 + 1];
                        if (ADDED) first = fmaf(by, first, keep * low(r[j])), second = fmaf(by, second, keep * high(r[j]));
                        p[i + j / 2][j % 2] = pack(first, second);
                    }
                    put4(to, p[i][0], p[i][1], p[i + 1][0], p[i + 1][1]);
                }
                visible();
                meet(1 + group);
            }
            send(wanted, q, top, left + q);
        }
#pragma unroll
        for (int q = 0; q < PANELS; q++) {
            bool wanted = top < side / 64 && left + q < top;
            if (wanted) {
                if (chief) asm volatile("cp.async.bulk.wait_group.read 3;" ::: "memory"); // until what lies in this place has left
                meet(1 + group);
#pragma unroll
                for (int i = 8 * q; i < 8 * q + 8; i += 2) {
                    putTurned4(mine + q * PANEL + i % 8 * 1024 + turned, p[i][0], p[i][1], p[i + 1][0], p[i + 1][1]);
                }
                visible();
                meet(1 + group);
            }
            send(wanted, q, left + q, top);
        }
    }
    if (chief) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// X (side, length).
extern "C" __global__ void __launch_bounds__(THREADS, 1) gram(const __grid_constant__ Map x, const __grid_constant__ Map w,
        const __grid_constant__ Map a, i64 side, i64 length, i64 count) {
    product<0, false>(&x, &w, &a, 0, side, length, count, 1, 0);
}

// X (length, side).
extern "C" __global__ void __launch_bounds__(THREADS, 1) gram_tall(const __grid_constant__ Map x, const __grid_constant__ Map w,
        const __grid_constant__ Map a, i64 side, i64 length, i64 count) {
    product<1, false>(&x, &w, &a, 0, side, length, count, 1, 0);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) square(const __grid_constant__ Map x, const __grid_constant__ Map w,
        const __grid_constant__ Map b, const __grid_constant__ Map a, i64 side, i64 count, double by, double keep) {
    product<0, true>(&x, &w, &b, &a, side, side, count, (float)by, (float)keep);
}
