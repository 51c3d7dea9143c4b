/* The parts of the program: data, what is right, the calls, reading the result, main. */
#include "repro/kernel_source.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/whole_file.h"
#include "repro/kernel_calls.h"
#include "repro/source_text.h"

/* Bytes behind an output that the kernel must leave alone. */
enum { END_BYTES = 64 };

struct kernel_source {
    struct fault *fault;
    struct plugin_listing listing;
    struct source_arrays arrays;
    struct kernel_calls calls;
    struct text_out before, after;    /* statements around the calls */
    struct text_out text;             /* all of it */
    const struct binding_output *row; /* the output that is compared, or NULL */
    const char *row_name;
};

/* ---- tensors ---------------------------------------------------------------------------- */

static const struct binding_placed *placed_at(const struct plugin_listing *listing, uint64_t offset)
{
    for (size_t i = 0; i < listing->binding.n_placed; i++)
        if (listing->binding.placed[i].offset == offset) return &listing->binding.placed[i];
    return NULL;
}

static const struct binding_output *output_at(const struct plugin_listing *listing,
                                              const struct space_buffer *buffer)
{
    for (size_t i = 0; i < listing->binding.n_outputs; i++)
        if (listing->binding.outputs[i].buffer == buffer) return &listing->binding.outputs[i];
    return NULL;
}

static void put_input(struct kernel_source *s, const struct space_buffer *buffer, const char *name)
{
    const struct binding_placed *placed = placed_at(&s->listing, buffer->offset);
    if (!placed) return;
    source_array(&s->arrays, name, placed->dtype, space_at(&s->listing.space, buffer->offset),
                 buffer->bytes / dtype_info(placed->dtype)->bytes);
}

/* An output has room behind its end; it starts unwritten or as the manifest says. */
static void put_output(struct kernel_source *s, const struct space_buffer *buffer, const char *name)
{
    const struct binding_output *output = output_at(&s->listing, buffer);
    char start[80];
    if (!output) return;
    enum dtype dtype = output->tensor.dtype;
    size_t part = dtype_info(dtype_component(dtype))->bytes;
    source_put(&s->arrays.declarations,
               "static __attribute__((aligned(64))) %s %s[%" PRIu64 " + %zu];\n",
               source_c_type(dtype), name, buffer->bytes / part, END_BYTES / part);
    source_put(&s->before, "    fill_unwritten(%s, sizeof %s);\n", name, name);
    source_put(&s->after, "    check_end(\"%s\", %s, %" PRIu64 ", sizeof %s);\n", name, name,
               buffer->bytes, name);
    if (!output->row->initial || !buffer->bytes) return;
    (void)snprintf(start, sizeof start, "%s_start", name);
    source_array(&s->arrays, start, dtype, space_at(&s->listing.space, buffer->offset),
                 buffer->bytes / dtype_info(dtype)->bytes);
    source_put(&s->before, "    memcpy(%s, %s, %" PRIu64 ");\n", name, start, buffer->bytes);
}

static void put_tensors(struct kernel_source *s)
{
    const struct space *space = &s->listing.space;
    for (size_t i = 0; i < space->count; i++) {
        if (space->buffers[i].role == SPACE_INPUT)
            put_input(s, &space->buffers[i], s->calls.names[i]);
        else put_output(s, &space->buffers[i], s->calls.names[i]);
    }
}

/* ---- the output that fails -------------------------------------------------------------- */

struct tensor_search {
    size_t left;
    const struct tensor *found;
};

static bool pass_tensor(struct value *value, void *context)
{
    struct tensor_search *search = context;
    if (search->left--) return true;
    search->found = value->tensor.tensor;
    return false;
}

/* Gradients go by the tensor argument that they are of. */
static const struct tensor *argument_tensor(const struct api_case *c, size_t position)
{
    struct tensor_search search = { .left = position };
    struct value args = c->args, kwargs = c->kwargs;
    if (value_each_tensor(&args, pass_tensor, &search))
        (void)value_each_tensor(&kwargs, pass_tensor, &search);
    return search.found;
}

