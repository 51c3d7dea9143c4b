/* How well a profile tells faults from honest rounding: over every floating output and gradient
 * of a dump, the float32-accumulating native evaluation as the honest device, and faults put
 * into its results. Prints, per kind of fault, how many were caught under strict and doc, and
 * every honest result that was called wrong. Not a ctest: it reads a dump of the user's choice.
 *
 *   cmake --preset release && cmake --build --preset release
 *   cc -O2 -D_GNU_SOURCE -I. tests/standards/zoo_strict.c build/release/libprobe-runner.a \
 *      build/release/libprobe-{generators,formats,bench,standards,config,core}.a \
 *      -lz -lcsv -lcjson -lopenblas -lflint-arb -lflint -lmpfr -lsleef -lffi -lm -o /tmp/zoo
 *   /tmp/zoo dump.json
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "formats/dump.h"
#include "generators/generate.h"
#include "standards/judge.h"

static uint64_t state = 88172645463325252u;
static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 2685821657736338717u;
}
static double uniform(void) { return (double)(next_random() >> 11) * 0x1p-53; }

struct output {
    double *x; /* device values, changed in place */
    size_t n;
    enum dtype dtype; /* of components */
    double unit_roundoff;
};

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

static const struct {
    const char *class, *name;
    bool (*put)(struct output *o);
} faults[] = {
    { "gross", "sign of one element", sign_of_one },
    { "gross", "garbage in one element", garbage_in_one },
    { "gross", "NaN in one element", nan_in_one },
    { "gross", "a tenth zeroed", zeros_in_a_tenth },
    { "gross", "halves swapped", halves_swapped },
    { "clear", "one element 1 % off", one_percent_off_in_one },
    { "clear", "noise of many ulp", noise_of_many_ulp },
    { "clear", "stuck bit in a lane", stuck_bit_in_a_lane },
    { "clear", "scaled by 0.1 % (16 bit: 1 %)", scaled_by_a_thousandth },
    { "subtle", "float32 through bfloat16", through_16_bits },
    { "subtle", "last rounding toward zero", toward_zero },
    { "subtle", "one element off by 12 (3) ulp", a_few_ulp_in_one },
    { "subtle", "bias of 8 (1) ulp", bias_of_an_ulp },
    { "subtle", "noise of a few ulp", noise_of_a_few_ulp },
    { "subtle", "small values flushed to 0", small_flushed },
};
enum { FAULTS = sizeof faults / sizeof faults[0], PROFILES = 2 };

static size_t tried[FAULTS], caught[FAULTS][PROFILES], honest, accused[PROFILES];
static struct profile *profiles[PROFILES];

static enum verdict judge_as(struct arena *arena, const struct api_case *c, bool backward,
                             struct reference *want, struct tensor *got,
                             const struct profile *profile, struct judged *judged)
{
    struct judge_request request = { .profile = profile,
                                     .c = c,
                                     .backward = backward,
                                     .bench_dtype = got->dtype == DT_F32 ? DT_F64 : DT_F32,
                                     .input_dtype = got->dtype,
                                     .precision = 14 };
    struct wanted wanted = { .reference = want };
    struct value value = { .kind = VALUE_TENSOR };
    value.tensor.tensor = got;
    if (judge_output(judged, arena, &request, &wanted, &value).code) exit(2);
    return judged->verdict;
}

static void try_output(struct arena *arena, const struct api_case *c, bool backward,
                       struct reference *want, struct tensor *got)
{
    enum dtype part = metrics_component_dtype(got->dtype);
    struct judged judged;

