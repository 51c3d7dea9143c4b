/* The dump reader on made-up dumps: every encoding, names, and duplicates. */
#include <check.h>
#include <cjson/cJSON.h>
#include <math.h>

#include "formats/dump.h"
#include "formats/dump_internal.h"
#include "support/scratch.h"
#include "support/suite.h"

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
    return dump_open(&dump, scratch_text(&scratch, "dump.json", text), FILES_CHECKED);
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

/* A writer that avoids bare NaN puts words in quotes. */
static const struct {
    const char *text;
    double real;
} words[] = { { "nan", NAN }, { "inf", INFINITY },      { "-inf", -INFINITY },
              { "NaN", NAN }, { "Infinity", INFINITY }, { "-Infinity", -INFINITY } };

START_TEST(floats_as_words)
{
    char text[64];
    (void)snprintf(text, sizeof text, "{\"type\": \"float\", \"value\": \"%s\"}", words[_i].text);
    struct value v = argument(text);
    ck_assert_int_eq(v.kind, VALUE_FLOAT);
    if (isnan(words[_i].real)) ck_assert(isnan(v.real));
    else ck_assert_double_eq(v.real, words[_i].real);
}
END_TEST

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
        { "{\"class_type\": \"torch.distributed.P2POp\", \"tensor\": {}, \"op\": \"isend\"}",
          "torch.distributed.P2POp" },
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        v = argument(others[i].json);
        ck_assert_int_eq(v.kind, VALUE_UNSUPPORTED);
        ck_assert_str_eq(v.string, others[i].says);
    }
}
END_TEST

