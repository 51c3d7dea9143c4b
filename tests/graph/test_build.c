/* The hierarchy from construct.json: each rule on the smallest file that shows it. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "compare/dumps/dump_reader.h"
#include "core/memory.h"
#include "graph/build.h"
#include "graph/side.h"
#include "support/scratch.h"
#include "support/suite.h"

static struct model model;

/* Build the model of a text; `gradients` is a list ended by NULL, or NULL. */
static struct status build_text(const char *text, const char *const *gradients)
{
    char path[] = "/tmp/probe-construct-XXXXXX.json";
    struct construct construct;
    struct name_slice names[8];
    size_t n = 0;

    int fd = mkstemps(path, 5);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    struct status status = construct_read(&construct, path, FILES_CHECKED);
    unlink(path);
    if (status.code) return status;
    for (; gradients && gradients[n]; n++)
        names[n] = name_slice_of(gradients[n], strlen(gradients[n]));
    status = model_build(&model, &construct, names, n);
    construct_close(&construct);
    return status;
}

static void built(const char *text)
{
    struct status status = build_text(text, NULL);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
}

/* The tree as one text: children in brackets, "a[b[c]d]". */
static void append_tree(char *out, size_t bytes, uint32_t node)
{
    struct name_slice name = model_name(&model, node);
    size_t used = strlen(out);
    (void)snprintf(out + used, bytes - used, "%.*s", (int)name.length, name.text);
    if (model.nodes[node].first_child == NODE_NONE) return;
    strcat(out, "[");
    for (uint32_t child = model.nodes[node].first_child; child != NODE_NONE;
         child = model.nodes[child].next) {
        if (child != model.nodes[node].first_child) strcat(out, " ");
        append_tree(out, bytes, child);
    }
    strcat(out, "]");
}

static void tree_is(const char *want)
{
    char got[4096] = "";
    append_tree(got, sizeof got, model.root);
    ck_assert_str_eq(got, want);
    model_close(&model);
}

START_TEST(children_keep_the_order_of_the_file)
{
    built("{\"Functional.a.0.forward\": \"Module.m.M.forward.0\", \"Module.m.M.forward.0\": null,"
          " \"Functional.b.0.forward\": \"Module.m.M.forward.0\", \"Tensor.c.0.forward\": \"\"}");
    tree_is("DefaultModel[Module.m.M.forward.0[Functional.a.0.forward Functional.b.0.forward] "
            "Tensor.c.0.forward]");
}
END_TEST

START_TEST(backward_without_parent_takes_that_of_its_twin)
{
    built("{\"Module.m.M.forward.0\": null, \"Module.m.l.L.forward.0\": \"Module.m.M.forward.0\","
          " \"Module.m.M.backward.0\": null, \"Module.m.l.L.backward.0\": null}");
    tree_is("DefaultModel[Module.m.M.forward.0[Module.m.l.L.forward.0] "
            "Module.m.M.backward.0[Module.m.l.L.backward.0]]");
    /* calls have no number behind their direction */
    built("{\"Module.m.M.forward.0\": null, \"Tensor.add.0.forward\": \"Module.m.M.forward.0\","
          " \"Module.m.M.backward.0\": null, \"Tensor.add.0.backward\": null}");
    tree_is("DefaultModel[Module.m.M.forward.0[Tensor.add.0.forward] "
            "Module.m.M.backward.0[Tensor.add.0.backward]]");
    /* the turned parent has to be a key of the file */
    built("{\"Module.m.M.forward.0\": null, \"Tensor.add.0.forward\": \"Module.m.M.forward.0\","
          " \"Tensor.add.0.backward\": null}");
    tree_is("DefaultModel[Module.m.M.forward.0[Tensor.add.0.forward] Tensor.add.0.backward]");
}
END_TEST

