// Causal attention on compute capability 9.0, its backward pass with five products: bfloat16, D = 128, T a multiple of 128.
//
// With S = q k^T / sqrt(D), P = softmax(S), dP = dO v^T, delta the row sums of o times dO and dS = P (dP - delta), elementwise:
// dv = P^T dO, dk = dS^T q, dq = dS k. backward_key computes S and dP and keeps dS, in bfloat16, for backward_query, which is then
// one product. Every sum has its order, that of hopper.cu, whose bits these are.
//
// Blocks of 128 queries or keys are two tiles of 64 rows, one per warp group. dS is kept in squares of 64 keys by 64
// queries, those of a head's lower triangle row after row; a square is a panel, so that the copy engine moves plain bytes.

constexpr int SQUARE = PANEL, STRIP = ROWS16; // bytes of a square; of a warp's part of it
constexpr int LINES = T / SIDE, TRIANGLE = LINES * (LINES + 1) / 2; // squares of a head
constexpr int STATS = 2 * SIDE * 4; // bytes that belong to 64 queries: lse in base 2, then delta
constexpr int BLOCKS = T / 128, PAIRS = (BLOCKS + 1) / 2;
static_assert(T % 128 == 0, "whole blocks");
static_assert(BYTES >= 1024 + (2 * 2 * GROUPS + 2 * KEY_STAGES) * TILE + 8 * STRIP + KEY_STAGES * STATS + 128, "shared memory, keys");
static_assert(BYTES >= 1024 + 2 * (GROUPS + FORWARD_STAGES) * TILE + 128, "shared memory, forward");
static_assert(BYTES >= 1024 + 2 * QUERY_STAGES * TILE + 128, "shared memory, queries");

// The blocks of 128 rows that this block of threads works on: p and BLOCKS - 1 - p of a head, which together have the same work
// for all p.
struct Walk {
    int heads, pair, block;

    __device__ __forceinline__ Walk(int heads) : heads(heads), pair(blockIdx.x), block(blockIdx.x % PAIRS) {}
    __device__ __forceinline__ bool more() const { return pair < heads * PAIRS; }
    __device__ __forceinline__ int head() const { return pair / PAIRS; }
    __device__ __forceinline__ int first() const { return GROUPS * block; } // of its tiles
    __device__ __forceinline__ void next() {
        int other = BLOCKS - 1 - pair % PAIRS;
        if (block != other) {
            block = other;
        } else {
            pair += gridDim.x;
            block = pair % PAIRS;
        }
    }
};

__device__ __forceinline__ void packed(u32 (&p)[8][2], float (&s)[8][4]) {
#pragma unroll
    for (int n = 0; n < 8; n++) {
        asm volatile("" : "+f"(s[n][0]), "+f"(s[n][1]), "+f"(s[n][2]), "+f"(s[n][3])::"memory"); // not before
        p[n][0] = pack(s[n][0], s[n][1]), p[n][1] = pack(s[n][2], s[n][3]);
    }
}

