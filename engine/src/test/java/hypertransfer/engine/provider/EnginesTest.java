package hypertransfer.engine.provider;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.EngineException;
import hypertransfer.engine.Format;
import hypertransfer.engine.provider.Engines.Kind;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class EnginesTest {
    private static Kind kind(String name, boolean preferred, String missing) {
        return kind(name, preferred, () -> missing);
    }

    private static Kind kind(String name, boolean preferred, Supplier<String> missing) {
        return new Kind(name, Format.FLOAT32, preferred ? () -> "" : null, missing, dims -> null);
    }

    /** A driver that hangs when it is asked must not stop an engine that does not need it. */
    private static final Kind HANGS = kind("hangs", true, () -> {
        throw new AssertionError("it was examined");
    });

    @Test
    void onlyTheEngineThatIsNamedIsExamined() {
        List<Kind> kinds = List.of(HANGS, kind("good", true, ""), kind("bad", true, "install the driver"));
        assertThat(Engines.choose(kinds, "good").name()).isEqualTo("good");
        assertThatThrownBy(() -> Engines.choose(kinds, "bad"))
                .isInstanceOf(EngineException.class)
                .hasMessage("engine bad does not work here: install the driver");
        assertThatThrownBy(() -> Engines.choose(kinds, "abacus"))
                .isInstanceOf(EngineException.class)
                .hasMessage("unknown engine 'abacus'; the engines are auto, hangs, good, bad");
    }

    @Test
    void autoIsTheFirstThatWorksAndLooksNoFurther() {
        List<Kind> kinds =
                List.of(kind("bad", true, "nothing"), kind("proof", false, ""), kind("good", true, ""), HANGS);
        assertThat(Engines.choose(kinds, "auto").name()).isEqualTo("good");
    }

    @Test
    void whatIsKnownWithoutOpening() {
        assertThat(Engines.order()).isEqualTo("cuda, cpu, reference");
        assertThat(Engines.works("reference")).isTrue();
        assertThat(Engines.works("abacus")).isFalse();
        assertThat(Engines.works("cuda-float32")).isEqualTo(Engines.works("cuda"));
        assertThat(Engines.weights("cuda")).isEqualTo(Format.BF16);
        assertThat(Engines.weights("cuda-float32")).isEqualTo(Format.FLOAT32);
        assertThat(Engines.exact("cuda")).isEqualTo("cuda-float32");
        assertThat(Engines.exact("cpu")).isEqualTo("cpu");
    }

    @ParameterizedTest
    @ValueSource(strings = {"reference", "cpu", "cuda", "cuda-float32"})
    void anOpenedEngineSaysWhatWasAskedFor(String name) {
        if (Engines.works(name)) {
            try (Engine engine = Engines.open(name, new Dims(1, 2, 4, 2, 3))) {
                assertThatThrownBy(engine::await)
                        .hasMessage("await: the engine is not committed;" + " declare all tensors, then call commit");
                assertThat(engine.name()).isEqualTo(name);
                assertThat(engine.weights()).isEqualTo(Engines.weights(name));
                String bits = System.getProperty("ht.vector.bits", "[0-9]+");
                assertThat(engine.provenance())
                        .matches(name.equals("cpu") ? "vectors of " + bits + " bits, OpenBLAS for \\w+" : "");
            }
        }
    }
}
