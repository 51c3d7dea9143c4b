/* Dumps that cannot be used: one line with the file, the line and column, the JSON path and what
 * was expected. The whole text is compared; places are counted by hand. */
#include <check.h>
#include <fcntl.h>
#include <sys/file.h>

#include "core/file.h"
#include "core/memory.h"
#include "formats/dump.h"
#include "support/scratch.h"
#include "support/suite.h"

static struct scratch scratch;

static void start(void) { scratch = scratch_make(); }

static void finish(void) { scratch_remove(&scratch); }

/* Open a dump of that text, which must fail; the message without the directory. */
static struct status open_bad(const char *text, size_t bytes)
{
    struct dump *dump = NULL;
    struct status status =
        dump_open(&dump, scratch_write(&scratch, "dump.json", text, bytes), FILES_CHECKED);
    ck_assert_ptr_null(dump);
    size_t prefix = strlen(scratch.path) + 1;
    ck_assert_int_ne(status.code, STATUS_OK);
    ck_assert_int_eq(strncmp(status.text, scratch.path, prefix - 1), 0);
    memmove(status.text, status.text + prefix, strlen(status.text + prefix) + 1);
    return status;
}

#define ENTRY  "\"Torch.f.0.forward\": {}"
#define NEEDED "; a dump recorded with level L1 or mix is needed"

static const struct {
    const char *text, *message;
    /* clang-format off */
} bad_dumps[] = {
    { "", "dump.json: line 1, column 1, at the top level: expected a value, found the end of the "
          "file" },
    { "[]", "dump.json: line 1, column 1, at the top level: expected '{', found '['" },
    { "\n\n  nonsense", "dump.json: line 3, column 3, at the top level: expected '{', found 'n'" },
    { "{\"data\": []}", "dump.json: line 1, column 10, at data: expected '{', found '['" },
    { "{\"data\": null}", "dump.json: line 1, column 10, at data: expected '{', found 'n'" },
    { "{}", "dump.json has no \"data\"" NEEDED },
    { "{\"task\": \"statistics\"}", "dump.json has no \"data\"" NEEDED },
    { "{\"data\": {}}", "dump.json has no entries" NEEDED },
    { "{\"data\": {\"Module.a.A.forward.0\": {}}}",
      "dump.json has entries of modules only (level L0)" NEEDED },
    { "{\"data\": {\"Torch.f.0.backward\": {}}}", "dump.json has backward entries only" NEEDED },
    { "{\"data\": {" ENTRY "}} x",
      "dump.json: line 1, column 37, at the top level: expected the end of the file, found 'x'" },
    { "{\"data\": {" ENTRY "}",
      "dump.json: line 1, column 35, at data: expected ',' or '}', found the end of the file" },
    { "{\n \"data\": {\n  \"Torch.f.0.forward\": [1]}}",
      "dump.json: line 3, column 24, at data[\"Torch.f.0.forward\"]: expected an object (the "
      "entry's arguments), found '['" },
    { "{\"data\": {\"Torch.f.0\": {}}}",
      "dump.json: line 1, column 12, at data: the entry 'Torch.f.0' ends with neither '.forward' nor "
      "'.backward'" },
    { "{\"data\": {\"Torch.f.forward.0\": {}}}",
      "dump.json: line 1, column 12, at data: the entry 'Torch.f.forward.0' ends with neither '.forward' nor "
      "'.backward'" },
    { "{\"data\": {\"Torch.forward_x\": {}}}",
      "dump.json: line 1, column 12, at data: the entry 'Torch.forward_x' ends with neither '.forward' nor "
      "'.backward'" },
    { "{\"data\": {" ENTRY ",\n " ENTRY "}}",
      "dump.json: line 2, column 3, at data: the entry 'Torch.f.0.forward' stands there twice" },
    { "{\"data\": {" ENTRY ",\"Torch.f.0.backward\": {},\n\"Torch.f.0.backward\": {}}}",
      "dump.json: line 2, column 2, at data: the entry 'Torch.f.0.backward' stands there twice" },
    { "{\"data\": {\"Torch.f.0.backward\": {},\"Torch.f.0.backward\": {}," ENTRY "}}",
      "dump.json: line 1, column 37, at data: the entry 'Torch.f.0.backward' stands there twice" },
    { "{\"data\": {" ENTRY "}, \"data\": {}}",
      "dump.json: line 1, column 38, at the top level: a duplicate key" },
    { "{\"task\": 1, \"task\": 2}",
      "dump.json: line 1, column 14, at the top level: a duplicate key" },
    { "{\"data\": {" ENTRY ", \"Torch.g.0.forward\": {\"input_args\": [{\"type\": \"torch.Tensor\","
      "\n\"shape\": [1, 2,]}]}}}",
      "dump.json: line 2, column 16, at data[\"Torch.g.0.forward\"].input_args[0].shape[2]: "
      "expected a value, found ']'" },
    { "{\"data\": {" ENTRY ", \"Torch.g.0.forward\": {\"input_args\": [1, 2], \"output\": [{\"Max\""
      ": +1}]}}}",
      "dump.json: line 1, column 99, at data[\"Torch.g.0.forward\"].output[0].Max: expected a "
      "value, found '+'" },
    { "{\"data\": {" ENTRY ", \"x\": \"\xff\"}}",
      "dump.json: line 1, column 41, at data.x: expected an object (the entry's arguments), found "
      "'\"'" },
    { "{\"data\": {" ENTRY ", \"Torch.g.0.forward\": {\"a\": \"\xff\"}}}",
      "dump.json: line 1, column 64, at data[\"Torch.g.0.forward\"].a: bytes that are not UTF-8" },
    { "{\"data\": {\"=1+1.f.0.forward\": {}}}",
      "dump.json: line 1, column 12, at data: the entry '=1+1.f.0.forward' would be a formula in a "
      "spreadsheet (+ - = % @ at its start or behind ';')" },
    { "{\"data\": {\"Torch.f;\\u002bx.0.forward\": {}}}",
      "dump.json: line 1, column 12, at data: the entry 'Torch.f;\\u002bx.0.forward' would be a formula in a "
      "spreadsheet (+ - = % @ at its start or behind ';')" },
    { "{\"data\": {\"\xef\xbc\x9d" "f.0.forward\": {}}}",
      "dump.json: line 1, column 12, at data: the entry '\xef\xbc\x9d" "f.0.forward' would be a formula in a "
      "spreadsheet (+ - = % @ at its start or behind ';')" },
    { "{\"data\": {\"Torch.a\\nb.0.forward\": {}}}",
      "dump.json: line 1, column 12, at data: the entry 'Torch.a\\nb.0.forward' has a control "
      "character in its name" },
    { "{\"data\": {\"Torch.a\\u0000b.0.forward\": {}}}",
      "dump.json: line 1, column 12, at data: the entry 'Torch.a\\u0000b.0.forward' has a NUL "
      "character in its name" },
};
/* clang-format on */

