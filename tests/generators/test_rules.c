/* Arguments stay legal for their API. Each test builds a call whose recorded range (as a
 * dump gives it: Min and Max only) would let a uniform draw make it illegal or ambiguous,
 * and checks what the API's documentation asks for. Several calls per test: keys differ by
 * the name. */
#include <stdio.h>

#include "case_builder.h"
#include "generators/philox.h"
#include "generators/rules.h"

enum { CALLS = 20 };

static struct built_case *numbered(const char *api)
{
    static char name[100];
    static int call;
    snprintf(name, sizeof name, "%s.%d", api, call++);
    return build_case(name);
}

static bool all_within(const int64_t *x, size_t n, int64_t lo, int64_t hi)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] < lo || x[i] > hi) return false;
    return true;
}

/* `n` values `step` apart are pairwise distinct. */
static bool all_distinct(const int64_t *x, size_t n, size_t step)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (x[i * step] == x[k * step]) return false;
    return true;
}

static bool contains(const int64_t *x, size_t n, int64_t value)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] == value) return true;
    return false;
}

static int64_t sum_of(const int64_t *x, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i];
    return sum;
}

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

/* ---- classes ------------------------------------------------------------------------ */

/* The four ways a record can show the ignored index: as Min, as Max, not at all, or as all
 * there was. Some targets are ignored, some are not, the rest are classes. */
START_TEST(targets_are_classes_or_ignored)
{
    static const struct {
        const char *api;
        int64_t ignore, lo, hi;
        bool pass_ignore, expect_ignored;
    } calls[] = {
        { "Functional.nll_loss", -100, -100, 6, false, true },
        { "Functional.cross_entropy", -100, -100, 6, false, true },
        { "Functional.cross_entropy", -100, 0, 6, false, false },
        { "Functional.cross_entropy", 255, 0, 255, true, true },
        { "Functional.cross_entropy", 3, 0, 6, true, false }, /* a class like any other */
        { "Functional.cross_entropy", -1, -1, 90, true, true },
        { "Torch.nll_loss", -100, -50, 6, false, false },
        { "Functional.multi_margin_loss", -100, 0, 20, false, false },
    };
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
        struct built_case *b = numbered(calls[k].api);
        add(b, TENSOR3(b, DT_F32, -5, 0, 20, 7, 10));
        add(b, TENSOR2(b, DT_I64, (double)calls[k].lo, (double)calls[k].hi, 20, 10));
        if (calls[k].pass_ignore) add_keyword(b, "ignore_index", integer(calls[k].ignore));
        generate(b);
        const int64_t *x = integers(b, &b->args[1]);
        int ignored = 0, highest = 0;
        for (int i = 0; i < 200; i++) {
            bool is_ignored = calls[k].expect_ignored && x[i] == calls[k].ignore;
            ck_assert_msg(is_ignored || (x[i] >= 0 && x[i] < 7), "%s: %lld", calls[k].api,
                          (long long)x[i]);
            ignored += is_ignored;
            highest += x[i] == 6;
        }
        ck_assert_int_gt(highest, 0);
        /* The record's Min or Max was the ignored index: it occurs in that place. */
        if (calls[k].expect_ignored)
            ck_assert_int_eq(x[calls[k].lo == calls[k].ignore ? 0 : 199], calls[k].ignore);
        ck_assert_int_eq(ignored > 0, calls[k].expect_ignored);
        ck_assert_int_lt(ignored, 60);
        free_case(b);
    }
}
END_TEST

/* One sample: classes along dimension 0; probabilities are no classes; a tensor that was
 * all ignored stays so. */
START_TEST(odd_targets)
{
    struct built_case *b = numbered("Functional.cross_entropy");
    add(b, TENSOR1(b, DT_F32, -1, 1, 4));
    add(b, TENSOR0(b, DT_I64, 9, 9));
    generate(b);
    ck_assert(all_within(integers(b, &b->args[1]), 1, 0, 3));
    free_case(b);

    b = numbered("Functional.cross_entropy");
    add(b, TENSOR2(b, DT_F32, -1, 1, 3, 4));
    add(b, TENSOR2(b, DT_F32, 0.1, 0.9, 3, 4));
    generate(b);
    ck_assert_double_eq(reals(b, &b->args[1])[11], (float)0.9 > 0.9 ? nextafterf(0.9f, 0) : 0.9f);
    free_case(b);

    b = numbered("Functional.nll_loss");
    add(b, TENSOR2(b, DT_F32, -1, 1, 3, 4));
    add(b, TENSOR1(b, DT_I64, -100, -100, 3));
    generate(b);
    ck_assert(all_within(integers(b, &b->args[1]), 3, -100, -100));
    free_case(b);
}
END_TEST

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

