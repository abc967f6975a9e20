// Norms over rows, with the residual and the activation around them.

// y (rows,cols) += b (period,cols), row n of y getting row n modulo period of b.
extern "C" __global__ void add_rows(act* y, const float* b, i64 rows, i64 cols, i64 period) {
    i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at < rows * cols) narrow(wide(y[at]) + b[at / cols % period * cols + at % cols], y[at]);
}

// db (period,cols) += the sums of the rows of dy that share its rows. One block of (32, SHIFT_ROWS) threads per row and 32 columns.
extern "C" __global__ void add_rows_backward(const act* dy, float* db, i64 rows, i64 cols, i64 period) {
    __shared__ float part[SHIFT_ROWS][32];
    i64 c = (i64)blockIdx.x * 32 + threadIdx.x;
    float sum = 0;
    if (c < cols) {
        for (i64 n = blockIdx.y + threadIdx.y * period; n < rows; n += SHIFT_ROWS * period) sum += wide(dy[n * cols + c]);
    }
    part[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && c < cols) {
        for (int k = 1; k < SHIFT_ROWS; k++) sum += part[k][threadIdx.x];
        db[blockIdx.y * cols + c] += sum;
    }
}

extern "C" __global__ void row_norm(
        const act* h, const act* z, float* zr, act* out, const float* gain, act* y, float* r, i64 rows) {
    normed<false>(h, z, zr, out, gain, y, r, rows);
}

extern "C" __global__ void layer_norm(
        const act* h, const act* z, float* zr, act* out, const float* gain, act* y, float* r, i64 rows) {
    normed<true>(h, z, zr, out, gain, y, r, rows);
}

extern "C" __global__ void __launch_bounds__(NARROW_THREADS, NARROW_BLOCKS) row_norm_backward(const act* dy, const act* x,
        const float* gain, const float* r, const act* dh, act* dx, const act* z, const float* zr, act* dz, float* partial, i64 rows) {
    throughNormed<false>(dy, x, gain, r, dh, dx, z, zr, dz, partial, rows);
}

extern "C" __global__ void __launch_bounds__(NARROW_THREADS) layer_norm_backward(const act* dy, const act* x,
        const float* gain, const float* r, const act* dh, act* dx, const act* z, const float* zr, act* dz, float* partial, i64 rows) {
    throughNormed<true>(dy, x, gain, r, dh, dx, z, zr, dz, partial, rows);
}

// dgain (1,C) += the column sums of partial (count,C). One block of (32, COLUMN_ROWS) threads per 32 columns.
extern "C" __global__ void columns(const float* partial, float* dgain, i64 count) {
    __shared__ float part[COLUMN_ROWS][32];
    int c = blockIdx.x * 32 + threadIdx.x;
    float sum = 0;
    if (c < C) {
#pragma unroll 16 // so many loads at once
        for (i64 g = threadIdx.y; g < count; g += COLUMN_ROWS) sum += partial[g * C + c];
    }
    part[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && c < C) {
        for (int k = 1; k < COLUMN_ROWS; k++) sum += part[k][threadIdx.x];
        dgain[c] += sum;
    }
}

constexpr int WIDE_THREADS = WIDE_LANES > THREADS ? WIDE_LANES : THREADS; // of a block that works on rows of F

struct ReluSquared {
    static __device__ __forceinline__ float value(float x) {
        float relu = fmaxf(0, x);
        return relu * relu;
    }
    static __device__ __forceinline__ float slope(float x) { return 2 * fmaxf(0, x); }
};

__device__ __forceinline__ float sigmoid(float x) { return 1 / (1 + expf(-x)); }

// With the hyperbolic tangent, written by a sigmoid.
struct Gelu {
    static constexpr float A = 1.5957691216057308f, B = A * 0.044715f; // A = 2 sqrt(2/pi)
    static __device__ __forceinline__ float value(float x) { return x * sigmoid(x * (A + B * x * x)); }
    static __device__ __forceinline__ float slope(float x) {
        float s = sigmoid(x * (A + B * x * x));
        return s * (1 + x * (A + 3 * B * x * x) * (1 - s));
    }
};

