/* The choice is made once, from few facts; what follows from it stands in the value. */
#include "runner/dump_framework.h"

#include <string.h>
#include <strings.h>

/* ---- the choice --------------------------------------------------------------------------- */

static bool has_calls_of(const struct dump *dump, const char *prefix)
{
    for (size_t i = 0; i < dump_count(dump); i++)
        if (!strncmp(dump_name(dump, i), prefix, strlen(prefix))) return true;
    return false;
}

/* What the dump says of itself; NULL when it says nothing. */
static struct status told_by_dump(const struct framework **out, const struct dump *dump,
                                  const char *path)
{
    const char *name = dump_header(dump)->framework;
    *out = NULL;
    if (name && *name) {
        *out = framework_find(name);
        if (*out) return status_ok();
        return status_error(
            STATUS_BAD_INPUT,
            "%s is of the framework '%s'; known are pytorch, mindspore and mindtorch", path,
            file_shown(name).text);
    }
    bool has_mint = has_calls_of(dump, "Mint.") || has_calls_of(dump, "MintFunctional.");
    if (has_mint && !has_calls_of(dump, "Torch.")) *out = &framework_mindspore;
    return status_ok();
}

/* -f mindspore stands for the dumps of MindTorch, too: one pre-check has both. */
static bool agree(const struct framework *wanted, const struct framework *told)
{
    return wanted == told || (wanted == &framework_mindspore && told == &framework_mindtorch);
}

struct status dump_framework_choose(const struct framework **out, const struct dump *dump,
                                    const char *wanted, const char *path)
{
    const struct framework *told, *typed = wanted ? framework_find(wanted) : NULL;
    TRY(told_by_dump(&told, dump, path));
    if (typed && told && !agree(typed, told))
        return status_error(STATUS_BAD_ARGUMENT, "option '-f' says %s, and %s is a dump of %s",
                            typed->name, path, told->name);
    *out = told ? told : typed ? typed : &framework_pytorch;
    return status_ok();
}

const char *dump_framework_backend(const struct framework *framework, const struct dump *dump)
{
    const struct dump_header *header = dump_header(dump);
    bool has_data = header->task ? !strcmp(header->task, "tensor") : header->has_data_dir;
    return has_data ? framework->backend_with_data : framework->backend_without_data;
}

/* ---- which entries are calls -------------------------------------------------------------- */

/* The methods that the pre-check for MindSpore runs; of Functional it runs one. */
/* clang-format off */
static const char *const listed_methods[] = {
    "add", "add_", "addmm_", "all", "allclose", "any", "bool", "byte", "ceil", "clamp", "clamp_", "clone",
    "contiguous", "copy_", "cos", "cumprod", "expand_as", "fill_", "flatten", "float", "floor_", "half",
    "int", "is_contiguous", "isnan", "item", "log", "log2", "long", "masked_fill", "max", "mean", "min",
    "numel", "numpy", "repeat", "repeat_interleave", "reshape", "round", "select", "sin", "size", "split",
    "sqrt", "square", "sub", "swapaxes", "t", "to", "tolist", "topk", "transpose", "trunc", "type",
    "type_as", "unsqueeze", "view", "view_as", "zero_",
};
static const char *const listed_functions[] = { "flash_attention_score" };
/* clang-format on */

static bool is_among(const char *name, size_t length, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == length && !strncmp(names[i], name, length)) return true;
    return false;
}
#define IS_AMONG(name, length, names) is_among(name, length, names, sizeof(names) / sizeof *(names))

/* "Tensor.add.3": its first and second segment decide. */
static bool is_listed(const char *type, size_t type_length, const char *api, size_t api_length)
{
    if (type_length == 6 && !strncmp(type, "Tensor", 6))
        return IS_AMONG(api, api_length, listed_methods);
    if (type_length == 10 && !strncmp(type, "Functional", 10))
        return IS_AMONG(api, api_length, listed_functions);
    return true;
}

/* Calls of MindSpore between ranks: they are told apart from entries that are no calls. */
static bool is_communication(const char *type, size_t length)
{
    return (length == 11 && !strncmp(type, "Distributed", length)) ||
           (length == 15 && !strncmp(type, "MintDistributed", length));
}

bool dump_framework_checks(const struct framework *framework, bool listed_only,
                           const char *full_name)
{
    if (!framework->call_types) return true;
    size_t type = strcspn(full_name, ".");
    if (!full_name[type]) return false;
    const char *api = full_name + type + 1;
    size_t length = strcspn(api, ".");
    if (!api[length]) return false; /* fewer segments than a call has */
    bool known = false;
    for (size_t i = 0; framework->call_types[i]; i++)
        known |= strlen(framework->call_types[i]) == type &&
                 !strncmp(framework->call_types[i], full_name, type);
    if (framework->has_torch_names) return known;
    if (!listed_only) return known || is_communication(full_name, type);
    return known && is_listed(full_name, type, api, length);
}

/* ---- calls -------------------------------------------------------------------------------- */

struct adoption {
    struct arena *arena;
    bool positional, failed;
};

static bool set_gradient(struct value *value, void *context)
{
    struct adoption *adoption = context;
    if (!value->tensor.record) return true;
    struct tensor_record *record = arena_allocate(adoption->arena, sizeof *record);
    adoption->failed = !record;
    if (!record) return false;
    *record = *value->tensor.record;
    record->requires_grad = adoption->positional && record->dtype != DT_NONE &&
                            dtype_is_float(record->dtype);
    value->tensor.record = record;
    return true;
}

struct status dump_framework_adopt(struct api_case *c, struct arena *arena,
                                   const struct framework *framework)
{
    struct adoption adoption = { .arena = arena, .positional = true };
    c->framework = framework;
    if (!framework->gradients_of_floating_arguments) return status_ok();
    c->gradients_of_arguments = true;
    (void)value_each_tensor(&c->args, set_gradient, &adoption);
    adoption.positional = false;
    if (!adoption.failed) (void)value_each_tensor(&c->kwargs, set_gradient, &adoption);
    return adoption.failed ? status_no_memory(sizeof(struct tensor_record)) : status_ok();
}
