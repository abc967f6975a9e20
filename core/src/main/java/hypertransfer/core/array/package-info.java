/**
 * The algebra on plain arrays, for training loops of one's own: {@link hypertransfer.core.array.Weights} is a matrix with everything
 * of a step in its order, {@link hypertransfer.core.array.Muon} makes directions.
 */
package hypertransfer.core.array;
