package crooked.prediction;

import crooked.train.Train;

/** Knows more than core. */
public record Prediction(Train train) {}
