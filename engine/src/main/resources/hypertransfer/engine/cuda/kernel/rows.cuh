// Norms over rows of C or F numbers, with the residual and the activation around them. A row is held in the registers of
// LANES threads.

template <int W> struct Row {
    static constexpr int VEC = W == C ? NARROW_VEC : WIDE_VEC;
    static constexpr int LANES = W == C ? NARROW_LANES : WIDE_LANES;
    static constexpr int CHUNKS = W / VEC;
    static constexpr int ITER = (CHUNKS + LANES - 1) / LANES;
    static constexpr int ROWS = LANES < THREADS ? THREADS / LANES : 1; // in a block
    static constexpr int SIZE = ITER * VEC; // numbers of a thread
    float x[SIZE];

    // A row as it lies in memory: it is asked for long before it is needed, and takes half the registers in bfloat16.
    struct Raw {
        typename Chunk<VEC * sizeof(act)>::type chunks[ITER];

        __device__ __forceinline__ void load(const act* row, bool live) {
#pragma unroll
            for (int i = 0; i < ITER; i++) {
                int chunk = lane() + i * LANES;
                chunks[i] = {};
                if (live && chunk < CHUNKS) chunks[i] = *(const typename Chunk<VEC * sizeof(act)>::type*)(row + chunk * VEC);
            }
        }
    };

    static __device__ __forceinline__ int lane() { return threadIdx.x % LANES; }
    static __device__ __forceinline__ int group() { return threadIdx.x / LANES; }

    template <typename E> __device__ __forceinline__ void load(const E* row, bool live) {
#pragma unroll
        for (int i = 0; i < ITER; i++) {
            int chunk = lane() + i * LANES;
            if (live && chunk < CHUNKS) {
                ::load<VEC>(row + chunk * VEC, x + i * VEC);
            } else {
#pragma unroll
                for (int k = 0; k < VEC; k++) x[i * VEC + k] = 0;
            }
        }
    }

    __device__ __forceinline__ void load(const Raw& raw) {
#pragma unroll
        for (int i = 0; i < ITER; i++) ::load<VEC>((const act*)&raw.chunks[i], x + i * VEC);
    }

    // A float row beside activations has other alignments: at most 16 bytes at a time.
    __device__ __forceinline__ void loadFloats(const float* row) {
        constexpr int F = VEC > 4 ? 4 : VEC;
#pragma unroll
        for (int i = 0; i < ITER; i++) {
            int chunk = lane() + i * LANES;
#pragma unroll
            for (int k = 0; k < VEC; k += F) {
                if (chunk < CHUNKS) {
                    ::load<F>(row + chunk * VEC + k, x + i * VEC + k);
                } else {
#pragma unroll
                    for (int f = 0; f < F; f++) x[i * VEC + k + f] = 0;
                }
            }
        }
    }

    template <typename E> __device__ __forceinline__ void store(E* row, bool live) const {
#pragma unroll
        for (int i = 0; i < ITER; i++) {
            int chunk = lane() + i * LANES;
            if (live && chunk < CHUNKS) ::store<VEC>(row + chunk * VEC, x + i * VEC);
        }
    }

    __device__ __forceinline__ void times(float factor) {
#pragma unroll
        for (int i = 0; i < SIZE; i++) x[i] *= factor;
    }

    // Until all threads of the row are here; rows do not wait for each other.
    static __device__ __forceinline__ void meet() {
        if (LANES < THREADS) asm volatile("bar.sync %0, %1;" ::"r"(1 + group()), "n"(LANES) : "memory");
        else __syncthreads();
    }

    // The mean over the row of x times that. Every thread of a row must come here.
    __device__ __forceinline__ float mean(const Row& that) const {
        float sum = 0;
#pragma unroll
        for (int i = 0; i < SIZE; i++) sum += x[i] * that.x[i];
        sum = lanesSum<32>(sum);
        if (LANES > 32) {
            __shared__ float part[32];
            constexpr int WARPS = LANES / 32;
            int warp = threadIdx.x / 32;
            meet();
            if (threadIdx.x % 32 == 0) part[warp] = sum;
            meet();
            sum = 0;
#pragma unroll
            for (int i = 0; i < WARPS; i++) sum += part[warp / WARPS * WARPS + i];
        }
        return sum / W;
    }

    __device__ __forceinline__ float rms() const { return 1.f / sqrtf(mean(*this) + EPSILON); }

    // Takes the row's mean away; what lies past its end stays zero.
    __device__ __forceinline__ void center() {
        Row ones;
#pragma unroll
        for (int i = 0; i < SIZE; i++) ones.x[i] = 1;
        float m = mean(ones);
#pragma unroll
        for (int i = 0; i < SIZE; i++) {
            if (lane() + i / VEC * LANES < CHUNKS) x[i] -= m;
        }
    }

    // From the gradient at xhat = value * r to the one at value: r (d - xhat mean(d xhat)).
    __device__ __forceinline__ void throughNorm(const Row& xhat, float r) {
        float m = mean(xhat);
#pragma unroll
        for (int i = 0; i < SIZE; i++) x[i] = r * (x[i] - xhat.x[i] * m);
    }
};

