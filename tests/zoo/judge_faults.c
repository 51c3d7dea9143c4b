/* How well a profile tells faults from honest rounding: over every floating output and gradient of the
 * dumps that make_calls.py writes.
 *
 *   zoo-faults [--part seen|kept] [--list] [--tightness] [--pairs] [--luck] FOLDER...
 *
 * Correct kernels are what the dump records of PyTorch in float32 and of other orders of summation, the native
 * evaluation, the call's composition with every step in float32 and its sums in four more orders, and the rounded
 * reference; each that is judged an error is a false alarm. A fault changes the results of a correct kernel, or is
 * a kernel in reduced arithmetic that the dump records. Its class is measured, not declared: the largest of
 * four quotients (largest and rms error, absolute and in ulp) over the same of the worst correct kernel: gross above
 * 100, clear above 8, subtle above 2, and no fault below. Where a result has few different values (constants, masks, a loss)
 * a correct kernel's error is a draw or two, and often 0 by luck: there the errors that kernels have on eight other draws
 * of like data (every tensor times a number between 15/16 and 1) count as well. --luck leaves these out.
 *
 * With --pairs the three-way comparison judges pairs of devices, too: right and faulty ones against each other.
 *
 * A quarter of the calls, chosen by a hash of their names, is `kept`: it was looked at when the limits stood.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/what_if.h"
#include "formats/dump.h"
#include "generators/generate.h"
#include "pairs.h"
#include "runner/devices/device.h"
#include "spoilings.h"
#include "standards/judge.h"

enum { RECORDED_FAULT = SPOILINGS, PROFILES = 2, CLASSES = 3 };
static const char *const class_names[CLASSES] = { "gross", "clear", "subtle" };

struct score {
    size_t tried, caught[PROFILES], warned[PROFILES];
};
static struct score scores[SPOILINGS + 1][CLASSES];
static size_t honest, accused[PROFILES], composed, composed_accused[PROFILES],
    composed_warned[PROFILES];
static struct profile *profiles[PROFILES];
static bool lists, tightness, pairs, luck;

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

/* ---- how wrong a result is ------------------------------------------------------------------------ */

enum { QUOTIENTS = 4 };
struct errors {
    double by[QUOTIENTS]; /* largest, rms; absolute, in ulp */
    bool kinds;           /* an infinity or NaN where none belongs, or the other way round */
};

static struct errors errors_of(const struct reference *want, const double *x, enum dtype dtype)
{
    struct errors e = { { 0 }, false };
    double squares = 0, ulp_squares = 0, n = (double)want->n;
    for (size_t i = 0; i < want->n; i++) {
        double error = fabs(x[i] - want->hi[i]), unit = dtype_ulp(dtype, want->hi[i]);
        if (isnan(want->hi[i]) && isnan(x[i])) continue;
        if (x[i] == want->hi[i]) error = 0;
        if (!isfinite(error)) {
            e.kinds = true;
            continue;
        }
        e.by[0] = fmax(e.by[0], error);
        e.by[2] = fmax(e.by[2], error / unit);
        squares += error * error;
        ulp_squares += error / unit * (error / unit);
    }
    e.by[1] = sqrt(squares / n);
    e.by[3] = sqrt(ulp_squares / n);
    return e;
}

static void take_worse(struct errors *worst, const struct errors *e)
{
    for (int k = 0; k < QUOTIENTS; k++) worst->by[k] = fmax(worst->by[k], e->by[k]);
    worst->kinds |= e->kinds;
}

/* CLASSES: not clearly worse than a correct kernel. */
static int class_of(const struct errors *fault, const struct errors *correct)
{
    double quotient = fault->kinds && !correct->kinds ? INFINITY : 0;
    for (int k = 0; k < QUOTIENTS; k++)
        if (fault->by[k] > 0) quotient = fmax(quotient, fault->by[k] / correct->by[k]);
    return quotient > 100 ? 0 : quotient > 8 ? 1 : quotient > 2 ? 2 : CLASSES;
}

/* ---- what is printed ------------------------------------------------------------------------------- */

static const char *label_of_call; /* KERNEL DATA DTYPE of the call at hand */

/* A row of --list, fields between tabs: the class or "honest", the fault or kernel, the call, what it was made of,
 * the verdict of strict, and what was measured against which limits. */
