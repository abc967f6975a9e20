package hypertransfer.core;

import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;

/** The Newton-Schulz coefficients that people use. */
public enum Coefficients {
    /** Muon's own, five steps: quick, singular values end between about 0.7 and 1.2. */
    JORDAN(Collections.nCopies(5, new Step(3.4445, -4.7750, 2.0315))),
    /** Twelve steps that converge to one. */
    CONVERGENT(Collections.nCopies(12, new Step(2, -1.5, 0.5))),
    /** The optimal sequence of Amsel et al. (arXiv 2505.16932), with their safety factor on all but the last. */
    POLAR_EXPRESS(List.of(
            safe(8.28721201814563, -23.595886519098837, 17.300387312530933),
            safe(4.107059111542203, -2.9478499167379106, 0.5448431082926601),
            safe(3.9486908534822946, -2.908902115962949, 0.5518191394370137),
            safe(3.3184196573706015, -2.488488024314874, 0.51004894012372),
            safe(2.300652019954817, -1.6689039845747493, 0.4188073119525673),
            safe(1.891301407787398, -1.2679958271945868, 0.37680408948524835),
            safe(1.8750014808534479, -1.2500016453999487, 0.3750001645474248),
            new Step(1.875, -1.25, 0.375)));

    /** More steps than these change nothing in double precision. */
    private static final int MOST_STEPS = 100;

    /**
     * One step, {@code a x + b x^3 + c x^5} of every singular value x.
     *
     * @param a of x
     * @param b of x^3
     * @param c of x^5
     */
    public record Step(double a, double b, double c) {}

    private final List<Step> steps;

    Coefficients(List<Step> steps) {
        this.steps = steps;
    }

    /**
     * The first steps of the sequence; beyond its end the last one is repeated.
     *
     * @param count how many, or 0 for the usual number
     * @return so many steps
     */
    public List<Step> steps(int count) {
        if (count < 0 || count > MOST_STEPS) {
            throw new Refusal("Newton-Schulz is asked for " + count + " steps; it must be from 1 to " + MOST_STEPS
                    + ", or 0 for the usual " + steps.size());
        }
        return IntStream.range(0, count == 0 ? steps.size() : count)
                .mapToObj(i -> steps.get(Math.min(i, steps.size() - 1)))
                .toList();
    }

    private static Step safe(double a, double b, double c) {
        double safety = 1.01;
        return new Step(a / safety, b / StrictMath.pow(safety, 3), c / StrictMath.pow(safety, 5));
    }
}
