package outsider;

import hypertransfer.core.Diverged;
import hypertransfer.core.Mode;
import hypertransfer.core.Reading;
import hypertransfer.core.Refusal;
import hypertransfer.core.Schedule;
import hypertransfer.core.State;
import hypertransfer.core.Step;
import hypertransfer.core.Transfer;
import hypertransfer.djl.Rate;
import hypertransfer.djl.Rule;

/** Uses both libraries as their READMEs say, on whatever Java it finds. */
public final class Main {
    public static void main(String[] args) {
        Schedule schedule = Schedule.linear(0.05, 20, 0.05, 0.1);
        Transfer transfer = Mode.HYPERTRANSFER.transfer(0.1);
        State state = State.start("layer.weight", 5);
        for (long t = 0; t < schedule.steps(); t++) {
            Step step = transfer.step(state, new Reading(5, 2, 0.5), schedule.rate(t));
            state = step.next();
        }
        System.out.printf("steps %d, radius %s, proxy norm moved %b%n", state.step(), state.norm(), state.targetNorm() != 5);
        System.out.println(Rule.adamW(Rate.of(schedule), 0).in(Mode.HYPERTRANSFER_PLUS, 0.1));
        System.out.println(kind(() -> Mode.parse("muon")) + ", "
                + kind(() -> transfer.step(State.start("w", 1), new Reading(Double.NaN, 1, 0), 0.1)));
    }

    private static String kind(Runnable call) {
        try {
            call.run();
            return "nothing";
        } catch (Refusal e) {
            return switch (e) {
                case Diverged d -> "diverged at " + d.matrix().orElseThrow() + " " + d.step();
                case Refusal r -> "bad input";
            };
        }
    }

    private Main() {}
}
