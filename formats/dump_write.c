/* Entries are put together in memory: a made-up dump has some thousand calls of 300 bytes. */
#include "formats/dump_write.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/shortest.h"
#include "core/whole_file.h"
#include "formats/file_stem.h"
#include "formats/json_write.h"
#include "formats/pt.h"

static const char data_folder[] = "dump_tensor_data";

/* ---- pieces ----------------------------------------------------------------------------- */

static void put(struct dump_writer *w, const char *text) { text_out_string(&w->text, text); }

static void put_string(struct dump_writer *w, const char *text)
{
    if (!w->text.status.code)
        w->text.status = json_append_string(&w->text.text, text, strlen(text));
}

/* As Python's json does: not finite ones are bare words. */
static void put_real(struct dump_writer *w, double x)
{
    char digits[SHORTEST_BYTES];
    (void)shortest_double(digits, x);
    put(w, isnan(x) ? "NaN" : isinf(x) ? x < 0 ? "-Infinity" : "Infinity" : digits);
}

static void put_integer(struct dump_writer *w, int64_t i)
{
    char digits[32];
    (void)snprintf(digits, sizeof digits, "%lld", (long long)i);
    put(w, digits);
}

/* {"type": TYPE, "value": and what the caller puts behind it. */
static void begin_typed(struct dump_writer *w, const char *type)
{
    put(w, "{\"type\":");
    put_string(w, type);
    put(w, ",\"value\":");
}

static void put_typed_text(struct dump_writer *w, const char *type, const char *text)
{
    begin_typed(w, type);
    put_string(w, text);
    put(w, "}");
}

/* ---- tensors ---------------------------------------------------------------------------- */

/* Where the tensors of one argument list go, and how many it has had. */
struct series {
    const char *name; /* "Torch.matmul.0.forward.input" */
    size_t count;
    struct arena *arena;
};

static struct status store(struct dump_writer *w, const struct series *series,
                           const struct tensor *tensor)
{
    const char *file = arena_format(series->arena, "%s.%zu.pt", series->name, series->count);
    const char *path = NULL;
    if (file) path = arena_format(series->arena, "%s/%s/%s", w->directory, data_folder, file);
    if (!path) return status_no_memory(0);
    put(w, ",\"data_name\":");
    put_string(w, file);
    if (w->options.replace && file_exists(path)) TRY(file_remove(path));
    return pt_write(path, tensor, series->arena);
}

/* What a dumper says of the elements. */
struct statistics {
    double max, min, mean, norm;
    bool known; /* of empty and complex tensors there are none */
};

static struct statistics measure(const struct tensor *dense)
{
    size_t n = tensor_elements(dense), width = dtype_info(dense->dtype)->bytes;
    struct statistics s = { .max = -INFINITY, .min = INFINITY };
    bool has_nan = false;
    s.known = n && !dtype_is_complex(dense->dtype);
    for (size_t i = 0; s.known && i < n; i++) {
        double x;
        dtype_to_double(&x, (const unsigned char *)dense->data + i * width, dense->dtype, 1);
        has_nan |= isnan(x);
        s.max = fmax(s.max, x);
        s.min = fmin(s.min, x);
        s.mean += x / (double)n;
        s.norm = hypot(s.norm, x);
    }
    if (has_nan) s.max = s.min = s.mean = s.norm = NAN;
    return s;
}

/* What is recorded of a tensor without elements: the range to draw from. */
static struct statistics recall(const struct tensor_record *record)
{
    bool known = record->max.kind != STATISTIC_ABSENT && record->min.kind != STATISTIC_ABSENT;
    return (struct statistics){ .max = record->max.number,
                                .min = record->min.number,
                                .mean = record->mean.kind ? record->mean.number : NAN,
                                .norm = record->norm.kind ? record->norm.number : NAN,
                                .known = known };
}

