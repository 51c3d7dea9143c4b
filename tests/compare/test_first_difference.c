/* Where ranks begin to differ: flows written down by hand, with the entries that must be found; names of
 * entries; the command on dumps of ranks that communicate. */
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "compare/ranks/first_difference.h"
#include "core/memory.h"
#include "support/suite.h"
#include "support/workspace.h"

/* A flow as text, a rank a line, entries separated by blanks: "a" a computation, "@x" a communication of
 * channel x, "@" one that meets nobody, "~a" an ignored entry; with "!" behind it differs. */
struct flows {
    struct rank_flow ranks[8];
    struct flow_entry entries[8][32];
    char text[600];
    size_t n;
};

static void make_flows(struct flows *out, const char *text)
{
    char *line_place, *word_place;
    memset(out, 0, sizeof *out);
    snprintf(out->text, sizeof out->text, "%s", text);
    for (char *line = strtok_r(out->text, "\n", &line_place); line;
         line = strtok_r(NULL, "\n", &line_place)) {
        struct rank_flow *flow = &out->ranks[out->n];
        flow->rank = (int64_t)out->n;
        flow->entries = out->entries[out->n++];
        for (char *word = strtok_r(line, " ", &word_place); word;
             word = strtok_r(NULL, " ", &word_place)) {
            struct flow_entry *entry = &flow->entries[flow->count++];
            size_t length = strlen(word);
            entry->differs = word[length - 1] == '!';
            if (entry->differs) word[length - 1] = '\0';
            entry->kind = *word == '@'   ? ENTRY_COMMUNICATES
                          : *word == '~' ? ENTRY_IGNORED
                                         : ENTRY_COMPUTES;
            entry->name = word;
            if (*word == '@' && word[1]) entry->channel = word + 1;
        }
    }
}

static const struct {
    const char *flows, *found; /* "rank:name ..." */
} cases[] = {
    { "a b @x c\na b @x c", "" },
    /* before communication: the first of each rank, and nothing else */
    { "a b! c! @x! d!\na b @x! d\na! b @x e!", "0:b 2:a" },
    { "~a! b @x\n~a! c! @x", "1:c" },
    { "a! b!", "0:a" }, /* no communication at all */
    /* at: what one rank computes comes to all by the sum, and is no news behind it */
    { "a @x b @y! c! @z!\na @x b! @y! c! @z!", "0:@y 1:b 1:@y" },
    /* the communication itself */
    { "a @x! b!\na @x b\n", "0:@x" },
    /* all computations since the one before it */
    { "@x a! b c! @y\n@x a b c @y", "0:a 0:c" },
    /* one that meets nobody */
    { "@x @! a! @y!\n@x a @y!", "0:@" },
    /* from rank to rank to rank: only where it begins */
    { "@p @s a! @t!\n@p @t! b! @u!\n@p @u! c!", "0:a 0:@t 1:@t" },
    /* two groups without one another */
    { "@g @a! d!\n@g @a!\n@h @b!\n@h @b!", "0:@a 1:@a 2:@b 3:@b" },
    /* a clean communication between does not hide that one leads to the other */
    { "@x! @y @z!\n@q @y @w!", "0:@x" },
    /* behind the last */
    { "a @x b!\na @x b c! d!", "0:b 1:c" },
    { "a @x ~b!\na @x b", "" },
    /* ranks that disagree about the order: an answer, whatever it is, in the end */
    { "@a! @b!\n@b! @a!", "0:@a 1:@a" },
};

START_TEST(first_differences)
{
    struct flows flows;
    struct found_entries found;
    char got[400] = "";
    make_flows(&flows, cases[_i].flows);
    ck_assert(!first_difference_find(&found, flows.ranks, flows.n).code);
    for (size_t i = 0; i < found.count; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%zu:%s", i ? " " : "",
                 found.items[i].rank,
                 flows.ranks[found.items[i].rank].entries[found.items[i].entry].name);
    memory_release(found.items);
    ck_assert_str_eq(got, cases[_i].found);
}
END_TEST

