/* Rows are told by API: a model calls one function a thousand times, and the person who reads this
 * looks for functions. */
#include "report/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/growing.h"
#include "core/memory.h"
#include "core/quantity.h"
#include "formats/text_out.h"

/* ---- collecting ------------------------------------------------------------------------- */

static struct status make_tables(struct summary *summary)
{
    if (summary->has_tables) return status_ok();
    TRY(text_table_create(&summary->api_names));
    struct status status = text_table_create(&summary->reason_keys);
    if (status.code) text_table_release(&summary->api_names);
    summary->has_tables = !status.code;
    return status;
}

/* "Functional.layer_norm" of "Functional.layer_norm.3". */
static size_t api_length(const char *call)
{
    size_t length = strlen(call), digits = length;
    while (digits && call[digits - 1] >= '0' && call[digits - 1] <= '9') digits--;
    bool is_number = digits && digits < length && call[digits - 1] == '.';
    return is_number ? digits - 1 : length;
}

static struct status find_api(struct api_summary **out, struct summary *summary, const char *call)
{
    uint32_t number;
    /* First: what is in the table has a place, whatever fails. */
    if (summary->api_names.count >= summary->api_capacity)
        TRY(array_make_zeroed_room(&summary->apis, &summary->api_capacity, summary->api_names.count,
                                   sizeof *summary->apis));
    TRY(text_table_add(&number, NULL, &summary->api_names, call, api_length(call)));
    *out = &summary->apis[number];
    return status_ok();
}

static struct status replace_text(char **text, const char *by)
{
    char *copy = memory_copy_string(by);
    if (!copy) return status_no_memory(0);
    memory_release(*text);
    *text = copy;
    return status_ok();
}

/* Errors before warnings, then by excess; the first row among equals. */
static bool is_worst_of(const struct api_summary *api, const struct row_note *note)
{
    if (!api->row) return true;
    if (note->verdict == api->verdict) return !(note->excess <= api->excess);
    return note->verdict == VERDICT_ERROR;
}

static struct status add_failing_row(struct api_summary *api, const struct row_note *note,
                                     size_t dump)
{
    if (!is_worst_of(api, note)) return status_ok();
    TRY(replace_text(&api->row, note->name));
    TRY(replace_text(&api->sentence, note->sentence));
    TRY(replace_text(&api->source, note->source ? note->source : ""));
    api->verdict = note->verdict;
    api->excess = note->excess;
    api->dump = dump;
    return status_ok();
}

