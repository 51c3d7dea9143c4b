/* Merged ranks: each rule on the smallest dumps that show it. Expected trees and statistics follow from
 * the rules of merging; every tensor of a test has max x, min -x, mean x / 4 and norm 2 x. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compare/dumps/statistics.h"
#include "core/memory.h"
#include "graph/graph.h"
#include "graph/merge.h"
#include "support/suite.h"
#include "support/workspace.h"

/* A node of a rank: its parent ("" for none), what it takes and what it gives. */
struct call {
    const char *name, *parent;
    double in, out;
    const char *kwargs; /* of the record, or NULL */
};

enum { MOST_RANKS = 8 };

static struct workspace workspace;
static struct merged_ranks merged;
static struct graph graph;
static struct parallel_layout layout;
static unsigned n_ranks;

static int put_tensor(char *at, double x)
{
    return sprintf(at,
                   "{\"type\":\"torch.Tensor\",\"dtype\":\"torch.float32\",\"shape\":[2],"
                   "\"Max\":%.17g,\"Min\":%.17g,\"Mean\":%.17g,\"Norm\":%.17g}",
                   x, -x, x / 4, 2 * x);
}

static void begin(unsigned tp, unsigned pp, unsigned vpp)
{
    workspace = workspace_make();
    n_ranks = 0;
    layout = (struct parallel_layout){ .tp = tp, .pp = pp, .vpp = vpp };
    snprintf(layout.order, sizeof layout.order, "tp-cp-ep-dp-pp");
}

/* The next rank; the list ends with a NULL name. */
static void rank_is(const struct call *calls)
{
    char command[400], path[64], *construct = malloc(1 << 16), *dump = malloc(1 << 20);
    char *c = construct, *d = dump;
    snprintf(command, sizeof command, "mkdir -p '%s/rank%u'", workspace.path, n_ranks);
    ck_assert_int_eq(system(command), 0);
    c += sprintf(c, "{");
    d += sprintf(d, "{\"task\":\"statistics\",\"level\":\"mix\",\"framework\":\"pytorch\","
                    "\"dump_data_dir\":null,\"data\":{");
    for (size_t i = 0; calls[i].name; i++) {
        c += sprintf(c, "%s\"%s\":\"%s\"", i ? "," : "", calls[i].name, calls[i].parent);
        d += sprintf(d, "%s\"%s\":{\"input_args\":[", i ? "," : "", calls[i].name);
        d += put_tensor(d, calls[i].in);
        d += sprintf(d, "],\"input_kwargs\":{%s},\"output\":[",
                     calls[i].kwargs ? calls[i].kwargs : "");
        d += put_tensor(d, calls[i].out);
        d += sprintf(d, "]}");
    }
    strcpy(c, "}");
    strcpy(d, "}}");
    snprintf(path, sizeof path, "rank%u/construct.json", n_ranks);
    write_text(in(&workspace, path), construct);
    snprintf(path, sizeof path, "rank%u/dump.json", n_ranks);
    write_text(in(&workspace, path), dump);
    snprintf(path, sizeof path, "rank%u/stack.json", n_ranks);
    write_text(in(&workspace, path), "{}");
    free(construct);
    free(dump);
    n_ranks++;
}

static struct status try_merge(void)
{
    struct rank_folder folders[MOST_RANKS];
    char paths[MOST_RANKS][400];
    for (unsigned i = 0; i < n_ranks; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/rank%u", workspace.path, i);
        folders[i] = (struct rank_folder){ i, paths[i] };
    }
    layout.rank_size = n_ranks;
    return merged_ranks_open(&merged, folders, &layout, FILES_CHECKED);
}

/* Merge, and build graph `i` of `count`. */
static void merge(uint32_t count, uint32_t i)
{
    static const struct graph_options options = { .rule = MATCH_EXACT, .threads = 1 };
    struct status status = try_merge();
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
    ck_assert_uint_eq(merged.count, count);
    status = graph_open_merged(&graph, &merged.items[i], NULL, &options);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
}

