/* The dump reader on real dumps, against an independent reading of the same text with cJSON, and
 * on made-up entries for every encoding. */
#include <check.h>
#include <cJSON.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>

#include "formats/dump.h"
#include "scratch.h"

static const char *data_path(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/dumps/%s/dump.json", PROBE_TEST_DATA, name);
    return path;
}

static struct dump *open_dump(const char *path)
{
    struct dump *dump = NULL;
    struct status status = dump_open(&dump, path);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
    return dump;
}

/* ---- real dumps against cJSON ----------------------------------------------------------- */

/* cJSON does not know NaN and infinities: put them in quotes. */
static cJSON *parse_with_cjson(const char *path)
{
    static const char *const words[] = { "-Infinity", "Infinity", "NaN" };
    size_t bytes;
    char *text = scratch_read(path, &bytes), *quoted = malloc(2 * bytes + 1), *out = quoted;
    bool in_string = false;

    for (const char *at = text; *at;) {
        size_t length = 0;
        if (*at == '"' && (at == text || at[-1] != '\\')) in_string = !in_string;
        for (int i = 0; i < 3 && !in_string && !length; i++)
            if (!strncmp(at, words[i], strlen(words[i]))) length = strlen(words[i]);
        if (length) {
            out += sprintf(out, "\"%.*s\"", (int)length, at);
            at += length;
        } else {
            *out++ = *at++;
        }
    }
    *out = '\0';
    cJSON *tree = cJSON_Parse(quoted);
    ck_assert_ptr_nonnull(tree);
    free(quoted);
    free(text);
    return tree;
}

static double real_of(const cJSON *item)
{
    if (cJSON_IsNumber(item)) return item->valuedouble;
    ck_assert(cJSON_IsString(item));
    return strtod(item->valuestring, NULL); /* "NaN", "Infinity", "-Infinity" */
}

static void compare_reals(double got, const cJSON *want)
{
    double x = real_of(want);
    ck_assert_msg(got == x || (isnan(got) && isnan(x)), "%a is not %a", got, x);
}

static void compare_statistic(const struct statistic *got, const cJSON *object, const char *key)
{
    const cJSON *want = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!want || cJSON_IsNull(want)) {
        ck_assert_int_eq(got->kind, STATISTIC_ABSENT);
    } else if (cJSON_IsBool(want)) {
        ck_assert_int_eq(got->kind, STATISTIC_BOOL);
        ck_assert_double_eq(got->number, cJSON_IsTrue(want));
    } else {
        ck_assert_int_eq(got->kind, STATISTIC_NUMBER);
        compare_reals(got->number, want);
    }
}

static void compare_text(const char *got, const cJSON *object, const char *key)
{
    const cJSON *want = cJSON_GetObjectItemCaseSensitive(object, key);
    if (cJSON_IsString(want)) ck_assert_str_eq(got, want->valuestring);
    else ck_assert_ptr_null(got);
}

static void compare_tensor(const struct tensor_record *got, const cJSON *want)
{
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(want, "shape");
    compare_text(got->dtype_name, want, "dtype");
    ck_assert_str_eq(dtype_info(got->dtype)->name, got->dtype_name);
    ck_assert_int_eq(got->rank, cJSON_GetArraySize(shape));
    for (int i = 0; i < got->rank; i++)
        ck_assert_int_eq(got->shape[i], (int64_t)cJSON_GetArrayItem(shape, i)->valuedouble);
    compare_statistic(&got->max, want, "Max");
    compare_statistic(&got->min, want, "Min");
    compare_statistic(&got->mean, want, "Mean");
    compare_statistic(&got->norm, want, "Norm");
    ck_assert_int_eq(got->requires_grad, cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(
                                             want, "requires_grad")));
    compare_text(got->data_name, want, "data_name");
    compare_text(got->md5, want, "md5");
    ck_assert(!got->is_parameter);
}

static void compare_value(const struct value *got, const cJSON *want);

static void compare_list(const struct value *got, const cJSON *want)
{
    ck_assert_uint_eq(got->list.count, (size_t)cJSON_GetArraySize(want));
    size_t i = 0;
    for (const cJSON *item = want->child; item; item = item->next, i++) {
        if (got->kind == VALUE_DICT) ck_assert_str_eq(got->list.keys[i], item->string);
        compare_value(&got->list.items[i], item);
    }
}

