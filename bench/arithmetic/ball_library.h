/* Arb and FLINT as libraries. Where Arb is a library of its own it is loaded at the first call of one of its functions:
 * binding its symbols and those of what it is linked with takes 5 to 8 ms, and most small runs need no ball. */
#ifndef PROBE_BENCH_ARITHMETIC_BALL_LIBRARY_H
#define PROBE_BENCH_ARITHMETIC_BALL_LIBRARY_H

/* Have it take its memory from number_memory.h; call once, before it is used. */
void ball_library_prepare(void);

/* Free what it keeps for the calling thread. */
void ball_library_leave_thread(void);

/* Version of FLINT ("2.9.0"). */
const char *ball_library_version(void);

#endif
