// What products of eight bits need beside them: operands made of bfloat16, operands transposed (these products sum along rows
// only), and softmax around the head's product.

constexpr int SIDE = 128, WORDS = SIDE / 4; // of a tile, in numbers, and words of four
constexpr float LN2 = 0.6931471805599453f;

enum { EIGHT_BITS, WEIGHT, GRADIENT, POWERS_OF_ROWS };

struct Rows { // of softmax's powers: a factor each, and what stands at the target
    const float* factors;
    const int* targets;
    const float* kept;
};

// Four numbers of a row as they will be written.
template <int KIND> __device__ __forceinline__ u32 four(const void* from, i64 at, i64 row, int column, float by, const Rows& all) {
    if (KIND == EIGHT_BITS) return *(const u32*)((const char*)from + at);
    float x[4];
    load<4>((const bf16*)from + at, x);
    if (KIND == POWERS_OF_ROWS) by = all.factors[row];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        x[k] = KIND == POWERS_OF_ROWS && column + k == all.targets[row] ? all.kept[row] : x[k] * by;
    }
    return narrow2<KIND != WEIGHT>(x[0], x[1]) | (u32)narrow2<KIND != WEIGHT>(x[2], x[3]) << 16;
}

template <int KIND> __device__ __forceinline__ void turn(
        u32* tile, const void* from, unsigned char* to, unsigned char* turned, i64 rows, i64 cols, float by, Rows all) {
    constexpr int WARPS = TURN_THREADS / 32, TURNS = WORDS / WARPS;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    i64 top = (i64)blockIdx.y * SIDE, left = (i64)blockIdx.x * SIDE;
    u32 w[TURNS][4];
#pragma unroll
    for (int i = 0; i < TURNS * 4; i++) {
        i64 row = top + 4 * (i / 4 * WARPS + warp) + i % 4, at = row * cols + left + 4 * lane;
        w[i / 4][i % 4] = four<KIND>(from, at, row, (int)left + 4 * lane, by, all);
        if (KIND != EIGHT_BITS && to) *(u32*)(to + at) = w[i / 4][i % 4];
    }
    if (!turned) return;
#pragma unroll
    for (int k = 0; k < TURNS; k++) {
        u32 a = __byte_perm(w[k][0], w[k][1], 0x5140), b = __byte_perm(w[k][2], w[k][3], 0x5140);
        u32 c = __byte_perm(w[k][0], w[k][1], 0x7362), d = __byte_perm(w[k][2], w[k][3], 0x7362);
        u32* column = tile + 4 * lane * WORDS + (k * WARPS + warp ^ lane);
        column[0] = __byte_perm(a, b, 0x5410), column[WORDS] = __byte_perm(a, b, 0x7632);
        column[2 * WORDS] = __byte_perm(c, d, 0x5410), column[3 * WORDS] = __byte_perm(c, d, 0x7632);
    }
    __syncthreads();
#pragma unroll 4
    for (int c = warp; c < SIDE; c += WARPS) *(u32*)(turned + (left + c) * rows + top + 4 * lane) = tile[c * WORDS + (lane ^ c / 4)];
}

// from (rows,cols), of eight bits or bfloat16 times `by`, to (rows,cols) and turned (cols,rows), each if it is there. Both sides are
// multiples of SIDE. With factors (rows): powers of softmax, each row times its factor, with `kept` at its target.
extern "C" __global__ void __launch_bounds__(TURN_THREADS) turn_8(const void* from, unsigned char* to, unsigned char* turned, i64 rows,
        i64 cols, i64 kind, double by, const float* factors, const int* targets, const float* kept) {
    __shared__ u32 tile[SIDE * WORDS]; // a column's words follow each other, permuted so that no two lanes meet in a bank
    Rows all{factors, targets, kept};
    if (kind == EIGHT_BITS) turn<EIGHT_BITS>(tile, from, to, turned, rows, cols, 1, all);
    else if (kind == WEIGHT) turn<WEIGHT>(tile, from, to, turned, rows, cols, (float)by, all);
    else if (kind == GRADIENT) turn<GRADIENT>(tile, from, to, turned, rows, cols, (float)by, all);
    else turn<POWERS_OF_ROWS>(tile, from, to, turned, rows, cols, 1, all);
}

// The product of two rows of C numbers by a warp.
__device__ __forceinline__ float dot(const u16* x, const u16* w) {
    float sum = 0;
    for (int c = threadIdx.x % 32; c < C / 2; c += 32) {
        float2 a = wide2(x[c]), b = wide2(w[c]);
        sum += a.x * b.x + a.y * b.y;
    }
    return lanesSum<32>(sum);
}

__device__ __forceinline__ i64 line() { return ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32; }

// head_top, head_loss and logits as in head.cu and tokens.cu, where the words are explained.
extern "C" __global__ void head_top_8(const u16* x, const u16* w, const int* targets, float* target, float* top, i64 rows, double by) {
    i64 n = line();
    if (n >= rows) return;
    float sum = dot(x + n * (C / 2), w + (i64)targets[n] * (C / 2)) * (float)by;
    if (threadIdx.x % 32 == 0) target[n] = sum, top[n] = rintf(sum * LOG2E);
}

// The gradients are p and, at the target, p - 1, times UNIT, in e5m2. The target's is as large as all others together: these follow
// its rounding, so that the sum stays zero.
extern "C" __global__ void head_loss_8(const float* sums, const float* target, const float* top, float* losses, float* factors,
        float* kept, double unit, i64 rows) {
    i64 n = line();
    if (n >= rows) return;
    float sum = 0;
#pragma unroll
    for (int i = threadIdx.x % 32; i < POWERS; i += 32) sum += sums[n * POWERS + i];
    sum = lanesSum<32>(sum);
    if (threadIdx.x % 32) return;
    bool large = sum > 1; // a loss of 44 and more
    float more = large ? top[n] + HEADROOM : top[n];
    losses[n] = logf(large ? sum : ldexpf(sum, HEADROOM)) + (more * LN2 - target[n]);
    float exact = (power2(target[n] * LOG2E - top[n] - HEADROOM) / sum - 1) * (float)unit;
    float rounded = wideGradient(narrow2<1>(exact, 0));
    kept[n] = rounded, factors[n] = (float)unit / sum * (exact == 0 ? 1 : rounded / exact);
}

extern "C" __global__ void logits_8(const u16* x, const u16* w, float* y, double by) {
    i64 v = line();
    if (v >= V) return;
    float sum = dot(x, w + v * (C / 2)) * (float)by;
    if (threadIdx.x % 32 == 0) y[v] = sum;
}