START_TEST(labels_are_signs_where_the_record_says_so)
{
    static const char *const apis[] = { "Functional.hinge_embedding_loss",
                                        "Functional.soft_margin_loss" };
    for (int k = 0; k < 2; k++) {
        struct built_case *b = numbered(apis[k]);
        add(b, TENSOR1(b, DT_F32, -1, 1, 100));
        add(b, TENSOR1(b, k ? DT_F32 : DT_I64, -1, 1, 100));
        generate(b);
        const double *x = reals(b, &b->args[1]);
        int positive = 0;
        for (int i = 0; i < 100; i++) {
            ck_assert(x[i] == 1 || x[i] == -1);
            positive += x[i] == 1;
        }
        ck_assert(positive > 25 && positive < 75);
        free_case(b);
    }
    struct built_case *b = numbered("Functional.soft_margin_loss");
    add(b, TENSOR1(b, DT_F32, -1, 1, 100));
    add(b, TENSOR1(b, DT_F32, -1, 0.75, 100));
    generate(b);
    ck_assert_uint_eq(b->notes.count, 0);
    free_case(b);
}
END_TEST

/* ---- domains ------------------------------------------------------------------------ */

START_TEST(values_stay_in_their_domain)
{
    static const struct {
        const char *api;
        size_t place;
        double lo, hi;
    } calls[] = {
        { "Functional.binary_cross_entropy", 0, 0, 1 },
        { "Torch.bernoulli", 0, 0, 1 },
        { "Tensor.bernoulli_", 1, 0, 1 },
        { "Torch.poisson", 0, 0, 3 },
        { "Torch.binomial", 0, 0, 3 },
        { "Torch.binomial", 1, 0, 1 },
        { "Torch.normal", 1, 0, 3 },
        { "Torch.quantile", 1, 0, 1 },
        { "Functional.kl_div", 1, 0, 3 },
        { "Functional.gaussian_nll_loss", 2, 0, 3 },
        { "Functional.batch_norm", 2, 0, 3 },
        { "Torch.batch_norm", 4, 0, 3 },
        { "Torch.multinomial", 0, 0, 3 },
    };
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
        /* A range that sticks out on both sides; and one that is unknown because of a NaN.
         */
        for (int unknown = 0; unknown < 2; unknown++) {
            struct built_case *b = numbered(calls[k].api);
            double lo = unknown ? NAN : -2, hi = unknown ? NAN : 3;
            for (int i = 0; i < 5; i++) add(b, TENSOR1(b, DT_F32, lo, hi, 200));
            generate(b);
            const double *x = reals(b, &b->args[calls[k].place]);
            for (int i = 0; i < 200; i++)
                ck_assert_msg(x[i] >= calls[k].lo && x[i] <= calls[k].hi, "%s: %g", calls[k].api,
                              x[i]);
            ck_assert(noted(b, "domain"));
            free_case(b);
        }
    }
}
END_TEST

START_TEST(logarithms_of_densities_may_be_negative)
{
    struct built_case *b = numbered("Functional.kl_div");
    add(b, TENSOR1(b, DT_F32, -2, -1, 20));
    add(b, TENSOR1(b, DT_F32, -3, -1, 20));
    add_keyword(b, "log_target", boolean(true));
    generate(b);
    ck_assert_double_eq(reals(b, &b->args[1])[0], -3);
    free_case(b);
}
END_TEST

START_TEST(every_row_to_draw_from_has_weight)
{
    struct built_case *b = numbered("Torch.multinomial");
    add(b, TENSOR2(b, DT_F32, 0, 0, 5, 4));
    add(b, integer(1));
    generate(b);
    const double *x = reals(b, &b->args[0]);
    for (int row = 0; row < 5; row++) {
        double sum = 0;
        for (int i = 0; i < 4; i++) sum += x[4 * row + i];
        ck_assert_double_gt(sum, 0);
    }
    free_case(b);
}
END_TEST