static void list_row(const char *class, const char *what, const struct api_case *c, bool backward,
                     const struct tensor *got, const struct judged *judged)
{
    if (!lists) return;
    printf("%s\t%s\t%s\t%s\t%s\t%zu\t%s", class, what, c->full_name,
           backward ? "backward" : "forward", label_of_call, tensor_elements(got),
           verdict_name(judged->verdict));
    for (size_t k = 0; k < judged->limit_count; k++)
        printf("\t%s=%.3g/%.3g", judged->limits[k].metric, judged->limits[k].value,
               judged->limits[k].limit);
    printf("\n");
}

/* How near correct float32 kernels come to what the model expects: the largest of all results of an API. A
 * model that none comes near is too wide. */
static struct tightness {
    char api[80];
    size_t results, accused;
    double rms, largest, worst;
} tightnesses[1000];
static size_t tightness_count;

static void add_tightness(const struct api_case *c, bool backward, const struct tensor *got,
                          const struct judged *judged)
{
    char api[sizeof tightnesses->api];
    snprintf(api, sizeof api, "%s%s", c->api, backward ? " backward" : "");
    size_t at = 0;
    if (got->dtype != DT_F32) return;
    while (at < tightness_count && strcmp(tightnesses[at].api, api)) at++;
    if (at == sizeof tightnesses / sizeof *tightnesses) return;
    struct tightness *t = &tightnesses[at];
    if (at == tightness_count) memcpy(tightnesses[tightness_count++].api, api, sizeof api);
    t->results++;
    t->accused += judged->verdict == VERDICT_ERROR;
    for (size_t k = 0; k < judged->limit_count; k++) {
        const struct judged_limit *limit = &judged->limits[k];
        if (!strcmp(limit->metric, "model_rms")) t->rms = fmax(t->rms, limit->value);
        if (!strcmp(limit->metric, "model_largest")) t->largest = fmax(t->largest, limit->value);
        if (!strcmp(limit->metric, "model_worst")) t->worst = fmax(t->worst, limit->value);
    }
}

static int by_rms(const void *a, const void *b)
{
    double x = ((const struct tightness *)a)->rms, y = ((const struct tightness *)b)->rms;
    return (x > y) - (x < y);
}

static void print_tightness(void)
{
    qsort(tightnesses, tightness_count, sizeof *tightnesses, by_rms);
    printf("float32 results of correct kernels by API, over what the model expects\n"
           "%9s %9s %9s %8s %8s\n",
           "rms", "largest", "worst", "results", "accused");
    for (size_t i = 0; i < tightness_count; i++)
        printf("%9.3g %9.3g %9.3g %8zu %8zu  %s\n", tightnesses[i].rms, tightnesses[i].largest,
               tightnesses[i].worst, tightnesses[i].results, tightnesses[i].accused,
               tightnesses[i].api);
}

/* ---- pairs ------------------------------------------------------------------------------------------ */

static struct pair_side side_of(struct arena *arena, const struct api_case *c, bool backward,
                                struct reference *want, struct tensor *got)
{
    struct pair_side side;
    (void)judge_as(arena, c, backward, want, got, profiles[0], &side.strict);
    (void)judge_as(arena, c, backward, want, got, profiles[1], &side.doc);
    return side;
}

/* A faulty device with a right one on either side, and with its like. */
static void pair_fault(struct arena *arena, const struct api_case *c, bool backward,
                       struct reference *want, struct tensor *bad, int class,
                       const struct pair_side *right)
{
    if (!pairs) return;
    const struct pair_side wrong = side_of(arena, c, backward, want, bad);
    pairs_count(PAIR_FAULTY_NPU, class, c->api, bad->dtype, &wrong, right);
    pairs_count(PAIR_FAULTY_GPU, class, c->api, bad->dtype, right, &wrong);
    pairs_count(PAIR_FAULTY_ALIKE, class, c->api, bad->dtype, &wrong, &wrong);
}

/* ---- outputs --------------------------------------------------------------------------------------- */

static void judge_honest(struct arena *arena, const struct api_case *c, bool backward,
                         struct reference *want, struct tensor *got, const char *kernel,
                         bool real16)
{
    struct judged judged;
    *(real16 ? &composed : &honest) += 1;
    for (int p = 0; p < PROFILES; p++) {
        enum verdict verdict = judge_as(arena, c, backward, want, got, profiles[p], &judged);
        if (p == 0) list_row("honest", kernel, c, backward, got, &judged);
        if (p == 0 && !real16) add_tightness(c, backward, got, &judged);
        if (real16 && verdict == VERDICT_WARNING) composed_warned[p]++;
        if (verdict != VERDICT_ERROR) continue;
        (real16 ? composed_accused : accused)[p]++;
    }
}

