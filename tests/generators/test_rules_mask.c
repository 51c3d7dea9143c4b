/* Rules of masks: as many elements true as other arguments and recorded results need. */
#include "rule_checks.h"

static int64_t count_of(struct built_case *b, const struct value *mask)
{
    return sum_of(integers(b, mask), elements(mask));
}

START_TEST(masks_select_what_was_recorded)
{
    for (int call = 0; call < CALLS; call++) {
        struct built_case *b = numbered("Torch.masked_select");
        add(b, TENSOR2(b, DT_F32, -1, 1, 6, 8));
        add(b, TENSOR1(b, DT_BOOL, 0, 1, 8)); /* broadcast over 6 rows */
        add_cotangent(b, TENSOR1(b, DT_F32, -1, 1, 18));
        generate(b);
        ck_assert_int_eq(count_of(b, &b->args[1]), 3);
        free_case(b);

        b = numbered("Tensor.__getitem__");
        add(b, TENSOR2(b, DT_F32, -1, 1, 6, 8));
        const struct value index[] = { full_slice(b), TENSOR1(b, DT_BOOL, 0, 1, 8) };
        add(b, list(b, 2, index));
        add_output(b, TENSOR2(b, DT_F32, -1, 1, 6, 5));
        generate(b);
        ck_assert_int_eq(count_of(b, &b->args[1].list.items[1]), 5);
        free_case(b);

        b = numbered("Tensor.__setitem__");
        add(b, TENSOR3(b, DT_F32, -1, 1, 6, 8, 3));
        add(b, TENSOR2(b, DT_BOOL, 0, 1, 6, 8));
        add(b, TENSOR2(b, DT_F32, -1, 1, 11, 3));
        generate(b);
        ck_assert_int_eq(count_of(b, &b->args[1]), 11);
        free_case(b);

        b = numbered("Torch.masked_scatter");
        add(b, TENSOR2(b, DT_F32, -1, 1, 6, 8));
        add(b, TENSOR2(b, DT_BOOL, 0, 1, 6, 8));
        add(b, TENSOR1(b, DT_F32, -1, 1, 5));
        generate(b);
        ck_assert_int_le(count_of(b, &b->args[1]), 5);
        free_case(b);
    }
}
END_TEST

/* masked_select and masked_scatter with masks of every shape that broadcasts and some that do not, and
 * results that were not recorded or cannot be. `count` is -1 where the mask stays as drawn. */
START_TEST(masks_of_other_shapes)
{
    static const struct {
        int64_t mask[2], result;
        int64_t count;
        /* clang-format off */
    } rows[] = {
        { { 6, 8 }, 18, 18 },  { { 6, 1 }, 24, 3 },   { { 1, 8 }, 18, 3 },  { { 8, -1 }, 18, 3 },
        { { 5, -1 }, 18, -1 }, { { 2, 8 }, 18, -1 },  { { 6, 8 }, 49, -1 }, { { 6, 8 }, -1, -1 },
        { { 6, 8 }, 0, 0 },    { { 6, 8 }, 48, 48 },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct built_case *b = numbered("Torch.masked_select");
        add(b, TENSOR2(b, DT_F32, -1, 1, 6, 8));
        add(b, TENSOR2(b, DT_BOOL, 0, 1, rows[i].mask[0], rows[i].mask[1]));
        if (rows[i].result >= 0) add_output(b, TENSOR1(b, DT_F32, -1, 1, rows[i].result));
        generate(b);
        if (rows[i].count >= 0) ck_assert_int_eq(count_of(b, &b->args[1]), rows[i].count);
        else ck_assert_msg(b->notes.count == 0, "row %zu", i);
        free_case(b);
    }
    for (int kind = 0; kind < 4; kind++) {
        static const bool noted_kinds[] = { true, false, false, false };
        struct built_case *b = numbered("Torch.masked_scatter");
        struct value x = kind == 3 ? TENSOR1(b, DT_F32, -1, 1, 8) : TENSOR2(b, DT_F32, -1, 1, 6, 8);
        add(b, x);
        add(b, TENSOR2(b, DT_BOOL, 0, 1, 6, 8));
        if (kind < 2 || kind == 3)
            add(b, TENSOR1(b, DT_F32, -1, 1, kind ? 48 : 2)); /* else no source */
        if (kind == 2)
            add_output(b, TENSOR1(b, DT_F32, -1, 1, 5)); /* which says nothing about the mask */
        generate(b);
        ck_assert_int_eq(noted(b, "are true, as source needs"), noted_kinds[kind]);
        if (!kind) ck_assert_int_eq(count_of(b, &b->args[1]), 2);
        free_case(b);
    }
}
END_TEST

