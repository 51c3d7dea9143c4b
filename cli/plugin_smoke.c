/* Makes the smallest call that a kernel's manifest allows, and runs it. */
#include "cli/plugin_smoke.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "core/checked.h"
#include "runner/devices/plugin/plugin_bind.h"
#include "runner/devices/plugin/plugin_expression.h"

enum { EXTENT = 4, RANK_MOST = 5, ELEMENTS_MOST = 1 << 20 };

/* --- tensors ------------------------------------------------------------------------------------- */

static struct status make_tensor(struct value *out, struct arena *arena, enum dtype dtype, int rank,
                                 const int64_t *shape)
{
    struct tensor *tensor = arena_allocate(arena, sizeof *tensor);
    struct tensor_record *record = arena_allocate_zeroed(arena, 1, sizeof *record);
    if (!tensor || !record) return status_no_memory(sizeof *record);
    TRY(tensor_create(tensor, arena, dtype, rank, shape));
    size_t n = tensor_elements(tensor), width = dtype_info(dtype)->bytes;
    for (size_t i = 0; i < n; i++) {
        double pair[2] = { dtype_is_integral(dtype) ? (double)(i % EXTENT)
                                                    : 0.1 + 0.05 * (double)(i * 7 % 17),
                           0 };
        dtype_from_double((unsigned char *)tensor->data + i * width, dtype, pair, 1);
    }
    record->dtype = dtype;
    record->dtype_name = dtype_info(dtype)->name;
    record->rank = rank;
    memcpy(record->shape, shape, (size_t)rank * sizeof *shape);
    record->requires_grad = dtype_is_float(dtype) || dtype_is_complex(dtype);
    *out = (struct value){ .kind = VALUE_TENSOR, .tensor = { record, tensor } };
    return status_ok();
}

/* "float32[2, 3]": false when the text is something else. */
static bool read_tensor_text(enum dtype *dtype, int *rank, int64_t *shape, const char *text)
{
    char name[32];
    size_t length = strcspn(text, "["), elements = 0;
    if (!text[length] || length >= sizeof name) return false;
    memcpy(name, text, length);
    name[length] = '\0';
    *dtype = dtype_from_name(name);
    if (*dtype == DT_NONE) return false;
    *rank = 0;
    const char *at = text + length + 1;
    while (*at != ']') {
        char *end;
        if (*rank == TENSOR_MAX_RANK) return false;
        shape[(*rank)++] = strtoll(at, &end, 10);
        if (end == at) return false;
        at = end + strspn(end, " ");
        if (*at == ',') at += 1 + strspn(at + 1, " ");
        else if (*at != ']') return false;
    }
    return !at[1] && shape_elements(&elements, *rank, shape) && elements <= ELEMENTS_MOST;
}

/* --- a described call ------------------------------------------------------------------------------- */

static struct status read_smoke(struct value *out, struct arena *arena,
                                const struct manifest *manifest, const cJSON *node);

static struct status read_smoke_list(struct value *out, struct arena *arena,
                                     const struct manifest *manifest, const cJSON *node)
{
    const cJSON *child;
    size_t i = 0, count = (size_t)cJSON_GetArraySize(node);
    *out = (struct value){ .kind = VALUE_LIST, .list = { .count = count } };
    out->list.items = arena_allocate_zeroed(arena, count, sizeof(struct value));
    if (!out->list.items) return status_no_memory(count * sizeof(struct value));
    for (child = node->child; child; child = child->next)
        TRY(read_smoke(&out->list.items[i++], arena, manifest, child));
    return status_ok();
}

static struct status read_smoke(struct value *out, struct arena *arena,
                                const struct manifest *manifest, const cJSON *node)
{
    enum dtype dtype;
    int rank;
    int64_t shape[TENSOR_MAX_RANK];
    *out = (struct value){ .kind = VALUE_NONE };
    if (cJSON_IsBool(node))
        *out = (struct value){ .kind = VALUE_BOOL, .boolean = cJSON_IsTrue(node) };
    else if (cJSON_IsNumber(node) && fabs(node->valuedouble) < 0x1p53 &&
             node->valuedouble == floor(node->valuedouble))
        *out = (struct value){ .kind = VALUE_INT, .integer = (int64_t)node->valuedouble };
    else if (cJSON_IsNumber(node))
        *out = (struct value){ .kind = VALUE_FLOAT, .real = node->valuedouble };
    else if (cJSON_IsArray(node)) return read_smoke_list(out, arena, manifest, node);
    else if (cJSON_IsString(node) && read_tensor_text(&dtype, &rank, shape, node->valuestring))
        return make_tensor(out, arena, dtype, rank, shape);
    else if (cJSON_IsString(node))
        *out = (struct value){ .kind = VALUE_STRING, .string = node->valuestring };
    else if (!cJSON_IsNull(node))
        return config_json_fault(
            &manifest->file, node,
            "a smoke argument is \"float32[2, 3]\", a number, a bool, a string, "
            "null or a list of these");
    return status_ok();
}

