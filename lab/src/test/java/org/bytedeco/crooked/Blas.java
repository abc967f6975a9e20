package org.bytedeco.crooked;

/** Stands for a class of JavaCPP's. */
public final class Blas {}
