// What the optimizer does to many tensors at once. Each launch carries a list of at most MAX_LIST tensors by value;
// blockIdx.y is the entry. Masters, gradients and states are float32.

struct Entry {
    float *a, *b, *c;
    i64 n;    // numbers of a
    double s; // scale; of move the keep
    union {
        double push; // of move
        double norm; // of rescale: what it gives, negative for the numbers' own
    };
    union {
        i64 narrow;  // 1 where b, or a total's a, is bfloat16
        i64 doubles; // of readings: how many of a and b are in double
        i64 span;    // of equalize: numbers of a that share one of b
    };
};
struct List {
    Entry e[MAX_LIST];
};

// Over the numbers i < n of an entry; the threads of all its blocks take turns.
#define EACH(n) \
    _Pragma("unroll 4") for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (i64)gridDim.x * blockDim.x)

// m = beta m + (1 - beta) s g; g = m, or with nesterov beta m + (1 - beta) s g. a = g, b = m.
extern "C" __global__ void momentum(const __grid_constant__ List list, double beta, i64 nesterov) {
    const Entry& e = list.e[blockIdx.y];
    double s = (float)e.s; // as coarse as the gradient: the last bits of a double are not the same in two equal runs
    EACH(e.n) {
        double g = s * e.a[i], m = beta * e.b[i] + (1 - beta) * g;
        e.b[i] = (float)m;
        e.a[i] = (float)(nesterov ? beta * m + (1 - beta) * g : m);
    }
}

// a = g, b = m, c = v; c1 = 1 - beta1^t, c2 = 1 - beta2^t.
extern "C" __global__ void adam(
        const __grid_constant__ List list, double beta1, double beta2, double epsilon, double c1, double c2) {
    const Entry& e = list.e[blockIdx.y];
    float s = (float)e.s, b1 = (float)beta1, d1 = (float)(1 - beta1), b2 = (float)beta2, d2 = (float)(1 - beta2);
    float i1 = (float)(1 / c1), i2 = (float)(1 / c2), eps = (float)epsilon;
    EACH(e.n) {
        float g = s * e.a[i], m = b1 * e.b[i] + d1 * g, v = b2 * e.c[i] + d2 * g * g;
        e.b[i] = m;
        e.c[i] = v;
        e.a[i] = m * i1 / (sqrtf(v * i2) + eps);
    }
}

// g = sign(look m + (1 - look) s g), m = keep m + (1 - keep) s g. a = g, b = m.
extern "C" __global__ void sign(const __grid_constant__ List list, double look, double keep) {
    const Entry& e = list.e[blockIdx.y];
    double s = (float)e.s; // as in momentum
    EACH(e.n) {
        double g = s * e.a[i], m = e.b[i], ahead = look * m + (1 - look) * g;
        e.b[i] = (float)(keep * m + (1 - keep) * g);
        e.a[i] = ahead > 0 ? 1.f : ahead < 0 ? -1.f : (float)ahead; // a NaN stays
    }
}

// g = s g, at most the limit in absolute value. a = g.
extern "C" __global__ void clamp(const __grid_constant__ List list, double limit) {
    const Entry& e = list.e[blockIdx.y];
    float s = (float)e.s, most = (float)limit;
    EACH(e.n) {
        float g = s * e.a[i];
        e.a[i] = g > most ? most : g < -most ? -most : g;
    }
}

// Between a block and the matrix it is a part of, in units of two bytes. a = the block, b = its first number in the matrix,
// cols = the units of a row of every block, line = those of a row of the matrix.
extern "C" __global__ void blocks(const __grid_constant__ List list, i64 cols, i64 line, i64 back) {
    const Entry& e = list.e[blockIdx.y];
    unsigned short *own = (unsigned short*)e.a, *inside = (unsigned short*)e.b;
    EACH(e.n) {
        unsigned short* at = inside + i / cols * line + i % cols;
        if (back) *at = own[i];
        else own[i] = *at;
    }
}

// w = keep w - push u. a = w, b = u, s = keep. In double, so that keep's last bits are not lost.
extern "C" __global__ void move(const __grid_constant__ List list) {
    const Entry& e = list.e[blockIdx.y];
    EACH(e.n) e.a[i] = (float)(e.s * e.a[i] - e.push * e.b[i]);
}

