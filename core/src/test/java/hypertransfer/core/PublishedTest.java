package hypertransfer.core;

import static hypertransfer.core.Explicit.dot;
import static hypertransfer.core.Explicit.norm;
import static hypertransfer.core.Explicit.scaled;
import static hypertransfer.core.Explicit.sum;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Space.Controlled;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.List;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Norm policies against the published program: {@code published.txt} is what {@code published.py} beside it computes from the
 * formulas of modded-nanogpt's track 3, results 9, 29 and 46. The script says which function each formula is of.
 */
class PublishedTest {
    private static final double EXACT = 1e-12;

    /** A matrix, its direction, rate and policy, and where the published formulas take it. */
    private record Published(
            String kind, int rows, double rate, Controlled policy, double[] w, double[] u, double[] after) {
        static Published of(String line) {
            String[] part = line.split(" \\| ");
            double[] n = numbers(part[3]);
            Controlled policy = new Controlled(0, n[1], n[2], Boolean.parseBoolean(part[1]));
            double[] w = numbers(part[4]), u = numbers(part[5]), after = numbers(part[6]);
            return new Published(part[0], Integer.parseInt(part[2]), n[0], policy, w, u, after);
        }

        private static double[] numbers(String text) {
            return Arrays.stream(text.split(" "))
                    .mapToDouble(Double::parseDouble)
                    .toArray();
        }

        double cos() {
            return dot(u, w) / norm(u) / norm(w);
        }

        double lift() {
            return policy.lift(norm(w), norm(u), cos());
        }

        /** Our step, with so many parts of the matrix as matrices of their own. */
        double[] moved(int parts) {
            int size = w.length / parts;
            return IntStream.range(0, parts)
                    .mapToObj(i -> moved(
                            Arrays.copyOfRange(w, i * size, (i + 1) * size),
                            Arrays.copyOfRange(u, i * size, (i + 1) * size)))
                    .flatMapToDouble(Arrays::stream)
                    .toArray();
        }

        private double[] moved(double[] w, double[] u) {
            Step step = Transfer.plain(policy).step(State.start(kind, norm(w)), Reading.of(w, u), rate);
            double[] moved = Explicit.moved(step, w, u);
            assertThat(step.next().norm()).isCloseTo(norm(moved), within(EXACT * norm(moved)));
            return moved;
        }

        /** How far a matrix is from the published one, as a part of it. */
        double off(double[] moved) {
            return norm(sum(1, moved, -1, after)) / norm(after);
        }

        /** How far the published one is from the plane of w and u. */
        double outside() {
            double[] along = scaled(1 / norm(w), w), rest = sum(1, u, -dot(u, along), along);
            double[] across = scaled(1 / norm(rest), rest);
            double[] in = sum(dot(after, along), along, dot(after, across), across);
            return off(in);
        }
    }

    private static List<Published> published(String kinds) throws IOException {
        try (InputStream in = PublishedTest.class.getResourceAsStream("published.txt")) {
            List<Published> some = new String(in.readAllBytes())
                    .lines()
                    .map(Published::of)
                    .filter(p -> p.kind.matches(kinds))
                    .toList();
            assertThat(some).isNotEmpty();
            return some;
        }
    }

    /** The floor alone (result 9), brake, floor and pin together (29), and any of them. */
    @Test
    void ourStepsAreThePublishedOnes() throws IOException {
        List<Published> steps = published("9|29");
        for (Published p : steps) {
            assertThat(p.off(p.moved(1))).as("%s", p.policy).isLessThan(EXACT);
            assertThat(p.off(Explicit.step(p.policy, p.w, p.u, p.rate))).isLessThan(EXACT);
        }
        List<ToDoubleFunction<Published>> oneOrZero = List.of(
                p -> p.lift() > 1 ? 1 : 0,
                p -> p.policy.floor() > 0 && p.lift() == 1 ? 1 : 0,
                p -> p.policy.brake() < 1 && p.cos() < 0 ? 1 : 0,
                p -> p.policy.brake() < 1 && p.cos() > 0 ? 1 : 0,
                p -> p.policy.pinned() ? 1 : 0);
        assertThat(oneOrZero)
                .allMatch(acted -> steps.stream().mapToDouble(acted).sum() >= 5);
    }

    /** Result 46 has a floor for each row. Without brake and pin each row moves as a matrix with a floor of its own. */
    @Test
    void aFloorPerRowIsOurFloorOfEachRow() throws IOException {
        for (Published p : published("row-by-row")) {
            assertThat(p.off(p.moved(p.rows))).isLessThan(EXACT);
            assertThat(p.off(p.moved(1))).isGreaterThan(1e-3);
        }
    }

    /**
     * The rest of result 46 is not ours: rows are lifted apart from each other while brake and pin are the whole matrix's, and
     * cautious decay looks at each number. Both leave the plane of w and u.
     */
    @Test
    void floorsOfRowsInOneMatrixAndCautiousDecayAreNoSpace() throws IOException {
        for (Published p : published("rows|cautious")) {
            assertThat(p.outside()).isGreaterThan(1e-3);
            assertThat(p.off(p.moved(1))).isGreaterThan(1e-3);
        }
        for (Published p : published("9|29")) {
            assertThat(p.outside()).isLessThan(EXACT);
        }
    }

    /** Where the programs differ at the ends: they clamp what they divide by, and go on from where ours refuses to. */
    @Test
    void theEndsAreNotThePublishedOnes() throws IOException {
        for (Published p : published("tiny")) { // 1e-12 in place of a smaller |w|^2: the brake takes too little
            assertThat(norm(p.w)).isLessThan(1e-6);
            assertThat(p.off(p.moved(1))).isGreaterThan(1e-3);
        }
        for (Published p : published("through the origin")) { // pinned to a length below zero, they leave 1e-8
            assertThat(norm(p.after)).isCloseTo(1e-8, within(1e-20));
            assertThatThrownBy(() -> p.moved(1))
                    .isInstanceOf(Diverged.class)
                    .hasMessageContaining("is along the matrix");
        }
        for (Published p :
                published("far outward")) { // what the brake takes is more than the matrix: 1 - e pull is below zero
            assertThat(norm(p.after)).isGreaterThan(norm(p.w));
            assertThatThrownBy(() -> p.moved(1)).isInstanceOf(Refusal.class).hasMessageContaining("is 1 or more");
        }
    }
}
