/* Entries are kept in the order in which they were met and sorted when they are written. */
#include "standards/budget.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/growing.h"
#include "core/log_gamma.h"
#include "core/memory.h"
#include "core/text_table.h"
#include "formats/config_json.h"
#include "formats/json_write.h"

const char *const budget_metric_names[BUDGET_METRICS] = {
    [BUDGET_WORST] = "model_worst", [BUDGET_RMS] = "model_rms",
    [BUDGET_BIAS] = "model_bias",   [BUDGET_LARGEST] = "model_largest",
    [BUDGET_FLIPS] = "model_flips", [BUDGET_NATS] = "model_nats",
};

static const double chance = 1e-8;   /* that a right row exceeds its budget */
static const double least = 1. / 16; /* part of a limit: what is smaller is not told apart */

struct budget {
    struct text_table keys; /* the five parts, joined */
    struct arena arena;     /* of their texts */
    struct budget_entry *entries;
    size_t capacity;
};

/* ---- memory ---------------------------------------------------------------------------------- */

struct status budget_create(struct budget **out)
{
    struct budget *budget = memory_allocate_zeroed(1, sizeof *budget);
    if (!budget) return status_no_memory(sizeof *budget);
    struct status status = text_table_create(&budget->keys);
    if (status.code) memory_release(budget);
    else *out = budget;
    return status;
}

void budget_release(struct budget *budget)
{
    if (!budget) return;
    text_table_release(&budget->keys);
    arena_release(&budget->arena);
    memory_release(budget->entries);
    memory_release(budget);
}

/* In the order of the file, too: the parts, with what sorts before all else between them. */
static char *join(struct arena *arena, const struct budget_key *key)
{
    return arena_format(arena, "%s\x01%s\x01%s\x01%s\x01%s", key->api,
                        key->backward ? "backward" : "forward", key->dtype, key->shapes,
                        key->device);
}

static struct status copy_key(struct budget_key *out, struct arena *arena,
                              const struct budget_key *key)
{
    *out = (struct budget_key){ arena_copy_string(arena, key->api),
                                arena_copy_string(arena, key->dtype),
                                arena_copy_string(arena, key->shapes),
                                arena_copy_string(arena, key->device), key->backward };
    bool all = out->api && out->dtype && out->shapes && out->device;
    return all ? status_ok() : status_no_memory(0);
}

/* The entry of a key, a new one without any use. */
static struct status take_entry(struct budget_entry **out, bool *added, struct budget *budget,
                                const struct budget_key *key)
{
    uint32_t number;
    char *joined = join(&budget->arena, key);
    if (!joined) return status_no_memory(0);
    TRY(text_table_add(&number, added, &budget->keys, joined, strlen(joined)));
    TRY(array_make_room(&budget->entries, &budget->capacity, number, sizeof *budget->entries));
    *out = &budget->entries[number];
    if (!*added) return status_ok();
    memset(*out, 0, sizeof **out);
    for (int m = 0; m < BUDGET_METRICS; m++) (*out)->used[m] = (*out)->most[m] = -1;
    return copy_key(&(*out)->key, &budget->arena, key);
}

size_t budget_count(const struct budget *budget) { return budget->keys.count; }

const struct budget_entry *budget_at(const struct budget *budget, size_t i)
{
    return &budget->entries[i];
}

const struct budget_entry *budget_find(const struct budget *budget, const struct budget_key *key)
{
    struct arena scratch = { 0 };
    char *joined = join(&scratch, key);
    uint32_t number = joined ? text_table_find(&budget->keys, joined, strlen(joined)) : TEXT_NONE;
    arena_release(&scratch);
    return number == TEXT_NONE ? NULL : &budget->entries[number];
}

/* ---- classes of shapes ------------------------------------------------------------------------- */

bool budget_shapes(char out[BUDGET_SHAPES_BYTES], const char *text)
{
    int rank = 0;
    double elements = 1, bound = 1;
    while (*text == ' ') text++;
    if (*text != '(' && *text != '[') return false;
    for (text++; *text && *text != ')' && *text != ']';) {
        char *end;
        if (!isdigit((unsigned char)*text)) {
            text++;
            continue;
        }
        elements *= strtod(text, &end);
        text = end;
        rank++;
    }
    if (!*text || !(elements < 0x1p60)) return false;
    while (bound < elements) bound *= 4;
    (void)snprintf(out, BUDGET_SHAPES_BYTES, "%dd up to %.0f", rank, bound);
    return true;
}

/* ---- learning ---------------------------------------------------------------------------------- */

