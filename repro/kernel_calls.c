/* A program (plugin_program.h) read as plugin_call.c reads it, and told instead of done. */
#include "repro/kernel_calls.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "repro/source_text.h"

/* ---- names ------------------------------------------------------------------------------ */

static bool is_taken(const struct kernel_calls *calls, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(calls->names[i], name)) return true;
    return false;
}

void kernel_calls_open(struct kernel_calls *out, const struct plugin_listing *listing,
                       struct source_arrays *arrays)
{
    out->listing = listing;
    out->arrays = arrays;
    for (size_t i = 0; i < listing->space.count; i++) {
        char *name = out->names[i], base[64];
        source_identifier(base, listing->space.buffers[i].label);
        (void)snprintf(name, sizeof out->names[i], "%s", base);
        for (int k = 2; is_taken(out, i, name); k++)
            (void)snprintf(name, sizeof out->names[i], "%.50s_%d", base, k);
    }
}

static const char *buffer_name(const struct kernel_calls *calls, uint64_t offset)
{
    const struct space *space = &calls->listing->space;
    for (size_t i = 0; i < space->count; i++)
        if (space->buffers[i].offset == offset) return calls->names[i];
    return "NULL"; /* a promise of plugin_emit: it is the start of a buffer */
}

/* ---- types and numbers ------------------------------------------------------------------ */

/* clang-format off */
static const char *const c_types[TYPE_COUNT] = {
    [TYPE_VOID] = "void",   [TYPE_I8] = "int8_t",    [TYPE_U8] = "uint8_t",   [TYPE_I16] = "int16_t",
    [TYPE_U16] = "uint16_t", [TYPE_I32] = "int32_t", [TYPE_U32] = "uint32_t", [TYPE_I64] = "int64_t",
    [TYPE_U64] = "uint64_t", [TYPE_F32] = "float",   [TYPE_F64] = "double",   [TYPE_POINTER] = "void *",
};
/* clang-format on */

static void put_number(struct text_out *out, enum program_type type, uint64_t bits)
{
    float f32;
    double f64;
    switch (type) {
    case TYPE_F32:
        memcpy(&f32, &bits, sizeof f32);
        source_put_real(out, (double)f32, 9, "NAN", "INFINITY");
        if (isfinite(f32)) text_out_string(out, "f");
        break;
    case TYPE_F64:
        memcpy(&f64, &bits, sizeof f64);
        source_put_real(out, f64, 17, "NAN", "INFINITY");
        break;
    case TYPE_VOID:
    case TYPE_POINTER: text_out_string(out, "NULL"); break;
    case TYPE_U8:
    case TYPE_U16:
    case TYPE_U32:
    case TYPE_U64: source_put(out, "%" PRIu64 "u", bits); break;
    default:
        if ((int64_t)bits == INT64_MIN) text_out_string(out, "INT64_MIN");
        else source_put(out, "%" PRId64, (int64_t)bits);
        break;
    }
}

/* The number of a type that lies at an address: signed ones with their sign. */
static uint64_t bits_at(enum program_type type, const unsigned char *at)
{
    size_t width = program_type_info(type)->bytes;
    uint64_t bits = 0;
    memcpy(&bits, at, width);
    bool is_signed = type == TYPE_I8 || type == TYPE_I16 || type == TYPE_I32;
    if (is_signed && bits >> (8 * width - 1)) bits |= UINT64_MAX << 8 * width;
    return bits;
}

/* ---- arguments -------------------------------------------------------------------------- */

/* An array of numbers; its name. */
static void put_list(struct kernel_calls *calls, const struct program_argument *argument,
                     const unsigned char *program)
{
    enum program_type type = (enum program_type)argument->item;
    size_t width = program_type_info(type)->bytes;
    struct text_out *out = &calls->arrays->declarations;
    source_put(out, "static const %s list_%zu[] = { ", c_types[type], calls->lists);
    for (uint64_t i = 0; i < argument->count; i++) {
        put_number(out, type, bits_at(type, program + argument->bits + i * width));
        text_out_string(out, i + 1 < argument->count ? ", " : "");
    }
    text_out_string(out, argument->count ? " };\n" : "0 };\n");
    source_put(&calls->text, "(void *)list_%zu", calls->lists++);
}

/* Addresses of several tensors, as a compound literal. */
static void put_addresses(struct kernel_calls *calls, const struct program_argument *argument,
                          const unsigned char *program)
{
    text_out_string(&calls->text, "(void *[]){ ");
    for (uint64_t i = 0; i < argument->count; i++) {
        uint64_t offset;
        memcpy(&offset, program + argument->bits + i * sizeof offset, sizeof offset);
        if (offset == PROGRAM_NOTHING) text_out_string(&calls->text, "NULL, ");
        else source_put(&calls->text, "(void *)%s, ", buffer_name(calls, offset));
    }
    text_out_string(&calls->text, "NULL }");
}

static struct status put_slot(struct kernel_calls *calls, const struct program_argument *argument)
{
    enum program_type type = (enum program_type)argument->type;
    calls->uses_slots = true;
    if (type == TYPE_F32 || type == TYPE_F64)
        return status_error(STATUS_SKIP, "a kernel that takes a floating slot has no reproducer");
    source_put(&calls->text,
               type == TYPE_POINTER ? "(%s)(uintptr_t)slots[%" PRIu64 "]"
                                    : "(%s)slots[%" PRIu64 "]",
               c_types[type], argument->bits);
    return status_ok();
}