static void end(void)
{
    graph_close(&graph);
    merged_ranks_close(&merged);
    workspace_remove(&workspace);
}

/* The tree as one text: children in brackets, "a[b[c] d]". */
static void append_tree(char *out, size_t bytes, uint32_t node)
{
    const struct model *model = &graph.npu.model;
    struct name_slice name = model_name(model, node);
    size_t used = strlen(out);
    snprintf(out + used, bytes - used, "%.*s", (int)name.length, name.text);
    if (model->nodes[node].first_child == NODE_NONE) return;
    strcat(out, "[");
    for (uint32_t child = model->nodes[node].first_child; child != NODE_NONE;
         child = model->nodes[child].next) {
        if (child != model->nodes[node].first_child) strcat(out, " ");
        append_tree(out, bytes, child);
    }
    strcat(out, "]");
}

static void tree_is(const char *want)
{
    char got[8192] = "";
    append_tree(got, sizeof got, graph.npu.model.root);
    ck_assert_str_eq(got, want);
}

static uint32_t node_named(const char *name)
{
    uint32_t node = model_find(&graph.npu.model, name, strlen(name));
    ck_assert_msg(node != NODE_NONE, "no node '%s'", name);
    return node;
}

/* Statistics of the first input (output) of a node. */
static void row_is(const char *name, bool output, double max, double min, double mean, double norm)
{
    const double want[ROW_STATISTICS] = { max, min, mean, norm };
    struct row_range rows = node_rows(&graph.npu, node_named(name));
    uint32_t row = rows.first;
    while (row < rows.first + rows.count && row_is_shown_as_output(&graph.npu, row) != output)
        row++;
    ck_assert_msg(row < rows.first + rows.count, "'%s' has no such row", name);
    for (enum row_statistic s = 0; s < ROW_STATISTICS; s++) {
        double got;
        const struct dump_rows *dump = graph.npu.rows;
        ck_assert(row_value_number(&got, dump, dump_row_statistic(&dump->rows[row], s)));
        ck_assert_msg(fabs(got - want[s]) <= 1e-12 * fabs(want[s]), "%s: statistic %d is %.17g",
                      name, (int)s, got);
    }
}

/* A tensor that was not merged, with maximum x. */
static void row_is_own(const char *name, bool output, double x)
{
    row_is(name, output, x, -x, x / 4, 2 * x);
}

#define M(direction)        "Module.0.m.M." direction ".0"
#define LAYER(k, direction) "Module.0.layers." #k ".L." direction ".0"
#define NORM                "Module.0.norm.N.forward.0"
#define EMBEDDING           "Module.0.embedding.E.forward.0"
#define END                    \
    {                          \
        NULL, NULL, 0, 0, NULL \
    }

/* Layers of the second stage follow, with numbers that go on; what only it has comes last. */
START_TEST(stages_of_a_pipeline_follow_each_other)
{
    begin(1, 2, 1);
    rank_is((struct call[]){ { M("forward"), "", 1, 5, NULL },
                             { EMBEDDING, M("forward"), 1, 2, NULL },
                             { LAYER(0, "forward"), M("forward"), 2, 3, NULL },
                             { "Torch.add.0.forward", LAYER(0, "forward"), 2, 3, NULL },
                             END });
    rank_is((struct call[]){ { M("forward"), "", 1, 9, NULL },
                             { LAYER(0, "forward"), M("forward"), 3, 4, NULL },
                             { "Torch.add.0.forward", LAYER(0, "forward"), 3, 4, NULL },
                             { LAYER(1, "forward"), M("forward"), 4, 5, NULL },
                             { NORM, M("forward"), 5, 6, NULL },
                             END });
    merge(1, 0);
    tree_is("DefaultModel[" M(
        "forward") "[" EMBEDDING
                   " " LAYER(0, "forward") "[Torch.add.0.forward] " LAYER(
                       1, "forward") "[Torch.add_rank1.0.forward] " LAYER(2, "forward") " " NORM
                                                                                        "]]");
    /* what leaves the module is what leaves its last stage */
    row_is_own(M("forward"), false, 1);
    row_is_own(M("forward"), true, 9);
    row_is_own(LAYER(1, "forward"), false, 3);
    row_is_own(LAYER(2, "forward"), true, 5);
    end();
}
END_TEST

