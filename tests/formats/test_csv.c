/* The CSV writer and reader. What the writer makes is read back by libcsv, a parser that shares
 * nothing with ours; what the reader finds in well-formed texts must be what libcsv finds. */
#include <check.h>
#include <csv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "formats/csv.h"
#include "support/suite.h"

#define ck_ok(expression)                                                   \
    do {                                                                    \
        struct status ck_status_ = (expression);                            \
        ck_assert_msg(ck_status_.code == STATUS_OK, "%s", ck_status_.text); \
    } while (0)

/* Rows as text: cells joined by 0x1f, rows ended by 0x1e. */
struct flat {
    char *text;
    size_t length, room;
    bool in_row;
};

static void flat_add(struct flat *flat, const char *bytes, size_t length)
{
    if (flat->length + length >= flat->room) {
        flat->room = 2 * (flat->length + length + 1);
        flat->text = realloc(flat->text, flat->room);
    }
    memcpy(flat->text + flat->length, bytes, length);
    flat->length += length;
    flat->text[flat->length] = '\0';
}

static void flat_cell(struct flat *flat, const char *bytes, size_t length)
{
    if (flat->in_row) flat_add(flat, "\x1f", 1);
    flat_add(flat, bytes, length);
    flat->in_row = true;
}

static void flat_row(struct flat *flat)
{
    flat_add(flat, "\x1e", 1);
    flat->in_row = false;
}

static void libcsv_cell(void *bytes, size_t length, void *flat) { flat_cell(flat, bytes, length); }

static void libcsv_row(int end, void *flat)
{
    (void)end;
    flat_row(flat);
}

static int never_space(unsigned char c)
{
    (void)c;
    return 0;
}

static struct flat read_with_libcsv(const char *text, size_t length)
{
    struct flat flat = { 0 };
    struct csv_parser parser;
    ck_assert_int_eq(csv_init(&parser, 0), 0);
    csv_set_space_func(&parser, never_space);
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) text += 3, length -= 3;
    ck_assert_uint_eq(csv_parse(&parser, text, length, libcsv_cell, libcsv_row, &flat), length);
    csv_fini(&parser, libcsv_cell, libcsv_row, &flat);
    csv_free(&parser);
    flat_add(&flat, "", 0);
    return flat;
}

static struct flat drain(struct csv_reader *reader, bool *torn)
{
    struct flat flat = { 0 };
    struct csv_row row;
    bool more;
    uint64_t number = 0, end = 0;
    *torn = false;
    for (;;) {
        ck_ok(csv_next(reader, &row, &more));
        if (!more) break;
        ck_assert_uint_eq(row.number, ++number);
        ck_assert_uint_ge(row.begin, end);
        ck_assert_uint_gt(row.end, row.begin);
        ck_assert_msg(!*torn, "only the last row can be torn");
        end = row.end;
        *torn = row.torn;
        for (size_t i = 0; i < row.count; i++)
            flat_cell(&flat, row.cells[i].bytes, row.cells[i].length);
        flat_row(&flat);
    }
    flat_add(&flat, "", 0);
    return flat;
}

static struct flat read_text(const char *text, size_t length, bool *torn)
{
    struct csv_reader reader;
    ck_ok(csv_open_text(&reader, "text", text, length, NULL));
    struct flat flat = drain(&reader, torn);
    csv_close(&reader);
    return flat;
}

