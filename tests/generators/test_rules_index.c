/* Rules of indices: inside the dimension they index, and unique where two equal ones would write
 * the same place. */
#include "rule_checks.h"

/* ---- indices ------------------------------------------------------------------------ */

/* A recorded range that is legal is kept as it is, ends included, and nothing is noted. */
START_TEST(legal_indices_are_left_alone)
{
    struct built_case *b = numbered("Torch.gather");
    add(b, TENSOR2(b, DT_F32, -1, 1, 6, 9));
    add(b, integer(1));
    add(b, TENSOR2(b, DT_I64, 2, 7, 6, 40));
    generate(b);
    const int64_t *x = integers(b, &b->args[2]);
    ck_assert(all_within(x, 240, 2, 7));
    ck_assert_int_eq(x[0], 2);
    ck_assert_int_eq(x[239], 7);
    for (int64_t v = 2; v <= 7; v++) ck_assert(contains(x, 240, v));
    ck_assert_uint_eq(b->notes.count, 0);
    free_case(b);
}
END_TEST

/* The indexed extent, not another one, is the limit: dim 1 of (6, 9), negative dim, keyword
 * arguments, rows, elements. */
START_TEST(indices_stay_inside_the_indexed_extent)
{
    static const struct {
        const char *api;
        int64_t dim, lo, hi;
    } calls[] = {
        { "Torch.gather", 1, 0, 8 },       { "Tensor.gather", 0, 0, 5 },
        { "Torch.gather", -2, 0, 5 },      { "Torch.index_select", 1, 0, 8 },
        { "Tensor.index_add_", 0, 0, 5 },  { "Torch.index_fill", -1, -9, 8 },
        { "Torch.scatter_add", 1, 0, 8 },  { "Tensor.scatter_reduce_", 0, 0, 5 },
        { "Torch.index_reduce", 1, 0, 8 },
    };
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
        for (int keywords = 0; keywords < 2; keywords++) {
            struct built_case *b = numbered(calls[k].api);
            add(b, TENSOR2(b, DT_F32, -1, 1, 6, 9));
            if (keywords) {
                add_keyword(b, "dim", integer(calls[k].dim));
                add_keyword(b, "index", TENSOR1(b, DT_I64, -50, 50, 300));
            } else {
                add(b, integer(calls[k].dim));
                add(b, TENSOR1(b, DT_I64, -50, 50, 300));
            }
            generate(b);
            const int64_t *x = integers(b, keywords ? &b->kwargs[1] : &b->args[2]);
            ck_assert_msg(all_within(x, 300, calls[k].lo, calls[k].hi), "%s", calls[k].api);
            ck_assert(contains(x, 300, calls[k].lo) && contains(x, 300, calls[k].hi));
            ck_assert(noted(b, "not legal"));
            free_case(b);
        }
    }
}
END_TEST

START_TEST(flat_and_row_indices)
{
    struct built_case *b = numbered("Torch.take");
    add(b, TENSOR2(b, DT_F32, -1, 1, 3, 4));
    add(b, TENSOR1(b, DT_I64, -100, 100, 500));
    generate(b);
    ck_assert(all_within(integers(b, &b->args[1]), 500, -12, 11));
    free_case(b);

    b = numbered("Torch.take_along_dim"); /* without dim: all elements */
    add(b, TENSOR2(b, DT_F32, -1, 1, 3, 4));
    add(b, TENSOR1(b, DT_I64, -100, 100, 500));
    generate(b);
    ck_assert(all_within(integers(b, &b->args[1]), 500, 0, 11));
    free_case(b);

    b = numbered("Functional.embedding");
    add(b, TENSOR2(b, DT_I32, 0, 99, 20, 20));
    add(b, TENSOR2(b, DT_F32, -1, 1, 7, 5));
    generate(b);
    ck_assert(all_within(integers(b, &b->args[0]), 400, 0, 6));
    free_case(b);

    b = numbered("Torch.embedding"); /* weight first */
    add(b, TENSOR2(b, DT_F32, -1, 1, 7, 5));
    add(b, TENSOR2(b, DT_I32, 0, 99, 20, 20));
    generate(b);
    ck_assert(all_within(integers(b, &b->args[1]), 400, 0, 6));
    free_case(b);

    b = numbered("Functional.one_hot");
    add(b, TENSOR1(b, DT_I64, -3, 99, 400));
    add_keyword(b, "num_classes", integer(5));
    generate(b);
    ck_assert(all_within(integers(b, &b->args[0]), 400, 0, 4));
    free_case(b);

    b = numbered("Torch.bincount");
    add(b, TENSOR1(b, DT_I64, -3, 9, 400));
    generate(b);
    ck_assert(all_within(integers(b, &b->args[0]), 400, 0, 9));
    free_case(b);
}
END_TEST

