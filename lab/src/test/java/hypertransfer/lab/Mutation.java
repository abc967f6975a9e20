package hypertransfer.lab;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.random.RandomGenerator;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A file that was damaged, by a disk or by a hand.
 *
 * @param what what was done to it, for people
 */
record Mutation(String what, byte[] bytes) {
    private static final Pattern NUMBER = Pattern.compile("-?\\d[\\d.]*(?:[eE][-+]?\\d+)?");
    private static final Pattern WORD = Pattern.compile("[A-Za-z_][\\w.-]*");
    private static final List<String> NUMBERS = values(
            "0 -1 -0.0 1e999 1e308 -1e308 1e-320 NaN .inf null true \"7\" [] {}",
            "",
            "2147483648 99999999999 9223372036854775808 0x10 1_000",
            "9".repeat(400),
            "0.1 1.5 [1]");
    private static final List<String> WORDS = values(
            "",
            "null ~ true 0 1 [] {} ../../x / /etc/passwd . .. \0 \\u0000 <script>alert(1)</script> \" '",
            ": ",
            "# &a *a !!int %s%n",
            "x".repeat(10_000),
            "\u202e é NaN Infinity nul -");
    private static final List<String> WHOLE = values(
            "",
            "null {} []",
            "\n",
            "0 \"\" { [ \0\0\0\0 true",
            "[".repeat(20_000),
            "---\n---\n",
            "{\"step\":null}\n",
            "\u00ff\u00fe");

    /** Values between spaces; nothing is a value too, and so is what ends with a space. */
    private static List<String> values(String... rows) {
        return Stream.of(rows)
                .flatMap(row -> row.endsWith(" ") ? Stream.of(row) : Stream.of(row.split(" ")))
                .toList();
    }

    /** Damages a file in one of many ways. */
    static Mutation of(byte[] good, RandomGenerator random) {
        return switch (random.nextInt(14)) {
            case 0 -> flip(good, random);
            case 1 -> cut(good, random);
            case 2 -> insert(good, random, noise(random, 1 + random.nextInt(16)), "noise");
            case 3 -> remove(good, random);
            case 4 -> insert(good, random, span(good, random), "a part of itself");
            case 5, 6, 7 -> replace(good, random, NUMBER, NUMBERS);
            case 8, 9 -> replace(good, random, WORD, WORDS);
            case 10, 11 -> lines(good, random);
            case 12 -> whole(random);
            default -> zeros(good, random);
        };
    }

    private static Mutation flip(byte[] good, RandomGenerator random) {
        if (good.length == 0) {
            return whole(random);
        }
        byte[] bytes = good.clone();
        int at = random.nextInt(good.length), bit = random.nextInt(8);
        bytes[at] ^= (byte) (1 << bit);
        return new Mutation("bit " + bit + " of byte " + at + " is flipped", bytes);
    }

    private static Mutation cut(byte[] good, RandomGenerator random) {
        int at = random.nextInt(good.length + 1);
        return new Mutation("it is cut after " + at + " of " + good.length + " bytes", Arrays.copyOf(good, at));
    }

    private static Mutation insert(byte[] good, RandomGenerator random, byte[] added, String what) {
        int at = random.nextInt(good.length + 1);
        return new Mutation(
                added.length + " bytes of " + what + " are inserted at byte " + at, spliced(good, at, at, added));
    }

    private static Mutation remove(byte[] good, RandomGenerator random) {
        int from = random.nextInt(good.length + 1), to = from + random.nextInt(Math.min(64, good.length - from) + 1);
        return new Mutation("bytes " + from + " to " + to + " are gone", spliced(good, from, to, new byte[0]));
    }

    /** As a file system leaves a block that was allocated and never written. */
    private static Mutation zeros(byte[] good, RandomGenerator random) {
        byte[] bytes = good.clone();
        int from = random.nextInt(good.length + 1), to = from + random.nextInt(Math.min(512, good.length - from) + 1);
        Arrays.fill(bytes, from, to, (byte) 0);
        return new Mutation("bytes " + from + " to " + to + " are zero", bytes);
    }

    private static Mutation replace(byte[] good, RandomGenerator random, Pattern pattern, List<String> values) {
        String text = new String(good, StandardCharsets.ISO_8859_1);
        List<MatchResult> found = pattern.matcher(text).results().toList();
        if (found.isEmpty()) {
            return flip(good, random);
        }
        MatchResult one = found.get(random.nextInt(found.size()));
        String value = values.get(random.nextInt(values.size()));
        return new Mutation(
                "'" + one.group() + "' at byte " + one.start() + " became '" + shown(value) + "'",
                spliced(good, one.start(), one.end(), value.getBytes(StandardCharsets.UTF_8)));
    }

    private static Mutation lines(byte[] good, RandomGenerator random) {
        List<String> lines = new ArrayList<>(List.of(new String(good, StandardCharsets.ISO_8859_1).split("(?<=\n)")));
        int a = random.nextInt(lines.size()), b = random.nextInt(lines.size());
        String what = switch (random.nextInt(4)) {
            case 0 -> {
                lines.remove(a);
                yield "line " + a + " is gone";
            }
            case 1 -> {
                lines.add(b, lines.get(a));
                yield "line " + a + " is there again at " + b;
            }
            case 2 -> {
                Collections.swap(lines, a, b);
                yield "lines " + a + " and " + b + " are exchanged";
            }
            default -> {
                lines.set(a, lines.get(a).replace("\n", ""));
                yield "line " + a + " has lost its newline";
            }
        };
        return new Mutation(what, String.join("", lines).getBytes(StandardCharsets.ISO_8859_1));
    }

    private static Mutation whole(RandomGenerator random) {
        String text = WHOLE.get(random.nextInt(WHOLE.size()));
        return new Mutation("all of it became '" + shown(text) + "'", text.getBytes(StandardCharsets.ISO_8859_1));
    }

    private static byte[] noise(RandomGenerator random, int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }

    private static byte[] span(byte[] good, RandomGenerator random) {
        int from = random.nextInt(good.length + 1);
        return Arrays.copyOfRange(good, from, from + random.nextInt(Math.min(200, good.length - from) + 1));
    }

    private static byte[] spliced(byte[] good, int from, int to, byte[] added) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        all.write(good, 0, from);
        all.writeBytes(added);
        all.write(good, to, good.length - to);
        return all.toByteArray();
    }

    private static String shown(String text) {
        return text.length() > 40 ? text.substring(0, 40) + "... (" + text.length() + ")" : text;
    }
}