// The forward pass, with hopper.cu's sums in its order: a block of 128 queries is two tiles of 64, keys and values pass by in tiles of
// 64, and while a tile's scores become powers the tensor cores add up the values of the one before.
extern "C" __global__ void __launch_bounds__(THREADS, 1) attention_forward(const __grid_constant__ Map qkv, const __grid_constant__ Map o,
        float* lse, i64 heads) {
    extern __shared__ char raw[];
    const u32 base = (shared(raw) + 1023) / 1024 * 1024, tiles = base + 2 * GROUPS * TILE; // queries of two blocks; keys and values
    Ring<2> blocks(tiles + 2 * FORWARD_STAGES * TILE);
    Ring<FORWARD_STAGES> ring(blocks.barriers + 16 * 2);
    begin(blocks, ring);
    if (threadIdx.x >= 128 * GROUPS) {
        fewer();
        if (threadIdx.x > 128 * GROUPS) return;
        for (Walk walk(heads); walk.more(); walk.next()) {
            int head = walk.head(), first = walk.first(), h = head % H, sequence = head / H * T;
            blocks.awaitEmpty();
            announce(blocks.full(), GROUPS * TILE);
#pragma unroll 1
            for (int g = 0; g < GROUPS; g++) pull(base + (blocks.slot * GROUPS + g) * TILE, &qkv, blocks.full(), sequence + (first + g) * SIDE, 2 * h);
            blocks.next();
#pragma unroll 1
            for (int i = 0; i < first + GROUPS; i++, ring.next()) {
                u32 to = tiles + ring.slot * 2 * TILE;
                ring.awaitEmpty();
                announce(ring.full(), 2 * TILE);
                pull(to, &qkv, ring.full(), sequence + i * SIDE, C / 64 + 2 * h);
                pull(to + TILE, &qkv, ring.full(), sequence + i * SIDE, 2 * (C / 64) + 2 * h);
            }
        }
        return;
    }
    more();
    const int group = __shfl_sync(~0u, threadIdx.x / 128, 0), warp = __shfl_sync(~0u, threadIdx.x / 32 % 4, 0), lane = threadIdx.x % 32;
    const float scale = LOG2E / sqrtf((float)D);
    const int lead = lane % 4 * 2 - warp * 16 - lane / 4; // a score's key minus its query where the diagonal passes
    for (Walk walk(heads); walk.more(); walk.next(), blocks.next()) {
        int head = walk.head(), h = head % H, own = walk.first() + group;
        const u32 q = base + (blocks.slot * GROUPS + group) * TILE;
        float s[8][4], acc[UNITS][4] = {}, top[2] = {-INF, -INF}, sum[2] = {}, keep[2];
        u32 p[8][2];
        auto diagonal = [&] {
#pragma unroll
            for (int n = 0; n < 8; n++) {
#pragma unroll
                for (int e = 0; e < 4; e++)
                    if (lead + 8 * n + e % 2 - e / 2 * 8 > 0) s[n][e] = -INF;
            }
        };
        blocks.awaitFull();
        ring.awaitFull();
        ready();
        inner(s, q, tiles + ring.slot * 2 * TILE);
        batch();
        finish<0>();
        if (own == 0) diagonal();
#pragma unroll
        for (int half = 0; half < 2; half++) keep[half] = powers(s, 2 * half, scale, top[half], sum[half]);
        packed(p, s);
#pragma unroll 1
        for (int i = 1; i <= own; i++) { // these scores become powers while the tensor cores add up the values of the last ones
            u32 v = tiles + ring.slot * 2 * TILE + TILE;
            ring.next();
            ring.awaitFull();
            ready();
            inner(s, q, tiles + ring.slot * 2 * TILE);
            batch();
            outer(acc, p, v);
            batch();
            finish<1>();
            if (i == own) diagonal();
#pragma unroll
            for (int half = 0; half < 2; half++) keep[half] = powers(s, 2 * half, scale, top[half], sum[half]);
            finish<0>();
            ring.release(1);
#pragma unroll
            for (int n = 0; n < UNITS; n++) acc[n][0] *= keep[0], acc[n][1] *= keep[0], acc[n][2] *= keep[1], acc[n][3] *= keep[1];
            packed(p, s);
        }
        ready();
        outer(acc, p, tiles + ring.slot * 2 * TILE + TILE);
        batch();
        finish<0>();
        ring.release();
        ring.next();
        if (group == 0) { // the last keys lie in the future of its queries
            ring.awaitFull();
            ring.release();
            ring.next();
        }
        int row = head / H * T + own * SIDE + warp * 16; // the warp's first
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float all = lanesSum<4>(sum[half]), factor = 1 / all;
            if (lane % 4 == 0) lse[(i64)(row + lane / 4 + 8 * half) * H + h] = (top[half] * scale + log2f(all)) / LOG2E;
#pragma unroll
            for (int n = 0; n < UNITS; n++) acc[n][2 * half] *= factor, acc[n][2 * half + 1] *= factor;
        }
        meet(1 + group);
        put(acc, q + warp * ROWS16, &o, row, 2 * h);
        if (lane == 0) pushed();
        blocks.release();
    }
}