struct status budget_add_row(struct budget *budget, const struct budget_key *key,
                             const double used[BUDGET_METRICS], bool is_sample)
{
    struct budget_entry *entry;
    bool added;
    TRY(take_entry(&entry, &added, budget, key));
    entry->samples += is_sample;
    for (int m = 0; m < BUDGET_METRICS; m++) {
        entry->unused[m] += is_sample && !(used[m] > 0);
        if (used[m] >= 0) entry->used[m] = fmax(entry->used[m], used[m]);
    }
    return status_ok();
}

/* ln of the chance that the next exceeds m times the largest of n, with an exponential tail: the largest is the sum of
 * n independent exponential variables with rates 1..n (Renyi), so it is the product of k / (k + m). */
static double log_chance(double n, double m)
{
    return log_gamma(n + 1) + log_gamma(m + 1) - log_gamma(n + m + 1);
}

static double margin(double samples)
{
    double low = 1, high = 1 / chance;
    if (log_chance(samples, low) <= log(chance)) return low;
    for (int halving = 0; halving < 60; halving++) {
        double middle = (low + high) / 2;
        *(log_chance(samples, middle) > log(chance) ? &low : &high) = middle;
    }
    return high;
}

/* In steps that a reader can tell apart, upwards. */
static double rounded_up(double x) { return ceil(x * 1000) / 1000; }

static double budget_of(const struct budget_entry *entry, int m)
{
    double samples = entry->samples - entry->unused[m];
    if (!(samples > 0)) return 1;
    return fmin(rounded_up(fmax(entry->used[m] * margin(samples), least)), 1);
}

void budget_settle(struct budget *budget)
{
    for (size_t i = 0; i < budget->keys.count; i++) {
        struct budget_entry *entry = &budget->entries[i];
        for (int m = 0; m < BUDGET_METRICS; m++)
            if (entry->used[m] >= 0) entry->most[m] = budget_of(entry, m);
    }
}

/* Rows beyond the budget teach nothing: they are errors. */
static bool is_within(const struct budget_entry *entry, const struct budget_entry *rows)
{
    for (int m = 0; m < BUDGET_METRICS; m++)
        if (entry->most[m] >= 0 && rows->used[m] > entry->most[m]) return false;
    return true;
}

static bool tighten_entry(struct budget_entry *entry, const struct budget_entry *rows)
{
    bool tighter = false;
    if (!is_within(entry, rows)) return false;
    entry->samples += rows->samples;
    for (int m = 0; m < BUDGET_METRICS; m++) {
        if (entry->most[m] < 0) continue;
        entry->unused[m] += rows->unused[m];
        entry->used[m] = fmax(entry->used[m], rows->used[m]);
        double most = budget_of(entry, m);
        tighter |= most < entry->most[m];
        entry->most[m] = fmin(entry->most[m], most);
    }
    return tighter;
}

struct status budget_tighten(size_t *tightened, size_t *unknown, struct budget *budget,
                             const struct budget *rows)
{
    *tightened = *unknown = 0;
    for (size_t i = 0; i < rows->keys.count; i++) {
        size_t length;
        const char *key = text_table_get(&rows->keys, (uint32_t)i, &length);
        uint32_t number = text_table_find(&budget->keys, key, length);
        if (number == TEXT_NONE) (*unknown)++;
        else *tightened += tighten_entry(&budget->entries[number], &rows->entries[i]);
    }
    return status_ok();
}

/* ---- files ------------------------------------------------------------------------------------- */

static struct status append(struct csv_buffer *out, const char *text)
{
    return csv_append_bytes(out, text, strlen(text));
}

static struct status append_member(struct csv_buffer *out, const char *before, const char *key,
                                   const char *text)
{
    TRY(append(out, before));
    TRY(json_append_string(out, key, strlen(key)));
    TRY(append(out, ": "));
    return json_append_string(out, text, strlen(text));
}

/* Of the metrics for which `shown` is not negative. */
static struct status append_numbers(struct csv_buffer *out, const char *key,
                                    const double numbers[BUDGET_METRICS],
                                    const double shown[BUDGET_METRICS])
{
    char text[80];
    bool first = true;
    (void)snprintf(text, sizeof text, ", \"%s\": { ", key);
    TRY(append(out, text));
    for (int m = 0; m < BUDGET_METRICS; m++) {
        if (shown[m] < 0) continue;
        (void)snprintf(text, sizeof text, "%s\"%s\": %.4g", first ? "" : ", ",
                       budget_metric_names[m], numbers[m]);
        TRY(append(out, text));
        first = false;
    }
    return append(out, " }");
}

/* Counts of rows, of the metrics that have any. */
static struct status append_unused(struct csv_buffer *out, const struct budget_entry *entry)
{
    char text[80];
    bool first = true;
    for (int m = 0; m < BUDGET_METRICS; m++) {
        if (entry->used[m] < 0 || !(entry->unused[m] > 0)) continue;
        (void)snprintf(text, sizeof text, "%s\"%s\": %.0f", first ? ", \"unused\": { " : ", ",
                       budget_metric_names[m], entry->unused[m]);
        TRY(append(out, text));
        first = false;
    }
    return first ? status_ok() : append(out, " }");
}

