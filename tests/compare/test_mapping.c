/* Names of one side in the words of the other: APIs, cells, data, layers. */
#include "compare/dumps/mapping.h"

#include "compare/dumps.h"
#include "compare/dumps/layer_mapping.h"

static const char T[] = TENSOR("1", "1", "1", "1");

/* Entries with one input and one output each. */
static const char *entries(const char *const *names)
{
    static char data[1 << 14];
    int length = 0;
    data[0] = '\0';
    for (int i = 0; names[i]; i++)
        length += sprintf(data + length, "%s\"%s\": {\"input_args\": [%s], \"output\": [%s]}",
                          i ? ", " : "", names[i], T, T);
    return data;
}

struct both {
    struct scratch scratch;
    struct dump_rows npu, bench;
    struct dump_pair dumps;
    char npu_path[600], bench_path[600];
};

static void make_both(struct both *b, const char *npu_framework, const char *const *npu,
                      const char *const *bench)
{
    b->scratch = scratch_make();
    strcpy(b->npu_path, make_dump(&b->scratch, "a", "statistics", npu_framework, entries(npu)));
    strcpy(b->bench_path, make_dump(&b->scratch, "b", "statistics", "pytorch", entries(bench)));
    b->npu = open_dump(b->npu_path);
    b->bench = open_dump(b->bench_path);
    b->dumps = (struct dump_pair){ &b->npu, &b->bench, true };
}

static void remove_both(struct both *b)
{
    dump_rows_close(&b->npu);
    dump_rows_close(&b->bench);
    scratch_remove(&b->scratch);
}

/* The first name of the last mapping that no row has. */
static char idle[200];

/* Partners of all rows under a mapping: the name of the Bench row or "-", each ended by a blank. */
static const char *partners(struct both *b, enum mapping_kind kind, const char *yaml)
{
    static char text[4000];
    const char *path = yaml ? scratch_text(&b->scratch, "map.yaml", yaml) : NULL;
    struct mapping *mapping;
    struct mapping_use *use;
    struct pairing_rule rule = { 0 };
    struct pairing pairing;
    const char *idle_name;
    int length = 0;

    struct status status =
        mapping_open(&mapping, kind, path, FILES_CHECKED, (struct warnings){ 0 });
    ck_assert_msg(!status.code, "%s", status.text);
    status =
        mapping_apply(&use, &rule, mapping, &b->dumps, b->npu_path, b->bench_path, FILES_CHECKED);
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_int_eq(pairing_by_key(&pairing, &b->dumps, &rule).code, STATUS_OK);
    for (uint32_t row = 0; row < b->npu.n_rows; row++) {
        uint32_t bench = pairing.bench_of[row];
        length +=
            sprintf(text + length, "%s ", bench == ROW_NONE ? "-" : name_of(&b->bench, bench));
    }
    (void)mapping_use_count_idle(use, &idle_name);
    if (idle_name) snprintf(idle, sizeof idle, "%s", idle_name);
    else idle[0] = '\0';
    pairing_release(&pairing);
    mapping_use_close(use);
    mapping_close(mapping);
    return text;
}

/* Prefixes of mint, the built-in table, names that stay. */
START_TEST(built_in_apis)
{
    static const char *const npu[] = { "Mint.add.0.forward", "MintFunctional.relu.1.forward",
                                       "Functional.abs.0.forward", "Mint.addMint.0.forward", NULL };
    static const char *const bench[] = { "Torch.add.0.forward", "Functional.relu.1.forward",
                                         "Torch.abs.0.forward", "Torch.addMint.0.forward", NULL };
    struct both b;
    make_both(&b, "mindspore", npu, bench);
    ck_assert_str_eq(partners(&b, MAPPING_API, NULL),
                     "Torch.add.0.forward.input.0 Torch.add.0.forward.output.0 "
                     "Functional.relu.1.forward.input.0 Functional.relu.1.forward.output.0 "
                     "Torch.abs.0.forward.input.0 Torch.abs.0.forward.output.0 "
                     "Torch.addMint.0.forward.input.0 Torch.addMint.0.forward.output.0 ");
    remove_both(&b);
}
END_TEST

