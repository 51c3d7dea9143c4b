/* Communication links: each rule on the smallest dumps of ranks that show it. */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "graph/communication.h"
#include "support/suite.h"
#include "support/workspace.h"

#define TENSOR(max)                                                                       \
    "{\"type\":\"torch.Tensor\",\"dtype\":\"torch.float32\",\"shape\":[2,3],\"Max\":" max \
    ",\"Min\":0.0,\"Mean\":0.5,\"Norm\":2.0,\"requires_grad\":false}"
#define RANK(number) "{\"type\":\"int\",\"value\":" number "}"
#define GROUP(id, members)                                                                      \
    "\"group\":{\"type\":\"torch.ProcessGroup\",\"group_ranks\":" members ",\"group_id\":\"" id \
    "\"}"
#define CALL(name, more_args, kwargs, max)                                                 \
    "\"" name "\":{\"input_args\":[" TENSOR("1.0") more_args "],\"input_kwargs\":{" kwargs \
                                                             "},\"output\":[" TENSOR(max) "]}"
#define OPERATION(op, peer, group)                             \
    "{\"class_type\":\"torch.distributed.P2POp\",\"op\":\"" op \
    "\",\"tensor\":" TENSOR("1.0") ",\"peer\":" peer ",\"tag\":0,\"group_id\":\"" group "\"}"

enum { MOST_RANKS = 4 };

static struct workspace workspace;
static struct communications *all;
static struct graph graphs[MOST_RANKS];
static unsigned n_ranks;

/* A rank folder whose calls are `data`; construct.json names them in their order. */
static void write_rank(const char *folder, const char *data)
{
    char command[600], construct[8192] = "{", *end = construct + 1;
    (void)snprintf(command, sizeof command, "mkdir -p '%s'", in(&workspace, folder));
    ck_assert_int_eq(system(command), 0);
    for (const char *at = data; (at = strstr(at, "\"Distributed.")); at++) {
        const char *close = strchr(at + 1, '"');
        if (close[1] == ':')
            end += sprintf(end, "%s%.*s: null", end == construct + 1 ? "" : ", ",
                           (int)(close + 1 - at), at);
    }
    strcpy(end, end == construct + 1 ? "\"Module.m.M.forward.0\": null}" : "}");
    char *dump = malloc(strlen(data) + 200), name[300];
    sprintf(dump,
            "{\"task\":\"statistics\",\"level\":\"mix\",\"framework\":\"pytorch\","
            "\"dump_data_dir\":null,\"data\":{%s}}",
            data);
    (void)snprintf(name, sizeof name, "%s/dump.json", folder);
    write_text(in(&workspace, name), dump);
    (void)snprintf(name, sizeof name, "%s/construct.json", folder);
    write_text(in(&workspace, name), construct);
    (void)snprintf(name, sizeof name, "%s/stack.json", folder);
    write_text(in(&workspace, name), "{}");
    free(dump);
}

/* Ranks 0, 1, ... with these calls, ended by NULL, as a built graph of each. */
static void ranks_are(const char *first, ...)
{
    const struct graph_options options = { .rule = MATCH_EXACT, .threads = 1 };
    va_list more;
    workspace = workspace_make();
    ck_assert_int_eq(communications_create(&all).code, STATUS_OK);
    va_start(more, first);
    n_ranks = 0;
    for (const char *data = first; data; data = va_arg(more, const char *), n_ranks++) {
        char folder[32];
        (void)snprintf(folder, sizeof folder, "rank%u", n_ranks);
        write_rank(folder, data);
        struct status status = graph_open(&graphs[n_ranks], in(&workspace, folder), NULL, &options);
        ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
        graphs[n_ranks].communications = all;
        graphs[n_ranks].rank = n_ranks;
        ck_assert_int_eq(communications_add(all, &graphs[n_ranks], n_ranks).code, STATUS_OK);
    }
    va_end(more);
    ck_assert_int_eq(communications_match(all).code, STATUS_OK);
}

static void meets(unsigned rank, const char *name, const char *want)
{
    struct csv_buffer text = { 0 };
    uint32_t node = model_find(&graphs[rank].npu.model, name, strlen(name));
    ck_assert_uint_ne(node, NODE_NONE);
    ck_assert_int_eq(communications_append(&text, &graphs[rank], false, node).code, STATUS_OK);
    ck_assert_int_eq(csv_append_bytes(&text, "", 1).code, STATUS_OK);
    ck_assert_str_eq(text.data, want);
    csv_buffer_release(&text);
}

