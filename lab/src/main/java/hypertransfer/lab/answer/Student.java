package hypertransfer.lab.answer;

/** Student's t distribution: is a mean of few differences more than noise? */
final class Student {
    private Student() {}

    /** The probability of a value at least this far from zero, on either side. */
    static double twoSided(double t, int freedom) {
        double x = freedom / (freedom + t * t);
        return beta(x, freedom / 2.0, 0.5);
    }

    /** The value that is exceeded on either side with this probability. */
    static double quantile(double probability, int freedom) {
        double low = 0;
        double high = 1e6;
        for (int i = 0; i < 200; i++) {
            double middle = (low + high) / 2;
            if (twoSided(middle, freedom) > probability) {
                low = middle;
            } else {
                high = middle;
            }
        }
        return high;
    }

    /** The regularised incomplete beta function, by its continued fraction (Lentz). */
    private static double beta(double x, double a, double b) {
        if (x <= 0 || x >= 1) {
            return x <= 0 ? 0 : 1;
        }
        if (x > (a + 1) / (a + b + 2)) {
            return 1 - beta(1 - x, b, a);
        }
        double front = Math.exp(a * Math.log(x) + b * Math.log(1 - x) + gamma(a + b) - gamma(a) - gamma(b)) / a;
        double c = 1;
        double d = 1 / guarded(1 - (a + b) * x / (a + 1));
        double f = d;
        for (int m = 1; m < 300; m++) {
            double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
            d = 1 / guarded(1 + even * d);
            c = guarded(1 + even / c);
            f *= d * c;
            double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
            d = 1 / guarded(1 + odd * d);
            c = guarded(1 + odd / c);
            f *= d * c;
            if (Math.abs(d * c - 1) < 1e-15) {
                break;
            }
        }
        return front * f;
    }

    private static double guarded(double x) {
        return Math.abs(x) < 1e-300 ? 1e-300 : x;
    }

    /** The logarithm of the gamma function of half a whole number, exactly by its recursion. */
    private static double gamma(double x) {
        double log = 0;
        double at = x;
        while (at > 1) {
            at -= 1;
            log += Math.log(at);
        }
        return log + (at == 1 ? 0 : Math.log(Math.PI) / 2); // gamma(1) = 1, gamma(1/2) = sqrt(pi)
    }
}
