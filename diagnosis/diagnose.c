/* All tables in turn, the cheap ones first, and the best of what they found. */
#include "diagnosis/diagnosis.h"

#include <string.h>

#include "diagnosis/changed_call.h"
#include "diagnosis/hypothesis.h"

/* What costs little comes first: the budget may not last to the end. */
static const struct hypothesis *const tables[] = {
    last_rounding_hypotheses, value_hypotheses,    place_hypotheses,        region_hypotheses,
    factor_hypotheses,        input_hypotheses,    other_factor_hypotheses, function_hypotheses,
    padding_hypotheses,       argument_hypotheses, step_hypotheses,         sum_hypotheses,
    index_hypotheses,
};

enum { MOST_BYTES = 256 << 20 };

size_t diagnosis_bytes(const struct api_case *c)
{
    size_t peak = bench_peak_bytes(c);
    return peak < MOST_BYTES / 2 ? 2 * peak : MOST_BYTES;
}

/* The call as an honest kernel may evaluate it that computes in less than the reference took for granted (a gradient of
 * float32 within a call whose output is float64): where that explains the row, a mistake has to explain more. */
static const struct claim no_mistake = { .class = "no mistake", .scope = CLAIM_WHOLE };

static bool is_no_mistake(const struct candidate *candidate)
{
    return !strcmp(candidate->finding.class, no_mistake.class);
}

static struct status try_all(struct subject *subject)
{
    const struct deviation plain = { .steps = rounding_to(DT_F32), .sums = rounding_to(DT_F32) };
    const struct what_if unchanged = { .deviation = &plain };
    if (dtype_is_float(subject->dtype) && subject->dtype != DT_F64)
        TRY(subject_offer_change(subject, &no_mistake, &unchanged, 8));
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct hypothesis *h = tables[t]; h->class; h++) {
            struct arena_mark mark = arena_mark(subject->arena);
            subject_allow(subject);
            struct status status = h->try(subject, h);
            arena_rewind(subject->arena, mark);
            TRY(subject_pass_over(subject, status));
        }
    return status_ok();
}

/* The best candidates, which outlive the subject. */
struct best {
    bool sought;
    struct candidate items[FINDINGS_MAX];
    size_t count;
};

static struct status find_best(struct best *best, struct arena *arena,
                               const struct diagnosis_request *request)
{
    struct subject *subject;
    best->sought = false;
    best->count = 0;
    struct status status = subject_open(&subject, request, arena);
    if (status.code == STATUS_SKIP || (status.code && arena->limit_met)) return status_ok();
    TRY(status);
    if (!subject->wrong) return status_ok();
    TRY(try_all(subject));
    best->sought = true;
    for (size_t i = 0; i < subject->count && i < FINDINGS_MAX; i++) {
        if (is_no_mistake(&subject->candidates[i])) break;
        best->items[best->count++] = subject->candidates[i];
    }
    return status_ok();
}

struct status diagnose(struct findings *out, struct arena *arena,
                       const struct diagnosis_request *request)
{
    struct best best;
    struct arena_mark mark = arena_mark(arena);
    size_t limit = arena->limit_bytes;
    arena->limit_bytes = arena->used_bytes + request->memory_bytes;
    arena->limit_met = false;
    struct status status = find_best(&best, arena, request);
    arena_rewind(arena, mark);
    arena->limit_bytes = limit;
    TRY(status);
    *out = (struct findings){ .sought = best.sought };
    for (size_t i = 0; i < best.count; i++) {
        struct finding *finding = &out->items[out->count++];
        *finding = best.items[i].finding;
        finding->sentence = arena_copy_string(arena, best.items[i].sentence);
        if (!finding->sentence) return status_no_memory(0);
    }
    return status_ok();
}