START_TEST(backward_stages_come_in_reverse)
{
    begin(1, 2, 1);
    rank_is((struct call[]){ { M("backward"), "", 7, 1, NULL },
                             { LAYER(1, "backward"), M("backward"), 4, 3, NULL },
                             { LAYER(0, "backward"), M("backward"), 3, 2, NULL },
                             END });
    rank_is((struct call[]){ { M("backward"), "", 9, 1, NULL },
                             { LAYER(1, "backward"), M("backward"), 6, 5, NULL },
                             { LAYER(0, "backward"), M("backward"), 5, 4, NULL },
                             END });
    merge(1, 0);
    tree_is("DefaultModel[" M("backward") "[" LAYER(3, "backward") " " LAYER(
        2, "backward") " " LAYER(1, "backward") " " LAYER(0, "backward") "]]");
    row_is_own(LAYER(3, "backward"), false, 6);
    row_is_own(M("backward"), false, 9);
    row_is_own(M("backward"), true, 1);
    end();
}
END_TEST

/* A backward layer may give nothing; its forward call says that it is one of several. */
START_TEST(a_backward_layer_follows_its_forward_call)
{
    begin(1, 2, 1);
    for (int rank = 0; rank < 2; rank++)
        rank_is((struct call[]){ { M("forward"), "", 1, 5 + rank, NULL },
                                 { LAYER(0, "forward"), M("forward"), 2 + rank, 3 + rank, NULL },
                                 { M("backward"), "", 5 + rank, 1, NULL },
                                 { LAYER(0, "backward"), M("backward"), 3 + rank, 7, NULL },
                                 END });
    merge(1, 0);
    tree_is("DefaultModel[" M("forward") "[" LAYER(0, "forward") " " LAYER(1, "forward") "] " M(
        "backward") "[" LAYER(1, "backward") " " LAYER(0, "backward") "]]");
    end();
}
END_TEST

#define SEND(peer) "\"dst\":{\"type\":\"int\",\"value\":" #peer "}"

/* Stages are those that send to each other, whatever their numbers. */
START_TEST(sends_tell_the_order_of_stages)
{
    static const char *const sends[] = { SEND(3), SEND(2), SEND(1), SEND(0) };
    begin(1, 2, 1);
    for (int rank = 0; rank < 4; rank++)
        rank_is((struct call[]){ { "Distributed.isend.0.forward", "", 1, 1, sends[rank] },
                                 { M("forward"), "", 1, 5 + rank, NULL },
                                 { LAYER(0, "forward"), M("forward"), 2 + rank, 3 + rank, NULL },
                                 END });
    merge(2, 1); /* 0 and 3, 1 and 2; by the order 1 and 3 */
    row_is_own(LAYER(0, "forward"), false, 3);
    row_is_own(LAYER(1, "forward"), false, 4);
    end();
}
END_TEST

