/* Rules of lengths, offsets and counts: together they add up to an extent of another argument. */
#include "rule_checks.h"

/* ---- classes ------------------------------------------------------------------------ */

/* Labels are never the blank, neighbours differ, lengths fit: padded and concatenated. */
START_TEST(ctc_targets_fit_their_frames)
{
    for (int call = 0; call < CALLS; call++) {
        int64_t blank = call % 3;
        struct built_case *b = numbered("Functional.ctc_loss");
        add(b, TENSOR3(b, DT_F32, -5, 0, 20, 4, 6));
        add(b, TENSOR1(b, DT_I64, 0, 99, 17));
        add(b, TENSOR1(b, DT_I64, 12, 30, 4));
        add(b, TENSOR1(b, DT_I64, 2, 6, 4));
        add_keyword(b, "blank", integer(blank));
        generate(b);
        const int64_t *targets = integers(b, &b->args[1]), *frames = integers(b, &b->args[2]);
        const int64_t *lengths = integers(b, &b->args[3]);
        ck_assert(all_within(targets, 17, 0, 5) && !contains(targets, 17, blank));
        for (int i = 1; i < 17; i++) ck_assert_int_ne(targets[i], targets[i - 1]);
        ck_assert(all_within(frames, 4, 12, 20) && all_within(lengths, 4, 2, 6));
        ck_assert_int_eq(lengths[0] + lengths[1] + lengths[2] + lengths[3], 17);
        free_case(b);

        b = numbered("Functional.ctc_loss");
        add(b, TENSOR3(b, DT_F32, -5, 0, 9, 3, 6));
        add(b, TENSOR2(b, DT_I64, 0, 5, 3, 8));
        add(b, TENSOR1(b, DT_I32, 5, 9, 3));
        add(b, TENSOR1(b, DT_I32, 1, 8, 3));
        generate(b);
        targets = integers(b, &b->args[1]);
        frames = integers(b, &b->args[2]);
        lengths = integers(b, &b->args[3]);
        ck_assert(all_within(targets, 24, 1, 5));
        for (int i = 0; i < 3; i++) ck_assert(lengths[i] >= 0 && lengths[i] <= frames[i]);
        free_case(b);
    }
}
END_TEST

/* Frames given as a list of integers limit the lengths too; more labels than fit in the
 * recorded lengths are spread over longer ones; a lone class cannot avoid the blank. */
START_TEST(ctc_lengths_follow_the_frames)
{
    struct built_case *b = numbered("Functional.ctc_loss");
    const struct value frames[] = { integer(7), integer(4), integer(9) };
    add(b, TENSOR3(b, DT_F32, -5, 0, 9, 3, 6));
    add(b, TENSOR2(b, DT_I64, 1, 5, 3, 8));
    add(b, list(b, 3, frames));
    add(b, TENSOR1(b, DT_I64, 1, 8, 3));
    generate(b);
    ck_assert(all_within(integers(b, &b->args[3]), 3, 1, 4));
    free_case(b);

    b = numbered("Functional.ctc_loss");
    add(b, TENSOR3(b, DT_F32, -5, 0, 20, 3, 6));
    add(b, TENSOR1(b, DT_I64, 1, 5, 30));
    add(b, list(b, 0, NULL));
    add(b, TENSOR1(b, DT_I64, 1, 4, 3));
    generate(b);
    ck_assert_int_eq(sum_of(integers(b, &b->args[3]), 3), 30);
    free_case(b);

    b = numbered("Functional.ctc_loss");
    add(b, TENSOR2(b, DT_F32, -5, 0, 20, 1));
    add(b, TENSOR1(b, DT_I64, 0, 0, 3));
    add(b, TENSOR0(b, DT_I64, 20, 20));
    add(b, TENSOR0(b, DT_I64, 3, 3));
    generate(b);
    ck_assert(all_within(integers(b, &b->args[1]), 3, 0, 0));
    ck_assert(all_within(integers(b, &b->args[3]), 1, 3, 3));
    free_case(b);
}
END_TEST

/* ---- lengths ------------------------------------------------------------------------ */

START_TEST(offsets_start_at_zero_and_rise)
{
    for (int last = 0; last < 2; last++) {
        struct built_case *b = numbered("Functional.embedding_bag");
        add(b, TENSOR1(b, DT_I64, 0, 500, 40));
        add(b, TENSOR2(b, DT_F32, -1, 1, 9, 4));
        add(b, TENSOR1(b, DT_I64, 3, 70, 12));
        if (last) add_keyword(b, "include_last_offset", boolean(true));
        generate(b);
        ck_assert(all_within(integers(b, &b->args[0]), 40, 0, 8));
        const int64_t *x = integers(b, &b->args[2]);
        ck_assert_int_eq(x[0], 0);
        for (int i = 1; i < 12; i++) ck_assert_int_ge(x[i], x[i - 1]);
        ck_assert_int_le(x[11], 40);
        if (last) ck_assert_int_eq(x[11], 40);
        free_case(b);
    }
}
END_TEST

