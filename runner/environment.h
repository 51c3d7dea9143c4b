/* What the process needs around the computation: one BLAS thread per case, plain IEEE
 * arithmetic, memory that goes back to the system. */
#ifndef PROBE_RUNNER_ENVIRONMENT_H
#define PROBE_RUNNER_ENVIRONMENT_H

#include <stdbool.h>

#include "core/status.h"

/* Prepare the process; call once at the start of main, before any thread exists. The OpenMP build of OpenBLAS
 * becomes twenty times slower when many threads call it that may each have several, so the program starts itself anew
 * with OMP_NUM_THREADS=1 where that variable has another number and this build is there. */
struct status environment_prepare(char *const *arguments);

/* Name of the BLAS kernels of this machine ("SkylakeX", "Haswell"): it decides last digits and speed. Loads OpenBLAS. */
const char *environment_blas_core(void);

/* The same once something has been computed with them; NULL before. */
const char *environment_blas_core_in_use(void);

/* Round to nearest, no flush to zero, no denormals as zero: what the error bounds assume.
 * Foreign code may leave it otherwise. Restores it; true when it was already so. */
bool environment_restore_arithmetic(void);

/* Free what the number libraries keep per thread; call at the end of a worker thread. */
void environment_leave_thread(void);

/* Processor cores this process may use, at least 1. */
int environment_cores(void);

#endif