static struct status append_entry(struct csv_buffer *out, const struct budget_entry *entry)
{
    char samples[64];
    TRY(append_member(out, "  { ", "api", entry->key.api));
    TRY(append_member(out, ", ", "direction", entry->key.backward ? "backward" : "forward"));
    TRY(append_member(out, ", ", "dtype", entry->key.dtype));
    TRY(append_member(out, ", ", "shapes", entry->key.shapes));
    TRY(append_member(out, ", ", "device", entry->key.device));
    (void)snprintf(samples, sizeof samples, ", \"samples\": %.0f", entry->samples);
    TRY(append(out, samples));
    TRY(append_unused(out, entry));
    TRY(append_numbers(out, "used", entry->used, entry->used));
    TRY(append_numbers(out, "budget", entry->most, entry->most));
    return append(out, " }");
}

struct sorted {
    const char *key;
    const struct budget_entry *entry;
};

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct sorted *)a)->key, ((const struct sorted *)b)->key);
}

struct status budget_write(struct csv_buffer *out, const struct budget *budget)
{
    size_t count = budget->keys.count;
    struct sorted *sorted = memory_allocate((count + 1) * sizeof *sorted);
    if (!sorted) return status_no_memory(count * sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct sorted){ text_table_get(&budget->keys, (uint32_t)i, NULL),
                                     &budget->entries[i] };
    qsort(sorted, count, sizeof *sorted, by_key);
    struct status status = append(out, "{ \"budgets\": [\n");
    for (size_t i = 0; i < count && !status.code; i++) {
        status = append_entry(out, sorted[i].entry);
        if (!status.code) status = append(out, i + 1 < count ? ",\n" : "\n");
    }
    memory_release(sorted);
    return status.code ? status : append(out, "] }\n");
}

/* ---- reading ----------------------------------------------------------------------------------- */

struct reading {
    struct budget *budget;
    const struct config_json *file;
    budget_api_check *is_api;
};

/* `most`: the largest that a number may be, and how that is said. */
static struct status read_numbers(double out[BUDGET_METRICS], const struct reading *r,
                                  const cJSON *object, double most, const char *expected)
{
    const char *names[BUDGET_METRICS + 1] = { NULL };
    memcpy(names, budget_metric_names, sizeof budget_metric_names);
    TRY(config_json_check_names(r->file, object, names));
    for (int m = 0; m < BUDGET_METRICS; m++) {
        const cJSON *item = config_json_get(object, budget_metric_names[m]);
        if (!item) continue;
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= most))
            return config_json_fault(r->file, item, "expected %s", expected);
        out[m] = item->valuedouble;
    }
    return status_ok();
}

/* "Torch.linalg.inv": its group is anything, its name an API's. */
static struct status check_api(const struct reading *r, const cJSON *item)
{
    struct arena arena = { 0 };
    const char *nearest = "", *dot = strchr(item->valuestring, '.');
    struct status status = status_ok();
    if (!dot)
        status = config_json_fault(r->file, item, "'%s' has no group, as Torch.matmul has",
                                   item->valuestring);
    else if (r->is_api && !r->is_api(&nearest, &arena, dot + 1))
        status = config_json_fault(r->file, item, "there is no API '%s', the nearest is '%.*s.%s'",
                                   item->valuestring, (int)(dot - item->valuestring),
                                   item->valuestring, nearest);
    arena_release(&arena);
    return status;
}

static struct status read_direction(bool *backward, const struct reading *r, const cJSON *item)
{
    *backward = !strcmp(item->valuestring, "backward");
    if (*backward || !strcmp(item->valuestring, "forward")) return status_ok();
    return config_json_fault(r->file, item, "a direction is forward or backward");
}