START_TEST(lengths_add_up)
{
    for (int call = 0; call < CALLS; call++) {
        struct built_case *b = numbered("Torch.repeat_interleave");
        add(b, TENSOR2(b, DT_F32, -1, 1, 8, 3));
        add(b, TENSOR1(b, DT_I64, 0, 5, 8));
        add(b, integer(-2));
        add_output(b, TENSOR2(b, DT_F32, -1, 1, 19, 3));
        generate(b);
        const int64_t *x = integers(b, &b->args[1]);
        ck_assert(all_within(x, 8, 0, 5));
        ck_assert_int_eq(sum_of(x, 8), 19);
        free_case(b);

        b = numbered("Torch.segment_reduce");
        add(b, TENSOR2(b, DT_F32, -1, 1, 30, 3));
        add(b, string("sum"));
        add_keyword(b, "lengths", TENSOR1(b, DT_I64, 2, 9, 7));
        generate(b);
        x = integers(b, &b->kwargs[0]);
        ck_assert(all_within(x, 7, 2, 9));
        ck_assert_int_eq(sum_of(x, 7), 30);
        free_case(b);

        b = numbered("Torch.gru"); /* packed: first the number of sequences, never growing */
        add(b, TENSOR2(b, DT_F32, -1, 1, 20, 5));
        add(b, TENSOR1(b, DT_I64, 1, 6, 5));
        generate(b);
        x = integers(b, &b->args[1]);
        ck_assert_int_eq(x[0], 6);
        for (int i = 1; i < 5; i++) ck_assert(x[i] <= x[i - 1] && x[i] >= 1);
        ck_assert_int_eq(sum_of(x, 5), 20);
        free_case(b);

        b = numbered("NPU.npu_grouped_matmul");
        const struct value x_list = TENSOR2(b, DT_BF16, -1, 1, 64, 8);
        add(b, list(b, 1, &x_list));
        add_keyword(b, "group_list", TENSOR1(b, DT_I64, 3, 64, 6));
        if (call % 2) add_keyword(b, "group_list_type", integer(1));
        generate(b);
        x = integers(b, &b->kwargs[0]);
        if (call % 2) ck_assert_int_eq(sum_of(x, 6), 64);
        else ck_assert_int_eq(x[5], 64);
        for (int i = 1; call % 2 == 0 && i < 6; i++) ck_assert_int_ge(x[i], x[i - 1]);
        free_case(b);
    }
}
END_TEST

/* Without a recorded result repeats are only not negative; not packed, gru is left alone.
 */
START_TEST(lengths_without_a_total)
{
    struct built_case *b = numbered("Torch.repeat_interleave");
    add(b, TENSOR1(b, DT_F32, -1, 1, 50));
    add(b, TENSOR1(b, DT_I64, -4, 5, 50));
    generate(b);
    ck_assert(all_within(integers(b, &b->args[1]), 50, 0, 5));
    free_case(b);

    b = numbered("Torch.gru");
    add(b, TENSOR3(b, DT_F32, -1, 1, 4, 2, 5));
    add(b, TENSOR3(b, DT_F32, -1, 1, 1, 2, 6));
    generate(b);
    ck_assert_uint_eq(b->notes.count, 0);
    free_case(b);
}
END_TEST

START_TEST(split_points_give_the_recorded_pieces)
{
    struct built_case *b = numbered("Torch.tensor_split");
    add(b, TENSOR2(b, DT_F32, -1, 1, 3, 10));
    add(b, TENSOR1(b, DT_I64, 1, 8, 3));
    add(b, integer(1));
    static const int64_t extents[] = { 1, 0, 7, 2 };
    for (int i = 0; i < 4; i++) add_output(b, TENSOR2(b, DT_F32, -1, 1, 3, extents[i]));
    generate(b);
    const int64_t *x = integers(b, &b->args[1]);
    ck_assert(x[0] == 1 && x[1] == 1 && x[2] == 8);
    free_case(b);
}
END_TEST

