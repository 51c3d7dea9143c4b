/* Matches made by hand: what the program makes of the file. */
#include <check.h>

#include "support/suite.h"
#include "support/workspace.h"

static const char npu[] = PROBE_TEST_DATA "/graph/npu", bench[] = PROBE_TEST_DATA "/graph/bench";
#define NODE  "Functional.layer_norm.2.forward"
#define OTHER "Functional.layer_norm.1.forward"

static struct workspace workspace;

static struct outcome graph_with(const char *matches)
{
    workspace = workspace_make();
    write_text(in(&workspace, "matches.json"), matches);
    return run_program(&workspace, "graph", "-tp", npu, "-gp", bench, "-o", "out", "--format",
                       "vis", "--match", "matches.json", NULL);
}

/* The line of the .vis file behind the one with this id; `nth` 0: NPU, 1: Bench. */
static void link_is(const char *id, int nth, const char *want)
{
    char *text = read_file(only_match(&workspace, "out/compare_*.vis"), NULL), key[200];
    snprintf(key, sizeof key, "\"id\": \"%s\"", id);
    const char *at = text;
    for (int i = 0; i <= nth; i++) {
        at = strstr(at + 1, key);
        ck_assert_ptr_nonnull(at);
    }
    at = strstr(at, "\"matched_node_link\": ") + strlen("\"matched_node_link\": ");
    const char *end = strstr(at, "],") + 1;
    if (*want) {
        size_t length = strlen(want);
        ck_assert_int_gt(end - at, (long)length + 3);
        ck_assert_msg(!strncmp(end - 2 - length, want, length), "%.*s", (int)(end - at), at);
    } else {
        ck_assert_msg(end - at == 2, "%.*s", (int)(end - at), at);
    }
    free(text);
}

static void finish(struct outcome *o)
{
    outcome_free(o);
    workspace_remove(&workspace);
}

START_TEST(the_file_wins_over_names)
{
    struct outcome o = graph_with("{\"" NODE "\": \"" OTHER "\", \"nobody\": \"" NODE "\"}");
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_msg(strstr(o.out, "1 by hand") != NULL, "%s", o.out);
    link_is(NODE, 0, OTHER);
    link_is(OTHER, 1, NODE);
    link_is(OTHER, 0, ""); /* both partners that they had are free */
    link_is(NODE, 1, "");
    finish(&o);
}
END_TEST

START_TEST(an_empty_name_unmatches)
{
    struct outcome o = graph_with("{\"" NODE "\": \"\", \"" OTHER "\": null}");
    ck_assert_msg(o.status == 0, "%s", o.err);
    link_is(NODE, 0, "");
    link_is(NODE, 1, "");
    link_is(OTHER, 0, "");
    finish(&o);
}
END_TEST

static const struct refused {
    const char *file, *message;
} refused[] = {
    { "[]", "expected an object NPU node -> Bench node" },
    { "{\n \"a\": 1}", "matches.json:2: a: expected the name of a Bench node" },
    { "{\"" NODE "\": \"Module.h.0.GPTBlock.forward.0\"}", "a module and a call cannot match" },
    { "{\"DefaultModel\": \"\"}", "the root matches the root alone" },
    { "{\"" NODE "\": {\"nod\": \"x\"}}", "nod" },
    { "{", "matches.json" },
};

START_TEST(what_cannot_match_is_refused)
{
    struct outcome o = graph_with(refused[_i].file);
    ck_assert_int_eq(o.status, 3);
    ck_assert_msg(strstr(o.err, refused[_i].message) != NULL, "%s", o.err);
    finish(&o);
}
END_TEST

START_TEST(a_built_graph_has_nothing_to_match)
{
    workspace = workspace_make();
    write_text(in(&workspace, "matches.json"), "{}");
    struct outcome o =
        run_program(&workspace, "graph", "-tp", npu, "--match", "matches.json", NULL);
    ck_assert_int_eq(o.status, 2);
    ck_assert_msg(strstr(o.err, "option '--match' needs two sides") != NULL, "%s", o.err);
    finish(&o);
}
END_TEST

/* A side of two blocks, whose names differ by `tag`; each has two calls and a layer. */
static void write_blocks(const char *side, const char *tag)
{
    static const char *const nodes[][2] = {
        { "Module.%s.Block.forward.0", "" },
        { "Torch.add.%d.forward", "Module.%s.Block.forward.0" },
        { "Torch.add.%d.forward", "Module.%s.Block.forward.0" },
        { "Module.%s.fc.Linear.forward.0", "Module.%s.Block.forward.0" },
        { "Torch.mul.%d.forward", "Module.%s.fc.Linear.forward.0" },
    };
    char command[400], construct[1200] = "{", data[4000] = "", name[80], parent[80], path[64];
    snprintf(command, sizeof command, "mkdir -p '%s/%s'", workspace.path, side);
    ck_assert_int_eq(system(command), 0);
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        bool call = nodes[i][0][0] == 'T';
        if (call) snprintf(name, sizeof name, nodes[i][0], (int)i + (int)strlen(tag));
        else snprintf(name, sizeof name, nodes[i][0], tag);
        snprintf(parent, sizeof parent, nodes[i][1], tag);
        snprintf(construct + strlen(construct), sizeof construct - strlen(construct),
                 "%s\"%s\":\"%s\"", i ? "," : "", name, parent);
        snprintf(data + strlen(data), sizeof data - strlen(data),
                 "%s\"%s\":{\"input_args\":[],\"input_kwargs\":{},\"output\":[]}", i ? "," : "",
                 name);
    }
    strcat(construct, "}");
    snprintf(path, sizeof path, "%s/construct.json", side);
    write_text(in(&workspace, path), construct);
    snprintf(path, sizeof path, "%s/stack.json", side);
    write_text(in(&workspace, path), "{}");
    char *dump = malloc(5000);
    snprintf(dump, 5000,
             "{\"task\":\"statistics\",\"level\":\"mix\",\"framework\":\"pytorch\","
             "\"dump_data_dir\":null,\"data\":{%s}}",
             data);
    snprintf(path, sizeof path, "%s/dump.json", side);
    write_text(in(&workspace, path), dump);
    free(dump);
}

