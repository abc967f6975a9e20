// Products in bfloat16 with what follows them.

extern "C" __global__ void __launch_bounds__(THREADS, 1) product_heads(const __grid_constant__ Map x, const __grid_constant__ Map w,
        const __grid_constant__ Map y, i64 M, i64 N, i64 K, float* r, const float* turns, i64 norm, i64 turn, i64 normV) {
    product<Bfloat16<true>>(&x, &w, &y, 0, M, N, K, Heads<>{r, turns, norm != 0, turn != 0, normV != 0});
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) product_relu_squared(const __grid_constant__ Map x,
        const __grid_constant__ Map w, const __grid_constant__ Map y, i64 M, i64 N, i64 K) {
    product<Bfloat16<true>>(&x, &w, &y, 0, M, N, K, ReluSquared{});
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) product_powers(const __grid_constant__ Map x, const __grid_constant__ Map w,
        const __grid_constant__ Map y, i64 M, i64 N, i64 K, const float* top, float* sums) {
    product<Bfloat16<true>>(&x, &w, &y, 0, M, N, K, Powers{top, sums, (int)M, (int)N, LOG2E});
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) product_slope(const __grid_constant__ Map x, const __grid_constant__ Map w,
        const __grid_constant__ Map y, const __grid_constant__ Map s, i64 M, i64 N, i64 K) {
    product<Bfloat16<false>>(&x, &w, &y, &s, M, N, K, Slope{});
}
