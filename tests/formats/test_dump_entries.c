/* The entries of made-up dumps: names and keys, digests, duplicates, and entries with a byte changed. */
#include <check.h>
#include <cjson/cJSON.h>

#include "formats/dump.h"
#include "formats/dump_internal.h"
#include "formats/made_dumps.h"
#include "support/scratch.h"
#include "support/suite.h"

START_TEST(both_spellings_and_missing_keys)
{
    open_entries("\"Torch.f.0.backward\": {\"grad_output\": [1, 2], \"grad_input\": [null]},"
                 "\"Torch.f.0.forward\": {\"output\": null},"
                 "\"Torch.f.1.forward\": {\"input_args\": null, \"input_kwargs\": null, "
                 "\"output\": {\"type\": \"int\", \"value\": 4}, \"is_recompute\": false},"
                 "\"Torch.f.2.backward\": {\"input\": [], \"output\": []},"
                 "\"Torch.f.1.backward\": {}");
    struct api_case c;
    ck_assert_uint_eq(dump_count(dump), 2);
    ck_assert_int_eq(dump_read_case(&c, &arena, dump, 0).code, STATUS_OK);
    ck_assert_str_eq(c.full_name, "Torch.f.0");
    ck_assert(c.has_backward);
    ck_assert_uint_eq(c.cotangents.list.count, 2);
    ck_assert_uint_eq(c.gradients.list.count, 1);
    ck_assert_uint_eq(c.args.list.count, 0);
    ck_assert_int_eq(c.args.kind, VALUE_LIST);
    ck_assert_int_eq(c.kwargs.kind, VALUE_DICT);
    ck_assert_uint_eq(c.outputs.list.count, 0);
    ck_assert_int_eq(dump_read_case(&c, &arena, dump, 1).code, STATUS_OK);
    ck_assert(c.has_backward);
    ck_assert_uint_eq(c.cotangents.list.count, 0);
    ck_assert_uint_eq(c.outputs.list.count, 1);
    ck_assert_int_eq(c.outputs.list.items[0].integer, 4);
}
END_TEST

static const struct {
    const char *name, *type, *api; /* NULL: no call */
    /* clang-format off */
} names[] = {
    { "Torch.add.0", "Torch", "add" },
    { "Functional.conv2d.12", "Functional", "conv2d" },
    { "Torch.linalg.inv.0", "Torch", "linalg.inv" },
    { "NPU.npu_gmm.x.3", "NPU", "npu_gmm.x" },
    { "Torch.inv.0", "Torch", "linalg.inv" },
    { "Torch.vector_norm.1", "Torch", "linalg.vector_norm" },
    { "Torch.eigvalsh.0", "Torch", "linalg.eigvalsh" },
    { "Torch.norm.0", "Torch", "norm" },       /* torch has it */
    { "Torch.matrix_rank.0", "Torch", "matrix_rank" },
    { "Tensor.inv.0", "Tensor", "inv" },
    { "Foo.bar.0", "Foo", "bar" }, /* unknown APIs are the bench's business */
    { "Torch.Module_like.0", NULL, NULL }, /* ignored */
    /* Whether a call is run is not the dump's business. */
    { "Distributed.all_reduce.0", "Distributed", "all_reduce" },
    { "VF.lstm.0", "VF", "lstm" },
    /* No names of APIs. */
    { "weird-name!!", "", "weird-name!!" },
    { "a.b", "", "a.b" },
    { "Torch.a.b.c.0", "", "Torch.a.b.c.0" },
};
/* clang-format on */

START_TEST(names_are_split)
{
    char entries[256];
    struct api_case c;
    snprintf(entries, sizeof entries,
             "\"%s.forward\": {\"input_args\": [1]}, \"Torch.z.0.forward\": {}", names[_i].name);
    open_entries(entries);
    if (!names[_i].type) {
        ck_assert_uint_eq(dump_count(dump), 1);
        return;
    }
    for (int whole = 0; whole < 2; whole++) {
        ck_assert_int_eq((whole ? dump_read_case : dump_read_name)(&c, &arena, dump, 0).code,
                         STATUS_OK);
        ck_assert_str_eq(c.full_name, names[_i].name);
        ck_assert_str_eq(c.type, names[_i].type);
        ck_assert_str_eq(c.api, names[_i].api);
        ck_assert_uint_eq(c.args.list.count, (size_t)whole);
    }
}
END_TEST