START_TEST(names_say_what_entries_are)
{
    static const struct {
        const char *name;
        enum entry_kind kind;
    } entries[] = {
        { "Functional.linear.0.forward", ENTRY_COMPUTES },
        { "Distributed.all_reduce.0.forward", ENTRY_COMMUNICATES },
        { "MintDistributed.isend.3.forward", ENTRY_COMMUNICATES },
        { "communication.comm_func.all_gather_into_tensor.0.forward", ENTRY_COMMUNICATES },
        { "Distributed.get_rank.0.forward", ENTRY_COMPUTES },
        { "Functional.all_reduce.0.forward", ENTRY_COMPUTES },
        { "Torch.empty.0.forward", ENTRY_IGNORED },
        { "Torch.empty_like.0.forward", ENTRY_COMPUTES },
        { "Tensor.to.5.forward", ENTRY_IGNORED },
        { "Tensor.topk.5.forward", ENTRY_COMPUTES },
        { "Module.a.Linear.parameters_grad.0", ENTRY_IGNORED },
    };
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        ck_assert_msg(entry_kind_of(entries[i].name) == entries[i].kind, "%s", entries[i].name);
}
END_TEST

/* ---- the command ------------------------------------------------------------------------ */

#define TENSOR(max)                                                                            \
    "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": [2], \"Max\": " max \
    ", \"Min\": 1.0, \"Mean\": 1.0, \"Norm\": 1.0, \"requires_grad\": false}"
#define GROUP "\"group\": {\"type\": \"torch.ProcessGroup\", \"group_ranks\": [0, 1]}"
#define CALL(name, args, kwargs, max)                                       \
    "\"" name "\": {\"input_args\": [" args "], \"input_kwargs\": {" kwargs \
    "}, \"output\": [" TENSOR(max) "]}"
#define DUMP(calls)                                                                                \
    "{\"task\": \"statistics\", \"level\": \"L1\", \"framework\": \"pytorch\", \"dump_data_dir\":" \
    " null, \"data\": {" calls "}}"

static void write_dump(const struct workspace *place, const char *folder, const char *text)
{
    char command[700], path[300];
    snprintf(command, sizeof command, "mkdir -p %s/%s", place->path, folder);
    ck_assert_int_eq(system(command), 0);
    snprintf(path, sizeof path, "%s/dump.json", folder);
    write_file(in(place, path), text, strlen(text));
}

/* Rank 1 adds what is wrong; it travels by a sum, and by a message of rank 0. */
#define RANK0(sum, later)                                                                \
    DUMP(CALL("Functional.a.0.forward", TENSOR("1.0"), "", "1.0") ", " CALL(             \
        "Distributed.all_reduce.0.forward", TENSOR("1.0"), GROUP,                        \
        "1.0") ", " CALL("Distributed.all_reduce.1.forward", TENSOR("1.0"), GROUP,       \
                         sum) ", " CALL("Functional.b.0.forward", TENSOR("1.0"), "",     \
                                        later) ", " CALL("Distributed.send.0.forward",   \
                                                         TENSOR("1.0"),                  \
                                                         "\"dst\": {\"type\": \"int\", " \
                                                         "\"value\": 1}",                \
                                                         later))
#define RANK1(sum, wrong, later)                                                          \
    DUMP(CALL("Distributed.all_reduce.0.forward", TENSOR("1.0"), GROUP, "1.0") ", " CALL( \
        "Functional.wrong.0.forward", TENSOR("1.0"), "",                                  \
        wrong) ", " CALL("Distributed.all_reduce.1.forward", TENSOR("1.0"), GROUP,        \
                         sum) ", " CALL("Distributed.recv.0.forward", TENSOR("1.0"),      \
                                        "\"src\": {\"type\": \"int\", \"value\": 0}", later))

