/** Networks, directions, the optimizer, data and checkpoints. It is open because Jackson reads and writes its records. */
@SuppressWarnings("requires-automatic") // the name of JTokkit comes from the name of its jar
open module hypertransfer.train {
    requires transitive hypertransfer.core;
    requires transitive hypertransfer.engine;
    requires java.management;
    requires jdk.management;
    requires jtokkit;
    requires transitive tools.jackson.databind;
    requires tools.jackson.dataformat.yaml;

    exports hypertransfer.train;
    exports hypertransfer.train.config;
    exports hypertransfer.train.data;
    exports hypertransfer.train.data.text;
    exports hypertransfer.train.file;
    exports hypertransfer.train.golden;
    exports hypertransfer.train.log;
    exports hypertransfer.train.network;
    exports hypertransfer.train.optimizer;
    exports hypertransfer.train.ranks;
    exports hypertransfer.train.run;
    exports hypertransfer.train.tensorboard;
}