static void compare_encoded(const struct value *got, const char *type, const cJSON *want)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(want, "value");

    if (!strcmp(type, "torch.Tensor")) {
        ck_assert_int_eq(got->kind, VALUE_TENSOR);
        ck_assert_ptr_null(got->tensor.tensor);
        compare_tensor(got->tensor.record, want);
    } else if (!strcmp(type, "int")) {
        ck_assert_int_eq(got->kind, VALUE_INT);
        ck_assert_int_eq(got->integer, (int64_t)value->valuedouble);
    } else if (!strcmp(type, "float")) {
        ck_assert_int_eq(got->kind, VALUE_FLOAT);
        compare_reals(got->real, value);
    } else if (!strcmp(type, "bool")) {
        ck_assert_int_eq(got->kind, VALUE_BOOL);
        ck_assert_int_eq(got->boolean, cJSON_IsTrue(value));
    } else if (!strcmp(type, "str")) {
        ck_assert_int_eq(got->kind, VALUE_STRING);
        ck_assert_str_eq(got->string, value->valuestring);
    } else if (!strcmp(type, "torch.dtype")) {
        ck_assert_int_eq(got->kind, VALUE_DTYPE);
        ck_assert_str_eq(dtype_info(got->dtype)->name, value->valuestring);
    } else if (!strcmp(type, "torch.memory_format")) {
        ck_assert_int_eq(got->kind, VALUE_MEMORY_FORMAT);
        compare_text(got->string, want, "format");
    } else if (!strcmp(type, "slice")) {
        ck_assert_int_eq(got->kind, VALUE_SLICE);
        compare_list(got, value);
    } else {
        ck_assert_str_eq(type, "ellipsis");
        ck_assert_int_eq(got->kind, VALUE_ELLIPSIS);
    }
}

static void compare_value(const struct value *got, const cJSON *want)
{
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(want, "type");

    if (cJSON_IsNull(want)) {
        ck_assert_int_eq(got->kind, VALUE_NONE);
    } else if (cJSON_IsArray(want)) {
        ck_assert_int_eq(got->kind, VALUE_LIST);
        compare_list(got, want);
    } else if (cJSON_IsNumber(want)) { /* the parts of slices */
        ck_assert_int_eq(got->kind, VALUE_INT);
        ck_assert_int_eq(got->integer, (int64_t)want->valuedouble);
    } else if (cJSON_IsString(type)) {
        compare_encoded(got, type->valuestring, want);
    } else if (!want->child) {
        ck_assert_int_eq(got->kind, VALUE_UNSUPPORTED);
    } else {
        ck_assert_int_eq(got->kind, VALUE_DICT);
        compare_list(got, want);
    }
}

static const struct {
    const char *name;
    size_t calls; /* counted with grep: keys ending in .forward that are not of modules */
} real_dumps[] = {
    { "m1/L1_statistics", 72 },  { "m2/L1_statistics", 55 },      { "m2/L1_tensor", 55 },
    { "m2/mix_statistics", 55 }, { "m2_bf16/L1_statistics", 56 }, { "m3/L1_statistics", 141 },
    { "m5x/L1_statistics", 1 },  { "m5x/L1_tensor", 1 },          { "m5a/L1_statistics", 673 },
    { "m5a/L1_tensor", 96 },
};

/* Every argument of every call of the real dumps is what cJSON reads. */
START_TEST(real_dumps_agree_with_cjson)
{
    const char *path = data_path(real_dumps[_i].name);
    struct dump *dump = open_dump(path);
    cJSON *tree = parse_with_cjson(path);
    const cJSON *data = cJSON_GetObjectItemCaseSensitive(tree, "data");
    struct arena arena = { 0 };
    size_t i = 0;

    for (const cJSON *entry = data->child; entry; entry = entry->next) {
        size_t length = strlen(entry->string);
        char backward_name[512];
        struct api_case c;
        if (strstr(entry->string, "Module") || length < 8 ||
            strcmp(entry->string + length - 8, ".forward"))
            continue;
        struct status status = dump_read_case(&c, &arena, dump, i);
        ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
        ck_assert_uint_eq(strlen(c.full_name), length - 8);
        ck_assert_int_eq(strncmp(c.full_name, entry->string, length - 8), 0);
        ck_assert_str_eq(c.full_name, dump_name(dump, i));
        ck_assert_uint_eq(c.position, i);
        ck_assert(!c.gradients_of_arguments);
        compare_list(&c.args, cJSON_GetObjectItemCaseSensitive(entry, "input_args"));
        ck_assert_int_eq(c.kwargs.kind, VALUE_DICT);
        compare_list(&c.kwargs, cJSON_GetObjectItemCaseSensitive(entry, "input_kwargs"));
        compare_list(&c.outputs, cJSON_GetObjectItemCaseSensitive(entry, "output"));
        snprintf(backward_name, sizeof backward_name, "%s.backward", c.full_name);
        const cJSON *backward = cJSON_GetObjectItemCaseSensitive(data, backward_name);
        ck_assert_int_eq(c.has_backward, backward != NULL);
        if (backward) {
            compare_list(&c.cotangents, cJSON_GetObjectItemCaseSensitive(backward, "input"));
            compare_list(&c.gradients, cJSON_GetObjectItemCaseSensitive(backward, "output"));
        }
        arena_reset(&arena);
        i++;
    }
    ck_assert_uint_eq(i, dump_count(dump));
    ck_assert_uint_eq(i, real_dumps[_i].calls);
    cJSON_Delete(tree);
    arena_release(&arena);
    dump_close(dump);
}
END_TEST

/* The name that contains "forward", whose backward ends the peer's run. */
START_TEST(names_may_contain_the_directions)
{
    struct dump *dump = open_dump(data_path("m5x/L1_statistics"));
    struct arena arena = { 0 };
    struct api_case c;
    ck_assert_int_eq(dump_read_case(&c, &arena, dump, 0).code, STATUS_OK);
    ck_assert_str_eq(c.full_name, "Functional.multi_head_attention_forward.0");
    ck_assert_str_eq(c.type, "Functional");
    ck_assert_str_eq(c.api, "multi_head_attention_forward");
    ck_assert(c.has_backward);
    arena_release(&arena);
    dump_close(dump);
}
END_TEST

