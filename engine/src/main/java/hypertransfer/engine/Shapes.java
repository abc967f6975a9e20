package hypertransfer.engine;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * What an operation asks of its arguments, one word per argument, such as {@code x:n,in w:out,in y:n,out}: the name, the
 * rows and the columns. {@link hypertransfer.engine.door.Checked} refuses other shapes.
 *
 * <p>Capital letters are those of {@link Dims}, N = B T, and I is how many inputs the nonlinearity has; letters beside each
 * other are multiplied. A word in small letters stands for one number, the same at every place. {@code /N} is any number that
 * divides N. A tensor with {@code ?} behind its name may be null, with {@code ?z} only where z is null too. What has no shape
 * must be there; {@code row<N} is a number below N; {@code -} may be anything.
 *
 * <p>A name with {@code []} behind it is a list of tensors, with {@code [!]} one in which exact masters may stand; all lists are as
 * long as the first, and r and c are the rows and columns of what stands there at the same place. {@code |} stands between shapes
 * of which it has one; {@code hidden,Muon} is any shape that engines set memory aside for, with the direction that asks for it,
 * and {@code square} a square no longer than that. {@code *} is a number for each tensor of the first list, {@code >0} above zero.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface Shapes {
    String value();
}
