/* How a rule finds the arguments of its API, and how it changes those that were drawn. */
#include "generators/generation.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "generators/fill.h"

void generation_note(struct generation *generation, const char *format, ...)
{
    struct generate_notes *notes = generation->notes;
    const size_t room = notes ? sizeof notes->lines / sizeof *notes->lines : 0;
    char text[400];
    va_list arguments;

    if (!notes || notes->count == room) return;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *line = notes->count + 1 == room ? "more inputs were changed in like manner"
                                                : arena_copy_string(generation->arena, text);
    if (line) notes->lines[notes->count++] = line;
}

/* The place of `name` in a list of words separated by spaces, or -1. */
static int word_position(const char *words, const char *name)
{
    size_t length = strlen(name);
    int position = 0;

    for (const char *word = words; *word; position++) {
        size_t extent = strcspn(word, " ");
        if (extent == length && !memcmp(word, name, length)) return position;
        word += extent;
        word += strspn(word, " ");
    }
    return -1;
}

struct value *generation_argument(const struct generation *generation, const char *name)
{
    const struct api_case *c = generation->api_case;
    struct value *keyword = value_find(&c->kwargs, name);
    if (keyword) return keyword;
    int position = word_position(generation->parameters, name);
    if (position < 0 || !value_is_sequence(&c->args) || (size_t)position >= c->args.list.count)
        return NULL;
    return &c->args.list.items[position];
}

int64_t generation_integer(const struct generation *generation, const char *name, int64_t otherwise)
{
    const struct value *value = generation_argument(generation, name);
    if (!value) return otherwise;
    if (value->kind == VALUE_INT) return value->integer;
    if (value->kind == VALUE_BOOL) return value->boolean;
    if (value->kind == VALUE_FLOAT && value->real >= -0x1p53 && value->real <= 0x1p53)
        return (int64_t)value->real;
    return otherwise;
}

const struct tensor *generation_tensor(const struct generation *generation, const char *name)
{
    const struct value *value = generation_argument(generation, name);
    return value && value->kind == VALUE_TENSOR ? value->tensor.tensor : NULL;
}

struct input *generation_input(const struct generation *generation, const struct value *value)
{
    for (size_t i = 0; i < generation->input_count; i++)
        if (generation->inputs[i].value == value)
            return generation->inputs[i].generated ? &generation->inputs[i] : NULL;
    return NULL;
}

void generation_refill(struct input *input, const struct range *range)
{
    input->range = *range;
    fill_tensor(input->value->tensor.tensor, range, input->key, NULL);
}

void generation_set_integers(struct input *input, const int64_t *values)
{
    struct tensor *tensor = input->value->tensor.tensor;
    dtype_from_int64(tensor->data, tensor->dtype, values, tensor_elements(tensor));
}

struct status generation_integers(int64_t **out, struct generation *generation, size_t count)
{
    *out = arena_allocate_array(generation->arena, count, sizeof **out);
    return *out ? status_ok() : status_no_memory(count * sizeof **out);
}

struct status generation_doubles(double **out, struct generation *generation, size_t count)
{
    *out = arena_allocate_array(generation->arena, count, sizeof **out);
    return *out ? status_ok() : status_no_memory(count * sizeof **out);
}