START_TEST(in_place_modules_go_where_their_twin_is)
{
    /* ReLU in place: the hook gives it its own neighbour for a parent */
    built("{\"Module.a.b.B.forward.0\": null,"
          " \"Module.a.b.relu.ReLU.forward.0\": \"Module.a.b.B.forward.0\","
          " \"Module.a.b.B.backward.0\": null, \"Module.a.c.conv.Conv.backward.0\": null,"
          " \"Module.a.b.relu.ReLU.backward.0\": \"Module.a.c.conv.Conv.backward.0\"}");
    tree_is("DefaultModel[Module.a.b.B.forward.0[Module.a.b.relu.ReLU.forward.0] "
            "Module.a.b.B.backward.0[Module.a.b.relu.ReLU.backward.0] "
            "Module.a.c.conv.Conv.backward.0]");
}
END_TEST

START_TEST(loose_calls_are_collected)
{
    built("{\"Torch.a.0.forward\": null, \"Module.m.M.forward.0\": null,"
          " \"Torch.b.0.forward\": null, \"Torch.c.0.forward\": null,"
          " \"Module.n.N.forward.0\": null, \"Torch.d.0.forward\": null,"
          " \"Torch.e.0.forward\": null}");
    tree_is("DefaultModel[Torch.a.0.forward Module.m.M.forward.0 "
            "Apis_Between_Modules.0[Torch.b.0.forward Torch.c.0.forward] Module.n.N.forward.0 "
            "Apis_Between_Modules.1[Torch.d.0.forward Torch.e.0.forward]]");
}
END_TEST

START_TEST(recomputed_layers_go_below_the_backward_of_their_parent)
{
    built("{\"Module.0.module.decoder.D.forward.0\": null,"
          " \"Module.0.module.decoder.layers.1.Layer.forward.0\": "
          "\"Module.0.module.decoder.D.forward.0\","
          " \"Module.0.module.decoder.D.backward.0\": null,"
          " \"Module.0.module.decoder.layers.1.Layer.forward.1\": null,"
          " \"Module.0.module.decoder.layers.1.Layer.backward.1\": null}");
    tree_is("DefaultModel[Module.0.module.decoder.D.forward.0"
            "[Module.0.module.decoder.layers.1.Layer.forward.0] "
            "Module.0.module.decoder.D.backward.0"
            "[Module.0.module.decoder.layers.1.Layer.forward.1 "
            "Module.0.module.decoder.layers.1.Layer.backward.1]]");
}
END_TEST

/* An original at the top level has no parent to say where the recomputed one belongs; originals count
 * in the order of the file, whatever the tree is like. */
START_TEST(originals_lie_below_modules)
{
    built("{\"Module.a.b.c.d.e.F.forward.0\": null, \"Module.t.T.forward.0\": null,"
          " \"Module.a.b.c.d.e.F.forward.1\": \"Module.t.T.forward.0\","
          " \"Module.t.T.backward.0\": null,"
          " \"Module.a.b.c.d.e.F.forward.2\": null, \"Module.a.b.c.d.e.F.backward.2\": null}");
    tree_is("DefaultModel[Module.a.b.c.d.e.F.forward.0 "
            "Module.t.T.forward.0[Module.a.b.c.d.e.F.forward.1] "
            "Module.t.T.backward.0[Module.a.b.c.d.e.F.forward.2 Module.a.b.c.d.e.F.backward.2]]");
}
END_TEST

START_TEST(gradients_of_parameters_hang_below_the_last_backward)
{
    static const char *const gradients[] = { "Module.m.M.parameters_grad.0",
                                             "Module.gone.G.parameters_grad", NULL };
    struct status status = build_text("{\"Module.m.M.forward.0\": null, \"Module.m.M.backward.0\": "
                                      "null, \"Module.m.M.backward.11\": null, "
                                      "\"Module.m.M.backward.2\": null}",
                                      gradients);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
    tree_is("DefaultModel[Module.m.M.forward.0 Module.m.M.backward.0 "
            "Module.m.M.backward.11[Module.m.M.parameters_grad.0] Module.m.M.backward.2]");
}
END_TEST

