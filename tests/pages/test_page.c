/* pages/page.c and columns.c: what is in the file is what was put in, read back by an
 * independent decoder; a page that fails leaves nothing. */
#include "pages/columns.h"
#include "pages/page.h"

#include <math.h>

#include "core/file.h"
#include "formats/text_out.h"
#include "support/html_page.h"
#include "support/scratch.h"
#include "support/suite.h"

static const struct embedded_file markup = { "test.html", "<p>head" PAGE_DATA_PLACE "tail</p>", 0 };

START_TEST(blocks_come_back)
{
    struct scratch scratch = scratch_make();
    const char *path = scratch_path(&scratch, "page.html");
    struct page *page = malloc(sizeof *page);
    uint32_t number;
    size_t bytes;

    ck_assert_int_eq(page_open(page, path, &markup).code, STATUS_OK);
    ck_assert(!file_exists(path)); /* not before it is whole */
    ck_assert_int_eq(page_add_block(page, &number, "a\0b", 3).code, STATUS_OK);
    ck_assert_uint_eq(number, 0);
    ck_assert_int_eq(page_add_block(page, &number, "</script><script>", 17).code, STATUS_OK);
    ck_assert_int_eq(page_finish(page, "{}", 2).code, STATUS_OK);

    char *html = scratch_read(path, NULL), *block = html_block(html, "0", &bytes);
    ck_assert_uint_eq(bytes, 3);
    ck_assert_mem_eq(block, "a\0b", 3);
    free(block);
    block = html_block(html, "1", &bytes);
    ck_assert_str_eq(block, "</script><script>");
    ck_assert_ptr_eq(strstr(html, "</script><script>"), NULL);
    ck_assert_int_eq(strncmp(html, "<p>head", 7), 0);
    ck_assert_str_eq(html + strlen(html) - 8, "tail</p>");
    free(block);
    free(html);
    free(page);
    scratch_remove(&scratch);
}
END_TEST

START_TEST(an_older_page_is_replaced_and_a_failed_one_leaves_nothing)
{
    struct scratch scratch = scratch_make();
    const char *path = scratch_text(&scratch, "page.html", "old");
    struct page *page = malloc(sizeof *page);

    ck_assert_int_eq(page_open(page, path, &markup).code, STATUS_OK);
    page_discard(page);
    char *html = scratch_read(path, NULL);
    ck_assert_str_eq(html, "old");
    free(html);
    ck_assert(!file_exists(scratch_path(&scratch, "page.html.part")));

    ck_assert_int_eq(page_open(page, path, &markup).code, STATUS_OK);
    ck_assert_int_eq(page_finish(page, "{}", 2).code, STATUS_OK);
    html = scratch_read(path, NULL);
    ck_assert_int_eq(strncmp(html, "<p>head", 7), 0);
    free(html);
    ck_assert_int_ne(page_open(page, scratch_path(&scratch, "none/page.html"), &markup).code,
                     STATUS_OK);
    page_discard(page);
    free(page);
    scratch_remove(&scratch);
}
END_TEST

/* Six decimal digits survive, over the whole range; so do the numbers that are none. */
START_TEST(numbers_keep_six_digits)
{
    static const double values[] = { 0.001, 123456, 3.14159, 9.99999e307, 1.23457e-300,
                                     0,     0.99,   1000,    2097151 };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char want[32], got[32];
        uint64_t bits = (uint64_t)column_number_bits(values[i]) << 32;
        double back;
        memcpy(&back, &bits, sizeof back);
        snprintf(want, sizeof want, "%.6g", values[i]);
        snprintf(got, sizeof got, "%.6g", back);
        ck_assert_str_eq(got, want);
    }
    double edge;
    uint64_t bits = (uint64_t)column_number_bits(INFINITY) << 32;
    memcpy(&edge, &bits, sizeof edge);
    ck_assert(isinf(edge));
    bits = (uint64_t)column_number_bits(1.7976931348623157e308) << 32;
    memcpy(&edge, &bits, sizeof edge);
    ck_assert(isfinite(edge));
    ck_assert_uint_ne(column_number_bits(NAN), COLUMN_BLANK);
    ck_assert_uint_eq(column_number_bits(NAN) & 0x7ff00000, 0x7ff00000);
}
END_TEST

static struct csv_text text_of(const char *string)
{
    return (struct csv_text){ string, strlen(string) };
}

