/* Renumbers backward records by counting those of each name. */
#include "compare/dumps/backward_numbers.h"

#include <stdio.h>
#include <string.h>

#include "core/dotted_name.h"
#include "core/memory.h"

/* The name of an entry without its counter, in `buffer`. */
static size_t base_name(char buffer[NAME_BUFFER], const char *name, size_t length)
{
    if (length >= NAME_BUFFER) return 0;
    memcpy(buffer, name, length);
    return name_drop_counter(buffer, length);
}

static struct status number_entries(uint32_t **out, const struct dump_rows *dump)
{
    struct text_table names;
    char base[NAME_BUFFER];
    size_t bytes = ((size_t)dump->n_entries + 1) * sizeof **out;
    uint32_t *numbers = *out = memory_allocate(bytes);
    uint32_t *seen = memory_allocate_zeroed((size_t)dump->n_entries + 1, sizeof *seen);

    struct status status = numbers && seen ? text_table_create(&names) : status_no_memory(bytes);
    if (status.code) {
        memory_release(seen);
        return status;
    }
    for (uint32_t i = 0; i < dump->n_entries && !status.code; i++) {
        size_t length;
        const char *name = dump_entry_name(dump, i, &length);
        uint32_t number;
        numbers[i] = ROW_NONE;
        if (name_direction(name_slice_of(name, length)) != DIRECTION_BACKWARD) continue;
        length = base_name(base, name, length);
        if (!length) continue;
        status = text_table_add(&number, NULL, &names, base, length);
        if (!status.code) numbers[i] = seen[number]++;
    }
    text_table_release(&names);
    memory_release(seen);
    return status;
}

static struct status key(struct csv_buffer *out, bool *abandoned, const struct dump_rows *dump,
                         uint32_t row, void *context)
{
    const struct backward_numbers *numbers = context;
    const struct dump_row *r = &dump->rows[row];
    uint32_t number = (dump == numbers->npu ? numbers->of_npu : numbers->of_bench)[r->entry];
    char base[NAME_BUFFER], digits[16];
    size_t length;

    (void)abandoned;
    if (number == ROW_NONE || r->own_name) return dump_row_append_name(out, dump, r);
    const char *name = dump_entry_name(dump, r->entry, &length);
    TRY(csv_append_bytes(out, base, base_name(base, name, length)));
    TRY(csv_append_bytes(out, digits, (size_t)snprintf(digits, sizeof digits, "\t%u", number)));
    const char *suffix = text_table_get(&dump->texts, r->suffix, &length);
    return csv_append_bytes(out, suffix, length);
}

struct status backward_numbers_apply(struct backward_numbers *out, struct pairing_rule *rule,
                                     const struct dump_pair *dumps)
{
    *out = (struct backward_numbers){ .npu = dumps->npu };
    rule->npu_key = rule->bench_key = key;
    rule->context = out;
    TRY(number_entries(&out->of_npu, dumps->npu));
    return number_entries(&out->of_bench, dumps->bench);
}

void backward_numbers_release(struct backward_numbers *numbers)
{
    memory_release(numbers->of_npu);
    memory_release(numbers->of_bench);
    *numbers = (struct backward_numbers){ 0 };
}
