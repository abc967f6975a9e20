/** Estimates of norms and effective rates before a run. */
module hypertransfer.prediction {
    requires transitive hypertransfer.core;

    exports hypertransfer.prediction;
}