/* The result that a dump recorded for an argument that the API cannot take is no reason to make others. */
START_TEST(dimensions_that_are_not_there)
{
    static const struct {
        int64_t dim; /* 99: None */
        bool fits;
    } rows[] = { { 1, true },  { -1, true },  { 0, false },         { 99, false },
                 { 2, false }, { -3, false }, { INT64_MAX, false }, { INT64_MIN, false } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct built_case *b = numbered("Torch.repeat_interleave");
        add(b, TENSOR2(b, DT_F32, -1, 1, 3, 8));
        add(b, TENSOR1(b, DT_I64, 0, 5, 8));
        add(b, rows[i].dim == 99 ? none() : integer(rows[i].dim));
        add_output(b, TENSOR2(b, DT_F32, -1, 1, 30, 19));
        generate(b);
        int64_t sum = sum_of(integers(b, &b->args[1]), 8);
        bool first = rows[i].dim == 0 || rows[i].dim == 99;
        ck_assert_msg(noted(b, "repeats that give") == (rows[i].fits || first), "dim %lld",
                      (long long)rows[i].dim);
        if (rows[i].fits || first) ck_assert_int_eq(sum, first ? 30 : 19);
        free_case(b);

        b = numbered("Torch.tensor_split");
        add(b, TENSOR2(b, DT_F32, -1, 1, 3, 10));
        add(b, TENSOR1(b, DT_I64, 0, 9, 2));
        add(b, integer(rows[i].dim));
        for (int k = 0; k < 3; k++) add_output(b, TENSOR2(b, DT_F32, -1, 1, 3, 2 + k));
        generate(b);
        ck_assert_int_eq(noted(b, "split points"), rows[i].fits || rows[i].dim == 0);
        const int64_t *x = integers(b, &b->args[1]);
        if (rows[i].fits) ck_assert(x[0] == 2 && x[1] == 5);
        free_case(b);
    }
}
END_TEST

/* Pieces that were not recorded, or have other dimensions, leave the split points as drawn. */
START_TEST(split_points_without_their_pieces)
{
    for (int kind = 0; kind < 3; kind++) {
        struct built_case *b = numbered("Torch.tensor_split");
        add(b, TENSOR2(b, DT_F32, -1, 1, 10, 3));
        add(b, kind == 2 ? TENSOR2(b, DT_I64, 1, 8, 1, 2) : TENSOR1(b, DT_I64, 1, 8, 2));
        add_output(b, TENSOR2(b, DT_F32, -1, 1, 4, 3));
        if (kind == 1) add_output(b, TENSOR1(b, DT_F32, -1, 1, 4));
        generate(b);
        ck_assert_uint_eq(b->notes.count, 0);
        ck_assert(all_within(integers(b, &b->args[1]), 2, 1, 8));
        free_case(b);
    }
}
END_TEST

/* Lengths whose recorded range cannot hold: they add up where the shapes allow that, without one that is
 * negative; else they stay as drawn. */
START_TEST(lengths_of_senseless_records)
{
    static const struct {
        double lo, hi;
        int64_t n, rows;
        bool packed, others; /* does gru, do the others add up? */
        /* clang-format off */
    } records[] = {
        { 1, 6, 5, 20, true, true },         { -1e19, -9e18, 5, 20, false, true },
        { 9e18, 1e19, 5, 20, false, true },  { -5, 21, 5, 20, false, true },
        { -5, 20, 5, 20, true, true },       { 5e18, 6e18, 7, 20, false, true },
        { 0, 20, 1, 20, true, true },        { 0, 7, 1, 20, false, true },
        { 0, 0, 3, 0, true, true },          { -4, -2, 3, 20, false, true },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        int64_t n = records[i].n, rows = records[i].rows;
        struct built_case *b = numbered("Torch.gru");
        add(b, TENSOR2(b, DT_F32, -1, 1, rows, 5));
        add(b, TENSOR1(b, DT_I64, records[i].lo, records[i].hi, n));
        generate(b);
        const int64_t *x = integers(b, &b->args[1]);
        ck_assert_msg(noted(b, "lengths that add up") == records[i].packed, "record %zu", i);
        if (records[i].packed)
            ck_assert(sum_of(x, (size_t)n) == rows && all_within(x, (size_t)n, 0, x[0]));
        free_case(b);

        b = numbered("Torch.segment_reduce");
        add(b, TENSOR2(b, DT_F32, -1, 1, rows, 3));
        add_keyword(b, "lengths", TENSOR1(b, DT_I64, records[i].lo, records[i].hi, n));
        generate(b);
        x = integers(b, &b->kwargs[0]);
        ck_assert_int_eq(noted(b, "lengths that add up"), records[i].others);
        ck_assert(all_within(x, (size_t)n, 0, rows) && sum_of(x, (size_t)n) == rows);
        free_case(b);

        b = numbered("NPU.npu_grouped_matmul"); /* running totals */
        const struct value list_of_x = TENSOR2(b, DT_F32, -1, 1, rows, 8);
        add(b, list(b, 1, &list_of_x));
        add_keyword(b, "group_list", TENSOR1(b, DT_I64, records[i].lo, records[i].hi, n));
        generate(b);
        x = integers(b, &b->kwargs[0]);
        ck_assert(all_within(x, (size_t)n, 0, rows) && x[n - 1] == rows);
        for (int64_t k = 1; k < n; k++) ck_assert_int_ge(x[k], x[k - 1]);
        free_case(b);

        b = numbered("Functional.ctc_loss"); /* targets that follow each other */
        add(b, TENSOR3(b, DT_F32, -5, 0, 9, n, 6));
        add(b, TENSOR1(b, DT_I64, 1, 5, 2 * n));
        add_keyword(b, "target_lengths", TENSOR1(b, DT_I64, records[i].lo, records[i].hi, n));
        generate(b);
        x = integers(b, &b->kwargs[0]);
        ck_assert_msg(all_within(x, (size_t)n, 0, 9) && (n == 1 || sum_of(x, (size_t)n) == 2 * n),
                      "record %zu", i);
        free_case(b);
    }
    /* A dimension that is not there has no extent to add up to. */
    struct built_case *b = numbered("Torch.segment_reduce");
    add(b, TENSOR2(b, DT_F32, -1, 1, 20, 3));
    add_keyword(b, "lengths", TENSOR1(b, DT_I64, 1, 5, 4));
    add_keyword(b, "axis", integer(2));
    generate(b);
    ck_assert_uint_eq(b->notes.count, 0);
    free_case(b);
}
END_TEST

