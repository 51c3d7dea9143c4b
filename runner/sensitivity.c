/* From large errors to small ones, until a profile lets one pass: what is printed holds for every larger error, too. */
#include "runner/sensitivity.h"

#include <math.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/what_if.h"
#include "core/hash.h"
#include "runner/precision.h"
#include "standards/judge.h"

const char *const injection_names[INJECTIONS] = {
    [INJECT_SCALE] = "scale", [INJECT_BIAS] = "bias", [INJECT_ONE] = "one element",
    [INJECT_NOISE] = "noise", [INJECT_CUT] = "cut",   [INJECT_FACTORS] = "factors",
    [INJECT_SUMS] = "sums",
};

enum { COARSEST_BITS = 2 };

struct subject {
    struct arena *arena;
    struct arena *
        judging; /* emptied after each verdict: models that one asks for stay with the reference, in `arena` */
    const struct api_case *c;
    struct profile *const *profiles;
    struct bench *bench;
    struct reference *want;
    const struct tensor *right;
    size_t n, largest;
    double *x, rms; /* the right result */
    double *wrong;  /* what is made of it */
    enum verdict usual[SENSITIVITY_PROFILES];
};

/* ---- verdicts -------------------------------------------------------------------------------- */

static struct status judge_values(enum verdict verdicts[SENSITIVITY_PROFILES],
                                  const struct subject *s, const double *values)
{
    struct tensor got;
    struct bench_precision precision = precision_of_case(s->c);
    struct wanted want = { .reference = s->want };
    TRY(tensor_create(&got, s->judging, s->right->dtype, s->right->rank, s->right->shape));
    dtype_from_double(got.data, got.dtype, values, s->n);
    const struct value value = { .kind = VALUE_TENSOR, .tensor.tensor = &got };
    for (int p = 0; p < SENSITIVITY_PROFILES; p++) {
        struct judged judged;
        const struct judge_request request = { .profile = s->profiles[p],
                                               .c = s->c,
                                               .bench_dtype =
                                                   precision_forward(&precision, got.dtype),
                                               .input_dtype = precision.first_float,
                                               .precision = 14 };
        TRY(judge_output(&judged, s->judging, &request, &want, &value));
        verdicts[p] = judged.verdict;
    }
    arena_reset(s->judging);
    return status_ok();
}

/* ---- errors ---------------------------------------------------------------------------------- */

static double sign_of(size_t i) { return hash_bytes(HASH_START, &i, sizeof i) >> 40 & 1 ? 1 : -1; }

static void spoil(const struct subject *s, enum injection kind, int k)
{
    double e = ldexp(1, -k);
    const struct rounding cut = { k, -1022, INFINITY, true };
    for (size_t i = 0; i < s->n; i++) {
        double x = s->x[i];
        switch (kind) {
        case INJECT_SCALE: x *= 1 + e; break;
        case INJECT_BIAS: x += e * s->rms; break;
        case INJECT_ONE: x *= i == s->largest ? 1 + e : 1; break;
        case INJECT_NOISE: x *= 1 + e * sign_of(i); break;
        default: x = rounding_apply(&cut, x); break;
        }
        s->wrong[i] = x;
    }
}

/* The call in arithmetic of k bits. */
static struct status deviate(const struct subject *s, enum injection kind, int k)
{
    const struct rounding shorter = { k, -126, 0x1.fffffep127, false };
    struct deviation deviation = { .block = 0 };
    const struct what_if change = { .deviation = &deviation };
    const struct shape_of_result shape = { s->right->rank, s->right->shape, false };
    const struct arena_mark before = arena_mark(s->arena);
    double *values;
    if (kind == INJECT_FACTORS) deviation.operands[0] = deviation.operands[1] = shorter;
    else deviation.sums = shorter;
    TRY(bench_what_if(&values, &shape, s->bench, (struct what_result){ false, 0 }, &change,
                      s->arena));
    memcpy(s->wrong, values, s->n * sizeof *values);
    arena_rewind(s->arena, before);
    return status_ok();
}

static bool counts_bits(enum injection kind) { return kind >= INJECT_CUT; }

static bool has_step(const struct subject *s, enum injection kind)
{
    const struct bench_steps steps = bench_steps(s->bench);
    if (kind == INJECT_FACTORS) return steps.products;
    return kind != INJECT_SUMS || steps.sums;
}