START_TEST(headers_are_read)
{
    struct dump *dump = open_dump(data_path("m2/L1_tensor"));
    const struct dump_header *header = dump_header(dump);
    ck_assert_str_eq(header->task, "tensor");
    ck_assert_str_eq(header->level, "L1");
    ck_assert_str_eq(header->framework, "pytorch");
    ck_assert(header->has_data_dir);
    dump_close(dump);
    dump = open_dump(data_path("m2/mix_statistics"));
    header = dump_header(dump);
    ck_assert_str_eq(header->task, "statistics");
    ck_assert_str_eq(header->level, "mix");
    ck_assert(!header->has_data_dir);
    dump_close(dump);
}
END_TEST

/* Bytes of a case are those of its entries' text, so they add up to less than the file. */
START_TEST(case_bytes_add_up)
{
    const char *path = data_path("m1/L1_statistics");
    struct dump *dump = open_dump(path);
    struct stat info;
    size_t total = 0;
    ck_assert_int_eq(stat(path, &info), 0);
    for (size_t i = 0; i < dump_count(dump); i++) {
        ck_assert_uint_gt(dump_case_bytes(dump, i), 100);
        total += dump_case_bytes(dump, i);
    }
    ck_assert_uint_lt(total, (size_t)info.st_size);
    ck_assert_uint_gt(total, (size_t)info.st_size * 9 / 10);
    dump_close(dump);
}
END_TEST

/* ---- made-up dumps ---------------------------------------------------------------------- */

static struct scratch scratch;
static struct arena arena;
static struct dump *dump;

static void start(void)
{
    scratch = scratch_make();
    arena = (struct arena){ 0 };
    dump = NULL;
}

static void finish(void)
{
    dump_close(dump);
    arena_release(&arena);
    scratch_remove(&scratch);
}

static struct status open_text(const char *text)
{
    dump_close(dump);
    dump = NULL;
    remove(scratch_path(&scratch, "dump.json"));
    return dump_open(&dump, scratch_text(&scratch, "dump.json", text));
}

/* Open a dump of the given entries. */
static void open_entries(const char *entries)
{
    char *text = malloc(strlen(entries) + 64);
    sprintf(text, "{\"data\": {%s}}", entries);
    struct status status = open_text(text);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
    free(text);
}

/* The one argument of a call whose input_args holds just `json`. */
static struct status read_argument(struct value *out, const char *json)
{
    struct api_case c;
    char *entry = malloc(strlen(json) + 128);
    sprintf(entry, "\"Torch.f.0.forward\": {\"input_args\": [%s], \"output\": []}", json);
    open_entries(entry);
    free(entry);
    struct status status = dump_read_case(&c, &arena, dump, 0);
    if (!status.code) {
        ck_assert_uint_eq(c.args.list.count, 1);
        *out = c.args.list.items[0];
    }
    return status;
}

static struct value argument(const char *json)
{
    struct value value = { 0 };
    struct status status = read_argument(&value, json);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
    return value;
}

START_TEST(scalars_by_type)
{
    struct value v = argument("{\"type\": \"int\", \"value\": -9223372036854775808}");
    ck_assert_int_eq(v.kind, VALUE_INT);
    ck_assert_int_eq(v.integer, INT64_MIN);
    v = argument("{\"type\": \"float\", \"value\": 2}");
    ck_assert_int_eq(v.kind, VALUE_FLOAT);
    ck_assert_double_eq(v.real, 2);
    v = argument("{\"type\": \"float\", \"value\": -Infinity}");
    ck_assert_double_eq(v.real, -INFINITY);
    v = argument("{\"type\": \"float\", \"value\": \"nan\"}");
    ck_assert_int_eq(v.kind, VALUE_FLOAT);
    ck_assert(isnan(v.real));
    v = argument("{\"type\": \"bool\", \"value\": true}");
    ck_assert_int_eq(v.kind, VALUE_BOOL);
    ck_assert(v.boolean);
    v = argument("{\"type\": \"str\", \"value\": \"a\\u00e9\"}");
    ck_assert_int_eq(v.kind, VALUE_STRING);
    ck_assert_str_eq(v.string, "a\xc3\xa9");
    v = argument("{\"value\": 3, \"type\": \"int\"}"); /* in another order */
    ck_assert_int_eq(v.integer, 3);
    v = argument("{\"type\": \"int\"}"); /* no value is None, as for the peer */
    ck_assert_int_eq(v.kind, VALUE_NONE);
    ck_assert_int_eq(argument("null").kind, VALUE_NONE);
    ck_assert_int_eq(argument("7").integer, 7); /* not encoded at all */
}
END_TEST