static void find_row(struct kernel_source *s)
{
    const struct failure *failure = &s->fault->failure;
    const struct binding *binding = &s->listing.binding;
    const struct tensor *of = failure->backward ? argument_tensor(&s->fault->c, failure->index)
                                                : NULL;
    for (size_t i = 0; i < binding->n_outputs; i++) {
        bool is_row = failure->backward ? binding->outputs[i].of == of : i == failure->index;
        if (is_row) s->row = &binding->outputs[i];
    }
    for (size_t i = 0; s->row && i < s->listing.space.count; i++)
        if (&s->listing.space.buffers[i] == s->row->buffer) s->row_name = s->calls.names[i];
}

/* The number at `at` of an output as a double or an int64_t. */
static void put_element(struct text_out *out, const char *name, enum dtype dtype)
{
    static const struct {
        enum dtype dtype;
        const char *format; /* exponent bits, fraction bits, no infinities */
    } small[] = { { DT_F16, "small_float(%s[at], 5, 10, 0)" },
                  { DT_BF16, "small_float(%s[at], 8, 7, 0)" },
                  { DT_F8E4M3, "small_float(%s[at], 4, 3, 1)" },
                  { DT_F8E5M2, "small_float(%s[at], 5, 2, 0)" } };
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        const char *argument = strstr(small[i].format, "%s");
        if (small[i].dtype != dtype) continue;
        text_out_bytes(out, small[i].format, (size_t)(argument - small[i].format));
        text_out_string(out, name);
        text_out_string(out, argument + 2);
        return;
    }
    source_put(out, "%s[at]", name);
}

/* static double got(size_t i): component i of the result, row-major, as the API returns it. */
static void put_reader(struct kernel_source *s)
{
    const struct binding_output *row = s->row;
    const struct tensor *t = &row->tensor;
    struct text_out *out = &s->text;
    bool complex = dtype_is_complex(t->dtype);
    const char *type = s->fault->integers ? "int64_t" : "double";
    int64_t stride[TENSOR_MAX_RANK], step = 1;
    for (int a = t->rank; a-- > 0;) {
        stride[row->axes[a]] = step;
        step *= t->shape[row->axes[a]];
    }
    source_put(out, "/* Number i of the result, row-major. */\nstatic %s got(size_t i)\n{\n", type);
    source_put(out, "    static const int64_t stride[] = { ");
    for (int d = 0; d < t->rank; d++) source_put(out, "%" PRId64 ", ", stride[d]);
    source_put(out, "0 };\n    size_t at = place(i%s, %d, shape, stride)%s;\n",
               complex ? " / 2" : "", t->rank, complex ? " * 2 + i % 2" : "");
    const struct dtype_info *info = dtype_info(dtype_component(row->returns));
    bool rounds = row->returns != t->dtype && info->kind == KIND_FLOAT && !s->fault->integers;
    text_out_string(out, rounds ? "    return rounded((double)" : "    return ");
    if (!rounds) source_put(out, "(%s)", type);
    put_element(out, s->row_name, t->dtype);
    if (rounds)
        source_put(out, ", %d, %d, %.17g)", info->significand_bits, info->exponent_min,
                   info->largest);
    text_out_string(out, ";\n}\n\n");
}

/* What is right, and how far a right kernel may be off. */
static void put_wanted(struct kernel_source *s)
{
    const struct fault *fault = s->fault;
    struct text_out *out = &s->arrays.declarations;
    source_put(out,
               "\n/* What is right: computed in higher precision, with a proven bound on its own "
               "error. */\n");
    source_put(out, "static const int64_t shape[] = { ");
    for (int d = 0; d < fault->rank; d++) source_put(out, "%" PRId64 ", ", fault->shape[d]);
    text_out_string(out, "0 };\n");
    if (fault->integers) {
        source_array(&s->arrays, "want", DT_I64, fault->integers, fault->n);
        return;
    }
    source_array(&s->arrays, "want", DT_F64, fault->want, fault->n);
    text_out_string(out, "\n/* How far a right kernel may be off: its rounding errors in the worst "
                         "order, and the last one. */\n");
    source_array(&s->arrays, "allowed", DT_F64, fault->allowed, fault->n);
}