static int severity(enum verdict verdict)
{
    return verdict == VERDICT_ERROR ? 2 : verdict == VERDICT_WARNING ? 1 : 0;
}

static struct status measure_kind(int noticed[SENSITIVITY_PROFILES], const struct subject *s,
                                  enum injection kind)
{
    bool open[SENSITIVITY_PROFILES];
    size_t n_open = SENSITIVITY_PROFILES;
    int coarsest = counts_bits(kind) ? COARSEST_BITS : 0;
    int finest = counts_bits(kind) ? dtype_info(s->right->dtype)->significand_bits
                                   : SENSITIVITY_FINEST;
    if (kind > INJECT_CUT && finest < 24) finest = 24; /* their arithmetic is float32's */
    for (int p = 0; p < SENSITIVITY_PROFILES; p++) {
        open[p] = true;
        noticed[p] = has_step(s, kind) ? SENSITIVITY_NEVER : SENSITIVITY_NO_SUCH_STEP;
    }
    for (int k = coarsest; k <= finest && n_open && has_step(s, kind); k++) {
        enum verdict verdicts[SENSITIVITY_PROFILES];
        if (kind > INJECT_CUT) TRY(deviate(s, kind, k));
        else spoil(s, kind, k);
        TRY(judge_values(verdicts, s, s->wrong));
        for (int p = 0; p < SENSITIVITY_PROFILES; p++) {
            if (!open[p]) continue;
            open[p] = severity(verdicts[p]) > severity(s->usual[p]);
            if (open[p]) noticed[p] = k;
            else n_open--;
        }
    }
    return status_ok();
}

/* ---- the right result ------------------------------------------------------------------------ */

static struct status make_right(struct subject *s)
{
    struct bench *native;
    struct value outputs;
    TRY(bench_open(&s->bench, s->c, s->arena, BENCH_REFERENCE));
    TRY(bench_open(&native, s->c, s->arena, BENCH_NATIVE));
    TRY(bench_native_outputs(&outputs, native));
    bool is_tensor = bench_output_count(s->bench) && outputs.list.count &&
                     bench_output(s->bench, 0)->kind == BENCH_OUTPUT_TENSOR &&
                     outputs.list.items[0].kind == VALUE_TENSOR;
    s->right = is_tensor ? outputs.list.items[0].tensor.tensor : NULL;
    if (!s->right || !dtype_is_float(s->right->dtype))
        return status_error(STATUS_SKIP, "%s has no floating output", s->c->full_name);
    TRY(bench_settle(s->bench, &outputs));
    TRY(bench_model(s->bench));
    s->want = &bench_output(s->bench, 0)->reference;
    s->n = tensor_elements(s->right);
    return s->n ? status_ok() : status_error(STATUS_SKIP, "%s is empty", s->c->full_name);
}

static struct status read_right(struct subject *s)
{
    struct tensor dense;
    s->x = arena_allocate_array(s->arena, s->n, sizeof *s->x);
    s->wrong = arena_allocate_array(s->arena, s->n, sizeof *s->wrong);
    if (!s->x || !s->wrong) return status_no_memory(2 * s->n * sizeof *s->x);
    TRY(tensor_densify(&dense, s->arena, s->right));
    dtype_to_double(s->x, dense.data, dense.dtype, s->n);
    double squares = 0;
    for (size_t i = 0; i < s->n; i++) {
        squares += s->x[i] * s->x[i];
        if (fabs(s->x[i]) > fabs(s->x[s->largest])) s->largest = i;
    }
    s->rms = sqrt(squares / (double)s->n);
    return judge_values(s->usual, s, s->x);
}

static struct status measure_all(struct sensitivity *out, struct subject *s)
{
    TRY(make_right(s));
    TRY(read_right(s));
    out->dtype = s->right->dtype;
    for (int kind = 0; kind < INJECTIONS; kind++)
        TRY(measure_kind(out->noticed[kind], s, (enum injection)kind));
    return status_ok();
}

struct status sensitivity_measure(struct sensitivity *out, struct arena *arena,
                                  const struct api_case *c,
                                  struct profile *const profiles[SENSITIVITY_PROFILES])
{
    struct arena judging = { .limit_bytes = arena->limit_bytes };
    struct subject s = { .arena = arena, .judging = &judging, .c = c, .profiles = profiles };
    struct status status = measure_all(out, &s);
    arena_release(&judging);
    return status;
}
