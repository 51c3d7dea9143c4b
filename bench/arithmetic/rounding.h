/* Constants of rounding errors in double (Higham, Accuracy and Stability, ch. 2 and 3). */
#ifndef PROBE_BENCH_ARITHMETIC_ROUNDING_H
#define PROBE_BENCH_ARITHMETIC_ROUNDING_H

/* |fl(a op b) - a op b| <= UNIT_ROUNDOFF |a op b|, barring underflow. */
#define UNIT_ROUNDOFF 0x1p-53

/* Add x to *sum. Returns what the addition lost, exactly: s + error = sum + x (Knuth's TwoSum), NaN
 * where it overflows. */
static inline double two_sum(double *sum, double x)
{
    double s = *sum + x, z = s - *sum, error = (*sum - (s - z)) + (x - z);
    *sum = s;
    return error;
}

/* As fmax, which compilers call and do not make part of a loop. */
static inline double larger(double a, double b)
{
    double number = b != b ? a : b;
    return a >= b ? a : number;
}

/* gamma_n = n u / (1 - n u): what n roundings in a row make at most, relative. n u < 1. */
static inline double gamma_of(double n) { return n * UNIT_ROUNDOFF / (1 - n * UNIT_ROUNDOFF); }

#endif
