/** Tensors, and the operations that a GPT and its optimizers need. */
module hypertransfer.engine {
    requires java.management;
    requires jdk.incubator.vector;
    requires jdk.management;
    requires org.bytedeco.javacpp;

    exports hypertransfer.engine;
    exports hypertransfer.engine.door;
    exports hypertransfer.engine.foreign;
    exports hypertransfer.engine.proof;
    exports hypertransfer.engine.provider;
    exports hypertransfer.engine.ranks;
    exports hypertransfer.engine.ranks.library;
}
