/**
 * Tensors, and the operations that a GPT and its optimizers need. In a program with modules,
 * OpenBLAS's jars belong on the class path: as modules they would require its Java classes, which nothing here uses.
 */
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
