package crooked.train;

import crooked.lab.Lab;
import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;

/** Knows lab, and computes with vectors; the mapped memory is its right. */
public record Train(Lab lab, FloatVector vector, MemorySegment mapped) {}