/* No integer is divided by zero; floats may be, and plain div makes floats. */
START_TEST(integer_divisors_are_not_zero)
{
    static const char *const apis[] = { "Tensor.__floordiv__", "Torch.remainder",    "Torch.fmod",
                                        "Tensor.__mod__",      "Torch.floor_divide", "Torch.div" };
    for (int k = 0; k < 6; k++) {
        for (int range = 0; range < 3; range++) {
            static const double bounds[3][2] = { { -2, 2 }, { 0, 2 }, { -2, 0 } };
            struct built_case *b = numbered(apis[k]);
            add(b, TENSOR1(b, DT_I64, -9, 9, 200));
            add(b, TENSOR1(b, DT_I64, bounds[range][0], bounds[range][1], 200));
            if (k == 5) add_keyword(b, "rounding_mode", string("floor"));
            generate(b);
            const int64_t *x = integers(b, &b->args[1]);
            ck_assert_msg(!contains(x, 200, 0), "%s", apis[k]);
            ck_assert(all_within(x, 200, -2, 2));
            free_case(b);
        }
    }
    struct built_case *b = numbered("Torch.div");
    add(b, TENSOR1(b, DT_I64, -9, 9, 200));
    add(b, TENSOR1(b, DT_I64, -2, 2, 200));
    generate(b);
    ck_assert(contains(integers(b, &b->args[1]), 200, 0));
    free_case(b);

    b = numbered("Torch.remainder");
    add(b, TENSOR1(b, DT_F32, -9, 9, 200));
    add(b, TENSOR1(b, DT_I64, -2, 2, 200));
    generate(b);
    ck_assert(contains(integers(b, &b->args[1]), 200, 0));
    free_case(b);

    b = numbered("Tensor.__rfloordiv__"); /* self is the divisor */
    add(b, TENSOR1(b, DT_I64, -2, 2, 200));
    add(b, integer(7));
    generate(b);
    ck_assert(!contains(integers(b, &b->args[0]), 200, 0));
    free_case(b);
}
END_TEST

START_TEST(shifts_stay_below_the_width)
{
    struct built_case *b = numbered("Tensor.__lshift__");
    add(b, TENSOR1(b, DT_I32, 0, 9, 200));
    add(b, TENSOR1(b, DT_I64, -9, 99, 200));
    generate(b);
    ck_assert(all_within(integers(b, &b->args[1]), 200, 0, 31));
    free_case(b);
}
END_TEST

/* ---- order -------------------------------------------------------------------------- */

START_TEST(sequences_are_sorted_by_rows)
{
    static const enum dtype dtypes[] = { DT_F32, DT_BF16, DT_I64, DT_F64 };
    for (int k = 0; k < 4; k++) {
        struct built_case *b = numbered("Torch.searchsorted");
        add(b, TENSOR2(b, dtypes[k], -50, 50, 4, 30));
        add(b, TENSOR2(b, dtypes[k], -50, 50, 4, 3));
        generate(b);
        const double *x = reals(b, &b->args[0]);
        for (int row = 0; row < 4; row++)
            for (int i = 1; i < 30; i++) ck_assert(x[30 * row + i] >= x[30 * row + i - 1]);
        ck_assert_double_lt(x[30], x[29]); /* rows apart */
        free_case(b);
    }
    struct built_case *b = numbered("Torch.bucketize");
    add(b, TENSOR1(b, DT_F32, -1, 1, 5));
    add_keyword(b, "boundaries", TENSOR1(b, DT_F32, -1, 1, 40));
    generate(b);
    const double *x = reals(b, &b->kwargs[0]);
    for (int i = 1; i < 40; i++) ck_assert(x[i] >= x[i - 1]);
    free_case(b);
}
END_TEST

START_TEST(a_sorter_sorts_what_was_drawn)
{
    struct built_case *b = numbered("Torch.searchsorted");
    add(b, TENSOR2(b, DT_F32, -1, 1, 3, 25));
    add(b, TENSOR2(b, DT_F32, -1, 1, 3, 2));
    add_keyword(b, "sorter", TENSOR2(b, DT_I64, 0, 24, 3, 25));
    generate(b);
    const double *x = reals(b, &b->args[0]);
    const int64_t *sorter = integers(b, &b->kwargs[0]);
    bool sorted = true;
    for (int row = 0; row < 3; row++) {
        ck_assert(all_distinct(sorter + 25 * row, 25, 1));
        for (int i = 1; i < 25; i++) {
            ck_assert(x[25 * row + sorter[25 * row + i]] >= x[25 * row + sorter[25 * row + i - 1]]);
            sorted = sorted && x[25 * row + i] >= x[25 * row + i - 1];
        }
    }
    ck_assert(!sorted);
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

/* ---- masks -------------------------------------------------------------------------- */

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

/* ---- matrices ----------------------------------------------------------------------- */

/* Cholesky factorisation in long double; false when a pivot is not positive. */
static bool is_positive_definite(const double *a, size_t n)
{
    long double l[16][16] = { { 0 } };
    for (size_t j = 0; j < n; j++) {
        for (size_t i = j; i < n; i++) {
            long double sum = a[i * n + j];
            for (size_t k = 0; k < j; k++) sum -= l[i][k] * l[j][k];
            if (i == j && sum <= 0) return false;
            l[i][j] = i == j ? sqrtl(sum) : sum / l[j][j];
        }
    }
    return true;
}

/* LU without exchanges: the smallest pivot relative to the largest entry. */
static double smallest_pivot(const double *a, size_t n)
{
    long double u[16][16], largest = 0, smallest = INFINITY;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            u[i][j] = a[i * n + j];
            if (fabsl(u[i][j]) > largest) largest = fabsl(u[i][j]);
        }
    for (size_t k = 0; k < n; k++) {
        if (fabsl(u[k][k]) < smallest) smallest = fabsl(u[k][k]);
        for (size_t i = k + 1; i < n; i++) {
            long double factor = u[i][k] / u[k][k];
            for (size_t j = k; j < n; j++) u[i][j] -= factor * u[k][j];
        }
    }
    return (double)(smallest / largest);
}

