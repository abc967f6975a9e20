// What products on compute capability 9.0 share: the copy engine (TMA), its barriers, and the tensor cores (wgmma).
//
// Tiles are panels of 64 columns: 128 bytes per row, 16-byte chunks permuted by the row modulo 8, as the copy engine writes them
// and the tensor cores read them.

typedef unsigned long long u64;

constexpr int STEP = 64, PANEL = STEP * 128; // columns of a panel; bytes of 64 of its rows
constexpr int TILES = 256 / 8; // columns of an accumulator, in units of 8

// A matrix as the copy engine sees it, made by the driver.
struct __align__(64) Map {
    u64 words[16];
};

// Barriers in shared memory: a phase ends when `count` threads have arrived and all bytes that were announced are there.
__device__ __forceinline__ void init(u32 barrier, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count));
}
__device__ __forceinline__ void arrive(u32 barrier) {
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void announce(u32 barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void wait(u32 barrier, u32 phase) {
    asm volatile("{.reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra DONE; bra AGAIN; DONE: }"
                 ::"r"(barrier), "r"(phase) : "memory");
}

__device__ __forceinline__ void begun() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
// What this thread wrote to shared memory is there for the copy engine and the tensor cores.
__device__ __forceinline__ void visible() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Copies of a box by the copy engine, from a row and a panel of 64 columns on, to shared memory and back.
__device__ __forceinline__ void pull(u32 to, const Map* map, u32 barrier, int row, int panel) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
                 ::"r"(to), "l"(map), "r"(barrier), "r"(0), "r"(row), "r"(panel) : "memory");
}
__device__ __forceinline__ void push(const Map* map, u32 from, int row, int panel) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1]; cp.async.bulk.commit_group;"
                 ::"l"(map), "r"(from), "r"(0), "r"(row), "r"(panel) : "memory");
}
// Until what this thread pushed has left shared memory.
__device__ __forceinline__ void pushed() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
// Until all threads of the warp group are here.
__device__ __forceinline__ void meet(int group) { asm volatile("bar.sync %0, 128;" ::"r"(group) : "memory"); }

// Registers are ready for the products that follow; a batch of products ends; all but the last N batches are done.
__device__ __forceinline__ void ready() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void batch() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> __device__ __forceinline__ void finish() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }
// A tile as the tensor cores take it: eight rows are 1024 bytes, a panel SIZE.
template <int SIZE = PANEL> __device__ __forceinline__ u64 view(u32 address) {
    return (u64)(address >> 4) | (u64)(SIZE >> 4) << 16 | (u64)(1024 >> 4) << 32 | 1ull << 62;
}

#define R4(c, i) "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
#define R32(c, i) \
    R4(c, i), R4(c, i + 1), R4(c, i + 2), R4(c, i + 3), R4(c, i + 4), R4(c, i + 5), R4(c, i + 6), R4(c, i + 7)
#define L32 \
    "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define L64 \
    L32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58," \
        "%59,%60,%61,%62,%63"
#define L128 \
    L64 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90," \
        "%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115," \
        "%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"

// c (64,256) = or += a (64,16), stored (16,64) where it is TURNED, times b: (256,16) transposed, or (16,256) where b is not FLIPPED.
template <int FLIPPED, int TURNED = 0> __device__ __forceinline__ void multiply(float (&c)[TILES][4], u64 a, u64 b, int add) {
    asm volatile("{.reg .pred p; setp.ne.b32 p, %130, 0; wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" L128
                 "}, %128, %129, p, 1, 1, %132, %131;}"
                 : R32(c, 0), R32(c, 8), R32(c, 16), R32(c, 24) : "l"(a), "l"(b), "r"(add), "n"(1 - FLIPPED), "n"(TURNED));
}

// c (64,256) = or += a (64,32), of e4m3 or a GRADIENT's e5m2, times b (256,32) of e4m3 transposed. Of each sum of 32 products and
// c the tensor cores keep about 13 bits behind the largest one's first, so that 24 steps of 32 lose less than bfloat16 does: heads'
// factors, which stay in float32, are within 7e-5 of the reference's (`ht selftest`, 8 and 12 steps).
template <int GRADIENT> __device__ __forceinline__ void multiply8(float (&c)[TILES][4], u64 a, u64 b, int add) {
#define MULTIPLY8(TYPE) \
    asm volatile("{.reg .pred p; setp.ne.b32 p, %130, 0; wgmma.mma_async.sync.aligned.m64n256k32.f32." TYPE ".e4m3 {" L128 \
                 "}, %128, %129, p, 1, 1;}" : R32(c, 0), R32(c, 8), R32(c, 16), R32(c, 24) : "l"(a), "l"(b), "r"(add))
    if (GRADIENT) MULTIPLY8("e5m2");
    else MULTIPLY8("e4m3");
}

// c (64, 8 N) = or += a (64,16) times b (8 N,16) transposed, both in shared memory.
__device__ __forceinline__ void multiply(float (&c)[8][4], u64 a, u64 b, int add) {
    asm volatile("{.reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" L32
                 "}, %32, %33, p, 1, 1, 0, 0;}" : R32(c, 0) : "l"(a), "l"(b), "r"(add));
}
__device__ __forceinline__ void multiply(float (&c)[16][4], u64 a, u64 b, int add) {
    asm volatile("{.reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" L64
                 "}, %64, %65, p, 1, 1, 0, 0;}" : R32(c, 0), R32(c, 8) : "l"(a), "l"(b), "r"(add));
}

// c (64, 8 N) += a (64,16), in registers, times b (16, 8 N).
__device__ __forceinline__ void multiply(float (&c)[8][4], const u32* a, const u32* a2, u64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" L32 "}, {%32,%33,%34,%35}, %36, 1, 1, 1, 1;"
                 : R32(c, 0) : "r"(a[0]), "r"(a[1]), "r"(a2[0]), "r"(a2[1]), "l"(b));
}
__device__ __forceinline__ void multiply(float (&c)[16][4], const u32* a, const u32* a2, u64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" L64 "}, {%64,%65,%66,%67}, %68, 1, 1, 1, 1;"
                 : R32(c, 0), R32(c, 8) : "r"(a[0]), "r"(a[1]), "r"(a2[0]), "r"(a2[1]), "l"(b));
}

// Four 8x8 matrices to and from shared memory, each lane giving the address of one row.
__device__ __forceinline__ void put4(u32 to, u32 a, u32 b, u32 c, u32 d) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(to), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}
__device__ __forceinline__ void take4(u32 (&r)[4], u32 from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(from) : "memory");
}

// Of eight bits a thread has two neighbours of each eight columns, a word of a tile is four of 16: from pairs to words and back.
__device__ __forceinline__ u32 word(u32 pairs) {
    int place = threadIdx.x % 4, from = threadIdx.x % 32 - place + 2 * place % 4;
    u32 a = __shfl_sync(0xffffffffu, pairs, from), b = __shfl_sync(0xffffffffu, pairs, from + 1);
    return __byte_perm(a, b, place < 2 ? 0x5410 : 0x7632);
}
__device__ __forceinline__ u32 pairs(u32 word) {
    int place = threadIdx.x % 4, from = threadIdx.x % 32 - place + place / 2;
    u32 a = __shfl_sync(0xffffffffu, word, from), b = __shfl_sync(0xffffffffu, word, from + 2);
    return __byte_perm(a, b, place % 2 ? 0x7632 : 0x5410);
}

// Four floats that no kernel running now writes, so that the compiler may ask for them early.
__device__ __forceinline__ float4 constant4(const float* from) {
    float4 x;
    asm("ld.global.nc.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w) : "l"(from));
    return x;
}
