/* The libraries behind balls and correctly rounded functions, for those who prepare a process or say what it runs with. */
#ifndef PROBE_BENCH_NUMBER_LIBRARY_H
#define PROBE_BENCH_NUMBER_LIBRARY_H

/* What they do when memory is short (bench/arithmetic/number_memory.h); call once, before they are used. */
void number_library_prepare(void);

/* Free what they keep for the calling thread. */
void number_library_leave_thread(void);

/* Version of FLINT ("2.9.0"). */
const char *number_library_version(void);

#endif