START_TEST(modules_and_cells_are_ignored)
{
    open_entries("\"Module.wte.Embedding.forward.0\": {}, \"Torch.f.0.forward\": {}, "
                 "\"Cell.net.Dense.backward.0\": {}, \"Module.a.b.0.backward\": {}");
    ck_assert_uint_eq(dump_count(dump), 1);
}
END_TEST

START_TEST(header_keys_after_the_data)
{
    ck_assert_int_eq(open_text("{\"extra\": [1, {\"a\": 2}], \"data\": {\"Torch.f.0.forward\": "
                               "{}}, \"task\": null, \"gradients\": \"arguments\", "
                               "\"dump_data_dir\": \"\"}")
                         .code,
                     STATUS_OK);
    struct api_case c;
    ck_assert_ptr_null(dump_header(dump)->task);
    ck_assert_ptr_null(dump_header(dump)->level);
    ck_assert(!dump_header(dump)->has_data_dir);
    ck_assert(dump_header(dump)->gradients_of_arguments);
    ck_assert_int_eq(dump_read_case(&c, &arena, dump, 0).code, STATUS_OK);
    ck_assert(c.gradients_of_arguments);
}
END_TEST

/* Escapes in keys are understood; a byte order mark does no harm. */
START_TEST(escaped_keys)
{
    ck_assert_int_eq(open_text("\xef\xbb\xbf{\"d\\u0061ta\": {\"Torch.\\u0066.0.forw\\u0061rd\": "
                               "{\"input_\\u0061rgs\": [{\"typ\\u0065\": \"in\\u0074\", "
                               "\"v\\u0061lue\": 5}]}}}")
                         .code,
                     STATUS_OK);
    struct api_case c;
    ck_assert_str_eq(dump_name(dump, 0), "Torch.f.0");
    ck_assert_int_eq(dump_read_case(&c, &arena, dump, 0).code, STATUS_OK);
    ck_assert_int_eq(c.args.list.items[0].kind, VALUE_INT);
    ck_assert_int_eq(c.args.list.items[0].integer, 5);
}
END_TEST

/* The digest is equal for equal texts and changes with any byte, also in the last word. */
START_TEST(digests_follow_the_text)
{
    char text[] = "{\"data\": {\"Torch.f.0.forward\": {\"input_args\": [1, 2, 3, 4, 5]}}}  ";
    ck_assert_int_eq(open_text(text).code, STATUS_OK);
    uint64_t digest = dump_digest(dump);
    ck_assert_int_eq(open_text(text).code, STATUS_OK);
    ck_assert_uint_eq(dump_digest(dump), digest);
    size_t bytes = strlen(text);
    text[bytes - 1] = '\n';
    ck_assert_int_eq(open_text(text).code, STATUS_OK);
    ck_assert_uint_ne(dump_digest(dump), digest);
    text[bytes - 1] = '\0';
    ck_assert_int_eq(open_text(text).code, STATUS_OK);
    ck_assert_uint_ne(dump_digest(dump), digest);
    for (const char *digit = "12345"; *digit; digit++) {
        char *at = strchr(text + 30, *digit);
        *at = '9';
        ck_assert_int_eq(open_text(text).code, STATUS_OK);
        ck_assert_uint_ne(dump_digest(dump), digest);
        *at = *digit;
    }
}
END_TEST

/* A dump that shrinks or changes after it was opened gives a reason and no crash. */
START_TEST(dumps_that_change_while_open)
{
    struct api_case c;
    open_entries("\"Torch.f.0.forward\": {\"input_args\": [1, 2, 3]}");
    const char *path = scratch_path(&scratch, "dump.json");
    ck_assert_int_eq(truncate(path, 50), 0);
    struct status status = dump_read_case(&c, &arena, dump, 0);
    ck_assert_int_eq(status.code, STATUS_SKIP);
    ck_assert_ptr_nonnull(strstr(status.text, "became shorter"));
    ck_assert_int_eq(truncate(path, 4000), 0); /* filled with NUL bytes */
    status = dump_read_case(&c, &arena, dump, 0);
    ck_assert_int_eq(status.code, STATUS_SKIP);
    ck_assert_ptr_nonnull(strstr(status.text, "found byte 0x00"));
}
END_TEST

