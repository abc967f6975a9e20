package hypertransfer.train.data;

import hypertransfer.train.SplitMix;

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
            long next = left ^ (SplitMix.mix(SplitMix.mix(key + round) + right) & mask);
            left = right;
            right = next;
        }
        return left << half | right;
    }
}