START_TEST(messages_name_the_place)
{
    struct status status = open_bad(bad_dumps[_i].text, strlen(bad_dumps[_i].text));
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_str_eq(status.text, bad_dumps[_i].message);
    ck_assert_ptr_null(strchr(status.text, '\n'));
}
END_TEST

/* Names with characters that a terminal obeys, written out or escaped, at both ends of their ranges; and
 * starters of formulas, in every place. */
START_TEST(names_are_harmless)
{
    static const struct {
        const char *name;
        const char *problem; /* NULL: harmless */
        /* clang-format off */
    } rows[] = {
        { "a\\u0001b", "control" }, { "a\\u001f", "control" },     { "a\\u0020b", NULL },
        { "a\\u007eb", NULL },      { "a\\u007f", "control" },     { "a\x7f", "control" },
        { "a\xc2\x80", "control" }, { "a\xc2\x9f.", "control" },   { "a\xc2\xa0", NULL },
        { "a\\u0085b", "control" }, { "a\xc3\x85", NULL },         { "a\xc2\xbf\xc2\x85", "control" },
        { "+a", "formula" },         { "-a", "formula" },            { "=a", "formula" },
        { "%a", "formula" },         { "@a", "formula" },            { "a+b-c=d%e@f", NULL },
        { "a;b", NULL },             { "a;;=b", "formula" },         { "a;b;@c", "formula" },
        { "\xef\xbc\x8b" "a", "formula" },  { "\xef\xbc\x8d" "a", "formula" }, { "\xef\xbc\x85" "a", "formula" },
        { "a;\xef\xbc\xa0", "formula" },   { "a\xef\xbc\xa0", NULL },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[200];
        snprintf(text, sizeof text, "{\"data\": {\"%s.f.0.forward\": {}}}", rows[i].name);
        if (!rows[i].problem) {
            struct dump *dump;
            struct status status =
                dump_open(&dump, scratch_text(&scratch, "good.json", text), FILES_CHECKED);
            ck_assert_msg(!status.code, "%s", status.text);
            ck_assert_uint_eq(dump_count(dump), 1);
            dump_close(dump);
            continue;
        }
        struct status status = open_bad(text, strlen(text));
        ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
        ck_assert_msg(strstr(status.text, rows[i].problem) != NULL, "row %zu: %s", i, status.text);
        for (const char *c = status.text; *c; c++)
            ck_assert((unsigned char)*c >= ' ' && *c != 0x7f);
    }
}
END_TEST

