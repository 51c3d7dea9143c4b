/* Collects outcomes while they are committed, and prints them at the end. */
#include "report/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

/* ---- collecting ------------------------------------------------------------------------- */

/* How far beyond its limit a row is. A limit may be one to stay below (an error) or one to reach
 * (a similarity); either way the further apart the worse. Rows whose message says it all, a
 * crash or a wrong shape, have no numbers and come first. */
static double excess(const char *metric, double value, double limit)
{
    if (!metric[0] || isnan(value) || isinf(value)) return INFINITY;
    double a = fabs(value), b = fabs(limit);
    if (a == b) return 1;
    double small = fmin(a, b), large = fmax(a, b);
    return small > 0 ? large / small : large > 0 ? 1e300 : 1;
}

/* Does row a come before row b in the list of the worst? */
static bool is_worse(const struct worst_row *a, const struct worst_row *b)
{
    if (a->verdict != b->verdict) return a->verdict == VERDICT_ERROR;
    double x = excess(a->metric, a->value, a->limit), y = excess(b->metric, b->value, b->limit);
    if (x != y) return x > y;
    return a->order < b->order;
}

static struct status add_worst(struct summary *summary, const struct row_note *note)
{
    struct worst_row row = { note->verdict, NULL,        note->metric,
                             note->value,   note->limit, summary->rows };
    if (summary->n_worst == SUMMARY_WORST && !is_worse(&row, &summary->worst[SUMMARY_WORST - 1]))
        return status_ok();
    row.name = memory_copy_string(note->name);
    if (!row.name) return status_no_memory(0);
    if (summary->n_worst == SUMMARY_WORST) memory_release(summary->worst[--summary->n_worst].name);
    size_t at = summary->n_worst++;
    for (; at && is_worse(&row, &summary->worst[at - 1]); at--)
        summary->worst[at] = summary->worst[at - 1];
    summary->worst[at] = row;
    return status_ok();
}

static struct status add_reason(struct summary *summary, const char *text)
{
    for (size_t i = 0; i < summary->n_reasons; i++)
        if (!strcmp(summary->reasons[i].text, text)) {
            summary->reasons[i].count++;
            return status_ok();
        }
    if (summary->n_reasons == SUMMARY_REASONS) {
        summary->other_reasons++;
        return status_ok();
    }
    char *copy = memory_copy_string(text);
    if (!copy) return status_no_memory(0);
    summary->reasons[summary->n_reasons++] = (struct skip_reason){ copy, 1 };
    return status_ok();
}

static void count_call(struct summary *summary, enum verdict forward, enum verdict backward)
{
    summary->calls++;
    summary->counts[0][forward]++;
    summary->counts[1][backward]++;
    summary->judged += verdict_is_judgement(forward) || verdict_is_judgement(backward);
}

struct status summary_add(struct summary *summary, const struct case_outcome *outcome)
{
    count_call(summary, outcome->forward, outcome->backward);
    summary->internal_errors += outcome->internal_error;
    summary->references.components += outcome->references.components;
    summary->references.certified += outcome->references.certified;
    summary->references.recomputed += outcome->references.recomputed;
    summary->references.costly_outputs += outcome->references.costly_outputs;
    for (size_t i = 0; i < outcome->n_notes; i++) {
        const struct row_note *note = &outcome->notes[i];
        summary->rows++;
        if (note->message) TRY(add_reason(summary, note->message));
        else TRY(add_worst(summary, note));
    }
    return status_ok();
}

/* The verdict of a cell; both spellings of warning are in use. */
static enum verdict verdict_of_cell(struct csv_text cell)
{
    for (enum verdict v = VERDICT_BLANK; v <= VERDICT_SKIP; v++)
        if (csv_text_equal(cell, verdict_name(v))) return v;
    return csv_text_equal(cell, "Warning") ? VERDICT_WARNING : VERDICT_BLANK;
}

void summary_add_earlier(struct summary *summary, struct csv_text forward, struct csv_text backward)
{
    summary->earlier++;
    count_call(summary, verdict_of_cell(forward), verdict_of_cell(backward));
}

struct ci_counts summary_ci_counts(const struct summary *summary)
{
    const size_t *forward = summary->counts[0], *backward = summary->counts[1];
    return (struct ci_counts){ .errors = forward[VERDICT_ERROR] + backward[VERDICT_ERROR],
                               .warnings = forward[VERDICT_WARNING] + backward[VERDICT_WARNING],
                               .skipped = forward[VERDICT_SKIP],
                               .judged = summary->judged,
                               .all = summary->calls };
}

/* ---- printing --------------------------------------------------------------------------- */