// The same for an exact master.
extern "C" __global__ void move_exact(const __grid_constant__ List list) {
    const Entry& e = list.e[blockIdx.y];
    double* w = (double*)e.a;
    EACH(e.n) w[i] = e.s * w[i] - e.push * e.b[i];
}

// x on a grid of fewer bits, by Veltkamp's splitting (Format in Java); no product may be contracted into a difference here.
// Without a splitter x itself.
__device__ __forceinline__ double onGrid(double x, double splitter) {
    double c = __dmul_rn(splitter, x);
    return splitter == 0 ? x : __dsub_rn(c, __dsub_rn(c, x));
}

// A double rounded once. A float that keeps in its last bit that something was cut off does not round twice.
__device__ __forceinline__ void narrowOnce(double x, float& to) { to = (float)x; }
__device__ __forceinline__ void narrowOnce(double x, bf16& to) {
    float cut = __double2float_rz(x);
    narrow(__uint_as_float(__float_as_uint(cut) | (u32)((double)cut != x)), to);
}

// weight = s master. a = master, b = weight.
extern "C" __global__ void represent(const __grid_constant__ List list, double splitter) {
    const Entry& e = list.e[blockIdx.y];
    if (e.narrow == 1) {
        bf16* to = (bf16*)e.b;
        EACH(e.n) narrow((float)onGrid(e.s * e.a[i], splitter), to[i]);
    } else {
        EACH(e.n) e.b[i] = (float)onGrid(e.s * e.a[i], splitter);
    }
}

template <typename E> __device__ __forceinline__ void representExact(const Entry& e, double splitter) {
    const double* from = (const double*)e.a;
    E* to = (E*)e.b;
    EACH(e.n) narrowOnce(onGrid(e.s * from[i], splitter), to[i]);
}

// The same from an exact master.
extern "C" __global__ void represent_exact(const __grid_constant__ List list, double splitter) {
    const Entry& e = list.e[blockIdx.y];
    if (e.narrow == 1) {
        representExact<bf16>(e, splitter);
    } else {
        representExact<float>(e, splitter);
    }
}

// The three sums of a block, one thread adding the warps' in their order.
__device__ __forceinline__ void blockSums(double* x, double* to) {
    __shared__ double part[3][32];
#pragma unroll
    for (int k = 0; k < 3; k++) {
#pragma unroll
        for (int o = 16; o > 0; o /= 2) x[k] += __shfl_xor_sync(0xffffffffu, x[k], o);
        if (threadIdx.x % 32 == 0) part[k][threadIdx.x / 32] = x[k];
    }
    __syncthreads();
    if (threadIdx.x < 3) {
        double sum = 0;
        for (int w = 0; w < blockDim.x / 32; w++) sum += part[threadIdx.x][w];
        to[threadIdx.x] = sum;
    }
}

// partial (MAX_LIST, SHARES, 3): w w, u u and u w of each block's share. a = w, b = u. gridDim.x = SHARES.
template <typename A, typename B> __device__ __forceinline__ void reading(const Entry& e, double* sums) {
    const A* a = (const A*)e.a;
    const B* b = (const B*)e.b;
    EACH(e.n) {
        double w = a[i], u = b[i];
        sums[0] += w * w;
        sums[1] += u * u;
        sums[2] += u * w;
    }
}

extern "C" __global__ void readings(const __grid_constant__ List list, double* partial) {
    const Entry& e = list.e[blockIdx.y];
    double sums[3] = {0, 0, 0};
    if (e.doubles == 0) {
        reading<float, float>(e, sums);
    } else if (e.doubles == 1) {
        reading<double, float>(e, sums);
    } else {
        reading<double, double>(e, sums);
    }
    blockSums(sums, partial + ((i64)blockIdx.y * SHARES + blockIdx.x) * 3);
}