static struct status read_entry(const struct reading *r, const cJSON *object)
{
    static const struct config_json_key keys[] = {
        { "api", cJSON_String, true },     { "direction", cJSON_String, true },
        { "dtype", cJSON_String, true },   { "shapes", cJSON_String, true },
        { "device", cJSON_String, true },  { "samples", cJSON_Number, true },
        { "unused", cJSON_Object, false }, { "used", cJSON_Object, true },
        { "budget", cJSON_Object, true },  { NULL, 0, false },
    };
    struct budget_entry *entry;
    struct budget_key key;
    bool added;
    if (!cJSON_IsObject(object)) return config_json_fault(r->file, object, "expected an object");
    TRY(config_json_check_keys(r->file, object, keys));
    TRY(check_api(r, config_json_get(object, "api")));
    key = (struct budget_key){ .api = config_json_get_string(object, "api", ""),
                               .dtype = config_json_get_string(object, "dtype", ""),
                               .shapes = config_json_get_string(object, "shapes", ""),
                               .device = config_json_get_string(object, "device", "") };
    TRY(read_direction(&key.backward, r, config_json_get(object, "direction")));
    if (dtype_from_name(key.dtype) == DT_NONE)
        return config_json_fault(r->file, config_json_get(object, "dtype"), "'%s' is no dtype",
                                 key.dtype);
    const cJSON *samples = config_json_get(object, "samples");
    if (!(samples->valuedouble >= 1 && samples->valuedouble <= 0x1p53))
        return config_json_fault(r->file, samples, "expected a number of rows, 1 at least");
    TRY(take_entry(&entry, &added, r->budget, &key));
    if (!added) return config_json_fault(r->file, object, "this entry is there twice");
    entry->samples = floor(samples->valuedouble);
    static const char part[] = "a part of the limit, a number from 0 to 1";
    const cJSON *unused = config_json_get(object, "unused");
    if (unused)
        TRY(read_numbers(entry->unused, r, unused, entry->samples,
                         "a number of rows, not more than the samples"));
    TRY(read_numbers(entry->used, r, config_json_get(object, "used"), 1, part));
    return read_numbers(entry->most, r, config_json_get(object, "budget"), 1, part);
}

static struct status read_entries(const struct reading *r)
{
    static const struct config_json_key keys[] = { { "budgets", cJSON_Array, true },
                                                   { "about", cJSON_String, false },
                                                   { NULL, 0, false } };
    const cJSON *item;
    if (!cJSON_IsObject(r->file->root))
        return config_json_fault(r->file, r->file->root, "expected an object with \"budgets\"");
    TRY(config_json_check_keys(r->file, r->file->root, keys));
    cJSON_ArrayForEach(item, config_json_get(r->file->root, "budgets")) TRY(read_entry(r, item));
    return status_ok();
}

struct status budget_read(struct budget **out, const char *path, struct file_policy policy,
                          budget_api_check *is_api)
{
    struct config_json file;
    struct reading reading = { NULL, &file, is_api };
    TRY(config_json_open(&file, path, policy));
    struct status status = budget_create(&reading.budget);
    if (!status.code) status = read_entries(&reading);
    config_json_close(&file);
    if (status.code) budget_release(reading.budget);
    else *out = reading.budget;
    return status;
}

/* ---- judging ----------------------------------------------------------------------------------- */

static const struct judged_limit *find_limit(const struct judged *judged, const char *metric)
{
    for (size_t i = 0; i < judged->limit_count; i++)
        if (!strcmp(judged->limits[i].metric, metric)) return &judged->limits[i];
    return NULL;
}

/* What decided comes first: summaries have room for one sentence. */
static struct status exceed(struct judged *judged, struct arena *arena,
                            const struct budget_entry *entry, int m, double used)
{
    char *message = arena_format(
        arena,
        "Budget: %s is at %.3g of its limit, and the budget of %s, %s, %s on %s is %.3g. "
        "Consider as error.\n%s",
        budget_metric_names[m], used, entry->key.api, entry->key.dtype, entry->key.shapes,
        entry->key.device, entry->most[m], judged->cells[COLUMN_MESSAGE]);
    if (!message) return status_no_memory(0);
    judged->cells[COLUMN_MESSAGE] = message;
    judged->verdict = VERDICT_ERROR;
    judged->cells[COLUMN_STATUS] = verdict_name(VERDICT_ERROR);
    judged->deciding_metric = "budget";
    judged->deciding_value = used;
    judged->deciding_limit = entry->most[m];
    if (judged->limit_count < JUDGED_LIMITS)
        judged->limits[judged->limit_count++] =
            (struct judged_limit){ "budget", used, entry->most[m], false };
    return status_ok();
}

struct status budget_judge(struct judged *judged, struct arena *arena, const struct budget *budget,
                           const struct budget_key *key)
{
    double excess = 1, worst_use = 0;
    int worst = -1;
    if (judged->verdict != VERDICT_PASS && judged->verdict != VERDICT_WARNING) return status_ok();
    const struct budget_entry *entry = budget_find(budget, key);
    for (int m = 0; entry && m < BUDGET_METRICS; m++) {
        const struct judged_limit *limit = find_limit(judged, budget_metric_names[m]);
        if (!limit || entry->most[m] < 0 || !(limit->limit > 0)) continue;
        double used = limit->value / limit->limit, over = used / fmax(entry->most[m], 0x1p-20);
        if (!(over > excess)) continue;
        worst = m;
        excess = over;
        worst_use = used;
    }
    return worst < 0 ? status_ok() : exceed(judged, arena, entry, worst, worst_use);
}
