/* Texts behind each other in a file, in the order in which they were given; a write that fails. */
#include <string.h>

#include "compare/background_writer.h"
#include "core/memory.h"
#include "support/suite.h"
#include "support/workspace.h"

enum { TEXTS = 200, LONGEST = 5000 };

/* Text i is i + 1 times its own letter, so that lengths and places tell one from another. */
static void append_letters(struct csv_buffer *text, size_t i)
{
    char letters[LONGEST];
    memset(letters, (int)('a' + i % 26), sizeof letters);
    ck_assert(!csv_append_bytes(text, letters, 1 + i * 7 % LONGEST).code);
}

START_TEST(texts_come_in_order)
{
    struct workspace folder = workspace_make();
    struct background_writer *writer;
    struct csv_buffer text = { 0 }, all = { 0 };
    struct file file;
    char *written;
    size_t bytes;
    const char *path = in(&folder, "texts");
    ck_assert(!file_create(&file, path).code);
    ck_assert(!background_writer_open(&writer, &file).code);
    for (size_t i = 0; i < TEXTS; i++) {
        append_letters(&text, i);
        append_letters(&all, i);
        ck_assert(!background_writer_append(writer, &text).code);
        ck_assert_uint_eq(text.length, 0);
    }
    ck_assert(!background_writer_wait(writer).code);
    ck_assert(!file_read_text(&written, &bytes, path, FILES_TRUSTED).code);
    ck_assert_uint_eq(bytes, all.length);
    ck_assert(!memcmp(written, all.data, bytes));
    memory_release(written);
    background_writer_close(writer);
    csv_buffer_release(&text);
    csv_buffer_release(&all);
    ck_assert(!file_close(&file).code);
    workspace_remove(&folder);
}
END_TEST

/* A file that was opened for reading takes no write; whoever waits or writes on is told. */
START_TEST(a_failed_write_is_told)
{
    struct workspace folder = workspace_make();
    struct background_writer *writer;
    struct csv_buffer text = { 0 };
    struct file file;
    write_file(in(&folder, "input"), "x", 1);
    ck_assert(!file_open_read(&file, in(&folder, "input"), FILES_TRUSTED).code);
    ck_assert(!background_writer_open(&writer, &file).code);
    append_letters(&text, 5);
    (void)background_writer_append(writer, &text);
    ck_assert_int_eq(background_writer_wait(writer).code, STATUS_IO);
    append_letters(&text, 5);
    ck_assert_int_eq(background_writer_append(writer, &text).code, STATUS_IO);
    background_writer_close(writer);
    csv_buffer_release(&text);
    ck_assert(!file_close(&file).code);
    workspace_remove(&folder);
}
END_TEST

START_TEST(nothing_to_close) { background_writer_close(NULL); }
END_TEST

int main(void)
{
    Suite *suite = suite_create("background_writer");
    TCase *tests = tcase_create("background_writer");
    tcase_add_test(tests, texts_come_in_order);
    tcase_add_test(tests, a_failed_write_is_told);
    tcase_add_test(tests, nothing_to_close);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