// partial as above: the sum of a, in the first of the three.
extern "C" __global__ void total(const __grid_constant__ List list, double* partial) {
    const Entry& e = list.e[blockIdx.y];
    double sums[3] = {0, 0, 0};
    if (e.narrow == 1) {
        const bf16* a = (const bf16*)e.a;
        EACH(e.n) sums[0] += wide(a[i]);
    } else {
        EACH(e.n) sums[0] += e.a[i];
    }
    blockSums(sums, partial + ((i64)blockIdx.y * SHARES + blockIdx.x) * 3);
}

// a = x, b = v; span numbers of x share one of v: v = beta v + (1 - beta) mean(x^2), x = x / (sqrt(v) + epsilon).
// partial as above: the squares of x before, and after. A warp takes a number of v; gridDim.x = SHARES.
extern "C" __global__ void equalize(const __grid_constant__ List list, double beta, double epsilon, double* partial) {
    const Entry& e = list.e[blockIdx.y];
    double sums[3] = {0, 0, 0};
    i64 span = e.span;
    if (span == 1) {
        EACH(e.n) {
            double x = e.a[i], v = beta * e.b[i] + (1 - beta) * x * x, p = x / (sqrt(v) + epsilon);
            e.b[i] = (float)v;
            e.a[i] = (float)p;
            sums[0] += x * x;
            sums[1] += p * p;
        }
    } else {
        int lane = threadIdx.x % 32, warps = blockDim.x / 32;
        for (i64 row = (i64)blockIdx.x * warps + threadIdx.x / 32; row < e.n / span; row += (i64)gridDim.x * warps) {
            float* x = e.a + row * span;
            double squares = 0;
            for (i64 i = lane; i < span; i += 32) squares += (double)x[i] * x[i];
#pragma unroll
            for (int o = 16; o > 0; o /= 2) squares += __shfl_xor_sync(0xffffffffu, squares, o);
            double v = beta * e.b[row] + (1 - beta) * squares / span, factor = 1 / (sqrt(v) + epsilon);
            __syncwarp(); // every lane has read b
            if (lane == 0) {
                e.b[row] = (float)v;
                sums[0] += squares;
                sums[1] += squares * factor * factor;
            }
            for (i64 i = lane; i < span; i += 32) x[i] = (float)(x[i] * factor);
        }
    }
    blockSums(sums, partial + ((i64)blockIdx.y * SHARES + blockIdx.x) * 3);
}

// The shares of entry blockIdx.x added up: out (entries, 3). SHARES threads.
extern "C" __global__ void finish(const double* partial, double* out) {
    double sums[3];
#pragma unroll
    for (int k = 0; k < 3; k++) sums[k] = partial[((i64)blockIdx.x * SHARES + threadIdx.x) * 3 + k];
    blockSums(sums, out + (i64)blockIdx.x * 3);
}

// What follows equalize: x gets its norm. squares[3 entry] are those of x before equalize, the next those of x now.
extern "C" __global__ void rescale(const __grid_constant__ List list, double epsilon, const double* squares) {
    const Entry& e = list.e[blockIdx.y];
    double norm = e.norm < 0 ? sqrt(squares[3 * blockIdx.y]) : e.norm;
    double factor = norm / (sqrt(squares[3 * blockIdx.y + 1]) + epsilon);
    EACH(e.n) e.a[i] = (float)(e.a[i] * factor);
}

// Newton-Schulz's X = x / |x|, squares[3 entry] being |x|^2. a = x, b = X.
extern "C" __global__ void normalize(const __grid_constant__ List list, const double* squares) {
    const Entry& e = list.e[blockIdx.y];
    double norm = sqrt(squares[3 * blockIdx.y]), factor = norm == 0 ? 0 : 1 / norm;
    if (e.narrow == 1) {
        bf16* to = (bf16*)e.b;
        EACH(e.n) narrow((float)(e.a[i] * factor), to[i]);
    } else {
        EACH(e.n) e.b[i] = (float)(e.a[i] * factor);
    }
}

// And back: a = b.
extern "C" __global__ void denormalize(const __grid_constant__ List list) {
    const Entry& e = list.e[blockIdx.y];
    if (e.narrow == 1) {
        const bf16* from = (const bf16*)e.b;
        EACH(e.n) e.a[i] = wide(from[i]);
    } else {
        EACH(e.n) e.a[i] = e.b[i];
    }
}
