/* Details stream past the table of the evidence. */
#include "results/run_rows.h"

#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "results/details_file.h"
#include "results/evidence_table.h"
#include "results/run_pairing.h"

enum { TEXT_BYTES = 512, NAME_BYTES = 1024 };

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

static struct status learn_row(struct run_row_counts *counts, struct budget *budget,
                               const struct details_row *row, const struct evidence_table *evidence,
                               const char *device)
{
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
    known = known && used_parts(used, evidence_table_find(evidence, row->cells[COLUMN_NAME]));
    char *number = known ? strrchr(api, '.') : NULL;
    if (!number) {
        counts->without_model++;
        return status_ok();
    }
    *number = '\0'; /* the count of the call */
    const struct budget_key key = { api, dtype, shapes, device, name.backward };
    counts->learnt++;
    return budget_add_row(budget, &key, used);
}

static struct status learn_rows(struct run_row_counts *counts, struct budget *budget,
                                const char *details_path, const struct evidence_table *evidence,
                                const char *device, struct file_policy policy)
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
        if (!row.overlong) status = learn_row(counts, budget, &row, evidence, device);
    }
    details_file_close(&details);
    return status;
}

static struct status learn_from(struct run_row_counts *counts, struct budget *budget,
                                const char *details_path, const struct run_record *record,
                                struct file_policy policy)
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
    if (!status.code) status = learn_rows(counts, budget, details_path, evidence, backend, policy);
    evidence_table_release(evidence);
    return status;
}

struct status run_rows_learn(struct run_row_counts *counts, struct budget *budget,
                             const char *details_path, struct file_policy policy)
{
    struct run_record record;
    TRY(run_record_beside(&record, details_path, policy));
    struct status status = learn_from(counts, budget, details_path, &record, policy);
    run_record_release(&record);
    return status;
}
