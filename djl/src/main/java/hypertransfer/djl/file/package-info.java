/** The optimizer's state in a stream: the format, which {@link hypertransfer.djl.HyperOptimizer} writes and reads. */
package hypertransfer.djl.file;
