/* Philox 4x32-10 against the known answers that its authors publish, against their own code
 * where Debian's librandom123-dev is installed (CMake prints whether it is), and every
 * vector variant against the definition. */
#include "case_builder.h"
#include "generators/lanes.h"
#include "generators/philox.h"

#if __has_include(<Random123/philox.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#include <Random123/philox.h>
#pragma GCC diagnostic pop
#define HAS_RANDOM123 1
#else
#define HAS_RANDOM123 0
#endif

/* The file kat_vectors of Random123, philox4x32 with 10 rounds. */
static const struct {
    uint32_t counter[4], key[2], want[4];
} known_answers[] = {
    { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
    { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff },
      { 0xffffffff, 0xffffffff },
      { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
    { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
      { 0xa4093822, 0x299f31d0 },
      { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
};

START_TEST(gives_the_published_answers)
{
    uint32_t got[4];
    philox_block(got, known_answers[_i].counter, known_answers[_i].key);
    ck_assert_mem_eq(got, known_answers[_i].want, sizeof got);
}
END_TEST

/* The packing of counter and key into 64-bit numbers: low word first. */
START_TEST(every_variant_gives_the_published_answers)
{
    const uint32_t *counter = known_answers[_i].counter, *key = known_answers[_i].key;
    uint64_t block = (uint64_t)counter[1] << 32 | counter[0];
    uint64_t stream = (uint64_t)counter[3] << 32 | counter[2];
    for (size_t v = 0; lanes_variant(v); v++) {
        static uint32_t out[4 * 64];
        lanes_variant(v)->philox(out, (uint64_t)key[1] << 32 | key[0], stream, block, 64);
        ck_assert_mem_eq(out, known_answers[_i].want, 16);
    }
}
END_TEST

/* Whole ranges, with lengths that leave remainders, across the carry into the upper counter
 * word and across the wrap of the block number. */
START_TEST(variants_agree_with_the_definition)
{
    static const uint64_t firsts[] = {
        0, 1, 0xffffffe0u, 0xffffffffu, 0xfffffffffffffff0u, 0x123456789abcdef0u
    };
    enum { BLOCKS = 203 };
    static uint32_t want[4 * BLOCKS], got[4 * BLOCKS + 4];

    for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++) {
        for (size_t i = 0; i < BLOCKS; i++) {
            uint64_t block = firsts[f] + i;
            const uint32_t counter[4] = { (uint32_t)block, (uint32_t)(block >> 32), 7, 9 };
            const uint32_t key[2] = { 0xdeadbeef, 0x01234567 };
            philox_block(want + 4 * i, counter, key);
        }
        for (size_t v = 0; lanes_variant(v); v++) {
            for (size_t n = 0; n <= BLOCKS; n += n < 70 ? 1 : 19) {
                memset(got, 0xa5, sizeof got);
                lanes_variant(v)->philox(got, 0x01234567deadbeefu, (uint64_t)9 << 32 | 7, firsts[f],
                                         n);
                ck_assert_mem_eq(got, want, n * 16);
                for (int k = 0; k < 4; k++) ck_assert_uint_eq(got[4 * n + (size_t)k], 0xa5a5a5a5u);
            }
        }
    }
}
END_TEST

START_TEST(agrees_with_random123)
{
#if HAS_RANDOM123
    uint64_t state = 42;
    for (int i = 0; i < 100000; i++) {
        uint32_t words[6], got[4];
        for (int k = 0; k < 6; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            words[k] = (uint32_t)(state >> 32);
        }
        philox4x32_ctr_t counter = { { words[0], words[1], words[2], words[3] } };
        philox4x32_key_t key = { { words[4], words[5] } };
        philox4x32_ctr_t want = philox4x32_R(10, counter, key);
        philox_block(got, words, words + 4);
        ck_assert_mem_eq(got, want.v, sizeof got);
    }
#else
    printf("librandom123-dev is not installed: not compared with Random123\n");
#endif
}
END_TEST

/* The reader hands out the words of the stream in order, without gaps. */
START_TEST(reader_walks_the_stream)
{
    uint32_t want[4 * 8];
    struct philox reader = philox_open(5, 6);
    philox_blocks(want, 5, 6, 0, 8);
    for (int i = 0; i < 32; i++) ck_assert_uint_eq(philox_next(&reader), want[i]);
}
END_TEST

/* Every value below the limit occurs, about equally often: chi-square below its 1 - 1e-6
 * quantile (for 9 degrees of freedom: 45.1). The seed is fixed. */
START_TEST(below_is_uniform)
{
    enum { LIMIT = 10, DRAWS = 100000 };
    struct philox reader = philox_open(11, 0);
    int counts[LIMIT] = { 0 };
    double chi_square = 0;
    for (int i = 0; i < DRAWS; i++) {
        uint64_t x = philox_below(&reader, LIMIT);
        ck_assert_uint_lt(x, LIMIT);
        counts[x]++;
    }
    for (int i = 0; i < LIMIT; i++) {
        double difference = counts[i] - DRAWS / LIMIT;
        chi_square += difference * difference / (DRAWS / LIMIT);
    }
    ck_assert_double_lt(chi_square, 45.1);
    ck_assert_uint_eq(philox_below(&reader, 1), 0);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("philox");
    tcase_add_loop_test(tests, gives_the_published_answers, 0, 3);
    tcase_add_loop_test(tests, every_variant_gives_the_published_answers, 0, 3);
    tcase_add_test(tests, variants_agree_with_the_definition);
    tcase_add_test(tests, agrees_with_random123);
    tcase_add_test(tests, reader_walks_the_stream);
    tcase_add_test(tests, below_is_uniform);
    return run_tests("philox", tests);
}
