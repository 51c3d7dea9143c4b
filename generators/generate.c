/* The inputs of a case, tensor by tensor: loaded or drawn, made legal by the rules of the API, and
 * changed as the pre-check changes them before it runs an API. */
#include "generators/generate.h"

#include <string.h>

#include "core/checked.h"
#include "generators/fill.h"
#include "generators/generation.h"
#include "generators/hard.h"
#include "generators/rules.h"

/* The peer changes these dtypes before it runs an API; so do we, on both sides of the
 * comparison, unless the outputs to be judged belong to the recorded bits. */
static const struct conversion {
    const char *api;
    enum dtype from, to;
    bool first_argument_only;
} conversions[] = {
    { "cross_entropy", DT_I32, DT_I64, false },
    { "histc", DT_I64, DT_F32, false },
    { "histc", DT_I32, DT_F32, true },
    { "histc", DT_I8, DT_F32, true },
};

/* APIs whose float32 tensors are rounded to HF32, the format of the matrix unit. */
static const char *const hf32_apis[] = { "conv1d", "conv2d" };

#define COUNT(ARRAY) (sizeof(ARRAY) / sizeof *(ARRAY))

const char *const *input_source_names(void)
{
    static const char *const names[] = {
        [INPUTS_RECORDED] = "recorded",
        [INPUTS_RANDOM] = "random",
        [INPUTS_HARD] = "hard",
        [INPUTS_HARD_SIZES] = "hard-sizes",
        NULL,
    };
    return names;
}

enum input_source input_source_from_name(const char *name)
{
    const char *const *names = input_source_names();
    int source = 0;
    while (name && names[source] && strcmp(names[source], name) != 0) source++;
    return names[source] ? (enum input_source)source : INPUTS_RECORDED;
}

/* ---- one tensor --------------------------------------------------------------------- */

static bool is_cotangent(const struct input *input)
{
    return !strncmp(input->path, "cotangent", 9);
}

/* The dtype in which a tensor of recorded dtype `dtype` is passed. */
static enum dtype passed_dtype(const char *api, bool first_argument, enum dtype dtype)
{
    for (size_t i = 0; i < COUNT(conversions); i++)
        if (dtype == conversions[i].from && !strcmp(api, conversions[i].api) &&
            (first_argument || !conversions[i].first_argument_only))
            return conversions[i].to;
    return dtype;
}

static enum dtype dtype_for(const struct generation *generation, const struct input *input)
{
    enum dtype recorded = input->value->tensor.record->dtype;
    if (generation->options->keep_recorded || is_cotangent(input)) return recorded;
    return passed_dtype(generation->api_case->api, !strcmp(input->path, "input.0"), recorded);
}

static struct status convert_loaded(struct tensor *tensor, struct arena *arena, enum dtype dtype)
{
    struct tensor dense, converted;
    size_t n = tensor_elements(tensor);

    TRY(tensor_densify(&dense, arena, tensor));
    TRY(tensor_create(&converted, arena, dtype, dense.rank, dense.shape));
    if (dtype_is_integral(dtype)) dtype_to_int64(converted.data, dense.data, dense.dtype, n);
    else dtype_to_float(converted.data, dense.data, dense.dtype, n);
    *tensor = converted;
    return status_ok();
}

static struct status load(struct generation *generation, struct input *input, struct tensor *tensor,
                          const struct dump *dump)
{
    enum dtype recorded = input->value->tensor.record->dtype, passed = dtype_for(generation, input);

    TRY(dump_load_tensor(tensor, generation->arena, dump, input->value->tensor.record));
    if (passed == recorded || tensor->dtype != recorded) return status_ok();
    return convert_loaded(tensor, generation->arena, passed);
}

static struct status draw(struct generation *generation, struct input *input, struct tensor *tensor)
{
    const struct tensor_record *record = input->value->tensor.record;
    enum dtype dtype = dtype_for(generation, input);

    TRY(tensor_create(tensor, generation->arena, dtype, record->rank, record->shape));
    TRY(range_of_record(&input->range, record, dtype, tensor_elements(tensor)));
    input->key = fill_key(generation->options->seed, generation->drawn_as, input->path);
    input->generated = true;
    fill_tensor(tensor, &input->range, input->key, generation->api_case->help);
    if (generation->options->source >= INPUTS_HARD) hard_fill(tensor, &input->range, input->key);
    if (input->range.guessed)
        generation_note(generation,
                        "%s: the recorded range is not finite; the NaN or infinity is placed "
                        "once and the other elements are drawn from [%.6g, %.6g]",
                        input->path, input->range.lo, input->range.hi);
    return status_ok();
}