/* The peer's dump cut in the middle, as a full disk leaves it: every cut of a real dump is an
 * error at its end. */
START_TEST(every_cut_of_a_real_dump)
{
    size_t bytes;
    char *text = scratch_read(PROBE_TEST_DATA "/dumps/m5x/L1_statistics/dump.json", &bytes);
    while (bytes && (text[bytes - 1] == '\n' || text[bytes - 1] == ' ')) bytes--;
    for (size_t cut = 0; cut < bytes; cut++) {
        struct status status = open_bad(text, cut);
        ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
        /* Of a word that is cut the beginning is shown. */
        bool word = strstr(status.text, "a value, found 'n'") ||
                    strstr(status.text, "a value, found 't'") ||
                    strstr(status.text, "a value, found 'f'");
        ck_assert_msg(word || strstr(status.text, "found the end of the file"), "cut at %zu: %s",
                      cut, status.text);
        /* The line at fault is the last one. */
        size_t lines = 1;
        char expected[32];
        for (size_t i = 0; i < cut; i++) lines += text[i] == '\n';
        snprintf(expected, sizeof expected, "line %zu, ", lines);
        ck_assert_msg(strstr(status.text, expected) != NULL, "cut at %zu: %s", cut, status.text);
    }
    free(text);
}
END_TEST

/* A million levels: an error at level 421, in no time and no memory. */
START_TEST(a_million_levels)
{
    enum { DEEP = 1000000 };
    char *text = malloc(DEEP + 64);
    size_t used = (size_t)sprintf(text, "{\"data\": {\"Torch.f.0.forward\": {\"input_args\": ");
    memset(text + used, '[', DEEP);
    struct status status = open_bad(text, used + DEEP);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(status.text, "nesting deeper than 420 levels"));
    /* Three levels are around input_args, so its 418th bracket is too deep. */
    char column[32];
    snprintf(column, sizeof column, "column %zu,", used + 418);
    ck_assert_ptr_nonnull(strstr(status.text, column));
    free(text);
}
END_TEST

START_TEST(overlong_names)
{
    char text[2048] = "{\"data\": {\"";
    memset(text + strlen(text), 'a', 1025 - 10);
    strcat(text, ".0.forward\": {}}}");
    struct status status = open_bad(text, strlen(text));
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(status.text, "line 1, column 12, at data: the entry 'aaaaaaa"));
    ck_assert_ptr_nonnull(strstr(status.text, "aaa...' has a name longer than 1024 bytes"));
}
END_TEST

/* One string of 64 MB, as a value and unterminated. */
START_TEST(huge_strings)
{
    enum { HUGE_BYTES = 64 << 20 };
    char *text = malloc(HUGE_BYTES + 128);
    size_t used = (size_t)sprintf(text, "{\"data\": {\"Torch.f.0.forward\": {\"a\": \"");
    memset(text + used, 'x', HUGE_BYTES);
    struct status status = open_bad(text, used + HUGE_BYTES);
    ck_assert_ptr_nonnull(strstr(status.text, "expected the closing quote of a string"));
    strcpy(text + used + HUGE_BYTES, "\"}}}");
    struct dump *dump;
    status = dump_open(&dump, scratch_text(&scratch, "dump.json", text), FILES_CHECKED);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
    struct arena arena = { 0 };
    struct api_case c;
    /* Such an entry is never read into memory. */
    status = dump_read_case(&c, &arena, dump, 0);
    ck_assert_int_eq(status.code, STATUS_SKIP);
    ck_assert_ptr_nonnull(strstr(status.text, "its forward entry takes 64.1 MB"));
    ck_assert_uint_lt(arena.held_bytes, 1 << 20);
    dump_close(dump);
    strcpy(text + used + HUGE_BYTES / 4, "\"}}}");
    status = dump_open(&dump, scratch_text(&scratch, "dump.json", text), FILES_CHECKED);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
    ck_assert_int_eq(dump_read_case(&c, &arena, dump, 0).code, STATUS_OK);
    /* A case with an arena too small for its text is an error of memory, not a crash. */
    arena_release(&arena);
    arena.limit_bytes = 1 << 20;
    ck_assert_int_eq(dump_read_case(&c, &arena, dump, 0).code, STATUS_NO_MEMORY);
    arena_release(&arena);
    dump_close(dump);
    free(text);
}
END_TEST