static void end(void)
{
    for (unsigned rank = 0; rank < n_ranks; rank++) graph_close(&graphs[rank]);
    communications_release(all);
    workspace_remove(&workspace);
}

#define ALL   "Distributed.all_reduce.0.forward"
#define ALL_1 "Distributed.all_reduce.1.forward"

START_TEST(members_of_a_group_meet)
{
    const char *call = CALL(ALL, "", GROUP("g", "[0, 1, 2]"), "1.0");
    ranks_are(call, call, call, NULL);
    meets(0, ALL,
          "{\"communications_type\": \"send_receive\", \"nodes_info\": "
          "{\"1\": [\"Nan\", \"" ALL "\"], \"2\": [\"Nan\", \"" ALL "\"]}}");
    meets(2, ALL,
          "{\"communications_type\": \"send_receive\", \"nodes_info\": "
          "{\"0\": [\"Nan\", \"" ALL "\"], \"1\": [\"Nan\", \"" ALL "\"]}}");
    end();
}
END_TEST

/* The running number counts calls of one name in one group. */
START_TEST(the_kth_call_of_a_group_meets_the_kth)
{
    ranks_are(CALL(ALL, "", GROUP("g", "[0, 1]"), "1.0") "," /* of another group in rank 1 */
              CALL(ALL_1, "", GROUP("h", "[0, 1]"), "1.0"),
              CALL(ALL, "", GROUP("h", "[0, 1]"),
                   "1.0") "," CALL("Distributed.all_gather.0.forward", "", GROUP("g", "[0, 1]"),
                                   "1.0") "," CALL(ALL_1, "", GROUP("g", "[0, 1]"), "1.0"),
              NULL);
    meets(0, ALL,
          "{\"communications_type\": \"send_receive\", \"nodes_info\": "
          "{\"1\": [\"Nan\", \"" ALL_1 "\"]}}");
    meets(0, ALL_1,
          "{\"communications_type\": \"send_receive\", \"nodes_info\": "
          "{\"1\": [\"Nan\", \"" ALL "\"]}}");
    meets(1, "Distributed.all_gather.0.forward", "");
    end();
}
END_TEST

START_TEST(who_is_no_member_or_not_there_is_not_met)
{
    ranks_are(CALL(ALL, "", GROUP("g", "[0, 2, 7, 2]"), "1.0"),
              CALL(ALL, "", GROUP("g", "[1]"), "1.0"), CALL(ALL, "", GROUP("g", "[0, 2]"), "1.0"),
              CALL(ALL, "", "", "1.0"), NULL);
    meets(0, ALL,
          "{\"communications_type\": \"send_receive\", \"nodes_info\": "
          "{\"2\": [\"Nan\", \"" ALL "\"]}}");
    meets(1, ALL, "");
    meets(3, ALL, "");
    end();
}
END_TEST

/* Who sends to whom, by the rank that the call names. */
static const struct rooted {
    const char *name, *positional, *keyword, *of_root, *of_others;
} rooted[] = {
    { "broadcast", "," RANK("1"), "", "send", "receive" },
    { "broadcast", "", "\"src\":" RANK("1") ",", "send", "receive" },
    { "broadcast", "," RANK("0"), "\"src\":" RANK("1") ",", "send", "receive" },
    { "reduce", "", "\"dst\":" RANK("1") ",", "receive", "send" },
    { "reduce", "," RANK("1"), "", "receive", "send" },
    { "scatter", "", "\"src\":" RANK("1") ",", "send", "receive" },
    { "gather", "", "\"dst\":" RANK("1") ",", "receive", "send" },
};

