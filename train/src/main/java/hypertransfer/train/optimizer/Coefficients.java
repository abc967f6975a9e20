package hypertransfer.train.optimizer;

import hypertransfer.engine.Polynomial;
import hypertransfer.engine.Polynomial.Term;
import java.util.stream.Stream;

/** The Newton-Schulz coefficients that people use. */
public enum Coefficients {
    /** Muon's own, five steps: quick, singular values end between about 0.7 and 1.2. */
    JORDAN(Polynomial.repeated(5, 3.4445, -4.7750, 2.0315)),
    /** Twelve steps that converge to one. */
    CONVERGENT(Polynomial.repeated(12, 2, -1.5, 0.5)),
    /** The optimal sequence of Amsel et al. (arXiv 2505.16932), with their safety factor on all but the last. */
    POLAR_EXPRESS(new Polynomial(
            Stream.concat(
                            Stream.of(
                                            new Term(8.28721201814563, -23.595886519098837, 17.300387312530933),
                                            new Term(4.107059111542203, -2.9478499167379106, 0.5448431082926601),
                                            new Term(3.9486908534822946, -2.908902115962949, 0.5518191394370137),
                                            new Term(3.3184196573706015, -2.488488024314874, 0.51004894012372),
                                            new Term(2.300652019954817, -1.6689039845747493, 0.4188073119525673),
                                            new Term(1.891301407787398, -1.2679958271945868, 0.37680408948524835),
                                            new Term(1.8750014808534479, -1.2500016453999487, 0.3750001645474248))
                                    .map(Coefficients::safe),
                            Stream.of(new Term(1.875, -1.25, 0.375)))
                    .toList(),
            false));

    private final Polynomial polynomial;

    Coefficients(Polynomial polynomial) {
        this.polynomial = polynomial;
    }

    public Polynomial polynomial() {
        return polynomial;
    }

    private static Term safe(Term term) {
        double safety = 1.01;
        return new Term(term.a() / safety, term.b() / Math.pow(safety, 3), term.c() / Math.pow(safety, 5));
    }
}