START_TEST(numpy_scalars)
{
    struct value v = argument("{\"type\": \"float64\", \"value\": 1.5}");
    ck_assert_int_eq(v.kind, VALUE_FLOAT);
    ck_assert_double_eq(v.real, 1.5);
    v = argument("{\"type\": \"numpy.float32\", \"value\": 1}");
    ck_assert_int_eq(v.kind, VALUE_FLOAT);
    v = argument("{\"type\": \"numpy.int32\", \"value\": 5}");
    ck_assert_int_eq(v.kind, VALUE_INT);
    ck_assert_int_eq(v.integer, 5);
    v = argument("{\"type\": \"bool_\", \"value\": true}");
    ck_assert_int_eq(v.kind, VALUE_BOOL);
    v = argument("{\"type\": \"numpy.bool_\", \"value\": 0}");
    ck_assert_int_eq(v.kind, VALUE_BOOL);
    ck_assert(!v.boolean);
    v = argument("{\"type\": \"str_\", \"value\": \"x\"}");
    ck_assert_int_eq(v.kind, VALUE_STRING);
    v = argument("{\"type\": \"numpy.void\", \"value\": 1}");
    ck_assert_int_eq(v.kind, VALUE_UNSUPPORTED);
    ck_assert_str_eq(v.string, "numpy.void");
}
END_TEST

START_TEST(lists_slices_and_sizes)
{
    struct value v = argument("[1, [2, null], []]");
    ck_assert_int_eq(v.kind, VALUE_LIST);
    ck_assert_uint_eq(v.list.count, 3);
    ck_assert_int_eq(v.list.items[1].list.items[1].kind, VALUE_NONE);
    ck_assert_uint_eq(v.list.items[2].list.count, 0);
    v = argument("{\"type\": \"slice\", \"value\": [1, null, -2]}");
    ck_assert_int_eq(v.kind, VALUE_SLICE);
    ck_assert_int_eq(v.list.items[0].integer, 1);
    ck_assert_int_eq(v.list.items[1].kind, VALUE_NONE);
    ck_assert_int_eq(v.list.items[2].integer, -2);
    v = argument("{\"type\": \"torch.Size\", \"value\": [2, 3]}");
    ck_assert_int_eq(v.kind, VALUE_SIZE);
    ck_assert_int_eq(v.list.items[1].integer, 3);
    v = argument("{\"type\": \"ellipsis\", \"value\": \"...\"}");
    ck_assert_int_eq(v.kind, VALUE_ELLIPSIS);
    struct status status = read_argument(&v, "{\"type\": \"slice\", \"value\": [1, 2]}");
    ck_assert_int_eq(status.code, STATUS_SKIP);
    status = read_argument(&v, "{\"type\": \"slice\", \"value\": [1, 2, \"x\"]}");
    ck_assert_int_eq(status.code, STATUS_SKIP);
    status = read_argument(&v, "{\"type\": \"torch.Size\", \"value\": [1.5]}");
    ck_assert_int_eq(status.code, STATUS_SKIP);
}
END_TEST

START_TEST(dtypes_devices_and_formats)
{
    struct value v = argument("{\"type\": \"torch.dtype\", \"value\": \"torch.bfloat16\"}");
    ck_assert_int_eq(v.kind, VALUE_DTYPE);
    ck_assert_int_eq(v.dtype, DT_BF16);
    v = argument("{\"type\": \"torch.dtype\", \"value\": \"torch.quint8\"}");
    ck_assert_int_eq(v.kind, VALUE_UNSUPPORTED);
    ck_assert_str_eq(v.string, "torch.quint8");
    v = argument("{\"type\": \"torch.device\", \"value\": \"npu:0\"}");
    ck_assert_int_eq(v.kind, VALUE_DEVICE);
    ck_assert_str_eq(v.string, "npu:0");
    v = argument("{\"type\": \"torch.device\", \"value\": 3}");
    ck_assert_int_eq(v.kind, VALUE_DEVICE);
    ck_assert_str_eq(v.string, "3");
    v = argument("{\"type\": \"torch.memory_format\", \"format\": \"channels_last\"}");
    ck_assert_int_eq(v.kind, VALUE_MEMORY_FORMAT);
    ck_assert_str_eq(v.string, "channels_last");
}
END_TEST

START_TEST(dicts_and_unsupported_objects)
{
    struct value v = argument("{\"a\": {\"type\": \"int\", \"value\": 1}, \"b\": {\"c\": null}}");
    ck_assert_int_eq(v.kind, VALUE_DICT);
    ck_assert_int_eq(value_find(&v, "a")->integer, 1);
    ck_assert_int_eq(value_find(&v, "b")->kind, VALUE_DICT);
    ck_assert_ptr_null(value_find(&v, "c"));
    /* A key "type" that holds an encoded value does not make an encoding. */
    v = argument("{\"type\": {\"type\": \"str\", \"value\": \"x\"}}");
    ck_assert_int_eq(v.kind, VALUE_DICT);
    ck_assert_str_eq(value_find(&v, "type")->string, "x");
    ck_assert_int_eq(argument("{}").kind, VALUE_UNSUPPORTED);

    static const struct {
        const char *json, *says;
    } others[] = {
        { "{\"type\": \"numpy.ndarray\", \"dtype\": \"float32\", \"shape\": [2], \"Max\": 1}",
          "numpy.ndarray" },
        { "{\"type\": \"torch.distributed.tensor.DTensor\", \"dtype\": \"torch.float32\", "
          "\"shape\": [2], \"device_mesh\": {}, \"placements\": []}",
          "torch.distributed.tensor.DTensor" },
        { "{\"type\": \"torch._subclasses.fake_tensor.FakeTensor\", \"shape\": [2]}",
          "torch._subclasses.fake_tensor.FakeTensor" },
        { "{\"type\": \"torch.ProcessGroup\", \"group_ranks\": [0, 1], \"group_id\": \"0a1b\"}",
          "torch.ProcessGroup" },
        { "{\"class_type\": \"torch.distributed.P2POp\", \"tensor\": {}, \"op\": \"isend\"}",
          "torch.distributed.P2POp" },
        { "{\"type\": \"mindspore.Tensor\", \"dtype\": \"Float32\", \"shape\": [1]}",
          "mindspore.Tensor" },
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        v = argument(others[i].json);
        ck_assert_int_eq(v.kind, VALUE_UNSUPPORTED);
        ck_assert_str_eq(v.string, others[i].says);
    }
}
END_TEST