/* What communication calls are given besides tensors. */
START_TEST(groups_and_reductions)
{
    struct value v = argument("{\"type\": \"torch.ProcessGroup\", \"group_ranks\": [0, 3], "
                              "\"group_id\": \"0a1b\"}");
    ck_assert_int_eq(v.kind, VALUE_DICT);
    const struct value *ranks = value_find(&v, "group_ranks");
    ck_assert_uint_eq(ranks->list.count, 2);
    ck_assert_int_eq(ranks->list.items[1].integer, 3);
    ck_assert_str_eq(value_find(&v, "group_id")->string, "0a1b");
    v = argument("{\"type\": \"torch.ProcessGroup\"}");
    ck_assert_int_eq(value_find(&v, "group_ranks")->kind, VALUE_NONE);
    ck_assert_int_eq(value_find(&v, "group_id")->kind, VALUE_NONE);
    v = argument("{\"type\": \"torch.distributed.ReduceOp\", \"value\": \"RedOpType.SUM\"}");
    ck_assert_int_eq(v.kind, VALUE_STRING);
    ck_assert_str_eq(v.string, "RedOpType.SUM");
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

/* A dict is bounded, because its keys are compared with each other. */
START_TEST(dicts_have_at_most_4096_keys)
{
    for (int keys = 4096; keys <= 4097; keys++) {
        char *json = malloc(64 * 4097);
        size_t used = (size_t)sprintf(json, "{");
        for (int i = 0; i < keys; i++)
            used += (size_t)sprintf(json + used, "%s\"k%d\": %d", i ? ", " : "", i, i);
        sprintf(json + used, "}");
        struct value v;
        struct status status = read_argument(&v, json);
        ck_assert_int_eq(status.code, keys == 4096 ? STATUS_OK : STATUS_SKIP);
        if (!status.code) ck_assert_int_eq(value_find(&v, "k4095")->integer, 4095);
        free(json);
    }
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
    const char *name, *type, *api; /* NULL: no call */
    /* clang-format off */
} names[] = {
    { "Torch.add.0", "Torch", "add" },
    { "Functional.conv2d.12", "Functional", "conv2d" },
    { "Torch.linalg.inv.0", "Torch", "linalg.inv" },
    { "NPU.npu_gmm.x.3", "NPU", "npu_gmm.x" },
    { "Torch.inv.0", "Torch", "linalg.inv" },
    { "Torch.vector_norm.1", "Torch", "linalg.vector_norm" },
    { "Torch.eigvalsh.0", "Torch", "linalg.eigvalsh" },
    { "Torch.norm.0", "Torch", "norm" },       /* torch has it */
    { "Torch.matrix_rank.0", "Torch", "matrix_rank" },
    { "Tensor.inv.0", "Tensor", "inv" },
    { "Foo.bar.0", "Foo", "bar" }, /* unknown APIs are the bench's business */
    { "Torch.Module_like.0", NULL, NULL }, /* ignored */
    /* Whether a call is run is not the dump's business. */
    { "Distributed.all_reduce.0", "Distributed", "all_reduce" },
    { "VF.lstm.0", "VF", "lstm" },
    /* No names of APIs. */
    { "weird-name!!", "", "weird-name!!" },
    { "a.b", "", "a.b" },
    { "Torch.a.b.c.0", "", "Torch.a.b.c.0" },
};
/* clang-format on */

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
    for (int whole = 0; whole < 2; whole++) {
        ck_assert_int_eq((whole ? dump_read_case : dump_read_name)(&c, &arena, dump, 0).code,
                         STATUS_OK);
        ck_assert_str_eq(c.full_name, names[_i].name);
        ck_assert_str_eq(c.type, names[_i].type);
        ck_assert_str_eq(c.api, names[_i].api);
        ck_assert_uint_eq(c.args.list.count, (size_t)whole);
    }
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

#define TENSOR_TEXT(shape, max, rest)                                               \
    "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": [" shape \
    "], \"Max\": " max ", \"Min\": 0, \"Mean\": 0, \"Norm\": 0, " rest "}"

/* Structure decides, not statistics and not data. */
START_TEST(duplicates_are_found_by_structure)
{
    /* clang-format off */
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
        /* 12, 13: dtypes compare by value */
        "\"Torch.t.0.forward\": {\"input_args\": [{\"type\": \"torch.dtype\", \"value\": "
        "\"torch.int8\"}]}",
        "\"Torch.t.1.forward\": {\"input_args\": [{\"type\": \"torch.dtype\", \"value\": "
        "\"torch.int8\"}]}",
        /* 14: true is not 1 */
        "\"Torch.f.8.forward\": {\"input_args\": [" TENSOR_TEXT("2, 3", "1", "\"a\": 0")
            ", true]}",
    };
    /* clang-format on */
    static const bool expected[] = { 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1 };
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

/* Arguments of which no two are equal, whatever their hashes are; each is equal to itself. */
START_TEST(structures_differ_in_every_part)
{
    /* clang-format off */
    static const char *const calls[] = {
        "\"input_args\": []",
        "\"input_args\": [null]",
        "\"input_args\": [1]",
        "\"input_args\": [2]",
        "\"input_args\": [1.0]",
        "\"input_args\": [-0.0]",
        "\"input_args\": [0.0]",
        "\"input_args\": [NaN]",
        "\"input_args\": [true]",
        "\"input_args\": [false]",
        "\"input_args\": [\"a\"]",
        "\"input_args\": [\"b\"]",
        "\"input_args\": [[1]]",
        "\"input_args\": [[1, 1]]",
        "\"input_args\": [[1, 2]]",
        "\"input_args\": [{\"k\": 1}]",
        "\"input_args\": [{\"l\": 1}]",
        "\"input_args\": [{\"k\": 1, \"l\": 1}]",
        "\"input_args\": [{\"type\": \"torch.dtype\", \"value\": \"torch.int8\"}]",
        "\"input_args\": [{\"type\": \"torch.dtype\", \"value\": \"torch.int16\"}]",
        "\"input_args\": [{\"type\": \"torch.device\", \"value\": \"a\"}]",
        "\"input_args\": [{\"type\": \"torch.memory_format\", \"format\": \"a\"}]",
        "\"input_args\": [{\"type\": \"Group\", \"value\": \"a\"}]",
        "\"input_args\": [{\"type\": \"Ellipsis\", \"value\": \"...\"}]",
        "\"input_args\": [{\"type\": \"slice\", \"value\": [1, 2, null]}]",
        "\"input_args\": [" TENSOR_TEXT("2, 3", "1", "\"a\": 0") "]",
        "\"input_args\": [" TENSOR_TEXT("2, 4", "1", "\"a\": 0") "]",
        "\"input_args\": [" TENSOR_TEXT("2, 3, 1", "1", "\"a\": 0") "]",
        "\"input_args\": [" TENSOR_TEXT("2, 3", "1", "\"requires_grad\": true") "]",
        "\"input_args\": [{\"type\": \"torch.nn.Parameter\", \"dtype\": \"torch.float32\", \"shape\": [2, 3], "
        "\"Max\": 1, \"Min\": 0, \"Mean\": 0, \"Norm\": 0}]",
        "\"input_args\": [{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float16\", \"shape\": [2, 3], "
        "\"Max\": 1, \"Min\": 0, \"Mean\": 0, \"Norm\": 0}]",
        "\"input_kwargs\": {\"k\": 1}",
        "\"input_kwargs\": {\"k\": 2}",
        "\"input_kwargs\": {\"l\": 1}",
    };
    /* clang-format on */
    enum { N = sizeof calls / sizeof *calls };
    static struct api_case cases[N + 2];
    char text[8192] = "";
    for (int i = 0; i < N; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s\"Torch.f.%d.forward\": {%s}",
                 i ? ", " : "", i, calls[i]);
    strcat(text, ", \"Torch.g.0.forward\": {\"input_args\": []}, \"Tensor.f.0.forward\": "
                 "{\"input_args\": []}");
    open_entries(text);
    for (int i = 0; i < N + 2; i++) {
        struct status status = dump_read_case(&cases[i], &arena, dump, (size_t)i);
        ck_assert_msg(!status.code, "call %d: %s", i, status.text);
    }
    for (int i = 0; i < N + 2; i++)
        for (int k = 0; k < N + 2; k++)
            ck_assert_msg(dump_same_structure(&cases[i], &cases[k]) == (i == k), "calls %d and %d",
                          i, k);
}
END_TEST

/* ---- entries with a byte changed -------------------------------------------------------- */

/* Everything that an entry may hold. No word that Python writes and JSON does not have. */
static const char whole_entry[] =
    "{\"input_args\": [{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": [2, "
    "3], \"Max\": 1.5, "
    "\"Min\": null, \"Mean\": false, \"Norm\": \"x\", \"requires_grad\": true, \"data_name\": "
    "\"a.pt\", "
    "\"md5\": \"00\", \"other\": [1, {\"a\": 2}]}, {\"dtype\": \"torch.int8\", \"shape\": [], "
    "\"datapath\": null, \"type\": \"torch.Tensor\", \"requires_grad\": null, \"Max\": 1, \"Min\": "
    "0}, "
    "[1, -2, 3.25e2, \"text\", true, null, []], {\"type\": \"float\", \"value\": \"nan\"}, "
    "{\"type\": \"float\", \"value\": \"word\"}, {\"type\": \"float\", \"value\": 3}, "
    "{\"type\": \"int\", \"value\": 7}, {\"type\": \"bool\", \"value\": true}, "
    "{\"type\": \"slice\", \"value\": [1, null, 2]}, {\"type\": \"torch.Size\", \"value\": [1, "
    "2]}, "
    "{\"type\": \"torch.memory_format\", \"format\": \"channels_last\"}, "
    "{\"type\": \"torch.memory_format\", \"value\": \"torch.preserve_format\"}, "
    "{\"type\": \"torch.device\", \"value\": \"cpu\"}, {\"type\": \"Ellipsis\", \"value\": "
    "\"...\"}, "
    "{\"k\": [1], \"type\": \"int\", \"value\": 1}, {}, {\"plain\": {\"dict\": 1}}], "
    "\"input_kwargs\": {\"dim\": {\"type\": \"int\", \"value\": 1}, \"out\": null}, "
    "\"output\": {\"type\": \"int\", \"value\": 4}, \"unknown\": [{\"a\": []}]}";

/* What another JSON parser refuses, we refuse, with the call's name and a place; and the other way
 * round whatever is refused has its reason in words. */
static void judge_entry(const char *text, size_t length)
{
    struct api_case c = { .full_name = "Torch.f.0" };
    const struct dump_span span = { .offset = 1000, .bytes = length };
    struct status status = dump_parse_entry(&c, &arena, text, span, false);
    const char *end = NULL;
    cJSON *json = cJSON_ParseWithLengthOpts(text, length, &end, 0);
    bool whole = json && cJSON_IsObject(json) && strspn(end, " ") == length - (size_t)(end - text);
    cJSON_Delete(json);
    if (!status.code) {
        ck_assert_msg(whole, "accepted: %s", text);
    } else {
        ck_assert_int_eq(status.code, STATUS_SKIP);
        ck_assert_msg(!strncmp(status.text, "Torch.f.0.forward: at ", 22), "%s", status.text);
        ck_assert_ptr_nonnull(strstr(status.text, " of the dump): "));
    }
    arena_reset(&arena);
}

START_TEST(every_changed_byte_of_an_entry)
{
    static const char bytes[] = "\"{}[],:x0-1 \\.e\t";
    static char text[sizeof whole_entry];
    const size_t length = sizeof whole_entry - 1;
    struct api_case c = { .full_name = "Torch.f.0" };
    struct status status =
        dump_parse_entry(&c, &arena, whole_entry, (struct dump_span){ .bytes = length }, false);
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_uint_eq(c.args.list.count, 17);
    ck_assert_uint_eq(c.kwargs.list.count, 2);
    ck_assert_uint_eq(c.outputs.list.count, 1);
    for (size_t i = 0; i < length; i++)
        for (const char *byte = bytes; *byte; byte++) {
            memcpy(text, whole_entry, sizeof text);
            text[i] = *byte;
            judge_entry(text, length);
        }
    for (size_t cut = 0; cut < length; cut++) {
        memcpy(text, whole_entry, cut);
        text[cut] = '\0';
        judge_entry(text, cut);
    }
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

int main(void)
{
    Suite *suite = suite_create("dump");
    TCase *made = tcase_create("made");
    tcase_set_timeout(made, 60);
    tcase_add_checked_fixture(made, start, finish);
    tcase_add_loop_test(made, floats_as_words, 0, COUNT(words));
    tcase_add_test(made, scalars_by_type);
    tcase_add_test(made, numpy_scalars);
    tcase_add_test(made, lists_slices_and_sizes);
    tcase_add_test(made, dtypes_devices_and_formats);
    tcase_add_test(made, dicts_and_unsupported_objects);
    tcase_add_test(made, groups_and_reductions);
    tcase_add_test(made, tensors_with_all_fields);
    tcase_add_loop_test(made, senseless_arguments_skip_the_call, 0, COUNT(senseless));
    tcase_add_test(made, dicts_have_at_most_4096_keys);
    tcase_add_test(made, arguments_nest_400_deep);
    tcase_add_test(made, both_spellings_and_missing_keys);
    tcase_add_loop_test(made, names_are_split, 0, COUNT(names));
    tcase_add_test(made, modules_and_cells_are_ignored);
    tcase_add_test(made, header_keys_after_the_data);
    tcase_add_test(made, escaped_keys);
    tcase_add_test(made, digests_follow_the_text);
    tcase_add_test(made, dumps_that_change_while_open);
    tcase_add_test(made, duplicates_are_found_by_structure);
    tcase_add_test(made, structures_differ_in_every_part);
    tcase_add_test(made, every_changed_byte_of_an_entry);
    suite_add_tcase(suite, made);
    return suite_run(suite);
}