static void check_reads_as(const char *text, const char *expected, bool expected_torn)
{
    bool torn;
    struct flat flat = read_text(text, strlen(text), &torn);
    ck_assert_str_eq(flat.text, expected);
    ck_assert_int_eq(torn, expected_torn);
    free(flat.text);
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* A NUL is a fault, or the end of the file for who asks for that: the row it stands in is torn. */
START_TEST(nul_bytes)
{
    static const char text[] = "a,b\nc,d\ne,\0\0\nf,g\n";
    const struct csv_limits limits = { .ends_at_nul = true };
    struct csv_reader reader;
    bool torn;
    ck_assert_int_eq(csv_open_text(&reader, "text", text, sizeof text - 1, NULL).code,
                     STATUS_BAD_INPUT);
    csv_close(&reader);
    ck_ok(csv_open_text(&reader, "text", text, sizeof text - 1, &limits));
    struct flat flat = drain(&reader, &torn), expected = read_text("a,b\nc,d\ne,", 10, &torn);
    ck_assert_str_eq(flat.text, expected.text);
    ck_assert(torn);
    free(flat.text);
    free(expected.text);
    csv_close(&reader);
}
END_TEST

/* The bytes of a row, character by character, as Python's csv writes it. */
START_TEST(writes_the_byte_format)
{
    struct csv_buffer buffer = { 0 };
    const char *const header[] = { "API Name", "\xe6\xaf\x94\xe5\xaf\xb9", "Message" };
    const char *const row[] = { "Torch.add.0", "(2, 3)", " ", "", "say \"no\"\nand\rgo" };
    ck_ok(csv_append_mark(&buffer));
    ck_ok(csv_append_row(&buffer, header, 3));
    ck_ok(csv_append_row(&buffer, row, 5));
    const char expected[] = "\xef\xbb\xbf"
                            "API Name,\xe6\xaf\x94\xe5\xaf\xb9,Message\r\n"
                            "Torch.add.0,\"(2, 3)\", ,,\"say \"\"no\"\"\nand\rgo\"\r\n";
    ck_assert_uint_eq(buffer.length, sizeof expected - 1);
    ck_assert_mem_eq(buffer.data, expected, sizeof expected - 1);
    csv_buffer_release(&buffer);
}
END_TEST

/* A row of one empty cell must not read back as no row. */
START_TEST(lone_empty_cell_is_a_row)
{
    struct csv_buffer buffer = { 0 };
    const char *const row[] = { "" };
    ck_ok(csv_append_row(&buffer, row, 1));
    ck_assert_uint_eq(buffer.length, 4);
    ck_assert_mem_eq(buffer.data, "\"\"\r\n", 4);
    csv_buffer_release(&buffer);
}
END_TEST

static const struct {
    const char *text, *written;
    /* clang-format off */
} formula_cells[] = {
    { "=1+1", "\"'=1+1\"" },
    { "+cmd", "\"'+cmd\"" },
    { "-cmd|' /C calc'!A0", "\"'-cmd|' /C calc'!A0\"" },
    { "@SUM(A1)", "\"'@SUM(A1)\"" },
    { "%x", "\"'%x\"" },
    { "\xef\xbc\x8b" "1", "\"'\xef\xbc\x8b" "1\"" }, /* full-width + */
    { "\xef\xbc\x8d" "1", "\"'\xef\xbc\x8d" "1\"" },
    { "\xef\xbc\x9d" "1", "\"'\xef\xbc\x9d" "1\"" },
    { "\xef\xbc\x85" "1", "\"'\xef\xbc\x85" "1\"" },
    { "\xef\xbc\xa0" "1", "\"'\xef\xbc\xa0" "1\"" },
    { "a;=b;\xef\xbc\xa0", "\"'a;'=b;'\xef\xbc\xa0\"" },
    { "\t=1", "\"'\t=1\"" },
    { "\r=1", "\"'\r=1\"" },
    { "a;\t=1", "\"'a;'\t=1\"" },
    { "a\tb", "a\tb" },
    { "=\"x\"", "\"'=\"\"x\"\"\"" },
    { "-", "\"'-\"" },
    { "-1.5.2", "\"'-1.5.2\"" },
    { "-1e", "\"'-1e\"" },
    /* numbers and harmless text stay */
    { "-1.5", "-1.5" },
    { "+0.25e-7", "+0.25e-7" },
    { "-inf", "-inf" },
    { "-nan", "-nan" },
    { "-.5", "-.5" },
    { "a=b", "a=b" },
    { "a; =b", "a; =b" },
    { "a;b", "a;b" },
    { ";", ";" },
    { "\xef\xbc\x8c", "\xef\xbc\x8c" }, /* full-width comma */
    { "\xef\xbc", "\xef\xbc" },
};
/* clang-format on */

START_TEST(disarms_formulas)
{
    struct csv_buffer buffer = { 0 };
    const char *const cells[] = { formula_cells[_i].text, "x" };
    char expected[256];
    ck_ok(csv_append_row(&buffer, cells, 2));
    int length = snprintf(expected, sizeof expected, "%s,x\r\n", formula_cells[_i].written);
    ck_assert_uint_eq(buffer.length, (size_t)length);
    ck_assert_mem_eq(buffer.data, expected, (size_t)length);
    csv_buffer_release(&buffer);
}
END_TEST

/* A byte that needs quotes or an apostrophe is seen wherever it stands in a cell of any length. */
START_TEST(sees_every_byte_of_a_cell)
{
    static const char special[] = ",\"\n\r;";
    char cell[80], expected[100];
    for (size_t length = 1; length < 70; length++)
        for (size_t at = 0; at < length * (sizeof special - 1); at++) {
            char c = special[at % (sizeof special - 1)];
            size_t place = at / (sizeof special - 1);
            memset(cell, 'a', length);
            cell[place] = c;
            cell[length] = '\0';
            if (c == ';' && place + 1 < length) cell[place + 1] = '=';
            bool is_formula = (c == ';' && place + 1 < length) || (c == '\r' && !place);
            int used = snprintf(expected, sizeof expected, "%s%s",
                                c == ';' && !is_formula ? "" : "\"", is_formula ? "'" : "");
            for (size_t i = 0; i < length; i++) {
                if (cell[i] == '"') expected[used++] = '"';
                expected[used++] = cell[i];
                if (is_formula && cell[i] == ';') expected[used++] = '\'';
            }
            snprintf(expected + used, sizeof expected - (size_t)used, "%s,",
                     c == ';' && !is_formula ? "" : "\"");
            struct csv_buffer buffer = { 0 };
            ck_ok(csv_append_cell(&buffer, cell, length));
            ck_assert_uint_eq(buffer.length, strlen(expected));
            ck_assert_mem_eq(buffer.data, expected, buffer.length);
            csv_buffer_release(&buffer);
        }
}
END_TEST

/* Random cells come back through libcsv and through our reader, whatever they hold. */
START_TEST(written_rows_read_back)
{
    static const char *const pieces[] = { " ", "a", ",", "\"", "\n", "\r\n", "0.5", "\xe8\xaf\xaf",
                                          "",  "\t" };
    uint64_t state = (uint64_t)_i + 1;
    struct csv_buffer buffer = { 0 };
    struct flat expected = { 0 };
    ck_ok(csv_append_mark(&buffer));
    for (int r = 0; r < 200; r++) {
        size_t columns = 1 + next_random(&state) % 5;
        char texts[5][64];
        const char *cells[5];
        for (size_t c = 0; c < columns; c++) {
            texts[c][0] = '\0';
            for (size_t k = next_random(&state) % 8; k; k--)
                strcat(texts[c], pieces[next_random(&state) % 10]);
            if (strchr("\t\r", texts[c][0]) && texts[c][0])
                texts[c][0] = 'a'; /* would be disarmed */
            cells[c] = texts[c];
            flat_cell(&expected, texts[c], strlen(texts[c]));
        }
        flat_row(&expected);
        ck_ok(csv_append_row(&buffer, cells, columns));
    }
    bool torn;
    struct flat ours = read_text(buffer.data, buffer.length, &torn);
    struct flat theirs = read_with_libcsv(buffer.data, buffer.length);
    ck_assert_msg(!torn, "seed %d", _i + 1);
    ck_assert_msg(strcmp(ours.text, expected.text) == 0, "our reader differs, seed %d", _i + 1);
    ck_assert_msg(strcmp(theirs.text, expected.text) == 0, "libcsv differs, seed %d", _i + 1);
    free(ours.text);
    free(theirs.text);
    free(expected.text);
    csv_buffer_release(&buffer);
}
END_TEST

/* Texts that a writer of another make could have written: any row ends, blank lines, quotes
 * where none are needed. */
START_TEST(reads_as_libcsv_does)
{
    static const char *const cells[] = { "",           "a",        " ",   "\"\"",     "\"b,c\"",
                                         "\"d\"\"e\"", "\"f\ng\"", "1.5", "\"\"\"\"", "x y" };
    static const char *const ends[] = { "\r\n", "\n", "\r", "\n\n", "\r\n\r\n" };
    uint64_t state = (uint64_t)_i + 1000;
    struct flat text = { 0 };
    for (int r = 0; r < 100; r++) {
        size_t columns = 1 + next_random(&state) % 4;
        for (size_t c = 0; c < columns; c++) {
            const char *cell = cells[next_random(&state) % 10];
            if (columns == 1 && !*cell) cell = "a";
            if (c) flat_add(&text, ",", 1);
            flat_add(&text, cell, strlen(cell));
        }
        const char *end = ends[next_random(&state) % 5];
        flat_add(&text, end, strlen(end));
    }
    bool torn;
    struct flat ours = read_text(text.text, text.length, &torn);
    struct flat theirs = read_with_libcsv(text.text, text.length);
    ck_assert_msg(strcmp(ours.text, theirs.text) == 0, "seed %d", _i + 1000);
    free(ours.text);
    free(theirs.text);
    free(text.text);
}
END_TEST

START_TEST(reads_odd_rows)
{
    check_reads_as("", "", false);
    check_reads_as("\xef\xbb\xbf", "", false);
    check_reads_as("\n\r\n\n", "", false);
    check_reads_as("\xef\xbb\xbf"
                   "a,b\r\n",
                   "a\x1f"
                   "b\x1e",
                   false);
    check_reads_as("a,\r\n,\n", "a\x1f\x1e\x1f\x1e", false);
    check_reads_as("\"\"\n", "\x1e", false);
    check_reads_as("\"a\"b\"c\",d\n",
                   "ab\"c\"\x1f"
                   "d\x1e",
                   false); /* as Python's csv */
    check_reads_as("\"a\"\"\"b,c\n",
                   "a\"b\x1f"
                   "c\x1e",
                   false);
    check_reads_as("a\"b\",c\n",
                   "a\"b\"\x1f"
                   "c\x1e",
                   false);
}
END_TEST

START_TEST(reports_a_torn_row)
{
    check_reads_as("a,b\r\nc,d",
                   "a\x1f"
                   "b\x1e"
                   "c\x1f"
                   "d\x1e",
                   true);
    check_reads_as("a,b\r\nc,",
                   "a\x1f"
                   "b\x1e"
                   "c\x1f\x1e",
                   true);
    check_reads_as("a\r\nc,d\r",
                   "a\x1e"
                   "c\x1f"
                   "d\x1e",
                   true);
    check_reads_as("a\r\nc,\"d\r\n",
                   "a\x1e"
                   "c\x1f"
                   "d\r\n\x1e",
                   true);
    check_reads_as("a\r\nc,\"d\"",
                   "a\x1e"
                   "c\x1f"
                   "d\x1e",
                   true);
    check_reads_as("a\r\n\"d\"\"\n",
                   "a\x1e"
                   "d\"\n\x1e",
                   true);
    check_reads_as("\"", "\x1e", true);
}
END_TEST

/* The place of every row: cutting the file at `begin` and `end` gives back the row. */
START_TEST(says_where_rows_are)
{
    const char text[] = "\xef\xbb\xbf"
                        "h,i\r\n\r\na,\"x\ny\"\nlast";
    struct csv_reader reader;
    struct csv_row row;
    bool more;
    static const uint64_t places[][2] = { { 3, 8 }, { 10, 18 }, { 18, 22 } };
    ck_ok(csv_open_text(&reader, "text", text, sizeof text - 1, NULL));
    for (size_t i = 0; i < 3; i++) {
        ck_ok(csv_next(&reader, &row, &more));
        ck_assert(more);
        ck_assert_uint_eq(row.begin, places[i][0]);
        ck_assert_uint_eq(row.end, places[i][1]);
    }
    ck_ok(csv_next(&reader, &row, &more));
    ck_assert(!more);
    csv_close(&reader);
}
END_TEST

/* A file is read in windows; rows longer than one, and ends of windows at any byte of a row,
 * change nothing. */
START_TEST(windows_do_not_show)
{
    char path[] = "/tmp/probe-csv-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    struct flat text = { 0 };
    uint64_t state = (uint64_t)_i;
    static char cell[700000];
    while (text.length < 3000000) {
        size_t length = next_random(&state) % 40 ? next_random(&state) % 50
                                                 : next_random(&state) % sizeof cell;
        for (size_t i = 0; i < length; i++) cell[i] = "ab\n\r, "[next_random(&state) % 6];
        flat_add(&text, "\"", 1);
        flat_add(&text, cell, length);
        const char *close = next_random(&state) % 2 ? "\"" : "\"\"\"";
        flat_add(&text, close, strlen(close));
        flat_add(&text, ",z\r\n", 4);
    }
    ck_assert_int_eq(write(fd, text.text, text.length), (ssize_t)text.length);
    close(fd);

    struct file file;
    struct csv_reader reader;
    bool torn_text, torn_file;
    ck_ok(file_open_read(&file, path, FILES_TRUSTED));
    ck_ok(csv_open_file(&reader, &file, NULL));
    struct flat from_file = drain(&reader, &torn_file);
    struct flat from_text = read_text(text.text, text.length, &torn_text);
    ck_assert_int_eq(torn_file, torn_text);
    ck_assert_uint_eq(from_file.length, from_text.length);
    ck_assert_mem_eq(from_file.text, from_text.text, from_text.length);
    csv_close(&reader);
    ck_ok(file_close(&file));
    unlink(path);
    free(text.text);
    free(from_file.text);
    free(from_text.text);
}
END_TEST

/* The first window ends at every byte of a row whose cells are quoted in every way. */
START_TEST(a_window_ends_at_every_byte)
{
    enum { WINDOW = 1 << 18 }; /* FIRST_WINDOW_BYTES of csv.c */
    static const char row[] = "\"a\"\"b\"\"\",\"\",plain,\"c\"d\"\"e,\"\"\"\"\r\nnext,\"x\"\n";
    static char text[WINDOW + sizeof row];
    char path[] = "/tmp/probe-csv-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    for (size_t start = WINDOW - sizeof row - 2; start <= WINDOW + 1; start++) {
        struct file file;
        struct csv_reader reader;
        bool torn_text, torn_file;
        size_t length = start + sizeof row - 1;
        memset(text, 'p', start);
        text[start - 1] = '\n';
        memcpy(text + start, row, sizeof row - 1);
        if (length > sizeof text) length = sizeof text; /* torn, too */
        ck_assert_int_eq(ftruncate(fd, 0), 0);
        ck_assert_int_eq(pwrite(fd, text, length, 0), (ssize_t)length);
        ck_ok(file_open_read(&file, path, FILES_TRUSTED));
        ck_ok(csv_open_file(&reader, &file, NULL));
        struct flat from_file = drain(&reader, &torn_file);
        struct flat from_text = read_text(text, length, &torn_text);
        ck_assert_int_eq(torn_file, torn_text);
        ck_assert_uint_eq(from_file.length, from_text.length);
        ck_assert_mem_eq(from_file.text, from_text.text, from_text.length);
        csv_close(&reader);
        ck_ok(file_close(&file));
        free(from_file.text);
        free(from_text.text);
    }
    close(fd);
    unlink(path);
}
END_TEST