static void judge_fault(struct arena *arena, const struct api_case *c, bool backward,
                        struct reference *want, struct tensor *bad, size_t fault, int class)
{
    struct judged judged;
    struct score *score = &scores[fault][class];
    score->tried++;
    for (int p = 0; p < PROFILES; p++) {
        enum verdict verdict = judge_as(arena, c, backward, want, bad, profiles[p], &judged);
        score->caught[p] += verdict == VERDICT_ERROR;
        score->warned[p] += verdict == VERDICT_WARNING;
        if (p == 0)
            list_row(class_names[class], fault < SPOILINGS ? spoilings[fault].name : "recorded", c,
                     backward, bad, &judged);
    }
}

static double *values_of(struct arena *arena, const struct tensor *t, enum dtype part, size_t n)
{
    struct tensor dense;
    double *x = arena_allocate_array(arena, n, sizeof *x);
    if (!x || tensor_densify(&dense, arena, t).code) exit(2);
    dtype_to_double(x, dense.data, part, n);
    return x;
}

/* Correct kernels that nobody has recorded: every step in float32, and sums in other orders. `bench` is
 * the reference's; the worst errors of them are added to `worst`, and each is judged. */
static void try_orders(struct arena *arena, const struct api_case *c, struct reference *want,
                       const struct bench *bench, struct what_result result,
                       const struct tensor *like, struct errors *worst)
{
    static const size_t blocks[] = { 0, 8, 64, 512 };
    enum dtype part = metrics_component_dtype(like->dtype);
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
        struct deviation deviation = { .steps = rounding_to(DT_F32),
                                       .sums = rounding_to(DT_F32),
                                       .block = blocks[b] };
        struct what_if change = { .deviation = &deviation };
        struct shape_of_result shape = { want->rank, want->shape, dtype_is_complex(like->dtype) };
        struct tensor kernel;
        double *x;
        if (bench_what_if(&x, &shape, bench, result, &change, arena).code) continue;
        if (tensor_create(&kernel, arena, like->dtype, like->rank, like->shape).code) exit(2);
        dtype_from_double(kernel.data, part, x, want->n);
        dtype_to_double(x, kernel.data, part, want->n);
        struct errors e = errors_of(want, x, part);
        take_worse(worst, &e);
        char name[40];
        snprintf(name, sizeof name, "blocks of %zu", blocks[b]);
        judge_honest(arena, c, result.backward, want, &kernel, name, false);
    }
}

/* ---- other draws of the data ---------------------------------------------------------------------------- */

enum { FEW_VALUES = 64, DRAWS = 8 };

static bool has_few_values(const struct reference *want)
{
    double seen[FEW_VALUES];
    size_t count = 0;
    for (size_t i = 0; i < want->n; i++) {
        size_t k = 0;
        while (k < count && seen[k] != want->hi[i]) k++;
        if (k < count || isnan(want->hi[i])) continue;
        if (count == FEW_VALUES) return false;
        seen[count++] = want->hi[i];
    }
    return true;
}

/* A float tensor times a number just below 1; others as they are. */
static const struct tensor *scaled_tensor(struct arena *arena, const struct value *value)
{
    const struct tensor *t = value->kind == VALUE_TENSOR ? value->tensor.tensor : NULL;
    if (!t || !dtype_is_float(t->dtype) || dtype_is_complex(t->dtype)) return NULL;
    size_t n = tensor_elements(t);
    double factor = 1 - uniform() / 16, *x = values_of(arena, t, t->dtype, n);
    struct tensor *out = arena_allocate(arena, sizeof *out);
    if (!out || tensor_create(out, arena, t->dtype, t->rank, t->shape).code) exit(2);
    for (size_t i = 0; i < n; i++) x[i] *= factor;
    dtype_from_double(out->data, t->dtype, x, n);
    return out;
}