/* Ranges that hold zero, are all positive, all negative, or one value; in float32 and
 * bfloat16, whose rounding must not break it. */
static const double matrix_ranges[][2] = {
    { -0.25, 6.5 }, { 0.5, 6 }, { 5.9, 6 }, { -6, -0.5 }, { -3, 0 }, { 2, 2 }, { -1, 1 },
};

START_TEST(cholesky_gets_positive_definite_matrices)
{
    for (size_t r = 0; r < 7; r++) {
        for (int d = 0; d < 2; d++) {
            struct built_case *b = numbered(r % 2 ? "Torch.cholesky" : "Torch.linalg.cholesky_ex");
            double lo = matrix_ranges[r][0], hi = matrix_ranges[r][1];
            add(b, TENSOR3(b, d ? DT_BF16 : DT_F32, lo, hi, 5, 8, 8));
            generate(b);
            const double *x = reals(b, &b->args[0]);
            bool widened = noted(b, "no regular ones");
            for (int m = 0; m < 5; m++) {
                const double *a = x + 64 * m;
                for (int i = 0; i < 8; i++)
                    for (int k = 0; k < 8; k++) {
                        ck_assert_double_eq(a[8 * i + k], a[8 * k + i]);
                        /* 0.5 %: bfloat16 bounds move inward, never outward. */
                        if (!widened) ck_assert(a[8 * i + k] >= lo && a[8 * i + k] <= hi);
                    }
                ck_assert_msg(is_positive_definite(a, 8), "range %zu", r);
            }
            ck_assert_int_eq(widened, hi <= fmax(lo, 0));
            free_case(b);
        }
    }
}
END_TEST

START_TEST(inverse_gets_well_conditioned_matrices)
{
    static const char *const apis[] = { "Torch.inverse", "Torch.det", "Torch.slogdet",
                                        "Torch.cholesky_inverse", "Torch.lu_factor" };
    for (size_t r = 0; r < 7; r++) {
        struct built_case *b = numbered(apis[r % 5]);
        double lo = matrix_ranges[r][0], hi = matrix_ranges[r][1];
        add(b, TENSOR3(b, DT_F32, lo, hi, 4, 8, 8));
        generate(b);
        const double *x = reals(b, &b->args[0]);
        for (int m = 0; m < 4; m++) {
            ck_assert_msg(smallest_pivot(x + 64 * m, 8) > 0.001, "range %zu", r);
            for (int i = 0; i < 64 && !noted(b, "no regular ones"); i++)
                ck_assert(x[64 * m + i] >= (float)lo && x[64 * m + i] <= (float)hi);
        }
        free_case(b);
    }
    struct built_case *b = numbered("Torch.inverse"); /* not square: not ours */
    add(b, TENSOR2(b, DT_F32, -1, 1, 4, 6));
    generate(b);
    ck_assert_uint_eq(b->notes.count, 0);
    free_case(b);
}
END_TEST

/* solve(A, B) of torch.linalg, the older solve(B, A), and the right-hand side of both. */
START_TEST(solve_finds_its_matrix)
{
    for (int old = 0; old < 2; old++) {
        struct built_case *b = numbered("Torch.solve");
        struct value a = TENSOR2(b, DT_F32, -1, 1, 8, 8), right = TENSOR2(b, DT_F32, -1, 1, 8, 3);
        add(b, old ? right : a);
        add(b, old ? a : right);
        generate(b);
        ck_assert_double_gt(smallest_pivot(reals(b, &b->args[old]), 8), 0.01);
        ck_assert_uint_eq(b->notes.count, 1);
        free_case(b);
    }
    struct built_case *b = numbered("Torch.tensorsolve");
    add(b, TENSOR3(b, DT_F32, -1, 1, 2, 3, 6));
    add(b, TENSOR2(b, DT_F32, -1, 1, 2, 3));
    generate(b);
    ck_assert_double_gt(smallest_pivot(reals(b, &b->args[0]), 6), 0.01);
    free_case(b);
}
END_TEST