/* Three columns of five rows in blocks of two; the third block of texts is empty and left out. */
START_TEST(columns_are_cut_into_blocks)
{
    static const struct column_form forms[] = {
        { .id = "n", .kind = COLUMN_NUMBERS, .block_rows = 2 },
        { .id = "c", .kind = COLUMN_CODES, .block_rows = 4 },
        { .id = "t", .kind = COLUMN_TEXTS, .block_rows = 2 }
    };
    struct scratch scratch = scratch_make();
    const char *path = scratch_path(&scratch, "page.html");
    struct page *page = malloc(sizeof *page);
    struct columns columns;
    struct text_out meta = { .status.code = STATUS_OK };

    ck_assert_int_eq(page_open(page, path, &markup).code, STATUS_OK);
    ck_assert_int_eq(columns_create(&columns, page, forms, 3).code, STATUS_OK);
    static const char *const codes[] = { "x", "", "y", "x", "y" }, *const texts[] = { "a", "",
                                                                                      "\"b\"", "c",
                                                                                      "" };
    for (int row = 0; row < 5; row++) {
        if (row != 1) ck_assert_int_eq(columns_put_number(&columns, 0, row).code, STATUS_OK);
        ck_assert_int_eq(columns_put_code(&columns, NULL, 1, text_of(codes[row])).code, STATUS_OK);
        ck_assert_int_eq(columns_put_text(&columns, 2, text_of(texts[row])).code, STATUS_OK);
        ck_assert_int_eq(columns_end_row(&columns).code, STATUS_OK);
    }
    ck_assert_int_eq(columns_finish(&columns, &meta).code, STATUS_OK);
    text_out_bytes(&meta, "", 1);
    ck_assert_str_eq(
        meta.text.data,
        "\"columns\":{\"n\":{\"kind\":\"numbers\",\"blocks\":[[0,0,2],[2,2,2],[5,4,1]]},"
        "\"c\":{\"kind\":\"codes\",\"texts\":[\"\",\"x\",\"y\"],\"blocks\":[[3,0,4],[6,4,1]]},"
        "\"t\":{\"kind\":\"texts\",\"blocks\":[[1,0,2],[4,2,2]]}}");
    ck_assert_int_eq(page_finish(page, meta.text.data, meta.text.length).code, STATUS_OK);

    size_t bytes;
    char *html = scratch_read(path, NULL), *block = html_block(html, "0", &bytes);
    /* 0.0 and a blank: byte planes, the highest first. */
    ck_assert_uint_eq(bytes, 8);
    ck_assert_mem_eq(block, "\0\377\0\377\0\377\0\377", 8);
    free(block);
    block = html_block(html, "3", &bytes);
    ck_assert_uint_eq(bytes, 8);
    ck_assert_mem_eq(block, "\0\0\0\0\1\0\2\1", 8);
    free(block);
    block = html_block(html, "4", &bytes);
    ck_assert_uint_eq(bytes, 6);
    ck_assert_mem_eq(block, "\"b\"\0c\0", 6);
    free(block);
    free(html);
    columns_release(&columns);
    csv_buffer_release(&meta.text);
    free(page);
    scratch_remove(&scratch);
}
END_TEST

/* A text of 10 MB takes no room in the page; it is cut behind a whole character and says its length. */
START_TEST(giant_texts_are_cut)
{
    static const struct column_form forms[] = {
        { .id = "t", .kind = COLUMN_TEXTS, .block_rows = 2 }
    };
    enum { BYTES = 10000000 };
    struct scratch scratch = scratch_make();
    struct page *page = malloc(sizeof *page);
    struct columns columns;
    struct text_out meta = { .status.code = STATUS_OK };
    char *giant = malloc(BYTES);
    memset(giant, 'x', BYTES);
    memcpy(giant + COLUMN_TEXT_LONGEST - 1, "é", 2);

    ck_assert_int_eq(page_open(page, scratch_path(&scratch, "page.html"), &markup).code, STATUS_OK);
    ck_assert_int_eq(columns_create(&columns, page, forms, 1).code, STATUS_OK);
    ck_assert_int_eq(columns_put_text(&columns, 0, (struct csv_text){ giant, BYTES }).code,
                     STATUS_OK);
    ck_assert_int_eq(columns_end_row(&columns).code, STATUS_OK);
    ck_assert_int_eq(columns_finish(&columns, &meta).code, STATUS_OK);
    ck_assert_int_eq(page_finish(page, "{}", 2).code, STATUS_OK);
    size_t bytes;
    char *html = scratch_read(scratch_path(&scratch, "page.html"), NULL),
         *block = html_block(html, "0", &bytes);
    ck_assert_uint_eq(strspn(block, "x"), COLUMN_TEXT_LONGEST - 1);
    ck_assert_str_eq(block + COLUMN_TEXT_LONGEST - 1, "… (10000000 bytes)");
    free(block);
    free(html);
    free(giant);
    columns_release(&columns);
    csv_buffer_release(&meta.text);
    free(page);
    scratch_remove(&scratch);
}
END_TEST

/* A dictionary holds 65,534 texts; what comes later is "other", and what it has is still found. */
START_TEST(full_dictionaries)
{
    static const struct column_form forms[] = {
        { .id = "c", .kind = COLUMN_CODES, .block_rows = 1024 }
    };
    struct scratch scratch = scratch_make();
    struct page *page = malloc(sizeof *page);
    struct columns columns;
    struct text_out meta = { .status.code = STATUS_OK };
    uint16_t code = 0;

    ck_assert_int_eq(page_open(page, scratch_path(&scratch, "page.html"), &markup).code, STATUS_OK);
    ck_assert_int_eq(columns_create(&columns, page, forms, 1).code, STATUS_OK);
    for (int i = 0; i < 70000; i++) {
        char text[16];
        snprintf(text, sizeof text, "api%d", i);
        ck_assert_int_eq(columns_put_code(&columns, &code, 0, text_of(text)).code, STATUS_OK);
        ck_assert_int_eq(code, i + 1 < COLUMN_OTHER ? i + 1 : COLUMN_OTHER);
        ck_assert_int_eq(columns_end_row(&columns).code, STATUS_OK);
    }
    ck_assert_int_eq(columns_put_code(&columns, &code, 0, text_of("api7")).code, STATUS_OK);
    ck_assert_int_eq(code, 8);
    ck_assert_int_eq(columns_finish(&columns, &meta).code, STATUS_OK);
    page_discard(page);
    columns_release(&columns);
    csv_buffer_release(&meta.text);
    free(page);
    scratch_remove(&scratch);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pages");
    TCase *tests = tcase_create("page and columns");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, blocks_come_back);
    tcase_add_test(tests, an_older_page_is_replaced_and_a_failed_one_leaves_nothing);
    tcase_add_test(tests, numbers_keep_six_digits);
    tcase_add_test(tests, columns_are_cut_into_blocks);
    tcase_add_test(tests, giant_texts_are_cut);
    tcase_add_test(tests, full_dictionaries);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
