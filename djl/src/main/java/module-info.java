/** The paper's optimizers for Deep Java Library. */
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"
}) // its jars name their modules and do not describe them
module hypertransfer.djl {
    requires transitive hypertransfer.core;
    requires transitive ai.djl.api;

    exports hypertransfer.djl;
}