/* scatter and index_copy write each place once; the recorded Min and Max occur. */
START_TEST(written_places_are_distinct)
{
    for (int call = 0; call < CALLS; call++) {
        struct built_case *b = numbered("Torch.scatter");
        add(b, TENSOR3(b, DT_F32, -1, 1, 3, 10, 2));
        add(b, integer(1));
        add(b, TENSOR3(b, DT_I64, 1, 8, 3, 8, 2));
        add(b, TENSOR3(b, DT_F32, -1, 1, 3, 8, 2));
        generate(b);
        const int64_t *x = integers(b, &b->args[2]);
        ck_assert(all_within(x, 48, 1, 8));
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 2; k++) ck_assert(all_distinct(x + 16 * i + k, 8, 2));
        ck_assert_int_eq(x[0], 1);
        ck_assert_int_eq(x[47], 8);
        ck_assert(noted(b, "without repetition"));
        free_case(b);

        b = numbered("Tensor.index_copy_"); /* needs more than the recorded range holds */
        add(b, TENSOR2(b, DT_F32, -1, 1, 9, 4));
        add(b, integer(0));
        add(b, TENSOR1(b, DT_I64, 2, 4, 7));
        add(b, TENSOR2(b, DT_F32, -1, 1, 7, 4));
        generate(b);
        x = integers(b, &b->args[2]);
        ck_assert(all_within(x, 7, 0, 8) && all_distinct(x, 7, 1));
        free_case(b);
    }
}
END_TEST

/* A scalar source or a reduction cannot lose: repeated indices stay. More indices than
 * places cannot be distinct: said so. */
START_TEST(repeats_stay_where_they_do_no_harm)
{
    struct built_case *b = numbered("Tensor.scatter_");
    add(b, TENSOR2(b, DT_F32, -1, 1, 3, 10));
    add(b, integer(1));
    add(b, TENSOR2(b, DT_I64, 0, 3, 3, 10));
    add(b, integer(2));
    generate(b);
    ck_assert_uint_eq(b->notes.count, 0);
    free_case(b);

    b = numbered("Tensor.scatter_");
    add(b, TENSOR2(b, DT_F32, -1, 1, 3, 10));
    add(b, integer(1));
    add(b, TENSOR2(b, DT_I64, 0, 3, 3, 10));
    add(b, TENSOR2(b, DT_F32, -1, 1, 3, 10));
    add_keyword(b, "reduce", string("add"));
    generate(b);
    ck_assert_uint_eq(b->notes.count, 0);
    free_case(b);

    b = numbered("Torch.index_copy");
    add(b, TENSOR1(b, DT_F32, -1, 1, 3));
    add(b, integer(0));
    add(b, TENSOR1(b, DT_I64, 0, 2, 5));
    add(b, TENSOR1(b, DT_F32, -1, 1, 5));
    generate(b);
    ck_assert(all_within(integers(b, &b->args[2]), 5, 0, 2));
    ck_assert(noted(b, "must repeat"));
    free_case(b);
}
END_TEST

START_TEST(put_counts_negative_places_once)
{
    for (int call = 0; call < CALLS; call++) {
        struct built_case *b = numbered("Tensor.put_");
        add(b, TENSOR2(b, DT_F32, -1, 1, 3, 4));
        add(b, TENSOR1(b, DT_I64, -12, 11, 12));
        add(b, TENSOR1(b, DT_F32, -1, 1, 12));
        generate(b);
        int64_t *x = integers(b, &b->args[1]);
        for (int i = 0; i < 12; i++)
            if (x[i] < 0) x[i] += 12;
        ck_assert(all_within(x, 12, 0, 11) && all_distinct(x, 12, 1));
        free_case(b);
    }
}
END_TEST

/* x[i, :, j] = value: tuples (i, j) are distinct, each within its own dimension. */
START_TEST(assigned_tuples_are_distinct)
{
    for (int call = 0; call < CALLS; call++) {
        struct built_case *b = numbered("Tensor.__setitem__");
        add(b, TENSOR3(b, DT_F32, -1, 1, 4, 5, 3));
        const struct value index[] = { TENSOR1(b, DT_I64, 0, 99, 11), full_slice(b),
                                       TENSOR1(b, DT_I64, -99, 2, 11) };
        add(b, list(b, 3, index));
        add(b, TENSOR2(b, DT_F32, -1, 1, 11, 5));
        generate(b);
        const int64_t *i = integers(b, &b->args[1].list.items[0]);
        const int64_t *j = integers(b, &b->args[1].list.items[2]);
        int64_t place[11];
        for (int k = 0; k < 11; k++) {
            ck_assert(i[k] >= -4 && i[k] < 4 && j[k] >= -3 && j[k] < 3);
            place[k] = (i[k] + 4) % 4 * 3 + (j[k] + 3) % 3;
        }
        ck_assert(all_distinct(place, 11, 1));
        free_case(b);
    }
}
END_TEST