START_TEST(the_command_follows_communications)
{
    struct workspace place = workspace_make();
    char command[1200];
    write_dump(&place, "npu/rank0", RANK0("3.0", "4.0"));
    write_dump(&place, "npu/rank1", RANK1("3.0", "9.0", "4.0"));
    write_dump(&place, "bench/rank0", RANK0("1.0", "1.0"));
    write_dump(&place, "bench/rank1", RANK1("1.0", "1.0", "1.0"));
    snprintf(command, sizeof command,
             "cd %s && %s compare -tp npu -gp bench -o out -da >printed 2>err && cp "
             "out/diff_analyze_*.json found.json && cp out/compare_result_rank1_*.json rank1.json",
             place.path, PROBE_UT);
    ck_assert_int_eq(system(command), 0);

    char *text = read_file(in(&place, "found.json"), NULL);
    cJSON *found = cJSON_Parse(text);
    ck_assert_ptr_nonnull(found);
    cJSON *rank0 = cJSON_GetObjectItem(found, "rank_0"),
          *rank1 = cJSON_GetObjectItem(found, "rank_1");
    ck_assert_int_eq(cJSON_GetArraySize(found), 2);
    ck_assert_int_eq(cJSON_GetArraySize(rank0), 1);
    ck_assert_int_eq(cJSON_GetArraySize(rank1), 2);
    cJSON *first = cJSON_GetArrayItem(rank1, 0);
    ck_assert_str_eq(cJSON_GetObjectItem(cJSON_GetArrayItem(rank0, 0), "op_name")->valuestring,
                     "Distributed.all_reduce.1.forward");
    ck_assert_str_eq(cJSON_GetObjectItem(first, "op_name")->valuestring,
                     "Functional.wrong.0.forward");
    ck_assert_str_eq(cJSON_GetObjectItem(first, "stack_info")->valuestring, "N/A");
    cJSON *info = cJSON_GetObjectItem(first, "data_info");
    cJSON *row = cJSON_GetObjectItem(cJSON_GetObjectItem(info, "output"),
                                     "Functional.wrong.0.forward.output.0");
    ck_assert_double_eq(cJSON_GetObjectItem(row, "NPU max")->valuedouble, 9);
    ck_assert_double_eq(cJSON_GetObjectItem(row, "Bench max")->valuedouble, 1);
    ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(info, "input")), 1);
    cJSON_Delete(found);
    free(text);

    text = read_file(in(&place, "rank1.json"), NULL);
    cJSON *all = cJSON_Parse(text);
    ck_assert_ptr_nonnull(all);
    ck_assert_int_eq(cJSON_GetArraySize(all), 4);
    ck_assert(cJSON_IsTrue(cJSON_GetObjectItem(
        cJSON_GetObjectItem(all, "Distributed.all_reduce.0.forward"), "is_same")));
    cJSON *wrong = cJSON_GetObjectItem(all, "Functional.wrong.0.forward");
    ck_assert(cJSON_IsFalse(cJSON_GetObjectItem(wrong, "is_same")));
    cJSON *items = cJSON_GetObjectItem(wrong, "op_items");
    ck_assert_str_eq(cJSON_GetObjectItem(cJSON_GetArrayItem(items, 0), "state")->valuestring,
                     "input");
    ck_assert_str_eq(
        cJSON_GetObjectItem(cJSON_GetArrayItem(items, 1), "MaxRelativeErr")->valuestring, "800.0%");
    cJSON_Delete(all);
    free(text);
    workspace_remove(&place);
}
END_TEST

/* Nothing differs: no second file. A rank that cannot be used is skipped. */
START_TEST(the_command_without_differences)
{
    struct workspace place = workspace_make();
    char command[1200];
    write_dump(&place, "npu/rank0", RANK0("1.0", "1.0"));
    write_dump(&place, "npu/rank1", "{}");
    write_dump(&place, "bench/rank0", RANK0("1.0", "1.0"));
    write_dump(&place, "bench/rank1", RANK1("1.0", "1.0", "1.0"));
    snprintf(
        command, sizeof command,
        "cd %s && %s compare -tp npu -gp bench -o out -da >printed 2>err && test $(ls out | wc -l) "
        "= 1 && grep -q 'is skipped' err && grep -q 'no rank differs' printed",
        place.path, PROBE_UT);
    ck_assert_int_eq(system(command), 0);
    workspace_remove(&place);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("first_difference");
    TCase *tests = tcase_create("first_difference");
    tcase_set_timeout(tests, 30);
    tcase_add_loop_test(tests, first_differences, 0, sizeof cases / sizeof *cases);
    tcase_add_test(tests, names_say_what_entries_are);
    tcase_add_test(tests, the_command_follows_communications);
    tcase_add_test(tests, the_command_without_differences);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