static struct status first_failure(const char *text, size_t length, const struct csv_limits *limits)
{
    struct csv_reader reader;
    struct csv_row row;
    bool more = true;
    struct status status = csv_open_text(&reader, "some.csv", text, length, limits);
    while (!status.code && more) status = csv_next(&reader, &row, &more);
    csv_close(&reader);
    return status;
}

START_TEST(refuses_nul_bytes)
{
    struct status status = first_failure("a,b\nc\0d\n", 8, NULL);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_str_eq(status.text, "some.csv: a NUL byte at byte 5");
}
END_TEST

/* No text at all is one without rows. */
START_TEST(nothing_has_no_rows)
{
    struct csv_reader reader;
    struct csv_row row;
    bool more = true;
    ck_ok(csv_open_text(&reader, "none.csv", NULL, 7, NULL));
    ck_ok(csv_next(&reader, &row, &more));
    ck_assert(!more);
    csv_close(&reader);
}
END_TEST

/* A limit that is not given is the usual one. */
START_TEST(limits_one_by_one)
{
    static const struct csv_limits rows = { .row_bytes = 8 }, columns = { .columns = 3 },
                                   none = { 0 };
    ck_ok(first_failure("1,2,3,4\n", 8, &rows));
    ck_assert_int_eq(first_failure("1,2,3,456\n", 10, &rows).code, STATUS_BAD_INPUT);
    ck_ok(first_failure("1,2,3456789\n", 12, &columns));
    ck_assert_int_eq(first_failure("1,2,3,4\n", 8, &columns).code, STATUS_BAD_INPUT);
    ck_ok(first_failure("1,2,3,4,56789\n", 14, &none));
}
END_TEST