/* Index expressions with a mask that says nothing about how many it selects. */
START_TEST(masks_that_are_left_alone)
{
    enum {
        NO_RESULT,
        FLAT_RESULT,
        TWO_MASKS,
        TOO_DEEP,
        NO_VALUE,
        FLAT_VALUE,
        WITH_INTEGER,
        EMPTY,
        KINDS
    };
    for (int kind = 0; kind < KINDS; kind++) {
        bool writes = kind == NO_VALUE || kind == FLAT_VALUE;
        struct built_case *b = numbered(writes ? "Tensor.__setitem__" : "Tensor.__getitem__");
        int64_t rows = kind == EMPTY ? 0 : 6;
        const struct value items[] = { full_slice(b), TENSOR1(b, DT_BOOL, 0, 1, rows),
                                       kind == TWO_MASKS      ? TENSOR1(b, DT_BOOL, 0, 1, rows)
                                       : kind == WITH_INTEGER ? integer(1)
                                                              : full_slice(b) };
        bool third = kind == TWO_MASKS || kind == WITH_INTEGER || kind == TOO_DEEP;
        if (kind == TWO_MASKS || kind == WITH_INTEGER)
            add(b, TENSOR3(b, DT_F32, -1, 1, 2, rows, rows));
        else add(b, TENSOR2(b, DT_F32, -1, 1, 2, rows));
        add(b, list(b, third ? 3 : 2, items));
        if (kind == FLAT_VALUE) add(b, TENSOR0(b, DT_F32, -1, 1));
        if (kind == FLAT_RESULT) add_output(b, TENSOR1(b, DT_F32, -1, 1, 2));
        else if (kind != NO_RESULT && !writes) add_output(b, TENSOR2(b, DT_F32, -1, 1, 2, 3));
        generate(b);
        ck_assert_msg(!noted(b, "are true, as"), "kind %d", kind);
        free_case(b);
    }
}
END_TEST

/* A value that broadcasts takes any number of places. */
START_TEST(masks_are_free_for_broadcast_values)
{
    struct built_case *b = numbered("Tensor.__setitem__");
    add(b, TENSOR2(b, DT_F32, -1, 1, 60, 3));
    add(b, TENSOR1(b, DT_BOOL, 0, 1, 60));
    add(b, TENSOR1(b, DT_F32, -1, 1, 3));
    generate(b);
    ck_assert_uint_eq(b->notes.count, 0);
    free_case(b);
}
END_TEST

/* Each query keeps a key: True attends in scaled_dot_product_attention, and masks
 * elsewhere. */
START_TEST(attention_masks_leave_a_key)
{
    static const struct {
        const char *api, *name;
        bool open;
    } calls[] = {
        { "Functional.scaled_dot_product_attention", "attn_mask", true },
        { "Functional.multi_head_attention_forward", "attn_mask", false },
        { "Functional.multi_head_attention_forward", "key_padding_mask", false },
        { "NPU.npu_fusion_attention", "atten_mask", false },
    };
    for (size_t k = 0; k < 4; k++) {
        struct built_case *b = numbered(calls[k].api);
        add_keyword(b, calls[k].name, TENSOR2(b, DT_BOOL, 0, 1, 300, 2));
        generate(b);
        const int64_t *x = integers(b, &b->kwargs[0]);
        for (int row = 0; row < 300; row++)
            ck_assert(x[2 * row] == calls[k].open || x[2 * row + 1] == calls[k].open);
        ck_assert(noted(b, "masked every key"));
        free_case(b);
    }
}
END_TEST

START_TEST(sparse_modes_take_the_compressed_mask)
{
    for (int mode = 0; mode <= 5; mode++) {
        struct built_case *b = numbered("NPU.npu_fusion_attention");
        add_keyword(b, "atten_mask", TENSOR2(b, DT_BOOL, 0, 1, 16, 16));
        add_keyword(b, "sparse_mode", integer(mode));
        generate(b);
        const struct tensor *mask = b->kwargs[0].tensor.tensor;
        if (mode < 2 || mode > 4) {
            ck_assert_int_eq(mask->shape[0], 16);
            free_case(b);
            continue;
        }
        const unsigned char *x = mask->data;
        ck_assert(mask->dtype == DT_BOOL && mask->rank == 2 && tensor_is_dense(mask));
        ck_assert(mask->shape[0] == 2048 && mask->shape[1] == 2048);
        for (int i = 0; i < 2048; i++)
            for (int k = 0; k < 2048; k++)
                if (x[i * 2048 + k] != (k > i)) ck_abort_msg("at (%d, %d)", i, k);
        ck_assert_uint_ge(generate_input_bytes(&b->c), 2048 * 2048);
        free_case(b);
    }
}
END_TEST

START_TEST(sequence_ends_rise_to_the_number_of_tokens)
{
    struct built_case *b = numbered("NPU.npu_fusion_attention");
    add(b, TENSOR3(b, DT_BF16, -1, 1, 50, 4, 8));
    add(b, TENSOR3(b, DT_BF16, -1, 1, 70, 4, 8));
    add_keyword(b, "actual_seq_qlen", TENSOR1(b, DT_I64, 7, 50, 5));
    add_keyword(b, "actual_seq_kvlen", TENSOR1(b, DT_I64, 0, 70, 6));
    generate(b);
    const int64_t *q = integers(b, &b->kwargs[0]), *k = integers(b, &b->kwargs[1]);
    ck_assert(q[0] > 0 && q[4] == 50 && k[0] == 0 && k[5] == 70);
    for (int i = 1; i < 5; i++) ck_assert(q[i] > q[i - 1] && k[i] > k[i - 1]);
    free_case(b);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("rules of masks");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, masks_select_what_was_recorded);
    tcase_add_test(tests, masks_of_other_shapes);
    tcase_add_test(tests, masks_that_are_left_alone);
    tcase_add_test(tests, masks_are_free_for_broadcast_values);
    tcase_add_test(tests, attention_masks_leave_a_key);
    tcase_add_test(tests, sparse_modes_take_the_compressed_mask);
    tcase_add_test(tests, sequence_ends_rise_to_the_number_of_tokens);
    return run_tests("rules of masks", tests);
}
