package hypertransfer.djl;

import static hypertransfer.djl.TinyWeights.C;
import static hypertransfer.djl.TinyWeights.N;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Layers.Nonlinearity;
import hypertransfer.engine.Layers.Norm;
import hypertransfer.engine.Motion.Iteration;
import hypertransfer.engine.Motion.Moments;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.provider.Engines;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The tiny network trained on the reference engine, with the plain optimizers written out as the paper writes them and
 * not by {@code core}. The transfers have no code here: they must arrive where their targets do.
 */
final class TinyReference {
    /** What moves the hidden matrices. */
    sealed interface Law {
        record Base(double decay) implements Law {}

        record Hyperball() implements Law {}

        record Fair(double decay) implements Law {}
    }

    private static final Iteration NEWTON_SCHULZ = Iteration.repeated(5, 3.4445, -4.7750, 2.0315);

    private final Engine engine;
    private final TinyWeights start;
    private final boolean invariant;
    private final Map<String, Tensor> w = new LinkedHashMap<>();
    private final Map<String, Tensor> dw = new LinkedHashMap<>();
    private final Map<String, Tensor> m = new LinkedHashMap<>();
    private final Map<String, Tensor> v = new LinkedHashMap<>();
    private final Map<String, Double> radius = new LinkedHashMap<>();
    private final Map<String, Tensor> a = new LinkedHashMap<>();
    private int t;

    /** @param invariant whether norms make the loss invariant to the hidden matrices' scale (M1) or not (M2) */
    TinyReference(TinyWeights start, boolean invariant) {
        this.start = start;
        this.invariant = invariant;
        engine = Engines.open("reference", new Dims(TinyWeights.B, TinyWeights.T, C, TinyWeights.D, TinyWeights.V));
        start.values().forEach((name, values) -> {
            int rows = TinyWeights.rows(name);
            int cols = values.length / rows;
            w.put(name, engine.tensor(Role.WEIGHT, name, rows, cols));
            dw.put(name, engine.tensor(Role.GRADIENT, name, rows, cols));
            m.put(name, engine.tensor(Role.STATE, name, rows, cols));
            v.put(name, engine.tensor(Role.STATE, name, rows, cols));
        });
        for (String name : List.of("x", "h", "y0", "z", "out", "y", "dy", "dz", "dh", "dx", "dm")) {
            a.put(name, engine.tensor(Role.ACTIVATION, name, N, C));
        }
        for (String name : List.of("f", "s", "ds")) {
            a.put(name, engine.tensor(Role.ACTIVATION, name, N, 4 * C));
        }
        for (String name : List.of("hr", "mr", "fr", "zr", "yr", "losses")) {
            a.put(name, engine.tensor(Role.ACTIVATION, name, N, 1));
        }
        engine.commit();
        start.values().forEach((name, values) -> engine.write(w.get(name), values));
        for (String name : List.of("fc", "proj")) {
            radius.put(name, engine.motion().readings(List.of(w.get(name)), List.of(w.get(name)))[0]);
        }
    }

    /** One step, and the loss before it. */
    double step(boolean muon, Law law, double hiddenRate, double restRate, double restDecay) {
        double loss = gradients(start.inputs()[t % TinyWeights.BATCHES], start.targets()[t % TinyWeights.BATCHES]);
        w.forEach((name, weight) -> {
            boolean hidden = radius.containsKey(name);
            direction(name, hidden && muon);
            List<Tensor> ws = List.of(weight);
            List<Tensor> us = List.of(dw.get(name));
            if (!hidden) {
                engine.motion().move(ws, us, new double[] {1 - restRate * restDecay}, new double[] {restRate});
                return;
            }
            double[] read = engine.motion().readings(ws, us);
            double norm = read[0], u = read[1];
            switch (law) {
                case Law.Base(double decay) ->
                    engine.motion().move(ws, us, new double[] {1 - hiddenRate * decay}, new double[] {hiddenRate});
                case Law.Fair(double decay) -> {
                    double fair = hiddenRate * norm / (u + hiddenRate * decay * norm);
                    engine.motion().move(ws, us, new double[] {1 - fair * decay}, new double[] {fair});
                }
                case Law.Hyperball() -> {
                    double R = radius.get(name);
                    engine.motion().move(ws, us, new double[] {1}, new double[] {hiddenRate * R / u});
                    double landed = engine.motion().readings(ws, us)[0];
                    engine.motion().move(ws, us, new double[] {R / landed}, new double[] {0});
                }
            }
        });
        t++;
        return loss;
    }