static struct status make_input(struct generation *generation, struct input *input,
                                const struct dump *dump)
{
    const struct tensor_record *record = input->value->tensor.record;

    if (!record) return status_ok(); /* computed, not recorded */
    if (record->dtype == DT_NONE)
        return status_error(STATUS_SKIP, "the dtype %s is not supported",
                            record->dtype_name ? record->dtype_name : "of the record");
    struct tensor *tensor = arena_allocate(generation->arena, sizeof *tensor);
    if (!tensor) return status_no_memory(sizeof *tensor);
    bool stored = generation->options->source == INPUTS_RECORDED && record->data_name && dump &&
                  dump_header(dump)->has_data_dir;
    TRY(stored ? load(generation, input, tensor, dump) : draw(generation, input, tensor));
    if (dtype_for(generation, input) != record->dtype)
        generation_note(generation, "%s: %s converted to %s", input->path,
                        dtype_info(record->dtype)->name, dtype_info(tensor->dtype)->name);
    input->value->tensor.tensor = tensor;
    return status_ok();
}

/* ---- HF32 --------------------------------------------------------------------------- */

/* Keep 11 of the 23 fraction bits, rounding half up in magnitude. */
static void round_to_hf32(uint32_t *out, const uint32_t *in, size_t n)
{
    for (size_t i = 0; i < n; i++) out[i] = ((in[i] >> 11) + 1) >> 1 << 12;
}

static bool uses_hf32(const struct generation *generation)
{
    if (generation->options->keep_recorded) return false;
    for (size_t i = 0; i < COUNT(hf32_apis); i++)
        if (!strcmp(generation->api_case->api, hf32_apis[i])) return true;
    return false;
}

static struct status apply_hf32(struct generation *generation)
{
    bool any = false;

    if (!uses_hf32(generation)) return status_ok();
    for (size_t i = 0; i < generation->input_count; i++) {
        struct input *input = &generation->inputs[i];
        struct tensor *tensor = input->value->tensor.tensor, dense, copy;
        if (!tensor || tensor->dtype != DT_F32) continue;
        TRY(tensor_densify(&dense, generation->arena, tensor));
        /* Loaded elements are a file mapping that must not be written. */
        if (input->generated) copy = dense;
        else TRY(tensor_create(&copy, generation->arena, DT_F32, dense.rank, dense.shape));
        round_to_hf32(copy.data, dense.data, tensor_elements(&dense));
        *tensor = copy;
        any = true;
    }
    if (any) generation_note(generation, "float32 tensors rounded to HF32 (11 fraction bits)");
    return status_ok();
}

/* ---- all tensors of a case ---------------------------------------------------------- */

/* List the tensors inside `value` with their paths. */
static struct status list_inputs(struct generation *generation, struct value *value,
                                 const char *path)
{
    if (value->kind == VALUE_TENSOR) {
        struct input *input = &generation->inputs[generation->input_count++];
        *input = (struct input){ .value = value, .path = path };
        return status_ok();
    }
    if (!value_is_sequence(value) || value_count_tensors(value) == 0) return status_ok();
    for (size_t i = 0; i < value->list.count; i++) {
        const char *inner =
            value->kind == VALUE_DICT
                ? arena_format(generation->arena, "%s.%s", path, value->list.keys[i])
                : arena_format(generation->arena, "%s.%zu", path, i);
        if (!inner) return status_no_memory(0);
        TRY(list_inputs(generation, &value->list.items[i], inner));
    }
    return status_ok();
}

static struct status list_all_inputs(struct generation *generation)
{
    struct api_case *c = generation->api_case;
    size_t count = value_count_tensors(&c->args) + value_count_tensors(&c->kwargs) +
                   value_count_tensors(&c->cotangents);

    generation->inputs = arena_allocate_array(generation->arena, count, sizeof *generation->inputs);
    if (!generation->inputs) return status_no_memory(count * sizeof *generation->inputs);
    TRY(list_inputs(generation, &c->args, "input"));
    TRY(list_inputs(generation, &c->kwargs, "kwargs"));
    return list_inputs(generation, &c->cotangents, "cotangent");
}

static const char *drawing_name(struct arena *arena, const struct api_case *c)
{
    const char *number = strrchr(c->full_name, '.');
    if (!c->recorded || !number) return c->full_name;
    return arena_format(arena, "%s.%s%s", c->type, c->api, number);
}