static bool evaluate_draw(double **x, struct arena *arena, const struct bench *bench,
                          struct what_result result, const struct reference *want,
                          const struct what_if *draw, const struct deviation *deviation)
{
    struct what_if change = *draw;
    struct shape_of_result shape = { want->rank, want->shape, dtype_is_complex(want->dtype) };
    change.deviation = deviation;
    return !bench_what_if(x, &shape, bench, result, &change, arena).code;
}

/* The errors of kernels on one other draw, relative to results of that size here. */
static void add_draw(struct arena *arena, const struct bench *bench, struct what_result result,
                     const struct reference *want, enum dtype part, const struct what_if *draw,
                     struct errors *worst)
{
    static const size_t blocks[] = { 0, 64 };
    const struct deviation none = { .block = 0 };
    double *exact, *x;
    if (!evaluate_draw(&exact, arena, bench, result, want, draw, &none)) return;
    void *store = arena_allocate_array(arena, want->n, 8);
    for (size_t b = 0; b < 2; b++) {
        const struct deviation deviation = { .steps = rounding_to(DT_F32),
                                             .sums = rounding_to(DT_F32),
                                             .block = blocks[b] };
        if (!evaluate_draw(&x, arena, bench, result, want, draw, &deviation)) continue;
        dtype_from_double(store, part, x, want->n);
        dtype_to_double(x, store, part, want->n);
        for (size_t i = 0; i < want->n; i++) {
            double error = fabs(x[i] - exact[i]);
            double size = fmin(1, fabs(want->hi[i]) / fabs(exact[i]));
            x[i] = want->hi[i] + (isfinite(error) && size >= 0 ? error * size : 0);
        }
        struct errors e = errors_of(want, x, part);
        e.kinds = false;
        take_worse(worst, &e);
    }
}

static void try_draws(struct arena *arena, const struct bench *bench, struct what_result result,
                      const struct reference *want, enum dtype part, struct errors *worst)
{
    size_t count = bench_tensor_count(bench);
    const struct value *cotangents = result.backward ? bench_cotangents(bench) : NULL;
    size_t seeds = cotangents ? cotangents->list.count : 0;
    const struct tensor **inputs = arena_allocate_zeroed(arena, count + 1, sizeof *inputs);
    const struct tensor **scaled = arena_allocate_zeroed(arena, seeds + 1, sizeof *scaled);
    struct what_if draw = { .inputs = inputs, .cotangents = seeds ? scaled : NULL };
    if (!has_few_values(want)) return;
    for (int k = 0; k < DRAWS; k++) {
        struct arena_mark mark = arena_mark(arena);
        size_t at = 0;
        for (size_t i = 0; i < count; i++) inputs[i] = scaled_tensor(arena, bench_tensor(bench, i));
        for (size_t i = 0; i < seeds; i++)
            if (cotangents->list.items[i].kind == VALUE_TENSOR)
                scaled[at++] = scaled_tensor(arena, &cotangents->list.items[i]);
        add_draw(arena, bench, result, want, part, &draw, worst);
        arena_rewind(arena, mark);
    }
}

/* One output or gradient: the native result, and the recorded one with its label. */
static void try_output(struct arena *arena, const struct api_case *c, const struct bench *bench,
                       struct what_result result, struct reference *want, struct tensor *native,
                       struct tensor *recorded, const char *label)
{
    bool backward = result.backward;
    enum dtype part = metrics_component_dtype(native->dtype);
    bool is_fault = !strncmp(label, "mode:", 5),
         real16 = !is_fault && strncmp(label, "order:", 6) && part != DT_F32;

    if (want->integer || want->n == 0 || part == DT_F64 || recorded->dtype != native->dtype) return;
    double *clean = values_of(arena, native, part, want->n),
           *other = values_of(arena, recorded, part, want->n);
    double *rounded = arena_allocate_array(arena, want->n, sizeof(double));
    void *store = arena_allocate_array(arena, want->n, 8);
    dtype_from_double(store, part, want->hi, want->n);
    dtype_to_double(rounded, store, part, want->n);
    struct errors worst = errors_of(want, clean, part), e = errors_of(want, rounded, part);
    take_worse(&worst, &e);
    e = errors_of(want, other, part);
    if (!is_fault && !real16) take_worse(&worst, &e);
    try_orders(arena, c, want, bench, result, native, &worst);
    if (!luck) try_draws(arena, bench, result, want, part, &worst);
    judge_honest(arena, c, backward, want, native, "native", false);
    if (!is_fault) judge_honest(arena, c, backward, want, recorded, label, real16);
    else if (class_of(&e, &worst) < CLASSES)
        judge_fault(arena, c, backward, want, recorded, RECORDED_FAULT, class_of(&e, &worst));
    int recorded_class = is_fault ? class_of(&e, &worst) : CLASSES;

