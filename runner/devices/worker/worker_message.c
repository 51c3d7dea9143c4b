/* Requests written piece by piece (a line has at most a few kilobytes), replies read by cJSON and
 * checked member by member. */
#include "runner/devices/worker/worker_message.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "core/memory.h"
#include "formats/json_tree.h"
#include "runner/devices/autocast.h"
#include "runner/devices/tensor_layout.h"

/* Tensors start on multiples of this. */
#define ALIGNMENT ((uint64_t)64)

/* Whole numbers beyond this are written as {"int": "..."}: JSON libraries keep numbers as
 * doubles. */
#define EXACT ((int64_t)1 << 53)

enum { DEPTH_MAX = 400 };

/* --- text ----------------------------------------------------------------------------------------- */

static bool make_room(struct text *text, size_t bytes)
{
    size_t needed;
    if (text->failed || !size_add(&needed, text->used, bytes)) return !(text->failed = true);
    if (needed <= text->room) return true;
    size_t room = text->room ? text->room : 1024;
    while (room < needed) room *= 2;
    char *grown = memory_resize(text->bytes, room);
    if (!grown) return !(text->failed = true);
    text->bytes = grown;
    text->room = room;
    return true;
}

void text_append(struct text *text, const char *format, ...)
{
    for (;;) {
        size_t room = text->room - text->used;
        va_list arguments;
        va_start(arguments, format);
        int length =
            vsnprintf(text->bytes ? text->bytes + text->used : NULL, room, format, arguments);
        va_end(arguments);
        assert(length >= 0); /* our formats, and strings of far less than 2 GB */
        if ((size_t)length < room) {
            text->used += (size_t)length;
            return;
        }
        if (!make_room(text, (size_t)length + 1)) return;
    }
}

void text_reserve(struct text *text, size_t bytes) { (void)make_room(text, bytes); }

void text_release(struct text *text)
{
    memory_release(text->bytes);
    memset(text, 0, sizeof *text);
}

static void append_quoted(struct text *text, const char *string)
{
    text_append(text, "\"");
    for (const unsigned char *p = (const unsigned char *)string; *p; p++) {
        if (*p == '"' || *p == '\\') text_append(text, "\\%c", *p);
        else if (*p < ' ') text_append(text, "\\u%04x", *p);
        else text_append(text, "%c", *p);
    }
    text_append(text, "\"");
}

/* --- requests -------------------------------------------------------------------------------------- */

static void append_integer(struct text *text, int64_t i)
{
    bool exact = i <= EXACT && i >= -EXACT;
    text_append(text, exact ? "%" PRId64 : "{\"int\":\"%" PRId64 "\"}", i);
}