/* ---- libraries -------------------------------------------------------------------------- */

static const char *string_at(const unsigned char *base, uint64_t table, size_t i)
{
    uint64_t offset;
    memcpy(&offset, base + table + i * sizeof offset, sizeof offset);
    return (const char *)(base + offset);
}

static const struct program_start *start_of(const struct kernel_source *s)
{
    return (const struct program_start *)(const void *)s->listing.start.bytes;
}

/* A path counts from where the program is run, which is elsewhere: the whole path. */
static void put_paths(struct kernel_source *s)
{
    const struct program_start *start = start_of(s);
    source_put(&s->text, "static const char *const paths[] = { ");
    for (size_t i = 0; i < start->library_count; i++) {
        const char *path = string_at(s->listing.start.bytes, start->libraries, i);
        char whole[PATH_MAX];
        if (strchr(path, '/') && realpath(path, whole)) path = whole;
        if (i) text_out_string(&s->text, ", ");
        source_put_string(&s->text, path);
    }
    source_put(&s->text, " };\nstatic void *libraries[%" PRIu64 "];\n", start->library_count);
}

static void put_environment(struct kernel_source *s, struct text_out *out)
{
    const struct program_start *start = start_of(s);
    for (size_t i = 0; i < start->environment_count; i++) {
        text_out_string(out, "    setenv(");
        source_put_string(out, string_at(s->listing.start.bytes, start->environment, 2 * i));
        text_out_string(out, ", ");
        source_put_string(out, string_at(s->listing.start.bytes, start->environment, 2 * i + 1));
        text_out_string(out, ", 1);\n");
    }
}

/* ---- all of it -------------------------------------------------------------------------- */

static void take(struct text_out *out, struct text_out *from)
{
    if (!out->status.code) out->status = from->status;
    if (from->text.length) text_out_bytes(out, from->text.data, from->text.length);
}

static void put_head(struct kernel_source *s, const char *title)
{
    struct text_out *out = &s->text;
    text_out_string(out, "/* ");
    source_put_comment(out, title);
    text_out_string(out,
                    "\n *\n *     ./reproducer [LIBRARY ...]\n *\n"
                    " * Exit status: 1 when the fault is there, 0 when not, 2 when the library "
                    "cannot be loaded. */\n"
                    "#define _GNU_SOURCE\n#include \"compare.h\"\n\n"
                    "/* ---- data ---- */\n\n");
}

static void put_globals(struct kernel_source *s)
{
    struct text_out *out = &s->text;
    text_out_string(out, "static const char row[] = ");
    source_put_string(out, s->fault->failure.row);
    text_out_string(out, ";\n");
    put_paths(s);
    if (s->calls.uses_slots)
        source_put(out, "static uint64_t slots[%d]; /* what functions return: handles, sizes */\n",
                   PROGRAM_SLOTS);
    text_out_string(out, "\n");
    if (s->row) put_reader(s);
}

static void put_comparison(struct kernel_source *s)
{
    const struct fault *fault = s->fault;
    const struct dtype_info *info = dtype_info(dtype_component(fault->dtype));
    struct text_out *out = &s->text;
    if (!s->row) {
        text_out_string(out, "    return returned(row);\n}\n\n");
        return;
    }
    source_put(out,
               "    const struct fault fault = { .row = row, .n = %zu, .rank = %d, .parts = %d, "
               ".shape = shape,\n                                 ",
               fault->n, fault->rank, dtype_is_complex(fault->dtype) ? 2 : 1);
    if (fault->integers) text_out_string(out, ".want_whole = want };\n    return compare_whole");
    else
        source_put(out,
                   ".want = want, .allowed = allowed, .bits = %d, .exponent_min = %d };\n"
                   "    return compare",
                   info->significand_bits, info->exponent_min);
    text_out_string(out, "(&fault, got);\n}\n\n");
}