/* A record of the user: listed arguments move, others are abandoned; one record needs no list. */
START_TEST(user_apis)
{
    static const char *const npu[] = { "Mint.add.0.forward", NULL };
    static const char *const bench[] = { "Torch.plus.0.forward", "Torch.add.0.forward", NULL };
    struct both b;
    make_both(&b, "mindspore", npu, bench);
    ck_assert_str_eq(
        partners(&b, MAPPING_API,
                 "ms_api: Mint.add\npt_api: Torch.plus\nms_output: [0]\npt_output: [0]\n"),
        "- Torch.plus.0.forward.output.0 ");
    ck_assert_str_eq(idle, "");
    ck_assert_str_eq(
        partners(&b, MAPPING_API,
                 "- ms_api: Mint.add\n  pt_api: Torch.plus\n  ms_args: [0]\n  pt_args: [0]\n"),
        "Torch.plus.0.forward.input.0 - ");
    /* an API that Bench does not have: the built-in rule */
    ck_assert_str_eq(partners(&b, MAPPING_API, "- ms_api: Mint.add\n  pt_api: Torch.nowhere\n"),
                     "Torch.add.0.forward.input.0 Torch.add.0.forward.output.0 ");
    ck_assert_str_eq(idle, "Mint.add");
    remove_both(&b);
}
END_TEST

START_TEST(cells)
{
    static const char *const npu[] = { "Cell.net.fc.Dense.forward.0", "Cell.net.x.Mean.forward.0",
                                       "Mint.add.0", NULL };
    static const char *const bench[] = { "Module.model.linear.Linear.forward.0",
                                         "Module.net.x.Mean.forward.0", "Mint.add.0", NULL };
    struct both b;
    make_both(&b, "mindspore", npu, bench);
    ck_assert_str_eq(
        partners(&b, MAPPING_CELL, "net.fc.Dense: model.linear.Linear\nnet.fc.Dens: a\n"),
        "Module.model.linear.Linear.forward.0.input.0 "
        "Module.model.linear.Linear.forward.0.output.0 "
        "Module.net.x.Mean.forward.0.input.0 Module.net.x.Mean.forward.0.output.0 - - ");
    ck_assert_str_eq(idle, "net.fc.Dens");
    ck_assert_str_eq(
        partners(&b, MAPPING_CELL, NULL),
        "- - Module.net.x.Mean.forward.0.input.0 Module.net.x.Mean.forward.0.output.0 - - ");
    remove_both(&b);
}
END_TEST

/* Listed rows move, others keep their names; a Bench row may serve twice. */
START_TEST(data)
{
    static const char *const npu[] = { "A.f.0.forward", "A.g.0.forward", NULL };
    static const char *const bench[] = { "B.f.0.forward", "A.g.0.forward", NULL };
    struct both b;
    make_both(&b, "pytorch", npu, bench);
    ck_assert_str_eq(partners(&b, MAPPING_DATA,
                              "A.f.0.forward.input.0: B.f.0.forward.output.0\n"
                              "A.f.0.forward.output.0: B.f.0.forward.output.0\n"
                              "A.f.0.output.0: B.f.0.forward.output.0\n"),
                     "B.f.0.forward.output.0 B.f.0.forward.output.0 "
                     "A.g.0.forward.input.0 A.g.0.forward.output.0 ");
    ck_assert_str_eq(idle, "A.f.0.output.0");
    remove_both(&b);
}
END_TEST

/* ---- layers ----------------------------------------------------------------------------- */

static void write_beside(const struct both *b, const char *folder, const char *name,
                         const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)scratch_text(&b->scratch, path, text);
}

