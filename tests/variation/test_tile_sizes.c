/* Extents beside those of tiles in place of recorded ones. */
#include "variation/tile_sizes.h"

#include <check.h>
#include <string.h>

#include "support/cases.h"
#include "support/suite.h"

static struct arena arena;

/* A tensor as a dump has it: a range and no elements. */
static struct value recorded(int rank, const int64_t *shape)
{
    struct value value = ramp_value(&arena, DT_F32, true, rank, shape);
    struct tensor_record *record = arena_allocate(&arena, sizeof *record);
    *record = *value.tensor.record;
    record->min = (struct statistic){ STATISTIC_NUMBER, -1 };
    record->max = (struct statistic){ STATISTIC_NUMBER, 2 };
    return (struct value){ .kind = VALUE_TENSOR, .tensor = { record, NULL } };
}

static const int64_t *shape_of(const struct api_case *c, size_t argument)
{
    return c->args.list.items[argument].tensor.record->shape;
}

static bool is_beside_a_tile(int64_t extent)
{
    for (int64_t tile = 16; tile <= 256; tile *= 2)
        if (extent >= tile - 1 && extent <= tile + 1) return true;
    return false;
}

static const char *vary(struct api_case *c, uint64_t seed)
{
    const struct generate_options options = { .seed = seed, .source = INPUTS_HARD_SIZES };
    const char *note;
    ck_assert_int_eq(tile_sizes_apply(c, &note, &arena, &options).code, 0);
    ck_assert_ptr_nonnull(note);
    return note;
}

static struct api_case product(void)
{
    const int64_t left[] = { 5, 6 }, right[] = { 6, 7 };
    return make_case(&arena, "Torch", "mm",
                     list_value(&arena, 2, recorded(2, left), recorded(2, right)));
}

/* Every seed gives extents beside tiles, K is the same on both sides, and the range stays. */
START_TEST(products_keep_their_inner_extent)
{
    bool differ = false;
    int64_t first = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct api_case c = product();
        const char *note = vary(&c, seed);
        const int64_t *left = shape_of(&c, 0), *right = shape_of(&c, 1);
        ck_assert_int_eq(left[1], right[0]);
        ck_assert_msg(is_beside_a_tile(left[0]) && is_beside_a_tile(left[1]) &&
                          is_beside_a_tile(right[1]),
                      "%s", note);
        ck_assert_msg(!strncmp(note, "Sizes: M (dimension 0 of input) ", 32), "%s", note);
        ck_assert_double_eq(c.args.list.items[0].tensor.record->max.number, 2);
        const struct tensor_record *output = c.outputs.list.items[0].tensor.record;
        ck_assert_int_eq(output->shape[0], left[0]);
        ck_assert_int_eq(output->shape[1], right[1]);
        differ = differ || (seed && left[0] != first);
        first = left[0];
        arena_reset(&arena);
    }
    ck_assert(differ);
}
END_TEST

START_TEST(the_same_seed_gives_the_same_extents)
{
    struct api_case a = product(), b = product();
    ck_assert_str_eq(vary(&a, 7), vary(&b, 7));
    ck_assert_mem_eq(shape_of(&a, 0), shape_of(&b, 0), 2 * sizeof(int64_t));
    arena_reset(&arena);
}
END_TEST

/* A number that stands for an extent follows. */
START_TEST(normalized_shape_follows)
{
    const int64_t rows[] = { 3, 9 };
    struct value args =
        list_value(&arena, 2, recorded(2, rows), list_value(&arena, 1, int_value(9)));
    struct api_case c = make_case(&arena, "Functional", "layer_norm", args);
    (void)vary(&c, 3);
    ck_assert(is_beside_a_tile(shape_of(&c, 0)[1]));
    ck_assert_int_eq(c.args.list.items[1].list.items[0].integer, shape_of(&c, 0)[1]);
    ck_assert_int_eq(shape_of(&c, 0)[0], 3); /* too short to be a tile's */
    arena_reset(&arena);
}
END_TEST

/* What cannot be varied stays, and says why. */
START_TEST(recorded_sizes_stay)
{
    const int64_t none[] = { 2, 3 }, large[] = { 2048, 2048 };
    struct api_case c = make_case(&arena, "Torch", "exp", list_value(&arena, 1, recorded(2, none)));
    ck_assert_ptr_nonnull(strstr(vary(&c, 1), "has no axis that can be varied"));
    ck_assert_int_eq(shape_of(&c, 0)[1], 3);
    c = make_case(&arena, "Torch", "exp", list_value(&arena, 1, recorded(2, large)));
    ck_assert_ptr_nonnull(strstr(vary(&c, 1), "too large"));
    ck_assert_int_eq(shape_of(&c, 0)[0], 2048);
    arena_reset(&arena);
}
END_TEST

START_TEST(other_inputs_have_recorded_sizes)
{
    struct api_case c = product();
    const struct generate_options options = { .seed = 1, .source = INPUTS_HARD };
    const char *note = "";
    ck_assert_int_eq(tile_sizes_apply(&c, &note, &arena, &options).code, 0);
    ck_assert_ptr_null(note);
    ck_assert_int_eq(shape_of(&c, 0)[0], 5);
    arena_reset(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tile sizes");
    TCase *tests = tcase_create("tile sizes");
    tcase_add_test(tests, products_keep_their_inner_extent);
    tcase_add_test(tests, the_same_seed_gives_the_same_extents);
    tcase_add_test(tests, normalized_shape_follows);
    tcase_add_test(tests, recorded_sizes_stay);
    tcase_add_test(tests, other_inputs_have_recorded_sizes);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
