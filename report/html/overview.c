/* Counts by verdict, and short lists of what is first and worst. */
#include "report/html/overview.h"

#include <math.h>
#include <string.h>

#include "core/growing.h"
#include "core/memory.h"
#include "pages/json_out.h"

/* Rows, errors and seconds of one API or dtype. */
struct overview_group {
    uint64_t rows, calls, counts[VERDICT_SKIP + 1], histogram[ULP_BINS];
    double allowance; /* the largest; NaN while there is none */
    uint64_t worst;   /* row with the largest */
    struct overview_seconds seconds;
};

struct status overview_create(struct overview *out, bool of_dumps)
{
    *out = (struct overview){ .first_failed = UINT64_MAX, .of_dumps = of_dumps };
    TRY(origin_start(&out->origin));
    TRY(text_table_create(&out->reasons));
    TRY(text_table_create(&out->apis.names));
    TRY(text_table_create(&out->dtypes.names));
    return text_table_create(&out->timed_apis.names);
}

static void groups_release(struct overview_groups *groups)
{
    text_table_release(&groups->names);
    memory_release(groups->items);
    groups->items = NULL;
}

void overview_release(struct overview *overview)
{
    origin_release(&overview->origin);
    text_table_release(&overview->reasons);
    groups_release(&overview->apis);
    groups_release(&overview->dtypes);
    groups_release(&overview->timed_apis);
    csv_buffer_release(&overview->call);
    for (size_t i = 0; i < overview->n_slowest; i++) memory_release(overview->slowest[i].name);
    overview->n_slowest = 0;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* The group of a name; NULL when there are too many. */
static struct status find_group(struct overview_group **out, struct overview_groups *groups,
                                struct csv_text name)
{
    uint32_t number = text_table_find(&groups->names, name.bytes, name.length);
    *out = NULL;
    if (number == TEXT_NONE) {
        if (groups->names.count == OVERVIEW_GROUPS) return status_ok();
        TRY(array_make_room(&groups->items, &groups->capacity, groups->names.count,
                            sizeof *groups->items));
        TRY(text_table_add(&number, NULL, &groups->names, name.bytes, name.length));
        groups->items[number] = (struct overview_group){ .allowance = NAN };
    }
    *out = &groups->items[number];
    return status_ok();
}

static struct status add_to_group(struct overview_groups *groups, struct csv_text name,
                                  const struct overview_row *row)
{
    struct overview_group *group;
    if (!name.length) return status_ok();
    TRY(find_group(&group, groups, name));
    if (!group) return status_ok();
    group->rows++;
    group->counts[row->verdict]++;
    if (row->evidence && row->evidence->has_histogram)
        for (int bin = 0; bin < ULP_BINS; bin++)
            group->histogram[bin] += row->evidence->histogram[bin];
    if (!isnan(row->allowance) && !(group->allowance >= row->allowance)) {
        group->allowance = row->allowance;
        group->worst = row->row;
    }
    return status_ok();
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void end_call(struct overview *overview)
{
    if (!overview->calls) return;
    for (int direction = 0; direction < 2; direction++)
        if (overview->call_has[direction] || !overview->of_dumps)
            overview->call_counts[direction][overview->call_verdicts[direction]]++;
}

/* Rows of a call stand together. */
static struct status add_to_call(struct overview *overview, const struct overview_row *row)
{
    bool same =
        overview->calls && overview->call.length == row->call.length &&
        (!row->call.length || memcmp(overview->call.data, row->call.bytes, row->call.length) == 0);
    if (!same) {
        end_call(overview);
        overview->calls++;
        csv_buffer_clear(&overview->call);
        TRY(csv_append_bytes(&overview->call, row->call.bytes, row->call.length));
        overview->call_verdicts[0] = overview->call_verdicts[1] = VERDICT_BLANK;
        overview->call_has[0] = overview->call_has[1] = false;
    }
    overview->call_has[row->backward] = true;
    enum verdict both[2] = { overview->call_verdicts[row->backward], row->verdict };
    overview->call_verdicts[row->backward] = verdict_combine(both, 2);
    return status_ok();
}

static bool is_worse(const struct worst_note *a, const struct worst_note *b)
{
    if (a->verdict != b->verdict) return a->verdict == VERDICT_ERROR;
    if (a->rank != b->rank) return a->rank > b->rank;
    return a->row < b->row;
}

/* Rows without a number, a crash or a wrong shape, come first. */
static void add_to_worst(struct overview *overview, const struct overview_row *row)
{
    double rank = !isnan(row->allowance) ? row->allowance
                  : !isnan(row->error)   ? row->error
                                         : INFINITY;
    struct worst_note note = { row->row, row->verdict, rank };
    if (row->verdict != VERDICT_ERROR && row->verdict != VERDICT_WARNING) return;
    if (overview->first_failed == UINT64_MAX) overview->first_failed = row->row;
    if (overview->n_worst == OVERVIEW_WORST) {
        if (!is_worse(&note, &overview->worst[OVERVIEW_WORST - 1])) return;
        overview->n_worst--;
    }
    size_t at = overview->n_worst++;
    for (; at && is_worse(&note, &overview->worst[at - 1]); at--)
        overview->worst[at] = overview->worst[at - 1];
    overview->worst[at] = note;
}

static struct status add_reason(struct overview *overview, struct csv_text message)
{
    enum { LONGEST = 400 };
    if (message.length > LONGEST) message.length = LONGEST;
    uint32_t number = text_table_find(&overview->reasons, message.bytes, message.length);
    if (number == TEXT_NONE && overview->reasons.count == OVERVIEW_REASONS)
        number = OVERVIEW_REASONS;
    if (number == TEXT_NONE)
        TRY(text_table_add(&number, NULL, &overview->reasons, message.bytes, message.length));
    overview->reason_counts[number]++;
    return status_ok();
}

/* Behind the direction of a row's name, so that a module may be called "input". */
static size_t behind_direction(struct name_slice name)
{
    const char *forward = memmem(name.text, name.length, ".forward.", 9);
    const char *backward = memmem(name.text, name.length, ".backward.", 10);
    const char *first = forward && (!backward || forward < backward) ? forward : backward;
    return first ? (size_t)(first - name.text) : 0;
}

/* The entry ends where ".input.", ".output." or ".parameters." stands in the name of a row. */
static struct origin_row origin_row_of(const struct overview_row *row)
{
    static const struct {
        const char *word;
        enum origin_role role;
    } sections[] = { { ".input.", ORIGIN_INPUT },
                     { ".output.", ORIGIN_OUTPUT },
                     { ".parameters.", ORIGIN_INPUT } };
    struct origin_row out = { .entry = { row->name.bytes, row->name.length },
                              .role = ORIGIN_OTHER,
                              .agrees = row->agrees,
                              .differs = row->verdict == VERDICT_ERROR ||
                                         row->verdict == VERDICT_WARNING,
                              .row = row->row };
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        size_t from = behind_direction(out.entry);
        const char *at = memmem(out.entry.text + from, out.entry.length - from, sections[i].word,
                                strlen(sections[i].word));
        if (!at) continue;
        out.entry.length = (size_t)(at - out.entry.text);
        out.role = sections[i].role;
    }
    return out;
}

struct status overview_add_row(struct overview *overview, const struct overview_row *row)
{
    overview->rows++;
    if (overview->of_dumps) {
        struct origin_row of_dumps = origin_row_of(row);
        TRY(origin_add(&overview->origin, &of_dumps));
    }
    overview->row_counts[row->backward][row->verdict]++;
    add_to_worst(overview, row);
    TRY(add_to_call(overview, row));
    if (row->verdict == VERDICT_SKIP) TRY(add_reason(overview, row->message));
    TRY(add_to_group(&overview->apis, row->api, row));
    return add_to_group(&overview->dtypes, row->dtype, row);
}

/* ---- time ------------------------------------------------------------------------------------- */

static void add_seconds(struct overview_seconds *to, struct overview_seconds seconds)
{
    to->reference += seconds.reference;
    to->device += seconds.device;
    to->comparison += seconds.comparison;
}

static double all_seconds(struct overview_seconds seconds)
{
    return seconds.reference + seconds.device + seconds.comparison;
}

struct status overview_add_seconds(struct overview *overview, struct csv_text call,
                                   struct csv_text api, struct overview_seconds seconds)
{
    struct overview_group *group;
    overview->timed_calls++;
    add_seconds(&overview->seconds, seconds);
    TRY(find_group(&group, &overview->timed_apis, api));
    if (group) {
        group->calls++;
        add_seconds(&group->seconds, seconds);
    }

    size_t at = overview->n_slowest;
    if (at == OVERVIEW_SLOWEST) {
        if (all_seconds(overview->slowest[at - 1].seconds) >= all_seconds(seconds))
            return status_ok();
        at--;
    }
    char *name = memory_allocate(call.length + 1);
    if (!name) return status_no_memory(call.length + 1);
    memcpy(name, call.bytes, call.length);
    name[call.length] = '\0';
    if (overview->n_slowest == OVERVIEW_SLOWEST) memory_release(overview->slowest[at].name);
    else overview->n_slowest++;
    for (; at && all_seconds(overview->slowest[at - 1].seconds) < all_seconds(seconds); at--)
        overview->slowest[at] = overview->slowest[at - 1];
    overview->slowest[at] = (struct slow_call){ name, seconds };
    return status_ok();
}

/* ---- JSON --------------------------------------------------------------------------------------- */

static void write_counts(struct text_out *to, const uint64_t *counts)
{
    for (int verdict = 0; verdict <= VERDICT_SKIP; verdict++)
        json_out_format(to, "%c%llu", verdict ? ',' : '[', (unsigned long long)counts[verdict]);
    json_out_format(to, "]");
}

static void write_both_counts(struct text_out *to, const char *key,
                              uint64_t counts[2][VERDICT_SKIP + 1])
{
    json_out_format(to, "\"%s\":[", key);
    write_counts(to, counts[0]);
    json_out_format(to, ",");
    write_counts(to, counts[1]);
    json_out_format(to, "],");
}

static void write_seconds(struct text_out *to, struct overview_seconds seconds)
{
    json_out_format(to, "[%.6g,%.6g,%.6g]", seconds.reference, seconds.device, seconds.comparison);
}

static void write_worst(struct text_out *to, const struct overview *overview)
{
    json_out_format(to, "\"worst\":[");
    for (size_t i = 0; i < overview->n_worst; i++)
        json_out_format(to, "%s%llu", i ? "," : "", (unsigned long long)overview->worst[i].row);
    json_out_format(to, "],");
    if (overview->first_failed != UINT64_MAX)
        json_out_format(to, "\"first_failed\":%llu,", (unsigned long long)overview->first_failed);
}

static void write_reasons(struct text_out *to, const struct overview *overview)
{
    json_out_format(to, "\"skipped\":[");
    for (uint32_t i = 0; i < overview->reasons.count; i++) {
        size_t length;
        const char *text = text_table_get(&overview->reasons, i, &length);
        json_out_format(to, "%s[%llu,", i ? "," : "",
                        (unsigned long long)overview->reason_counts[i]);
        json_out_string(to, text, length);
        json_out_format(to, "]");
    }
    json_out_format(to, "],\"skipped_otherwise\":%llu,",
                    (unsigned long long)overview->reason_counts[OVERVIEW_REASONS]);
}

/* Bins of the histogram up to the last that holds something. */
static void write_histogram(struct text_out *to, const struct overview_group *group)
{
    int bins = ULP_BINS;
    while (bins && !group->histogram[bins - 1]) bins--;
    json_out_format(to, "[");
    for (int bin = 0; bin < bins; bin++)
        json_out_format(to, "%s%llu", bin ? "," : "", (unsigned long long)group->histogram[bin]);
    json_out_format(to, "]");
}

static void write_groups(struct text_out *to, const char *key, const struct overview_groups *groups)
{
    json_out_format(to, "\"%s\":[", key);
    for (uint32_t i = 0; i < groups->names.count; i++) {
        const struct overview_group *group = &groups->items[i];
        size_t length;
        const char *name = text_table_get(&groups->names, i, &length);
        json_out_format(to, "%s{\"name\":", i ? "," : "");
        json_out_string(to, name, length);
        json_out_format(to, ",\"rows\":%llu,\"counts\":", (unsigned long long)group->rows);
        write_counts(to, group->counts);
        json_out_format(to, ",\"allowance\":");
        json_out_number(to, group->allowance);
        json_out_format(to, ",\"worst\":%llu,\"histogram\":", (unsigned long long)group->worst);
        write_histogram(to, group);
        json_out_format(to, "}");
    }
    json_out_format(to, "],");
}

static void write_time(struct text_out *to, const struct overview *overview)
{
    json_out_format(
        to, "\"time\":{\"calls\":%llu,\"seconds\":", (unsigned long long)overview->timed_calls);
    write_seconds(to, overview->seconds);
    json_out_format(to, ",\"apis\":[");
    for (uint32_t i = 0; i < overview->timed_apis.names.count; i++) {
        const struct overview_group *group = &overview->timed_apis.items[i];
        size_t length;
        const char *name = text_table_get(&overview->timed_apis.names, i, &length);
        json_out_format(to, "%s[", i ? "," : "");
        json_out_string(to, name, length);
        json_out_format(to, ",%llu,", (unsigned long long)group->calls);
        write_seconds(to, group->seconds);
        json_out_format(to, "]");
    }
    json_out_format(to, "],\"slowest\":[");
    for (size_t i = 0; i < overview->n_slowest; i++) {
        json_out_format(to, i ? ",[" : "[");
        json_out_string(to, overview->slowest[i].name, strlen(overview->slowest[i].name));
        json_out_format(to, ",");
        write_seconds(to, overview->slowest[i].seconds);
        json_out_format(to, "]");
    }
    json_out_format(to, "]}");
}

/* null when every difference came in through an input. */
static struct status write_origin(struct text_out *to, struct overview *overview)
{
    uint64_t row;
    if (!overview->of_dumps) return status_ok();
    TRY(origin_end(&row, &overview->origin));
    if (row == ORIGIN_NONE) json_out_format(to, "\"origin\":null,");
    else json_out_format(to, "\"origin\":%llu,", (unsigned long long)row);
    return status_ok();
}

struct status overview_finish(struct overview *overview, struct text_out *to)
{
    end_call(overview);
    TRY(write_origin(to, overview));
    json_out_format(to, "\"rows\":%llu,\"calls\":%llu,", (unsigned long long)overview->rows,
                    (unsigned long long)overview->calls);
    write_both_counts(to, "row_counts", overview->row_counts);
    write_both_counts(to, "call_counts", overview->call_counts);
    write_worst(to, overview);
    write_reasons(to, overview);
    write_groups(to, "apis", &overview->apis);
    write_groups(to, "dtypes", &overview->dtypes);
    write_time(to, overview);
    return to->status;
}