START_TEST(tensors_with_all_fields)
{
    struct value v = argument(
        "{\"type\": \"torch.nn.parameter.Parameter\", \"dtype\": \"torch.half\", \"shape\": [2, "
        "0], \"Max\": Infinity, \"Max_except_inf_nan\": 3.5, \"Min\": NaN, "
        "\"Min_except_inf_nan\": -1, \"Mean\": null, \"Norm\": \"x\", \"requires_grad\": true, "
        "\"md5\": \"0a1b2c3d\", \"data_name\": \"new.pt\", \"datapath\": \"old.npy\", \"new\": "
        "{\"a\": [1]}}");
    ck_assert_int_eq(v.kind, VALUE_TENSOR);
    const struct tensor_record *r = v.tensor.record;
    ck_assert(r->is_parameter);
    ck_assert_int_eq(r->dtype, DT_F16);
    ck_assert_str_eq(r->dtype_name, "torch.half");
    ck_assert_int_eq(r->rank, 2);
    ck_assert_int_eq(r->shape[1], 0);
    ck_assert_double_eq(r->max.number, INFINITY);
    ck_assert_double_eq(r->max_finite.number, 3.5);
    ck_assert_int_eq(r->min.kind, STATISTIC_NUMBER);
    ck_assert(isnan(r->min.number));
    ck_assert_double_eq(r->min_finite.number, -1);
    ck_assert_int_eq(r->mean.kind, STATISTIC_ABSENT);
    ck_assert_int_eq(r->norm.kind, STATISTIC_ABSENT);
    ck_assert(r->requires_grad);
    ck_assert_str_eq(r->md5, "0a1b2c3d");
    ck_assert_str_eq(r->data_name, "old.npy"); /* the older spelling has priority */

    v = argument("{\"type\": \"torch.Tensor\", \"dtype\": \"torch_npu.HiFloat8Tensor\", "
                 "\"shape\": [], \"Max\": true, \"Min\": false}");
    r = v.tensor.record;
    ck_assert_int_eq(r->dtype, DT_NONE);
    ck_assert_str_eq(r->dtype_name, "torch_npu.HiFloat8Tensor");
    ck_assert_int_eq(r->max.kind, STATISTIC_BOOL);
    ck_assert_double_eq(r->max.number, 1);
    ck_assert_double_eq(r->min.number, 0);
    ck_assert(!r->is_parameter);
    ck_assert_ptr_null(r->data_name);
}
END_TEST

/* Arguments that make no sense skip the call, with the place. */
static const struct {
    const char *json, *text;
} senseless[] = {
    { "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\"}", "a tensor without a shape" },
    { "{\"type\": \"torch.Tensor\", \"shape\": []}", "a tensor without a dtype" },
    { "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": [2, -1]}",
      "at input_args[0].shape[1]" },
    { "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": [2.5]}",
      "an extent that is not an integer" },
    { "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": [4294967296, "
      "4294967296]}",
      "too many elements" },
    { "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": "
      "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}",
      "more than 16 dimensions" },
    { "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": [1], \"shape\": "
      "[1]}",
      "a duplicate key" },
    { "{\"a\": 1, \"a\": 2}", "at input_args[0] (byte 57 of the dump): a duplicate key" },
    { "{\"a\": 1, \"\\u0061\": 2}", "a duplicate key" },
    { "18446744073709551616", "an integer beyond 64 bits" },
    { "{\"type\": \"str\", \"value\": \"a\\u0000b\"}", "a NUL character in a string" },
    { "{\"a\\u0000b\": 1}", "a NUL character in a key" },
};

START_TEST(senseless_arguments_skip_the_call)
{
    struct value v;
    struct status status = read_argument(&v, senseless[_i].json);
    ck_assert_int_eq(status.code, STATUS_SKIP);
    ck_assert_msg(strstr(status.text, senseless[_i].text) != NULL, "%s", status.text);
    ck_assert_int_eq(strncmp(status.text, "Torch.f.0.forward: at ", 22), 0);
}
END_TEST

/* 400 levels of lists are read, as the peer does; deeper ones end the reading at opening. */
START_TEST(arguments_nest_400_deep)
{
    char json[1024];
    memset(json, '[', 400);
    json[400] = '7';
    memset(json + 401, ']', 400);
    json[801] = '\0';
    struct value v = argument(json);
    for (int i = 0; i < 400; i++) v = v.list.items[0];
    ck_assert_int_eq(v.integer, 7);
}
END_TEST

