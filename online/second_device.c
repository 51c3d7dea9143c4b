/* Which way a call goes is in the lists of the three-way rules. */
#include "online/second_device.h"

#include <string.h>

#include "compare/details.h"
#include "core/memory.h"
#include "runner/check_threads.h"
#include "standards/three_way/three_way_rules.h"

struct second_device {
    struct checkers checkers; /* for their devices */
    struct case_outcome outcomes[CHECK_THREADS_MAX];
    struct three_way_rules *rules;
    struct compare_request request;
    struct csv_buffer header; /* of details rows */
};

void second_rows_clear(struct second_rows *rows)
{
    rows->kind = SECOND_NONE;
    csv_buffer_clear(&rows->details);
    csv_buffer_clear(&rows->result);
}

void second_rows_release(struct second_rows *rows)
{
    csv_buffer_release(&rows->details);
    csv_buffer_release(&rows->result);
    rows->kind = SECOND_NONE;
}

struct status second_headers(struct csv_buffer *details, struct csv_buffer *result,
                             enum header_language language)
{
    return compare_headers(details, result, language);
}

/* ---- opening ---------------------------------------------------------------------------- */

/* The rules of the same name, or, where the run has none of msprobe's, the default ones. */
static struct status load_rules(struct second_device *second, const struct run_options *options)
{
    const char *const *names = three_way_profiles(), *profile = names[0];
    for (size_t i = 0; options->profile && names[i]; i++)
        if (!strcmp(names[i], options->profile) && strcmp(names[i], "strict") != 0)
            profile = names[i];
    return three_way_rules_load(&second->rules, profile, NULL, NULL);
}

static struct status open_all(struct second_device *second, const struct run_options *options,
                              const char *backend, const struct row_layout *layout)
{
    const char *headers[COLUMN_COUNT];

    layout_headers(headers, layout);
    TRY(csv_append_row(&second->header, headers, layout->count));
    TRY(load_rules(second, options));
    TRY(checkers_open(&second->checkers, options, backend, SIZE_MAX));
    if (second->checkers.class->needs_stored_outputs)
        return status_error(STATUS_BAD_ARGUMENT,
                            "--backend %s: the second device has to compute the calls", backend);
    return status_ok();
}

struct status second_open(struct second_device **out, const struct run_options *options,
                          const char *backend, const struct row_layout *layout, int precision)
{
    struct second_device *second = memory_allocate_zeroed(1, sizeof *second);
    *out = NULL;
    if (!second) return status_no_memory(sizeof *second);
    struct status status = open_all(second, options, backend, layout);
    if (status.code) {
        second_close(second);
        return status;
    }
    second->request = (struct compare_request){ .npu_path = "the client's rows",
                                                .gpu_path = "the device's rows",
                                                .rules = second->rules,
                                                .precision = precision };
    *out = second;
    return status;
}

void second_close(struct second_device *second)
{
    if (!second) return;
    checkers_close(&second->checkers);
    for (size_t i = 0; i < CHECK_THREADS_MAX; i++) case_outcome_release(&second->outcomes[i]);
    three_way_rules_release(second->rules);
    csv_buffer_release(&second->header);
    memory_release(second);
}

size_t second_count(const struct second_device *second) { return second->checkers.count; }

/* ---- a record --------------------------------------------------------------------------- */

/* "Torch.linalg.inv.0" is of linalg.inv. */
static bool is_held_to_thresholds(const struct three_way_rules *rules, const char *full_name)
{
    const char *first = strchr(full_name, '.'), *last = strrchr(full_name, '.');
    if (!first || last == first) return false;
    const struct csv_text api = { first + 1, (size_t)(last - first) - 1 };
    const struct api_rules *found = three_way_find_api(rules, api);
    const unsigned lists = 1u << LIST_BINARY | 1u << LIST_ABSOLUTE | 1u << LIST_THOUSANDTH;
    return found && (found->lists & lists);
}

struct second_check second_check_begin(struct second_device *second, size_t thread,
                                       const struct api_case *c)
{
    return (struct second_check){ .device = second->checkers.items[thread].device,
                                  .two_way = is_held_to_thresholds(second->rules, c->full_name),
                                  .out = &second->outcomes[thread] };
}

static struct status add_text(struct csv_buffer *out, const struct csv_buffer *text)
{
    return text->length ? csv_append_bytes(out, text->data, text->length) : status_ok();
}

static struct status compare_rows(struct second_rows *rows, const struct second_device *second,
                                  const struct csv_buffer *npu, const struct csv_buffer *gpu)
{
    struct csv_buffer texts[2] = { { 0 } };
    struct status status = status_ok();

    for (int i = 0; i < 2 && !status.code; i++) {
        status = add_text(&texts[i], &second->header);
        if (!status.code) status = add_text(&texts[i], i ? gpu : npu);
    }
    struct compare_request request = second->request;
    request.npu_text = (struct csv_text){ texts[0].data, texts[0].length };
    request.gpu_text = (struct csv_text){ texts[1].data, texts[1].length };
    if (!status.code) status = compare_call(&rows->details, &rows->result, &request);
    csv_buffer_release(&texts[0]);
    csv_buffer_release(&texts[1]);
    return status;
}

struct status second_check_end(struct second_rows *rows, const struct second_device *second,
                               const struct second_check *check,
                               const struct case_outcome *recorded)
{
    const struct case_outcome *made = check->out;

    second_rows_clear(rows);
    if (!check->has_rows) return made->fatal;
    rows->kind = check->two_way ? SECOND_TWO_WAY : SECOND_THREE_WAY;
    if (!check->two_way) return compare_rows(rows, second, &recorded->details, &made->details);
    TRY(add_text(&rows->details, &made->details));
    return add_text(&rows->result, &made->result);
}
