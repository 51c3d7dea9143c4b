/* Errors in units of rounding, and what a hypothesis makes of them. Most hypotheses are wrong, so each is held
 * against a few thousand elements before it is held against all. */
#include "diagnosis/subject.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standards/error_places.h"

/* Bits of an element whose kind of value (NaN, infinity) is wrong: as much as a float32. */
static const double bits_of_kind = 32;
/* Elements that are looked at first. */
enum { PROBES_WRONG = 2048, PROBES_RIGHT = 512 };
/* Errors above so many medians count as this many. */
static const double cap_medians = 4;
static const double least_share = 0.5;
/* Elements in no shape that a hypothesis may hold for. */
enum { SCATTERED_MOST = 8, SCATTERED_AMONG = 16 };

double bits_of(double n) { return n > 1 ? log2(n) : 0; }

void subject_allow(struct subject *s)
{
    s->arena->limit_bytes = s->arena->used_bytes + s->request->memory_bytes;
    s->arena->limit_met = false;
}

struct status subject_pass_over(const struct subject *s, struct status status)
{
    bool refused = status.code == STATUS_NO_MEMORY && !s->arena->limit_met;
    return refused ? status : status_ok();
}

bool subject_spend(struct subject *subject, double steps)
{
    if (!(steps <= subject->work)) return false;
    subject->work -= steps;
    return true;
}

struct claim claim_make(const char *class, double bits, enum claim_scope scope, const char *format,
                        ...)
{
    struct claim claim = { .class = class, .bits = bits, .scope = scope };
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(claim.sentence, sizeof claim.sentence, format, arguments);
    va_end(arguments);
    return claim;
}

/* ---- the measure --------------------------------------------------------------------------------- */

static bool same_value(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

double subject_element_bits(double z) { return isfinite(z) ? log2(1 + z) : bits_of_kind; }

static double weight(const struct subject *s, double z)
{
    double capped = z < s->cap ? z : s->cap;
    return z <= 1 ? 0 : capped * capped;
}

double subject_choice_bits(size_t k, size_t n)
{
    if (!k || k == n) return 0;
    double p = (double)k / (double)n;
    return -(double)n * (p * log2(p) + (1 - p) * log2(1 - p));
}

/* x as the dtype of the row holds it. */
static double rounded(const struct subject *s, double x)
{
    unsigned char element[16];
    if (dtype_is_integral(s->dtype)) return x;
    if (s->dtype != DT_F8E4M3) return rounding_apply(&s->rounding, x);
    dtype_from_double(element, s->dtype, &x, 1); /* overflows to NaN */
    dtype_to_double(&x, element, s->dtype, 1);
    return x;
}

/* The error of element i against a predicted value, which is rounded to the dtype: 0 when that is what came, infinite
 * for another kind of value. A value that came or is predicted may be larger than the right one, and so is its rounding. */
static double excess(const struct subject *s, size_t i, double value)
{
    double got = s->got[i], scale = s->scale[i];
    if (same_value(got, rounded(s, value))) return 0;
    double distance = fabs(got - value);
    if (!isfinite(distance)) return INFINITY;
    if (dtype_is_integral(s->dtype)) return distance / scale;
    double size = fmax(fabs(got), fabs(value));
    return distance / fmax(scale, 0.501 * dtype_ulp(s->dtype, size));
}

/* ---- opening --------------------------------------------------------------------------------------- */

/* What honest rounding does to element i, in absolute terms. */
static double honest_scale(const struct reference *want, size_t i, enum dtype dtype, double size)
{
    if (want->integer) return 0.5;
    double unit = dtype_ulp(dtype, isfinite(want->hi[i]) ? want->hi[i] : size);
    double scale = unit * 0.501 + reference_bound(want, i);
    bool single = dtype_info(dtype)->significand_bits <= 24;
    if (want->kernel_rms) scale += 3 * want->kernel_rms[i];
    else scale += 4 * (single ? 0x1p-24 : 0x1p-53) * fmax(fabs(want->hi[i]), size);
    return isfinite(scale) ? scale : unit;
}

static double rms_of(const struct reference *want)
{
    double squares = 0, count = 0;
    for (size_t i = 0; !want->integer && i < want->n; i++)
        if (isfinite(want->hi[i])) {
            squares += want->hi[i] * want->hi[i];
            count++;
        }
    return count > 0 ? sqrt(squares / count) : 0;
}

static bool fits(const struct diagnosis_request *request)
{
    const struct reference *want = request->want;
    const struct tensor *got = request->got;
    bool same = got && got->dtype == want->dtype && got->rank == want->rank && want->n > 0;
    for (int d = 0; same && d < got->rank; d++) same = got->shape[d] == want->shape[d];
    return same && got->rank < TENSOR_MAX_RANK;
}

static void read_shape(struct subject *s, const struct reference *want)
{
    s->rank = want->rank;
    memcpy(s->shape, want->shape, sizeof s->shape);
    if (dtype_is_complex(want->dtype)) s->shape[s->rank++] = 2;
}

static bool allocate(struct subject *s)
{
    double **arrays[] = { &s->got, &s->want,  &s->exact_want, &s->scale,
                          &s->z,   &s->guess, &s->guess_z };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i] = arena_allocate_array(s->arena, s->n, sizeof(double));
        if (!*arrays[i]) return false;
    }
    s->mask = arena_allocate_array(s->arena, s->n, sizeof *s->mask);
    s->probes = arena_allocate_array(s->arena, PROBES_WRONG + PROBES_RIGHT, sizeof *s->probes);
    return s->mask && s->probes;
}

