// Products of eight bits with what follows them. `by` is what undoes the scales of x and w and makes that of y.

template <bool GRADIENT> struct EightBits {
    static constexpr bool FLIPPED = true;
    static __device__ __forceinline__ void step(float (&c)[TILES][4], u64 a, u64 b, int add) { multiply8<GRADIENT>(c, a, b, add); }
};

struct ReluSquared8 : ReluSquared {
    static constexpr int OUT = E4M3;
    float by; // its square is
    __device__ __forceinline__ void pairs(float* x, float* y, u32) {
#pragma unroll
        for (int i = 0; i < 2; i++) {
            float a = fmaxf(x[i], 0) * by, b = fmaxf(y[i], 0) * by;
            x[i] = a * a, y[i] = b * b;
        }
    }
};

// y times `by` sqrt(s), s (M,N) of e4m3.
struct Slope8 : Slope {
    static constexpr int OUT = E5M2;
    float by; // half of it
    __device__ __forceinline__ void pairs(float* x, float* y, u32 s) {
        float2 a = wide2((u16)s), b = wide2((u16)(s >> 16));
        x[0] *= by * twiceRoot(a.x), x[1] *= by * twiceRoot(a.y), y[0] *= by * twiceRoot(b.x), y[1] *= by * twiceRoot(b.y);
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 1) product_heads_8(const __grid_constant__ Map x, const __grid_constant__ Map w,
        const __grid_constant__ Map y, i64 M, i64 N, i64 K, float* r, const float* turns, i64 norm, i64 turn, i64 normV, double by) {
    product<EightBits<false>>(&x, &w, &y, 0, M, N, K, Heads<true>{r, turns, norm != 0, turn != 0, normV != 0, (float)by});
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) product_relu_squared_8(const __grid_constant__ Map x,
        const __grid_constant__ Map w, const __grid_constant__ Map y, i64 M, i64 N, i64 K, double by) {
    product<EightBits<false>>(&x, &w, &y, 0, M, N, K, ReluSquared8{{}, (float)by});
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) product_powers_8(const __grid_constant__ Map x, const __grid_constant__ Map w,
        const __grid_constant__ Map y, i64 M, i64 N, i64 K, const float* top, float* sums, double by) {
    product<EightBits<false>>(&x, &w, &y, 0, M, N, K, Powers{top, sums, (int)M, (int)N, (float)by * LOG2E});
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) product_slope_8(const __grid_constant__ Map x, const __grid_constant__ Map w,
        const __grid_constant__ Map y, const __grid_constant__ Map s, i64 M, i64 N, i64 K, double by) {
    product<EightBits<true>>(&x, &w, &y, &s, M, N, K, Slope8{{}, (float)by / 2});
}