START_TEST(both_spellings_and_missing_keys)
{
    open_entries("\"Torch.f.0.backward\": {\"grad_output\": [1, 2], \"grad_input\": [null]},"
                 "\"Torch.f.0.forward\": {\"output\": null},"
                 "\"Torch.f.1.forward\": {\"input_args\": null, \"input_kwargs\": null, "
                 "\"output\": {\"type\": \"int\", \"value\": 4}, \"is_recompute\": false},"
                 "\"Torch.f.2.backward\": {\"input\": [], \"output\": []},"
                 "\"Torch.f.1.backward\": {}");
    struct api_case c;
    ck_assert_uint_eq(dump_count(dump), 2);
    ck_assert_int_eq(dump_read_case(&c, &arena, dump, 0).code, STATUS_OK);
    ck_assert_str_eq(c.full_name, "Torch.f.0");
    ck_assert(c.has_backward);
    ck_assert_uint_eq(c.cotangents.list.count, 2);
    ck_assert_uint_eq(c.gradients.list.count, 1);
    ck_assert_uint_eq(c.args.list.count, 0);
    ck_assert_int_eq(c.args.kind, VALUE_LIST);
    ck_assert_int_eq(c.kwargs.kind, VALUE_DICT);
    ck_assert_uint_eq(c.outputs.list.count, 0);
    ck_assert_int_eq(dump_read_case(&c, &arena, dump, 1).code, STATUS_OK);
    ck_assert(c.has_backward);
    ck_assert_uint_eq(c.cotangents.list.count, 0);
    ck_assert_uint_eq(c.outputs.list.count, 1);
    ck_assert_int_eq(c.outputs.list.items[0].integer, 4);
}
END_TEST

static const struct {
    const char *name, *type, *api;
    enum status_code code;
    const char *text; /* what the reason begins with */
} names[] = {
    { "Torch.add.0", "Torch", "add", STATUS_OK, "" },
    { "Functional.conv2d.12", "Functional", "conv2d", STATUS_OK, "" },
    { "Torch.linalg.inv.0", "Torch", "linalg.inv", STATUS_OK, "" },
    { "NPU.npu_gmm.x.3", "NPU", "npu_gmm.x", STATUS_OK, "" },
    { "Torch.inv.0", "Torch", "linalg.inv", STATUS_OK, "" },
    { "Torch.vector_norm.1", "Torch", "linalg.vector_norm", STATUS_OK, "" },
    { "Torch.eigvalsh.0", "Torch", "linalg.eigvalsh", STATUS_OK, "" },
    { "Torch.norm.0", "Torch", "norm", STATUS_OK, "" },       /* torch has it */
    { "Torch.matrix_rank.0", "Torch", "matrix_rank", STATUS_OK, "" },
    { "Tensor.inv.0", "Tensor", "inv", STATUS_OK, "" },
    { "Foo.bar.0", "Foo", "bar", STATUS_OK, "" }, /* unknown APIs are the bench's business */
    { "Torch.Module_like.0", NULL, NULL, STATUS_OK, "" }, /* ignored */
    { "weird-name!!", "", "weird-name!!", STATUS_SKIP,
      "API weird-name!! not support for run ut. SKIP." },
    { "a.b", "a", "b", STATUS_SKIP, "API a.b not support for run ut. SKIP." },
    { "Torch.a.b.c.0", "Torch", "a.b.c", STATUS_SKIP,
      "API Torch.a.b.c.0 not support for run ut. SKIP." },
    { "Distributed.all_reduce.0", "Distributed", "all_reduce", STATUS_SKIP,
      "API Distributed.all_reduce.0 not support for run ut. SKIP. It needs the ranks" },
    { "MindSpeed.npu_fused.0", "MindSpeed", "npu_fused", STATUS_SKIP,
      "API MindSpeed.npu_fused.0 not support for run ut. SKIP. MindSpeed" },
    { "VF.lstm.0", "VF", "lstm", STATUS_SKIP, "Bench output is None, skip this test." },
    { "Mint.add.0", "Mint", "add", STATUS_SKIP, "API Mint.add.0 not support for run ut. SKIP." },
};

START_TEST(names_are_split)
{
    char entries[256];
    struct api_case c;
    snprintf(entries, sizeof entries,
             "\"%s.forward\": {\"input_args\": [1]}, \"Torch.z.0.forward\": {}", names[_i].name);
    open_entries(entries);
    if (!names[_i].type) {
        ck_assert_uint_eq(dump_count(dump), 1);
        return;
    }
    struct status status = dump_read_case(&c, &arena, dump, 0);
    ck_assert_int_eq(status.code, names[_i].code);
    ck_assert_msg(!strncmp(status.text, names[_i].text, strlen(names[_i].text)), "%s",
                  status.text);
    ck_assert_str_eq(c.full_name, names[_i].name);
    ck_assert_str_eq(c.type, names[_i].type);
    ck_assert_str_eq(c.api, names[_i].api);
}
END_TEST

