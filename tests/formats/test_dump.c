/* The arguments of calls in made-up dumps: every encoding, and what makes no sense. */
#include <check.h>
#include <cjson/cJSON.h>
#include <math.h>

#include "formats/dump.h"
#include "formats/dump_internal.h"
#include "formats/made_dumps.h"
#include "support/scratch.h"
#include "support/suite.h"

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
    suite_add_tcase(suite, made);
    return suite_run(suite);
}