static void put_statistics(struct dump_writer *w, const struct statistics *s, bool truth)
{
    static const char *const keys[] = { ",\"Max\":", ",\"Min\":", ",\"Mean\":", ",\"Norm\":" };
    const double values[] = { s->max, s->min, s->mean, s->norm };
    for (size_t i = 0; i < 4; i++) {
        put(w, keys[i]);
        if (!s->known || (truth && i > 1)) put(w, "null");
        else if (truth) put(w, values[i] > 0 ? "true" : "false");
        else put_real(w, values[i]);
    }
}

static void put_shape(struct dump_writer *w, int rank, const int64_t *shape)
{
    put(w, "[");
    for (int i = 0; i < rank; i++) {
        if (i) put(w, ",");
        put_integer(w, shape[i]);
    }
    put(w, "]");
}

/* A computed tensor has no record, one that is only described no elements. */
static struct status put_tensor(struct dump_writer *w, struct series *series,
                                const struct value *value)
{
    static const struct tensor_record nothing = { .dtype = DT_NONE };
    const struct tensor_record *record = value->tensor.record ? value->tensor.record : &nothing;
    struct tensor dense = { .dtype = record->dtype };
    bool stored = w->options.with_tensors && value->tensor.tensor;
    if (value->tensor.tensor) TRY(tensor_densify(&dense, series->arena, value->tensor.tensor));
    struct statistics statistics = value->tensor.tensor ? measure(&dense) : recall(record);
    put(w, record->is_parameter ? "{\"type\":\"torch.nn.parameter.Parameter\",\"dtype\":"
                                : "{\"type\":\"torch.Tensor\",\"dtype\":");
    put_string(w, dtype_info(dense.dtype)->name);
    put(w, ",\"shape\":");
    if (value->tensor.tensor) put_shape(w, dense.rank, dense.shape);
    else put_shape(w, record->rank, record->shape);
    put_statistics(w, &statistics, dense.dtype == DT_BOOL);
    put(w, ",\"requires_grad\":");
    put(w, record->requires_grad ? "true" : "false");
    if (stored) TRY(store(w, series, &dense));
    series->count++;
    put(w, "}");
    return status_ok();
}

/* ---- values ----------------------------------------------------------------------------- */

static struct status put_value(struct dump_writer *w, struct series *series, const struct value *v);

static struct status put_items(struct dump_writer *w, struct series *series, const struct value *v)
{
    bool dict = v->kind == VALUE_DICT;
    put(w, dict ? "{" : "[");
    for (size_t i = 0; i < v->list.count; i++) {
        if (i) put(w, ",");
        if (dict) {
            put_string(w, v->list.keys[i]);
            put(w, ":");
        }
        TRY(put_value(w, series, &v->list.items[i]));
    }
    put(w, dict ? "}" : "]");
    return status_ok();
}

/* The numbers of a slice or size, which stand there without their types. */
static void put_numbers(struct dump_writer *w, const char *type, const struct value *v)
{
    begin_typed(w, type);
    put(w, "[");
    for (size_t i = 0; i < v->list.count; i++) {
        if (i) put(w, ",");
        if (v->list.items[i].kind == VALUE_INT) put_integer(w, v->list.items[i].integer);
        else put(w, "null");
    }
    put(w, "]}");
}

static struct status put_value(struct dump_writer *w, struct series *series, const struct value *v)
{
    switch (v->kind) {
    case VALUE_NONE: put(w, "null"); break;
    case VALUE_BOOL:
        begin_typed(w, "bool");
        put(w, v->boolean ? "true}" : "false}");
        break;
    case VALUE_INT:
        begin_typed(w, "int");
        put_integer(w, v->integer);
        put(w, "}");
        break;
    case VALUE_FLOAT:
        begin_typed(w, "float");
        put_real(w, v->real);
        put(w, "}");
        break;
    case VALUE_STRING: put_typed_text(w, "str", v->string); break;
    case VALUE_DTYPE: put_typed_text(w, "torch.dtype", dtype_info(v->dtype)->name); break;
    case VALUE_DEVICE: put_typed_text(w, "torch.device", v->string); break;
    case VALUE_ELLIPSIS: put_typed_text(w, "ellipsis", "..."); break;
    case VALUE_SLICE: put_numbers(w, "slice", v); break;
    case VALUE_SIZE: put_numbers(w, "torch.Size", v); break;
    case VALUE_MEMORY_FORMAT:
        put(w, "{\"type\":\"torch.memory_format\",\"format\":");
        put_string(w, v->string);
        put(w, "}");
        break;
    case VALUE_TENSOR: return put_tensor(w, series, v);
    case VALUE_LIST:
    case VALUE_DICT: return put_items(w, series, v);
    case VALUE_UNSUPPORTED: /* read again as what it is */
        put(w, "{\"type\":");
        put_string(w, v->string);
        put(w, "}");
        break;
    }
    return status_ok();
}

