/* Whole numbers in decimal digits, for texts of which there are too many for printf. */
#ifndef PROBE_CORE_DECIMAL_H
#define PROBE_CORE_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

enum { DECIMAL_BYTES = 24 };

/* Write the digits with a NUL behind them; their number. */
size_t decimal_text(char text[DECIMAL_BYTES], uint64_t value);

#endif