START_TEST(no_node_is_lost)
{
    /* a parent that is no key, a node in itself, and a circle of three */
    built("{\"Module.b.forward.0\": \"Module.a.forward.0\", "
          "\"Module.s.forward.0\": \"Module.s.forward.0\","
          " \"Module.x.forward.0\": \"Module.y.forward.0\","
          " \"Module.y.forward.0\": \"Module.z.forward.0\","
          " \"Module.z.forward.0\": \"Module.x.forward.0\"}");
    uint32_t x = model_find(&model, "Module.x.forward.0", 18);
    uint32_t a = model_find(&model, "Module.a.forward.0", 18);
    ck_assert_int_eq(model.nodes[x].repair, REPAIR_CIRCLE);
    ck_assert_int_eq(model.nodes[a].repair, REPAIR_MISSING_PARENT);
    tree_is("DefaultModel[Module.s.forward.0 Module.a.forward.0[Module.b.forward.0] "
            "Module.x.forward.0[Module.z.forward.0[Module.y.forward.0]]]");
}
END_TEST

START_TEST(a_chain_of_a_million_levels)
{
    enum { LEVELS = 1000000, LINE = 64 };
    char *text = memory_allocate((size_t)LEVELS * LINE), *at = text;
    ck_assert_ptr_nonnull(text);
    at += sprintf(at, "{\"Module.n.forward.0\": null");
    for (int i = 1; i < LEVELS; i++)
        at += sprintf(at, ",\"Module.n.forward.%d\":\"Module.n.forward.%d\"", i, i - 1);
    sprintf(at, "}");
    built(text);
    memory_release(text);
    size_t before = 0, after = 0;
    for (uint32_t node = model.root; node != NODE_NONE; node = model_after(&model, node)) before++;
    for (uint32_t node = model_deepest_first(&model, model.root); node != NODE_NONE;
         node = model_after_children(&model, node))
        after++;
    ck_assert_uint_eq(before, LEVELS + 1);
    ck_assert_uint_eq(after, LEVELS + 1);
    model_close(&model);
}
END_TEST

START_TEST(micro_steps_begin_with_a_forward_behind_a_backward)
{
    built("{\"Torch.a.0.forward\": null, \"Module.m.M.forward.0\": null,"
          " \"Module.m.M.backward.0\": null, \"Torch.b.0.forward\": null,"
          " \"Module.m.M.forward.1\": null, \"Module.m.l.L.forward.1\": \"Module.m.M.forward.1\","
          " \"Module.m.M.backward.1\": null}");
    static const struct {
        const char *name;
        unsigned page;
    } want[] = { { "Torch.a.0.forward", 0 },      { "Module.m.M.forward.0", 0 },
                 { "Torch.b.0.forward", 0 },      { "Module.m.M.forward.1", 1 },
                 { "Module.m.l.L.forward.1", 1 }, { "Module.m.M.backward.1", 1 } };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        uint32_t node = model_find(&model, want[i].name, strlen(want[i].name));
        ck_assert_msg(model.nodes[node].micro_step == want[i].page, "%s", want[i].name);
    }
    ck_assert_uint_eq(model.micro_steps, 2);
    model_close(&model);
}
END_TEST