/* ---- duplicates ------------------------------------------------------------------------- */

#define TENSOR_TEXT(shape, max, rest)                                               \
    "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": [" shape \
    "], \"Max\": " max ", \"Min\": 0, \"Mean\": 0, \"Norm\": 0, " rest "}"

/* Structure decides, not statistics and not data. */
START_TEST(duplicates_are_found_by_structure)
{
    /* clang-format off */
    static const char *const calls[] = {
        /* 0: kept */ "\"Torch.f.0.forward\": {\"input_args\": [" TENSOR_TEXT("2, 3", "1",
            "\"data_name\": \"a.pt\", \"md5\": \"00\", \"Max_except_inf_nan\": 1") ", 5]}",
        /* 1: the same but for statistics and data */
        "\"Torch.f.1.forward\": {\"input_args\": [" TENSOR_TEXT("2, 3", "NaN",
            "\"data_name\": \"b.pt\", \"md5\": \"11\"") ", 5]}",
        /* 2: another shape */
        "\"Torch.f.2.forward\": {\"input_args\": [" TENSOR_TEXT("3, 2", "1", "\"a\": 0") ", 5]}",
        /* 3: another scalar */
        "\"Torch.f.3.forward\": {\"input_args\": [" TENSOR_TEXT("2, 3", "1", "\"a\": 0") ", 6]}",
        /* 4: another API */
        "\"Torch.g.0.forward\": {\"input_args\": [" TENSOR_TEXT("2, 3", "1", "\"a\": 0") ", 5]}",
        /* 5: another type */
        "\"Tensor.f.0.forward\": {\"input_args\": [" TENSOR_TEXT("2, 3", "1", "\"a\": 0") ", 5]}",
        /* 6: a keyword more */
        "\"Torch.f.4.forward\": {\"input_args\": [" TENSOR_TEXT("2, 3", "1", "\"a\": 0")
            ", 5], \"input_kwargs\": {\"k\": 1, \"l\": [null, 2.5]}}",
        /* 7: the same keywords in another order: a duplicate of 6 */
        "\"Torch.f.5.forward\": {\"input_args\": [" TENSOR_TEXT("2, 3", "2", "\"a\": 0")
            ", 5], \"input_kwargs\": {\"l\": [null, 2.5], \"k\": 1}}",
        /* 8: an argument less */
        "\"Torch.f.6.forward\": {\"input_args\": [" TENSOR_TEXT("2, 3", "1", "\"a\": 0") "]}",
        /* 9: requires_grad */
        "\"Torch.f.7.forward\": {\"input_args\": [" TENSOR_TEXT("2, 3", "1",
            "\"requires_grad\": true") ", 5]}",
        /* 10, 11: cannot be understood, so both stay */
        "\"Torch.h.0.forward\": {\"input_args\": [99999999999999999999]}",
        "\"Torch.h.1.forward\": {\"input_args\": [99999999999999999999]}",
        /* 12, 13: dtypes compare by value */
        "\"Torch.t.0.forward\": {\"input_args\": [{\"type\": \"torch.dtype\", \"value\": "
        "\"torch.int8\"}]}",
        "\"Torch.t.1.forward\": {\"input_args\": [{\"type\": \"torch.dtype\", \"value\": "
        "\"torch.int8\"}]}",
        /* 14: true is not 1 */
        "\"Torch.f.8.forward\": {\"input_args\": [" TENSOR_TEXT("2, 3", "1", "\"a\": 0")
            ", true]}",
    };
    /* clang-format on */
    static const bool expected[] = { 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1 };
    enum { N = sizeof expected / sizeof *expected };
    char text[8192] = "";
    bool keep[N];

    for (int i = 0; i < N; i++) {
        if (i) strcat(text, ", ");
        strcat(text, calls[i]);
    }
    open_entries(text);
    ck_assert_uint_eq(dump_count(dump), N);
    ck_assert_int_eq(dump_filter(keep, dump).code, STATUS_OK);
    for (int i = 0; i < N; i++) ck_assert_msg(keep[i] == expected[i], "call %d", i);
}
END_TEST