/* ---- calls ------------------------------------------------------------------------------ */

/* "KEY": and a list or dict of arguments or results. */
static struct status put_arguments(struct dump_writer *w, struct series *series, const char *key,
                                   const struct value *values)
{
    put_string(w, key);
    put(w, ":");
    return put_value(w, series, values);
}

/* One direction: what went in, what came out. */
static struct status put_entry(struct dump_writer *w, const struct api_case *c, bool backward,
                               struct arena *arena)
{
    const char *direction = backward ? "backward" : "forward";
    const char *key = arena_format(arena, "%s.%s", c->full_name, direction);
    const char *stem = file_stem(arena, c->full_name);
    if (!key || !stem) return status_no_memory(0);
    struct series in = { arena_format(arena, "%s.%s.input", stem, direction), 0, arena };
    struct series out = { arena_format(arena, "%s.%s.output", stem, direction), 0, arena };
    if (!in.name || !out.name) return status_no_memory(0);
    put(w, w->entries++ ? ",\n" : "\n");
    put_string(w, key);
    put(w, ":{");
    TRY(put_arguments(w, &in, backward ? "input" : "input_args",
                      backward ? &c->cotangents : &c->args));
    put(w, ",");
    if (!backward) {
        TRY(put_arguments(w, &in, "input_kwargs", &c->kwargs));
        put(w, ",");
    }
    TRY(put_arguments(w, &out, "output", backward ? &c->gradients : &c->outputs));
    put(w, "}");
    return w->text.status;
}

struct status dump_writer_open(struct dump_writer *out, const char *directory,
                               struct dump_writer_options options)
{
    *out = (struct dump_writer){ .directory = directory, .options = options };
    int length = snprintf(out->path, sizeof out->path, "%s/dump.json", directory);
    if (length < 0 || (size_t)length >= sizeof out->path)
        return status_error(STATUS_BAD_ARGUMENT, "'%.80s...' is too long a name", directory);
    if (!options.replace && file_exists(out->path))
        return status_error(STATUS_BAD_ARGUMENT, "there is a '%s' already; name another directory",
                            out->path);
    put(out, "{\"task\":");
    put(out, options.with_tensors ? "\"tensor\"" : "\"statistics\"");
    put(out, ",\"level\":\"L1\",\"framework\":\"pytorch\",\"dump_data_dir\":");
    if (options.with_tensors) put_string(out, data_folder);
    else put(out, "null");
    if (options.gradients_of_arguments) put(out, ",\"gradients\":\"arguments\"");
    put(out, ",\"data\":{");
    return out->text.status;
}

struct status dump_writer_add(struct dump_writer *writer, const struct api_case *c,
                              struct arena *arena)
{
    if (writer->options.with_tensors) {
        const char *folder = arena_format(arena, "%s/%s", writer->directory, data_folder);
        if (!folder) return status_no_memory(0);
        TRY(file_make_directories(folder));
    }
    TRY(put_entry(writer, c, false, arena));
    return c->has_backward ? put_entry(writer, c, true, arena) : status_ok();
}

struct status dump_writer_end(struct dump_writer *writer, struct status so_far)
{
    put(writer, "}}\n");
    if (!so_far.code) so_far = writer->text.status;
    if (!so_far.code)
        so_far = whole_file_write(writer->path, writer->text.text.data, writer->text.text.length,
                                  READERS_GROUP);
    csv_buffer_release(&writer->text.text);
    return so_far;
}
