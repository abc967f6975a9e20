package crooked.lab.command;

/** What the others must not know. */
public record Command() {}