/* Arguments of which no two are equal, whatever their hashes are; each is equal to itself. */
START_TEST(structures_differ_in_every_part)
{
    /* clang-format off */
    static const char *const calls[] = {
        "\"input_args\": []",
        "\"input_args\": [null]",
        "\"input_args\": [1]",
        "\"input_args\": [2]",
        "\"input_args\": [1.0]",
        "\"input_args\": [-0.0]",
        "\"input_args\": [0.0]",
        "\"input_args\": [NaN]",
        "\"input_args\": [true]",
        "\"input_args\": [false]",
        "\"input_args\": [\"a\"]",
        "\"input_args\": [\"b\"]",
        "\"input_args\": [[1]]",
        "\"input_args\": [[1, 1]]",
        "\"input_args\": [[1, 2]]",
        "\"input_args\": [{\"k\": 1}]",
        "\"input_args\": [{\"l\": 1}]",
        "\"input_args\": [{\"k\": 1, \"l\": 1}]",
        "\"input_args\": [{\"type\": \"torch.dtype\", \"value\": \"torch.int8\"}]",
        "\"input_args\": [{\"type\": \"torch.dtype\", \"value\": \"torch.int16\"}]",
        "\"input_args\": [{\"type\": \"torch.device\", \"value\": \"a\"}]",
        "\"input_args\": [{\"type\": \"torch.memory_format\", \"format\": \"a\"}]",
        "\"input_args\": [{\"type\": \"Group\", \"value\": \"a\"}]",
        "\"input_args\": [{\"type\": \"Ellipsis\", \"value\": \"...\"}]",
        "\"input_args\": [{\"type\": \"slice\", \"value\": [1, 2, null]}]",
        "\"input_args\": [" TENSOR_TEXT("2, 3", "1", "\"a\": 0") "]",
        "\"input_args\": [" TENSOR_TEXT("2, 4", "1", "\"a\": 0") "]",
        "\"input_args\": [" TENSOR_TEXT("2, 3, 1", "1", "\"a\": 0") "]",
        "\"input_args\": [" TENSOR_TEXT("2, 3", "1", "\"requires_grad\": true") "]",
        "\"input_args\": [{\"type\": \"torch.nn.Parameter\", \"dtype\": \"torch.float32\", \"shape\": [2, 3], "
        "\"Max\": 1, \"Min\": 0, \"Mean\": 0, \"Norm\": 0}]",
        "\"input_args\": [{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float16\", \"shape\": [2, 3], "
        "\"Max\": 1, \"Min\": 0, \"Mean\": 0, \"Norm\": 0}]",
        "\"input_kwargs\": {\"k\": 1}",
        "\"input_kwargs\": {\"k\": 2}",
        "\"input_kwargs\": {\"l\": 1}",
    };
    /* clang-format on */
    enum { N = sizeof calls / sizeof *calls };
    static struct api_case cases[N + 2];
    char text[8192] = "";
    for (int i = 0; i < N; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s\"Torch.f.%d.forward\": {%s}",
                 i ? ", " : "", i, calls[i]);
    strcat(text, ", \"Torch.g.0.forward\": {\"input_args\": []}, \"Tensor.f.0.forward\": "
                 "{\"input_args\": []}");
    open_entries(text);
    for (int i = 0; i < N + 2; i++) {
        struct status status = dump_read_case(&cases[i], &arena, dump, (size_t)i);
        ck_assert_msg(!status.code, "call %d: %s", i, status.text);
    }
    for (int i = 0; i < N + 2; i++)
        for (int k = 0; k < N + 2; k++)
            ck_assert_msg(dump_same_structure(&cases[i], &cases[k]) == (i == k), "calls %d and %d",
                          i, k);
}
END_TEST

/* ---- entries with a byte changed -------------------------------------------------------- */