// The row sums of o times dO, and lse in base 2, as backward_key reads them; four threads per row and head.
extern "C" __global__ void __launch_bounds__(ROW_THREADS) backward_rows(const bf16* o, const bf16* dO, const float* lse, float* stats, i64 count) {
    i64 at = ((i64)blockIdx.x * ROW_THREADS + threadIdx.x) / 4, from = at * D + threadIdx.x % 4 * 8;
    if (at >= count) return;
    float sum = lanesSum<4>(quarter(o + from, dO + from));
    i64 row = at / H, head = row / T * H + at % H, line = head * LINES + row % T / SIDE;
    float* to = stats + line * 2 * SIDE + row % SIDE;
    if (threadIdx.x % 4 == 0) to[0] = lse[at] * LOG2E, to[SIDE] = sum;
}

// r (N,3H), turns, norm, turn, normV: the rule of heads, whose backward pass follows at once.
extern "C" __global__ void __launch_bounds__(THREADS, 1) backward_key(const __grid_constant__ Map qkv, const __grid_constant__ Map dO,
        const __grid_constant__ Map dqkv, const float* stats, char* kept, const float* r, const float* turns, i64 norm, i64 turn,
        i64 normV, i64 heads) {
    extern __shared__ char raw[];
    const u32 base = (shared(raw) + 1023) / 1024 * 1024;
    char* memory = raw + (base - shared(raw));
    constexpr int KV = 2 * GROUPS * TILE; // keys, then values
    constexpr int QUERIES = 2 * KV, STRIPS = QUERIES + KEY_STAGES * 2 * TILE, ROWS = STRIPS + 8 * STRIP, REST = ROWS + KEY_STAGES * STATS;
    Ring<2> blocks(base + REST);
    Ring<KEY_STAGES> ring(blocks.barriers + 16 * 2);
    volatile int* info = (volatile int*)(memory + REST + 96); // of each place of keys and values: head, first tile
    begin(blocks, ring);
    const int lane = threadIdx.x % 32, warp = __shfl_sync(~0u, threadIdx.x / 32 % 4, 0);
    if (threadIdx.x >= 128 * GROUPS) {
        fewer();
        if (threadIdx.x > 128 * GROUPS) return;
        for (Walk walk(heads); walk.more(); walk.next()) {
            int head = walk.head(), first = walk.first(), h = head % H, sequence = head / H * T;
            blocks.awaitEmpty();
            info[2 * blocks.slot] = head, info[2 * blocks.slot + 1] = first;
            announce(blocks.full(), KV);
#pragma unroll 1
            for (int i = 0; i < 2 * GROUPS; i++)
                pull(base + blocks.slot * KV + i * TILE, &qkv, blocks.full(), sequence + (first + i % GROUPS) * SIDE, (1 + i / GROUPS) * (C / 64) + 2 * h);
            blocks.next();
#pragma unroll 1
            for (int i = first; i < LINES; i++, ring.next()) {
                u32 to = base + QUERIES + ring.slot * 2 * TILE;
                ring.awaitEmpty();
                announce(ring.full(), 2 * TILE + STATS);
                pull(to, &qkv, ring.full(), sequence + i * SIDE, 2 * h);
                pull(to + TILE, &dO, ring.full(), sequence + i * SIDE, 2 * h);
                pull(base + ROWS + ring.slot * STATS, stats + (i64)(head * LINES + i) * 2 * SIDE, STATS, ring.full());
            }
        }
        blocks.awaitEmpty();
        info[2 * blocks.slot] = -1;
        arrive(blocks.full());
        return;
    }
    more();
    const int group = __shfl_sync(~0u, threadIdx.x / 128, 0), lead = warp * 16 + lane / 4 - lane % 4 * 2;
    const u32 strip = base + STRIPS + (group * 4 + warp) * STRIP;
    const float scale = LOG2E / sqrtf((float)D), root = 1 / sqrtf((float)D);
    for (;; blocks.next()) {
        blocks.awaitFull();
        int head = info[2 * blocks.slot], own = info[2 * blocks.slot + 1] + group; // the group's tile
        if (head < 0) break;
        u32 place = (head * TRIANGLE + own * (own + 3) / 2) * 4 + warp; // of the warp's part of a square
        const u32 K = base + blocks.slot * KV + group * TILE, V = K + GROUPS * TILE;
        float dk[UNITS][4] = {}, dv[UNITS][4] = {};
        if (group > 0) { // its keys lie in the future of the first queries
            ring.awaitFull();
            ring.release();
            ring.next();
        }
        for (int i = own; i < LINES; i++, ring.next()) {
            const u32 q = base + QUERIES + ring.slot * 2 * TILE, g = q + TILE;
            const float *l = (const float*)(memory + ROWS + ring.slot * STATS) + lane % 4 * 2, *delta = l + SIDE;
            float s[8][4], dp[8][4];
            u32 p[8][2], ds[8][2];
            ring.awaitFull();
            ready();
            inner(s, K, q);
            batch();
            inner(dp, V, g);
            batch();
            finish<1>();
#pragma unroll
            for (int n = 0; n < 8; n++) {
                float2 two = *(const float2*)(l + 8 * n);
#pragma unroll
                for (int e = 0; e < 4; e++) s[n][e] = power2(s[n][e] * scale - (e % 2 ? two.y : two.x));
            }
            if (i == own) {
#pragma unroll
                for (int n = 0; n < 8; n++) {
#pragma unroll
                    for (int e = 0; e < 4; e++)
                        if (lead > 8 * n + e % 2 - e / 2 * 8) s[n][e] = 0;
                }
            }
            finish<0>();
#pragma unroll
            for (int n = 0; n < 8; n++) {
                float2 two = *(const float2*)(delta + 8 * n);
#pragma unroll
                for (int e = 0; e < 4; e++) dp[n][e] = s[n][e] * (dp[n][e] - (e % 2 ? two.y : two.x));
                p[n][0] = pack(s[n][0], s[n][1]), p[n][1] = pack(s[n][2], s[n][3]);
                ds[n][0] = pack(dp[n][0], dp[n][1]), ds[n][1] = pack(dp[n][2], dp[n][3]);
            }
            ready();
            outer(dv, p, g);
            outer(dk, ds, q);
            batch();
            if (lane == 0) pushed();
            __syncwarp();
#pragma unroll
            for (int n = 0; n < 8; n += 2) put4(spot(strip, n), ds[n][0], ds[n][1], ds[n + 1][0], ds[n + 1][1]);
            visible();
            __syncwarp();
            if (lane == 0) push(kept + (u64)place * STRIP, strip, STRIP);
            place += (i + 1) * 4;
            finish<0>();
            ring.release();
        }
        head = info[2 * blocks.slot];
        int h = head % H, k0 = (info[2 * blocks.slot + 1] + group) * SIDE + warp * 16, row = head / H * T + k0; // the warp's first
        const float* from = r + (i64)row * 3 * H + H + h;
        float rK[2], rV[2];
        if (norm) factors(rK, from);
        if (normV) factors(rV, from + H);
        meet(1 + group);
        throughHead(dv, 1, V + warp * ROWS16, rV, normV);
        put<(OPERAND_GRADIENT > 0)>(dv, V + warp * ROWS16, &dqkv, row, 2 * C / 64 + 2 * h);
        throughHead(dk, root, K + warp * ROWS16, rK, norm, turns + k0 * D, turn);
        put<(OPERAND_GRADIENT > 0)>(dk, K + warp * ROWS16, &dqkv, row, C / 64 + 2 * h);
        if (lane == 0) pushed();
        blocks.release();
    }
    if (lane == 0) pushed();
}