/* The worked example of the rules. */
START_TEST(layers)
{
    static const char *const npu[] = {
        "Tensor.__add__.0.forward",
        "Tensor.__add__.1.forward",
        "Mint.logical_or.0.forward",
        "Cell.network_with_loss.language_model.embedding.word_embeddings.VocabParallelEmbedding."
        "forward.0",
        "Functional.flash_attention_score.0.forward",
        "Functional.flash_attention_score.0.backward",
        "Cell.network_with_loss.language_model.encoder.layers.0.attention.ParallelAttention."
        "forward.0",
        "Cell.network_with_loss.language_model.encoder.layers.0.ParallelTransformerLayer.forward.0",
        NULL,
    };
    static const char *const bench[] = {
        "Tensor.__add__.0.forward",
        "Tensor.__or__.0.forward",
        "Module.module.language_model.embedding.word_embeddings.VocabParallelEmbedding.forward.0",
        "NPU.npu_fusion_attention.0.forward",
        "NPU.npu_fusion_attention.0.backward",
        "Module.module.language_model.encoder.layers.0.self_attention.core_attention_flash.Flash."
        "forward.0",
        "Module.module.language_model.encoder.layers.0.self_attention.ParallelAttention.forward.0",
        "Module.module.language_model.encoder.layers.0.ParallelTransformerLayer.forward.0",
        NULL,
    };
    static const char rules[] =
        "TopLayer:\n  network_with_loss: module\n"
        "VocabParallelEmbedding:\n  logical_or: __or__\n"
        "  reduce_from_mp_region.all_reduce: all_reduce\n"
        "ParallelTransformerLayer:\n  attention: self_attention (renamed)\n"
        "ParallelAttention:\n"
        "  flash_attention_score: core_attention_flash.npu_fusion_attention\n";
    struct both b;
    make_both(&b, "mindspore", npu, bench);
    write_beside(
        &b, "a", "construct.json",
        "{\"Mint.logical_or.0.forward\": \"Cell.network_with_loss.language_model.embedding."
        "word_embeddings.VocabParallelEmbedding.forward.0\", "
        "\"Functional.flash_attention_score.0.forward\": \"Cell.network_with_loss."
        "language_model.encoder.layers.0.attention.ParallelAttention.forward.0\"}");
    write_beside(
        &b, "a", "stack.json",
        "{\"Tensor.__add__.0.forward\": [\"File /x/api_template.py, line 1, in Template, \\n "
        "y\", \"File /site-packages/mindspore/a.py, line 3, in __getitem__, \\n z\", \"File "
        "train.py, line 9, in construct, \\n w\"], \"Tensor.__add__.1.forward\": [\"File "
        "train.py, line 9, in construct, \\n w\"]}");
    write_beside(
        &b, "b", "construct.json",
        "{\"Tensor.__or__.0.forward\": \"Module.module.language_model.embedding."
        "word_embeddings.VocabParallelEmbedding.forward.0\", "
        "\"NPU.npu_fusion_attention.0.forward\": \"Module.module.language_model.encoder.layers."
        "0.self_attention.core_attention_flash.Flash.forward.0\"}");
    write_beside(&b, "b", "stack.json", "{}");

    struct layer_side *side;
    ck_assert_int_eq(layer_side_open(&side, &b.npu, b.npu_path, FILES_CHECKED).code, STATUS_OK);
    ck_assert_str_eq(layer_side_scope(side, 0), "TopLayer.__getitem__.__add__");
    ck_assert_str_eq(layer_side_scope(side, 1), "TopLayer.__add__");
    ck_assert_str_eq(layer_side_scope(side, 5), layer_side_scope(side, 4));
    layer_side_close(side);

    ck_assert_str_eq(
        partners(&b, MAPPING_LAYER, rules),
        "- - Tensor.__add__.0.forward.input.0 Tensor.__add__.0.forward.output.0 "
        "Tensor.__or__.0.forward.input.0 Tensor.__or__.0.forward.output.0 "
        "Module.module.language_model.embedding.word_embeddings.VocabParallelEmbedding.forward.0."
        "input.0 "
        "Module.module.language_model.embedding.word_embeddings.VocabParallelEmbedding.forward.0."
        "output.0 "
        "NPU.npu_fusion_attention.0.forward.input.0 NPU.npu_fusion_attention.0.forward.output.0 "
        "NPU.npu_fusion_attention.0.backward.input.0 NPU.npu_fusion_attention.0.backward.output.0 "
        "Module.module.language_model.encoder.layers.0.self_attention.ParallelAttention.forward.0."
        "input.0 "
        "Module.module.language_model.encoder.layers.0.self_attention.ParallelAttention.forward.0."
        "output.0 "
        "Module.module.language_model.encoder.layers.0.ParallelTransformerLayer.forward.0.input.0 "
        "Module.module.language_model.encoder.layers.0.ParallelTransformerLayer.forward.0.output."
        "0 ");
    remove_both(&b);
}
END_TEST

