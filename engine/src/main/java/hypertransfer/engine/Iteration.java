package hypertransfer.engine;

import java.util.Collections;
import java.util.List;

/**
 * The odd polynomials that Newton-Schulz applies one after the other to the singular values of a matrix, each
 * {@code a x + b x^3 + c x^5}.
 *
 * @param bf16 whether every product's result is rounded to bfloat16, as most GPU implementations do
 */
public record Iteration(List<Step> steps, boolean bf16) {
    public record Step(double a, double b, double c) {}

    public Iteration {
        steps = List.copyOf(steps);
        if (steps.isEmpty()) {
            throw new EngineException("a Newton-Schulz iteration needs at least one step");
        }
    }

    /** One step repeated. */
    public static Iteration repeated(int steps, double a, double b, double c) {
        return new Iteration(Collections.nCopies(steps, new Step(a, b, c)), false);
    }

    public Iteration inBf16() {
        return new Iteration(steps, true);
    }

    /** What it is, for people. */
    public String label() {
        Step first = steps.getFirst();
        boolean one = steps.stream().allMatch(first::equals);
        return steps.size() + (one ? " steps of (" : " steps from (") + first.a + ", " + first.b + ", " + first.c + ")"
                + (bf16 ? " in bf16" : "");
    }
}
