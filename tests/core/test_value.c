/* Walking argument values. */
#include <check.h>
#include <string.h>

#include "core/value.h"
#include "support/suite.h"

/* [t0, {"a": t1, "b": [null, t2]}, 5, slice(null, 1, null), t3] */
static struct value inner_items[2], dict_items[2], slice_items[3], items[5];
static const char *keys[] = { "a", "b" };
static struct tensor_record records[4];
static struct value tree;

static struct value tensor_value(int i)
{
    return (struct value){ .kind = VALUE_TENSOR, .tensor = { .record = &records[i] } };
}

static void start(void)
{
    inner_items[0] = (struct value){ .kind = VALUE_NONE };
    inner_items[1] = tensor_value(2);
    dict_items[0] = tensor_value(1);
    dict_items[1] = (struct value){ .kind = VALUE_LIST, .list = { inner_items, NULL, 2 } };
    slice_items[1] = (struct value){ .kind = VALUE_INT, .integer = 1 };
    items[0] = tensor_value(0);
    items[1] = (struct value){ .kind = VALUE_DICT, .list = { dict_items, keys, 2 } };
    items[2] = (struct value){ .kind = VALUE_INT, .integer = 5 };
    items[3] = (struct value){ .kind = VALUE_SLICE, .list = { slice_items, NULL, 3 } };
    items[4] = tensor_value(3);
    tree = (struct value){ .kind = VALUE_LIST, .list = { items, NULL, 5 } };
}

struct visits {
    int order[8], count, stop_after;
};

static bool visit(struct value *value, void *context)
{
    struct visits *visits = context;
    ck_assert_int_eq(value->kind, VALUE_TENSOR);
    visits->order[visits->count++] = (int)(value->tensor.record - records);
    return visits->count != visits->stop_after;
}

START_TEST(tensors_are_visited_depth_first)
{
    struct visits visits = { .stop_after = -1 };
    ck_assert(value_each_tensor(&tree, visit, &visits));
    ck_assert_int_eq(visits.count, 4);
    for (int i = 0; i < 4; i++) ck_assert_int_eq(visits.order[i], i);
    ck_assert_uint_eq(value_count_tensors(&tree), 4);
    ck_assert_uint_eq(value_count_tensors(&items[1]), 2);
    ck_assert_uint_eq(value_count_tensors(&items[0]), 1);
    ck_assert_uint_eq(value_count_tensors(&items[2]), 0);
}
END_TEST

START_TEST(visiting_can_stop)
{
    for (int stop = 1; stop <= 4; stop++) {
        struct visits visits = { .stop_after = stop };
        ck_assert(!value_each_tensor(&tree, visit, &visits));
        ck_assert_int_eq(visits.count, stop);
    }
}
END_TEST

START_TEST(dicts_are_searched)
{
    ck_assert_ptr_eq(value_find(&items[1], "a"), &dict_items[0]);
    ck_assert_ptr_eq(value_find(&items[1], "b"), &dict_items[1]);
    ck_assert_ptr_null(value_find(&items[1], "c"));
    ck_assert_ptr_null(value_find(&tree, "a")); /* a list has no keys */
    ck_assert_ptr_null(value_find(&items[2], "a"));
}
END_TEST

START_TEST(sequences_are_known)
{
    static const enum value_kind with_list[] = { VALUE_LIST, VALUE_DICT, VALUE_SLICE, VALUE_SIZE };
    for (int kind = VALUE_NONE; kind <= VALUE_UNSUPPORTED; kind++) {
        struct value value = { .kind = (enum value_kind)kind };
        bool expected = false;
        for (int i = 0; i < 4; i++) expected = expected || with_list[i] == (enum value_kind)kind;
        ck_assert_int_eq(value_is_sequence(&value), expected);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("value");
    TCase *tests = tcase_create("value");
    tcase_add_checked_fixture(tests, start, NULL);
    tcase_add_test(tests, tensors_are_visited_depth_first);
    tcase_add_test(tests, visiting_can_stop);
    tcase_add_test(tests, dicts_are_searched);
    tcase_add_test(tests, sequences_are_known);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
