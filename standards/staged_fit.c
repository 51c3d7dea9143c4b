/* Every kernel that is tried is an evaluation of the call. */
#include "standards/staged_fit.h"

#include <math.h>

#include "core/arena.h"
#include "core/log_gamma.h"
#include "standards/metrics/metrics.h"

/* Kernels that are tried at most; fewer for large tensors: MOST_WORK elements of steps, but the plain ones in any case. */
enum { MOST_KERNELS = 256, PLAIN_KERNELS = 32 };
static const double MOST_WORK = 0x1p28;

/* How well a kernel fits. */
struct trial {
    double share;    /* of the elements (struct staged_fit) */
    double distance; /* of its values from the result, in units, 8 at most each */
};

struct search {
    struct reference *want;
    enum dtype dtype;            /* of a component of the result */
    const double *got, *rounded; /* the result, and the rounded reference */
    bool
        wide; /* the result's dtype is wider than that of the steps, so that its own arithmetic rounds besides */
    void *store;    /* room for n elements of the dtype, */
    double *kernel; /* and as doubles */
    double enough;
    /* The elements that are looked at: all (`left` 0), or of each `run` of them those before the last `left`, or these. */
    size_t run, left;
    bool rest;
    struct staged_fit best;
    struct trial nearest; /* of the best, */
    size_t elsewhere;     /* its elements that are not the rounded reference, */
    double choices;       /* and what those that are reproduced might have been (struct look) */
    size_t tried, most;
    bool can;
};

/* Not where nothing is known of the result: whatever it is, it tells no kernel from another. */
static bool is_looked_at(const struct search *s, size_t i)
{
    if (s->want->kernel_bound && s->want->kernel_bound[i] == INFINITY) return false;
    return !s->left || (i % s->run >= s->run - s->left) == s->rest;
}

static bool is_same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

/* How far two kernels with the same roundings may be apart at i: as far as errors of their own arithmetic take them, where that is more
 * than a step of the dtype: of a wide result, and where a short one cancels. Less moves few elements, across a boundary. */
static double apart(const struct search *s, size_t i, double at)
{
    if (!s->want->kernel_bound) return 0;
    double own = s->want->kernel_bound[i], step = dtype_ulp(s->dtype, at);
    return s->wide || own > step ? own + step : 0;
}

/* Is the i-th element of two results the same, to all that can be known? A short element that differs from the reference by more has to be
 * the kernel's own to count for it. */
static bool agrees(const struct search *s, size_t i, double a, double b)
{
    return is_same(a, b) || fabs(a - b) <= apart(s, i, b);
}

static void round_all(double *out, void *store, enum dtype dtype, const double *values, size_t n)
{
    dtype_from_double(store, dtype, values, n);
    dtype_to_double(out, store, dtype, n);
}

struct look {
    struct search *search;
    size_t reproduced, contradicted;
    size_t rounded_elsewhere; /* elements of the kernel that are not the rounded reference */
    double distance;
    double
        choices; /* logarithm of how many numbers the elements that are reproduced might have been */
};

static double distance_in_units(enum dtype dtype, double a, double b)
{
    static const double most = 8;
    double units = fabs(a - b) / dtype_ulp(dtype, a);
    return units < most ? units : most;
}

/* Of errors that have nothing to do with a kernel's, and are k steps of the dtype: if the kernel's may be up or down alike, and larger
 * ones are no more likely than smaller ones, each of the 2k numbers up to there, but the right one, is as likely as this one at
 * least. Steps are taken at the larger of the two, so that there are no fewer; numbers that agree are one. */
static double choices_at(const struct search *s, size_t i)
{
    double got = s->got[i], size = fmax(fabs(got), fabs(s->rounded[i]));
    if (!isfinite(size)) return log(2);
    double step = fmax(dtype_ulp(s->want->stage_dtype, size), 2 * apart(s, i, got));
    return log(2 * fmax(fabs(got - s->rounded[i]) / step, 1));
}

