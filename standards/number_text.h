/* Numbers as the pre-check prints them into CSV cells.
 *
 * Double results have a fixed number of decimals. Results whose working type is narrower print
 * as numpy prints a scalar of that type: the shortest digits that read back as the same value,
 * positional between 1e-4 and 1e16 and in scientific notation outside.
 */
#ifndef PROBE_STANDARDS_NUMBER_TEXT_H
#define PROBE_STANDARDS_NUMBER_TEXT_H

#include <stddef.h>

#include "core/dtype.h"

/* Enough for every double with 20 decimals. */
enum { NUMBER_TEXT_BYTES = 384 };

/* `decimals` digits behind the point; "nan", "inf", "-inf". */
void number_text_fixed(char text[NUMBER_TEXT_BYTES], double x, int decimals);

/* Shortest digits of x rounded once to `dtype` (DT_F16, DT_F32 or DT_F64): "0.0", "0.0009765625",
 * "1.9653962e-06", "nan". Of a double they are those of Python's repr. */
void number_text_shortest(char text[NUMBER_TEXT_BYTES], double x, enum dtype dtype);

#endif