/* Hermitian with a real positive diagonal that outweighs its row. */
START_TEST(complex_matrices_are_hermitian)
{
    struct built_case *b = numbered("Torch.cholesky");
    add(b, TENSOR2(b, DT_C64, 0, 4, 6, 6));
    generate(b);
    const double *z = reals(b, &b->args[0]);
    for (int i = 0; i < 6; i++) {
        double row = 0;
        for (int k = 0; k < 6; k++) {
            const double *x = z + 2 * (6 * i + k), *y = z + 2 * (6 * k + i);
            ck_assert_double_eq(x[0], y[0]);
            ck_assert_double_eq(x[1], -y[1]);
            if (k != i) row += hypot(x[0], x[1]);
        }
        ck_assert_double_lt(row, z[2 * (7 * i)]);
    }
    free_case(b);
}
END_TEST

START_TEST(pivots_point_forward)
{
    for (int linalg = 0; linalg < 2; linalg++) {
        struct built_case *b = numbered("Torch.lu_solve");
        struct value right = TENSOR3(b, DT_F32, -1, 1, 3, 6, 2);
        if (!linalg) add(b, right);
        add(b, TENSOR3(b, DT_F32, -1, 1, 3, 6, 6));
        add(b, TENSOR2(b, DT_I32, 1, 6, 3, 6));
        if (linalg) add(b, right);
        generate(b);
        const int64_t *x = integers(b, &b->args[linalg ? 1 : 2]);
        for (int i = 0; i < 18; i++) ck_assert(x[i] >= i % 6 + 1 && x[i] <= 6);
        ck_assert_double_gt(fabs(reals(b, &b->args[linalg ? 0 : 1])[0]), 0.4);
        free_case(b);
    }
}
END_TEST

/* ---- look-up ------------------------------------------------------------------------ */

/* In-place, "linalg." and "_ex" names find the row of the plain name; bernoulli_ has its
 * own, in which self may be anything. */
START_TEST(names_find_their_rules)
{
    static const char *const names[] = { "Torch.cholesky", "Torch.linalg.cholesky",
                                         "Aten.linalg_cholesky_ex", "Torch.cholesky_ex" };
    for (int k = 0; k < 4; k++) {
        struct built_case *b = numbered(names[k]);
        add(b, TENSOR2(b, DT_F32, -1, 1, 3, 3));
        generate(b);
        ck_assert_msg(noted(b, "positive definite"), "%s", names[k]);
        free_case(b);
    }
    struct built_case *b = numbered("Tensor.bernoulli_");
    add(b, TENSOR1(b, DT_F32, -5, 5, 9));
    generate(b);
    ck_assert_double_eq(reals(b, &b->args[0])[0], -5);
    free_case(b);
}
END_TEST

/* ---- arguments that make no sense --------------------------------------------------- */

static struct value random_tensor(struct built_case *b, struct philox *draws)
{
    static const enum dtype dtypes[] = { DT_F32, DT_I64,  DT_I64, DT_I32,   DT_BOOL,
                                         DT_U8,  DT_BF16, DT_C64, DT_F8E4M3 };
    static const double bounds[][2] = { { 0, 1 },        { -3, 3 },        { 0, 7 },
                                        { 2, 2 },        { -9, -2 },       { 0, 0 },
                                        { -1e19, 1e19 }, { -1e19, -9e18 }, { 9e18, 1e19 },
                                        { -1, INFINITY } };
    enum dtype dtype = dtypes[philox_below(draws, 9)];
    const double *range = bounds[philox_below(draws, dtype_is_integral(dtype) ? 9 : 10)];
    int64_t dims[4] = { -1, -1, -1, -1 };
    uint64_t rank = philox_below(draws, 5);
    for (uint64_t d = 0; d < rank; d++)
        dims[d] = philox_below(draws, 12) ? 1 + (int64_t)philox_below(draws, 4) : 0;
    if (rank > 1 && philox_below(draws, 2)) dims[rank - 2] = dims[rank - 1];
    return tensor4(b, dtype, range[0], range[1], dims[0], dims[1], dims[2], dims[3]);
}