/* Can the call be checked without the input that could not be made? Its forward can without a cotangent. */
static bool leaves_a_forward(const struct input *input, struct status status)
{
    return is_cotangent(input) && (status.code == STATUS_SKIP || status.code == STATUS_BAD_INPUT);
}

/* Take all cotangents out of the call, which stand last. */
static struct status give_up_cotangents(struct generation *generation, const char *why)
{
    struct api_case *c = generation->api_case;
    c->cotangents = (struct value){ .kind = VALUE_LIST };
    c->no_cotangents = arena_copy_string(generation->arena, why);
    if (!c->no_cotangents) return status_no_memory(0);
    while (generation->input_count &&
           is_cotangent(&generation->inputs[generation->input_count - 1]))
        generation->input_count--;
    return status_ok();
}

struct status generate_inputs(struct api_case *c, struct generate_notes *notes, struct arena *arena,
                              const struct dump *dump, const struct generate_options *options)
{
    struct generation generation = {
        .api_case = c, .options = options, .notes = notes, .arena = arena, .parameters = ""
    };

    if (notes) notes->count = 0;
    generation.drawn_as = drawing_name(arena, c);
    if (!generation.drawn_as) return status_no_memory(0);
    TRY(list_all_inputs(&generation));
    for (size_t i = 0; i < generation.input_count; i++) {
        struct input *input = &generation.inputs[i];
        struct status status = make_input(&generation, input, dump);
        if (!status.code) continue;
        status = status_within(status, "%s %s", c->full_name, input->path);
        if (!leaves_a_forward(input, status)) return status;
        TRY(give_up_cotangents(&generation, status.text));
    }
    TRY(rules_apply(&generation));
    return apply_hf32(&generation);
}

/* ---- recorded results --------------------------------------------------------------- */

struct recorded_load {
    struct arena *arena;
    const struct dump *dump;
    struct status first_failure;
};

static bool load_recorded(struct value *value, void *context)
{
    struct recorded_load *job = context;
    const struct tensor_record *record = value->tensor.record;

    if (!record || !record->data_name) return true;
    struct tensor *tensor = arena_allocate(job->arena, sizeof *tensor);
    struct status status = tensor ? dump_load_tensor(tensor, job->arena, job->dump, record)
                                  : status_no_memory(sizeof *tensor);
    if (status.code == STATUS_OK) value->tensor.tensor = tensor;
    else if (job->first_failure.code == STATUS_OK) job->first_failure = status;
    return true;
}

static struct status load_all(struct value *values, struct arena *arena, const struct dump *dump)
{
    struct recorded_load job = { arena, dump, status_ok() };

    if (!dump || !dump_header(dump)->has_data_dir) return status_ok();
    (void)value_each_tensor(values, load_recorded, &job);
    return job.first_failure;
}

struct status generate_load_outputs(struct api_case *c, struct arena *arena,
                                    const struct dump *dump)
{
    return load_all(&c->outputs, arena, dump);
}

struct status generate_load_gradients(struct api_case *c, struct arena *arena,
                                      const struct dump *dump)
{
    return load_all(&c->gradients, arena, dump);
}

/* ---- memory ------------------------------------------------------------------------- */

struct byte_count {
    const char *api;
    size_t total;
    bool overflow;
};

static bool add_bytes(struct value *value, void *context)
{
    struct byte_count *count = context;
    const struct tensor_record *record = value->tensor.record;
    size_t n, bytes;

    if (!record || record->dtype == DT_NONE) return true;
    enum dtype dtype = passed_dtype(count->api, true, record->dtype);
    if (dtype_info(dtype)->bytes < dtype_info(record->dtype)->bytes) dtype = record->dtype;
    /* Rounded up to whole allocations of 64 bytes, with one for the struct tensor. */
    count->overflow = !shape_elements(&n, record->rank, record->shape) ||
                      !size_multiply(&bytes, n, dtype_info(dtype)->bytes) ||
                      !size_add(&bytes, bytes, 63 + 256 + 64) ||
                      !size_add(&count->total, count->total, bytes & ~(size_t)63);
    return !count->overflow;
}

size_t generate_input_bytes(const struct api_case *c)
{
    /* The visitor takes values that may be changed; add_bytes changes none. */
    struct api_case copy = *c;
    struct byte_count count = { c->api, rules_extra_bytes(c), false };

    bool complete = value_each_tensor(&copy.args, add_bytes, &count) &&
                    value_each_tensor(&copy.kwargs, add_bytes, &count) &&
                    value_each_tensor(&copy.cotangents, add_bytes, &count);
    return complete ? count.total : SIZE_MAX;
}