START_TEST(one_meets_many)
{
    const struct rooted *r = &rooted[_i];
    char call[2048], name[64], want[512];
    (void)snprintf(name, sizeof name, "Distributed.%s.0.forward", r->name);
    (void)snprintf(call, sizeof call,
                   "\"%s\":{\"input_args\":[" TENSOR("1.0") "%s],\"input_kwargs\":{%s" GROUP(
                       "g", "[0, 1, 2]") "},\"output\":[" TENSOR("1.0") "]}",
                   name, r->positional, r->keyword);
    ranks_are(call, call, call, NULL);
    (void)snprintf(want, sizeof want,
                   "{\"communications_type\": \"%s\", \"nodes_info\": {\"0\": [\"Nan\", \"%s\"], "
                   "\"2\": [\"Nan\", \"%s\"]}}",
                   r->of_root, name, name);
    meets(1, name, want);
    (void)snprintf(want, sizeof want,
                   "{\"communications_type\": \"%s\", \"nodes_info\": {\"1\": [\"Nan\", \"%s\"]}}",
                   r->of_others, name);
    meets(0, name, want);
    meets(2, name, want);
    end();
}
END_TEST

/* Without the root's rank nobody knows who sends. */
START_TEST(no_root_no_links)
{
    const char *call = CALL("Distributed.broadcast.0.forward", "", GROUP("g", "[0, 1]"), "1.0");
    ranks_are(call, call, NULL);
    meets(0, "Distributed.broadcast.0.forward", "");
    end();
}
END_TEST

static const struct pair {
    const char *sender, *receiver;
} pairs[] = { { "send", "recv" }, { "isend", "irecv" } };

/* Calls `name`.0 and .1 to or from a peer; their outputs have these maxima. */
static void peer_calls(char out[4096], const char *name, const char *argument, int peer,
                       const char *first_max, const char *second_max)
{
    out[0] = '\0';
    for (int i = 0; i < 2; i++)
        sprintf(out + strlen(out),
                "%s\"Distributed.%s.%d.forward\":{\"input_args\":[" TENSOR(
                    "1.0") "],\"input_kwargs\":{\"%s\":{\"type\":\"int\",\"value\":%d}},\"output\":"
                           "[{\"type\":"
                           "\"torch.Tensor\",\"dtype\":\"torch.float32\",\"shape\":[2],\"Max\":%s,"
                           "\"Min\":0.0,"
                           "\"Mean\":0.5,\"Norm\":2.0,\"requires_grad\":false}]}",
                i ? "," : "", name, i, argument, peer, i ? second_max : first_max);
}

START_TEST(sent_is_received)
{
    const struct pair *p = &pairs[_i];
    char from[4096], to[4096], stranger[4096], name[64], want[256];
    peer_calls(from, p->sender, "dst", 1, "5.0", "6.0");
    peer_calls(to, p->receiver, "src", 0, "5.0", "7.0");
    peer_calls(stranger, p->receiver, "src", 1, "5.0", "6.0"); /* rank 1 sends nothing */
    ranks_are(from, to, stranger, NULL);
    (void)snprintf(name, sizeof name, "Distributed.%s.0.forward", p->sender);
    (void)snprintf(want, sizeof want,
                   "{\"communications_type\": \"send\", \"nodes_info\": {\"1\": [\"Nan\", "
                   "\"Distributed.%s.0.forward\"]}}",
                   p->receiver);
    meets(0, name, want);
    (void)snprintf(want, sizeof want,
                   "{\"communications_type\": \"receive\", \"nodes_info\": {\"0\": [\"Nan\", "
                   "\"Distributed.%s.0.forward\"]}}",
                   p->sender);
    (void)snprintf(name, sizeof name, "Distributed.%s.0.forward", p->receiver);
    meets(1, name, want);
    meets(2, name, "");
    /* the second pair has unequal outputs */
    (void)snprintf(name, sizeof name, "Distributed.%s.1.forward", p->sender);
    meets(0, name, "");
    (void)snprintf(name, sizeof name, "Distributed.%s.1.forward", p->receiver);
    meets(1, name, "");
    end();
}
END_TEST

/* isend waits for irecv, and send for recv. */
START_TEST(other_names_do_not_meet)
{
    char from[4096], to[4096];
    peer_calls(from, "isend", "dst", 1, "5.0", "6.0");
    peer_calls(to, "recv", "src", 0, "5.0", "6.0");
    ranks_are(from, to, NULL);
    meets(0, "Distributed.isend.0.forward", "");
    meets(1, "Distributed.recv.0.forward", "");
    end();
}
END_TEST

#define BATCH "Distributed.batch_isend_irecv.0.forward"
#define BATCH_CALL(operations) \
    "\"" BATCH "\":{\"input_args\":[[" operations "]],\"input_kwargs\":{},\"output\":[]}"

