package hypertransfer.djl;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Tests on PyTorch, which are skipped, and say so, where Maven brought no libtorch for this platform. */
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(Torch.Present.class)
public @interface Torch {
    final class Present implements ExecutionCondition {
        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            if (Torch.class.getClassLoader().getResource("native/lib/pytorch.properties") != null) {
                return ConditionEvaluationResult.enabled("libtorch is there");
            }
            String why = "skipped: Maven has no libtorch for " + System.getProperty("os.name") + " "
                    + System.getProperty("os.arch");
            System.err.println(why); // build logs only count what is skipped
            return ConditionEvaluationResult.disabled(why);
        }
    }
}
