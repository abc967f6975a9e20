package hypertransfer.train.config;

import hypertransfer.core.Refusal;
import hypertransfer.core.Space;
import hypertransfer.core.Transfer;

/**
 * What is done about the norm in a Base space beside weight decay, as it was written: {@code none}, or some of {@code
 * floor:0.38}, {@code brake:0.5} and {@code pinned} with a plus between.
 */
public record Policy(String text, double floor, double brake, boolean pinned) {
    static Policy parse(String text) {
        double floor = 0, brake = 1;
        boolean pinned = false;
        for (String part : text.equals("none") ? new String[0] : text.split("\\+", -1)) {
            String[] named = part.split(":", 2);
            switch (named[0] + (named.length > 1 ? ":" : "")) {
                case "floor:" -> floor = number(text, named[1]);
                case "brake:" -> brake = number(text, named[1]);
                case "pinned" -> pinned = true;
                default -> throw unknown(text);
            }
        }
        new Space.Controlled(0, floor, brake, pinned); // which refuses numbers out of range
        return new Policy(text, floor, brake, pinned);
    }

    private static double number(String text, String given) {
        try {
            return Double.parseDouble(given);
        } catch (NumberFormatException e) {
            throw unknown(text);
        }
    }

    private static Refusal unknown(String text) {
        return new Refusal("matrices.policy is '" + text
                + "'; it must be none, or floor:NUMBER, brake:NUMBER and pinned, with a plus between them");
    }

    /** The same transfer with this policy in its Base spaces. */
    public Transfer in(Transfer transfer) {
        return new Transfer(in(transfer.target()), in(transfer.carrier()), transfer.gradient());
    }

    boolean none() {
        return floor == 0 && brake == 1 && !pinned;
    }

    private Space in(Space space) {
        return none() || !(space instanceof Space.Base)
                ? space
                : new Space.Controlled(space.decay(), floor, brake, pinned);
    }
}