START_TEST(operations_of_batches_meet_one_by_one)
{
    ranks_are(BATCH_CALL(OPERATION("isend", "1", "g") "," OPERATION(
                  "irecv", "2", "g") "," OPERATION("isend", "2", "other")),
              BATCH_CALL(OPERATION("irecv", "0", "g")),
              BATCH_CALL(OPERATION("irecv", "0", "g") "," OPERATION("isend", "0", "g")), NULL);
    meets(0, BATCH,
          "[{\"communications_type\": \"send\", \"nodes_info\": {\"1\": [\"Nan\", \"" BATCH
          "\"]}}, {\"communications_type\": \"receive\", \"nodes_info\": "
          "{\"2\": [\"Nan\", \"" BATCH "\"]}}]");
    meets(1, BATCH,
          "{\"communications_type\": \"receive\", \"nodes_info\": "
          "{\"0\": [\"Nan\", \"" BATCH "\"]}}");
    meets(2, BATCH,
          "[{\"communications_type\": \"send\", \"nodes_info\": "
          "{\"0\": [\"Nan\", \"" BATCH "\"]}}]");
    end();
}
END_TEST

/* Arguments that are not what they should be cost their own links. */
/* Later dumps list the operations where the outputs are: tensors with the members of the operation. */
#define LISTED(op, peer)                                                                          \
    "{\"type\":\"torch.Tensor\",\"dtype\":\"torch.float32\",\"shape\":[2],\"Max\":1.0,\"Min\":0." \
    "0,"                                                                                          \
    "\"Mean\":0.5,\"Norm\":1.0,\"op\":\"" op "\",\"peer\":" peer ",\"tag\":0,\"group_id\":\"g\"}"

START_TEST(operations_among_the_outputs)
{
    ranks_are("\"" BATCH "\":{\"input_args\":[[" OPERATION(
                  "irecv", "1", "g") "]],"
                                     "\"input_kwargs\":{},\"output\":[[" LISTED("isend", "1") "]]}",
              BATCH_CALL(OPERATION("irecv", "0", "g")), NULL);
    meets(0, BATCH,
          "{\"communications_type\": \"send\", \"nodes_info\": "
          "{\"1\": [\"Nan\", \"" BATCH "\"]}}");
    end();
}
END_TEST

START_TEST(strange_arguments)
{
    ranks_are(
        "\"" ALL "\":{\"input_args\":[" TENSOR(
            "1.0") "],\"input_kwargs\":{\"group\":{\"type\":"
                   "\"torch.ProcessGroup\",\"group_ranks\":\"01\",\"group_id\":7}},\"output\":[]},"
                   "\"Distributed.send.0.forward\":{\"input_args\":[],\"input_kwargs\":{\"dst\":{"
                   "\"type\":"
                   "\"int\",\"value\":99999999999999999999999}},\"output\":[]},"
                   "\"Distributed.recv.0.forward\":{\"input_args\":[],\"input_kwargs\":{\"src\":{"
                   "\"type\":"
                   "\"str\",\"value\":\"1\"}},\"output\":[]}, \"Distributed.recv.1.forward\":{},"
                   "\"Distributed.send.2.forward\":null," BATCH_CALL(
                       "{\"class_type\":\"torch.distributed.P2POp\",\"op\":\"isend\",\"peer\":"
                       "null}"),
        CALL(ALL, "", GROUP("7", "[0, -1, 1.5, [], null, 1]"), "1.0"), NULL);
    meets(0, "Distributed.send.0.forward", "");
    meets(0, "Distributed.recv.0.forward", "");
    meets(0, BATCH, "");
    meets(0, ALL, "");
    meets(1, ALL,
          "{\"communications_type\": \"send_receive\", \"nodes_info\": "
          "{\"0\": [\"Nan\", \"" ALL "\"]}}");
    end();
}
END_TEST

/* ---- the program ------------------------------------------------------------------------------------ */

static void file_has(const char *pattern, const char *text, bool wanted)
{
    char *content = read_file(only_match(&workspace, pattern), NULL);
    ck_assert_msg((strstr(content, text) != NULL) == wanted, "%s: %s", pattern, text);
    free(content);
}