static struct status read_values(struct subject *s, const struct diagnosis_request *request)
{
    const struct reference *want = request->want;
    struct tensor dense;
    TRY(tensor_densify(&dense, s->arena, request->got));
    /* A complex element is two doubles, so n counts components. */
    dtype_to_double(s->got, dense.data, want->dtype,
                    s->n / (dtype_is_complex(want->dtype) ? 2 : 1));
    double size = rms_of(want);
    for (size_t i = 0; i < s->n; i++) {
        s->exact_want[i] = want->integer ? (double)want->integer[i] : want->hi[i];
        s->scale[i] = honest_scale(want, i, s->dtype, size);
    }
    for (size_t i = 0; i < s->n; i++) s->want[i] = rounded(s, s->exact_want[i]);
    return status_ok();
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Every so many-th of the elements that are wrong (or right), at most `most`. */
static void add_probes(struct subject *s, bool wrong, size_t most)
{
    size_t count = wrong ? s->wrong : s->n - s->wrong, step = count / most + 1, met = 0;
    for (size_t i = 0; i < s->n; i++)
        if (subject_is_wrong(s, i) == wrong && met++ % step == 0) s->probes[s->n_probes++] = i;
}

static void measure_null(struct subject *s)
{
    for (size_t i = 0; i < s->n; i++) {
        s->z[i] = excess(s, i, s->exact_want[i]);
        s->wrong += subject_is_wrong(s, i);
        s->bits += subject_element_bits(s->z[i]);
    }
    s->bits += subject_choice_bits(s->wrong, s->n);
    add_probes(s, true, PROBES_WRONG);
    size_t n_wrong = s->n_probes, finite = 0;
    add_probes(s, false, PROBES_RIGHT);
    for (size_t i = 0; i < n_wrong; i++)
        if (isfinite(s->z[s->probes[i]])) s->guess_z[finite++] = s->z[s->probes[i]];
    qsort(s->guess_z, finite, sizeof *s->guess_z, ascending);
    s->cap = finite ? fmax(cap_medians * s->guess_z[finite / 2], 8) : 8;
    for (size_t i = 0; i < s->n; i++) s->energy += weight(s, s->z[i]);
}

struct status subject_open(struct subject **out, const struct diagnosis_request *request,
                           struct arena *arena)
{
    const struct reference *want = request->want;
    if (!fits(request)) return status_error(STATUS_SKIP, "there are no elements to compare");
    struct subject *s = arena_allocate_zeroed(arena, 1, sizeof *s);
    if (!s) return status_no_memory(sizeof *s);
    s->request = request;
    s->arena = arena;
    s->result = (struct what_result){ request->backward, request->index };
    s->dtype = dtype_component(want->dtype);
    if (!dtype_is_integral(s->dtype)) s->rounding = rounding_to(s->dtype);
    s->n = want->n;
    s->work = request->budget_s * DIAGNOSIS_STEPS_PER_SECOND;
    s->call_work = bench_work(request->bench);
    read_shape(s, want);
    if (!subject_spend(s, 64 * (double)s->n))
        return status_error(STATUS_SKIP, "the budget is too small for so many elements");
    if (!allocate(s)) return status_no_memory(s->n * sizeof(double));
    TRY(read_values(s, request));
    measure_null(s);
    *out = s;
    return status_ok();
}

/* ---- offers ------------------------------------------------------------------------------------------ */

/* Does the hypothesis explain a wrong element, as opposed to missing it by less? */
static bool explains(const struct subject *s, size_t i, double z)
{
    return subject_is_wrong(s, i) && (z <= 1 || z * 16 <= s->z[i]);
}

/* A look at a few elements: is there any hope? */
static bool is_hopeful(const struct subject *s, const struct claim *claim, const double *values)
{
    double left = 0, had = 0;
    size_t explained = 0;
    for (size_t k = 0; k < s->n_probes; k++) {
        size_t i = s->probes[k];
        double z = excess(s, i, values[i]);
        left += weight(s, z);
        had += weight(s, s->z[i]);
        explained += explains(s, i, z);
    }
    bool whole = claim->scope != CLAIM_PART && left < 0.6 * had;
    bool part = claim->scope != CLAIM_WHOLE && explained > 0 &&
                explained * 40 >= (s->wrong < PROBES_WRONG ? s->wrong : PROBES_WRONG);
    return whole || part;
}

struct measured {
    double gain, explains;
    size_t exact, close;
};

/* The elements in s->mask by the hypothesis (all with NULL), the others by the reference. */
static struct measured measure(const struct subject *s, const double *values, const bool *mask,
                               double cost)
{
    struct measured m = { 0, 0, 0, 0 };
    double bits = cost, left = 0;
    size_t wrong = 0;
    for (size_t i = 0; i < s->n; i++) {
        double z = !mask || mask[i] ? s->guess_z[i] : s->z[i];
        double value = !mask || mask[i] ? values[i] : s->want[i];
        bits += subject_element_bits(z);
        left += weight(s, z);
        wrong += z > 1;
        m.exact += same_value(s->got[i], rounded(s, value));
        m.close += z <= 1;
    }
    m.gain = s->bits - bits - subject_choice_bits(wrong, s->n);
    m.explains = s->energy > 0 ? 1 - left / s->energy : 0;
    return m;
}

/* Enter a candidate; of a class only the best one stays. */
static void enter(struct subject *s, const struct claim *claim, const struct measured *m,
                  const char *where)
{
    size_t at;
    if (m->gain <= 0 || m->explains < least_share) return;
    for (at = 0; at < s->count; at++)
        if (!strcmp(s->candidates[at].finding.class, claim->class)) break;
    if (at == CANDIDATES_MAX) at--;
    if (at < s->count && s->candidates[at].gain >= m->gain) return;
    if (at == s->count) s->count++;
    struct candidate candidate = {
        .finding = { claim->class, NULL, m->explains, m->exact, m->close, s->n },
        .gain = m->gain,
    };
    (void)snprintf(candidate.sentence, sizeof candidate.sentence, "%s%s%s", claim->sentence,
                   *where ? ", " : "", where);
    while (at > 0 && s->candidates[at - 1].gain < candidate.gain) {
        s->candidates[at] = s->candidates[at - 1];
        at--;
    }
    s->candidates[at] = candidate;
}

/* Does index `at` belong to what is known of an axis? Of a few indices only some are listed: those that the mask
 * has count (`used`, by index). */
static bool belongs(const struct axis_places *axis, int64_t at, const bool *used)
{
    switch (axis->form) {
    case PLACE_ANYWHERE: return true;
    case PLACE_FEW: return used[at];
    default:
        return at >= axis->first && at <= axis->last &&
               (axis->form == PLACE_RANGE || (at - axis->first) % axis->step == 0);
    }
}

/* Widen the mask to the shape that was found: a hypothesis that holds in a shape holds for all of it. Blocks are left
 * as they are. */
static struct status fill_shape(struct subject *s, const struct places_found *found)
{
    bool *used[TENSOR_MAX_RANK];
    if (found->flat.form == PLACE_RANGE || found->flat.form == PLACE_STEP) {
        for (size_t i = 0; i < s->n; i++) s->mask[i] = belongs(&found->flat, (int64_t)i, NULL);
        return status_ok();
    }
    if (found->blocks.side) return status_ok();
    for (int d = 0; d < s->rank; d++) {
        size_t stride = subject_stride(s, d), extent = (size_t)s->shape[d];
        used[d] = arena_allocate_zeroed(s->arena, extent, sizeof *used[d]);
        if (!used[d]) return status_no_memory(extent);
        for (size_t i = 0; i < s->n; i++) used[d][i / stride % extent] |= s->mask[i];
    }
    for (size_t i = 0; i < s->n; i++) {
        bool inside = true;
        for (int d = 0; inside && d < s->rank; d++) {
            size_t at = i / subject_stride(s, d) % (size_t)s->shape[d];
            inside = belongs(&found->axes[d], (int64_t)at, used[d]);
        }
        s->mask[i] = inside;
    }
    return status_ok();
}

/* One slice of a small tensor, or a few at an end, which alone might be chance: that a hypothesis holds in all of it is
 * none. */
static bool find_slice(struct places_found *found, const struct subject *s)
{
    int restricted = -1;
    for (int d = 0; d < s->rank; d++) {
        size_t stride = subject_stride(s, d);
        int64_t first = s->shape[d], last = -1;
        for (size_t i = 0; i < s->n; i++) {
            int64_t at = (int64_t)(i / stride % (size_t)s->shape[d]);
            if (!s->mask[i]) continue;
            if (at < first) first = at;
            if (at > last) last = at;
        }
        bool ends = first == last || first == 0 || last == s->shape[d] - 1;
        if (last - first + 1 == s->shape[d]) continue;
        if (restricted >= 0 || !ends || (last - first + 1) * 2 > s->shape[d]) return false;
        restricted = d;
        found->axes[d] = (struct axis_places){ .form = PLACE_RANGE,
                                               .extent = s->shape[d],
                                               .first = first,
                                               .last = last,
                                               .step = 1,
                                               .count = last - first + 1,
                                               .inside = found->off,
                                               .log_chance = -1 };
    }
    return restricted >= 0;
}

/* The bits that say which elements the mask has, and the words; a mask that forms a shape becomes the shape. */
static struct status describe_mask(struct subject *s, double *bits, bool *scattered,
                                   char text[PLACES_TEXT_BYTES])
{
    struct error_places *places;
    struct places_found found;
    size_t count = 0;
    TRY(error_places_open(&places, s->arena, s->rank, s->shape));
    for (size_t i = 0; i < s->n; i++)
        if (s->mask[i]) error_places_add(places, i), count++;
    error_places_find(&found, places);
    places_text(text, &found);
    double saved = -found.flat.log_chance, axes = 0;
    for (int d = 0; d < found.rank; d++) axes -= found.axes[d].log_chance;
    saved = fmax(fmax(saved, axes), -found.blocks.log_chance) / log(2);
    *bits = fmax(subject_choice_bits(count, s->n) - saved, 4) + 2;
    if (!*text && find_slice(&found, s)) {
        places_text(text, &found);
        *bits = 2 * bits_of((double)s->n);
    }
    *scattered = !*text;
    if (!*scattered) return fill_shape(s, &found);
    (void)snprintf(text, PLACES_TEXT_BYTES, count == 1 ? "in one element" : "in %zu elements",
                   count);
    return status_ok();
}

static struct status offer_part(struct subject *s, const struct claim *claim, const double *values)
{
    char where[PLACES_TEXT_BYTES];
    double bits = 0;
    bool scattered = true;
    size_t count = 0;
    for (size_t i = 0; i < s->n; i++) {
        s->mask[i] = explains(s, i, s->guess_z[i]);
        count += s->mask[i];
    }
    if (!count) return status_ok();
    struct arena_mark mark = arena_mark(s->arena);
    struct status status = describe_mask(s, &bits, &scattered, where);
    arena_rewind(s->arena, mark);
    TRY(status);
    /* Which elements a hypothesis holds for has to be said in a few words, or it could be said of anything. */
    if (scattered && (count > SCATTERED_MOST || count * SCATTERED_AMONG > s->n)) return status_ok();
    struct measured m = measure(s, values, s->mask, claim->bits + bits);
    enter(s, claim, &m, where);
    return status_ok();
}

struct status subject_offer(struct subject *s, const struct claim *claim, const double *values)
{
    if (!is_hopeful(s, claim, values)) return status_ok();
    for (size_t i = 0; i < s->n; i++) s->guess_z[i] = excess(s, i, values[i]);
    if (claim->scope != CLAIM_PART) {
        struct measured m = measure(s, values, NULL, claim->bits);
        enter(s, claim, &m, "");
        if (m.close == s->n) return status_ok(); /* a part cannot do better */
    }
    return claim->scope == CLAIM_WHOLE ? status_ok() : offer_part(s, claim, values);
}

struct status subject_offer_each(struct subject *s, const struct claim *claim, prediction *predict,
                                 const void *context)
{
    if (!subject_spend(s, 4 * (double)s->n_probes)) return status_ok();
    for (size_t k = 0; k < s->n_probes; k++) {
        size_t i = s->probes[k];
        s->guess[i] = predict(s, context, i);
    }
    if (!is_hopeful(s, claim, s->guess) || !subject_spend(s, 16 * (double)s->n)) return status_ok();
    for (size_t i = 0; i < s->n; i++) s->guess[i] = predict(s, context, i);
    return subject_offer(s, claim, s->guess);
}
