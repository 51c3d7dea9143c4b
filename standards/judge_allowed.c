/* Candidates are sets of modes: at most one that shortens factors, as a kernel has one format for them. Those that a
 * single mode makes come first, so that what the row names is what it needs. */
#include "standards/judge_allowed.h"

#include <math.h>
#include <string.h>

/* What a row has noted and said so far, to go back to. */
struct noted {
    const char *message, *deciding_metric;
    double deciding_value, deciding_limit;
    struct judged_limit limits[JUDGED_LIMITS];
    size_t limit_count;
};

static struct noted take_note(const struct row *row)
{
    const struct judged *out = row->out;
    struct noted noted = { .message = row->message,
                           .deciding_metric = out->deciding_metric,
                           .deciding_value = out->deciding_value,
                           .deciding_limit = out->deciding_limit,
                           .limit_count = out->limit_count };
    memcpy(noted.limits, out->limits, sizeof noted.limits);
    return noted;
}

static void go_back(struct row *row, const struct noted *noted)
{
    struct judged *out = row->out;
    row->message = noted->message;
    out->deciding_metric = noted->deciding_metric;
    out->deciding_value = noted->deciding_value;
    out->deciding_limit = noted->deciding_limit;
    memcpy(out->limits, noted->limits, sizeof out->limits);
    out->limit_count = noted->limit_count;
}

static bool shortens(enum kernel_mode mode) { return mode <= KERNEL_BF16X2; }

struct status judge_by_other(struct row *row, bool *holds, struct model_findings *findings,
                             const struct model_judge *judge, struct reference *other,
                             const struct tensor *got)
{
    static const struct noted nothing = { .deciding_metric = "" };
    const struct noted before = take_note(row);
    TRY(error_model_measure(findings, row->arena, got, other, &judge->fallback));
    go_back(row, &nothing);
    *holds = judge->holds(row, findings);
    if (!*holds) go_back(row, &before);
    return status_ok();
}

/* Does the row hold for kernels in `modes`? Then it says so, and only that. */
static struct status try_modes(struct row *row, bool *holds, const struct model_judge *judge,
                               const struct kernel_modes *modes, bool cut_off,
                               struct reference *want, const struct tensor *got)
{
    struct reference moved;
    struct model_findings findings;
    char text[KERNEL_MODES_BYTES];
    bool can;

    TRY(want->allow(&moved, &can, want, modes, cut_off));
    if (!can) return status_ok();
    TRY(judge_by_other(row, holds, &findings, judge, &moved, got));
    if (!*holds) return status_ok();
    kernel_modes_text(text, modes);
    row->out->allowance = arena_format(row->arena, "%s", text);
    if (!row->out->allowance) return status_no_memory(0);
    row_say(row,
            "Explained by %s, which is allowed: the worst element is at %.2g of what that allows, "
            "consider as pass.\n",
            text, fmax(findings.worst.quotient, 0));
    return status_ok();
}

/* Both ways in which factors are shortened. */
static struct status try_both(struct row *row, bool *holds, const struct model_judge *judge,
                              const struct kernel_modes *modes, struct reference *want,
                              const struct tensor *got)
{
    bool short_factors = false;
    for (int mode = 0; shortens((enum kernel_mode)mode); mode++)
        short_factors |= modes->allowed[mode];
    TRY(try_modes(row, holds, judge, modes, false, want, got));
    return *holds || !short_factors ? status_ok()
                                    : try_modes(row, holds, judge, modes, true, want, got);
}

/* All modes but those that shorten factors and are not `factors`. */
static struct kernel_modes together(const struct kernel_modes *allowed, enum kernel_mode factors)
{
    struct kernel_modes modes = *allowed;
    for (int mode = 0; shortens((enum kernel_mode)mode); mode++)
        if (mode != (int)factors) modes.allowed[mode] = false;
    modes.allowed[KERNEL_STAGED] = false;
    return modes;
}

struct status judge_as_allowed(struct row *row, bool *holds, const struct model_judge *judge,
                               const struct kernel_modes *allowed, struct reference *want,
                               const struct tensor *got)
{
    *holds = false;
    if (!want->allow) return status_ok();
    for (int mode = 0; mode < KERNEL_MODE_COUNT && !*holds; mode++) {
        if (!allowed->allowed[mode] || mode == KERNEL_STAGED) continue;
        const struct kernel_modes only = kernel_modes_only(allowed, (enum kernel_mode)mode);
        TRY(try_both(row, holds, judge, &only, want, got));
    }
    for (int mode = 0; mode <= KERNEL_STAGED && !*holds;
         mode++) { /* KERNEL_STAGED: exact factors */
        if (!allowed->allowed[mode] && mode != KERNEL_STAGED) continue;
        const struct kernel_modes several = together(allowed, (enum kernel_mode)mode);
        if (kernel_modes_count(&several) > 1) TRY(try_both(row, holds, judge, &several, want, got));
    }
    return status_ok();
}

bool allowance_for_stages(struct row *row, bool explained, const struct kernel_modes *allowed)
{
    if (!explained || !allowed->allowed[KERNEL_STAGED]) return false;
    row->out->allowance = kernel_mode_name(KERNEL_STAGED);
    row_say(row, "That is allowed, consider as pass.\n");
    return true;
}