// y = norm(x, gain); with z: out = h + post(z) first, and x is out. h, z, out, y (rows,C), zr, r (rows,1), gain (1,C).
// What has eight bits is multiplied by a power of two, `by`, before it is written.
template <bool CENTER, typename E> __device__ __forceinline__ void normed(
        const act* h, const act* z, float* zr, act* out, const float* gain, E* y, float* r, i64 rows, float by = 1) {
    typedef Row<C> R;
    for (i64 first = (i64)blockIdx.x * R::ROWS; first < rows; first += (i64)gridDim.x * R::ROWS) {
        i64 n = first + R::group();
        bool live = n < rows;
        R x;
        x.load(h + n * C, live);
        if (z) {
            R a;
            a.load(z + n * C, live);
            float post = 1;
            if (zr) {
                post = a.rms();
                if (live && R::lane() == 0) zr[n] = post;
            }
#pragma unroll
            for (int i = 0; i < R::SIZE; i++) x.x[i] = rounded(x.x[i] + a.x[i] * post);
            x.store(out + n * C, live);
        }
        if (CENTER) x.center();
        float s = x.rms();
        if (live && R::lane() == 0) r[n] = s;
        R g;
        g.loadFloats(gain);
#pragma unroll
        for (int i = 0; i < R::SIZE; i++) x.x[i] = x.x[i] * s * (1 + g.x[i]);
        if (sizeof(E) == 1) x.times(by);
        x.store(y + n * C, live);
    }
}

constexpr int NARROW_THREADS = NARROW_LANES > THREADS ? NARROW_LANES : THREADS; // of a block that works on rows of C
constexpr int NARROW_BLOCKS = NARROW_LANES <= THREADS && Row<C>::SIZE <= 24 ? 2 : 1; // of a multiprocessor, as registers must allow

// dx = dh + the gradient through norm(x, gain), dh absent being 0; where zr is given dz = the gradient through post(z), else dx if
// it has eight bits.
// partial (gridDim.x, C): each block's share of dgain.
template <bool CENTER, typename E> __device__ __forceinline__ void throughNormed(const act* dy, const act* x, const float* gain, const float* r,
        const act* dh, act* dx, const act* z, const float* zr, E* dz, float* partial, i64 rows, float by = 1) {
    typedef Row<C> R;
    constexpr bool EARLY = !CENTER && NARROW_BLOCKS > 1; // there are registers for what is needed later
    R share;
#pragma unroll
    for (int i = 0; i < R::SIZE; i++) share.x[i] = 0;
    for (i64 first = (i64)blockIdx.x * R::ROWS; first < rows; first += (i64)gridDim.x * R::ROWS) {
        i64 n = first + R::group();
        bool live = n < rows;
        R d, xhat, g;
        typename R::Raw later, last; // of dh and z
        d.load(dy + n * C, live);
        xhat.load(x + n * C, live);
        if (dh && EARLY) later.load(dh + n * C, live);
        g.loadFloats(gain);
        if (CENTER) xhat.center();
        float s = live ? r[n] : 0;
#pragma unroll
        for (int i = 0; i < R::SIZE; i++) {
            xhat.x[i] *= s;
            share.x[i] += d.x[i] * xhat.x[i];
            d.x[i] *= 1 + g.x[i];
        }
        if (zr && EARLY) last.load(z + n * C, live);
        d.throughNorm(xhat, s);
        if (CENTER) d.center(); // a symmetric projection
        if (dh) {
            if (!EARLY) later.load(dh + n * C, live);
            g.load(later);
#pragma unroll
            for (int i = 0; i < R::SIZE; i++) d.x[i] += g.x[i];
        }
        d.store(dx + n * C, live);
        if (zr) {
            float post = live ? zr[n] : 0;
            if (!EARLY) last.load(z + n * C, live);
            xhat.load(last);
#pragma unroll
            for (int i = 0; i < R::SIZE; i++) xhat.x[i] *= post;
            d.throughNorm(xhat, post);
        }
        if (sizeof(E) == 1) d.times(by);
        if (zr || sizeof(E) == 1) d.store(dz + n * C, live);
    }
    __shared__ float sum[C];
    for (int turn = 0; turn < R::ROWS; turn++) { // one group after the other, so that the order is fixed
        if (R::group() == turn) {
#pragma unroll
            for (int i = 0; i < R::ITER; i++) {
                int chunk = R::lane() + i * R::LANES;
                if (chunk < R::CHUNKS) {
#pragma unroll
                    for (int k = 0; k < R::VEC; k++) {
                        float* at = sum + chunk * R::VEC + k;
                        *at = (turn ? *at : 0) + share.x[i * R::VEC + k];
                    }
                }
            }
        }
        __syncthreads();
    }
    for (int c = threadIdx.x; c < C; c += blockDim.x) partial[(i64)blockIdx.x * C + c] = sum[c];
}