static void count_reproduced(void *context, const double *values)
{
    struct look *look = context;
    const struct search *s = look->search;
    round_all(s->kernel, s->store, s->dtype, values, s->want->n);
    for (size_t i = 0; i < s->want->n; i++) {
        if (!is_looked_at(s, i)) continue;
        bool differs = !agrees(s, i, s->got[i], s->rounded[i]);
        look->rounded_elsewhere += !agrees(s, i, s->kernel[i], s->rounded[i]);
        bool near = agrees(s, i, s->got[i], s->kernel[i]);
        if (is_same(s->got[i], s->kernel[i]) || (near && (s->wide || !differs))) {
            look->reproduced += differs;
            if (differs) look->choices += choices_at(s, i);
            continue;
        }
        look->contradicted += !differs;
        look->distance += distance_in_units(s->dtype, s->got[i], s->kernel[i]);
    }
}

static double share_of(size_t differing, const struct look *look)
{
    size_t all = differing + look->contradicted;
    return all ? (double)look->reproduced / (double)all : 0;
}

/* More of the elements, or the same and nearer to the others. */
static bool is_better(const struct trial *a, const struct trial *b)
{
    return a->share > b->share || (a->share == b->share && a->distance < b->distance);
}

/* Compute a kernel, and keep it when it fits better than all before. */
static struct status try_kernel(struct search *s, const struct staged_choice *choice,
                                struct trial *trial)
{
    struct look look = { .search = s };
    bool can;
    *trial = (struct trial){ -1, 0 };
    s->tried++;
    TRY(s->want->compute_staged(s->want, &can, choice, count_reproduced, &look));
    if (!can) return status_ok();
    *trial = (struct trial){ share_of(s->best.differing, &look), look.distance };
    if (s->can && !is_better(trial, &s->nearest)) return status_ok();
    s->can = true;
    s->nearest = *trial;
    s->best.reproduced = look.reproduced;
    s->best.contradicted = look.contradicted;
    s->best.share = trial->share;
    s->best.choice = *choice;
    s->elsewhere = look.rounded_elsewhere;
    s->choices = look.choices;
    return status_ok();
}

static bool is_over(const struct search *s)
{
    return s->best.share >= s->enough || s->tried >= s->most;
}

/* Kernels that round at all steps, those that are most like a framework's first. */
static struct status try_plain_kernels(struct search *s)
{
    struct trial trial;
    for (unsigned k = 0; k < PLAIN_KERNELS && !is_over(s); k++) {
        const struct staged_choice choice = { .numbers = k & 1,
                                              .composed_functions = !(k & 2),
                                              .whole = !(k & 4),
                                              .other_formulas = k & 8,
                                              .stored = !(k & 16) };
        TRY(try_kernel(s, &choice, &trial));
        if (!s->can) return status_ok();
        if (k == 15 && !s->want->staged_gradient) return status_ok(); /* nothing was stored */
    }
    return status_ok();
}

/* Kernels that round at no step, or at one alone, with the formulas of `none`. */
static struct status try_single_steps(struct search *s, const struct staged_choice *none)
{
    struct trial trial;
    if (is_over(s)) return status_ok();
    TRY(try_kernel(s, none, &trial));
    const int steps = s->want->staged_step_count;
    for (int k = 0; k < steps && !is_over(s); k++) {
        struct staged_choice choice = *none;
        choice.kept ^= UINT64_C(1) << k;
        TRY(try_kernel(s, &choice, &trial));
    }
    return status_ok();
}

/* Kernels that round at the last steps alone, as where the call is one kernel and its gradient is composed of many; with composed functions
 * or without. */
static struct status try_last_steps(struct search *s, struct staged_choice from)
{
    struct trial trial;
    for (int other = 0; other < 2; other++) {
        from.kept = 0;
        if (!is_over(s)) TRY(try_kernel(s, &from, &trial));
        const int steps = s->want->staged_step_count; /* with these formulas */
        for (int k = 1; k < steps && !is_over(s); k++) {
            from.kept = UINT64_MAX << k;
            TRY(try_kernel(s, &from, &trial));
        }
        from.composed_functions ^= true;
    }
    return status_ok();
}

