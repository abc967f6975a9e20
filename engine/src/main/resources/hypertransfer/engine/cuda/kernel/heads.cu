// The norm of each head and the rotary embedding of queries and keys, in place in qkv (N,QD): H heads of queries, G of keys, G
// of values.
// A head is held by LANES threads; each holds chunks of the first half and the same chunks of the second.

constexpr int HALF = D / 2;
constexpr int Q = H + 2 * G;
constexpr int CHUNKS = HALF / VEC;
constexpr int ITER = (CHUNKS + LANES - 1) / LANES;

struct Pair {
    float a[ITER * VEC], b[ITER * VEC];

    __device__ __forceinline__ void load(const act* head, int lane, bool live) {
#pragma unroll
        for (int i = 0; i < ITER; i++) {
            int chunk = lane + i * LANES;
            if (live && chunk < CHUNKS) {
                ::load<VEC>(head + chunk * VEC, a + i * VEC);
                ::load<VEC>(head + HALF + chunk * VEC, b + i * VEC);
            } else {
#pragma unroll
                for (int k = 0; k < VEC; k++) a[i * VEC + k] = b[i * VEC + k] = 0;
            }
        }
    }

    __device__ __forceinline__ void store(act* head, int lane, bool live) const {
#pragma unroll
        for (int i = 0; i < ITER; i++) {
            int chunk = lane + i * LANES;
            if (live && chunk < CHUNKS) {
                ::store<VEC>(head + chunk * VEC, a + i * VEC);
                ::store<VEC>(head + HALF + chunk * VEC, b + i * VEC);
            }
        }
    }

    __device__ __forceinline__ float mean(const Pair& that) const {
        float sum = 0;
#pragma unroll
        for (int i = 0; i < ITER * VEC; i++) sum += a[i] * that.a[i] + b[i] * that.b[i];
        return lanesSum<LANES>(sum) / D;
    }

    // turns (T, D/2): cosine and sine side by side. (x1,x2) -> (x1 cos + x2 sin, x2 cos - x1 sin); sign -1 turns back.
    __device__ __forceinline__ void turn(const float* turns, int position, int lane, float sign) {
#pragma unroll
        for (int i = 0; i < ITER; i++) {
            int chunk = lane + i * LANES;
            if (chunk < CHUNKS) {
                constexpr int F = VEC > 1 ? 4 : 2; // floats of one access to the table
                float cs[2 * VEC];
#pragma unroll
                for (int k = 0; k < 2 * VEC; k += F) {
                    ::load<F>(turns + 2 * (position * HALF + chunk * VEC) + k, cs + k);
                }
#pragma unroll
                for (int k = 0; k < VEC; k++) {
                    float x1 = a[i * VEC + k], x2 = b[i * VEC + k], cos = cs[2 * k], sin = sign * cs[2 * k + 1];
                    a[i * VEC + k] = x1 * cos + x2 * sin;
                    b[i * VEC + k] = x2 * cos - x1 * sin;
                }
            }
        }
    }
};

// count = N * each heads: of a row all where v is normed too, else queries and keys; these are normed and turned if so asked.
extern "C" __global__ void heads(act* qkv, float* r, const float* turns, i64 each, i64 norm, i64 turn, i64 count) {
    u32 at = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, row = (u32)each;
    int lane = threadIdx.x % LANES;
    bool live = at < count;
    int n = at / row, ph = at % row;
    bool value = ph >= H + G, normed = value || norm;
    act* head = qkv + ((i64)n * Q + ph) * D;
    Pair x;
    x.load(head, lane, live);
    float s = 1.f / sqrtf(x.mean(x) + EPSILON);
    if (!normed) s = 1;
    if (live && normed && lane == 0) r[(i64)n * Q + ph] = s;
#pragma unroll
    for (int i = 0; i < ITER * VEC; i++) x.a[i] *= s, x.b[i] *= s;
    if (live && turn && !value) x.turn(turns, n % T, lane, 1);
    x.store(head, lane, live);
}

// A turn keeps inner products, so the norm's backward runs on the turned vectors, and the turn back comes last.
extern "C" __global__ void heads_backward(
        act* dqkv, const act* qkv, const float* r, const float* turns, i64 each, i64 norm, i64 turn, i64 count) {
    u32 at = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, row = (u32)each;
    int lane = threadIdx.x % LANES;
    bool live = at < count;
    int n = at / row, ph = at % row;
    bool value = ph >= H + G, normed = value || norm;
    i64 offset = ((i64)n * Q + ph) * D;
    Pair x, d;
    x.load(qkv + offset, lane, live);
    d.load(dqkv + offset, lane, live);
    float s = live ? r[(i64)n * Q + ph] : 0, m = d.mean(x);
    if (!normed) s = 1, m = 0;
#pragma unroll
    for (int i = 0; i < ITER * VEC; i++) {
        d.a[i] = s * (d.a[i] - x.a[i] * m);
        d.b[i] = s * (d.b[i] - x.b[i] * m);
    }
    if (live && turn && !value) d.turn(turns, n % T, lane, -1);
    d.store(dqkv + offset, lane, live);
}
