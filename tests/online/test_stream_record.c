/* Records of our own client: what they hold, and what is wrong with those that lie. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "online/stream_bytes.h"
#include "online/stream_record.h"
#include "support/suite.h"

static struct arena arena;
static void start(void) { arena = (struct arena){ .limit_bytes = 64 << 20 }; }
static void finish(void) { arena_release(&arena); }

static const float floats[6] = { 1, 2, 3, 4, 5, 6 };
static const int64_t integers[2] = { -7, 1LL << 40 };
static const void *const tensors[] = { floats, integers, floats };
static const size_t sizes[] = { sizeof floats, sizeof integers, 4 };

#define F32(shape, number)                                                    \
    "{\"type\":\"torch.Tensor\",\"dtype\":\"torch.float32\",\"shape\":" shape \
    ",\"data_name\":\"" number "\"}"

/* 16-byte aligned, as the judge has it. */
static struct status decode(struct record *out, struct bytes body)
{
    void *copy = arena_allocate(&arena, body.count + 1);
    memcpy(copy, body.at, body.count);
    struct status status = stream_record_decode(out, &arena, copy, body.count, "10.0.0.7:1");
    bytes_release(&body);
    return status;
}

START_TEST(a_record_is_decoded)
{
    static const char entry[] = "{\"input_args\":[" F32(
        "[2,3]",
        "0") ",[2.5,null,true,\"mean\"],"
             "{\"type\":\"slice\",\"value\":[null,3,1]}],\"input_kwargs\":{\"index\":"
             "{\"type\":\"torch.Tensor\",\"dtype\":\"torch.int64\",\"shape\":[2],\"data_name\":"
             "\"1\"},"
             "\"dtype\":{\"type\":\"torch.dtype\",\"value\":\"torch.float64\"}},\"output\":[" F32(
                 "[]", "2") "]}";
    struct record record;

    struct status status =
        decode(&record, record_body("Torch.sum.12", entry, 3, 7, 3, tensors, sizes));
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_msg(!record.unusable.code, "%s", record.unusable.text);
    ck_assert_str_eq(record.call.full_name, "Torch.sum.12");
    ck_assert_str_eq(record.call.type, "Torch");
    ck_assert_str_eq(record.call.api, "sum");
    ck_assert(record.has_rank && record.rank == 3 && record.step == 7 && record.inputs_before);

    ck_assert_uint_eq(record.call.args.list.count, 3);
    const struct value *first = &record.call.args.list.items[0];
    ck_assert_int_eq(first->kind, VALUE_TENSOR);
    ck_assert_int_eq(first->tensor.tensor->rank, 2);
    ck_assert_int_eq(first->tensor.tensor->shape[1], 3);
    ck_assert_mem_eq(first->tensor.tensor->data, floats, sizeof floats);
    const struct value *list = &record.call.args.list.items[1];
    ck_assert_double_eq(list->list.items[0].real, 2.5);
    ck_assert_int_eq(list->list.items[1].kind, VALUE_NONE);
    ck_assert(list->list.items[2].boolean);
    ck_assert_str_eq(list->list.items[3].string, "mean");
    ck_assert_int_eq(record.call.args.list.items[2].kind, VALUE_SLICE);
    const struct value *index = value_find(&record.call.kwargs, "index");
    ck_assert_int_eq(index->tensor.tensor->dtype, DT_I64);
    ck_assert_mem_eq(index->tensor.tensor->data, integers, sizeof integers);
    ck_assert_int_eq(value_find(&record.call.kwargs, "dtype")->dtype, DT_F64);
    ck_assert_float_eq(*(float *)record.call.outputs.list.items[0].tensor.tensor->data, 1);
}
END_TEST

START_TEST(a_process_without_ranks_has_none)
{
    struct record record;
    struct status status = decode(
        &record,
        record_body("Torch.sum.0", "{\"input_args\":[],\"output\":[]}", -1, 0, 0, NULL, NULL));

    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert(!record.has_rank);
}
END_TEST