/* None makes a new dimension in x[...], and stands for a whole one in index_put; an
 * ellipsis skips to the end. The tensor below indexes extents 3, 5, 3 in turn. */
START_TEST(index_expressions_find_their_dimension)
{
    struct built_case *b = numbered("Tensor.__getitem__");
    add(b, TENSOR3(b, DT_F32, -1, 1, 3, 4, 5));
    const struct value new_axis[] = { none(), TENSOR1(b, DT_I64, 0, 99, 50) };
    add(b, list(b, 2, new_axis));
    generate(b);
    ck_assert(all_within(integers(b, &b->args[1].list.items[1]), 50, 0, 2));
    free_case(b);

    b = numbered("Tensor.__getitem__");
    add(b, TENSOR3(b, DT_F32, -1, 1, 3, 4, 5));
    const struct value at_end[] = { ellipsis(), TENSOR1(b, DT_I64, 0, 99, 50) };
    add(b, list(b, 2, at_end));
    generate(b);
    const int64_t *x = integers(b, &b->args[1].list.items[1]);
    ck_assert(all_within(x, 50, 0, 4) && contains(x, 50, 4));
    free_case(b);

    b = numbered("Tensor.index_put_");
    add(b, TENSOR3(b, DT_F32, -1, 1, 2, 4, 3));
    const struct value whole[] = { none(), none(), TENSOR1(b, DT_I64, 0, 99, 3) };
    add(b, list(b, 3, whole));
    add(b, TENSOR3(b, DT_F32, -1, 1, 2, 4, 3));
    generate(b);
    x = integers(b, &b->args[1].list.items[2]);
    ck_assert(all_within(x, 3, 0, 2) && all_distinct(x, 3, 1));
    free_case(b);
}
END_TEST

START_TEST(accumulating_assignments_may_repeat)
{
    struct built_case *b = numbered("Tensor.index_put_");
    add(b, TENSOR1(b, DT_F32, -1, 1, 2));
    const struct value index = TENSOR1(b, DT_I64, 0, 1, 30);
    add(b, list(b, 1, &index));
    add(b, TENSOR1(b, DT_F32, -1, 1, 30));
    add(b, boolean(true));
    generate(b);
    ck_assert_uint_eq(b->notes.count, 0);
    free_case(b);
}
END_TEST

/* scatter_nd: component k runs over dimension k. */
START_TEST(index_tuples_of_one_tensor)
{
    struct built_case *b = numbered("NPU.npu_scatter_nd_update");
    add(b, TENSOR3(b, DT_F32, -1, 1, 3, 5, 2));
    add(b, TENSOR2(b, DT_I64, 0, 4, 15, 2));
    add(b, TENSOR2(b, DT_F32, -1, 1, 15, 2));
    generate(b);
    const int64_t *x = integers(b, &b->args[1]);
    int64_t place[15];
    for (int i = 0; i < 15; i++) {
        ck_assert(x[2 * i] >= 0 && x[2 * i] < 3 && x[2 * i + 1] >= 0 && x[2 * i + 1] < 5);
        place[i] = 5 * x[2 * i] + x[2 * i + 1];
    }
    ck_assert(all_distinct(place, 15, 1)); /* all 15 places, each once */
    free_case(b);
}
END_TEST

/* Indices into the planes of the recorded output (or of the default size), once per plane.
 */
START_TEST(unpooled_places_are_distinct_in_each_plane)
{
    for (int recorded = 0; recorded < 2; recorded++) {
        struct built_case *b = numbered("Functional.max_unpool2d");
        add(b, TENSOR4(b, DT_F32, -1, 1, 2, 3, 4, 4));
        add(b, TENSOR4(b, DT_I64, 0, 9999, 2, 3, 4, 4));
        add(b, integer(2));
        if (recorded) add_output(b, TENSOR4(b, DT_F32, 0, 1, 2, 3, 9, 9));
        generate(b);
        const int64_t *x = integers(b, &b->args[1]);
        ck_assert(all_within(x, 96, 0, recorded ? 80 : 63));
        for (int plane = 0; plane < 6; plane++) ck_assert(all_distinct(x + 16 * plane, 16, 1));
        free_case(b);
    }
}
END_TEST

