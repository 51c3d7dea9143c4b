/* Where errors sit: planted patterns are named, chance is not, and the border between them is where the
 * union bound, written out here for each case, puts it. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "standards/error_places.h"
#include "support/suite.h"

/* A tensor and which of its elements are off. */
struct picture {
    int rank;
    int64_t shape[4];
    bool (*is_off)(const int64_t *at);
    const char *text;
};

static void find(struct places_found *out, struct arena *arena, const struct picture *picture)
{
    struct error_places *places = NULL;
    int64_t at[4] = { 0 };
    size_t n = 1;
    ck_assert_int_eq(error_places_open(&places, arena, picture->rank, picture->shape).code,
                     STATUS_OK);
    for (int d = 0; d < picture->rank; d++) n *= (size_t)picture->shape[d];
    for (size_t i = 0; i < n; i++) {
        size_t rest = i;
        for (int d = picture->rank; d-- > 0; rest /= (size_t)picture->shape[d])
            at[d] = (int64_t)(rest % (size_t)picture->shape[d]);
        if (picture->is_off(at)) error_places_add(places, i);
    }
    error_places_find(out, places);
}

static bool nowhere(const int64_t *at) { return at[0] < 0; }
static bool everywhere(const int64_t *at) { return at[0] >= 0; }
static bool one_row(const int64_t *at) { return at[0] == 7; }
static bool lower_half(const int64_t *at) { return at[0] >= 128 && (at[0] + at[1]) % 5 == 0; }
static bool sixteenth_column(const int64_t *at) { return at[1] % 16 == 8; }
static bool second_column(const int64_t *at) { return at[1] % 2 == 1; }
static bool some_steps(const int64_t *at) { return at[1] >= 64 && at[1] < 128 && at[1] % 8 == 3; }
static bool tile(const int64_t *at) { return at[0] / 16 == 2 && at[1] / 16 == 1; }
static bool diagonal_tiles(const int64_t *at)
{
    return at[0] / 16 == at[1] / 16 && at[0] / 16 % 5 == 1;
}
static bool three_rows(const int64_t *at) { return at[0] == 3 || at[0] == 90 || at[0] == 91; }
static bool many_rows(const int64_t *at) { return at[0] * at[0] % 251 < 20; }
static bool all_but_first_row(const int64_t *at) { return at[0] > 0; }
static bool row_and_strays(const int64_t *at)
{
    return at[0] == 7 || (at[0] == 20 && at[1] == 3) || (at[0] == 200 && at[1] == 30);
}
static bool batch(const int64_t *at) { return at[0] == 5; }
static bool head_and_range(const int64_t *at) { return at[1] == 2 && at[2] >= 60; }
static bool tail(const int64_t *at) { return at[0] >= 993; }
static bool lane(const int64_t *at) { return (at[0] * 30 + at[1]) % 8 == 3; }
static bool lone(const int64_t *at) { return at[0] == 3 && at[1] == 3; }
static bool few_in_small(const int64_t *at) { return at[0] == 1; }

/* clang-format off */
static const struct picture pictures[] = {
    { 2, { 256, 64 },       nowhere,           "" },
    { 2, { 256, 64 },       everywhere,        "" },
    { 2, { 256, 64 },       lone,              "" },
    { 2, { 256, 64 },       all_but_first_row, "" }, /* true, and of no help */
    { 2, { 2, 3 },          few_in_small,      "" }, /* a third of the draws would do as well */
    { 2, { 256, 64 },       one_row,           "all in row 7" },
    { 2, { 256, 64 },       lower_half,        "all in rows 128-255" },
    { 2, { 64, 128 },       sixteenth_column,  "all in every 16th column from 8 on" },
    { 2, { 64, 128 },       second_column,     "all in every 2nd column from 1 on" },
    { 2, { 64, 256 },       some_steps,        "all in every 8th column from 67 to 123" },
    { 2, { 256, 256 },      tile,              "all in rows 32-47 and columns 16-31" },
    { 2, { 256, 256 },      diagonal_tiles,    "all in 3 of 256 blocks of 16 x 16" },
    { 2, { 256, 64 },       three_rows,        "all in rows 3, 90, 91" },
    { 2, { 250, 64 },       many_rows,         "all in 22 of 250 rows" },
    { 2, { 256, 64 },       row_and_strays,    "64 of 66 in row 7" },
    { 3, { 8, 16, 16 },     batch,             "all in index 5 of axis 0" },
    { 4, { 4, 8, 64, 32 },  head_and_range,    "all in index 2 of axis 1 and indices 60-63 of axis 2" },
    { 4, { 1, 256, 1, 64 }, everywhere,        "" },
    { 1, { 1000 },          tail,              "all in elements 993-999" },
    { 1, { 100000 },        tail,              "" }, /* from 993 on: nearly all */
    { 2, { 100, 30 },       lane,              "all in every 8th element in flat order from 3 on" },
    { 0, { 0 },             everywhere,        "" },
};
/* clang-format on */

