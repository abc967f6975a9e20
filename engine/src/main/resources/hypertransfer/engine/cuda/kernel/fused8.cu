// Products of eight bits with what follows them. `by` is what undoes the scales of x and w and makes that of y.

struct Values {
    static constexpr bool FLIPPED = true;
    static __device__ __forceinline__ void step(float (&c)[TILES][4], u64 a, u64 b, int add) { multiply8<0>(c, a, b, add); }
};
struct Gradients {
    static constexpr bool FLIPPED = true;
    static __device__ __forceinline__ void step(float (&c)[TILES][4], u64 a, u64 b, int add) { multiply8<1>(c, a, b, add); }
};

struct ReluSquared8 : ReluSquared {
    static constexpr int OUT = E4M3;
    float by; // its square is
    __device__ __forceinline__ void each(float (&x)[4], float (&y)[4], u32) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float a = fmaxf(x[i], 0) * by, b = fmaxf(y[i], 0) * by;
            x[i] = a * a, y[i] = b * b;
        }
    }
};

// y times `by` sqrt(s), s (M,width) of e4m3. The roots take all the room that y has until the products are done, so they are read
// from memory directly.
struct Slope8 : Slope {
    static constexpr int OUT = E5M2;
    static constexpr int AHEAD = 2;
    const uint4* s;
    int width;
    float by;
    __device__ __forceinline__ u32 roots(u16 both) {
        float2 x = wide2(both);
        return pack(by / 2 * twiceRoot(x.x), by / 2 * twiceRoot(x.y));
    }
    __device__ __forceinline__ void prepare(u32 tile, int thread, int threads, int row, int column) {
        constexpr int CHUNKS = COLUMNS / 16;
        for (int first = thread; first < 64 * CHUNKS; first += AHEAD * threads) {
            uint4 raw[AHEAD];
#pragma unroll
            for (int k = 0; k < AHEAD; k++) {
                int i = first + k * threads, n = column + i % CHUNKS * 16;
                raw[k] = {};
                if (i < 64 * CHUNKS && n < width) raw[k] = s[((i64)(row + i / CHUNKS) * width + n) / 16];
            }
#pragma unroll
            for (int k = 0; k < AHEAD; k++) {
                int i = first + k * threads, r = i / CHUNKS;
                u32 words[4] = {raw[k].x, raw[k].y, raw[k].z, raw[k].w};
                if (i < 64 * CHUNKS) {
#pragma unroll
                    for (int half = 0; half < 2; half++) {
                        int chunk = i % CHUNKS * 2 + half;
                        u32 a = words[2 * half], b = words[2 * half + 1];
                        asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(tile + chunk / 8 * PANEL + r * 128 + (chunk % 8 ^ r & 7) * 16),
                                     "r"(roots(a)), "r"(roots(a >> 16)), "r"(roots(b)), "r"(roots(b >> 16)) : "memory");
                    }
                }
            }
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 1) product_heads_8(const __grid_constant__ Map x, const __grid_constant__ Map w,
        const __grid_constant__ Map y, i64 M, i64 N, i64 K, float* r, const float* turns, i64 norm, i64 turn, i64 normV, double by) {
    product<Values>(&x, &w, &y, 0, M, N, K, Heads<true>{r, turns, norm != 0, turn != 0, normV != 0, (float)by});
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) product_relu_squared_8(const __grid_constant__ Map x,
        const __grid_constant__ Map w, const __grid_constant__ Map y, i64 M, i64 N, i64 K, double by) {
    ReluSquared8 after;
    after.by = (float)by;
    product<Values>(&x, &w, &y, 0, M, N, K, after);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) product_powers_8(const __grid_constant__ Map x, const __grid_constant__ Map w,
        const __grid_constant__ Map y, i64 M, i64 N, i64 K, const float* top, float* sums, double by) {
    product<Values>(&x, &w, &y, 0, M, N, K, Powers{top, sums, (int)M, (int)N, (float)by * LOG2E});
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) product_slope_8(const __grid_constant__ Map x, const __grid_constant__ Map w,
        const __grid_constant__ Map y, const uint4* s, i64 M, i64 N, i64 K, double by) {
    Slope8 after;
    after.s = s, after.width = (int)N, after.by = (float)by;
    product<Gradients>(&x, &w, &y, 0, M, N, K, after);
}
