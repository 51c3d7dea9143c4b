/* VECTORIZED before a function: its loops are compiled once for each vector width of x86, and
 * the widest that the processor has is chosen when the program is loaded. A reference must not
 * depend on the host; it does not: -ffp-contract=off keeps the compiler from fusing, so lanes
 * that are independent in the source give the same bits at every width.
 *
 * Other processors and the thread sanitizer, which cannot instrument the choice, get one version;
 * so does a build with -DVECTORIZED=, which counts coverage once.
 */
#ifndef PROBE_CORE_VECTORIZE_H
#define PROBE_CORE_VECTORIZE_H

#ifndef VECTORIZED
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define VECTORIZED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define VECTORIZED
#endif
#endif

/* Before a loop over a constant number of lanes within another one: it stays a loop until it has become vectors. Unrolled earlier it
 * is a crowd of numbers that few compilers put together again. */
#if defined(__GNUC__) && !defined(__clang__)
#define LANES_LOOP _Pragma("GCC unroll 1")
#else
#define LANES_LOOP
#endif

/* `array`, or where it is NULL `other`: for a loop that takes an element of `array` only where there is one. In vectors it is
 * read and left out, which takes a processor a hundred times as long where there is no memory. */
static inline const double *readable(const double *array, const double *other)
{
    return array ? array : other;
}

#endif
