package hypertransfer.lab.compare;

import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import org.apache.commons.statistics.distribution.TDistribution;

/**
 * The mean of some numbers, above all of differences seed by seed, and how sure it is.
 *
 * @param pairs how many there are
 * @param deviation their standard deviation; null for a single one, like what follows
 * @param low the lower end of the mean's 95% interval
 * @param high its upper end
 * @param p how often noise alone would give such a mean: t-test, two-sided
 * @param holm the same, corrected for the number of such tests by Holm's method
 */
record Paired(int pairs, double mean, Double deviation, Double low, Double high, Double p, Double holm) {
    static Paired of(double... all) {
        int n = all.length;
        double mean = mean(all);
        if (n == 1) {
            return new Paired(n, mean, null, null, null, null, null);
        }
        double error = Math.sqrt(covariance(all, all) / n), reach = student(n) * error;
        TDistribution student = TDistribution.of(n - 1);
        double p = error == 0 ? (mean == 0 ? 1 : 0) : 2 * student.survivalProbability(Math.abs(mean) / error);
        return new Paired(n, mean, error * Math.sqrt(n), mean - reach, mean + reach, p, p);
    }

    static double mean(double[] all) {
        return Arrays.stream(all).average().orElseThrow();
    }

    /** How many standard errors the 95% interval of a mean of n numbers has to each side. */
    private static double student(int n) {
        return TDistribution.of(n - 1).inverseSurvivalProbability(0.025);
    }

    private static double covariance(double[] a, double[] b) {
        double meanA = mean(a), meanB = mean(b), sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += (a[i] - meanA) * (b[i] - meanB);
        }
        return sum / (a.length - 1);
    }

    /**
     * Corrected by Holm's method for all tests of a family: the smallest p counts as many times as there are tests, the next
     * once less, and none less than one before it.
     */
    Paired corrected(Collection<Paired> family) {
        if (p == null) {
            return this;
        }
        List<Paired> tested = family.stream().filter(d -> d.p != null).toList();
        double most = 0;
        for (Paired test : tested) {
            long left = tested.stream().filter(other -> other.p >= test.p).count();
            most = test.p > p ? most : Math.max(most, left * test.p);
        }
        return new Paired(pairs, mean, deviation, low, high, p, Math.min(1, most));
    }

    /**
     * A part of a whole, as the ratio of two means.
     *
     * @param low the lower end of its 95% interval by Fieller's theorem; null where the whole is not told from zero, because
     *     then no share is ruled out, or there is one pair
     */
    record Share(double mean, Double low, Double high) {
        /** Nothing where the whole is nothing, a rounding, or unknown. */
        static Share of(double[] part, double[] whole) {
            int n = part.length;
            double a = Paired.mean(part), b = Paired.mean(whole);
            if (Math.abs(b) < 1e-9 || !Double.isFinite(b)) {
                return null;
            }
            if (n > 1) { // all q with |a - q b| within the reach of its own interval: a quadratic inequality
                double k = student(n) * student(n) / n;
                double square = b * b - k * covariance(whole, whole), half = a * b - k * covariance(part, whole);
                double root = Math.sqrt(half * half - square * (a * a - k * covariance(part, part)));
                if (square > 0) {
                    return new Share(a / b, (half - root) / square, (half + root) / square);
                }
            }
            return new Share(a / b, null, null);
        }
    }
}