// From the last head on, whose dS was written last: some of it is still in the cache.
extern "C" __global__ void __launch_bounds__(THREADS, 1) backward_query(const __grid_constant__ Map qkv, const __grid_constant__ Map dqkv,
        const char* kept, const float* r, const float* turns, i64 norm, i64 turn, i64 heads) {
    extern __shared__ char raw[];
    const u32 tiles = (shared(raw) + 1023) / 1024 * 1024; // a tile of keys and two squares each; at last two of queries
    Ring<QUERY_STAGES> ring(tiles + QUERY_STAGES * 2 * TILE);
    begin(ring);
    if (threadIdx.x >= 128 * GROUPS) {
        fewer();
        if (threadIdx.x > 128 * GROUPS) return;
        for (Walk walk(heads); walk.more(); walk.next()) {
            int head = heads - 1 - walk.head(), first = walk.first(), h = head % H, sequence = head / H * T;
            const char* from = kept + ((i64)head * TRIANGLE + first * (first + 1) / 2) * SQUARE;
#pragma unroll 1
            for (int i = 0; i <= first + GROUPS; i++, ring.next()) {
                u32 to = tiles + ring.slot * 2 * TILE, full = ring.full();
                ring.awaitEmpty();
                if (i == first + GROUPS) {
                    announce(full, 2 * TILE);
                    for (int g = 0; g < GROUPS; g++) pull(to + g * TILE, &qkv, full, sequence + (first + g) * SIDE, 2 * h);
                } else {
                    announce(full, TILE + (i <= first ? 2 : 1) * SQUARE);
                    pull(to, &qkv, full, sequence + i * SIDE, C / 64 + 2 * h);
                    if (i <= first) pull(to + TILE, from + (i64)i * SQUARE, SQUARE, full);
                    pull(to + TILE + SQUARE, from + (i64)(first + 1 + i) * SQUARE, SQUARE, full);
                }
            }
        }
        return;
    }
    more();
    const int group = __shfl_sync(~0u, threadIdx.x / 128, 0), warp = __shfl_sync(~0u, threadIdx.x / 32 % 4, 0);
    for (Walk walk(heads); walk.more(); walk.next()) {
        int head = heads - 1 - walk.head(), h = head % H, own = walk.first() + group;
        float dq[UNITS][4] = {}, factor[2];
        for (int i = 0; i <= own; i++, ring.next()) {
            u32 k = tiles + ring.slot * 2 * TILE, ds = k + TILE + group * SQUARE;
            ring.awaitFull();
            ready();
#pragma unroll
            for (int s = 0; s < 4; s++) multiply(dq, view(ds + s * ROWS16), view(k + s * ROWS16));
            batch();
            finish<1>();
            if (i > 0) ring.release(1);
        }
        int q0 = own * SIDE + warp * 16, row = head / H * T + q0; // the warp's first
        if (norm) factors(factor, r + (i64)row * 3 * H + h);
        finish<0>();
        ring.release(1);
        if (group == 0) { // the last keys lie in the future of its queries
            ring.awaitFull();
            ring.release();
            ring.next();
        }
        ring.awaitFull();
        u32 q = tiles + ring.slot * 2 * TILE + group * TILE + warp * ROWS16;
        throughHead(dq, 1 / sqrtf((float)D), q, factor, norm, turns + q0 * D, turn);
        put<(OPERAND_GRADIENT > 0)>(dq, q, &dqkv, row, 2 * h);
        if (threadIdx.x % 32 == 0) pushed();
        ring.release();
        ring.next();
    }
}