/* Chunks of a rank: Module.0 of both ranks, then Module.1 of both. */
START_TEST(virtual_stages_become_one)
{
    begin(1, 2, 2);
    for (int rank = 0; rank < 2; rank++)
        rank_is((struct call[]){
            { M("forward"), "", 1, 10 + rank, NULL },
            { LAYER(0, "forward"), M("forward"), 1 + rank, 2 + rank, NULL },
            { "Module.1.m.M.forward.0", "", 1, 20 + rank, NULL },
            { "Module.1.layers.0.L.forward.0", "Module.1.m.M.forward.0", 3 + rank, 4 + rank, NULL },
            { "Module.1.layers.0.fc.F.forward.0", "Module.1.layers.0.L.forward.0", 3 + rank,
              4 + rank, NULL },
            { rank ? "Module.1.norm.N.forward.0" : NULL, "Module.1.m.M.forward.0", 5, 6, NULL },
            END });
    merge(1, 0);
    tree_is("DefaultModel[" M("forward") "[" LAYER(0, "forward") " " LAYER(1, "forward") " " LAYER(
        2, "forward") "[Module.0.layers.2.fc.F.forward.0] " LAYER(3,
                                                                  "forward") "[Module.0.layers.3."
                                                                             "fc.F.forward.0] " NORM
                                                                             "]]");
    row_is_own(M("forward"), true, 21);
    row_is_own("Module.0.layers.3.fc.F.forward.0", false, 4);
    end();
}
END_TEST

#define COLUMN "Module.fc1.ColumnParallelLinear.forward.0"
#define ROW    "Module.fc2.RowParallelLinear.forward.0"
#define B      "Module.b.Block.forward.0"

/* Statistics of the whole from those of two shares with maxima 3 and 4. */
START_TEST(shares_of_a_tensor_become_the_whole)
{
    begin(2, 1, 1);
    for (int rank = 0; rank < 2; rank++)
        rank_is((struct call[]){ { B, "", 1, 2, NULL },
                                 { "Torch.mul.0.forward", B, 1, 3 + rank, NULL },
                                 { "Torch.div.0.forward", B, 1, 1.0 + 1e-9 * rank, NULL },
                                 END });
    merge(1, 0);
    row_is("Torch.mul.0.forward", true, 4, -4, 0.875, 10); /* norms 6 and 8 */
    row_is_own("Torch.mul.0.forward", false, 1);
    row_is_own(B, true, 2);
    size_t length;
    const char *notes = node_merge_notes(&graph.npu, node_named("Torch.mul.0.forward"), &length);
    ck_assert_str_eq(notes, "[\"merged from the shares of the ranks 0, 1\", "
                            "\"output.0 Max: max(3, 4) = 4\", \"output.0 Min: min(-3, -4) = -4\", "
                            "\"output.0 Mean: mean(0.75, 1) = 0.875\", "
                            "\"output.0 Norm: root of sum of squares(6, 8) = 10.0\"]");
    ck_assert_ptr_null(node_merge_notes(&graph.npu, node_named(B), NULL));
    end();
}
END_TEST

/* Between a column-parallel and a row-parallel layer all is shared, equal by chance or not. */
START_TEST(pairs_of_linear_layers_have_whole_ends)
{
    begin(2, 1, 1);
    for (int rank = 0; rank < 2; rank++)
        rank_is((struct call[]){ { B, "", 1, 9, NULL },
                                 { COLUMN, B, 1, 3, NULL },
                                 { "Torch.matmul.0.forward", COLUMN, 1, 3, NULL },
                                 { "Functional.gelu.0.forward", B, 3, 3, NULL },
                                 { ROW, B, 3, 9, NULL },
                                 END });
    merge(1, 0);
    row_is_own(COLUMN, false, 1);
    row_is_own("Torch.matmul.0.forward", false, 1);
    row_is(COLUMN, true, 3, -3, 0.75, 6 * sqrt(2));
    row_is("Functional.gelu.0.forward", false, 3, -3, 0.75, 6 * sqrt(2));
    row_is(ROW, false, 3, -3, 0.75, 6 * sqrt(2));
    row_is_own(ROW, true, 9);
    row_is_own(B, true, 9);
    end();
}
END_TEST

#define GROUP(a, b)                                                          \
    "\"group\":{\"type\":\"torch.ProcessGroup\",\"group_ranks\":[" #a "," #b \
    "],\"group_id\":\"g" #a "\"}"
#define REDUCE "Distributed.all_reduce.0.forward"

