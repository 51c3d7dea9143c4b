/* What printf would take most of the time of a small call for. */
#include "standards/number_text.h"

#include "core/fixed.h"
#include "core/shortest.h"

_Static_assert((int)NUMBER_TEXT_BYTES >= (int)FIXED_BYTES, "room for every double");

void number_text_fixed(char text[NUMBER_TEXT_BYTES], double x, int decimals)
{
    (void)fixed_double(text, x, decimals);
}

static double round_to(double x, enum dtype dtype)
{
    union {
        double f64;
        float f32;
        uint16_t f16;
    } stored;
    double rounded;

    dtype_from_double(&stored, dtype, &x, 1);
    dtype_to_double(&rounded, &stored, dtype, 1);
    return rounded;
}

void number_text_shortest(char text[NUMBER_TEXT_BYTES], double x, enum dtype dtype)
{
    (void)shortest_typed(text, round_to(x, dtype), dtype);
}