START_TEST(what_is_planted_is_named)
{
    struct arena arena = { 0 };
    struct places_found found;
    char text[PLACES_TEXT_BYTES];
    find(&found, &arena, &pictures[_i]);
    places_text(text, &found);
    ck_assert_str_eq(text, pictures[_i].text);
    arena_release(&arena);
}
END_TEST

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Elements anywhere: 20,000 tensors, of which 0.02 may be said something of. */
START_TEST(chance_is_not_named)
{
    static const int64_t shapes[][3] = {
        { 1, 1, 64 }, { 1, 16, 16 }, { 4, 8, 8 }, { 1, 2, 500 }, { 3, 1, 300 }
    };
    enum { EACH = 4000 };
    uint64_t state = 20261122;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int trial = 0; trial < EACH; trial++) {
            struct arena arena = { 0 };
            struct error_places *places = NULL;
            struct places_found found;
            char text[PLACES_TEXT_BYTES];
            size_t n = (size_t)(shapes[s][0] * shapes[s][1] * shapes[s][2]);
            size_t wanted = 1 + draw(&state) % (trial % 3 ? 12 : n), left = wanted;
            ck_assert_int_eq(error_places_open(&places, &arena, 3, shapes[s]).code, STATUS_OK);
            /* Algorithm S: each of the n is taken with the chance that leaves `wanted` in all. */
            for (size_t i = 0; i < n; i++)
                if (draw(&state) % (n - i) < left) {
                    error_places_add(places, i);
                    left--;
                }
            error_places_find(&found, places);
            places_text(text, &found);
            ck_assert_msg(!*text, "%zu of %zu elements: %s", wanted, n, text);
            arena_release(&arena);
        }
}
END_TEST

/* k elements in one of 256 rows: 256 rows, of each a share 1/256, five forms on each of two axes, four
 * in flat order and six sizes of blocks. */
START_TEST(the_border_is_that_of_the_bound)
{
    for (size_t k = 1; k < 8; k++) {
        struct arena arena = { 0 };
        struct error_places *places = NULL;
        struct places_found found;
        const int64_t shape[] = { 256, 64 };
        ck_assert_int_eq(error_places_open(&places, &arena, 2, shape).code, STATUS_OK);
        for (size_t i = 0; i < k; i++) error_places_add(places, 64 * 7 + i * i);
        error_places_find(&found, places);
        double chance = 256 * pow(1.0 / 256, (double)k) * (5 * 2 + 4 + 6);
        ck_assert_int_eq(found.axes[0].form != PLACE_ANYWHERE, chance < 1e-6);
        if (chance < 1e-6) {
            ck_assert_int_eq(found.axes[0].form, PLACE_RANGE);
            ck_assert_int_eq(found.axes[0].first, 7);
            ck_assert_int_eq(found.axes[0].last, 7);
        }
        arena_release(&arena);
    }
}
END_TEST

/* An axis that is too long to be counted keeps its span. */
START_TEST(long_axes)
{
    struct arena arena = { 0 };
    struct error_places *places = NULL;
    struct places_found found;
    char text[PLACES_TEXT_BYTES];
    const int64_t shape[] = { 2, 1000000 };
    ck_assert_int_eq(error_places_open(&places, &arena, 2, shape).code, STATUS_OK);
    for (size_t i = 0; i < 40; i++) error_places_add(places, 900000 + 64 * i);
    error_places_find(&found, places);
    places_text(text, &found);
    ck_assert_str_eq(text, "all in row 0 and every 64th column from 900000 to 902496");
    arena_release(&arena);
}
END_TEST

/* The order in which elements come does not matter. */
START_TEST(any_order)
{
    struct arena arena = { 0 };
    const int64_t shape[] = { 16, 48 };
    char texts[2][PLACES_TEXT_BYTES];
    for (int turn = 0; turn < 2; turn++) {
        struct error_places *places = NULL;
        struct places_found found;
        ck_assert_int_eq(error_places_open(&places, &arena, 2, shape).code, STATUS_OK);
        for (size_t i = 0; i < 16; i++)
            error_places_add(places, (turn ? 15 - i : i) * 48 + 4 + i % 2 * 8);
        error_places_find(&found, places);
        places_text(texts[turn], &found);
    }
    ck_assert_str_eq(texts[0], "all in columns 4, 12");
    ck_assert_str_eq(texts[1], texts[0]);
    arena_release(&arena);
}
END_TEST

START_TEST(ordinals)
{
    static const struct {
        int64_t step;
        const char *text;
    } cases[] = { { 3, "every 3rd" },   { 4, "every 4th" },    { 11, "every 11th" },
                  { 12, "every 12th" }, { 13, "every 13th" },  { 21, "every 21st" },
                  { 22, "every 22nd" }, { 111, "every 111th" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[PLACES_TEXT_BYTES];
        struct places_found found = { .off = 9, .rank = 1 };
        found.axes[0] = (struct axis_places){
            .form = PLACE_STEP, .extent = 1000, .last = 999, .step = cases[i].step, .inside = 9
        };
        places_text(text, &found);
        ck_assert_ptr_nonnull(strstr(text, cases[i].text));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("error_places");
    TCase *tcase = tcase_create("error_places");
    tcase_add_loop_test(tcase, what_is_planted_is_named, 0, sizeof pictures / sizeof *pictures);
    tcase_add_test(tcase, chance_is_not_named);
    tcase_add_test(tcase, the_border_is_that_of_the_bound);
    tcase_add_test(tcase, long_axes);
    tcase_add_test(tcase, any_order);
    tcase_add_test(tcase, ordinals);
    tcase_set_timeout(tcase, 120);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