START_TEST(keeps_its_limits)
{
    struct csv_limits limits = { .row_bytes = 8, .columns = 3 };
    ck_ok(first_failure("1,2,3\n12345,7\n", 14, &limits));
    struct status status = first_failure("1,2\n1,2,3,4\n", 12, &limits);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_str_eq(status.text, "some.csv: row 2, from byte 4, has more than 3 cells");
    status = first_failure("1,2\n12345,78\n", 13, &limits);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_str_eq(status.text, "some.csv: row 2, from byte 4, is longer than 8 bytes");
}
END_TEST

static size_t allocations_left;

static int fail_late(size_t bytes)
{
    (void)bytes;
    return allocations_left-- == 0;
}

/* Every allocation fails once: a status, nothing lost from the buffer, no leak (ASan looks). */
START_TEST(survives_lack_of_memory)
{
    const char *const row[] = { "a", "\"q\"", "=f" };
    for (size_t n = 0; n < 4; n++) {
        struct csv_buffer buffer = { 0 };
        allocations_left = n;
        memory_fault = fail_late;
        struct status status = status_ok();
        size_t before = 0;
        for (int i = 0; i < 2000 && !status.code; i++) {
            before = buffer.length;
            status = csv_append_row(&buffer, row, 3);
        }
        memory_fault = NULL;
        ck_assert_int_eq(status.code, STATUS_NO_MEMORY);
        ck_assert_uint_eq(buffer.length, before);
        csv_buffer_release(&buffer);
    }
    /* A cell that is copied, and more cells than there is room for at first. */
    char text[420] = "1,\"2\"\"\",3\n";
    for (int i = 0; i < 200; i++) strcat(text, i ? ",1" : "1");
    strcat(text, "\n");
    for (size_t n = 0; n < 3; n++) {
        allocations_left = n;
        memory_fault = fail_late;
        struct status status = first_failure(text, strlen(text), NULL);
        memory_fault = NULL;
        ck_assert_int_eq(status.code, STATUS_NO_MEMORY);
    }
}
END_TEST

