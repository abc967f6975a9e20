package hypertransfer.djl;

import ai.djl.ndarray.types.Shape;

/**
 * One line of the routing table.
 *
 * @param name the parameter's name in the block
 * @param shape the parameter's shape
 * @param rule how it is trained
 * @param why what it was taken for, in words: {@code hidden matrix}, {@code bias}, {@code chosen by name}
 */
public record Route(String name, Shape shape, Rule rule, String why) {}