    /* The other right device: another kernel where one was recorded, else the rounded reference. */
    struct pair_side right = { 0 };
    if (pairs) {
        struct tensor exact;
        if (tensor_create(&exact, arena, native->dtype, native->rank, native->shape).code) exit(2);
        dtype_from_double(exact.data, part, want->hi, want->n);
        const struct pair_side own = side_of(arena, c, backward, want, native);
        right = side_of(arena, c, backward, want, is_fault || real16 ? &exact : recorded);
        pairs_count(PAIR_HONEST, 0, c->api, native->dtype, &own, &right);
        pairs_count(PAIR_HONEST, 0, c->api, native->dtype, &right, &own);
    }
    if (recorded_class < CLASSES)
        pair_fault(arena, c, backward, want, recorded, recorded_class, &right);
    struct output o = { .n = want->n,
                        .row = 1,
                        .dtype = part,
                        .usual = worst.by[1],
                        .unit_roundoff = ldexp(1, -dtype_info(part)->significand_bits) };
    if (want->rank) o.row = (size_t)want->shape[want->rank - 1];
    o.x = arena_allocate_array(arena, want->n, sizeof(double));
    for (size_t f = 0; f < SPOILINGS; f++) {
        struct tensor bad;
        memcpy(o.x, clean, want->n * sizeof(double));
        o.magnitude = 2 * exp(uniform() * log(5000));
        if (!spoilings[f].put(&o)) continue;
        if (tensor_create(&bad, arena, native->dtype, native->rank, native->shape).code) exit(2);
        dtype_from_double(bad.data, part, o.x, want->n);
        dtype_to_double(o.x, bad.data, part, want->n);
        e = errors_of(want, o.x, part);
        int class = class_of(&e, &worst);
        if (class == CLASSES) continue;
        judge_fault(arena, c, backward, want, &bad, f, class);
        pair_fault(arena, c, backward, want, &bad, class, &right);
    }
}

/* ---- calls -------------------------------------------------------------------------------------------- */

static void try_case(struct arena *arena, const struct dump *dump, struct device *device,
                     size_t position, const char *label)
{
    struct api_case c;
    struct generate_options options = { .seed = 1234, .keep_recorded = true };
    struct generate_notes notes;
    struct bench *reference, *native;
    struct value outputs, gradients;
    struct device_result recorded;
    struct bench_output *want;
    size_t count;

    if (dump_read_case(&c, arena, dump, position).code ||
        generate_inputs(&c, &notes, arena, dump, &options).code ||
        bench_open(&reference, &c, arena, BENCH_REFERENCE).code ||
        bench_open(&native, &c, arena, BENCH_NATIVE).code ||
        bench_native_outputs(&outputs, native).code ||
        device->class->run(device, &recorded, arena, &c, c.has_backward).code ||
        bench_settle(reference, &recorded.outputs).code ||
        bench_settle(native, &recorded.outputs).code || bench_model(reference).code)
        return;
    for (size_t i = 0; i < bench_output_count(reference) && i < outputs.list.count; i++)
        if (bench_output(reference, i)->kind == BENCH_OUTPUT_TENSOR &&
            outputs.list.items[i].kind == VALUE_TENSOR && i < recorded.outputs.list.count &&
            recorded.outputs.list.items[i].kind == VALUE_TENSOR)
            try_output(arena, &c, reference, (struct what_result){ false, i },
                       &bench_output(reference, i)->reference, outputs.list.items[i].tensor.tensor,
                       recorded.outputs.list.items[i].tensor.tensor, label);
    if (!c.has_backward || recorded.gradients.kind != VALUE_LIST ||
        bench_backward(&want, &count, reference, &c.cotangents).code ||
        bench_native_gradients(&gradients, native, &c.cotangents).code)
        return;
    for (size_t i = 0; i < count && i < gradients.list.count; i++)
        if (want[i].kind == BENCH_OUTPUT_TENSOR && gradients.list.items[i].kind == VALUE_TENSOR &&
            recorded.gradients.list.items[i].kind == VALUE_TENSOR)
            try_output(arena, &c, reference, (struct what_result){ true, i }, &want[i].reference,
                       gradients.list.items[i].tensor.tensor,
                       recorded.gradients.list.items[i].tensor.tensor, label);
}

