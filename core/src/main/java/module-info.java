/** The paper's algebra; it needs nothing besides the JDK's base module. */
module hypertransfer.core {
    exports hypertransfer.core;
    exports hypertransfer.core.array;
}
