// Stands before every kernel file. Before it the engine writes the numbers that a file is compiled for (Geometry.constants,
// Flash.constants): BF16 (1 for activations in bfloat16, 0 for float32), those of T, C, D, H, V that it uses, and its own.
// No header of CUDA is needed, so an install without headers is enough.
typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;

#define INF __uint_as_float(0x7f800000u)
#define LOG2E 1.4426950408889634f

struct bf16 {
    u16 bits;
};

#if BF16
typedef bf16 act;
#else
typedef float act;
#endif

__device__ __forceinline__ float wide(bf16 x) { return __uint_as_float((u32)x.bits << 16); }
__device__ __forceinline__ float wide(float x) { return x; }

// Two floats to two bfloat16, to nearest even; the first in the low half.
__device__ __forceinline__ u32 pack(float low, float high) {
    u32 both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

// The halves of two bfloat16 in one word.
__device__ __forceinline__ float low(u32 both) { return __uint_as_float(both << 16); }
__device__ __forceinline__ float high(u32 both) { return __uint_as_float(both & 0xffff0000u); }

__device__ __forceinline__ void narrow(float x, bf16& to) { to.bits = (u16)pack(x, 0.f); }
__device__ __forceinline__ void narrow(float x, float& to) { to = x; }

// What is left of x in the format of activations.
__device__ __forceinline__ float rounded(float x) {
    act a;
    narrow(x, a);
    return wide(a);
}

__device__ __forceinline__ float power2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Formats of eight bits, on compute capability 8.9 and later: two floats to the nearest, or the largest; the first in the low half.
struct e4m3 {
    unsigned char bits;
};
struct e5m2 {
    unsigned char bits;
};
template <int GRADIENT> __device__ __forceinline__ u16 narrow2(float low, float high) {
    u16 both;
    if (GRADIENT) asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(both) : "f"(high), "f"(low));
    else asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(both) : "f"(high), "f"(low));
    return both;
}
__device__ __forceinline__ float2 wide2(u16 both) { // of e4m3
    float2 x;
    asm("{.reg .b32 h; .reg .b16 l, u; cvt.rn.f16x2.e4m3x2 h, %2; mov.b32 {l, u}, h; cvt.f32.f16 %0, l; cvt.f32.f16 %1, u;}"
        : "=f"(x.x), "=f"(x.y) : "h"(both));
    return x;
}
__device__ __forceinline__ float wideGradient(u16 both) { // the low one of e5m2, which is the upper half of a float16
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((u16)(both << 8)));
    return x;
}
__device__ __forceinline__ void narrow(float x, e4m3& to) { to.bits = (unsigned char)narrow2<0>(x, 0.f); }
__device__ __forceinline__ void narrow(float x, e5m2& to) { to.bits = (unsigned char)narrow2<1>(x, 0.f); }

template <int BYTES> struct Chunk;
template <> struct Chunk<16> { typedef uint4 type; };
template <> struct Chunk<8> { typedef uint2 type; };
template <> struct Chunk<4> { typedef u32 type; };
template <> struct Chunk<2> { typedef u16 type; };

template <int N, typename E> __device__ __forceinline__ void load(const E* from, float* x) {
    typedef typename Chunk<N * sizeof(E)>::type chunk;
    union {
        chunk raw;
        E e[N];
    } u;
    u.raw = *(const chunk*)from;
#pragma unroll
    for (int i = 0; i < N; i++) x[i] = wide(u.e[i]);
}

template <int N, typename E> __device__ __forceinline__ void store(E* to, const float* x) {
    typedef typename Chunk<N * sizeof(E)>::type chunk;
    union {
        chunk raw;
        E e[N];
    } u;
#pragma unroll
    for (int i = 0; i < N; i++) narrow(x[i], u.e[i]);
    *(chunk*)to = u.raw;
}

// The sum over groups of LANES threads, LANES a power of two: every thread of the group gets the same bits.
template <int LANES> __device__ __forceinline__ float lanesSum(float x) {
#pragma unroll
    for (int o = LANES / 2; o > 0; o /= 2) x += __shfl_xor_sync(0xffffffffu, x, o);
    return x;
}

// Copies from global to shared memory that run beside the threads.
__device__ __forceinline__ u32 shared(const void* p) {
    unsigned long long address;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(p));
    return (u32)address;
}

// 16 bytes, of which the last 16 - `bytes` become zeros.
__device__ __forceinline__ void copy(u32 to, const void* from, int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;"); }
// Until this thread's copies are there.
__device__ __forceinline__ void await() { asm volatile("cp.async.wait_group 0;" ::: "memory"); }