/* What is not a file one can read is refused by core/file.h; here that it gets that far. */
START_TEST(strange_files)
{
    struct dump *dump;
    struct status status = dump_open(&dump, scratch_path(&scratch, "none.json"), FILES_CHECKED);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(status.text, "does not exist"));
    status = dump_open(&dump, scratch.path, FILES_CHECKED);
    ck_assert_ptr_nonnull(strstr(status.text, "is a directory"));
    ck_assert_int_eq(mkfifo(scratch_path(&scratch, "fifo.json"), 0640), 0);
    status = dump_open(&dump, scratch_path(&scratch, "fifo.json"), FILES_CHECKED);
    ck_assert_ptr_nonnull(strstr(status.text, "is a FIFO"));
    status = dump_open(&dump, "/dev/zero", FILES_TRUSTED);
    ck_assert_ptr_nonnull(strstr(status.text, "is a device"));
    const char *target = scratch_text(&scratch, "dump.json", "{\"data\": {" ENTRY "}}");
    ck_assert_int_eq(symlink(target, scratch_path(&scratch, "link.json")), 0);
    status = dump_open(&dump, scratch_path(&scratch, "link.json"), FILES_CHECKED);
    ck_assert_ptr_nonnull(strstr(status.text, "is a symbolic link"));
    ck_assert_int_eq(dump_open(&dump, scratch_path(&scratch, "link.json"), FILES_TRUSTED).code,
                     STATUS_OK);
    dump_close(dump);
}
END_TEST

/* A dump that is being written is refused at once; one that is open keeps no writer waiting. */
START_TEST(dumps_being_written)
{
    struct dump *dump;
    const char *path = scratch_text(&scratch, "dump.json", "{\"data\": {" ENTRY "}}");
    int writer = open(path, O_RDWR);
    ck_assert_int_ge(writer, 0);
    ck_assert_int_eq(flock(writer, LOCK_EX), 0);
    struct status status = dump_open(&dump, path, FILES_CHECKED);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(status.text, "is being written by another process"));
    ck_assert_int_eq(flock(writer, LOCK_UN), 0);
    ck_assert_int_eq(dump_open(&dump, path, FILES_CHECKED).code, STATUS_OK);
    ck_assert_int_eq(flock(writer, LOCK_EX | LOCK_NB), 0);
    dump_close(dump);
    close(writer);
}
END_TEST

/* ---- failing resources ------------------------------------------------------------------ */

static int allocations_left;

static int fail_allocation(size_t bytes)
{
    (void)bytes;
    return allocations_left-- == 0;
}

/* Open and read a dump with backward entries in every order, and filter it. */
static struct status use_dump(const char *path)
{
    struct dump *dump;
    struct arena arena = { 0 };
    struct api_case c;
    bool keep[200];
    struct status status;

    TRY(dump_open(&dump, path, FILES_CHECKED));
    for (size_t i = 0; i < dump_count(dump); i++) {
        status = dump_read_case(&c, &arena, dump, i);
        if (status.code) break;
        arena_release(&arena);
    }
    if (!status.code) status = dump_filter(keep, dump);
    arena_release(&arena);
    dump_close(dump);
    return status;
}