/* Kernels, strides and paddings as one number, as a list for each dimension, of other kinds, and so large
 * that a plane has no size. */
START_TEST(unpooled_planes_of_odd_arguments)
{
    static const struct {
        int kind;
        int64_t a, b, places; /* 0: left as drawn */
        /* clang-format off */
    } rows[] = {
        { 0, 2, 2, 64 },  /* (4 - 1) * 2 + 2 = 8 each way */
        { 1, 2, 3, 96 },  /* lists: 8 and 12 */
        { 2, 2, 0, 64 },  /* a list of one */
        { 3, 2, 0, 32 },  /* the second is no number: 1, so that its stride is too */
        { 4, 0, 0, 16 },  /* none, and an empty list: kernels of 1 */
        { 5, 2, 3, 4 },   /* padding of 3: 8 - 6 = 2 */
        { 5, 2, 4, 0 },   /* of 4: nothing is left */
        { 0, INT64_MAX, INT64_MAX, 0 },
        { 0, INT64_MIN, INT64_MIN, 0 },
        { 5, 2, INT64_MIN, 0 },
        { 5, INT64_MAX / 4, -(INT64_MAX / 4), 0 },
        { 0, INT64_C(1) << 40, INT64_C(1) << 40, 0 }, /* 2^84 places */
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct built_case *b = numbered("Functional.max_unpool2d");
        const struct value both[] = { integer(rows[i].a),
                                      rows[i].kind == 3 ? string("x") : integer(rows[i].b) };
        add(b, TENSOR4(b, DT_F32, -1, 1, 1, 1, 4, 4));
        add(b, TENSOR4(b, DT_I64, 0, 9999, 1, 1, 4, 4));
        switch (rows[i].kind) {
        case 0:
        case 5: add(b, integer(rows[i].a)); break;
        case 4: add(b, none()), add(b, list(b, 0, NULL)); break;
        default: add(b, list(b, rows[i].kind == 2 ? 1 : 2, both));
        }
        if (rows[i].kind == 5) add_keyword(b, "padding", integer(rows[i].b));
        generate(b);
        const int64_t *x = integers(b, &b->args[1]);
        if (rows[i].places >= 16) ck_assert(all_distinct(x, 16, 1));
        ck_assert_msg(noted(b, "not legal") == (rows[i].places > 0), "row %zu", i);
        ck_assert_msg(all_within(x, 16, 0, rows[i].places ? rows[i].places - 1 : 9999), "row %zu",
                      i);
        free_case(b);
    }
}
END_TEST

START_TEST(cache_slots_and_expert_rows)
{
    struct built_case *b = numbered("NPU._npu_reshape_and_cache");
    add(b, TENSOR3(b, DT_F16, -1, 1, 12, 2, 4));
    add(b, TENSOR3(b, DT_F16, -1, 1, 12, 2, 4));
    add(b, TENSOR4(b, DT_F16, -1, 1, 5, 4, 2, 4));
    add(b, TENSOR4(b, DT_F16, -1, 1, 5, 4, 2, 4));
    add(b, TENSOR1(b, DT_I32, 0, 500, 12));
    generate(b);
    const int64_t *x = integers(b, &b->args[4]);
    ck_assert(all_within(x, 12, 0, 19) && all_distinct(x, 12, 1));
    free_case(b);

    b = numbered("NPU.npu_moe_token_unpermute");
    add(b, TENSOR2(b, DT_F16, -1, 1, 24, 8));
    add(b, TENSOR1(b, DT_I32, 0, 23, 24));
    generate(b);
    x = integers(b, &b->args[1]);
    ck_assert(all_within(x, 24, 0, 23) && all_distinct(x, 24, 1));
    free_case(b);
}
END_TEST

/* ---- arguments that make no sense --------------------------------------------------- */

/* A list of kernels that is shorter than the dimensions says nothing about the rest: 1. */
START_TEST(kernels_of_some_dimensions)
{
    struct built_case *b = numbered("Functional.max_unpool3d");
    const struct value kernels[] = { integer(2), integer(3) };
    add(b, TENSOR4(b, DT_F32, -1, 1, 1, 2, 2, 2));
    add(b, TENSOR4(b, DT_I64, 0, 9999, 1, 2, 2, 2));
    add(b, list(b, 2, kernels));
    generate(b);
    const int64_t *x = integers(b, &b->args[1]);
    ck_assert(all_within(x, 8, 0, 4 * 6 * 2 - 1) && all_distinct(x, 8, 1));
    free_case(b);
}
END_TEST

