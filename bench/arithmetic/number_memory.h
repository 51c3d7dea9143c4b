/* Memory of the number libraries. */
#ifndef PROBE_BENCH_ARITHMETIC_NUMBER_MEMORY_H
#define PROBE_BENCH_ARITHMETIC_NUMBER_MEMORY_H

#include <flint/flint.h>
#include <gmp.h>

typedef __typeof__(mp_set_memory_functions) set_gmp_memory;
typedef __typeof__(__flint_set_memory_functions) set_flint_memory;

/* GMP, MPFR and FLINT cannot say that memory is short: what they get memory from returns a block
 * or does not return, and by default aborts. From here on a refused block is asked for again after
 * 1, 10 and 100 ms, while other threads give memory back; then the process ends with a line and
 * status 4, which costs no more than being killed: results that stand in the files can be resumed
 * with. Call once, before these libraries are used. */
void number_memory_prepare(set_gmp_memory *set_gmp, set_flint_memory *set_flint);

#endif
