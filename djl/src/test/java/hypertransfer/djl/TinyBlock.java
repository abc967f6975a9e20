package hypertransfer.djl;

import static hypertransfer.djl.TinyWeights.V;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Activation;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The tiny network as a block of DJL; tokens (N) and targets (N) in, the mean loss out. Where a gradient flows nothing is
 * multiplied, divided or compared with a Java number: DJL gives it to PyTorch in a buffer that may be collected before the
 * backward pass reads it.
 */
final class TinyBlock extends AbstractBlock {
    private final boolean invariant;
    private final Map<String, Parameter> named = new LinkedHashMap<>();

    TinyBlock(TinyWeights start, boolean invariant) {
        this.invariant = invariant;
        start.values().forEach((name, values) -> {
            int rows = TinyWeights.rows(name);
            int cols = values.length / rows;
            Parameter parameter = addParameter(Parameter.builder()
                    .setName(name)
                    .setType(name.endsWith("gain") ? Parameter.Type.GAMMA : Parameter.Type.WEIGHT)
                    .optShape(rows == 1 ? new Shape(cols) : new Shape(rows, cols))
                    .optInitializer((manager, shape, type) ->
                            manager.create(values).reshape(shape).toType(type, false))
                    .build());
            named.put(name, parameter);
        });
    }

    Parameter parameter(String name) {
        return named.get(name);
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
        NDManager manager = inputs.getManager();
        Map<String, NDArray> w = new LinkedHashMap<>();
        named.forEach((name, parameter) -> w.put(name, store.getValue(parameter, manager.getDevice(), training)));
        DataType type = w.get("fc").getDataType();
        NDArray tokens = inputs.get(0).oneHot(V, type);
        NDArray h = norm(tokens.matMul(w.get("embed.weight")))
                .mul(w.get("embed.gain").add(1));
        NDArray f = norm(h).mul(w.get("mlp.gain").add(1)).matMul(w.get("fc").transpose());
        NDArray z = Activation.relu(post(f)).square().matMul(w.get("proj").transpose());
        NDArray y = norm(h.add(post(z))).mul(w.get("head.gain").add(1));
        NDArray logits = y.matMul(w.get("head.weight").transpose());
        NDArray picked = logits.logSoftmax(-1).mul(inputs.get(1).oneHot(V, type));
        return new NDList(picked.sum(new int[] {1}).mean().neg());
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        return new Shape[] {new Shape()};
    }

    private NDArray post(NDArray x) {
        return invariant ? norm(x) : x;
    }

    private static NDArray norm(NDArray x) {
        return x.div(x.square().mean(new int[] {1}, true).add(1e-10).sqrt());
    }
}