/* A float is always told from an integer: 2.0, 1e+300, {"float": "nan"}. */
static void append_float(struct text *text, double x)
{
    char number[40];
    if (!isfinite(x)) {
        text_append(text, "{\"float\":\"%s\"}", isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
        return;
    }
    (void)snprintf(number, sizeof number, "%.17g", x);
    text_append(text, "%s%s", number, strpbrk(number, ".e") ? "" : ".0");
}

static struct status append_tensor(struct text *text, struct worker_memory *memory,
                                   const struct value *value, struct arena *arena)
{
    const struct tensor *t = value->tensor.tensor;
    const struct tensor_record *record = value->tensor.record;
    size_t bytes;
    uint64_t offset = memory->used;
    if (!t) return status_error(STATUS_INTERNAL, "an input has no elements");
    if (!size_multiply(&bytes, tensor_elements(t), dtype_info(t->dtype)->bytes) ||
        bytes > memory->limit - offset || memory->limit - offset - bytes < 2 * ALIGNMENT)
        return status_error(STATUS_SKIP, "a tensor does not fit into shared memory");
    TRY(memory->reserve(memory, offset + bytes + ALIGNMENT));
    TRY(layout_store(memory->base + offset, t->dtype, t->rank, t->shape, NULL, t, arena));
    memory->used = (offset + bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    text_append(text, "{\"tensor\":{\"dtype\":\"%s\",\"shape\":[", dtype_info(t->dtype)->name);
    for (int i = 0; i < t->rank; i++) text_append(text, i ? ",%" PRId64 : "%" PRId64, t->shape[i]);
    text_append(text, "],\"offset\":%" PRIu64 ",\"requires_grad\":%s}}", offset,
                record && record->requires_grad ? "true" : "false");
    return status_ok();
}

static struct status append_value(struct text *text, struct worker_memory *memory,
                                  const struct value *value, struct arena *arena, int depth);

static struct status append_items(struct text *text, struct worker_memory *memory,
                                  const struct value *value, struct arena *arena, int depth)
{
    bool keyed = value->kind == VALUE_DICT;
    text_append(text, keyed ? "{" : "[");
    for (size_t i = 0; i < value->list.count; i++) {
        if (i) text_append(text, ",");
        if (keyed) {
            append_quoted(text, value->list.keys[i]);
            text_append(text, ":");
        }
        TRY(append_value(text, memory, &value->list.items[i], arena, depth + 1));
    }
    text_append(text, keyed ? "}" : "]");
    return status_ok();
}

/* An object with one key that says what it is. */
static void append_named(struct text *text, const char *key, const char *string)
{
    text_append(text, "{\"%s\":", key);
    append_quoted(text, string);
    text_append(text, "}");
}

static struct status append_value(struct text *text, struct worker_memory *memory,
                                  const struct value *value, struct arena *arena, int depth)
{
    /* clang-format off */
    static const char *const wrappers[] = {
        [VALUE_DICT] = "dict", [VALUE_SLICE] = "slice", [VALUE_SIZE] = "size" };
    if (depth > DEPTH_MAX) return status_error(STATUS_SKIP, "arguments are nested too deeply");
    switch (value->kind) {
    case VALUE_NONE: text_append(text, "null"); break;
    case VALUE_BOOL: text_append(text, value->boolean ? "true" : "false"); break;
    case VALUE_INT: append_integer(text, value->integer); break;
    case VALUE_FLOAT: append_float(text, value->real); break;
    case VALUE_STRING: append_quoted(text, value->string); break;
    case VALUE_TENSOR: return append_tensor(text, memory, value, arena);
    case VALUE_LIST: return append_items(text, memory, value, arena, depth);
    case VALUE_DICT:
    case VALUE_SLICE:
    case VALUE_SIZE:
        text_append(text, "{\"%s\":", wrappers[value->kind]);
        TRY(append_items(text, memory, value, arena, depth));
        text_append(text, "}");
        break;
    case VALUE_ELLIPSIS: text_append(text, "{\"ellipsis\":true}"); break;
    case VALUE_DTYPE: append_named(text, "dtype", dtype_info(value->dtype)->name); break;
    case VALUE_DEVICE: append_named(text, "device", value->string); break;
    case VALUE_MEMORY_FORMAT: append_named(text, "memory_format", value->string); break;
    case VALUE_UNSUPPORTED:
        return status_error(STATUS_SKIP, "an argument was not recorded: %s",
                            value->string ? value->string : "");
    }
    return status_ok();
}

/* Recorded outputs tell shape and dtype where the call alone is ambiguous. */
static void append_recorded(struct text *text, const struct value *value, bool *first)
{
    if (value->kind == VALUE_LIST || value->kind == VALUE_DICT) {
        for (size_t i = 0; i < value->list.count; i++)
            append_recorded(text, &value->list.items[i], first);
        return;
    }
    if (!*first) text_append(text, ",");
    *first = false;
    if (value->kind != VALUE_TENSOR || !value->tensor.record) {
        text_append(text, "null");
        return;
    }
    const struct tensor_record *record = value->tensor.record;
    text_append(text, "{\"dtype\":");
    append_quoted(text, record->dtype_name ? record->dtype_name : "");
    text_append(text, ",\"shape\":[");
    for (int i = 0; i < record->rank; i++)
        text_append(text, i ? ",%" PRId64 : "%" PRId64, record->shape[i]);
    text_append(text, "]}");
}

struct status worker_request(struct text *out, struct worker_memory *memory, uint64_t number,
                             const struct api_case *c, bool want_gradients)
{
    struct arena arena = { 0 };
    enum dtype autocast = case_autocast(c);
    bool first = true;
    struct status st;

    out->used = 0;
    out->failed = false;
    memory->used = memory->first;
    text_append(out, "{\"run\":%" PRIu64 ",\"api\":", number);
    append_quoted(out, c->full_name);
    text_append(out, ",\"type\":");
    append_quoted(out, c->type);
    text_append(out, ",\"name\":");
    append_quoted(out, c->api);
    text_append(out, ",\"args\":");
    st = append_items(out, memory, &c->args, &arena, 0);
    text_append(out, ",\"kwargs\":");
    if (st.code) goto end;
    assert(c->kwargs.kind == VALUE_DICT);
    st = append_items(out, memory, &c->kwargs, &arena, 0);
    if (st.code) goto end;
    text_append(out, ",\"gradients\":%s", want_gradients ? "true" : "false");
    if (want_gradients) {
        text_append(out, ",\"cotangents\":");
        st = append_items(out, memory, &c->cotangents, &arena, 0);
        if (st.code) goto end;
    }
    text_append(out, ",\"recorded\":[");
    append_recorded(out, &c->outputs, &first);
    text_append(out, "],\"autocast\":");
    if (autocast == DT_NONE) text_append(out, "null");
    else text_append(out, "\"%s\"", dtype_info(autocast)->name);
    text_append(out, ",\"free\":%" PRIu64 "}\n", memory->used);
    if (out->failed) st = status_no_memory(out->used);
end:
    arena_release(&arena);
    return st;
}

/* --- greeting ----------------------------------------------------------------------------------------- */

static bool lists(const cJSON *capabilities, const char *wanted)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, capabilities)
    {
        if (cJSON_IsString(item) && !strcmp(item->valuestring, wanted)) return true;
    }
    return false;
}