START_TEST(modules_and_cells_are_ignored)
{
    open_entries("\"Module.wte.Embedding.forward.0\": {}, \"Torch.f.0.forward\": {}, "
                 "\"Cell.net.Dense.backward.0\": {}, \"Module.a.b.0.backward\": {}");
    ck_assert_uint_eq(dump_count(dump), 1);
}
END_TEST

START_TEST(header_keys_after_the_data)
{
    ck_assert_int_eq(open_text("{\"extra\": [1, {\"a\": 2}], \"data\": {\"Torch.f.0.forward\": "
                               "{}}, \"task\": null, \"gradients\": \"arguments\", "
                               "\"dump_data_dir\": \"\"}")
                         .code,
                     STATUS_OK);
    struct api_case c;
    ck_assert_ptr_null(dump_header(dump)->task);
    ck_assert_ptr_null(dump_header(dump)->level);
    ck_assert(!dump_header(dump)->has_data_dir);
    ck_assert(dump_header(dump)->gradients_of_arguments);
    ck_assert_int_eq(dump_read_case(&c, &arena, dump, 0).code, STATUS_OK);
    ck_assert(c.gradients_of_arguments);
}
END_TEST

/* Escapes in keys are understood; a byte order mark does no harm. */
START_TEST(escaped_keys)
{
    ck_assert_int_eq(open_text("\xef\xbb\xbf{\"d\\u0061ta\": {\"Torch.\\u0066.0.forw\\u0061rd\": "
                               "{\"input_\\u0061rgs\": [{\"typ\\u0065\": \"in\\u0074\", "
                               "\"v\\u0061lue\": 5}]}}}")
                         .code,
                     STATUS_OK);
    struct api_case c;
    ck_assert_str_eq(dump_name(dump, 0), "Torch.f.0");
    ck_assert_int_eq(dump_read_case(&c, &arena, dump, 0).code, STATUS_OK);
    ck_assert_int_eq(c.args.list.items[0].kind, VALUE_INT);
    ck_assert_int_eq(c.args.list.items[0].integer, 5);
}
END_TEST

/* The digest is equal for equal texts and changes with any byte, also in the last word. */
START_TEST(digests_follow_the_text)
{
    char text[] = "{\"data\": {\"Torch.f.0.forward\": {\"input_args\": [1, 2, 3, 4, 5]}}}  ";
    ck_assert_int_eq(open_text(text).code, STATUS_OK);
    uint64_t digest = dump_digest(dump);
    ck_assert_int_eq(open_text(text).code, STATUS_OK);
    ck_assert_uint_eq(dump_digest(dump), digest);
    size_t bytes = strlen(text);
    text[bytes - 1] = '\n';
    ck_assert_int_eq(open_text(text).code, STATUS_OK);
    ck_assert_uint_ne(dump_digest(dump), digest);
    text[bytes - 1] = '\0';
    ck_assert_int_eq(open_text(text).code, STATUS_OK);
    ck_assert_uint_ne(dump_digest(dump), digest);
    for (const char *digit = "12345"; *digit; digit++) {
        char *at = strchr(text + 30, *digit);
        *at = '9';
        ck_assert_int_eq(open_text(text).code, STATUS_OK);
        ck_assert_uint_ne(dump_digest(dump), digest);
        *at = *digit;
    }
}
END_TEST

/* A dump that shrinks or changes after it was opened gives a reason and no crash. */
START_TEST(dumps_that_change_while_open)
{
    struct api_case c;
    open_entries("\"Torch.f.0.forward\": {\"input_args\": [1, 2, 3]}");
    const char *path = scratch_path(&scratch, "dump.json");
    ck_assert_int_eq(truncate(path, 50), 0);
    struct status status = dump_read_case(&c, &arena, dump, 0);
    ck_assert_int_eq(status.code, STATUS_SKIP);
    ck_assert_ptr_nonnull(strstr(status.text, "became shorter"));
    ck_assert_int_eq(truncate(path, 4000), 0); /* filled with NUL bytes */
    status = dump_read_case(&c, &arena, dump, 0);
    ck_assert_int_eq(status.code, STATUS_SKIP);
    ck_assert_ptr_nonnull(strstr(status.text, "found byte 0x00"));
}
END_TEST

/* ---- duplicates ------------------------------------------------------------------------- */

#define TENSOR_TEXT(shape, max, rest)                                                        \
    "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": [" shape          \
    "], \"Max\": " max ", \"Min\": 0, \"Mean\": 0, \"Norm\": 0, " rest "}"