static bool is_kept(const char *label)
{
    uint32_t hash = 2166136261u;
    for (; *label && *label != ' '; label++) hash = (hash ^ (unsigned char)*label) * 16777619u;
    return (hash ^ hash >> 16) % 4 == 0;
}

static void try_folder(struct arena *arena, const char *folder, bool kept)
{
    char path[600], line[400];
    struct dump *dump;
    struct device *device;
    snprintf(path, sizeof path, "%s/dump.json", folder);
    if (dump_open(&dump, path, FILES_TRUSTED).code) exit(2);
    struct device_options options = { .backend = "recorded" };
    if (device_find("recorded")->open(&device, &options).code) exit(2);
    snprintf(path, sizeof path, "%s/labels.txt", folder);
    FILE *labels = fopen(path, "r");
    if (!labels) exit(2);
    for (size_t i = 0; i < dump_count(dump) && fgets(line, sizeof line, labels); i++) {
        line[strcspn(line, "\n")] = 0;
        if (is_kept(line) != kept) continue;
        random_restart(i); /* what a call gets does not depend on the others */
        (void)next_random();
        arena_reset(arena);
        label_of_call = strchr(line, ' ') + 1;
        try_case(arena, dump, device, i, label_of_call);
    }
    fclose(labels);
    device->class->close(device);
    dump_close(dump);
}

static double percent(size_t part, size_t all)
{
    return 100. * (double)part / (double)(all ? all : 1);
}

static void print_scores(void)
{
    printf(
        "%zu results of correct kernels; called wrong: strict %zu (%.3f %%), doc %zu (%.3f %%)\n",
        honest, accused[0], percent(accused[0], honest), accused[1], percent(accused[1], honest));
    printf("%zu results of PyTorch in 16 bits; strict: %zu errors, %zu warnings; doc: %zu, %zu\n",
           composed, composed_accused[0], composed_warned[0], composed_accused[1],
           composed_warned[1]);
    for (int class = 0; class < CLASSES; class ++) {
        struct score all = { 0 };
        for (size_t f = 0; f <= SPOILINGS; f++) {
            const struct score *s = &scores[f][class];
            all.tried += s->tried;
            for (int p = 0; p < PROFILES; p++) {
                all.caught[p] += s->caught[p];
                all.warned[p] += s->warned[p];
            }
            if (s->tried && lists)
                printf("  %-7s %-32s %6zu  strict %6.2f %%  doc %6.2f %%\n", class_names[class],
                       f < SPOILINGS ? spoilings[f].name : "recorded kernels", s->tried,
                       percent(s->caught[0], s->tried), percent(s->caught[1], s->tried));
        }
        printf("%-7s %7zu faults: strict caught %6.2f %%, warned %5.2f %%; doc caught %6.2f %%, "
               "warned %5.2f %%\n",
               class_names[class], all.tried, percent(all.caught[0], all.tried),
               percent(all.warned[0], all.tried), percent(all.caught[1], all.tried),
               percent(all.warned[1], all.tried));
    }
}

int main(int argc, char **argv)
{
    struct arena arena = { 0 };
    bool kept = false;

    arena_reserve(&arena,
                  (size_t)4 << 30); /* only there is memory of one kernel used for the next */
    if (argc < 2 || profile_load(&profiles[0], "strict", NULL, FILES_CHECKED).code ||
        profile_load(&profiles[1], "doc", NULL, FILES_CHECKED).code)
        return 2;
    for (int a = 1; a < argc; a++) {
        if (!strcmp(argv[a], "--part") && a + 1 < argc) kept = !strcmp(argv[++a], "kept");
        else if (!strcmp(argv[a], "--list")) lists = true;
        else if (!strcmp(argv[a], "--tightness")) tightness = true;
        else if (!strcmp(argv[a], "--luck")) luck = true;
        else if (!strcmp(argv[a], "--pairs")) {
            pairs = true;
            pairs_open();
        } else try_folder(&arena, argv[a], kept);
    }
    if (tightness) print_tightness();
    print_scores();
    if (pairs) pairs_print(class_names);
    return 0;
}