static struct value random_value(struct built_case *b, struct philox *draws, int depth)
{
    static const int64_t extremes[] = { INT64_MIN, INT64_MAX, INT64_MIN / 2 - 1, INT64_MAX / 2 + 1,
                                        -101 };
    static const double reals[] = { 1e300, -1e300, 3, NAN };
    struct value items[4];
    switch (philox_below(draws, 12)) {
    case 0: return none();
    case 1:
        return integer(philox_below(draws, 4) ? (int64_t)philox_below(draws, 9) - 3
                                              : extremes[philox_below(draws, 5)]);
    case 2: return string("sum");
    case 3: return boolean(philox_below(draws, 2));
    case 4: return ellipsis();
    case 5: return full_slice(b);
    case 6: return (struct value){ .kind = VALUE_FLOAT, .real = reals[philox_below(draws, 4)] };
    case 7:
        if (depth > 1) return none();
        for (int i = 0; i < 4; i++) items[i] = random_value(b, draws, depth + 1);
        return list(b, philox_below(draws, 5), items);
    default: return random_tensor(b, draws);
    }
}

/* Pass the arguments of `parameters` by position, by name, or not at all. */
static void add_random_arguments(struct built_case *b, const char *parameters, struct philox *draws)
{
    static const char *const others[] = { "dim",        "accumulate", "reduce",    "sparse_mode",
                                          "group_list", "lengths",    "attn_mask", "sorter" };
    char *words = arena_copy_string(&b->arena, parameters), *rest = words;
    bool by_name = philox_below(draws, 4) == 0;
    for (const char *word; (word = strsep(&rest, " ")) && b->c.kwargs.list.count < 6;) {
        if (!*word || philox_below(draws, 12) == 0) by_name = true;
        else if (by_name) add_keyword(b, word, random_value(b, draws, 0));
        else add(b, random_value(b, draws, 0));
    }
    if (philox_below(draws, 3) == 0)
        add_keyword(b, others[philox_below(draws, 8)], random_value(b, draws, 0));
    if (philox_below(draws, 2)) add_output(b, random_tensor(b, draws));
    if (philox_below(draws, 2)) add_cotangent(b, random_tensor(b, draws));
}

static bool is_made(struct value *value, void *context)
{
    (void)context;
    return value->tensor.tensor && tensor_is_dense(value->tensor.tensor);
}

/* Whatever the arguments are, inputs are made, twice the same. */
START_TEST(senseless_arguments_do_no_harm)
{
    struct philox draws = philox_open(20240607, 0);
    const char *parameters, *api;
    char name[100];

    for (size_t i = 0; (api = rules_api(i, &parameters)); i++) {
        for (int call = 0; call < 150; call++) {
            static const char *const groups[] = { "Functional", "Torch", "Tensor" };
            snprintf(name, sizeof name, "%s.%s.%d", groups[call % 3], api, call);
            struct built_case *b = build_case(name);
            add_random_arguments(b, parameters, &draws);
            generate(b);
            if (!value_each_tensor(&b->c.args, is_made, NULL) ||
                !value_each_tensor(&b->c.kwargs, is_made, NULL))
                ck_abort_msg("%s", name);
            uint64_t first = hash_value(&b->c.args, 0);
            first = hash_value(&b->c.kwargs, first);
            generate(b);
            uint64_t second = hash_value(&b->c.args, 0);
            ck_assert_uint_eq(hash_value(&b->c.kwargs, second), first);
            free_case(b);
        }
    }
}
END_TEST

/* Boxes of other kinds, shapes and sizes, or without images, are left as drawn. */
START_TEST(regions_that_are_none)
{
    for (int kind = 0; kind < 5; kind++) {
        struct built_case *b = numbered("NPU.npu_roi_align");
        add(b, kind == 4 ? integer(3) : TENSOR4(b, DT_F32, -1, 1, kind == 3 ? 0 : 3, 2, 8, 8));
        add(b, kind == 0   ? TENSOR2(b, DT_I64, 0, 7, 40, 5)
               : kind == 1 ? TENSOR1(b, DT_F32, 0, 7, 40)
               : kind == 2 ? TENSOR2(b, DT_F32, 0, 7, 40, 6)
                           : TENSOR2(b, DT_F32, 0, 7, 40, 5));
        generate(b);
        ck_assert_msg(b->notes.count == 0, "kind %d", kind);
        free_case(b);
    }
}
END_TEST

/* What a hand-made call may lack: a type, outputs, and a size that can be counted. */
START_TEST(calls_without_type_or_outputs)
{
    struct built_case *b = numbered("Torch.gather");
    b->c.type = NULL;
    add(b, TENSOR2(b, DT_F32, -1, 1, 6, 9));
    add(b, integer(1));
    add(b, TENSOR1(b, DT_I64, -50, 50, 300));
    generate(b);
    ck_assert(all_within(integers(b, &b->args[2]), 300, 0, 8));
    free_case(b);

    b = numbered("Torch.repeat_interleave");
    b->c.outputs = none();
    add(b, TENSOR1(b, DT_F32, -1, 1, 50));
    add(b, TENSOR1(b, DT_I64, -4, 5, 50));
    generate(b);
    ck_assert(all_within(integers(b, &b->args[1]), 50, 0, 5));
    ck_assert(!noted(b, "recorded extent"));
    free_case(b);

    b = numbered("Torch.gather");
    add(b, none());
    add(b, none());
    add(b, TENSOR2(b, DT_I64, 0, 1, INT64_C(1) << 40, INT64_C(1) << 40));
    ck_assert_uint_eq(generate_input_bytes(&b->c), SIZE_MAX);
    free_case(b);
}
END_TEST

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