/* What the product of a row-parallel layer gives is summed over the ranks right behind it. */
START_TEST(a_product_gives_the_sum)
{
    begin(2, 1, 1);
    for (int rank = 0; rank < 2; rank++)
        rank_is((struct call[]){ { B, "", 1, 9, NULL },
                                 { ROW, B, 3 + rank, 9, NULL },
                                 { "Torch.matmul.0.forward", ROW, 3 + rank, 5 + rank, NULL },
                                 { REDUCE, ROW, 5 + rank, 9, GROUP(0, 1) },
                                 END });
    merge(1, 0);
    row_is("Torch.matmul.0.forward", false, 4, -4, 0.875, 10);
    row_is_own("Torch.matmul.0.forward", true, 9);
    row_is_own(REDUCE, false, 5); /* communication is that of the first rank */
    end();
}
END_TEST

/* Ranks 0 and 2 share tensors, says the group of their reduction; the order would say 0 and 1. */
START_TEST(reductions_tell_who_shares)
{
    begin(2, 1, 1);
    for (int rank = 0; rank < 4; rank++)
        rank_is((struct call[]){ { B, "", 1, 9, NULL },
                                 { REDUCE, B, 1, 1, rank % 2 ? GROUP(1, 3) : GROUP(0, 2) },
                                 { "Torch.mul.0.forward", B, 1, 1 + rank, NULL },
                                 END });
    merge(2, 0);
    row_is("Torch.mul.0.forward", true, 3, -3, 0.5, 2 * sqrt(10)); /* 1 and 3 */
    end();
}
END_TEST

#define ONES  "Torch.ones.0.forward"
#define ZEROS "Torch.zeros.0.forward"

/* Four ranks in two stages of two: calls between modules of all of them. */
START_TEST(calls_between_modules_keep_their_rank)
{
    begin(2, 2, 1);
    for (int rank = 0; rank < 4; rank++)
        rank_is((struct call[]){
            { ONES, "", 1, 1, NULL },
            { ZEROS, "", 1, 1, NULL },
            { M("forward"), "", 1, 5 + rank / 2, NULL },
            { LAYER(0, "forward"), M("forward"), 2 + rank / 2, 3 + rank / 2, NULL },
            { "Torch.mul.0.forward", LAYER(0, "forward"), 1, 3 + rank, NULL },
            END });
    merge(1, 0);
    tree_is("DefaultModel[Apis_Between_Modules_All_Ranks.0["
            "Apis_Between_Modules_Rank0.0[" ONES " " ZEROS "] "
            "Apis_Between_Modules_Rank1.0[Torch.ones_rank1.0.forward Torch.zeros_rank1.0.forward] "
            "Apis_Between_Modules_Rank2.0[Torch.ones_rank2.0.forward Torch.zeros_rank2.0.forward] "
            "Apis_Between_Modules_Rank3.0[Torch.ones_rank3.0.forward "
            "Torch.zeros_rank3.0.forward]] " M("forward") "[" LAYER(
                0, "forward") "[Torch.mul.0.forward] " LAYER(1, "forward") "[Torch.mul_rank2.0."
                                                                           "forward]]]");
    row_is("Torch.mul_rank2.0.forward", true, 6, -6, 11.0 / 8, sqrt(100 + 144)); /* 5 and 6 */
    end();
}
END_TEST

/* Without reductions and sends the order says who belongs together. */
START_TEST(the_order_of_dimensions)
{
    begin(2, 1, 1);
    snprintf(layout.order, sizeof layout.order, "dp-tp-pp");
    for (int rank = 0; rank < 4; rank++)
        rank_is((struct call[]){
            { B, "", 1, 9, NULL }, { "Torch.mul.0.forward", B, 1, 1 + rank, NULL }, END });
    merge(2, 1); /* 0 and 2, 1 and 3 */
    ck_assert_uint_eq(merged.items[1].rank, 1);
    row_is("Torch.mul.0.forward", true, 4, -4, 0.75, 2 * sqrt(20)); /* 2 and 4 */
    end();
}
END_TEST

