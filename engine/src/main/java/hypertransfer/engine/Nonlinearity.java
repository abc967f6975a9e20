package hypertransfer.engine;

/** What an MLP does between its matrices. */
public enum Nonlinearity {
    /** relu(x)^2. */
    RELU_SQUARED,
    /** x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2, as GPT-2 has it. */
    GELU,
    /** x sigmoid(x) y, where x comes from the gate and y from a matrix beside it. */
    SWIGLU;

    /** How many matrices feed it. */
    public int inputs() {
        return this == SWIGLU ? 2 : 1;
    }
}
