/**
 * What a run's norms and effective rates are likely to be, before it is trained: {@link
 * hypertransfer.prediction.Expected} is what is known of a matrix, {@link
 * hypertransfer.prediction.Prediction} its norm step by step, {@link hypertransfer.prediction.Translation} the
 * settings that give another run's effective rates. These are estimates; the exact algebra is in {@link hypertransfer.core}.
 */
package hypertransfer.prediction;