    if (want->integer || want->n == 0 || part == DT_F64) return;
    honest++;
    for (int p = 0; p < PROFILES; p++) {
        enum verdict verdict = judge_as(arena, c, backward, want, got, profiles[p], &judged);
        if (verdict != VERDICT_ERROR) continue;
        accused[p]++;
        if (p == 0)
            printf("accused: %s %s\n", judged.cells[COLUMN_NAME], judged.cells[COLUMN_MESSAGE]);
    }
    struct output o = { .n = want->n,
                        .dtype = part,
                        .unit_roundoff = ldexp(1, -dtype_info(part)->significand_bits) };
    double *clean = arena_allocate_array(arena, want->n, sizeof(double));
    o.x = arena_allocate_array(arena, want->n, sizeof(double));
    dtype_to_double(clean, got->data, part, want->n);
    for (size_t f = 0; f < FAULTS; f++) {
        struct tensor bad;
        memcpy(o.x, clean, want->n * sizeof(double));
        if (!faults[f].put(&o)) continue;
        if (tensor_create(&bad, arena, got->dtype, got->rank, got->shape).code) exit(2);
        dtype_from_double(bad.data, part, o.x, want->n);
        if (!memcmp(bad.data, got->data, want->n * dtype_info(part)->bytes)) continue;
        tried[f]++;
        for (int p = 0; p < PROFILES; p++) {
            bool found = judge_as(arena, c, backward, want, &bad, profiles[p], &judged) ==
                         VERDICT_ERROR;
            caught[f][p] += found;
            if (!found && p == 0 && getenv("ZOO_MISSES"))
                printf("missed: %s: %s n=%zu %s\n", faults[f].name, judged.cells[COLUMN_NAME],
                       want->n, judged.cells[COLUMN_MESSAGE]);
        }
    }
}

static void try_case(struct arena *arena, const struct dump *dump, size_t position)
{
    struct api_case c;
    struct generate_options options = { .seed = 1234 };
    struct generate_notes notes;
    struct bench *reference, *native;
    struct value outputs, gradients;
    struct bench_output *want;
    size_t count;

    if (dump_read_case(&c, arena, dump, position).code ||
        generate_inputs(&c, &notes, arena, dump, &options).code ||
        bench_open(&reference, &c, arena, BENCH_REFERENCE).code ||
        bench_open(&native, &c, arena, BENCH_NATIVE).code ||
        bench_native_outputs(&outputs, native).code || bench_settle(reference, &outputs).code ||
        bench_model(reference).code)
        return;
    for (size_t i = 0; i < bench_output_count(reference) && i < outputs.list.count; i++)
        if (bench_output(reference, i)->kind == BENCH_OUTPUT_TENSOR &&
            outputs.list.items[i].kind == VALUE_TENSOR)
            try_output(arena, &c, false, &bench_output(reference, i)->reference,
                       outputs.list.items[i].tensor.tensor);
    if (!c.has_backward || bench_backward(&want, &count, reference, &c.cotangents).code ||
        bench_native_gradients(&gradients, native, &c.cotangents).code)
        return;
    for (size_t i = 0; i < count && i < gradients.list.count; i++)
        if (want[i].kind == BENCH_OUTPUT_TENSOR && gradients.list.items[i].kind == VALUE_TENSOR)
            try_output(arena, &c, true, &want[i].reference, gradients.list.items[i].tensor.tensor);
}

int main(int argc, char **argv)
{
    struct dump *dump;
    struct arena arena = { 0 };

    if (argc < 2 || profile_load(&profiles[0], "strict", NULL, FILES_CHECKED).code ||
        profile_load(&profiles[1], "doc", NULL, FILES_CHECKED).code)
        return 2;
    for (int a = 1; a < argc; a++) {
        if (dump_open(&dump, argv[a], FILES_TRUSTED).code) return 2;
        for (size_t i = 0; i < dump_count(dump); i++) {
            arena_reset(&arena);
            try_case(&arena, dump, i);
        }
        dump_close(dump);
    }
    printf("%zu honest outputs; called wrong: strict %zu, doc %zu\n", honest, accused[0],
           accused[1]);
    for (size_t f = 0; f < FAULTS; f++)
        printf("%-7s %-32s %6zu  strict %6.2f %%  doc %6.2f %%\n", faults[f].class, faults[f].name,
               tried[f], 100. * (double)caught[f][0] / (double)(tried[f] ? tried[f] : 1),
               100. * (double)caught[f][1] / (double)(tried[f] ? tried[f] : 1));
    return 0;
}