/* scatter: equal indices fight where the source is a tensor and nothing reduces. */
START_TEST(scattered_places)
{
    static const struct {
        int64_t dim;
        int reduce; /* 0: none given, 1: None, 2: a text */
        bool distinct;
    } rows[] = { { 1, 0, true },  { 1, 1, true },  { 1, 2, false },
                 { -1, 0, true }, { 2, 0, false }, { -3, 0, false } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct built_case *b = numbered("Torch.scatter");
        add(b, TENSOR2(b, DT_F32, -1, 1, 5, 40));
        add(b, integer(rows[i].dim));
        add(b, TENSOR2(b, DT_I64, 0, 39, 5, 20));
        add(b, TENSOR2(b, DT_F32, -1, 1, 5, 20));
        if (rows[i].reduce) add_keyword(b, "reduce", rows[i].reduce == 1 ? none() : string("add"));
        generate(b);
        const int64_t *x = integers(b, &b->args[2]);
        bool distinct = true;
        for (int row = 0; row < 5; row++) distinct &= all_distinct(x + 20 * row, 20, 1);
        ck_assert_msg(distinct == rows[i].distinct, "row %zu", i);
        free_case(b);
    }
    for (int accumulate = 0; accumulate < 2; accumulate++) {
        struct built_case *b = numbered("Torch.put");
        add(b, TENSOR1(b, DT_F32, -1, 1, 40));
        add(b, TENSOR1(b, DT_I64, 0, 39, 30));
        add(b, TENSOR1(b, DT_F32, -1, 1, 30));
        add_keyword(b, "accumulate", boolean(accumulate));
        generate(b);
        ck_assert_int_eq(all_distinct(integers(b, &b->args[1]), 30, 1), !accumulate);
        free_case(b);
    }
}
END_TEST

/* Assignments by indices of which one has nowhere to point, or is not ours to change. */
START_TEST(assigned_indices_without_places)
{
    enum { NO_PLACES, NO_PLACES_APART, BEYOND_RANK, WITH_MASK, WITH_COMPUTED, KINDS };
    for (int kind = 0; kind < KINDS; kind++) {
        struct built_case *b = numbered("Tensor.__setitem__");
        const struct value computed = { .kind = VALUE_TENSOR };
        const struct value items[] = { TENSOR1(b, DT_I64, 0, 3, 4),
                                       kind == NO_PLACES_APART ? TENSOR2(b, DT_I64, 0, 3, 4, 1)
                                       : kind == WITH_MASK     ? TENSOR1(b, DT_BOOL, 1, 1, 9)
                                       : kind == WITH_COMPUTED ? computed
                                                               : TENSOR1(b, DT_I64, 0, 3, 4) };
        add(b, kind == BEYOND_RANK       ? TENSOR1(b, DT_F32, -1, 1, 9)
               : kind <= NO_PLACES_APART ? TENSOR2(b, DT_F32, -1, 1, 0, 9)
                                         : TENSOR2(b, DT_F32, -1, 1, 9, 9));
        add(b, list(b, 2, items));
        add(b, TENSOR1(b, DT_F32, -1, 1, 4));
        generate(b);
        const int64_t *x = integers(b, &b->args[1].list.items[0]);
        ck_assert(all_within(x, 4, 0, 8));
        if (kind > NO_PLACES_APART) ck_assert_msg(all_distinct(x, 4, 1), "kind %d", kind);
        free_case(b);
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("rules of indices");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, legal_indices_are_left_alone);
    tcase_add_test(tests, indices_stay_inside_the_indexed_extent);
    tcase_add_test(tests, flat_and_row_indices);
    tcase_add_test(tests, written_places_are_distinct);
    tcase_add_test(tests, repeats_stay_where_they_do_no_harm);
    tcase_add_test(tests, put_counts_negative_places_once);
    tcase_add_test(tests, assigned_tuples_are_distinct);
    tcase_add_test(tests, index_expressions_find_their_dimension);
    tcase_add_test(tests, accumulating_assignments_may_repeat);
    tcase_add_test(tests, index_tuples_of_one_tensor);
    tcase_add_test(tests, unpooled_places_are_distinct_in_each_plane);
    tcase_add_test(tests, unpooled_planes_of_odd_arguments);
    tcase_add_test(tests, cache_slots_and_expert_rows);
    tcase_add_test(tests, kernels_of_some_dimensions);
    tcase_add_test(tests, scattered_places);
    tcase_add_test(tests, assigned_indices_without_places);
    return run_tests("rules of indices", tests);
}
