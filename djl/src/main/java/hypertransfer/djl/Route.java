package hypertransfer.djl;

import ai.djl.ndarray.types.Shape;

/**
 * One line of the routing table.
 *
 * @param name the parameter's name in the block
 * @param why what it was taken for
 */
public record Route(String name, Shape shape, Rule rule, String why) {}