/* One offset is the start, whatever else is asked for. */
START_TEST(a_lone_offset)
{
    for (int last = 0; last < 2; last++) {
        struct built_case *b = numbered("Functional.embedding_bag");
        add(b, TENSOR1(b, DT_I64, 0, 8, 40));
        add(b, TENSOR2(b, DT_F32, -1, 1, 9, 4));
        add(b, TENSOR1(b, DT_I64, 3, 70, 1));
        add_keyword(b, "include_last_offset", boolean(last));
        generate(b);
        ck_assert_int_eq(integers(b, &b->args[2])[0], 0);
        free_case(b);
    }
}
END_TEST

/* More labels than the frames allow stay as they were recorded, and what says nothing about frames does not
 * limit them. */
START_TEST(ctc_lengths_that_cannot_be)
{
    static const struct {
        int kind;
        int64_t most; /* of the lengths; 0: left as recorded */
    } rows[] = { { 0, 0 }, { 1, 9 }, { 2, 9 }, { 3, 5 }, { 4, 9 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct built_case *b = numbered("Functional.ctc_loss");
        const struct value frames[] = { string("many"), integer(5), none() };
        struct value computed = { .kind =
                                      VALUE_TENSOR }; /* of another call: no record, no elements */
        add(b, TENSOR3(b, DT_F32, -5, 0, rows[i].kind == 0 ? 4 : 9, 3, 6));
        add(b, TENSOR1(b, DT_I64, 1, 5, 13));
        if (rows[i].kind == 2) add_keyword(b, "input_lengths", integer(5));
        if (rows[i].kind == 3) add_keyword(b, "input_lengths", list(b, 3, frames));
        if (rows[i].kind == 4) add_keyword(b, "input_lengths", computed);
        add_keyword(b, "target_lengths", TENSOR1(b, DT_I64, 1, 6, 3));
        generate(b);
        const int64_t *x = integers(b, &b->kwargs[b->c.kwargs.list.count - 1]);
        ck_assert_int_eq(noted(b, "use up the 13 labels"), rows[i].most != 0);
        ck_assert(all_within(x, 3, 1, rows[i].most ? rows[i].most : 6));
        if (rows[i].most) ck_assert_int_eq(sum_of(x, 3), 13);
        free_case(b);
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("rules of lengths");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, ctc_targets_fit_their_frames);
    tcase_add_test(tests, ctc_lengths_follow_the_frames);
    tcase_add_test(tests, offsets_start_at_zero_and_rise);
    tcase_add_test(tests, lengths_add_up);
    tcase_add_test(tests, lengths_without_a_total);
    tcase_add_test(tests, dimensions_that_are_not_there);
    tcase_add_test(tests, split_points_without_their_pieces);
    tcase_add_test(tests, lengths_of_senseless_records);
    tcase_add_test(tests, a_lone_offset);
    tcase_add_test(tests, ctc_lengths_that_cannot_be);
    tcase_add_test(tests, split_points_give_the_recorded_pieces);
    return run_tests("rules of lengths", tests);
}
