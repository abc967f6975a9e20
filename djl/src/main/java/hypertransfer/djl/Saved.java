package hypertransfer.djl;

import hypertransfer.core.State;
import java.util.List;

/**
 * A slot as it is written to a file.
 *
 * @param rule the text of the rule it was trained with
 * @param scale the multiple of the carrier that the weight stood at
 * @param memory the direction's arrays in DJL's encoding, bit for bit
 */
record Saved(String rule, State state, double scale, List<byte[]> memory) {}