/* From a kernel on, one step changed at a time, for as long as that fits better. */
static struct status descend(struct search *s, struct staged_choice from)
{
    struct trial here, there;
    bool any = true;
    if (is_over(s)) return status_ok();
    TRY(try_kernel(s, &from, &here));
    const int steps = s->want->staged_step_count; /* with these formulas */
    while (any && !is_over(s)) {
        any = false;
        for (int k = 0; k < steps && !is_over(s); k++) {
            struct staged_choice choice = from;
            choice.kept ^= UINT64_C(1) << k;
            TRY(try_kernel(s, &choice, &there));
            if (!is_better(&there, &here)) continue;
            from = choice;
            here = there;
            any = true;
        }
    }
    return status_ok();
}

/* Start anew with these elements. */
static void look_at(struct search *s, size_t run, size_t left, bool rest)
{
    s->run = run;
    s->left = left;
    s->rest = rest;
    s->best = (struct staged_fit){ .differing = 0 };
    s->tried = s->elsewhere = 0;
    s->choices = 0;
    s->can = false;
    for (size_t i = 0; i < s->want->n; i++)
        s->best.differing += is_looked_at(s, i) && !agrees(s, i, s->got[i], s->rounded[i]);
}

static struct status search_open(struct search *s, struct arena *arena, const struct tensor *got)
{
    size_t n = s->want->n;
    double *values = arena_allocate_array(arena, n, sizeof *values);
    double *rounded = arena_allocate_array(arena, n, sizeof *rounded);
    s->kernel = arena_allocate_array(arena, n, sizeof *s->kernel);
    s->store = arena_allocate_array(arena, n, dtype_info(s->dtype)->bytes);
    if (!values || !rounded || !s->kernel || !s->store) return status_no_memory(n * sizeof *values);
    dtype_to_double(values, got->data, s->dtype, n);
    round_all(rounded, s->store, s->dtype, s->want->hi, n);
    s->got = values;
    s->rounded = rounded;
    s->wide = s->want->kernel_bound && s->want->stage_dtype != s->want->dtype;
    look_at(s, n, 0, false);
    return status_ok();
}

static double log_choices(size_t n, size_t k)
{
    return log_gamma((double)n + 1) - log_gamma((double)k + 1) - log_gamma((double)(n - k) + 1);
}

/* P(at least `reproduced` of `differing` elements among n are among the f of the kernel's own, and the same numbers), times the kernels;
 * `choices`: logarithm of how many numbers those might have been. */
static double chance_of(const struct staged_fit *fit, size_t n, size_t f, double choices,
                        double kernels)
{
    size_t d = fit->differing, most = d < f ? d : f;
    double sum = 0;
    for (size_t k = fit->reproduced; k <= most; k++) {
        if (d - k > n - f) continue;
        double one = log_choices(f, k) + log_choices(n - f, d - k) - log_choices(n, d);
        sum += exp(one - choices);
    }
    return fmin(1, sum * kernels);
}

/* The best of all kernels for the elements that are looked at. */
static struct status search_kernels(struct search *s)
{
    s->most = PLAIN_KERNELS;
    TRY(try_plain_kernels(s));
    double work = (double)s->want->n * (double)(s->want->staged_step_count + 1);
    s->most = (size_t)fmax(fmin(MOST_KERNELS, MOST_WORK / work), PLAIN_KERNELS);
    const unsigned ways = s->want->staged_gradient ? 4 : 2;
    struct staged_choice none[4], plain = s->best.choice;
    for (unsigned k = 0; s->can && k < ways; k++) {
        none[k] = s->best.choice;
        none[k].kept = UINT64_MAX;
        none[k].numbers = none[k].whole = false;
        none[k].composed_functions = k & 1;
        none[k].stored = k >> 1;
        TRY(try_single_steps(s, &none[k]));
    }
    s->best.whole = s->can && s->best.reproduced == s->best.differing && !s->best.contradicted;
    if (s->can) TRY(try_last_steps(s, plain));
    if (s->can) TRY(descend(s, s->best.choice));
    if (s->can) TRY(descend(s, plain));
    for (unsigned k = 0; s->can && k < ways; k++) TRY(descend(s, none[k]));
    return status_ok();
}

