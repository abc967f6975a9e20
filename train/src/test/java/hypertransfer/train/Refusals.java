package hypertransfer.train;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import hypertransfer.core.Refusal;
import org.assertj.core.api.AbstractThrowableAssert;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** What is wrong with an input is told in a refusal. */
public final class Refusals {
    private Refusals() {}

    /** Something is refused, in a sentence that has all these words. */
    public static AbstractThrowableAssert<?, ?> assertRefused(ThrowingCallable call, String... words) {
        AbstractThrowableAssert<?, ?> thrown = assertThatThrownBy(call).isInstanceOf(Refusal.class);
        for (String word : words) {
            thrown.hasMessageContaining(word);
        }
        return thrown;
    }
}