static const struct below {
    const char *file, *says;
} below[] = {
    { "{\"Module.old.Block.forward.0\": \"Module.newer.Block.forward.0\"}", "2 matched" },
    { "{\"Module.old.Block.forward.0\": {\"node\": \"Module.newer.Block.forward.0\", "
      "\"below\": true}}",
      "6 matched, 0 suspicious, 5 by hand" },
};

/* Two calls of one name, a layer and what is in it. */
START_TEST(what_lies_below_is_matched_too)
{
    workspace = workspace_make();
    write_blocks("npu", "old");
    write_blocks("bench", "newer");
    write_text(in(&workspace, "matches.json"), below[_i].file);
    struct outcome o = run_program(&workspace, "graph", "-tp", "npu", "-gp", "bench", "-o", "out",
                                   "--format", "vis", "--match", "matches.json", NULL);
    ck_assert_msg(o.status == 0 && strstr(o.out, below[_i].says), "%s%s", o.out, o.err);
    if (_i) {
        link_is("Torch.add.4.forward", 0, "Torch.add.6.forward"); /* the first with the first */
        link_is("Torch.mul.7.forward", 0, "Torch.mul.9.forward");
    }
    finish(&o);
}
END_TEST

/* float32 in numpy's format. */
static void write_npy(const char *name, const float values[4])
{
    char bytes[128 + 4 * sizeof *values];
    memset(bytes, ' ', 128);
    memcpy(bytes, "\x93NUMPY\x01\0\x76\0", 10);
    static const char header[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }";
    memcpy(bytes + 10, header, sizeof header - 1);
    bytes[127] = '\n';
    memcpy(bytes + 128, values, 4 * sizeof *values);
    write_file(in(&workspace, name), bytes, sizeof bytes);
}

static void write_tensors(const char *side, const char *call, float last)
{
    char command[400], text[1600], path[128];
    snprintf(command, sizeof command, "mkdir -p '%s/%s/dump_tensor_data'", workspace.path, side);
    ck_assert_int_eq(system(command), 0);
    snprintf(text, sizeof text, "{\"%s\": null}", call);
    snprintf(path, sizeof path, "%s/construct.json", side);
    write_text(in(&workspace, path), text);
    snprintf(path, sizeof path, "%s/stack.json", side);
    write_text(in(&workspace, path), "{}");
#define ROW(kind)                                                                             \
    "{\"type\":\"mindspore.Tensor\",\"dtype\":\"Float32\",\"shape\":[4],\"Max\":4,\"Min\":1," \
    "\"Mean\":2.5,\"Norm\":5.4,\"data_name\":\"%s." kind ".0.npy\"}"
    snprintf(text, sizeof text,
             "{\"task\":\"tensor\",\"level\":\"mix\",\"framework\":\"mindspore\","
             "\"dump_data_dir\":\"dump_tensor_data\",\"data\":{\"%s\":{\"input_args\":[" ROW(
                 "input") "],\"input_kwargs\":{},\"output\":[" ROW("output") "]}}}",
             call, call, call);
#undef ROW
    snprintf(path, sizeof path, "%s/dump.json", side);
    write_text(in(&workspace, path), text);
    snprintf(path, sizeof path, "%s/dump_tensor_data/%s.input.0.npy", side, call);
    write_npy(path, (float[]){ 1, 2, 3, 4 });
    snprintf(path, sizeof path, "%s/dump_tensor_data/%s.output.0.npy", side, call);
    write_npy(path, (float[]){ 1, 2, 3, last });
}

/* All inputs are within a thousandth, three quarters of the outputs. */
START_TEST(tensors_of_a_match_are_compared)
{
    workspace = workspace_make();
    write_tensors("npu", "Functional.old.0.forward", 4);
    write_tensors("bench", "Functional.newer.0.forward", 5);
    write_text(in(&workspace, "matches.json"),
               "{\"Functional.old.0.forward\": \"Functional.newer.0.forward\"}");
    struct outcome o = run_program(&workspace, "-f", "mindspore", "graph", "-tp", "npu", "-gp",
                                   "bench", "-o", "out", "--format", "vis", "--match",
                                   "matches.json", NULL);
    ck_assert_msg(o.status == 0 && strstr(o.out, "2 matched, 1 suspicious"), "%s%s", o.out, o.err);
    char *vis = read_file(only_match(&workspace, "out/compare_*.vis"), NULL);
    ck_assert_ptr_nonnull(strstr(vis, "\"precision_index\": 0.25}"));
    free(vis);
    finish(&o);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("match file");
    TCase *t = tcase_create("matches");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, the_file_wins_over_names);
    tcase_add_test(t, an_empty_name_unmatches);
    tcase_add_loop_test(t, what_cannot_match_is_refused, 0, sizeof refused / sizeof *refused);
    tcase_add_loop_test(t, what_lies_below_is_matched_too, 0, 2);
    tcase_add_test(t, tensors_of_a_match_are_compared);
    tcase_add_test(t, a_built_graph_has_nothing_to_match);
    suite_add_tcase(suite, t);
    return suite_run(suite);
}