START_TEST(recorded_micro_steps_are_used)
{
    built("{\"megatron_micro_step_number\": 1, \"Module.m.M.forward.0\": [null, 0],"
          " \"Module.m.l.L.forward.0\": [\"Module.m.M.forward.0\", 0],"
          " \"Module.m.M.forward.1\": [null, 1], \"Torch.a.0.forward\": [null, 1],"
          " \"Torch.b.0.forward\": [null, 0], \"Module.k.K.forward.0\": \"Module.m.M.forward.1\"}");
    ck_assert_uint_eq(model.micro_steps, 2);
    static const struct {
        const char *name;
        unsigned page;
    } want[] = { { "Module.m.M.forward.1", 1 },
                 { "Module.k.K.forward.0", 0 }, /* a plain value, below one of page 1 */
                 { "Apis_Between_Modules.0", 1 } };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        uint32_t node = model_find(&model, want[i].name, strlen(want[i].name));
        ck_assert_msg(model.nodes[node].micro_step == want[i].page, "%s", want[i].name);
    }
    tree_is("DefaultModel[Module.m.M.forward.0[Module.m.l.L.forward.0] "
            "Module.m.M.forward.1[Module.k.K.forward.0] "
            "Apis_Between_Modules.0[Torch.a.0.forward Torch.b.0.forward]]");
}
END_TEST

START_TEST(what_is_no_construct_json_is_refused)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        { "[]", "expected '{', found" },
        { "{\"a\": 3}", "the name of a parent, or null" },
        { "{\"a\": [\"b\", 0, 1]}", "[parent, micro step]" },
        { "{\"a\": [\"b\", -1]}", "a micro step is" },
        { "{\"a\": \"b\"", "found the end" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct status status = build_text(rows[i].text, NULL);
        ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
        ck_assert_msg(strstr(status.text, rows[i].why), "%s", status.text);
    }
}
END_TEST

/* What a dump of level L1 leaves is a file, and no model. */
START_TEST(a_dump_without_modules_has_no_graph)
{
    struct scratch scratch = scratch_make();
    (void)scratch_text(&scratch, "construct.json", "{}");
    const char *dump =
        scratch_text(&scratch, "dump.json",
                     "{\"task\": \"statistics\", \"framework\": \"pytorch\", \"data\": "
                     "{\"Torch.f.0.forward\": {}}}");
    struct dump_rows rows;
    struct graph_side side;
    ck_assert_int_eq(dump_rows_open(&rows, dump, FILES_CHECKED).code, STATUS_OK);
    struct status status = graph_side_open(&side, scratch.path, &rows, FILES_CHECKED);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_msg(strstr(status.text, "dump with level L0 or mix") != NULL, "%s", status.text);
    dump_rows_close(&rows);
    scratch_remove(&scratch);
}
END_TEST

START_TEST(directions_are_turned_at_their_place)
{
    char buffer[NAME_BUFFER];
    static const char name[] = "Module.forward.x.forward.3";
    ck_assert_uint_eq(name_turn(buffer, name_slice_of(name, strlen(name)), DIRECTION_BACKWARD),
                      strlen("Module.forward.x.backward.3"));
    ck_assert_str_eq(buffer, "Module.forward.x.backward.3");
    ck_assert_uint_eq(name_turn(buffer, name_slice_of("a.b", 3), DIRECTION_BACKWARD), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("build");
    TCase *tests = tcase_create("build");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, children_keep_the_order_of_the_file);
    tcase_add_test(tests, backward_without_parent_takes_that_of_its_twin);
    tcase_add_test(tests, in_place_modules_go_where_their_twin_is);
    tcase_add_test(tests, loose_calls_are_collected);
    tcase_add_test(tests, recomputed_layers_go_below_the_backward_of_their_parent);
    tcase_add_test(tests, originals_lie_below_modules);
    tcase_add_test(tests, gradients_of_parameters_hang_below_the_last_backward);
    tcase_add_test(tests, no_node_is_lost);
    tcase_add_test(tests, a_chain_of_a_million_levels);
    tcase_add_test(tests, micro_steps_begin_with_a_forward_behind_a_backward);
    tcase_add_test(tests, recorded_micro_steps_are_used);
    tcase_add_test(tests, what_is_no_construct_json_is_refused);
    tcase_add_test(tests, a_dump_without_modules_has_no_graph);
    tcase_add_test(tests, directions_are_turned_at_their_place);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
