/* The checksum of archives, whichever library computes it, against its check value and zlib's. */
#include "formats/crc32.h"

#include <zlib.h>

#include "tests/support/suite.h"

enum { BYTES = 5000 };

static unsigned char bytes[BYTES];

static void fill(void)
{
    uint32_t state = 12345;
    for (size_t i = 0; i < BYTES; i++) {
        state = state * 1664525 + 1013904223;
        bytes[i] = (unsigned char)(state >> 24);
    }
}

/* The check value of CRC-32/ISO-HDLC in the catalogue of parametrised CRC algorithms. */
START_TEST(check_value) { ck_assert_uint_eq(crc32_append(0, "123456789", 9), 0xcbf43926); }
END_TEST

START_TEST(nothing_changes_nothing)
{
    ck_assert_uint_eq(crc32_append(0, "", 0), 0);
    ck_assert_uint_eq(crc32_append(0xcbf43926, NULL, 0), 0xcbf43926);
}
END_TEST

/* All short lengths at all alignments, and long ones: vector code has a start, blocks and a rest. */
START_TEST(as_zlib)
{
    fill();
    for (size_t begin = 0; begin < 64; begin += 7)
        for (size_t count = 0; begin + count <= BYTES; count += count < 600 ? 1 : 397)
            ck_assert_uint_eq(crc32_append(0, bytes + begin, count),
                              (uint32_t)crc32(0, bytes + begin, (uInt)count));
}
END_TEST

START_TEST(parts_add_up)
{
    fill();
    uint32_t whole = crc32_append(0, bytes, BYTES);
    for (size_t first = 0; first <= BYTES; first += 61)
        ck_assert_uint_eq(crc32_append(crc32_append(0, bytes, first), bytes + first, BYTES - first),
                          whole);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("crc32");
    TCase *tests = tcase_create("crc32");
    tcase_add_test(tests, check_value);
    tcase_add_test(tests, nothing_changes_nothing);
    tcase_add_test(tests, as_zlib);
    tcase_add_test(tests, parts_add_up);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