/* All named parameters as keyword arguments; "*rest" is filled positionally. */
static struct status described_case(struct api_case *c, struct arena *arena,
                                    const struct manifest *manifest,
                                    const struct manifest_kernel *kernel)
{
    const cJSON *child;
    size_t count = (size_t)cJSON_GetArraySize(kernel->smoke), i = 0;
    c->kwargs.list.items = arena_allocate_zeroed(arena, count, sizeof(struct value));
    c->kwargs.list.keys = arena_allocate_zeroed(arena, count, sizeof(char *));
    if (!c->kwargs.list.items || !c->kwargs.list.keys) return status_no_memory(0);
    for (child = kernel->smoke->child; child; child = child->next) {
        struct value value;
        TRY(read_smoke(&value, arena, manifest, child));
        bool rest = kernel->n_parameters == 1 && kernel->parameters[0].rest &&
                    !strcmp(kernel->parameters[0].name, child->string);
        if (rest && value.kind == VALUE_LIST) {
            c->args = value;
            continue;
        }
        c->kwargs.list.keys[i] = child->string;
        c->kwargs.list.items[i++] = value;
    }
    c->kwargs.list.count = i;
    return status_ok();
}

/* --- a call made up ------------------------------------------------------------------------------------ */

/* Does an expression ask for what only tensors have, of this name? */
static bool asks_for_tensor(const char *text, const char *name)
{
    static const char *const functions[] = { "shape",   "rank",    "dtype",    "numel",
                                             "leading", "strides", "itemsize", "item" };
    char call[160];
    for (size_t i = 0; text && i < sizeof functions / sizeof *functions; i++) {
        (void)snprintf(call, sizeof call, "%s(%s)", functions[i], name);
        if (strstr(text, call)) return true;
    }
    return false;
}

/* Does the forward direction of a kernel? */
static bool function_uses_tensor(const struct manifest_function *f, const char *name)
{
    for (size_t i = 0; i < f->n_lets; i++)
        if (asks_for_tensor(f->lets[i].text, name)) return true;
    for (size_t i = 0; i < f->n_outputs; i++) {
        const struct manifest_output *o = &f->outputs[i];
        if (asks_for_tensor(o->shape, name) || asks_for_tensor(o->dtype, name) ||
            asks_for_tensor(o->returns, name))
            return true;
    }
    for (size_t i = 0; i < f->steps.count; i++)
        for (size_t k = 0; k < f->steps.items[i].count; k++) {
            const struct manifest_argument *a = &f->steps.items[i].arguments[k];
            bool tensor = a->role == ROLE_DATA || a->role == ROLE_ELEMENT || a->role == ROLE_WRAP;
            if (a->text && ((tensor && !strcmp(a->text, name)) || asks_for_tensor(a->text, name)))
                return true;
        }
    return false;
}

/* Does any text of the kernel have the name? A parameter that none has may be anything. */
static bool json_mentions(const cJSON *node, const char *name)
{
    if (cJSON_IsString(node) && strstr(node->valuestring, name)) return true;
    for (const cJSON *child = node->child; child; child = child->next)
        if (json_mentions(child, name)) return true;
    return false;
}

static bool kernel_mentions(const struct manifest_kernel *kernel, const char *name)
{
    for (const cJSON *child = kernel->node->child; child; child = child->next)
        if (strcmp(child->string, "parameters") != 0 && strcmp(child->string, "apis") != 0 &&
            json_mentions(child, name))
            return true;
    return false;
}

/* What arguments of these names are usually given. */
static bool usual_value(struct value *out, const char *name)
{
    static const struct {
        const char *name;
        int64_t value;
    } usual[] = { { "dim", -1 }, { "axis", -1 } };
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (!strcmp(usual[i].name, name)) {
            *out = (struct value){ .kind = VALUE_INT, .integer = usual[i].value };
            return true;
        }
    return false;
}

static struct status made_up_case(struct api_case *c, struct arena *arena,
                                  const struct manifest_kernel *kernel, enum dtype dtype, int rank)
{
    static const int64_t shape[RANK_MOST] = { EXTENT, EXTENT, EXTENT, EXTENT, EXTENT };
    size_t count = kernel->n_parameters, n = 0;
    c->kwargs.list.items = arena_allocate_zeroed(arena, count, sizeof(struct value));
    c->kwargs.list.keys = arena_allocate_zeroed(arena, count, sizeof(char *));
    if (!c->kwargs.list.items || !c->kwargs.list.keys) return status_no_memory(0);
    for (size_t i = 0; i < count; i++) {
        const struct manifest_parameter *p = &kernel->parameters[i];
        bool tensor = asks_for_tensor(kernel->when, p->name) ||
                      function_uses_tensor(&kernel->forward, p->name);
        if (p->rest || p->fallback) continue;
        c->kwargs.list.keys[n] = p->name;
        if (!tensor && !kernel_mentions(kernel, p->name)) {
            c->kwargs.list.items[n++] = (struct value){ .kind = VALUE_NONE };
            continue;
        }
        if (!tensor && usual_value(&c->kwargs.list.items[n], p->name)) {
            n++;
            continue;
        }
        if (!tensor)
            return status_error(STATUS_SKIP, "give it a \"smoke\": what to pass as %s is not clear",
                                p->name);
        TRY(make_tensor(&c->kwargs.list.items[n++], arena, dtype, rank, shape));
    }
    c->kwargs.list.count = n;
    return status_ok();
}

