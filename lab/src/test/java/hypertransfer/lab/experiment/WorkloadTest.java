package hypertransfer.lab.experiment;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import hypertransfer.engine.Engine;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import java.lang.reflect.Proxy;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class WorkloadTest {
    /** What had been opened was left open. */
    @Test
    void whatCannotBeDecidedIsClosed() {
        String tiny = "engine=reference model.layers=1 model.width=4 model.head=2 model.sequence=2 model.batch=1";
        Configuration c = ConfigurationFile.of(tiny.split(" "));
        AtomicInteger closed = new AtomicInteger();
        assertThatThrownBy(() -> Workload.open(c, engine -> failing(engine, closed)))
                .hasMessage("no card any more");
        assertThat(closed).hasValue(1);
    }

    private static Engine failing(Engine engine, AtomicInteger closed) {
        return (Engine) Proxy.newProxyInstance(
                WorkloadTest.class.getClassLoader(), new Class<?>[] {Engine.class}, (self, method, args) -> {
                    if (method.getName().equals("decide")) {
                        throw new IllegalStateException("no card any more");
                    }
                    closed.addAndGet(method.getName().equals("close") ? 1 : 0);
                    return method.invoke(engine, args);
                });
    }
}