/* The call is known and cannot be judged: the row says why. */
START_TEST(lies_about_tensors_make_a_record_unusable)
{
    static const struct {
        const char *argument, *why;
    } cases[] = {
        { F32("[2,4]", "0"), "does not hold" },
        { F32("[2,3]", "3"), "number" },
        { F32("[2,3]", "-1"), "number" },
        { F32("[2,3]", "0x0"), "number" },
        { F32("[2,3]", " 0"), "number" },
        { F32("[2,3]", "99999999999999999999999"), "number" },
        { F32("[2,3]", ""), "number" },
        { "{\"type\":\"torch.Tensor\",\"dtype\":\"torch.float7\",\"shape\":[1],\"data_name\":"
          "\"0\"}",
          "torch.float7" },
        { "{\"type\":\"torch.Tensor\",\"shape\":[1],\"data_name\":\"0\"}", "dtype" },
        { F32("[-1]", "0"), "negative" },
        { F32("[9223372036854775807,9223372036854775807]", "0"), "elements" },
        { "nonsense", "expected" },
    };
    char entry[400];
    struct record record;

    snprintf(entry, sizeof entry, "{\"input_args\":[%s],\"output\":[]}", cases[_i].argument);
    struct status status =
        decode(&record, record_body("Torch.sum.0", entry, 0, 0, 3, tensors, sizes));
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_str_eq(record.call.full_name, "Torch.sum.0");
    ck_assert_int_eq(record.unusable.code, STATUS_SKIP);
    ck_assert_msg(strstr(record.unusable.text, cases[_i].why), "%s", record.unusable.text);
}
END_TEST

/* A table whose rows leave the body, or are not aligned. */
START_TEST(lies_of_the_table_make_a_record_unusable)
{
    static const struct {
        uint64_t offset, bytes;
    } rows[] = {
        { 1 << 20, 24 }, { UINT64_MAX - 15, 24 }, { 8, 24 }, { 0, UINT64_MAX }, { 0, 23 }
    };
    struct record record;
    struct bytes body = record_body("Torch.sum.0",
                                    "{\"input_args\":[" F32("[2,3]", "0") "],\"output\":[]}", 0, 0,
                                    1, tensors, sizes);

    stream_put_u64(body.at + 24, rows[_i].offset);
    stream_put_u64(body.at + 32, rows[_i].bytes);
    struct status status = decode(&record, body);
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_int_eq(record.unusable.code, STATUS_SKIP);
}
END_TEST

/* Cut anywhere, a record is none or unusable; it is never read behind its end (the sanitizers watch). */
START_TEST(a_cut_record_is_refused)
{
    static const char entry[] = "{\"input_args\":[" F32("[2,3]", "0") "],\"output\":[]}";
    struct bytes whole = record_body("Torch.sum.0", entry, 0, 0, 1, tensors, sizes);

    for (size_t cut = 0; cut < whole.count; cut++) {
        unsigned char *part = malloc(cut + 1);
        memcpy(part, whole.at, cut);
        void *exact = realloc(part, cut ? cut : 1);
        struct record record = { 0 };
        struct status status = stream_record_decode(&record, &arena, exact, cut, "here");
        ck_assert_msg(status.code == STATUS_BAD_INPUT || record.unusable.code == STATUS_SKIP,
                      "cut at %zu", cut);
        free(exact);
    }
    bytes_release(&whole);
}
END_TEST

START_TEST(sizes_that_overflow_are_refused)
{
    struct record record;
    struct bytes body = record_body("Torch.sum.0", "{}", 0, 0, 0, NULL, NULL);

    stream_put_u32(body.at + 4 * _i, UINT32_MAX);
    struct status status = decode(&record, body);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_msg(strstr(status.text, "10.0.0.7:1"), "%s", status.text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream records");
    TCase *cases = tcase_create("all");

    tcase_add_checked_fixture(cases, start, finish);
    tcase_add_test(cases, a_record_is_decoded);
    tcase_add_test(cases, a_process_without_ranks_has_none);
    tcase_add_loop_test(cases, lies_about_tensors_make_a_record_unusable, 0, 12);
    tcase_add_loop_test(cases, lies_of_the_table_make_a_record_unusable, 0, 5);
    tcase_add_test(cases, a_cut_record_is_refused);
    tcase_add_loop_test(cases, sizes_that_overflow_are_refused, 0, 3);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