/* Ends of cells are found in blocks of 64 bytes: rows of all lengths around that, at all places of a block, with
 * quoted cells and quotes that are none, against a reader of one byte after the other. */
START_TEST(blocks_of_bytes)
{
    static const char *const pieces[] = { "", "a", " ", "\"q,\n\"", "b\"c", "0.12345678901234" };
    uint64_t state = 7;
    for (size_t length = 0; length < 150; length++) {
        char text[4096] = "", plain[4096] = "";
        size_t cells = 0;
        for (size_t i = 0; i < length; i++) strcat(text, "x");
        strcat(plain, text);
        while (strlen(text) < 400) {
            const char *piece = pieces[next_random(&state) % 6];
            strcat(strcat(text, ","), piece);
            strcat(plain, "|");
            strncat(plain, *piece == '"' ? piece + 1 : piece, *piece == '"' ? 3 : 20);
            cells++;
        }
        for (const char *end = "\n\0\r\n\0\r\0"; *end; end += strlen(end) + 1) {
            struct csv_reader reader;
            struct csv_row row;
            bool more;
            char twice[8192], found[4096] = "";
            (void)snprintf(twice, sizeof twice, "%s%s%s%s", text, end, text, end);
            ck_ok(csv_open_text(&reader, "some.csv", twice, strlen(twice), NULL));
            for (int i = 0; i < 2; i++) {
                ck_ok(csv_next(&reader, &row, &more));
                ck_assert(more);
                ck_assert_uint_eq(row.count, cells + 1);
                *found = '\0';
                for (size_t c = 0; c < row.count; c++) {
                    if (c) strcat(found, "|");
                    strncat(found, row.cells[c].bytes, row.cells[c].length);
                }
                ck_assert_str_eq(found, plain);
            }
            ck_ok(csv_next(&reader, &row, &more));
            ck_assert(!more);
            csv_close(&reader);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("csv");
    TCase *tests = tcase_create("csv");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, nul_bytes);
    tcase_add_test(tests, writes_the_byte_format);
    tcase_add_test(tests, lone_empty_cell_is_a_row);
    tcase_add_loop_test(tests, disarms_formulas, 0,
                        (int)(sizeof formula_cells / sizeof *formula_cells));
    tcase_add_test(tests, sees_every_byte_of_a_cell);
    tcase_add_loop_test(tests, written_rows_read_back, 0, 50);
    tcase_add_loop_test(tests, reads_as_libcsv_does, 0, 50);
    tcase_add_test(tests, reads_odd_rows);
    tcase_add_test(tests, reports_a_torn_row);
    tcase_add_test(tests, says_where_rows_are);
    tcase_add_loop_test(tests, windows_do_not_show, 0, 5);
    tcase_add_test(tests, refuses_nul_bytes);
    tcase_add_test(tests, keeps_its_limits);
    tcase_add_test(tests, survives_lack_of_memory);
    tcase_add_test(tests, blocks_of_bytes);
    tcase_add_test(tests, a_window_ends_at_every_byte);
    tcase_add_test(tests, nothing_has_no_rows);
    tcase_add_test(tests, limits_one_by_one);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