static const struct {
    enum verdict verdict;
    const char *title, *color;
} shown_verdicts[] = {
    { VERDICT_PASS, "pass", "\033[32m" },   { VERDICT_WARNING, "warning", "\033[33m" },
    { VERDICT_ERROR, "error", "\033[31m" }, { VERDICT_SKIP, "SKIP", "\033[36m" },
    { VERDICT_BLANK, "none", "" },
};
enum { N_SHOWN = sizeof shown_verdicts / sizeof shown_verdicts[0] };

static void print_counts(FILE *out, const struct summary *summary, bool color)
{
    static const char *const directions[] = { "forward", "backward" };
    fprintf(out, "%-10s", "calls");
    for (int i = 0; i < N_SHOWN; i++) fprintf(out, " %8s", shown_verdicts[i].title);
    fputc('\n', out);
    for (int d = 0; d < 2; d++) {
        fprintf(out, "%-10s", directions[d]);
        for (int i = 0; i < N_SHOWN; i++) {
            size_t count = summary->counts[d][shown_verdicts[i].verdict];
            bool painted = color && count && shown_verdicts[i].color[0];
            fprintf(out, " %s%8zu%s", painted ? shown_verdicts[i].color : "", count,
                    painted ? "\033[0m" : "");
        }
        fputc('\n', out);
    }
}

/* Shares of the components of all references. */
static void print_references(FILE *out, const struct summary *summary)
{
    const struct reference_use *use = &summary->references;
    if (!use->components) return;
    double all = (double)use->components;
    fprintf(out,
            "\nreferences%s: %zu values, %.6g %% in tensors certified to 2^-10 ulp, %.3g %% "
            "recomputed in higher "
            "precision\n",
            summary->earlier ? " (of this part of the run)" : "", use->components,
            100 * (double)use->certified / all, 100 * (double)use->recomputed / all);
    if (use->costly_outputs)
        fprintf(out, "  %zu outputs had more than a thousandth recomputed\n", use->costly_outputs);
}

/* Texts of the dump or of a device; control characters in them could rule the terminal. */
static void print_text(FILE *out, const char *text)
{
    for (; *text; text++) fputc((unsigned char)*text < ' ' || *text == 127 ? ' ' : *text, out);
}

static void print_worst(FILE *out, const struct summary *summary)
{
    if (!summary->n_worst) return;
    fprintf(out, "\nworst rows%s\n", summary->earlier ? " (of this part of the run)" : "");
    for (size_t i = 0; i < summary->n_worst; i++) {
        const struct worst_row *row = &summary->worst[i];
        fprintf(out, "  %-7s  ", verdict_name(row->verdict));
        print_text(out, row->name);
        if (row->metric[0])
            fprintf(out, ": %s %.6g, limit %.6g", row->metric, row->value, row->limit);
        fputc('\n', out);
    }
}

static int compare_reasons(const void *a, const void *b)
{
    const struct skip_reason *const *x = a, *const *y = b;
    if ((*x)->count != (*y)->count) return (*x)->count < (*y)->count ? 1 : -1;
    return strcmp((*x)->text, (*y)->text);
}

/* Reasons by count. */
static void print_reasons(FILE *out, const struct summary *summary)
{
    const struct skip_reason *sorted[SUMMARY_REASONS];
    size_t rest = summary->other_reasons;
    if (!summary->n_reasons) return;
    for (size_t i = 0; i < summary->n_reasons; i++) sorted[i] = &summary->reasons[i];
    qsort(sorted, summary->n_reasons, sizeof sorted[0], compare_reasons);
    fprintf(out, "\nskipped rows%s\n", summary->earlier ? " (of this part of the run)" : "");
    for (size_t i = 0; i < summary->n_reasons; i++) {
        if (i >= SUMMARY_REASONS_SHOWN) {
            rest += sorted[i]->count;
            continue;
        }
        fprintf(out, "  %6zu  ", sorted[i]->count);
        print_text(out, sorted[i]->text);
        fputc('\n', out);
    }
    if (rest) fprintf(out, "  %6zu  for other reasons\n", rest);
}

void summary_print(FILE *out, const struct summary *summary, bool color)
{
    print_counts(out, summary, color);
    print_references(out, summary);
    print_worst(out, summary);
    print_reasons(out, summary);
}

void summary_release(struct summary *summary)
{
    for (size_t i = 0; i < summary->n_worst; i++) memory_release(summary->worst[i].name);
    for (size_t i = 0; i < summary->n_reasons; i++) memory_release(summary->reasons[i].text);
    summary->n_worst = summary->n_reasons = 0;
}
