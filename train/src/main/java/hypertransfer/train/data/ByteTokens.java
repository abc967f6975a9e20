package hypertransfer.train.data;

/** Bytes in memory, each a token id of its own. */
record ByteTokens(String name, byte[] bytes) implements Tokens {
    @Override
    public long count() {
        return bytes.length;
    }

    @Override
    public void read(long from, int[] into, int at, int count) {
        for (int i = 0; i < count; i++) {
            into[at + i] = bytes[(int) from + i] & 0xff;
        }
    }
}