/* An ignored index at either end of the record, with bounds that are classes and bounds that are none. */
START_TEST(ignored_targets_at_both_ends)
{
    static const struct {
        double lo, hi;
        int64_t ignored, n, first, last; /* what the others may be */
    } rows[] = {
        { -100, 4, -100, 40, 0, 4 },   { -100, 99, -100, 40, 0, 6 }, { 2, 255, 255, 40, 2, 6 },
        { -7, 255, 255, 40, 0, 6 },    { 9, 255, 255, 40, 0, 6 },    { -100, -50, -100, 40, 0, 6 },
        { -100, 4, -100, 1, -100, 4 }, /* one element is what the record says */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct built_case *b = numbered("Functional.nll_loss");
        add(b, TENSOR2(b, DT_F32, -5, 0, rows[i].n, 7));
        add(b, TENSOR1(b, DT_I64, rows[i].lo, rows[i].hi, rows[i].n));
        add_keyword(b, "ignore_index", integer(rows[i].ignored));
        generate(b);
        const int64_t *x = integers(b, &b->args[1]);
        size_t ignored = 0;
        for (int64_t k = 0; k < rows[i].n; k++) {
            if (x[k] == rows[i].ignored) ignored++;
            else
                ck_assert_msg(x[k] >= rows[i].first && x[k] <= rows[i].last, "row %zu: %lld", i,
                              (long long)x[k]);
        }
        ck_assert_msg(rows[i].n == 1 || (ignored > 0 && ignored < 20), "row %zu: %zu ignored", i,
                      ignored);
        free_case(b);
    }
}
END_TEST

/* A divisor is looked at when div rounds, and only then. */
START_TEST(divisors_of_a_quotient)
{
    const struct value modes[] = { string("floor"), none(), integer(1) };
    for (int k = 0; k < 4; k++) {
        struct built_case *b = numbered("Torch.div");
        add(b, TENSOR1(b, DT_I64, -9, 9, 60));
        add(b, TENSOR1(b, DT_I64, 0, 3, 60));
        if (k < 3) add_keyword(b, "rounding_mode", modes[k]);
        generate(b);
        ck_assert_int_eq(contains(integers(b, &b->args[1]), 60, 0), k != 0);
        free_case(b);
    }
}
END_TEST