// s = A(post(f)); f, s (rows,F), fr (rows,1) or absent.
template <typename A> __device__ __forceinline__ void activation(const act* f, float* fr, act* s, i64 rows) {
    typedef Row<F> R;
    for (i64 first = (i64)blockIdx.x * R::ROWS; first < rows; first += (i64)gridDim.x * R::ROWS) {
        i64 n = first + R::group();
        bool live = n < rows;
        R x;
        x.load(f + n * F, live);
        float post = 1;
        if (fr) {
            post = x.rms();
            if (live && R::lane() == 0) fr[n] = post;
        }
#pragma unroll
        for (int i = 0; i < R::SIZE; i++) x.x[i] = A::value(x.x[i] * post);
        x.store(s + n * F, live);
    }
}

// df = the gradient at f; it may be ds.
template <typename A> __device__ __forceinline__ void activationBackward(
        const act* f, const float* fr, const act* ds, act* df, i64 rows) {
    typedef Row<F> R;
    for (i64 first = (i64)blockIdx.x * R::ROWS; first < rows; first += (i64)gridDim.x * R::ROWS) {
        i64 n = first + R::group();
        bool live = n < rows;
        R x, d;
        x.load(f + n * F, live);
        d.load(ds + n * F, live);
        float post = fr ? (live ? fr[n] : 0) : 1;
#pragma unroll
        for (int i = 0; i < R::SIZE; i++) {
            x.x[i] *= post;
            d.x[i] *= A::slope(x.x[i]);
        }
        if (fr) d.throughNorm(x, post);
        d.store(df + n * F, live);
    }
}

extern "C" __global__ void relu_squared(const act* f, float* fr, act* s, i64 rows) {
    activation<ReluSquared>(f, fr, s, rows);
}

extern "C" __global__ void relu_squared_backward(const act* f, const float* fr, const act* ds, act* df, i64 rows) {
    activationBackward<ReluSquared>(f, fr, ds, df, rows);
}

extern "C" __global__ void __launch_bounds__(WIDE_THREADS) gelu(const act* f, float* fr, act* s, i64 rows) { activation<Gelu>(f, fr, s, rows); }

extern "C" __global__ void __launch_bounds__(WIDE_THREADS) gelu_backward(const act* f, const float* fr, const act* ds, act* df, i64 rows) {
    activationBackward<Gelu>(f, fr, ds, df, rows);
}

// s = x sigmoid(x) y, of x and y = post of the halves of f (rows,2F); fr (rows,2) or absent.
extern "C" __global__ void __launch_bounds__(WIDE_THREADS) swiglu(const act* f, float* fr, act* s, i64 rows) {
    typedef Row<F> R;
    for (i64 first = (i64)blockIdx.x * R::ROWS; first < rows; first += (i64)gridDim.x * R::ROWS) {
        i64 n = first + R::group();
        bool live = n < rows;
        R x, y;
        x.load(f + n * 2 * F, live);
        y.load(f + n * 2 * F + F, live);
        float px = 1, py = 1;
        if (fr) {
            px = x.rms(), py = y.rms();
            if (live && R::lane() == 0) fr[2 * n] = px, fr[2 * n + 1] = py;
        }
#pragma unroll
        for (int i = 0; i < R::SIZE; i++) {
            float gate = x.x[i] * px;
            x.x[i] = gate * sigmoid(gate) * (y.x[i] * py);
        }
        x.store(s + n * F, live);
    }
}

extern "C" __global__ void __launch_bounds__(WIDE_THREADS) swiglu_backward(const act* f, const float* fr, const act* ds, act* df, i64 rows) {
    typedef Row<F> R;
    for (i64 first = (i64)blockIdx.x * R::ROWS; first < rows; first += (i64)gridDim.x * R::ROWS) {
        i64 n = first + R::group();
        bool live = n < rows;
        R x, y, dx, dy;
        x.load(f + n * 2 * F, live);
        y.load(f + n * 2 * F + F, live);
        dx.load(ds + n * F, live);
        float px = 1, py = 1;
        if (fr) px = live ? fr[2 * n] : 0, py = live ? fr[2 * n + 1] : 0;
#pragma unroll
        for (int i = 0; i < R::SIZE; i++) {
            x.x[i] *= px;
            y.x[i] *= py;
            float s = sigmoid(x.x[i]), d = dx.x[i] * s;
            dx.x[i] = d * (1 + x.x[i] * (1 - s)) * y.x[i];
            dy.x[i] = d * x.x[i];
        }
        if (fr) {
            dx.throughNorm(x, px);
            dy.throughNorm(y, py);
        }
        dx.store(df + n * 2 * F, live);
        dy.store(df + n * 2 * F + F, live);
    }
}
