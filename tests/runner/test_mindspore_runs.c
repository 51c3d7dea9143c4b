/* What runs over dumps of MindSpore do besides their rows: entries made to harm, saved tensors, lists, three-way comparison, and who says
 * which framework it is. */
#include <cjson/cJSON.h>
#include <math.h>

#include "core/file.h"
#include "formats/npy.h"
#include "runner/mindspore_rows.h"
#include "support/suite.h"
#include "support/workspace.h"

#define MS(dtype, shape)                                                      \
    "{\"type\":\"mindspore.Tensor\",\"dtype\":\"" dtype "\",\"shape\":" shape \
    ",\"Max\":1.0,\"Min\":-1.0,\"Mean\":0,\"Norm\":1}"

/* Entries made to harm, each beside a good call: a SKIP row with the reason, and the good one passes. */
static const struct {
    const char *name, *args, *kwargs, *says;
} hostile[] = {
    { "Mint.add.0", MS("UInt64", "[3]") "," MS("UInt64", "[3]"), "", "the dtype UInt64 is not" },
    { "Mint.add.0", MS("Complex512", "[3]") ",1", "", "the dtype Complex512 is not" },
    { "Mint.exp.0", MS("Float32", "[-1]"), "", "a negative extent" },
    { "Mint.exp.0", MS("Float32", "[4294967296,4294967296]"), "", "too many elements" },
    { "Mint.exp.0", MS("Float32", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"), "", "16 dimensions" },
    { "Mint.exp.0", MS("Float32", "[1048576,1048576]"), "", "of memory, which is more" },
    { "Mint.exp.0", "{\"type\":\"mindspore.Tensor\",\"dtype\":\"Float32\"}", "",
      "without a shape" },
    { "Mint.exp.0", "", "", "argument 'input' is missing" },
    { "Mint.exp.0", MS("Float32", "[3]"), "\"no_such\":1", "no_such" },
    { "Mint.exp.0", "{\"type\":\"mindspore.Tensor\"}", "", "without" },
    { "Mint.nothing_of_this_name.0", MS("Float32", "[3]"), "", "no bench function" },
    { "MintFunctional.softmax.0", MS("Float32", "[3]") ",99", "", "out of range" },
    { "Functional.unsorted_segment_sum.0", MS("Float32", "[3]") "," MS("Int32", "[3]") ",-5", "",
      "num_segments must be positive" },
    { "Functional.gather_nd.0", MS("Float32", "[3]") "," MS("Int32", "[3,9]"), "", "indices" },
    { "Functional.one_hot.0", MS("Int32", "[3]") ",-1", "", "depth" },
    { "Functional.one_hot.0", MS("Int32", "[3]") ",1152921504606846976", "", "" },
    { "Functional.slice.0", MS("Float32", "[3,3]") ",[9,9],[9,9]", "", "the slice leaves" },
    { "Functional.scatter_nd.0", MS("Int32", "[3,1]") "," MS("Float32", "[3]") ",[-7]", "", "" },
    { "Functional.sequence_mask.0", MS("Int32", "[3]") ",-4", "", "" },
    { "Functional.conv2d.0", MS("Float32", "[1,1,4,4]") "," MS("Float32", "[1,1,9]"), "", "" },
    { "Functional.bias_add.0", MS("Float32", "[3]") "," MS("Float32", "[3]"), "",
      "the bias must be" },
    { "Functional.addn.0", "[]", "", "a list of tensors" },
};

START_TEST(hostile_entries_are_skipped)
{
    char text[4096];
    struct workspace w = workspace_make();
    snprintf(
        text, sizeof text,
        "{\"framework\":\"mindspore\",\"task\":\"statistics\",\"dump_data_dir\":null,\"data\":{"
        "\"%s.forward\":{\"input_args\":[%s],\"input_kwargs\":{%s},\"output\":[]},"
        "\"Mint.cos.7.forward\":{\"input_args\":[%s],\"input_kwargs\":{},\"output\":[]}}}",
        hostile[_i].name, hostile[_i].args, hostile[_i].kwargs, MS("Float32", "[4]"));
    write_text(in(&w, "dump.json"), text);
    struct outcome o = run_program(&w, "-api_info", "dump.json", "-o", "out", "--profile", "strict",
                                   "--memory", "256M", NULL);
    ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
    char *result = read_file(only_match(&w, "out/accuracy_checking_result_*.csv"), NULL);
    char row[200];
    snprintf(row, sizeof row, "%s,SKIP,SKIP,", hostile[_i].name);
    const char *at = strstr(result, row);
    ck_assert_msg(at && strstr(at, hostile[_i].says), "%s", result);
    ck_assert_msg(strstr(result, "Mint.cos.7,pass"), "%s", result);
    free(result);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* A failing call's tensors, under the names that the dump gives them; the wrong output is what was
 * recorded. */
START_TEST(failing_tensors_are_saved_as_dumped)
{
    struct workspace w = workspace_make();
    char dump[512];
    snprintf(dump, sizeof dump, DATA "b/tensor/dump.json");
    struct outcome o = run_program(&w, "-api_info", dump, "-o", "out", "-save_error_data", "--only",
                                   "Mint.where.0", "--trust-files", NULL);
    ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
    static const char *const names[] = { "forward.input.0",  "forward.input.1",
                                         "forward.input.2",  "forward.output.0",
                                         "backward.input.0", "backward.output.0",
                                         "backward.output.1" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char saved[512], recorded[512];
        snprintf(saved, sizeof saved, "out/error_data/Mint.where.0.%s.npy", names[i]);
        snprintf(recorded, sizeof recorded, DATA "b/tensor/dump_tensor_data/Mint.where.0.%s.npy",
                 names[i]);
        ck_assert_msg(access(in(&w, saved), R_OK) == 0, "%s", saved);
        struct stat a, b;
        ck_assert_int_eq(stat(in(&w, saved), &a), 0);
        ck_assert_int_eq(stat(recorded, &b), 0);
        ck_assert_int_eq((int)a.st_size, (int)b.st_size);
    }
    ck_assert_uint_eq(count_matches(&w, "out/error_data/*"), 10); /* and three references */
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* The lists of a configuration take MindSpore's names. */
START_TEST(lists_take_the_names_of_mindspore)
{
    struct workspace w = workspace_make();
    char dump[512];
    snprintf(dump, sizeof dump, DATA "a/tensor/dump.json");
    write_text(in(&w, "config.json"), "{\"run_ut\": {\"white_list\": [\"rsqrt\", \"chunk\"]}}");
    struct outcome o = run_program(&w, "-api_info", dump, "-o", "out", "-config", "config.json",
                                   "--trust-files", NULL);
    ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
    struct table *got = read_table(only_match(&w, "out/accuracy_checking_result_*.csv"));
    for (size_t i = 1; i < got->rows; i++) {
        bool listed = strstr(got->cells[i][0], ".rsqrt.") || strstr(got->cells[i][0], ".chunk.");
        ck_assert_msg(listed != !strcmp(got->cells[i][1], "SKIP"), "%s", got->cells[i][0]);
    }
    free_table(got);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

#define TENSOR(type, dtype)                                                                     \
    "{\"type\":\"" type "\",\"dtype\":\"" dtype "\",\"shape\":[2000],\"Max\":1.0,\"Min\":-1.0," \
    "\"Mean\":0,\"Norm\":1}"
#define FORWARD(name, tensor) \
    "\"" name ".forward\":{\"input_args\":[" tensor "],\"input_kwargs\":{},\"output\":[]}"

/* A MindSpore run against a PyTorch run: rows meet under the names of the mapped APIs. */
START_TEST(three_way_with_a_run_of_pytorch)
{
    static const char mindspore[] =
        "{\"framework\":\"mindspore\",\"task\":\"statistics\",\"dump_data_dir\":null,\"data\":"
        "{" FORWARD("Mint.exp.0", TENSOR("mindspore.Tensor", "Float32")) "," FORWARD(
            "MintFunctional.gelu.0",
            TENSOR(
                "mindspore.Tensor",
                "BFloat16")) "," FORWARD("Functional.sin.1",
                                         TENSOR(
                                             "mindspore.Tensor",
                                             "Float16")) "," FORWARD("Tensor.cos.0",
                                                                     TENSOR(
                                                                         "mindspore.Tensor",
                                                                         "Float32")) "," FORWARD("M"
                                                                                                 "i"
                                                                                                 "n"
                                                                                                 "t"
                                                                                                 "."
                                                                                                 "s"
                                                                                                 "i"
                                                                                                 "n"
                                                                                                 "h"
                                                                                                 "."
                                                                                                 "0",
                                                                                                 TENSOR(
                                                                                                     "mindspore.Tensor",
                                                                                                     "Float32")) "}}";
    static const char pytorch[] =
        "{\"framework\":\"pytorch\",\"task\":\"statistics\",\"dump_data_dir\":null,\"data\":"
        "{" FORWARD("Torch.exp.0", TENSOR("torch.Tensor", "torch.float32")) "," FORWARD(
            "Functional.gelu.0",
            TENSOR(
                "torch.Tensor",
                "torch.bfloat16")) "," FORWARD("Torch.sin.1",
                                               TENSOR(
                                                   "torch.Tensor",
                                                   "torch.float16")) "," FORWARD("Tensor.cos."
                                                                                 "0",
                                                                                 TENSOR(
                                                                                     "torch."
                                                                                     "Tensor",
                                                                                     "torch."
                                                                                     "float3"
                                                                                     "2")) "," FORWARD("Torch.sinh.1",
                                                                                                       TENSOR(
                                                                                                           "torch.Tensor",
                                                                                                           "torch.float32")) "}}";
    static const struct {
        const char *name;
        bool meets;
    } rows[] = { { "Mint.exp.0", true },
                 { "MintFunctional.gelu.0", true },
                 { "Functional.sin.1", true },
                 { "Tensor.cos.0", true },
                 { "Mint.sinh.0", false } };
    struct workspace w = workspace_make();
    for (int side = 0; side < 2; side++) {
        const char *folder = side ? "gpu" : "npu", *dump = side ? "gpu.json" : "npu.json";
        write_text(in(&w, dump), side ? pytorch : mindspore);
        struct outcome o =
            run_program(&w, "-api_info", dump, "-o", folder, "--profile", "strict", NULL);
        ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
        outcome_free(&o);
    }
    char npu[512], gpu[512];
    snprintf(npu, sizeof npu, "%s", only_match(&w, "npu/accuracy_checking_details_*.csv"));
    snprintf(gpu, sizeof gpu, "%s", only_match(&w, "gpu/accuracy_checking_details_*.csv"));
    struct outcome o =
        run_program(&w, "api_precision_compare", "-npu", npu, "-gpu", gpu, "-o", "out", NULL);
    ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
    char *result = read_file(only_match(&w, "out/api_precision_compare_result_*.csv"), NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[100];
        snprintf(line, sizeof line, "\n%s,%s", rows[i].name, rows[i].meets ? "pass" : "SKIP");
        ck_assert_msg(strstr(result, line) != NULL, "%s in %s", rows[i].name, result);
    }
    free(result);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

static void write_matrix(const struct workspace *w, const char *name, const double *elements)
{
    struct arena arena = { 0 };
    struct tensor tensor;
    char path[200];
    snprintf(path, sizeof path, "dump_tensor_data/%s.npy", name);
    ck_assert_int_eq(tensor_create(&tensor, &arena, DT_F32, 3, (int64_t[]){ 1, 4, 4 }).code, 0);
    dtype_from_double(tensor.data, DT_F32, elements, 16);
    ck_assert_int_eq(npy_write(in(w, path), &tensor, &arena).code, 0);
    arena_release(&arena);
}

#define MATRIX(file)                                                                               \
    "{\"type\":\"mindspore.Tensor\",\"dtype\":\"Float32\",\"shape\":[1,4,4],\"Max\":1.0,\"Min\":-" \
    "1.0,"                                                                                         \
    "\"Mean\":0,\"Norm\":1,\"data_name\":\"" file ".npy\"}"

/* A kernel that read its second matrix transposed. The arguments are given by name in another order than
 * PyTorch's function has them, and it is the right one that is named. */
START_TEST(mistakes_are_recognised)
{
    static const char dump[] =
        "{\"framework\":\"mindspore\",\"task\":\"tensor\",\"dump_data_dir\":\"dump_tensor_data\","
        "\"data\":{"
        "\"Functional.bmm.0.forward\":{\"input_args\":[],\"input_kwargs\":{\"mat2\":" MATRIX(
            "b") ",\"input_x\":" MATRIX("a") "},\"output\":[" MATRIX("c") "]}}}";
    double a[16], b[16], c[16] = { 0 };
    for (int i = 0; i < 16; i++) {
        a[i] = (i * 5 % 16) / 4.0 - 1.75;
        b[i] = (i * 7 % 16) / 8.0 - 0.5;
    }
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++)
            for (int n = 0; n < 4; n++) c[i * 4 + n] += a[i * 4 + k] * b[n * 4 + k];
    struct workspace w = workspace_make();
    ck_assert_int_eq(mkdir(in(&w, "dump_tensor_data"), 0750), 0);
    write_matrix(&w, "a", a);
    write_matrix(&w, "b", b);
    write_matrix(&w, "c", c);
    write_text(in(&w, "dump.json"), dump);
    struct outcome o =
        run_program(&w, "-api_info", "dump.json", "-o", "out", "--profile", "strict", NULL);
    ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
    char *evidence = read_file(only_match(&w, "out/accuracy_checking_evidence_*.jsonl"), NULL);
    const char *diagnosis = strstr(evidence, "\"diagnosis\":");
    ck_assert_msg(diagnosis && strstr(diagnosis, "transposed") && strstr(diagnosis, "mat2"), "%s",
                  evidence);
    free(evidence);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

#define ONE_CALL(head, name)                                                                      \
    "{" head "\"task\":\"statistics\",\"dump_data_dir\":null,\"data\":{\"" name                   \
    ".forward\":{\"input_args\":[{\"type\":\"mindspore.Tensor\",\"dtype\":\"Float32\",\"shape\":" \
    "[3],\"Max\":1.0,\"Min\":-1.0,\"Mean\":0,\"Norm\":1}],\"input_kwargs\":{},\"output\":[]}}}"

/* Who says which framework it is, and what they may not say together. */
static const struct {
    const char *dump, *option;
    int status;
    const char *says; /* the program, or the run file */
} choices[] = {
    { ONE_CALL("\"framework\":\"mindspore\",", "Mint.exp.0"), NULL, 0, "\"mindspore_doc\"" },
    { ONE_CALL("\"framework\":\"MindSpore\",", "Mint.exp.0"), "mindspore", 0, "\"mindspore_doc\"" },
    { ONE_CALL("", "Mint.exp.0"), NULL, 0, "\"mindspore_doc\"" },
    { ONE_CALL("", "Tensor.cos.0"), "mindspore", 0, "\"mindspore_doc\"" },
    { ONE_CALL("", "Tensor.cos.0"), NULL, 0, "\"doc\"" },
    { ONE_CALL("\"framework\":\"mindtorch\",", "Torch.exp.0"), NULL, 0, "\"mindspore_doc\"" },
    { ONE_CALL("\"framework\":\"mindtorch\",", "Torch.exp.0"), "mindspore", 0,
      "\"mindspore_doc\"" },
    { ONE_CALL("\"framework\":\"mindspore\",", "Mint.exp.0"), "pytorch", 2,
      "is a dump of mindspore" },
    { ONE_CALL("\"framework\":\"pytorch\",", "Torch.exp.0"), "mindspore", 2,
      "is a dump of pytorch" },
    { ONE_CALL("\"framework\":\"jax\",", "Torch.exp.0"), NULL, 3, "of the framework 'jax'" },
    { ONE_CALL("\"framework\":\"mindspore\",", "Functional.exp.0"), NULL, 3, "has no entry" },
    { ONE_CALL("\"framework\":\"mindspore\",", "Mint"), NULL, 3, "has no entry" },
};

START_TEST(frameworks_are_told)
{
    struct workspace w = workspace_make();
    write_text(in(&w, "dump.json"), choices[_i].dump);
    struct outcome o = choices[_i].option
                           ? run_program(&w, "-f", choices[_i].option, "run_ut", "-api_info",
                                         "dump.json", "-o", "out", NULL)
                           : run_program(&w, "run_ut", "-api_info", "dump.json", "-o", "out", NULL);
    ck_assert_msg(o.status == choices[_i].status &&
                      (strstr(o.err, choices[_i].says) || run_file_says(&w, choices[_i].says)),
                  "status %d: %s%s", o.status, o.out, o.err);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mindspore runs");
    TCase *tests = tcase_create("mindspore");
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, hostile_entries_are_skipped, 0, sizeof hostile / sizeof *hostile);
    tcase_add_test(tests, failing_tensors_are_saved_as_dumped);
    tcase_add_test(tests, lists_take_the_names_of_mindspore);
    tcase_add_test(tests, three_way_with_a_run_of_pytorch);
    tcase_add_test(tests, mistakes_are_recognised);
    tcase_add_loop_test(tests, frameworks_are_told, 0, sizeof choices / sizeof *choices);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