static struct status put_argument(struct kernel_calls *calls,
                                  const struct program_argument *argument,
                                  const unsigned char *program)
{
    struct text_out *out = &calls->text;
    switch ((enum argument_kind)argument->kind) {
    case ARGUMENT_BITS: put_number(out, (enum program_type)argument->type, argument->bits); break;
    case ARGUMENT_SPACE: source_put(out, "(void *)%s", buffer_name(calls, argument->bits)); break;
    case ARGUMENT_CONSTANT:
        if (argument->item != TYPE_VOID) {
            put_list(calls, argument, program);
        } else {
            text_out_string(out, "(void *)");
            source_put_string(out, (const char *)(program + argument->bits));
        }
        break;
    case ARGUMENT_SLOT: return put_slot(calls, argument);
    case ARGUMENT_SLOT_ADDRESS:
        calls->uses_slots = true;
        source_put(out, "&slots[%" PRIu64 "]", argument->bits);
        break;
    case ARGUMENT_ELEMENT: source_put(out, "%s[i]", buffer_name(calls, argument->bits)); break;
    case ARGUMENT_ELEMENT_ADDRESS:
        source_put(out, "(char *)%s + i * %" PRIu64, buffer_name(calls, argument->bits),
                   argument->count);
        break;
    case ARGUMENT_ADDRESSES: put_addresses(calls, argument, program); break;
    }
    return out->status;
}

/* ---- steps ------------------------------------------------------------------------------ */

static const struct program_argument *arguments_of(const unsigned char *program,
                                                   const struct program_step *step)
{
    return (const struct program_argument *)(const void *)(program + step->arguments);
}

/* typedef float kernel(int32_t, void *); */
static void put_type(struct text_out *out, const struct program_step *step,
                     const struct program_argument *arguments)
{
    source_put(out, "        typedef %s kernel(", c_types[step->result_type]);
    for (uint32_t i = 0; i < step->count; i++)
        source_put(out, "%s%s", i ? ", " : "", c_types[arguments[i].type]);
    text_out_string(out, step->count ? ");\n" : "void);\n");
}

/* What is done with the result. */
static void put_result(struct kernel_calls *calls, const struct program_step *step,
                       const char *symbol, const char *indent)
{
    static const char *const failing[] = {
        [CHECK_ZERO] = "result != 0",
        [CHECK_NONZERO] = "result == 0",
        [CHECK_NONNEGATIVE] = "result < 0",
        [CHECK_NONNULL] = "result == NULL",
    };
    struct text_out *out = &calls->text;
    bool pointer = step->result_type == TYPE_POINTER;
    if (step->check != CHECK_NONE) {
        source_put(out, "%sif (%s) kernel_failed(", indent, failing[step->check]);
        source_put_string(out, symbol);
        text_out_string(out,
                        pointer ? ", (long long)(intptr_t)result);\n" : ", (long long)result);\n");
    }
    if (step->result_slot == PROGRAM_NOTHING) return;
    calls->uses_slots = true;
    source_put(out, "%sslots[%" PRIu64 "] = (uint64_t)%sresult;\n", indent, step->result_slot,
               pointer ? "(uintptr_t)" : "(int64_t)");
}

static struct status put_call(struct kernel_calls *calls, const struct program_step *step,
                              const unsigned char *program)
{
    struct text_out *out = &calls->text;
    const struct program_argument *arguments = arguments_of(program, step);
    const char *symbol = (const char *)(program + step->symbol);
    bool loop = step->loop != PROGRAM_NOTHING, element = step->result_element != PROGRAM_NOTHING;
    bool floating = step->result_type == TYPE_F32 || step->result_type == TYPE_F64;
    bool used = step->check != CHECK_NONE || step->result_slot != PROGRAM_NOTHING;
    const char *indent = loop ? "            " : "        ";
    if (used && floating)
        return status_error(STATUS_SKIP, "a kernel whose floating result is kept or checked has no "
                                         "reproducer");
    text_out_string(out, "    {\n");
    put_type(out, step, arguments);
    source_put(out, "        kernel *call = (kernel *)function(libraries[%u], ", step->library);
    source_put_string(out, symbol);
    text_out_string(out, ");\n");
    if (loop) source_put(out, "        for (size_t i = 0; i < %" PRIu64 "; i++) {\n", step->loop);
    text_out_string(out, indent);
    if (element) source_put(out, "%s[i] = ", buffer_name(calls, step->result_element));
    else if (used) source_put(out, "%s result = ", c_types[step->result_type]);
    text_out_string(out, "call(");
    for (uint32_t i = 0; i < step->count; i++) {
        if (i) text_out_string(out, ", ");
        TRY(put_argument(calls, &arguments[i], program));
    }
    text_out_string(out, ");\n");
    if (used && element)
        return status_error(STATUS_SKIP, "a kernel whose elements are checked has no reproducer");
    if (used) put_result(calls, step, symbol, indent);
    text_out_string(out, loop ? "        }\n    }\n" : "    }\n");
    return out->status;
}

static struct status put_allocation(struct kernel_calls *calls, const struct program_step *step,
                                    const unsigned char *program)
{
    calls->uses_slots = true;
    source_put(&calls->text, "    slots[%" PRIu64 "] = work_space(", step->result_slot);
    TRY(put_argument(calls, arguments_of(program, step), program));
    text_out_string(&calls->text, ");\n");
    return calls->text.status;
}

struct status kernel_calls_append(struct kernel_calls *calls, const unsigned char *program)
{
    const struct program *head = (const struct program *)(const void *)program;
    const struct program_step *steps =
        (const struct program_step *)(const void *)(program + head->steps);
    for (uint64_t i = 0; i < head->step_count; i++)
        TRY(steps[i].kind == STEP_ALLOCATE ? put_allocation(calls, &steps[i], program)
                                           : put_call(calls, &steps[i], program));
    return calls->text.status;
}
