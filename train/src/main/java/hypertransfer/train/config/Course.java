package hypertransfer.train.config;

import hypertransfer.core.GradientRule;
import hypertransfer.core.Mode;
import hypertransfer.core.Refusal;
import hypertransfer.core.Schedule;
import hypertransfer.core.Space;
import hypertransfer.core.Transfer;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.Rule;
import hypertransfer.train.optimizer.View;

/**
 * What a configuration asks for a hidden matrix.
 *
 * @param transfer with the gradient rule that was asked for
 * @param radius of its Hyperball, as a multiple of its norm at the start
 * @param start what it starts from
 * @param view the parts of it that count as matrices
 * @param schedule of its target
 * @param gradient what was asked for; {@code auto} takes the rule that a measurement finds
 */
public record Course(
        Direction direction,
        Transfer transfer,
        double radius,
        Matrices.Start start,
        View view,
        Schedule.Shaped schedule,
        Matrices.Gradient gradient) {

    /** Refuses what cannot be trained; {@code key} names the group of keys. */
    static Course of(String key, Matrices m, int steps) {
        Direction direction = Algorithm.in(key, () -> Algorithm.direction(m.update()));
        Transfer transfer = Algorithm.in(key, () -> transfer(m));
        Algorithm.in(key, () -> new Space.Base(m.targetDecay()));
        Algorithm.in(
                key, () -> new Rule(direction, transfer, m.radius(), m.start().zeroRadius(), m.view()));
        zero(key, m, transfer);
        Schedule.Shaped schedule = Algorithm.in(key, () -> m.fall().from(m.rate(), steps));
        if (m.rate() * transfer.target().decay() >= 1) {
            throw new Refusal(key + ".rate " + m.rate() + " times the target's weight decay "
                    + transfer.target().decay() + " is 1 or more, which would erase the matrices; lower either");
        }
        proxy(m, transfer);
        return new Course(direction, transfer, m.radius(), m.start(), m.view(), schedule, m.gradient());
    }

    /** The same for the optimizer; a gradient rule that was measured, or saved, replaces the own one unless it is null. */
    public Rule rule(GradientRule gradient) {
        return new Rule(
                direction,
                new Transfer(transfer.target(), transfer.carrier(), gradient == null ? transfer.gradient() : gradient),
                radius,
                start.zeroRadius(),
                view);
    }

    /** A zero matrix has no norm that could be a radius. */
    private static void zero(String key, Matrices m, Transfer transfer) {
        boolean plainBase = transfer.isPlain() && transfer.carrier() instanceof Space.Base;
        if (m.start().init() == Matrices.Init.ZERO && m.start().zeroRadius() == 0 && !plainBase) {
            throw new Refusal(key + ".init is zero and " + key + ".mode is "
                    + m.mode().label()
                    + ", which needs a radius that a zero matrix does not have: set " + key + ".zero_radius, " + key
                    + ".init=normal or " + key + ".mode=base");
        }
    }

    private static Transfer transfer(Matrices m) {
        Transfer named = m.mode().transfer(m.decay());
        Transfer t = m.mode() == Mode.DECAY_TRANSFER ? named.following(new Space.Base(m.targetDecay())) : named;
        return new Transfer(t.target(), t.carrier(), m.gradient().rule(t.gradient()));
    }

    private static void proxy(Matrices m, Transfer transfer) {
        Matrices.Proxy p = m.proxy();
        boolean has = transfer.target() instanceof Space.Base && !transfer.isPlain();
        if (p.prescribed() && (!has || !(p.proxyGrowth() > 0) || !(p.proxyPower() > 0))) {
            throw new Refusal("matrices.proxy_growth " + p.proxyGrowth() + " and proxy_power " + p.proxyPower()
                    + " must be above zero, and need a mode with a proxy norm: "
                    + "hypertransfer, hypertransfer-plus or decay-transfer, not "
                    + m.mode().label());
        }
    }
}