/* Sequences without elements, or that have no order, stay; a sorter of another size too. */
START_TEST(sequences_that_are_not_sorted)
{
    for (int kind = 0; kind < 5; kind++) {
        struct built_case *b = numbered("Torch.searchsorted");
        add(b, kind == 0   ? TENSOR1(b, DT_F32, -1, 1, 0)
               : kind == 1 ? TENSOR1(b, DT_C64, 0, 1, 9)
               : kind == 2 ? none()
                           : TENSOR1(b, DT_F32, -1, 1, 9));
        if (kind == 3) add_keyword(b, "sorter", TENSOR1(b, DT_I64, 0, 8, 5));
        if (kind == 4) add_keyword(b, "sorter", integer(3)); /* no tensor: the sequence is sorted */
        generate(b);
        ck_assert_msg(noted(b, "sorted") == (kind == 4), "kind %d", kind);
        ck_assert(!noted(b, "order that sorts"));
        free_case(b);
    }
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

/* Sizes that no memory holds are said to need all of it. */
START_TEST(bytes_that_overflow)
{
    static const struct {
        const char *api;
        int64_t extent;
        size_t tensors;
        /* clang-format off */
    } rows[] = {
        { "Torch.gather", INT64_C(1) << 62, 1 },  /* 4 bytes each */
        { "Torch.gather", INT64_C(1) << 59, 1 },  /* 24 bytes of scratch each */
        { "Torch.thing", INT64_C(1) << 61, 6 },   /* all together */
        { "Torch.thing", INT64_C(1) << 62, 2 },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int place = 0; place < 3; place++) {
            struct built_case *b = numbered(rows[i].api);
            for (size_t k = 0; k < rows[i].tensors; k++) {
                struct value x = TENSOR1(b, DT_I64, 0, 1, rows[i].extent);
                if (place == 0) add(b, none()), add(b, none()), add(b, x);
                if (place == 1) add_keyword(b, "index", x);
                if (place == 2) add_cotangent(b, x);
            }
            size_t bytes = generate_input_bytes(&b->c);
            bool counted = place == 2 && i == 1; /* no rule looks at cotangents */
            ck_assert_msg((bytes == SIZE_MAX) == !counted, "row %zu, place %d: %zu", i, place,
                          bytes);
            free_case(b);
        }
    struct built_case *b = numbered("Torch.thing"); /* what is not recorded needs nothing */
    const struct value computed = { .kind = VALUE_TENSOR };
    add(b, computed);
    ck_assert_uint_eq(generate_input_bytes(&b->c), 0);
    struct tensor_record unknown = *TENSOR1(b, DT_F32, 0, 1, 5).tensor.record;
    unknown.dtype = DT_NONE;
    add(b, (struct value){ .kind = VALUE_TENSOR, .tensor = { &unknown, NULL } });
    ck_assert_uint_eq(generate_input_bytes(&b->c), 0);
    free_case(b);
}
END_TEST

START_TEST(regions_name_their_image)
{
    struct built_case *b = numbered("NPU.npu_roi_align");
    add(b, TENSOR4(b, DT_F32, -1, 1, 3, 2, 8, 8));
    add(b, TENSOR2(b, DT_F32, 0, 7, 40, 5));
    generate(b);
    const double *x = reals(b, &b->args[1]);
    for (int i = 0; i < 40; i++, x += 5) {
        ck_assert(x[0] == 0 || x[0] == 1 || x[0] == 2);
        ck_assert(x[1] <= x[3] && x[2] <= x[4]);
    }
    free_case(b);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("rules");
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
    tcase_add_test(tests, targets_are_classes_or_ignored);
    tcase_add_test(tests, odd_targets);
    tcase_add_test(tests, ctc_targets_fit_their_frames);
    tcase_add_test(tests, ctc_lengths_follow_the_frames);
    tcase_add_test(tests, labels_are_signs_where_the_record_says_so);
    tcase_add_test(tests, values_stay_in_their_domain);
    tcase_add_test(tests, logarithms_of_densities_may_be_negative);
    tcase_add_test(tests, every_row_to_draw_from_has_weight);
    tcase_add_test(tests, integer_divisors_are_not_zero);
    tcase_add_test(tests, shifts_stay_below_the_width);
    tcase_add_test(tests, sequences_are_sorted_by_rows);
    tcase_add_test(tests, a_sorter_sorts_what_was_drawn);
    tcase_add_test(tests, offsets_start_at_zero_and_rise);
    tcase_add_test(tests, lengths_add_up);
    tcase_add_test(tests, lengths_without_a_total);
    tcase_add_test(tests, dimensions_that_are_not_there);
    tcase_add_test(tests, split_points_without_their_pieces);
    tcase_add_test(tests, lengths_of_senseless_records);
    tcase_add_test(tests, a_lone_offset);
    tcase_add_test(tests, ctc_lengths_that_cannot_be);
    tcase_add_test(tests, split_points_give_the_recorded_pieces);
    tcase_add_test(tests, masks_select_what_was_recorded);
    tcase_add_test(tests, masks_of_other_shapes);
    tcase_add_test(tests, masks_that_are_left_alone);
    tcase_add_test(tests, masks_are_free_for_broadcast_values);
    tcase_add_test(tests, attention_masks_leave_a_key);
    tcase_add_test(tests, sparse_modes_take_the_compressed_mask);
    tcase_add_test(tests, sequence_ends_rise_to_the_number_of_tokens);
    tcase_add_test(tests, cholesky_gets_positive_definite_matrices);
    tcase_add_test(tests, inverse_gets_well_conditioned_matrices);
    tcase_add_test(tests, solve_finds_its_matrix);
    tcase_add_test(tests, complex_matrices_are_hermitian);
    tcase_add_test(tests, pivots_point_forward);
    tcase_add_test(tests, names_find_their_rules);
    tcase_add_test(tests, senseless_arguments_do_no_harm);
    tcase_add_test(tests, regions_that_are_none);
    tcase_add_test(tests, calls_without_type_or_outputs);
    tcase_add_test(tests, kernels_of_some_dimensions);
    tcase_add_test(tests, ignored_targets_at_both_ends);
    tcase_add_test(tests, divisors_of_a_quotient);
    tcase_add_test(tests, sequences_that_are_not_sorted);
    tcase_add_test(tests, scattered_places);
    tcase_add_test(tests, assigned_indices_without_places);
    tcase_add_test(tests, bytes_that_overflow);
    tcase_add_test(tests, regions_name_their_image);
    return run_tests("rules", tests);
}
