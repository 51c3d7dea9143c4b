/* Faults as kernels make them: in one element, a row, a lane, a tile or everywhere; of a fixed size, or of one that is counted in the
 * errors of correct kernels. */
#include "spoilings.h"

#include <math.h>

static uint64_t state = 88172645463325252u;

void random_restart(uint64_t call) { state = 88172645463325252u + call; }

uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 2685821657736338717u;
}

double uniform(void) { return (double)(next_random() >> 11) * 0x1p-53; }

static double ulp_at(const struct output *o, size_t i) { return dtype_ulp(o->dtype, o->x[i]); }

/* A finite element, not zero; n when there is none. */
static size_t pick(const struct output *o)
{
    for (int attempt = 0; attempt < 200; attempt++) {
        size_t i = next_random() % o->n;
        if (isfinite(o->x[i]) && o->x[i] != 0) return i;
    }
    return o->n;
}

/* Each returns false when it does not apply. */
static bool sign_of_one(struct output *o)
{
    size_t i = pick(o);
    if (i == o->n) return false;
    o->x[i] = -o->x[i];
    return true;
}
static bool garbage_in_one(struct output *o)
{
    o->x[next_random() % o->n] = 3e4 * (0.5 + uniform());
    return true;
}
static bool nan_in_one(struct output *o)
{
    size_t i = pick(o);
    if (i == o->n) return false;
    o->x[i] = NAN;
    return true;
}
static bool zeros_in_a_tenth(struct output *o)
{
    bool any = false;
    if (o->n < 10) return false;
    for (size_t i = o->n / 2; i < o->n / 2 + o->n / 10; i++) {
        any |= o->x[i] != 0;
        o->x[i] = 0;
    }
    return any;
}
static bool halves_swapped(struct output *o)
{
    bool any = false;
    size_t half = o->n / 2;
    for (size_t i = 0; i < half; i++) {
        double t = o->x[i];
        any |= t != o->x[i + half];
        o->x[i] = o->x[i + half];
        o->x[i + half] = t;
    }
    return any;
}
static bool one_percent_off_in_one(struct output *o)
{
    size_t i = pick(o);
    if (i == o->n) return false;
    o->x[i] *= 1.01 + 8 * o->unit_roundoff;
    return true;
}
static bool noise_of_many_ulp(struct output *o)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->dtype == DT_F32) o->x[i] *= 1 + 0x1p-10 * (2 * uniform() - 1);
        else o->x[i] *= 1 + 16 * o->unit_roundoff * (2 * uniform() - 1);
    return pick(o) != o->n;
}
static bool stuck_bit_in_a_lane(struct output *o)
{
    bool any = false;
    double bit = o->dtype == DT_F32 ? 0x1p13 : 4; /* ulp */
    for (size_t i = next_random() % 8; i < o->n; i += 8) {
        double unit = ulp_at(o, i);
        if (!isfinite(o->x[i]) || o->x[i] == 0) continue;
        if (fmod(floor(fabs(o->x[i]) / (unit * bit)), 2) == 1) continue;
        o->x[i] += copysign(bit * unit, o->x[i]);
        any = true;
    }
    return any;
}
static bool scaled_by_a_thousandth(struct output *o)
{
    for (size_t i = 0; i < o->n; i++) o->x[i] *= o->dtype == DT_F32 ? 1.001 : 1.01;
    return pick(o) != o->n;
}
static bool through_16_bits(struct output *o)
{
    bool any = false;
    if (o->dtype != DT_F32) return false;
    for (size_t i = 0; i < o->n; i++) {
        uint16_t half;
        double before = o->x[i];
        dtype_from_double(&half, DT_BF16, &o->x[i], 1);
        dtype_to_double(&o->x[i], &half, DT_BF16, 1);
        any |= before != o->x[i];
    }
    return any;
}
static bool toward_zero(struct output *o)
{
    /* As if the value before rounding had been cut: down by half a unit on average. */
    bool any = false;
    if (o->dtype == DT_F32) return false;
    for (size_t i = 0; i < o->n; i++)
        if (uniform() < 0.5 && o->x[i] != 0 && isfinite(o->x[i])) {
            o->x[i] -= copysign(ulp_at(o, i), o->x[i]);
            any = true;
        }
    return any;
}
static bool a_few_ulp_in_one(struct output *o)
{
    size_t i = pick(o);
    if (i == o->n) return false;
    o->x[i] += (o->dtype == DT_F32 ? 12 : 3) * ulp_at(o, i);
    return true;
}
static bool bias_of_an_ulp(struct output *o)
{
    for (size_t i = 0; i < o->n; i++)
        if (isfinite(o->x[i])) o->x[i] += (o->dtype == DT_F32 ? 8 : 1) * ulp_at(o, i);
    return true;
}
static bool noise_of_a_few_ulp(struct output *o)
{
    double size = o->dtype == DT_F32 ? 0x1p-16 : 3 * o->unit_roundoff;
    for (size_t i = 0; i < o->n; i++) o->x[i] *= 1 + size * (2 * uniform() - 1);
    return pick(o) != o->n;
}
static bool small_flushed(struct output *o)
{
    bool any = false;
    double limit = o->dtype == DT_F16 ? 0x1p-14 : 0x1p-20;
    for (size_t i = 0; i < o->n; i++)
        if (o->x[i] != 0 && fabs(o->x[i]) < limit) {
            o->x[i] = 0;
            any = true;
        }
    return any;
}

