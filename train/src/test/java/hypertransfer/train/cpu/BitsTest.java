package hypertransfer.train.cpu;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.train.Rig;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Parameter;
import hypertransfer.train.network.Variant;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The same run gives the same bits, whatever the number of threads, and on a second start. */
class BitsTest {
    private static Map<String, double[]> train(Variant variant, int threads) {
        Architecture odd = new Architecture(variant, 307, 2, 160, 32, 71);
        Map<String, double[]> end = new LinkedHashMap<>();
        try (Rig rig = Rig.cpu(odd, 5, threads)) {
            end.put("losses", rig.losses(2, 0.01));
            for (Parameter p : rig.parameters.all()) {
                end.put(p.name(), rig.engine.read(p.master()));
            }
        }
        return end;
    }

    @ParameterizedTest
    @EnumSource
    void doNotDependOnThreads(Variant variant) {
        Map<String, double[]> one = train(variant, 1);
        assertThat(one.get("losses")[1]).isLessThan(one.get("losses")[0]);
        for (int threads : new int[] {1, 2, 4}) {
            train(variant, threads)
                    .forEach((name, values) -> assertThat(values)
                            .as("%s on %d threads", name, threads)
                            .isEqualTo(one.get(name)));
        }
    }
}