struct status worker_read_greeting(struct worker_greeting *out, const char *line, size_t bytes)
{
    cJSON *root;
    struct status parsed = json_tree_parse(&root, NULL, line, bytes);
    if (parsed.code == STATUS_NO_MEMORY) return parsed;
    const cJSON *protocol = cJSON_GetObjectItemCaseSensitive(root, "protocol");
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(root, "error");
    struct status st = status_ok();
    if (cJSON_IsString(error))
        st = status_error(STATUS_DEVICE, "%s", error->valuestring);
    else if (!cJSON_IsNumber(protocol))
        st = status_error(STATUS_DEVICE, "the worker does not speak the worker protocol: %.*s",
                          bytes < 80 ? (int)bytes : 80, line);
    else if (protocol->valuedouble != WORKER_PROTOCOL)
        st = status_error(STATUS_DEVICE,
                          "the worker speaks version %g of the protocol, this program version %d",
                          protocol->valuedouble, WORKER_PROTOCOL);
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(root, "name");
    const cJSON *capabilities = cJSON_GetObjectItemCaseSensitive(root, "capabilities");
    out->forward_only = cJSON_IsArray(capabilities) && !lists(capabilities, "backward");
    out->takes_ahead = cJSON_IsArray(capabilities) && lists(capabilities, "ahead");
    (void)snprintf(out->name, sizeof out->name, "%s", cJSON_IsString(name) ? name->valuestring : "");
    text_tidy(out->name);
    cJSON_Delete(root);
    return st;
}

/* --- replies ------------------------------------------------------------------------------------------ */

#define INVALID(...) status_error(STATUS_BAD_INPUT, "the worker's reply: " __VA_ARGS__)

static bool read_count(uint64_t *out, const cJSON *node)
{
    if (!cJSON_IsNumber(node) || node->valuedouble < 0 || node->valuedouble > (double)EXACT ||
        node->valuedouble != floor(node->valuedouble))
        return false;
    *out = (uint64_t)node->valuedouble;
    return true;
}

