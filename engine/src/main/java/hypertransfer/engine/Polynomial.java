package hypertransfer.engine;

import java.util.Collections;
import java.util.List;

/**
 * The odd polynomials that Newton-Schulz applies one after the other to the singular values of a matrix, each
 * {@code a x + b x^3 + c x^5}.
 *
 * @param bf16 whether every product's result is rounded to bfloat16, as most GPU implementations do
 */
public record Polynomial(List<Term> terms, boolean bf16) {
    public record Term(double a, double b, double c) {}

    public Polynomial {
        terms = List.copyOf(terms);
        if (terms.isEmpty()) {
            throw new EngineException("a Newton-Schulz iteration needs at least one step");
        }
    }

    /** One step repeated. */
    public static Polynomial repeated(int steps, double a, double b, double c) {
        return new Polynomial(Collections.nCopies(steps, new Term(a, b, c)), false);
    }

    public Polynomial inBf16() {
        return new Polynomial(terms, true);
    }

    /** What it is, for people. */
    public String label() {
        Term first = terms.getFirst();
        boolean one = terms.stream().allMatch(first::equals);
        return terms.size() + (one ? " steps of (" : " steps from (") + first.a + ", " + first.b + ", " + first.c + ")"
                + (bf16 ? " in bf16" : "");
    }
}
