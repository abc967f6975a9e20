package crooked.lab.terminal;

import crooked.lab.report.Report;

/** Knows the page. */
public record Terminal(Report report) {}