    double[] weight(String name) {
        return engine.read(w.get(name));
    }

    private void direction(String name, boolean muon) {
        List<Tensor> g = List.of(dw.get(name));
        double[] one = {1};
        if (muon) {
            engine.motion().momentum(g, one, t == 0 ? 0 : 0.95, false, List.of(m.get(name)));
            engine.motion().orthogonalize(g, NEWTON_SCHULZ);
        } else {
            Moments moments = new Moments(0.9, 0.95, 1e-10, t + 1);
            engine.motion().adam(g, one, moments, List.of(m.get(name)), List.of(v.get(name)));
        }
    }

    private Norm norm(String gain, String r) {
        return new Norm(w.get(gain), dw.get(gain), a.get(r), false);
    }

    private double gradients(int[] inputs, int[] targets) {
        Tensor fr = invariant ? a.get("fr") : null;
        Tensor zr = invariant ? a.get("zr") : null;
        Tensor dz = invariant ? a.get("dz") : a.get("dh");
        Norm embedNorm = norm("embed.gain", "hr"), mlpNorm = norm("mlp.gain", "mr"), headNorm = norm("head.gain", "yr");
        engine.feed(inputs, targets);
        engine.zero(List.copyOf(dw.values()));

        engine.layers().embed(w.get("embed.weight"), a.get("x"));
        engine.layers().norm(a.get("x"), embedNorm, a.get("h"));
        engine.layers().norm(a.get("h"), mlpNorm, a.get("y0"));
        engine.layers().product(a.get("y0"), w.get("fc"), a.get("f"));
        engine.layers().activation(a.get("f"), fr, a.get("s"), Nonlinearity.RELU_SQUARED);
        engine.layers().product(a.get("s"), w.get("proj"), a.get("z"));
        engine.layers().residualNorm(a.get("h"), a.get("z"), zr, a.get("out"), headNorm, a.get("y"));
        engine.layers()
                .head(a.get("y"), w.get("head.weight"), a.get("losses"), 1.0 / N, a.get("dy"), dw.get("head.weight"));

        engine.zero(List.of(a.get("dh")));
        engine.layers()
                .residualNormBackward(a.get("dy"), a.get("z"), zr, a.get("out"), headNorm, a.get("dh"), a.get("dz"));
        engine.layers().productWeight(dz, a.get("s"), dw.get("proj"));
        engine.layers().productInput(dz, w.get("proj"), a.get("ds"));
        engine.layers().activationBackward(a.get("f"), fr, a.get("ds"), a.get("ds"), Nonlinearity.RELU_SQUARED);
        engine.layers().productWeight(a.get("ds"), a.get("y0"), dw.get("fc"));
        engine.layers().productInput(a.get("ds"), w.get("fc"), a.get("dm"));
        engine.layers().normBackward(a.get("dm"), a.get("h"), mlpNorm, a.get("dx"));
        double[] dh = engine.read(a.get("dh"));
        double[] through = engine.read(a.get("dx"));
        for (int i = 0; i < dh.length; i++) {
            dh[i] += through[i];
        }
        engine.write(a.get("dh"), dh);
        engine.layers().normBackward(a.get("dh"), a.get("x"), embedNorm, a.get("dx"));
        engine.layers().embedBackward(a.get("dx"), dw.get("embed.weight"));
        return engine.sum(a.get("losses")) / N;
    }
}
