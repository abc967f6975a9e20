/** Core comes with djl. */
module outsider {
    requires hypertransfer.djl;
}