/* Every allocation fails once: STATUS_NO_MEMORY, nothing lost (ASan). */
START_TEST(every_failing_allocation)
{
    char text[32768] = "{\"dump_data_dir\": \"x\", \"data\": {";
    for (int i = 0; i < 180; i++)
        sprintf(text + strlen(text),
                "%s\"Torch.f.%d.%s\": {\"input_args\": [{\"a\": [1, 2, 3, 4, "
                "5, 6]}]}",
                i ? ", " : "", i / 2, i % 2 ? "forward" : "backward");
    strcat(text, "}}");
    const char *path = scratch_text(&scratch, "dump.json", text);
    int failed = 0;
    for (int n = 0;; n++) {
        allocations_left = n;
        memory_fault = fail_allocation;
        struct status status = use_dump(path);
        memory_fault = NULL;
        if (allocations_left >= 0) {
            ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
            break;
        }
        ck_assert_msg(status.code == STATUS_NO_MEMORY, "allocation %d: %d %s", n, status.code,
                      status.text);
        failed++;
    }
    ck_assert_int_gt(failed, 10);
}
END_TEST

/* The arena of a case is full at any place: STATUS_NO_MEMORY, or the case. */
START_TEST(every_size_of_arena)
{
    static const char entry[] =
        "{\"data\": {\"Torch.f.0.forward\": {\"input_args\": [{\"type\": \"torch.Tensor\", "
        "\"dtype\": "
        "\"torch.float32\", \"shape\": [2], \"data_name\": \"a\", \"md5\": \"b\"}, {\"type\": "
        "\"torch.device\", \"value\": 1}, {\"type\": \"x\"}, {\"typ\\u0065\": \"\\u0078\"}, "
        "{\"type\": "
        "\"\\u0069nt\", \"value\": 1}, [1, 2, 3, 4, 5], \"s\"], \"input_kwargs\": {\"a\": 1, "
        "\"b\": 2, "
        "\"c\": 3, \"d\": 4, \"e\": {\"type\": \"str\", \"value\": \"v\"}}, \"output\": {}}}}";
    struct dump *dump;
    struct api_case c;
    ck_assert_int_eq(
        dump_open(&dump, scratch_text(&scratch, "dump.json", entry), FILES_CHECKED).code,
        STATUS_OK);
    struct status status = { .code = STATUS_NO_MEMORY };
    for (size_t limit = 64; status.code; limit += 64) {
        struct arena arena = { .limit_bytes = limit };
        status = dump_read_case(&c, &arena, dump, 0);
        ck_assert_msg(status.code == STATUS_OK || status.code == STATUS_NO_MEMORY, "%zu: %s", limit,
                      status.text);
        arena_release(&arena);
        ck_assert_uint_lt(limit, 1 << 16);
    }
    dump_close(dump);
}
END_TEST

static enum file_operation faulty;
static int operations_left;

static int fail_operation(enum file_operation operation, const char *path)
{
    (void)path;
    return operation == faulty && operations_left-- == 0 ? 5 /* EIO */ : 0;
}

START_TEST(every_failing_file_operation)
{
    static const enum file_operation operations[] = { FILE_OPEN, FILE_STAT, FILE_MAP, FILE_READ };
    const char *path = scratch_text(&scratch, "dump.json", "{\"data\": {" ENTRY "}}");
    for (int o = 0; o < 4; o++) {
        for (int n = 0;; n++) {
            faulty = operations[o];
            operations_left = n;
            file_fault = fail_operation;
            struct status status = use_dump(path);
            file_fault = NULL;
            if (operations_left >= 0) {
                ck_assert_int_eq(status.code, STATUS_OK);
                ck_assert_int_gt(n, 0);
                break;
            }
            ck_assert_int_eq(status.code, STATUS_IO);
            ck_assert_ptr_nonnull(strstr(status.text, "Input/output error"));
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dump_errors");
    TCase *tests = tcase_create("dump_errors");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, start, finish);
    tcase_add_loop_test(tests, messages_name_the_place, 0,
                        (int)(sizeof bad_dumps / sizeof *bad_dumps));
    tcase_add_test(tests, names_are_harmless);
    tcase_add_test(tests, every_cut_of_a_real_dump);
    tcase_add_test(tests, a_million_levels);
    tcase_add_test(tests, overlong_names);
    tcase_add_test(tests, huge_strings);
    tcase_add_test(tests, strange_files);
    tcase_add_test(tests, dumps_being_written);
    tcase_add_test(tests, every_failing_allocation);
    tcase_add_test(tests, every_size_of_arena);
    tcase_add_test(tests, every_failing_file_operation);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
