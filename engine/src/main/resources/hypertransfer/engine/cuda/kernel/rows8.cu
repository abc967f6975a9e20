// Norms that leave what only products read in eight bits.

extern "C" __global__ void row_norm_8(
        const act* h, const act* z, float* zr, act* out, const float* gain, e4m3* y, float* r, i64 rows) {
    normed<false>(h, z, zr, out, gain, y, r, rows, OPERAND);
}

extern "C" __global__ void __launch_bounds__(NARROW_THREADS, NARROW_BLOCKS) row_norm_backward_8(const act* dy, const act* x,
        const float* gain, const float* r, const act* dh, act* dx, const act* z, const float* zr, e5m2* dz, float* partial,
        i64 rows) {
    throughNormed<false>(dy, x, gain, r, dh, dx, z, zr, dz, partial, rows, OPERAND_GRADIENT);
}