static struct status add_failing_call(struct api_summary *api, const struct dump_tree *tree,
                                      size_t dump)
{
    api->failing++;
    if (!tree) return status_ok();
    if (!api->dumps) api->dumps = memory_allocate_zeroed(tree->count, 1);
    if (!api->dumps) return status_no_memory(tree->count);
    api->failing_dumps += !api->dumps[dump];
    api->dumps[dump] = 1;
    return status_ok();
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Length of `name` when it stands at `at` as a word of its own, 0 otherwise. */
static size_t match_word(const char *at, const char *text, const char *name, size_t length)
{
    bool begins = at == text || !is_word(at[-1]);
    return length && begins && !strncmp(at, name, length) && !is_word(at[length]) ? length : 0;
}

/* Behind "Torch.add.0 input.1: ", the argument of a call that a message is about. */
static const char *skip_argument(const char *text, const char *call)
{
    size_t length = strlen(call);
    if (strncmp(text, call, length) != 0 || text[length] != ' ') return text;
    const char *colon = text + length + 1 + strcspn(text + length + 1, " :");
    return !strncmp(colon, ": ", 2) ? colon + 2 : text;
}

static size_t count_digits(const char *at)
{
    size_t n = 0;
    while (at[n] >= '0' && at[n] <= '9') n++;
    return n;
}

/* Copy `text` without what tells one call from another: its name, its API, numbers. */
static void append_kind(struct text_out *out, const char *text, const char *call)
{
    size_t length = strlen(call), api = api_length(call), first = strcspn(call, ".");
    const char *bare = first < api ? call + first + 1 : call, *begin = text, *at = text;
    while (*at) {
        size_t skipped = match_word(at, text, call, length);
        if (!skipped) skipped = match_word(at, text, bare, (size_t)(call + api - bare));
        if (!skipped) skipped = count_digits(at);
        if (skipped) {
            text_out_bytes(out, begin, (size_t)(at - begin));
            begin = at + skipped;
        }
        at += skipped ? skipped : 1;
    }
    text_out_bytes(out, begin, (size_t)(at - begin));
}

/* What the rows skipped for one reason have in common. */
static struct status reason_key(struct text_out *out, const struct row_note *note, const char *call)
{
    text_out_string(out, row_cause_name(note->cause));
    text_out_string(out, ": ");
    if (note->cause != CAUSE_LISTS && note->cause != CAUSE_MEMORY)
        append_kind(out, skip_argument(note->sentence, call), call);
    return out->status;
}

static struct status add_reason(struct summary *summary, const struct row_note *note,
                                const char *call)
{
    struct text_out key = { .status.code = STATUS_OK };
    uint32_t number = 0;
    struct status status = reason_key(&key, note, call);
    if (!status.code)
        status =
            text_table_add(&number, NULL, &summary->reason_keys, key.text.data, key.text.length);
    csv_buffer_release(&key.text);
    TRY(status);
    if (number >= SUMMARY_REASONS) {
        summary->other_reasons++;
        return status_ok();
    }
    struct skip_reason *reason = &summary->reasons[number];
    if (reason->count++) return status_ok();
    reason->cause = note->cause;
    TRY(replace_text(&reason->sentence, note->sentence));
    return replace_text(&reason->row, note->name);
}

static void count_call(struct summary *summary, enum verdict forward, enum verdict backward)
{
    summary->calls++;
    summary->counts[0][forward]++;
    summary->counts[1][backward]++;
    summary->judged += verdict_is_judgement(forward) || verdict_is_judgement(backward);
}

/* A gradient that is None by right, of an integer say, is nothing that was skipped; nor is news what a
 * failure in the forward kept from being tried. */
static bool is_skip(const struct row_note *note, const struct case_outcome *outcome)
{
    return note->verdict == VERDICT_SKIP && note->cause != CAUSE_DEVICE_FAILED &&
           (note->cause != CAUSE_NOTHING_TO_JUDGE || outcome->forward == VERDICT_SKIP);
}

/* The worst row of its API, or the reason of a skip; not counted among those that fail. */
static struct status keep_note(struct summary *summary, const struct row_note *note,
                               const char *call, size_t dump)
{
    struct api_summary *api = NULL;
    TRY(make_tables(summary));
    if (note->verdict == VERDICT_SKIP) return add_reason(summary, note, call);
    TRY(find_api(&api, summary, call));
    return add_failing_row(api, note, dump);
}

struct status summary_count_failing(bool *is_worst, struct summary *summary,
                                    const struct row_note *note, const char *call)
{
    struct api_summary *api = NULL;
    TRY(make_tables(summary));
    TRY(find_api(&api, summary, call));
    summary->failing_rows++;
    *is_worst = is_worst_of(api, note);
    return status_ok();
}

struct status summary_add_note(struct summary *summary, const struct row_note *note,
                               const char *call)
{
    return keep_note(summary, note, call, 0);
}

static bool is_failure(enum verdict verdict)
{
    return verdict == VERDICT_ERROR || verdict == VERDICT_WARNING;
}

static struct status add_call(struct summary *summary, enum verdict forward, enum verdict backward,
                              const char *name, size_t dump)
{
    struct api_summary *api = NULL;
    TRY(make_tables(summary));
    TRY(find_api(&api, summary, name));
    count_call(summary, forward, backward);
    api->calls++;
    return is_failure(forward) || is_failure(backward) ? add_failing_call(api, summary->tree, dump)
                                                       : status_ok();
}

struct status summary_add_call(struct summary *summary, enum verdict forward, enum verdict backward,
                               const char *name)
{
    return add_call(summary, forward, backward, name, 0);
}

struct status summary_add(struct summary *summary, const struct case_outcome *outcome,
                          const char *name, size_t dump)
{
    TRY(add_call(summary, outcome->forward, outcome->backward, name, dump));
    reference_use_add(&summary->references, &outcome->references);
    summary->internal_errors += outcome->internal_error;
    summary->unstable_rows += outcome->unstable_rows;
    summary->unstable_calls += outcome->unstable_rows > 0;
    for (size_t i = 0; i < outcome->n_notes; i++) {
        const struct row_note *note = &outcome->notes[i];
        if (note->verdict == VERDICT_SKIP && !is_skip(note, outcome)) continue;
        summary->failing_rows += note->verdict != VERDICT_SKIP;
        TRY(keep_note(summary, note, name, dump));
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

struct status summary_add_written(struct summary *summary, const struct case_outcome *outcome,
                                  const char *name, size_t dump)
{
    summary->earlier++;
    return summary_add(summary, outcome, name, dump);
}

void summary_add_earlier(struct summary *summary, struct csv_text forward, struct csv_text backward)
{
    summary->earlier++;
    summary->unread++;
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

/* `missing`: calls of which this is not known. */
static const char *part_of(size_t missing) { return missing ? " (of this part of the run)" : ""; }

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
            part_of(summary->earlier), use->components, 100 * (double)use->certified / all,
            100 * (double)use->recomputed / all);
    if (use->costly_outputs)
        fprintf(out, "  %s had more than a thousandth recomputed\n",
                quantity_of(use->costly_outputs, "output").text);
}

/* Of calls that were run several times. */
static void print_unstable(FILE *out, const struct summary *summary)
{
    if (!summary->unstable_rows) return;
    fprintf(out, "\nrun-to-run differences%s: %s of ", part_of(summary->earlier),
            quantity_of(summary->unstable_rows, "row").text);
    fprintf(out, "%s; the details say of how many elements\n",
            quantity_of(summary->unstable_calls, "call").text);
}

/* Texts of the dump or of a device; control characters in them could rule the terminal. */
static void print_text(FILE *out, const char *text)
{
    for (; *text; text++) fputc((unsigned char)*text < ' ' || *text == 127 ? ' ' : *text, out);
}

static bool is_worse(const struct api_summary *a, const struct api_summary *b)
{
    if (a->verdict != b->verdict) return a->verdict == VERDICT_ERROR;
    return a->excess > b->excess;
}

/* The worst APIs, worst first; of equals the one met first. Returns how many fail. */
static size_t pick_worst(size_t picked[SUMMARY_APIS_SHOWN], const struct summary *summary)
{
    size_t failing = 0, n = 0;
    for (size_t i = 0; summary->has_tables && i < summary->api_names.count; i++) {
        if (!summary->apis[i].row) continue;
        failing++;
        size_t at = n < SUMMARY_APIS_SHOWN ? n++ : SUMMARY_APIS_SHOWN;
        while (at && is_worse(&summary->apis[i], &summary->apis[picked[at - 1]])) {
            if (at < SUMMARY_APIS_SHOWN) picked[at] = picked[at - 1];
            at--;
        }
        if (at < SUMMARY_APIS_SHOWN) picked[at] = i;
    }
    return failing;
}

/* The name of the call that a row belongs to. */
static void print_command(FILE *out, const char *repeat, const char *row)
{
    struct text_out word = { .status.code = STATUS_OK };
    text_out_shell_word(&word, row);
    text_out_bytes(&word, "", 1);
    if (!word.status.code) fprintf(out, "  the worst again: %s%s\n", repeat, word.text.data);
    csv_buffer_release(&word.text);
}

/* Text of one folder; that of the tree itself has no name. */
static void print_folder(FILE *out, const struct dump_tree *tree, size_t dump)
{
    const char *folder = tree->items[dump].folder;
    print_text(out, *folder ? folder : ".");
}

/* " in 3 of 8 dumps (step0/rank1, step0/rank5, ...)" */
static void print_dumps(FILE *out, const struct dump_tree *tree, const struct api_summary *api)
{
    if (!tree || tree->count == 1) return;
    if (api->failing_dumps == tree->count) {
        fprintf(out, ", in all %zu dumps", tree->count);
        return;
    }
    fprintf(out, ", in %zu of %zu dumps (", api->failing_dumps, tree->count);
    size_t shown = 0;
    for (size_t i = 0; i < tree->count && shown < SUMMARY_DUMPS_SHOWN; i++) {
        if (!api->dumps[i]) continue;
        if (shown++) fprintf(out, ", ");
        print_folder(out, tree, i);
    }
    fprintf(out, "%s)", shown < api->failing_dumps ? ", ..." : "");
}

size_t summary_worst_dump(const struct summary *summary)
{
    size_t picked[SUMMARY_APIS_SHOWN];
    return pick_worst(picked, summary) ? summary->apis[picked[0]].dump : 0;
}

static void print_failing(FILE *out, const struct summary *summary, const char *repeat)
{
    size_t picked[SUMMARY_APIS_SHOWN], failing = pick_worst(picked, summary);
    if (!failing) return;
    fprintf(out, "\nfailing%s: %s of %s\n", part_of(summary->unread),
            quantity_of(summary->failing_rows, "row").text, quantity_of(failing, "API").text);
    for (size_t i = 0; i < failing && i < SUMMARY_APIS_SHOWN; i++) {
        const struct api_summary *api = &summary->apis[picked[i]];
        fprintf(out, "  %-7s  ", verdict_name(api->verdict));
        print_text(out, text_table_get(&summary->api_names, (uint32_t)picked[i], NULL));
        fprintf(out, ": %zu of %s", api->failing, quantity_of(api->calls, "call").text);
        print_dumps(out, summary->tree, api);
        fprintf(out, "\n             ");
        if (summary->tree) {
            print_folder(out, summary->tree, api->dump);
            fputc(' ', out);
        }
        print_text(out, api->row);
        fprintf(out, ": ");
        print_text(out, api->sentence);
        fputc('\n', out);
        if (!*api->source) continue;
        fprintf(out, "             called from ");
        print_text(out, api->source);
        fputc('\n', out);
    }
    if (failing > SUMMARY_APIS_SHOWN)
        fprintf(out, "  and %s\n", quantity_of(failing - SUMMARY_APIS_SHOWN, "more API").text);
    if (repeat) print_command(out, repeat, summary->apis[picked[0]].row);
}

static int compare_reasons(const void *a, const void *b)
{
    const struct skip_reason *const *x = a, *const *y = b;
    if ((*x)->count != (*y)->count) return (*x)->count < (*y)->count ? 1 : -1;
    return strcmp((*x)->sentence, (*y)->sentence);
}

static void print_reason(FILE *out, const struct skip_reason *reason)
{
    fprintf(out, "  %6zu  ", reason->count);
    if (reason->cause == CAUSE_LISTS) fprintf(out, "left out by the white and black list");
    else if (reason->cause == CAUSE_MEMORY)
        fprintf(out, "more memory than the budget (give it with --memory)");
    else print_text(out, reason->sentence);
    fprintf(out, " [");
    print_text(out, reason->row);
    fprintf(out, "%s]\n", reason->count > 1 ? ", ..." : "");
}

/* Reasons by count. */
static void print_reasons(FILE *out, const struct summary *summary)
{
    const struct skip_reason *sorted[SUMMARY_REASONS];
    size_t rest = summary->other_reasons, n = 0;
    for (size_t i = 0; i < SUMMARY_REASONS; i++)
        if (summary->reasons[i].count) sorted[n++] = &summary->reasons[i];
    if (!n) return;
    qsort(sorted, n, sizeof sorted[0], compare_reasons);
    fprintf(out, "\nskipped rows%s\n", part_of(summary->unread));
    for (size_t i = 0; i < n; i++) {
        if (i < SUMMARY_REASONS_SHOWN) print_reason(out, sorted[i]);
        else rest += sorted[i]->count;
    }
    if (rest) fprintf(out, "  %6zu  for other reasons\n", rest);
}

void summary_print(FILE *out, const struct summary *summary, const char *repeat, bool color)
{
    print_counts(out, summary, color);
    print_references(out, summary);
    print_unstable(out, summary);
    print_failing(out, summary, repeat);
    print_reasons(out, summary);
}

void summary_release(struct summary *summary)
{
    for (size_t i = 0; summary->has_tables && i < summary->api_names.count; i++) {
        memory_release(summary->apis[i].row);
        memory_release(summary->apis[i].sentence);
        memory_release(summary->apis[i].source);
        memory_release(summary->apis[i].dumps);
    }
    for (size_t i = 0; i < SUMMARY_REASONS; i++) {
        memory_release(summary->reasons[i].row);
        memory_release(summary->reasons[i].sentence);
    }
    memory_release(summary->apis);
    if (summary->has_tables) {
        text_table_release(&summary->api_names);
        text_table_release(&summary->reason_keys);
    }
    *summary = (struct summary){ .calls = 0 };
}
