/* What a comparison leaves behind: its table, its advice, and what is said of it. */
#include "compare/dumps/job.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "compare/dumps/advice.h"
#include "compare/dumps/statistics.h"
#include "core/memory.h"
#include "core/new_file.h"
#include "core/shortest.h"
#include "formats/json_write.h"

struct doing {
    struct job_outcome *out;
    const struct dump_job *job;
    const struct job_request *request;
    struct comparison c;
    struct suspects suspects;
    struct csv_buffer name; /* scratch */
    char *folder, *table_path, *advice_path;
    bool has_advice;
};

/* ---- texts ------------------------------------------------------------------------------ */

static __attribute__((format(printf, 2, 3))) struct status say(struct csv_buffer *out,
                                                               const char *format, ...)
{
    char text[1400];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0) return status_ok();
    return csv_append_bytes(out, text,
                            (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

/* The name of a row, as a text that stays until the next. */
static struct status row_name(const char **out, struct doing *d, uint32_t row)
{
    csv_buffer_clear(&d->name);
    TRY(dump_row_append_name(&d->name, &d->c.npu, &d->c.npu.rows[row]));
    TRY(csv_append_bytes(&d->name, "", 1));
    text_tidy(d->name.data);
    *out = d->name.data;
    return status_ok();
}

static struct status note_warning(struct doing *d, const char *text)
{
    return say(&d->out->warnings, "%s\n", text);
}

/* A slip of the pen in a mapping file would go unseen. */
static struct status warn_of_idle_names(struct doing *d)
{
    if (!d->c.idle_names) return status_ok();
    return say(&d->out->warnings,
               "the mapping file has names that no row of the NPU dump has, or whose counterparts "
               "Bench lacks: %u, the first is '%s'\n",
               d->c.idle_names, d->c.idle_name);
}

/* ---- names of files --------------------------------------------------------------------- */

static char *result_path(const struct doing *d, const char *kind, const char *extension)
{
    size_t bytes = strlen(d->folder) + strlen(kind) + strlen(d->job->suffix) + strlen(extension) +
                   TIMESTAMP_DIGITS + 8;
    char *path = memory_allocate(bytes);
    if (path)
        (void)snprintf(path, bytes, "%s%s%s_%s.%s", d->folder, kind, d->job->suffix,
                       d->request->stamp.text, extension);
    return path;
}

static struct status name_files(struct doing *d)
{
    const char *output = d->request->output;
    const char *slash = *output && output[strlen(output) - 1] == '/' ? "" : "/";
    size_t bytes = strlen(output) + strlen(d->job->folder) + 2;

    d->folder = memory_allocate(bytes);
    if (!d->folder) return status_no_memory(bytes);
    (void)snprintf(d->folder, bytes, "%s%s%s", output, slash, d->job->folder);
    const char *kind = d->job->is_debug ? "debug_compare_result" : "compare_result";
    d->table_path = result_path(d, kind, table_format_name(d->request->table.format));
    d->advice_path = result_path(d, d->job->beside_dump ? "debug_advisor" : "advisor", "txt");
    return d->table_path && d->advice_path ? status_ok() : status_no_memory(bytes);
}

static struct status write_text(const char *path, const struct csv_buffer *text)
{
    struct new_file file;
    TRY(new_file_create(&file, path));
    return new_file_end(&file,
                        file_write_all(&file.file, text->data ? text->data : "", text->length));
}

/* ---- the mapping that was made ---------------------------------------------------------- */

/* A name as YAML: plain where nothing in it means anything else. */
static struct status append_yaml(struct csv_buffer *out, const char *text, size_t length)
{
    bool plain = length > 0;
    for (size_t i = 0; i < length; i++)
        plain &= (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'A' && text[i] <= 'Z') ||
                 (text[i] >= 'a' && text[i] <= 'z') || text[i] == '_' || text[i] == '.';
    return plain ? csv_append_bytes(out, text, length) : json_append_string(out, text, length);
}

static struct status append_pair(struct csv_buffer *out, struct doing *d, uint32_t row)
{
    const struct dump_row *bench = comparison_bench_row(&d->c, row);
    csv_buffer_clear(&d->name);
    TRY(dump_row_append_name(&d->name, &d->c.npu, &d->c.npu.rows[row]));
    TRY(append_yaml(out, d->name.data, d->name.length));
    TRY(csv_append_bytes(out, ": ", 2));
    csv_buffer_clear(&d->name);
    TRY(dump_row_append_name(&d->name, &d->c.bench, bench));
    TRY(append_yaml(out, d->name.data, d->name.length));
    return csv_append_bytes(out, "\n", 1);
}

/* A layer mapping is a data mapping once it is made, and can be used as one again. */
static struct status save_mapping(struct doing *d)
{
    const struct mapping *mapping = d->request->comparison.mapping;
    struct csv_buffer text = { 0 };
    struct status status = status_ok();

    if (!mapping || mapping_kind(mapping) != MAPPING_LAYER) return status_ok();
    for (uint32_t row = 0; row < d->c.npu.n_rows && !status.code; row++)
        if (comparison_bench_row(&d->c, row)) status = append_pair(&text, d, row);
    char *path = result_path(d, "data_mapping", "yaml");
    if (!status.code) status = path ? write_text(path, &text) : status_no_memory(0);
    memory_release(path);
    csv_buffer_release(&text);
    return status;
}

/* ---- advice ----------------------------------------------------------------------------- */

/* Rows whose tensors have different shapes are told one by one. */
static struct status warn_of_shapes(struct doing *d)
{
    const char *name;
    for (uint32_t row = 0; row < d->c.npu.n_rows; row++) {
        if (d->c.rows[row].verdict != VERDICT_UNMATCHED) continue;
        TRY(row_name(&name, d, row));
        TRY(say(&d->out->warnings, "%s: the shapes of the two tensors differ\n", name));
    }
    return status_ok();
}

static struct status advise(struct doing *d)
{
    struct csv_buffer text = { 0 };
    struct advice advice;

    if (!d->request->advise) return status_ok();
    d->has_advice = true;
    struct status status = advice_make(&advice, &d->c);
    if (!status.code) status = advice_append(&text, &d->c, &advice);
    if (!status.code) status = write_text(d->advice_path, &text);
    if (!status.code) status = csv_append_bytes(&d->out->report, text.data, text.length);
    csv_buffer_release(&text);
    return status.code ? status : warn_of_shapes(d);
}

/* ---- the report ------------------------------------------------------------------------- */

/* One row's metrics, as the log of a comparison shows them. */
static struct status print_row(struct doing *d, uint32_t row)
{
    static const char *const names[TENSOR_METRICS] = { "cosine",
                                                       "euc_dist",
                                                       "max_abs_err",
                                                       "max_relative_err",
                                                       "one_thousandth_err_ratio",
                                                       "five_thousandth_err_ratio" };
    const struct tensor_result *r = &d->c.tensors[row];
    struct csv_buffer *out = &d->out->report;
    char number[SHORTEST_BYTES];
    const char *name;

    TRY(row_name(&name, d, row));
    TRY(say(out, "[%s] Compare result:", name));
    if (r->cell[METRIC_MAX_ABS_ERROR] != CELL_NUMBER) {
        TRY(csv_append_bytes(out, " ", 1));
        TRY(notes_append(out, &d->c, row));
        return csv_append_bytes(out, "\n", 1);
    }
    for (int i = 0; i < TENSOR_METRICS; i++) {
        if (r->cell[i] != CELL_NUMBER) continue;
        (void)shortest_double(number, r->metric[i]);
        TRY(say(out, "%s %s %s", i == METRIC_COSINE ? "" : ",", names[i], number));
    }
    return csv_append_bytes(out, "\n", 1);
}

static struct status print_rows(struct doing *d)
{
    bool wanted = d->request->print_rows && d->c.kind == DUMP_TENSOR;
    for (uint32_t row = 0; wanted && row < d->c.npu.n_rows; row++) TRY(print_row(d, row));
    return status_ok();
}

static struct status print_counts(struct doing *d)
{
    const uint64_t *n = d->suspects.levels;
    TRY(say(&d->out->report,
            "%u rows: %" PRIu64 " pass, %" PRIu64 " warning, %" PRIu64 " error, %" PRIu64
            " without a partner, %" PRIu64 " not judged; %" PRIu64 " rows only in Bench\n",
            d->c.npu.n_rows, n[LEVEL_PASS], n[LEVEL_WARNING], n[LEVEL_ERROR], n[LEVEL_UNMATCHED],
            n[LEVEL_NOT_JUDGED], d->suspects.bench_only));
    return status_ok();
}

static struct status print_value(struct doing *d, const char *name, uint32_t row, int i)
{
    const struct dump_row *npu = &d->c.npu.rows[row], *bench = comparison_bench_row(&d->c, row);
    struct csv_buffer *out = &d->out->report;
    TRY(say(out, "  %s", name));
    TRY(row_value_append(out, &d->c.npu, dump_row_statistic(npu, (enum row_statistic)i)));
    TRY(say(out, " instead of "));
    TRY(row_value_append(out, &d->c.bench, dump_row_statistic(bench, (enum row_statistic)i)));
    return say(out, "\n");
}

/* The statistics of a row that are off by more than half, inf or nan on one side. */
static struct status print_statistics(struct doing *d, uint32_t row)
{
    static const char *const names[ROW_STATISTICS] = { "max: ", "min: ", "mean: ", "l2norm: " };
    const struct dump_row *npu = &d->c.npu.rows[row], *bench = comparison_bench_row(&d->c, row);
    struct statistic_difference difference[ROW_STATISTICS];

    statistics_compare(difference, &d->c.npu, npu, &d->c.bench, bench, false);
    for (int i = 0; i < ROW_STATISTICS; i++)
        if (difference[i].suspicious || difference[i].non_finite_differs)
            TRY(print_value(d, names[i], row, i));
    return status_ok();
}

static struct status print_non_finite(struct doing *d, const struct tensor_result *r)
{
    if (r->npu.nan == r->bench.nan && r->npu.inf == r->bench.inf)
        return say(&d->out->report, "  inf or nan at other places\n");
    return say(&d->out->report,
               "  %" PRIu64 " nan instead of %" PRIu64 ", %" PRIu64 " inf instead of %" PRIu64 "\n",
               r->npu.nan, r->bench.nan, r->npu.inf, r->bench.inf);
}

/* The numbers by which a pair of tensors is judged. */
static struct status print_errors(struct doing *d, uint32_t row)
{
    static const struct {
        enum tensor_metric metric;
        const char *name;
    } shown[] = { { METRIC_COSINE, "Cosine" },
                  { METRIC_MAX_ABS_ERROR, "MaxAbsErr" },
                  { METRIC_MAX_RELATIVE_ERROR, "MaxRelativeErr" } };
    const struct tensor_result *r = &d->c.tensors[row];
    char number[SHORTEST_BYTES];
    const char *before = "  ";

    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        if (r->cell[shown[i].metric] != CELL_NUMBER) continue;
        (void)shortest_double(number, r->metric[shown[i].metric]);
        TRY(say(&d->out->report, "%s%s %s", before, shown[i].name, number));
        before = ", ";
    }
    if (*before == ',') return say(&d->out->report, "\n");
    return r->cell[METRIC_MAX_ABS_ERROR] == CELL_NOT_APPLICABLE && r->counted
               ? print_non_finite(d, r)
               : status_ok();
}

/* In what the row differs. */
static struct status print_difference(struct doing *d, uint32_t row)
{
    const struct dump_row *bench = comparison_bench_row(&d->c, row);
    if (!bench) return status_ok();
    if (!bench->is_tensor) return print_value(d, "", row, STATISTIC_MAX);
    if (d->c.kind == DUMP_STATISTICS) return print_statistics(d, row);
    return d->c.kind == DUMP_TENSOR ? print_errors(d, row) : status_ok();
}

/* Why, for the first of them: a dump that was copied without its tensors has thousands. */
static struct status print_not_judged(struct doing *d)
{
    uint32_t row = d->suspects.first_not_judged;
    const char *name;
    if (row == ROW_NONE) return status_ok();
    TRY(row_name(&name, d, row));
    TRY(say(&d->out->report, "first row that is not judged: %s (line %u)\n  ", name, row));
    if (d->c.rows[row].notes) TRY(notes_append(&d->out->report, &d->c, row));
    else TRY(say(&d->out->report, "no statistics were recorded of it"));
    return say(&d->out->report, "\n");
}

static struct status print_suspects(struct doing *d)
{
    const struct suspects *s = &d->suspects;
    const char *name;

    if (s->first_row == ROW_NONE) return status_ok();
    TRY(row_name(&name, d, s->first_row));
    TRY(say(&d->out->report, "first row that differs: %s (line %u)\n", name, s->first_row));
    TRY(print_difference(d, s->first_row));
    if (s->origin == ROW_NONE)
        return say(&d->out->report,
                   "no output differs while its inputs agree: the difference comes "
                   "in through an input, a parameter, or a call that was not dumped\n");
    TRY(row_name(&name, d, s->origin));
    TRY(say(&d->out->report, "first output that differs while its inputs agree: %s (line %u)\n",
            name, s->origin));
    return s->origin == s->first_row ? status_ok() : print_difference(d, s->origin);
}

static struct status print_unmatched(struct doing *d, bool of_npu)
{
    const struct suspects *s = &d->suspects;
    const struct dump_rows *own = of_npu ? &d->c.npu : &d->c.bench;
    const struct dump_rows *other = of_npu ? &d->c.bench : &d->c.npu;
    uint32_t shown = of_npu ? s->n_npu : s->n_bench, total = of_npu ? s->npu_total : s->bench_total;

    if (total)
        TRY(say(&d->out->report, "%u entries only in the %s dump:\n", total,
                of_npu ? "NPU" : "Bench"));
    for (uint32_t i = 0; i < shown; i++) {
        const struct unmatched_entry *e = of_npu ? &s->npu[i] : &s->bench[i];
        const char *name = dump_entry_name(own, e->entry, NULL);
        const char *nearest = e->nearest == ROW_NONE ? ""
                                                     : dump_entry_name(other, e->nearest, NULL);
        TRY(say(&d->out->report, "  %s", name));
        if (!strcmp(name, nearest))
            TRY(say(&d->out->report, " (there too, with other shapes, dtypes or arguments)"));
        else if (*nearest) TRY(say(&d->out->report, " (did you mean %s?)", nearest));
        TRY(say(&d->out->report, "\n"));
    }
    if (total > shown) TRY(say(&d->out->report, "  and %u more\n", total - shown));
    return status_ok();
}

static struct status print_report(struct doing *d)
{
    TRY(print_rows(d));
    TRY(print_counts(d));
    TRY(print_suspects(d));
    TRY(print_not_judged(d));
    TRY(print_unmatched(d, true));
    TRY(print_unmatched(d, false));
    TRY(say(&d->out->report, "%s\n", d->table_path));
    return d->has_advice ? say(&d->out->report, "%s\n", d->advice_path) : status_ok();
}

/* ---- JSON ------------------------------------------------------------------------------- */

/* {"line": ..., "name": ..., "verdict": ...} or null. */
static struct status json_row(cJSON *object, const char *key, struct doing *d, uint32_t row)
{
    const char *name;
    if (row == ROW_NONE)
        return cJSON_AddNullToObject(object, key) ? status_ok() : status_no_memory(0);
    TRY(row_name(&name, d, row));
    cJSON *item = cJSON_AddObjectToObject(object, key);
    bool done = item && cJSON_AddNumberToObject(item, "line", row) &&
                cJSON_AddStringToObject(item, "name", name) &&
                cJSON_AddStringToObject(item, "verdict", row_level_name(d->c.rows[row].level));
    return done ? status_ok() : status_no_memory(0);
}

static struct status json_counts(cJSON *object, const struct suspects *s)
{
    static const char *const keys[ROW_LEVELS] = { "pass", "warning", "error", "unmatched",
                                                  "not_judged" };
    cJSON *counts = cJSON_AddObjectToObject(object, "verdicts");
    for (int i = 0; i < ROW_LEVELS; i++)
        if (!counts || !cJSON_AddNumberToObject(counts, keys[i], (double)s->levels[i]))
            return status_no_memory(0);
    return cJSON_AddNumberToObject(object, "bench_only_rows", (double)s->bench_only)
               ? status_ok()
               : status_no_memory(0);
}

static struct status json_unmatched(cJSON *object, const char *key,
                                    const struct unmatched_entry *list, uint32_t count,
                                    const struct dump_rows *own, const struct dump_rows *other)
{
    cJSON *array = cJSON_AddArrayToObject(object, key);
    for (uint32_t i = 0; i < count; i++) {
        cJSON *item = cJSON_CreateObject();
        if (!array || !item || !cJSON_AddItemToArray(array, item)) {
            cJSON_Delete(item);
            return status_no_memory(0);
        }
        const char *nearest =
            list[i].nearest == ROW_NONE ? NULL : dump_entry_name(other, list[i].nearest, NULL);
        if (!cJSON_AddStringToObject(item, "name", dump_entry_name(own, list[i].entry, NULL)) ||
            (nearest && !cJSON_AddStringToObject(item, "nearest", nearest)))
            return status_no_memory(0);
    }
    return array ? status_ok() : status_no_memory(0);
}

static struct status make_json(struct doing *d)
{
    const struct suspects *s = &d->suspects;
    cJSON *object = d->out->json = cJSON_CreateObject();
    bool done = object && cJSON_AddStringToObject(object, "npu_path", d->job->npu_path) &&
                cJSON_AddStringToObject(object, "bench_path", d->job->bench_path) &&
                cJSON_AddStringToObject(object, "kind", dump_kind_name(d->c.kind)) &&
                cJSON_AddStringToObject(object, "result", d->table_path) &&
                (!d->has_advice || cJSON_AddStringToObject(object, "advice", d->advice_path)) &&
                cJSON_AddNumberToObject(object, "rows", d->c.npu.n_rows) &&
                cJSON_AddNumberToObject(object, "matched_rows", d->c.pairing.n_matched);
    if (!done) return status_no_memory(0);
    TRY(json_counts(object, s));
    TRY(json_row(object, "first_difference", d, s->first_row));
    TRY(json_row(object, "first_output_with_agreeing_inputs", d, s->origin));
    TRY(json_unmatched(object, "npu_only", s->npu, s->n_npu, &d->c.npu, &d->c.bench));
    return json_unmatched(object, "bench_only", s->bench, s->n_bench, &d->c.bench, &d->c.npu);
}

/* ---- the job ---------------------------------------------------------------------------- */

static struct status show(struct doing *d)
{
    TRY(name_files(d));
    TRY(file_make_directories(d->folder));
    TRY(comparison_write_table(&d->c, d->table_path, &d->request->table));
    TRY(save_mapping(d));
    TRY(warn_of_idle_names(d));
    TRY(advise(d));
    TRY(suspects_find(&d->suspects, &d->c));
    TRY(print_report(d));
    const uint64_t *levels = d->suspects.levels;
    d->out->judged = levels[LEVEL_PASS] + levels[LEVEL_WARNING] + levels[LEVEL_ERROR];
    d->out->errors = levels[LEVEL_ERROR];
    d->out->suspicious = levels[LEVEL_ERROR] + levels[LEVEL_WARNING] + levels[LEVEL_UNMATCHED] +
                         d->suspects.unreadable;
    return make_json(d);
}

static struct status compare_and_show(struct doing *d)
{
    struct comparison_request comparison = d->request->comparison;

    comparison.npu_path = d->job->npu_path;
    comparison.bench_path = d->job->bench_path;
    TRY(comparison_run(&d->c, &comparison));
    if (d->c.npu.n_rows) return show(d);
    TRY(note_warning(d, "the dump of the NPU has no rows; there is no result"));
    return status_ok();
}

void job_run(struct job_outcome *out, const struct dump_job *job, const struct job_request *request)
{
    struct doing d = { .out = out, .job = job, .request = request };

    *out = (struct job_outcome){ .json = NULL };
    out->status = compare_and_show(&d);
    comparison_release(&d.c);
    csv_buffer_release(&d.name);
    memory_release(d.folder);
    if (!out->status.code && d.table_path && file_exists(d.table_path))
        out->table_path = d.table_path;
    else memory_release(d.table_path);
    memory_release(d.advice_path);
}

void job_outcome_release(struct job_outcome *outcome)
{
    csv_buffer_release(&outcome->report);
    csv_buffer_release(&outcome->warnings);
    cJSON_Delete(outcome->json);
    memory_release(outcome->table_path);
    outcome->json = NULL;
    outcome->table_path = NULL;
}
