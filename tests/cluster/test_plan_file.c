/* Plans are read as they were written, and what is no plan is refused with its place. */
#include "cluster/plan_file.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/shard_slices.h"
#include "support/scratch.h"
#include "support/suite.h"

/* Two dumps of ten and four calls and one that was refused, in three shards: the second begins in the
 * first dump and ends in the last. */
static struct plan make_plan(void)
{
    static const char *const arguments[] = { "--only", "a \"b\"\\|\xe4\xb8\xad" };
    static const struct position_range left_out[] = { { 2, 3 }, { 7, 9 } };
    static struct plan_dump dumps[] = {
        { .path = "step0/rank0/dump.json",
          .folder = "step0/rank0",
          .bytes = 900,
          .digest = 0xfedcba9876543210,
          .calls = 10,
          .checked = 7,
          .left_out = left_out,
          .n_left_out = 2 },
        { .path = "step0/rank1/dump.json",
          .folder = "step0/rank1",
          .bytes = 2,
          .refused = "line 1: \n no" },
        { .path = "step0/rank2/dump.json",
          .folder = "step0/rank2",
          .bytes = 500,
          .digest = 1,
          .calls = 4,
          .checked = 4 },
    };
    static struct plan_shard shards[] = { { 0, 0, 3, 1.5 }, { 0, 4, 4, 1.25 }, { 2, 1, 3, 2 } };
    return (struct plan){ .version = PROBE_VERSION,
                          .timestamp = "20261122101112",
                          .root = "dumps",
                          .directory = "/home/me",
                          .model = cost_model_built_in(),
                          .arguments = arguments,
                          .n_arguments = 2,
                          .dumps = dumps,
                          .n_dumps = 3,
                          .shards = shards,
                          .n_shards = 3 };
}

struct written {
    struct scratch scratch;
    struct arena arena;
    struct plan plan;
    char *text;
    size_t bytes;
};

static struct written write_plan(void)
{
    struct written w = { .scratch = scratch_make(), .plan = make_plan() };
    const char *path = scratch_path(&w.scratch, "plan.json");
    struct status status = plan_write(&w.plan, &w.arena, path);
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_int_eq(file_read_path(&w.text, &w.bytes, path, FILES_CHECKED).code, STATUS_OK);
    return w;
}

static void release(struct written *w)
{
    arena_release(&w->arena);
    free(w->text);
    scratch_remove(&w->scratch);
}

START_TEST(a_plan_is_read_as_it_was_written)
{
    struct written w = write_plan();
    struct plan plan;
    struct status status = plan_parse(&plan, &w.arena, w.text, w.bytes, "plan.json");
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_str_eq(plan.id, w.plan.id);
    ck_assert_str_eq(plan.timestamp, "20261122101112");
    ck_assert_str_eq(plan.root, "dumps");
    ck_assert_str_eq(plan.directory, "/home/me");
    ck_assert_ptr_null(plan.framework);
    ck_assert(!plan.single);
    ck_assert_uint_eq(plan.n_arguments, 2);
    ck_assert_str_eq(plan.arguments[1], "a \"b\"\\|\xe4\xb8\xad");
    ck_assert_uint_eq(plan.n_dumps, 3);
    ck_assert_uint_eq(plan.dumps[0].digest, 0xfedcba9876543210);
    ck_assert_uint_eq(plan.dumps[0].checked, 7);
    ck_assert_uint_eq(plan.dumps[0].n_left_out, 2);
    ck_assert_uint_eq(plan.dumps[0].left_out[1].end, 9);
    ck_assert_str_eq(plan.dumps[1].refused, "line 1: \n no");
    ck_assert_str_eq(plan.dumps[2].folder, "step0/rank2");
    ck_assert_uint_eq(plan.n_shards, 3);
    ck_assert_uint_eq(plan.shards[1].call, 4);
    ck_assert_double_eq(plan.shards[1].seconds, 1.25);
    release(&w);
}
END_TEST

