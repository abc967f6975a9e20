package hypertransfer.engine;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** A call is refused in words that contain these. */
public final class Refused {
    private Refused() {}

    public static void refused(ThrowingCallable call, String... words) {
        assertThatThrownBy(call).isInstanceOf(EngineException.class).hasMessageContainingAll(words);
    }
}