/* Structure decides, not statistics and not data. */
START_TEST(duplicates_are_found_by_structure)
{
    static const char *const calls[] = {
        /* 0: kept */ "\"Torch.f.0.forward\": {\"input_args\": [" TENSOR_TEXT("2, 3", "1",
            "\"data_name\": \"a.pt\", \"md5\": \"00\", \"Max_except_inf_nan\": 1") ", 5]}",
        /* 1: the same but for statistics and data */
        "\"Torch.f.1.forward\": {\"input_args\": [" TENSOR_TEXT("2, 3", "NaN",
            "\"data_name\": \"b.pt\", \"md5\": \"11\"") ", 5]}",
        /* 2: another shape */
        "\"Torch.f.2.forward\": {\"input_args\": [" TENSOR_TEXT("3, 2", "1", "\"a\": 0") ", 5]}",
        /* 3: another scalar */
        "\"Torch.f.3.forward\": {\"input_args\": [" TENSOR_TEXT("2, 3", "1", "\"a\": 0") ", 6]}",
        /* 4: another API */
        "\"Torch.g.0.forward\": {\"input_args\": [" TENSOR_TEXT("2, 3", "1", "\"a\": 0") ", 5]}",
        /* 5: another type */
        "\"Tensor.f.0.forward\": {\"input_args\": [" TENSOR_TEXT("2, 3", "1", "\"a\": 0") ", 5]}",
        /* 6: a keyword more */
        "\"Torch.f.4.forward\": {\"input_args\": [" TENSOR_TEXT("2, 3", "1", "\"a\": 0")
            ", 5], \"input_kwargs\": {\"k\": 1, \"l\": [null, 2.5]}}",
        /* 7: the same keywords in another order: a duplicate of 6 */
        "\"Torch.f.5.forward\": {\"input_args\": [" TENSOR_TEXT("2, 3", "2", "\"a\": 0")
            ", 5], \"input_kwargs\": {\"l\": [null, 2.5], \"k\": 1}}",
        /* 8: an argument less */
        "\"Torch.f.6.forward\": {\"input_args\": [" TENSOR_TEXT("2, 3", "1", "\"a\": 0") "]}",
        /* 9: requires_grad */
        "\"Torch.f.7.forward\": {\"input_args\": [" TENSOR_TEXT("2, 3", "1",
            "\"requires_grad\": true") ", 5]}",
        /* 10, 11: cannot be understood, so both stay */
        "\"Torch.h.0.forward\": {\"input_args\": [99999999999999999999]}",
        "\"Torch.h.1.forward\": {\"input_args\": [99999999999999999999]}",
        /* 12: true is not 1 */
        "\"Torch.f.8.forward\": {\"input_args\": [" TENSOR_TEXT("2, 3", "1", "\"a\": 0")
            ", true]}",
    };
    static const bool expected[] = { 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1 };
    enum { N = sizeof expected / sizeof *expected };
    char text[8192] = "";
    bool keep[N];

    for (int i = 0; i < N; i++) {
        if (i) strcat(text, ", ");
        strcat(text, calls[i]);
    }
    open_entries(text);
    ck_assert_uint_eq(dump_count(dump), N);
    ck_assert_int_eq(dump_filter(keep, dump).code, STATUS_OK);
    for (int i = 0; i < N; i++) ck_assert_msg(keep[i] == expected[i], "call %d", i);
}
END_TEST

/* On a real dump: what is dropped equals a kept call, and no two kept calls are equal by the
 * peer's count (it drops 2 of m2's 55, comparing Mean and Norm too; by structure more go). */
START_TEST(duplicates_of_a_real_dump)
{
    struct dump *real = open_dump(data_path("m2/L1_statistics"));
    bool keep[64];
    size_t kept = 0;
    ck_assert_int_eq(dump_filter(keep, real).code, STATUS_OK);
    for (size_t i = 0; i < dump_count(real); i++) kept += keep[i];
    ck_assert_uint_le(kept, 53);
    ck_assert(keep[0]);
    /* The two layers of the model repeat each other: the second layer_norm and the first have
     * the same structure. */
    for (size_t i = 0; i < dump_count(real); i++)
        if (!strncmp(dump_name(real, i), "Functional.layer_norm.", 22))
            ck_assert_int_eq(keep[i], !strcmp(dump_name(real, i), "Functional.layer_norm.0"));
    dump_close(real);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

int main(void)
{
    Suite *suite = suite_create("dump");
    TCase *real = tcase_create("real"), *made = tcase_create("made");
    tcase_set_timeout(real, 60);
    tcase_add_loop_test(real, real_dumps_agree_with_cjson, 0, COUNT(real_dumps));
    tcase_add_test(real, names_may_contain_the_directions);
    tcase_add_test(real, headers_are_read);
    tcase_add_test(real, case_bytes_add_up);
    tcase_add_test(real, duplicates_of_a_real_dump);
    suite_add_tcase(suite, real);
    tcase_set_timeout(made, 60);
    tcase_add_checked_fixture(made, start, finish);
    tcase_add_test(made, scalars_by_type);
    tcase_add_test(made, numpy_scalars);
    tcase_add_test(made, lists_slices_and_sizes);
    tcase_add_test(made, dtypes_devices_and_formats);
    tcase_add_test(made, dicts_and_unsupported_objects);
    tcase_add_test(made, tensors_with_all_fields);
    tcase_add_loop_test(made, senseless_arguments_skip_the_call, 0, COUNT(senseless));
    tcase_add_test(made, arguments_nest_400_deep);
    tcase_add_test(made, both_spellings_and_missing_keys);
    tcase_add_loop_test(made, names_are_split, 0, COUNT(names));
    tcase_add_test(made, modules_and_cells_are_ignored);
    tcase_add_test(made, header_keys_after_the_data);
    tcase_add_test(made, escaped_keys);
    tcase_add_test(made, digests_follow_the_text);
    tcase_add_test(made, dumps_that_change_while_open);
    tcase_add_test(made, duplicates_are_found_by_structure);
    suite_add_tcase(suite, made);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
