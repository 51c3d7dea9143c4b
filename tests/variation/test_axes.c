/* Extents that belong together, as the definition of each API says. */
#include <check.h>

#include "support/cases.h"
#include "support/suite.h"
#include "variation/axes.h"
#include "variation/specimen.h"

static struct arena arena;

static struct value tensor_of(int rank, const int64_t *shape)
{
    return ramp_value(&arena, DT_F32, true, rank, shape);
}

/* The name of the axis that dimension d of tensor k is on. */
static const char *name_of(const struct api_case *c, size_t k, int d)
{
    static char name[AXIS_NAME_BYTES];
    struct slots slots;
    struct axis axis;
    bool found;
    const struct slot wanted = { .number = k, .dimension = d };
    slots_list(&slots, c);
    for (size_t i = 0; i < slots.count; i++) {
        if (!slot_is_same(&slots.items[i], &wanted)) continue;
        ck_assert(!axis_find(&axis, &found, c, &slots, i, PROBE_GROW).code);
        if (!found) return "none";
        axis_name(name, &axis, c);
        return name;
    }
    return "no slot";
}

/* All four extents of the operands are equal, and still there are three axes. */
START_TEST(square_matrices_have_three_axes)
{
    const int64_t square[] = { 4, 4 };
    struct value args = list_value(&arena, 2, tensor_of(2, square), tensor_of(2, square));
    struct api_case c = make_case(&arena, "Torch", "mm", args);
    ck_assert_str_eq(name_of(&c, 0, 0), "M (dimension 0 of input)");
    ck_assert_str_eq(name_of(&c, 0, 1), "K (dimension 1 of input, dimension 0 of mat2)");
    ck_assert_str_eq(name_of(&c, 1, 1), "N (dimension 1 of mat2)");
    arena_reset(&arena);
}
END_TEST

START_TEST(batches_are_named)
{
    const int64_t left[] = { 2, 3, 4 }, right[] = { 2, 4, 5 };
    struct value args = list_value(&arena, 2, tensor_of(3, left), tensor_of(3, right));
    struct api_case c = make_case(&arena, "Torch", "bmm", args);
    ck_assert_str_eq(name_of(&c, 0, 0), "batch (dimension 0 of input, dimension 0 of mat2)");
    arena_reset(&arena);
}
END_TEST

/* normalized_shape, weight and bias have the extent of the row. */
START_TEST(the_row_of_layer_norm_is_a_number_too)
{
    const int64_t rows[] = { 3, 6 }, row[] = { 6 };
    struct value args = list_value(&arena, 4, tensor_of(2, rows),
                                   list_value(&arena, 1, int_value(6)), tensor_of(1, row),
                                   tensor_of(1, row));
    struct api_case c = make_case(&arena, "Functional", "layer_norm", args);
    ck_assert_str_eq(name_of(&c, 0, 0), "dimension 0 of input");
    ck_assert_str_eq(name_of(&c, 0, 1), "dimension 1 of input, dimension 0 of weight, dimension 0 "
                                        "of bias, normalized_shape");
    arena_reset(&arena);
}
END_TEST

/* With groups the weight has a part of the channels. */
START_TEST(channels_of_groups_keep_their_ratio)
{
    const int64_t image[] = { 1, 8, 9 }, weight[] = { 6, 4, 3 };
    struct value args = list_value(&arena, 7, tensor_of(3, image), tensor_of(3, weight),
                                   none_value(), int_value(1), int_value(0), int_value(1),
                                   int_value(2));
    struct api_case c = make_case(&arena, "Functional", "conv1d", args), copy;
    struct slots slots;
    struct axis axis;
    bool found;
    slots_list(&slots, &c);
    ck_assert_int_eq(slots.items[0].size, 8);
    ck_assert(!axis_find(&axis, &found, &c, &slots, 0, PROBE_GROW).code);
    ck_assert(found);
    ck_assert(!specimen_copy(&copy, &arena, &c).code);
    ck_assert(!axis_resize(&copy, &arena, &axis, 4, SIDE_FRONT).code);
    ck_assert(!specimen_settle(&copy, &arena).code);
    ck_assert_int_eq(copy.args.list.items[0].tensor.tensor->shape[1], 4);
    ck_assert_int_eq(
        copy.args.list.items[1].tensor.tensor->shape[1] * copy.args.list.items[6].integer, 4);
    arena_reset(&arena);
}
END_TEST

/* The last two of 0, 1, 2, 3, and 0..3 again behind its end. */
START_TEST(elements_stay_on_a_side_and_repeat)
{
    static const double elements[] = { 0, 1, 2, 3 };
    const int64_t four[] = { 4 };
    struct value args =
        list_value(&arena, 1, tensor_value(&arena, DT_F32, true, 1, four, elements, 4));
    struct api_case c = make_case(&arena, "Torch", "abs", args), copy;
    struct axis axis = { .slots = { .items = { { .size = 4 } }, .count = 1 }, .size = 4 };
    ck_assert(!specimen_copy(&copy, &arena, &c).code);
    ck_assert(!axis_resize(&copy, &arena, &axis, 2, SIDE_BACK).code);
    const float *back = copy.args.list.items[0].tensor.tensor->data;
    ck_assert(back[0] == 2 && back[1] == 3);
    ck_assert(!specimen_copy(&copy, &arena, &c).code);
    ck_assert(!axis_resize(&copy, &arena, &axis, 6, SIDE_FRONT).code);
    const float *longer = copy.args.list.items[0].tensor.tensor->data;
    for (int i = 0; i < 6; i++) ck_assert(longer[i] == (float)(i % 4));
    arena_reset(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("axes");
    TCase *tests = tcase_create("ties");
    tcase_add_test(tests, square_matrices_have_three_axes);
    tcase_add_test(tests, batches_are_named);
    tcase_add_test(tests, the_row_of_layer_norm_is_a_number_too);
    tcase_add_test(tests, channels_of_groups_keep_their_ratio);
    tcase_add_test(tests, elements_stay_on_a_side_and_repeat);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