/* The kernel of the elements that fill vectors: it rounds nowhere, or it is the best for all. */
static struct status fit_vectors(struct search *s, const struct staged_choice *best)
{
    struct trial trial;
    if (s->best.differing) return try_kernel(s, best, &trial);
    s->tried = 1;
    s->best.share = 1;
    return status_ok();
}

/* Let the last `left` elements of each `run` have a kernel of their own, if the others are those of one. */
static struct status try_end(struct search *all, const struct staged_choice *best, size_t run,
                             size_t left, double ways)
{
    struct search vectors = *all, rest = *all;
    look_at(&vectors, run, left, false);
    look_at(&rest, run, left, true);
    if (!rest.best.differing) return status_ok();
    TRY(fit_vectors(&vectors, best));
    if (!(vectors.best.share >= all->enough)) return status_ok();
    TRY(search_kernels(&rest));
    struct staged_fit joined = rest.best;
    joined.differing += vectors.best.differing;
    joined.reproduced += vectors.best.reproduced;
    joined.contradicted += vectors.best.contradicted;
    joined.share = (double)joined.reproduced / (double)(joined.differing + joined.contradicted);
    joined.whole = false;
    if (!rest.can || joined.share <= all->best.share) return status_ok();
    joined.chance = chance_of(&joined, all->want->n, rest.elsewhere + vectors.elsewhere,
                              rest.choices + vectors.choices,
                              (double)rest.tried * (double)all->tried * ways);
    all->best = joined;
    return status_ok();
}

/* Elements that vectors leave over at the end go through a function of their own, which may round where that for vectors does not
 * (PyTorch's rsqrt in bfloat16: 1 / sqrt(x) in float, and the root rounded first); at the end of the whole or, of operands that are repeated,
 * of each row. Threads divide large tensors elsewhere. */
static struct status try_vector_ends(struct search *all)
{
    enum { WIDTHS = 4, NOT_DIVIDED = 32768 };
    static const size_t widths[WIDTHS] = { 64, 32, 16, 8 };
    const struct reference *want = all->want;
    const struct staged_choice best = all->best.choice;
    const size_t runs[2] = { want->n, want->rank ? (size_t)want->shape[want->rank - 1] : want->n };
    if (dtype_is_complex(want->dtype)) return status_ok();
    for (int r = 0; r < 2 && want->n <= NOT_DIVIDED && runs[r]; r++) {
        size_t before = 0;
        if (r && runs[1] == runs[0]) break;
        for (int k = 0; k < WIDTHS && all->best.share < all->enough; k++) {
            size_t left = runs[r] % widths[k];
            if (!left || left == runs[r] || left == before) continue;
            before = left;
            TRY(try_end(all, &best, runs[r], left, 2 * WIDTHS));
        }
    }
    return status_ok();
}

struct status staged_fit_find(struct staged_fit *out, bool *can, struct arena *arena,
                              struct reference *want, const struct tensor *got, double enough)
{
    struct search s = { .want = want,
                        .dtype = metrics_component_dtype(want->dtype),
                        .enough = enough };
    *can = false;
    *out = (struct staged_fit){ .differing = 0 };
    if (!want->compute_staged) return status_ok();
    TRY(search_open(&s, arena, got));
    TRY(search_kernels(&s));
    s.best.chance = chance_of(&s.best, want->n, s.elsewhere, s.choices, (double)s.tried);
    if (s.can) TRY(try_vector_ends(&s));
    *can = s.can;
    *out = s.best;
    return status_ok();
}
