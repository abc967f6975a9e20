package hypertransfer.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;

/** The numbers that are read from arrays, summed in double precision whatever the arrays hold. */
final class Measure {
    private Measure() {}

    static double norm(NDArray x) {
        return Math.sqrt(dot(x, x));
    }

    static double dot(NDArray x, NDArray y) {
        // a conversion to the type an array already has may share its memory: nothing here is done in place
        try (NDArray a = x.toType(DataType.FLOAT64, true);
                NDArray b = y.toType(DataType.FLOAT64, true);
                NDArray products = a.mul(b);
                NDArray sum = products.sum()) {
            return sum.getDouble();
        }
    }
}