/* ---- the program -------------------------------------------------------------------------------- */

static const struct refused {
    const char *npu, *message;
} refused[] = {
    { "{\"tp\": 1, \"pp\": 2}", "'rank_size' is missing" },
    { "{\"rank_size\": 2, \"tp\": 0, \"pp\": 2}", "'tp' must be a whole number, at least 1" },
    { "{\"rank_size\": 2, \"tp\": true, \"pp\": 2}", "'tp' must be a whole number, at least 1" },
    { "{\"rank_size\": 2, \"tp\": 4, \"pp\": 1}", "4 does not divide the 2 of 'rank_size'" },
    { "{\"rank_size\": 2, \"tp\": 2, \"pp\": 2}", "'tp' * 'pp' is 4" },
    { "{\"rank_size\": 2, \"tp\": 2, \"pp\": 1, \"vpp\": 2}", "'vpp' above 1 needs 'pp' above 1" },
    { "{\"rank_size\": 2, \"tp\": 2, \"pp\": 1, \"order\": \"TP\"}", "small letters and '-'" },
    { "{\"rank_size\": 2, \"tp\": 2, \"pp\": 1, \"order\": \"pp-dp\"}", "is no order of tp" },
    { "{\"rank_size\": 2, \"tp\": 1, \"pp\": 1, \"order\": \"ep-tp-dp\"}", "ep stands beside dp" },
    { "{\"rank_size\": 4, \"tp\": 2, \"pp\": 1}", "but there are 2 folders of ranks" },
    { "7", "'npu' must be an object" },
};

