/* The arithmetics in which one composition is evaluated. */
#ifndef PROBE_BENCH_ARITHMETIC_ARITHMETICS_H
#define PROBE_BENCH_ARITHMETIC_ARITHMETICS_H

/* BENCH_REFERENCE computes in double and carries a bound on the error of every element.
 * BENCH_NATIVE rounds as an accelerator does: float32 for float32, float16 and bfloat16, double
 * for float64. The two models are the running error analysis of the reference with the unit
 * roundoff of a plain kernel: for the worst case, and for the root mean square. */
enum bench_arithmetic { BENCH_REFERENCE, BENCH_NATIVE, BENCH_MODEL_WORST, BENCH_MODEL_TYPICAL };

#endif
