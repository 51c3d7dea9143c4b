/* Doubles with a fixed number of decimals, as printf's %.<decimals>f writes them: digit for digit, rounded to
 * nearest even of the exact value.
 */
#ifndef PROBE_CORE_FIXED_H
#define PROBE_CORE_FIXED_H

#include <stddef.h>

enum {
    FIXED_DECIMALS = 20,
    /* Sign, 309 digits, point, decimals and the NUL. */
    FIXED_BYTES = 312 + FIXED_DECIMALS + 2
};

/* Write x with a NUL behind it; its length. `decimals` is 0..FIXED_DECIMALS. What is not finite is "nan",
 * "inf" or "-inf". */
size_t fixed_double(char text[FIXED_BYTES], double x, int decimals);

#endif