/* Everything that an entry may hold. No word that Python writes and JSON does not have. */
static const char whole_entry[] =
    "{\"input_args\": [{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": [2, "
    "3], \"Max\": 1.5, "
    "\"Min\": null, \"Mean\": false, \"Norm\": \"x\", \"requires_grad\": true, \"data_name\": "
    "\"a.pt\", "
    "\"md5\": \"00\", \"other\": [1, {\"a\": 2}]}, {\"dtype\": \"torch.int8\", \"shape\": [], "
    "\"datapath\": null, \"type\": \"torch.Tensor\", \"requires_grad\": null, \"Max\": 1, \"Min\": "
    "0}, "
    "[1, -2, 3.25e2, \"text\", true, null, []], {\"type\": \"float\", \"value\": \"nan\"}, "
    "{\"type\": \"float\", \"value\": \"word\"}, {\"type\": \"float\", \"value\": 3}, "
    "{\"type\": \"int\", \"value\": 7}, {\"type\": \"bool\", \"value\": true}, "
    "{\"type\": \"slice\", \"value\": [1, null, 2]}, {\"type\": \"torch.Size\", \"value\": [1, "
    "2]}, "
    "{\"type\": \"torch.memory_format\", \"format\": \"channels_last\"}, "
    "{\"type\": \"torch.memory_format\", \"value\": \"torch.preserve_format\"}, "
    "{\"type\": \"torch.device\", \"value\": \"cpu\"}, {\"type\": \"Ellipsis\", \"value\": "
    "\"...\"}, "
    "{\"k\": [1], \"type\": \"int\", \"value\": 1}, {}, {\"plain\": {\"dict\": 1}}], "
    "\"input_kwargs\": {\"dim\": {\"type\": \"int\", \"value\": 1}, \"out\": null}, "
    "\"output\": {\"type\": \"int\", \"value\": 4}, \"unknown\": [{\"a\": []}]}";

/* What another JSON parser refuses, we refuse, with the call's name and a place; and the other way
 * round whatever is refused has its reason in words. */
static void judge_entry(const char *text, size_t length)
{
    struct api_case c = { .full_name = "Torch.f.0" };
    const struct dump_span span = { .offset = 1000, .bytes = length };
    struct status status = dump_parse_entry(&c, &arena, text, span, false);
    const char *end = NULL;
    cJSON *json = cJSON_ParseWithLengthOpts(text, length, &end, 0);
    bool whole = json && cJSON_IsObject(json) && strspn(end, " ") == length - (size_t)(end - text);
    cJSON_Delete(json);
    if (!status.code) {
        ck_assert_msg(whole, "accepted: %s", text);
    } else {
        ck_assert_int_eq(status.code, STATUS_SKIP);
        ck_assert_msg(!strncmp(status.text, "Torch.f.0.forward: at ", 22), "%s", status.text);
        ck_assert_ptr_nonnull(strstr(status.text, " of the dump): "));
    }
    arena_reset(&arena);
}

START_TEST(every_changed_byte_of_an_entry)
{
    static const char bytes[] = "\"{}[],:x0-1 \\.e\t";
    static char text[sizeof whole_entry];
    const size_t length = sizeof whole_entry - 1;
    struct api_case c = { .full_name = "Torch.f.0" };
    struct status status =
        dump_parse_entry(&c, &arena, whole_entry, (struct dump_span){ .bytes = length }, false);
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_uint_eq(c.args.list.count, 17);
    ck_assert_uint_eq(c.kwargs.list.count, 2);
    ck_assert_uint_eq(c.outputs.list.count, 1);
    for (size_t i = 0; i < length; i++)
        for (const char *byte = bytes; *byte; byte++) {
            memcpy(text, whole_entry, sizeof text);
            text[i] = *byte;
            judge_entry(text, length);
        }
    for (size_t cut = 0; cut < length; cut++) {
        memcpy(text, whole_entry, cut);
        text[cut] = '\0';
        judge_entry(text, cut);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dump entries");
    TCase *made = tcase_create("made");
    tcase_set_timeout(made, 60);
    tcase_add_checked_fixture(made, start, finish);
    tcase_add_test(made, both_spellings_and_missing_keys);
    tcase_add_loop_test(made, names_are_split, 0, COUNT(names));
    tcase_add_test(made, modules_and_cells_are_ignored);
    tcase_add_test(made, header_keys_after_the_data);
    tcase_add_test(made, escaped_keys);
    tcase_add_test(made, digests_follow_the_text);
    tcase_add_test(made, dumps_that_change_while_open);
    tcase_add_test(made, duplicates_are_found_by_structure);
    tcase_add_test(made, structures_differ_in_every_part);
    tcase_add_test(made, every_changed_byte_of_an_entry);
    suite_add_tcase(suite, made);
    return suite_run(suite);
}