static struct status read_tensor(struct value *out, struct arena *arena,
                                 const struct worker_memory *memory, const cJSON *node)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(node, "dtype");
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(node, "shape"), *extent;
    int64_t extents[TENSOR_MAX_RANK];
    uint64_t offset, number;
    size_t n, bytes;
    int rank = 0;

    enum dtype dtype = cJSON_IsString(name) ? dtype_from_name(name->valuestring) : DT_NONE;
    if (dtype == DT_NONE) return INVALID("a tensor without a known dtype");
    if (!cJSON_IsArray(shape) || cJSON_GetArraySize(shape) > TENSOR_MAX_RANK)
        return INVALID("a tensor without a shape of at most %d dimensions", TENSOR_MAX_RANK);
    for (extent = shape->child; extent; extent = extent->next) {
        if (!read_count(&number, extent)) return INVALID("a shape that is not of whole numbers");
        extents[rank++] = (int64_t)number;
    }
    if (!shape_elements(&n, rank, extents) || !size_multiply(&bytes, n, dtype_info(dtype)->bytes))
        return INVALID("a shape that is too large");
    if (!read_count(&offset, cJSON_GetObjectItemCaseSensitive(node, "offset")))
        return INVALID("a tensor without an offset");
    uint64_t end = memory->bytes < memory->limit ? memory->bytes : memory->limit;
    if (bytes && (offset < memory->first || offset > end || bytes > end - offset))
        return INVALID("a tensor outside the shared memory");
    struct tensor *tensor = arena_allocate(arena, sizeof *tensor);
    if (!tensor) return status_no_memory(sizeof *tensor);
    TRY(tensor_create(tensor, arena, dtype, rank, extents));
    if (bytes) memcpy(tensor->data, memory->base + offset, bytes);
    *out = (struct value){ .kind = VALUE_TENSOR, .tensor = { .tensor = tensor } };
    return status_ok();
}

/* {"int": "123"}, {"float": "nan"}, {"dtype": "torch.float32"}. */
static struct status read_named(struct value *out, const cJSON *node)
{
    const char *key = node->string, *text = node->valuestring;
    char *end;
    errno = 0;
    if (!strcmp(key, "int")) {
        *out = (struct value){ .kind = VALUE_INT, .integer = strtoll(text, &end, 10) };
        return *text && !*end && !errno ? status_ok() : INVALID("\"%.40s\" is not an int", text);
    }
    if (!strcmp(key, "float")) {
        *out = (struct value){ .kind = VALUE_FLOAT, .real = strtod(text, &end) };
        return *text && !*end ? status_ok() : INVALID("\"%.40s\" is not a float", text);
    }
    if (!strcmp(key, "dtype")) {
        *out = (struct value){ .kind = VALUE_DTYPE, .dtype = dtype_from_name(text) };
        return out->dtype != DT_NONE ? status_ok() : INVALID("\"%.40s\" is not a dtype", text);
    }
    return INVALID("\"%.40s\" is not a kind of value", key);
}

static struct status read_value(struct value *out, struct arena *arena,
                                const struct worker_memory *memory, const cJSON *node)
{
    *out = (struct value){ .kind = VALUE_NONE };
    if (cJSON_IsNull(node)) return status_ok();
    if (cJSON_IsBool(node)) {
        *out = (struct value){ .kind = VALUE_BOOL, .boolean = cJSON_IsTrue(node) };
        return status_ok();
    }
    if (cJSON_IsNumber(node)) {
        /* Floats come as {"float": "..."}: the JSON library does not keep 2 and 2.0 apart. */
        double x = node->valuedouble;
        if (x == floor(x) && fabs(x) <= (double)EXACT)
            *out = (struct value){ .kind = VALUE_INT, .integer = (int64_t)x };
        else *out = (struct value){ .kind = VALUE_FLOAT, .real = x };
        return status_ok();
    }
    if (cJSON_IsString(node)) {
        char *copy = arena_copy_string(arena, node->valuestring);
        if (!copy) return status_no_memory(0);
        *out = (struct value){ .kind = VALUE_STRING, .string = copy };
        return status_ok();
    }
    if (!cJSON_IsObject(node) || !node->child || node->child->next)
        return INVALID("an output that is neither a value nor an object with one key");
    if (!strcmp(node->child->string, "tensor"))
        return read_tensor(out, arena, memory, node->child);
    if (!cJSON_IsString(node->child)) return INVALID("a value without its text");
    return read_named(out, node->child);
}