/* Layers of a pipeline stage count from its first one. */
START_TEST(layers_count_from_the_smallest)
{
    static const char *const npu[] = { "Module.m.encoder.ParallelTransformer.forward.0",
                                       "Module.m.encoder.layers.4.mlp.MLP.forward.0",
                                       "Module.m.encoder.layers.5.mlp.MLP.forward.0", NULL };
    static const char *const bench[] = { "Module.m.encoder.ParallelTransformer.forward.0",
                                         "Module.m.encoder.layers.0.mlp.MLP.forward.0",
                                         "Module.m.encoder.layers.1.mlp.MLP.forward.0", NULL };
    struct both b;
    make_both(&b, "pytorch", npu, bench);
    for (int i = 0; i < 2; i++) {
        write_beside(&b, i ? "b" : "a", "construct.json", "{\"x\": null}");
        write_beside(&b, i ? "b" : "a", "stack.json", "{}");
    }
    ck_assert_str_eq(partners(&b, MAPPING_LAYER, NULL),
                     "Module.m.encoder.ParallelTransformer.forward.0.input.0 "
                     "Module.m.encoder.ParallelTransformer.forward.0.output.0 "
                     "Module.m.encoder.layers.0.mlp.MLP.forward.0.input.0 "
                     "Module.m.encoder.layers.0.mlp.MLP.forward.0.output.0 "
                     "Module.m.encoder.layers.1.mlp.MLP.forward.0.input.0 "
                     "Module.m.encoder.layers.1.mlp.MLP.forward.0.output.0 ");
    remove_both(&b);
}
END_TEST

/* A dump of calls alone leaves construct.json empty: then all of them are at the top. */
START_TEST(layers_without_modules)
{
    static const char *const npu[] = { "Torch.g.4.forward", "Torch.f.7.forward", NULL };
    static const char *const bench[] = { "Torch.f.0.forward", "Torch.g.0.forward", NULL };
    struct both b;
    make_both(&b, "pytorch", npu, bench);
    for (int i = 0; i < 2; i++) {
        write_beside(&b, i ? "b" : "a", "construct.json", "{}");
        write_beside(&b, i ? "b" : "a", "stack.json", "{}");
    }
    ck_assert_str_eq(partners(&b, MAPPING_LAYER, NULL),
                     "Torch.g.0.forward.input.0 Torch.g.0.forward.output.0 "
                     "Torch.f.0.forward.input.0 Torch.f.0.forward.output.0 ");
    remove_both(&b);
}
END_TEST

static const struct {
    enum mapping_kind kind;
    const char *yaml, *message;
} wrong[] = {
    { MAPPING_API, "x", "expected records" },
    { MAPPING_API, "- ms_api: a\n", "ms_api and pt_api" },
    { MAPPING_API, "- ms_api: a\n  pt_api: b\n  ms_args: [0, 0]\n  pt_args: [0, 1]\n", "twice" },
    { MAPPING_API, "- ms_api: a\n  pt_api: b\n  ms_args: [-1]\n  pt_args: [0]\n", "out of range" },
    { MAPPING_CELL, "- a\n", "name: name" },
    { MAPPING_DATA, "a: [b]\n", "expected a name" },
    { MAPPING_DATA, "a: &x [*x]\n", "line 1" },
    { MAPPING_LAYER, "A: b\n", "sub-path: sub-path" },
};

START_TEST(wrong_files)
{
    struct scratch scratch = scratch_make();
    struct mapping *mapping;
    const char *path = scratch_text(&scratch, "m.yaml", wrong[_i].yaml);
    struct status status =
        mapping_open(&mapping, wrong[_i].kind, path, FILES_CHECKED, (struct warnings){ 0 });
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_msg(strstr(status.text, wrong[_i].message) != NULL, "%s", status.text);
    ck_assert_ptr_null(mapping);
    scratch_remove(&scratch);
}
END_TEST

static void count_warnings(void *context, const char *text)
{
    ck_assert_ptr_nonnull(strstr(text, "different lengths"));
    ++*(int *)context;
}

START_TEST(unequal_lists_are_skipped)
{
    struct scratch scratch = scratch_make();
    struct mapping *mapping;
    int warnings = 0;
    const struct warnings told = { count_warnings, &warnings };
    const char *path =
        scratch_text(&scratch, "m.yaml", "- ms_api: a\n  pt_api: b\n  ms_args: [0]\n");
    ck_assert_int_eq(mapping_open(&mapping, MAPPING_API, path, FILES_CHECKED, told).code,
                     STATUS_OK);
    ck_assert_int_eq(warnings, 1);
    mapping_close(mapping);
    scratch_remove(&scratch);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mapping");
    TCase *tests = tcase_create("mapping");
    tcase_add_test(tests, built_in_apis);
    tcase_add_test(tests, user_apis);
    tcase_add_test(tests, cells);
    tcase_add_test(tests, data);
    tcase_add_test(tests, layers);
    tcase_add_test(tests, layers_count_from_the_smallest);
    tcase_add_test(tests, layers_without_modules);
    tcase_add_loop_test(tests, wrong_files, 0, (int)(sizeof wrong / sizeof *wrong));
    tcase_add_test(tests, unequal_lists_are_skipped);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
