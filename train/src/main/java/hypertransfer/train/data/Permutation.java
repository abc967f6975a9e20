package hypertransfer.train.data;

/**
 * A permutation of 0..n-1 as a function of a key, without a table: a Feistel network of four rounds over the smallest
 * even number of bits that holds n, applied again while the result is n or more (which ends, as it is a bijection).
 */
record Permutation(long n, long key) {
    private static final int ROUNDS = 4;

    long at(long i) {
        int half = Math.max(1, (65 - Long.numberOfLeadingZeros(n - 1)) / 2);
        long x = i;
        do {
            x = feistel(x, half);
        } while (x >= n);
        return x;
    }

    private long feistel(long x, int half) {
        long mask = (1L << half) - 1, left = x >>> half, right = x & mask;
        for (int round = 0; round < ROUNDS; round++) {
            long next = left ^ (mix(mix(key + round) + right) & mask);
            left = right;
            right = next;
        }
        return left << half | right;
    }

    /** The finalizer of SplitMix64 after one step of its counter: every bit of x reaches every bit of the result. */
    static long mix(long x) {
        x += 0x9e3779b97f4a7c15L;
        x = (x ^ x >>> 30) * 0xbf58476d1ce4e5b9L;
        x = (x ^ x >>> 27) * 0x94d049bb133111ebL;
        return x ^ x >>> 31;
    }
}