static void two_ranks(double second)
{
    begin(2, 1, 1);
    rank_is(
        (struct call[]){ { B, "", 1, 9, NULL }, { "Torch.mul.0.forward", B, 1, 3, NULL }, END });
    rank_is((struct call[]){
        { B, "", 1, 9, NULL }, { "Torch.mul.0.forward", B, 1, second, NULL }, END });
    char command[900];
    snprintf(command, sizeof command, "mkdir '%s/npu' && mv '%s'/rank* '%s/npu'", workspace.path,
             workspace.path, workspace.path);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(what_cannot_be_merged_is_refused)
{
    char text[600];
    two_ranks(4);
    snprintf(text, sizeof text, "{\"npu_path\": \"npu\", \"parallel_merge\": {\"npu\": %s}}",
             refused[_i].npu);
    write_text(in(&workspace, "compare.json"), text);
    struct outcome o = run_program(&workspace, "graph", "-i", "compare.json", "-o", "out", NULL);
    ck_assert_msg(o.status == 3 && strstr(o.err, refused[_i].message), "%s", o.err);
    ck_assert_uint_eq(count_matches(&workspace, "out/*"), 0);
    outcome_free(&o);
    workspace_remove(&workspace);
}
END_TEST

/* One side on two ranks against the same on one: equal but for what the shares were given. */
START_TEST(merged_ranks_are_compared)
{
    char command[900];
    two_ranks(4);
    snprintf(command, sizeof command,
             "cd '%s' && mkdir -p bench/rank0 && cp npu/rank0/*.json bench/rank0 && "
             "sed -i 's/\"Max\":3,\"Min\":-3,\"Mean\":0.75,\"Norm\":6/"
             "\"Max\":4,\"Min\":-4,\"Mean\":0.875,\"Norm\":10/' bench/rank0/dump.json",
             workspace.path);
    ck_assert_int_eq(system(command), 0);
    write_text(in(&workspace, "compare.json"),
               "{\"npu_path\": \"npu\", \"bench_path\": \"bench\", \"parallel_merge\": {"
               "\"npu\": {\"rank_size\": 2, \"tp\": 2, \"pp\": 1}, "
               "\"bench\": {\"rank_size\": 1, \"tp\": 1, \"pp\": 1}}}");
    struct outcome o = run_program(&workspace, "graph", "-i", "compare.json", "-o", "out",
                                   "--format", "vis,html", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_msg(strstr(o.out, "1 graph, 3 nodes, 3 matched, 0 suspicious"), "%s", o.out);
    char *vis = read_file(only_match(&workspace, "out/compare_merged0_*.vis"), NULL);
    ck_assert_ptr_nonnull(strstr(vis, "\"parallel_merge_info\": [\"merged from the shares"));
    free(vis);
    outcome_free(&o);
    workspace_remove(&workspace);
}
END_TEST

/* The shares of a tensor have other shapes than the whole; the third generation does not mind. */
START_TEST(shapes_of_merged_ranks_are_not_judged)
{
    char command[900];
    two_ranks(3);
    snprintf(command, sizeof command,
             "cd '%s' && mkdir -p bench/rank0 && cp npu/rank0/*.json bench/rank0 && "
             "sed -i 's/\"shape\":\\[2\\]/\"shape\":[4]/g' bench/rank0/dump.json",
             workspace.path);
    ck_assert_int_eq(system(command), 0);
    write_text(in(&workspace, "compare.json"),
               "{\"npu_path\": \"npu\", \"bench_path\": \"bench\", \"parallel_merge\": {"
               "\"npu\": {\"rank_size\": 2, \"tp\": 2, \"pp\": 1}, "
               "\"bench\": {\"rank_size\": 1, \"tp\": 1, \"pp\": 1}}}");
    struct outcome o = run_program(&workspace, "graph", "-i", "compare.json", "-o", "out",
                                   "--format", "vis", "--result-schema", "g3", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_msg(strstr(o.out, "1 graph, 3 nodes, 3 matched, 0 suspicious"), "%s", o.out);
    outcome_free(&o);
    workspace_remove(&workspace);
}
END_TEST

START_TEST(tensors_are_not_merged)
{
    two_ranks(4);
    char command[900];
    snprintf(command, sizeof command,
             "sed -i 's/\"task\":\"statistics\"/\"task\":\"tensor\"/' '%s'/npu/rank1/dump.json",
             workspace.path);
    ck_assert_int_eq(system(command), 0);
    write_text(in(&workspace, "compare.json"),
               "{\"npu_path\": \"npu\", \"parallel_merge\": {"
               "\"npu\": {\"rank_size\": 2, \"tp\": 2, \"pp\": 1}}}");
    struct outcome o = run_program(&workspace, "graph", "-i", "compare.json", "-o", "out", NULL);
    ck_assert_int_eq(o.status, 3);
    ck_assert_ptr_nonnull(strstr(o.err, "only dumps of statistics are merged"));
    outcome_free(&o);
    workspace_remove(&workspace);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("merge");
    TCase *t = tcase_create("merge");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, stages_of_a_pipeline_follow_each_other);
    tcase_add_test(t, backward_stages_come_in_reverse);
    tcase_add_test(t, a_backward_layer_follows_its_forward_call);
    tcase_add_test(t, sends_tell_the_order_of_stages);
    tcase_add_test(t, virtual_stages_become_one);
    tcase_add_test(t, shares_of_a_tensor_become_the_whole);
    tcase_add_test(t, pairs_of_linear_layers_have_whole_ends);
    tcase_add_test(t, a_product_gives_the_sum);
    tcase_add_test(t, reductions_tell_who_shares);
    tcase_add_test(t, calls_between_modules_keep_their_rank);
    tcase_add_test(t, the_order_of_dimensions);
    tcase_add_loop_test(t, what_cannot_be_merged_is_refused, 0, sizeof refused / sizeof *refused);
    tcase_add_test(t, merged_ranks_are_compared);
    tcase_add_test(t, shapes_of_merged_ranks_are_not_judged);
    tcase_add_test(t, tensors_are_not_merged);
    suite_add_tcase(suite, t);
    return suite_run(suite);
}