/* Links carry the index of the call on the NPU side; the Bench side has none. */
START_TEST(files_of_ranks_have_links)
{
    const char *good = CALL(ALL, "", GROUP("g", "[0, 1]"), "4.0");
    const char *bad = CALL(ALL, "", GROUP("g", "[0, 1]"), "3.0");
    workspace = workspace_make();
    write_rank("npu/rank0", good);
    write_rank("npu/rank1", bad);
    write_rank("bench/rank0", good);
    write_rank("bench/rank1", good);
    struct outcome o = run_program(&workspace, "graph", "-tp", "npu", "-gp", "bench", "-o", "out",
                                   "--format", "vis", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    file_has("out/compare_rank0_*.vis",
             "\"matched_distributed\": {\"communications_type\": \"send_receive\", "
             "\"nodes_info\": {\"1\": [\"0.25\", \"" ALL "\"]}}",
             true);
    file_has("out/compare_rank0_*.vis", "{\"1\": [\"Nan\", \"" ALL "\"]}}", true);
    file_has("out/compare_rank1_*.vis", "{\"0\": [\"0\", \"" ALL "\"]}}", true);
    workspace_remove(&workspace);
}
END_TEST

/* With an overflow check links carry its level, on both sides. */
START_TEST(links_carry_overflow_levels)
{
    const char *good = CALL(ALL, "", GROUP("g", "[0, 1]"), "4.0");
    workspace = workspace_make();
    write_rank("ranks/rank0", good);
    write_rank("ranks/rank1", CALL(ALL, "", GROUP("g", "[0, 1]"), "Infinity"));
    struct outcome o = run_program(&workspace, "graph", "-tp", "ranks", "-o", "out", "--format",
                                   "vis", "-oc", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    file_has("out/build_rank0_*.vis", "\"nodes_info\": {\"1\": [\"critical\", ", true);
    file_has("out/build_rank1_*.vis", "\"nodes_info\": {\"0\": [\"Nan\", ", true);
    workspace_remove(&workspace);
}
END_TEST

/* Calls of different steps do not meet. */
START_TEST(steps_are_apart)
{
    const char *call = CALL(ALL, "", GROUP("g", "[0, 1]"), "4.0");
    workspace = workspace_make();
    write_rank("steps/step0/rank0", call);
    write_rank("steps/step1/rank0", call);
    write_rank("steps/step1/rank1", call);
    struct outcome o =
        run_program(&workspace, "graph", "-tp", "steps", "-o", "out", "--format", "vis", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    file_has("out/build_step0_rank0_*.vis", "matched_distributed", false);
    file_has("out/build_step1_rank0_*.vis", "matched_distributed", true);
    file_has("out/build_step1_rank1_*.vis", "\"nodes_info\": {\"0\": ", true);
    workspace_remove(&workspace);
}
END_TEST

START_TEST(one_rank_has_no_links)
{
    workspace = workspace_make();
    write_rank("only", CALL(ALL, "", GROUP("g", "[0, 1]"), "4.0"));
    struct outcome o =
        run_program(&workspace, "graph", "-tp", "only", "-o", "out", "--format", "vis", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    file_has("out/build_*.vis", "matched_distributed", false);
    workspace_remove(&workspace);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("communication");
    TCase *t = tcase_create("rules");
    tcase_add_test(t, members_of_a_group_meet);
    tcase_add_test(t, the_kth_call_of_a_group_meets_the_kth);
    tcase_add_test(t, who_is_no_member_or_not_there_is_not_met);
    tcase_add_loop_test(t, one_meets_many, 0, sizeof rooted / sizeof *rooted);
    tcase_add_test(t, no_root_no_links);
    tcase_add_loop_test(t, sent_is_received, 0, sizeof pairs / sizeof *pairs);
    tcase_add_test(t, other_names_do_not_meet);
    tcase_add_test(t, operations_of_batches_meet_one_by_one);
    tcase_add_test(t, operations_among_the_outputs);
    tcase_add_test(t, strange_arguments);
    tcase_add_test(t, files_of_ranks_have_links);
    tcase_add_test(t, links_carry_overflow_levels);
    tcase_add_test(t, steps_are_apart);
    tcase_add_test(t, one_rank_has_no_links);
    suite_add_tcase(suite, t);
    return suite_run(suite);
}