/* --- both ---------------------------------------------------------------------------------------------- */

/* The group of a kernel of "*.name": one in which there is something to judge it by. */
static const char *group_of(const char *name)
{
    static const char *const groups[] = { "Torch", "Functional", "Tensor", "NPU", "Aten" };
    struct bench_entry entry;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (bench_find_entry(&entry, groups[i], name)) return groups[i];
    return groups[0];
}

/* A call of the kernel's first API, which is "Type.name" or "*.name". */
static struct status start_case(struct api_case *c, struct arena *arena,
                                const struct manifest *manifest,
                                const struct manifest_kernel *kernel)
{
    const char *api = kernel->apis[0], *dot = strchr(api, '.');
    memset(c, 0, sizeof *c);
    c->type = api[0] == '*' ? group_of(dot + 1) : arena_copy_bytes(arena, api, (size_t)(dot - api));
    c->api = dot + 1;
    if (c->type)
        c->full_name =
            arena_format(arena, "%s.%s.%zu", c->type, c->api, (size_t)(kernel - manifest->kernels));
    c->args.kind = c->outputs.kind = c->cotangents.kind = c->gradients.kind = VALUE_LIST;
    c->kwargs.kind = VALUE_DICT;
    return c->full_name ? status_ok() : status_no_memory(0);
}

/* The tensors that come first by place: manifests need not have their names of the API. What follows
 * may be keyword-only there. */
static struct status place_arguments(struct api_case *c, struct arena *arena,
                                     const struct manifest_kernel *kernel)
{
    if (c->args.list.count) return status_ok(); /* all of them are */
    struct value *items = arena_allocate_zeroed(arena, kernel->n_parameters, sizeof *items);
    if (!items) return status_no_memory(kernel->n_parameters * sizeof *items);
    c->args.list.items = items;
    for (size_t i = 0; i < kernel->n_parameters; i++) {
        const struct value *given = value_find(&c->kwargs, kernel->parameters[i].name);
        if (!given || given->kind != VALUE_TENSOR) break;
        items[c->args.list.count++] = *given;
        size_t at = (size_t)(given - c->kwargs.list.items), rest = --c->kwargs.list.count - at;
        memmove(c->kwargs.list.items + at, given + 1, rest * sizeof *given);
        memmove(c->kwargs.list.keys + at, c->kwargs.list.keys + at + 1, rest * sizeof(char *));
    }
    return status_ok();
}

/* Is it this kernel that the manifest chooses for the call? STATUS_SKIP with the reason when not. */
static struct status choose(const struct manifest *manifest, const struct manifest_kernel *kernel,
                            const struct api_case *c, struct arena *arena)
{
    struct binding *binding = arena_allocate_zeroed(arena, 1, sizeof *binding);
    if (!binding) return status_no_memory(sizeof *binding);
    struct status st = binding_open(binding, arena, manifest, c);
    if (!st.code && binding->kernel != kernel)
        st = status_error(STATUS_SKIP, "the kernel of line %d takes the call",
                          config_json_line(&manifest->file, binding->kernel->node));
    binding_close(binding);
    return st;
}

static const enum dtype dtypes[] = { DT_F32, DT_F16, DT_BF16, DT_F64, DT_I64, DT_I32, DT_BOOL };

size_t smoke_attempts(const struct manifest_kernel *kernel)
{
    return kernel->smoke ? 1 : RANK_MOST * sizeof dtypes / sizeof *dtypes;
}

struct status smoke_case(struct api_case *out, struct arena *arena, const struct manifest *manifest,
                         const struct manifest_kernel *kernel, size_t attempt)
{
    TRY(start_case(out, arena, manifest, kernel));
    if (kernel->smoke) TRY(described_case(out, arena, manifest, kernel));
    else
        TRY(made_up_case(out, arena, kernel, dtypes[attempt / RANK_MOST],
                         (int)(attempt % RANK_MOST) + 1));
    TRY(place_arguments(out, arena, kernel));
    struct status st = choose(manifest, kernel, out, arena);
    if (st.code != STATUS_SKIP) return st;
    return kernel->smoke
               ? status_error(STATUS_SKIP, "its \"smoke\" is no call of this kernel: %s", st.text)
               : status_error(
                     STATUS_SKIP,
                     "give it a \"smoke\": no tensors of extent %d fulfil its condition (%s)",
                     EXTENT, st.text);
}
