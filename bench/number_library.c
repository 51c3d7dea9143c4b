/* Arb and FLINT, as the bench has them. */
#include "bench/number_library.h"

#include "bench/arithmetic/ball_library.h"

void number_library_prepare(void) { ball_library_prepare(); }

void number_library_leave_thread(void) { ball_library_leave_thread(); }

const char *number_library_version(void) { return ball_library_version(); }
