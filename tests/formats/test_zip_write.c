/* Archives of deflated entries: what went in comes out of our reader, which shares nothing with the writer
 * but zlib, and of Python's; the bytes do not depend on the number of threads. */
#include "formats/zip_write.h"

#include <string.h>

#include "formats/zip.h"
#include "support/scratch.h"
#include "support/suite.h"

/* Below, at and above the size of a block, and several. */
static const size_t sizes[] = { 0, 1, 1000, (512 << 10) - 1, 512 << 10, (512 << 10) + 1, 3 << 20 };
enum { ENTRIES = sizeof sizes / sizeof *sizes };

/* Text that repeats itself now and then, different in every entry. */
static char *entry_bytes(size_t entry)
{
    uint64_t state = entry + 1;
    char *bytes = malloc(sizes[entry] + 1);
    for (size_t i = 0; i < sizes[entry]; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = i % 100 < 80 ? "<c r=\"A1\"><v>0.</v></c>"[i % 23] : (char)(state >> 57);
    }
    return bytes;
}

static const char *const names[ENTRIES] = { "a", "b/c", "d", "e", "f", "g", "last" };

/* Bytes come in pieces of many sizes. */
static void add_entry(struct zip_writer *zip, size_t entry)
{
    char *bytes = entry_bytes(entry);
    ck_assert_int_eq(zip_writer_begin(zip, names[entry]).code, STATUS_OK);
    for (size_t at = 0, piece = 1; at < sizes[entry]; at += piece, piece = piece * 7 % 100003) {
        if (piece > sizes[entry] - at) piece = sizes[entry] - at;
        ck_assert_int_eq(zip_writer_add(zip, bytes + at, piece).code, STATUS_OK);
    }
    ck_assert_int_eq(zip_writer_end(zip).code, STATUS_OK);
    free(bytes);
}

static char *make_archive(const char *path, unsigned threads, size_t *bytes)
{
    struct zip_writer *zip;
    struct file file;

    (void)remove(path);
    ck_assert_int_eq(file_create(&file, path).code, STATUS_OK);
    ck_assert_int_eq(zip_writer_create(&zip, &file, threads).code, STATUS_OK);
    for (size_t i = 0; i < ENTRIES; i++) add_entry(zip, i);
    ck_assert_int_eq(zip_writer_finish(zip).code, STATUS_OK);
    zip_writer_release(zip);
    ck_assert_int_eq(file_close(&file).code, STATUS_OK);
    return scratch_read(path, bytes);
}

START_TEST(entries_come_out_as_they_went_in)
{
    struct scratch scratch = scratch_make();
    const char *path = scratch_path(&scratch, "t.zip");
    struct arena arena = { 0 };
    struct zip zip;
    char command[700];
    size_t size;
    char *archive = make_archive(path, 3, &size);

    struct status status = zip_open(&zip, &arena, archive, size, "t.zip");
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_uint_eq(zip.count, ENTRIES);
    for (size_t i = 0; i < ENTRIES; i++) {
        const void *got;
        char *want = entry_bytes(i);
        ck_assert_uint_eq(zip.entries[i].bytes, sizes[i]);
        ck_assert_int_eq(zip_read(&got, &arena, &zip, &zip.entries[i]).code, STATUS_OK);
        ck_assert(!memcmp(got, want, sizes[i]));
        free(want);
    }
    snprintf(command, sizeof command, "/usr/bin/python3 -m zipfile -t %s > %s.out", path, path);
    ck_assert_int_eq(system(command), 0);
    arena_release(&arena);
    free(archive);
    scratch_remove(&scratch);
}
END_TEST

START_TEST(threads_change_nothing)
{
    struct scratch scratch = scratch_make();
    size_t size, other_size;
    char *one = make_archive(scratch_path(&scratch, "1.zip"), 1, &size);

    for (unsigned threads = 2; threads <= 32; threads *= 4) {
        char *other = make_archive(scratch_path(&scratch, "n.zip"), threads, &other_size);
        ck_assert_uint_eq(other_size, size);
        ck_assert(!memcmp(other, one, size));
        free(other);
    }
    free(one);
    scratch_remove(&scratch);
}
END_TEST

/* A writer that is given up in the middle of an entry leaves no thread behind. */
START_TEST(given_up)
{
    struct scratch scratch = scratch_make();
    struct zip_writer *zip;
    struct file file;
    char *bytes = entry_bytes(ENTRIES - 1);

    ck_assert_int_eq(file_create(&file, scratch_path(&scratch, "t.zip")).code, STATUS_OK);
    ck_assert_int_eq(zip_writer_create(&zip, &file, 4).code, STATUS_OK);
    ck_assert_int_eq(zip_writer_begin(zip, "a").code, STATUS_OK);
    ck_assert_int_eq(zip_writer_add(zip, bytes, sizes[ENTRIES - 1]).code, STATUS_OK);
    zip_writer_release(zip);
    zip_writer_release(NULL);
    ck_assert_int_eq(file_close(&file).code, STATUS_OK);
    free(bytes);
    scratch_remove(&scratch);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("zip_write");
    TCase *tests = tcase_create("zip_write");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, entries_come_out_as_they_went_in);
    tcase_add_test(tests, threads_change_nothing);
    tcase_add_test(tests, given_up);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