static void put_main(struct kernel_source *s, double timeout_s)
{
    struct text_out *out = &s->text;
    unsigned seconds = timeout_s > 0 && timeout_s < 100000 ? (unsigned)timeout_s : 60;
    text_out_string(out, "int main(int count, char **arguments)\n{\n");
    if (fault_is_of_device(s->fault))
        source_put(out, "    return isolated(run, count, arguments, %u);\n}\n",
                   seconds ? seconds : 1);
    else text_out_string(out, "    return run(count, arguments);\n}\n");
}

static struct status put_all(struct kernel_source *s, const char *title)
{
    const unsigned char *start = s->listing.start.bytes;
    struct text_out environment = { .status.code = STATUS_OK };
    kernel_calls_open(&s->calls, &s->listing, &s->arrays);
    put_tensors(s);
    if (s->fault->has_values) find_row(s);
    if (s->row) put_wanted(s);
    TRY(kernel_calls_append(&s->calls, start + start_of(s)->open));
    take(&s->before, &s->calls.text);
    csv_buffer_release(&s->calls.text.text);
    s->calls.text = (struct text_out){ .status.code = STATUS_OK };
    TRY(kernel_calls_append(&s->calls, s->listing.program));

    put_head(s, title);
    take(&s->text, &s->arrays.declarations);
    text_out_string(&s->text, "\n/* ---- the calls ---- */\n\n");
    put_globals(s);
    text_out_string(&s->text, "static int run(int count, char **arguments)\n{\n");
    take(&s->text, &s->arrays.loads);
    put_environment(s, &environment);
    take(&s->text, &environment);
    csv_buffer_release(&environment.text);
    source_put(&s->text,
               "    for (int i = 0; i < %" PRIu64 "; i++)\n"
               "        libraries[i] = library(i + 1 < count ? arguments[i + 1] : paths[i]);\n",
               start_of(s)->library_count);
    take(&s->text, &s->before);
    take(&s->text, &s->calls.text);
    take(&s->text, &s->after);
    put_comparison(s);
    put_main(s, s->fault->call.options.case_timeout_s);
    return s->text.status.code ? s->text.status : s->arrays.status;
}

static void release(struct kernel_source *s)
{
    struct text_out *texts[] = {
        &s->arrays.declarations, &s->arrays.loads, &s->calls.text, &s->before, &s->after, &s->text
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) csv_buffer_release(&texts[i]->text);
    plugin_listing_close(&s->listing);
    memory_release(s);
}

struct status kernel_source_write(const char *directory, struct fault *fault, const char *backend,
                                  const char *title, struct file_policy policy)
{
    char path[4200];
    struct kernel_source *s = memory_allocate_zeroed(1, sizeof *s);
    if (!s) return status_no_memory(sizeof *s);
    s->fault = fault;
    s->arrays.directory = directory;
    struct status status = plugin_listing_open(&s->listing, &fault->arena, strchr(backend, ':') + 1,
                                               policy, &fault->c,
                                               fault->failure.backward ? &fault->outputs : NULL);
    if (!status.code) status = put_all(s, title);
    int length = snprintf(path, sizeof path, "%s/reproducer.c", directory);
    if (!status.code && (length < 0 || (size_t)length >= sizeof path))
        status = status_error(STATUS_BAD_ARGUMENT, "'%.80s...' is too long a name", directory);
    if (!status.code)
        status = whole_file_write(path, s->text.text.data, s->text.text.length, READERS_GROUP);
    release(s);
    return status;
}