/* A size that matters at element i: of a correct kernel's errors, half a unit at least. */
static double error_at(const struct output *o, size_t i)
{
    return o->magnitude * fmax(o->usual, ulp_at(o, i) / 2);
}

enum where { EVERYWHERE, ONE_ELEMENT, ONE_ROW, A_LANE, A_TILE, WHERES };

static bool is_hit(const struct output *o, enum where where, size_t i, size_t at)
{
    switch (where) {
    case EVERYWHERE: return true;
    case ONE_ELEMENT: return i == at;
    case ONE_ROW: return i / o->row == at / o->row;
    case A_LANE: return i % 8 == at % 8;
    default: return i / 16 == at / 16;
    }
}

static bool added(struct output *o, enum where where, bool same_sign)
{
    size_t at = pick(o);
    bool any = false;
    if (at == o->n) return false;
    for (size_t i = 0; i < o->n; i++) {
        if (!is_hit(o, where, i, at) || !isfinite(o->x[i])) continue;
        o->x[i] += error_at(o, i) * (same_sign ? 1 : 2 * uniform() - 1);
        any = true;
    }
    return any;
}
static bool noise_everywhere(struct output *o) { return added(o, EVERYWHERE, false); }
static bool noise_in_a_row(struct output *o) { return added(o, ONE_ROW, false); }
static bool noise_in_a_lane(struct output *o) { return added(o, A_LANE, false); }
static bool bias_everywhere(struct output *o) { return added(o, EVERYWHERE, true); }
static bool bias_in_a_row(struct output *o) { return added(o, ONE_ROW, true); }
static bool bias_in_a_tile(struct output *o) { return added(o, A_TILE, true); }
static bool one_element(struct output *o) { return added(o, ONE_ELEMENT, true); }
static bool scaled(struct output *o)
{
    for (size_t i = 0; i < o->n; i++) o->x[i] *= 1 + o->magnitude * o->unit_roundoff;
    return pick(o) != o->n;
}
static bool fewer_bits(struct output *o)
{
    /* The significand cut off `magnitude` units above its end. */
    for (size_t i = 0; i < o->n; i++) {
        if (!isfinite(o->x[i])) continue;
        double step = ulp_at(o, i) * exp2(ceil(log2(o->magnitude)));
        o->x[i] = trunc(o->x[i] / step) * step;
    }
    return pick(o) != o->n;
}
static bool neighbours_swapped(struct output *o)
{
    size_t i = pick(o);
    if (o->n < 2 || i == o->n) return false;
    size_t j = (i + 1) % o->n;
    double t = o->x[i];
    o->x[i] = o->x[j];
    o->x[j] = t;
    return t != o->x[i];
}

const struct spoiling spoilings[] = {
    { "sign of one element", sign_of_one },
    { "garbage in one element", garbage_in_one },
    { "NaN in one element", nan_in_one },
    { "a tenth zeroed", zeros_in_a_tenth },
    { "halves swapped", halves_swapped },
    { "neighbours swapped", neighbours_swapped },
    { "one element 1 % off", one_percent_off_in_one },
    { "noise of many ulp", noise_of_many_ulp },
    { "stuck bit in a lane", stuck_bit_in_a_lane },
    { "scaled by 0.1 % (16 bit: 1 %)", scaled_by_a_thousandth },
    { "float32 through bfloat16", through_16_bits },
    { "last rounding toward zero", toward_zero },
    { "one element off by 12 (3) ulp", a_few_ulp_in_one },
    { "bias of 8 (1) ulp", bias_of_an_ulp },
    { "noise of a few ulp", noise_of_a_few_ulp },
    { "small values flushed to 0", small_flushed },
    { "noise everywhere", noise_everywhere },
    { "noise in a row", noise_in_a_row },
    { "noise in a lane", noise_in_a_lane },
    { "bias everywhere", bias_everywhere },
    { "bias in a row", bias_in_a_row },
    { "bias in a tile", bias_in_a_tile },
    { "one element", one_element },
    { "scaled", scaled },
    { "fewer bits", fewer_bits },
};
_Static_assert(sizeof spoilings / sizeof *spoilings == SPOILINGS, "as many as are declared");