/* Every call belongs to exactly one shard, also those that are not checked. */
START_TEST(shards_have_every_call_once)
{
    struct written w = write_plan();
    size_t seen[3][10] = { { 0 } };
    for (size_t shard = 0; shard < 3; shard++) {
        struct shard_slices slices;
        ck_assert_int_eq(shard_slices_list(&slices, &w.arena, &w.plan, shard).code, STATUS_OK);
        ck_assert_uint_eq(slices.count, shard == 1 ? 2 : 1);
        for (size_t i = 0; i < slices.count; i++) {
            const struct shard_slice *item = &slices.items[i];
            for (size_t k = item->slice.calls.first; k < item->slice.calls.end; k++)
                seen[item->dump][k]++;
        }
        ck_assert_str_eq(slices.items[0].slice.told_path, shard == 2
                                                              ? "dumps/step0/rank2/dump.json"
                                                              : "dumps/step0/rank0/dump.json");
    }
    for (size_t k = 0; k < 10; k++) {
        ck_assert_uint_eq(seen[0][k], 1);
        ck_assert_uint_eq(seen[1][k], 0);
        ck_assert_uint_eq(seen[2][k], k < 4);
    }
    release(&w);
}
END_TEST

/* One change each; `by` has the length of `what` or less. */
static const struct {
    const char *what, *by, *error;
} changes[] = {
    { "\"format\": 1", "\"format\": 3", "is a plan of format 3, and this program knows format 1" },
    { "\"version\": \"", "\"version\": \"8", "was made by version 8" },
    { "\"seconds\": 1.5", "\"seconds\": 9.5", "has been changed since it was made" },
    { "\"root\": ", "\"roof\": ", "plan.json is no plan" },
    { "20261122101112", "2026112210111x", "plan.json is no plan" },
    { "step0/rank2/dump", "../../etc/passwd", "a dump has no path and folder below" },
    { "\"folder\": \"step0/rank2\"", "\"folder\": \"/tep0/rank2\"", "no path and folder below" },
    { "\"checked\": 7", "\"checked\": 99", "a dump checks more calls than it has" },
    { "[[2, 3], [7, 9]]", "[[2, 3], [7, 99]]", "leaves out calls that it has not" },
    { "[[2, 3], [7, 9]]", "[[7, 9], [2, 3]]", "ranges do not ascend" },
    { "[[2, 3], [7, 9]]", "[[2, 3], [7]]", "a range has two numbers" },
    { "\"call\": 4", "\"call\": 0", "shards that are not those of its dumps" },
    { "\"call\": 4", "\"call\": 10", "shards that are not those of its dumps" },
    { "\"call\": 4", "\"call\": -4", "expected a count" },
    { "{\"dump\": 2", "{\"dump\": 1", "shards that are not those of its dumps" },
    { "{\"dump\": 2", "{\"dump\": 7", "shards that are not those of its dumps" },
    { "{\"dump\": 0, \"call\": 0", "{\"dump\": 0, \"call\": 1", "not those of its dumps" },
    { "fedcba9876543210", "fedcba987654321g", "expected 16 hexadecimal digits" },
    { "]}\n", "]", "expected" },
};

START_TEST(what_is_no_plan_is_refused)
{
    struct written w = write_plan();
    struct plan plan;
    const char *at = strstr(w.text, changes[_i].what);
    ck_assert_msg(at != NULL, "%s", changes[_i].what);
    char *text = malloc(w.bytes + 64);
    int length = sprintf(text, "%.*s%s%s", (int)(at - w.text), w.text, changes[_i].by,
                         at + strlen(changes[_i].what));
    struct status status = plan_parse(&plan, &w.arena, text, (size_t)length, "plan.json");
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_msg(strstr(status.text, changes[_i].error) != NULL, "%s\nshould say %s", status.text,
                  changes[_i].error);
    free(text);
    release(&w);
}
END_TEST

/* No beginning of a plan is one. */
START_TEST(a_plan_that_was_cut_is_none)
{
    struct written w = write_plan();
    for (size_t bytes = 0; bytes + 1 < w.bytes; bytes++) {
        struct plan plan;
        struct status status = plan_parse(&plan, &w.arena, w.text, bytes, "plan.json");
        ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    }
    release(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan_file");
    TCase *tests = tcase_create("plan_file");
    tcase_add_test(tests, a_plan_is_read_as_it_was_written);
    tcase_add_test(tests, shards_have_every_call_once);
    tcase_add_loop_test(tests, what_is_no_plan_is_refused, 0, sizeof changes / sizeof *changes);
    tcase_add_test(tests, a_plan_that_was_cut_is_none);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