static struct status read_list(struct value *out, struct arena *arena,
                               const struct worker_memory *memory, const cJSON *list)
{
    const cJSON *node;
    size_t i = 0;
    struct value result = { .kind = VALUE_LIST };
    if (!cJSON_IsArray(list)) return INVALID("\"outputs\" or \"gradients\" is not a list");
    result.list.count = (size_t)cJSON_GetArraySize(list);
    result.list.items = arena_allocate_zeroed(arena, result.list.count, sizeof(struct value));
    if (!result.list.items) return status_no_memory(result.list.count * sizeof(struct value));
    for (node = list->child; node; node = node->next)
        TRY(read_value(&result.list.items[i++], arena, memory, node));
    *out = result;
    return status_ok();
}

/* The text of "skip" or "error" as a status. */
static bool read_refusal(struct status *out, const cJSON *object)
{
    static const struct {
        const char *key;
        enum status_code code;
    } table[] = { { "skip", STATUS_SKIP }, { "error", STATUS_DEVICE } };
    /* clang-format on */
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const cJSON *node = cJSON_GetObjectItemCaseSensitive(object, table[i].key);
        if (!cJSON_IsString(node)) continue;
        *out = status_error(table[i].code, "%s", node->valuestring);
        return true;
    }
    return false;
}

static struct status read_reply(struct device_result *out, struct worker_reply *reply,
                                struct arena *arena, const struct worker_memory *memory,
                                const cJSON *root, uint64_t number, bool want_gradients)
{
    uint64_t answered;
    struct status refusal;
    const cJSON *gradients = cJSON_GetObjectItemCaseSensitive(root, "gradients");

    reply->restart = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, "restart"));
    if (!read_count(&answered, cJSON_GetObjectItemCaseSensitive(root, "run")) || answered != number)
        return INVALID("it does not answer request %llu", (unsigned long long)number);
    if (read_refusal(&refusal, root)) return refusal;
    TRY(read_list(&out->outputs, arena, memory, cJSON_GetObjectItemCaseSensitive(root, "outputs")));
    if (!want_gradients) return status_ok();
    if (gradients && !cJSON_IsNull(gradients))
        return read_list(&out->gradients, arena, memory, gradients);
    if (!read_refusal(&out->backward, cJSON_GetObjectItemCaseSensitive(root, "backward")))
        return INVALID("neither \"gradients\" nor a reason in \"backward\"");
    return status_ok();
}

struct status worker_read_reply(struct device_result *out, struct worker_reply *reply,
                                struct arena *arena, const struct worker_memory *memory,
                                const char *line, size_t bytes, uint64_t number,
                                bool want_gradients)
{
    *out = (struct device_result){ .gradients = { .kind = VALUE_NONE } };
    *reply = (struct worker_reply){ false };
    cJSON *root;
    struct status parsed = json_tree_parse(&root, NULL, line, bytes);
    if (parsed.code == STATUS_NO_MEMORY) return parsed;
    if (!root && !bytes) return INVALID("an empty line");
    if (!root) return INVALID("not JSON: %.*s", bytes < 60 ? (int)bytes : 60, line);
    struct status st = cJSON_IsObject(root)
                           ? read_reply(out, reply, arena, memory, root, number, want_gradients)
                           : INVALID("not an object");
    cJSON_Delete(root);
    return st;
}
