/* Details stream past the table of the evidence. */
#include "results/run_rows.h"

#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "results/details_file.h"
#include "results/evidence_table.h"
#include "results/run_pairing.h"

enum { TEXT_BYTES = 512, NAME_BYTES = 1024, INPUTS_BYTES = 256 };

/* A run as its rows are learnt. */
struct learning {
    struct run_row_counts *counts;
    struct budget *budget;
    struct text_table *inputs; /* of the rows of all runs */
    const struct evidence_table *evidence;
    const char *device;
    char run_inputs[INPUTS_BYTES];
};

/* A cell as a text of its own; false when it is too long. */
static bool copy_cell(char *out, size_t bytes, struct csv_text cell)
{
    while (cell.length && cell.bytes[0] == ' ') cell.bytes++, cell.length--;
    while (cell.length && cell.bytes[cell.length - 1] == ' ') cell.length--;
    if (cell.length >= bytes) return false;
    memcpy(out, cell.bytes, cell.length);
    out[cell.length] = '\0';
    return true;
}

/* What was used of the limits; false when the error model measured nothing. */
static bool used_parts(double used[BUDGET_METRICS], const struct row_evidence *evidence)
{
    bool any = false;
    for (int m = 0; m < BUDGET_METRICS; m++) {
        used[m] = -1;
        for (size_t i = 0; evidence && i < evidence->count; i++) {
            const struct evidence_limit *limit = &evidence->limits[i];
            if (strcmp(limit->metric, budget_metric_names[m]) != 0) continue;
            if (limit->limit > 0 && limit->value >= 0) used[m] = limit->value / limit->limit;
            any |= used[m] >= 0;
        }
    }
    return any;
}

/* What decides the inputs of a run: the calls, where their numbers come from, and the seed. */
static void describe_inputs(char out[INPUTS_BYTES], const struct run_record *record)
{
    const char *dump = run_record_text(record, "dump_digest");
    const char *source = run_record_text(record, "inputs");
    (void)snprintf(out, INPUTS_BYTES, "%s %s %.17g", dump ? dump : "", source ? source : "recorded",
                   run_record_number(record, "seed"));
}

/* Without a dump (online) inputs are those of that moment, never to be met again. */
static struct status is_new_sample(bool *is_new, const struct learning *l,
                                   const struct details_row *row)
{
    char text[INPUTS_BYTES + TEXT_BYTES + NAME_BYTES], name[NAME_BYTES];
    uint32_t number;
    *is_new = true;
    if (l->run_inputs[0] == ' ' || !copy_cell(name, sizeof name, row->cells[COLUMN_NAME]))
        return status_ok();
    int length = snprintf(text, sizeof text, "%s %s %s", l->device, l->run_inputs, name);
    if (length < 0 || (size_t)length >= sizeof text) return status_ok();
    return text_table_add(&number, is_new, l->inputs, text, (size_t)length);
}

static struct status learn_row(struct learning *l, const struct details_row *row)
{
    struct run_row_counts *counts = l->counts;
    char api[NAME_BYTES], dtype[TEXT_BYTES], shape[TEXT_BYTES], shapes[BUDGET_SHAPES_BYTES];
    double used[BUDGET_METRICS];
    struct row_name name;
    enum verdict verdict = details_verdict(row->cells[COLUMN_STATUS]);
    if (verdict == VERDICT_ERROR || verdict == VERDICT_WARNING) counts->failing++;
    if (verdict != VERDICT_PASS) return status_ok();
    bool known = row_name_split(&name, row->cells[COLUMN_NAME]) &&
                 copy_cell(api, sizeof api, name.full_name) &&
                 copy_cell(dtype, sizeof dtype, row->cells[COLUMN_DEVICE_DTYPE]) &&
                 copy_cell(shape, sizeof shape, row->cells[COLUMN_SHAPE]) &&
                 budget_shapes(shapes, shape);
    known = known && used_parts(used, evidence_table_find(l->evidence, row->cells[COLUMN_NAME]));
    char *number = known ? strrchr(api, '.') : NULL;
    if (!number) {
        counts->without_model++;
        return status_ok();
    }
    *number = '\0'; /* the count of the call */
    const struct budget_key key = { api, dtype, shapes, l->device, name.backward };
    bool is_new;
    TRY(is_new_sample(&is_new, l, row));
    counts->learnt++;
    counts->repeated += !is_new;
    return budget_add_row(l->budget, &key, used, is_new);
}

static struct status learn_rows(struct learning *l, const char *details_path,
                                struct file_policy policy)
{
    static const enum details_column required[] = { COLUMN_NAME, COLUMN_DEVICE_DTYPE, COLUMN_SHAPE,
                                                    COLUMN_STATUS };
    struct details_file details;
    struct details_row row;
    bool more = true;
    TRY(details_file_open(&details, details_path, policy, required,
                          sizeof required / sizeof *required));
    struct status status = status_ok();
    while (!status.code) {
        status = details_file_next(&details, &row, &more);
        if (status.code || !more) break;
        if (!row.overlong) status = learn_row(l, &row);
    }
    details_file_close(&details);
    return status;
}

static struct status learn_from(struct learning *l, const char *details_path,
                                const struct run_record *record, struct file_policy policy)
{
    struct evidence_table *evidence = NULL;
    char *path;
    const char *profile = record->object ? run_record_text(record, "profile") : NULL;
    const char *backend = record->object ? run_record_text(record, "backend") : NULL;
    if (!profile || !backend || strcmp(profile, "strict") != 0)
        return status_error(STATUS_BAD_INPUT,
                            "%s is not of a run with --profile strict, whose evidence budgets are "
                            "learnt from",
                            details_path);
    TRY(run_file_beside(&path, details_path, "evidence", ".jsonl"));
    struct status status = path
                               ? evidence_table_read(&evidence, path, policy)
                               : status_error(STATUS_BAD_INPUT, "%s has no evidence", details_path);
    memory_release(path);
    l->evidence = evidence;
    l->device = backend;
    describe_inputs(l->run_inputs, record);
    if (!status.code) status = learn_rows(l, details_path, policy);
    evidence_table_release(evidence);
    return status;
}

struct status run_rows_learn(struct run_row_counts *counts, struct budget *budget,
                             struct text_table *inputs, const char *details_path,
                             struct file_policy policy)
{
    struct learning learning = { .counts = counts, .budget = budget, .inputs = inputs };
    struct run_record record;
    TRY(run_record_beside(&record, details_path, policy));
    struct status status = learn_from(&learning, details_path, &record, policy);
    run_record_release(&record);
    return status;
}
