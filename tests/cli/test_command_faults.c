/* Every allocation, request of an arena and file operation of every command and option fails once.
 * Whatever fails: no crash, no leak (the address sanitizer looks), and either a message of one line,
 * which names the file when a file failed, or the outcome of the undisturbed run. Where the command
 * writes results, resuming them ends in the bytes of the undisturbed run.
 *
 * test_faults.c does the same for every operation of a plain run. Here it is all file operations, and
 * of allocations and requests one from each place that asks for them, told apart by the stack.
 */
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sys/wait.h>

#include "runner/environment.h"
#include "support/cases.h"
#include "support/dumps.h"
#include "support/faults.h"
#include "support/sanitized.h"
#include "support/suite.h"
#include "support/trees.h"

static struct workspace place;
enum { ORIGINS = 1 << 16 };
static uint64_t *origins; /* that have failed, a set by hash; shared with the tests' processes */

/* ---- what the commands read ------------------------------------------------------------- */

static void entry(struct dump_text *d, const char *name, const char *arguments, const char *outputs)
{
    char body[2048];
    snprintf(body, sizeof body, "\"input_args\":[%s],\"input_kwargs\":{},\"output\":[%s]",
             arguments, outputs);
    dump_entry(d, name, body);
}

static void write_dump(void)
{
    struct dump_text d;
    dump_begin(&d);
    dump_binary(&d, "add", 0, 6);
    dump_binary(&d, "add", 1, 6); /* which -f leaves out */
    dump_binary(&d, "div", 0, 6); /* which the configuration leaves out */
    dump_write(&d, "the user's dump.json");
    /* Results that fail, tensors to be saved. */
    write_text("config.json", "{\"run_ut\":{\"white_list\":[\"add\",\"exp\",\"cat\"],"
                              "\"black_list\":[\"div\"],\"error_data_path\":\"out\","
                              "\"precision\":9}}\n");
    write_text("limits.json",
               "{\"overrides\":[{\"api\":[\"add\",\"sub\"],\"dtype\":\"torch.float32\","
               "\"standard\":\"benchmark\"},{\"dtype\":[\"torch.float32\"],"
               "\"limits\":{\"max_abs_error\":null,\"cosine\":null}}]}\n");
}

/* Calls of the kernels below. */
static void write_kernel_calls(void)
{
    static const char matrix[] =
        "{\"type\":\"torch.Tensor\",\"dtype\":\"torch.float32\",\"shape\":[2,2],\"Max\":1.0,"
        "\"Min\":-1.0,\"Mean\":0.0,\"Norm\":1.0,\"requires_grad\":true}";
    char text[2048];
    struct dump_text d;
    dump_begin(&d);
    snprintf(text, sizeof text, "%s,%s", matrix, matrix);
    entry(&d, "Torch.matmul.0.forward", text, matrix);
    snprintf(text, sizeof text, "\"input\":[%s],\"output\":[%s,%s]", matrix, matrix, matrix);
    dump_entry(&d, "Torch.matmul.0.backward", text);
    snprintf(text, sizeof text, "%s,%s", tensor_text(4, -1, 1), tensor_text(4, 1, 2));
    entry(&d, "Torch.add.0.forward", text, tensor_text(4, 0, 3));
    snprintf(text, sizeof text, "[%s,%s]", tensor_text(4, -1, 1), tensor_text(3, 1, 2));
    entry(&d, "Torch.cat.0.forward", text, tensor_text(7, 0, 3));
    entry(&d, "Torch.full.0.forward",
          "[{\"type\":\"int\",\"value\":3}],{\"type\":\"float\",\"value\":32.0}",
          tensor_text(3, 32, 32));
    dump_write(&d, "kernel_calls.json");
}

/* `handles`: also a session, wrappers and the kernel that takes them. What they make is released by
 * calls, which need memory themselves: a process whose kernels' handles are lost has to be one of
 * its own. */
static void write_manifest(const char *path, bool handles)
{
    static const char session[] =
        "  \"session\": {\n"
        "    \"open\": [ { \"call\": \"context_create\", \"arguments\": [ { \"out\": \"context\" } "
        "],\n"
        "                \"returns\": { \"type\": \"i32\", \"ok\": \"zero\" } } ],\n"
        "    \"close\": [ { \"call\": \"context_destroy\", \"arguments\": [ { \"slot\": "
        "\"context\" } ],\n"
        "                 \"returns\": { \"type\": \"i32\" } } ] },\n"
        "  \"wrappers\": { \"descriptor\": { \"value\": \"self\",\n"
        "    \"before\": [ { \"call\": \"descriptor_create\",\n"
        "      \"arguments\": [ { \"slot\": \"context\" }, { \"data\": \"tensor\" },\n"
        "        { \"list\": \"shape(tensor)\", \"type\": \"i64\" }, { \"i32\": \"rank(tensor)\" "
        "},\n"
        "        { \"enum\": \"dtype\", \"key\": \"dtype(tensor)\" } ],\n"
        "      \"returns\": { \"type\": \"pointer\", \"ok\": \"nonnull\", \"into\": \"self\" } } "
        "],\n"
        "    \"after\": [ { \"call\": \"descriptor_destroy\",\n"
        "      \"arguments\": [ { \"slot\": \"self\" } ] } ] } },\n";
    static const char kernel_of_handles[] =
        "  { \"apis\": [\"Torch.add\"], \"parameters\": [\"a\", \"b\"],\n"
        "    \"outputs\": [ { \"name\": \"out\", \"shape\": \"shape(a)\", \"dtype\": \"dtype(a)\" "
        "} ],\n"
        "    \"steps\": [ { \"call\": \"add_get_workspace\",\n"
        "      \"arguments\": [ { \"wrap\": \"descriptor\", \"of\": \"a\" },\n"
        "        { \"wrap\": \"descriptor\", \"of\": \"b\" }, { \"wrap\": \"descriptor\", \"of\": "
        "\"out\" },\n"
        "        { \"out\": \"bytes\" }, { \"out\": \"plan\" } ],\n"
        "      \"returns\": { \"type\": \"i32\", \"ok\": \"zero\", \"explain\": \"error_in_words\" "
        "} },\n"
        "      { \"allocate\": \"workspace\", \"bytes\": \"bytes\" },\n"
        "      { \"call\": \"add_execute\",\n"
        "        \"arguments\": [ { \"slot\": \"workspace\" }, { \"slot\": \"bytes\", \"type\": "
        "\"u64\" },\n"
        "          { \"slot\": \"plan\" }, { \"slot\": \"context\" } ],\n"
        "        \"returns\": { \"type\": \"i32\", \"ok\": \"zero\" } } ] },\n";
    static const char manifest[] =
        "{ \"plugin\": 1, \"libraries\": { \"kernels\": \"%s/tests/plugin/libplugin-kernels.so\" "
        "},\n"
        "  \"environment\": { \"PLUGIN_KERNELS_MODE\": \"test\" },\n"
        "  \"enums\": { \"dtype\": { \"float32\": 7, \"float16\": 8 } },\n"
        "%s"
        "  \"kernels\": [\n"
        "  { \"apis\": [\"Torch.matmul\"], \"parameters\": [\"a\", \"b\"],\n"
        "    \"let\": { \"M\": \"shape(a)[0]\", \"N\": \"shape(b)[1]\", \"K\": \"shape(a)[1]\" },\n"
        "    \"outputs\": [ { \"name\": \"out\", \"shape\": \"[M, N]\", \"dtype\": \"dtype(a)\" } "
        "],\n"
        "    \"steps\": [ { \"call\": \"row_major_matmul\",\n"
        "      \"arguments\": [ { \"i32\": \"M\" }, { \"i32\": \"N\" }, { \"i32\": \"K\" }, { "
        "\"f32\": 1 },\n"
        "        { \"data\": \"a\" }, { \"i32\": \"leading(a)\" }, { \"data\": \"b\" },\n"
        "        { \"i32\": \"leading(b)\" }, { \"data\": \"out\" }, { \"i32\": \"N\" } ] } ],\n"
        "    \"backward\": {\n"
        "      \"gradients\": [ { \"name\": \"da\", \"of\": \"a\" }, { \"name\": \"db\", \"of\": "
        "\"b\" } ],\n"
        "      \"let\": { \"M\": \"shape(a)[0]\", \"N\": \"shape(b)[1]\", \"K\": \"shape(a)[1]\" "
        "},\n"
        "      \"steps\": [\n"
        "        { \"call\": \"row_major_matmul\",\n"
        "          \"arguments\": [ { \"i32\": \"M\" }, { \"i32\": \"K\" }, { \"i32\": \"N\" },\n"
        "            { \"f32\": 1 }, { \"data\": \"cotangent\" }, { \"i32\": \"N\" },\n"
        "            { \"data\": \"b\", \"axes\": \"[1, 0]\" }, { \"i32\": \"K\" },\n"
        "            { \"data\": \"da\" }, { \"i32\": \"K\" } ] },\n"
        "        { \"call\": \"row_major_matmul\",\n"
        "          \"arguments\": [ { \"i32\": \"K\" }, { \"i32\": \"N\" }, { \"i32\": \"M\" },\n"
        "            { \"f32\": 1 }, { \"data\": \"a\", \"axes\": \"[1, 0]\" }, { \"i32\": \"M\" "
        "},\n"
        "            { \"data\": \"cotangent\" }, { \"i32\": \"N\" }, { \"data\": \"db\" },\n"
        "            { \"i32\": \"N\" } ] } ] } },\n"
        "%s"
        "  { \"apis\": [\"Torch.cat\"], \"parameters\": [\"tensors\", \"dim = 0\"],\n"
        "    \"when\": \"dim == 0\", \"let\": { \"n\": \"len(tensors)\" },\n"
        "    \"smoke\": { \"tensors\": [\"float32[2]\", \"float32[3]\"] },\n"
        "    \"outputs\": [ { \"name\": \"out\", \"dtype\": \"'float32'\",\n"
        "      \"shape\": \"[numel(tensors[0]) + numel(tensors[1])]\" } ],\n"
        "    \"steps\": [ { \"call\": \"concatenate\",\n"
        "      \"arguments\": [ { \"data_list\": \"tensors\" },\n"
        "        { \"list\": \"[numel(tensors[0]), numel(tensors[1])]\", \"type\": \"i64\" },\n"
        "        { \"i32\": \"n\" }, { \"data\": \"out\" } ] } ] },\n"
        "  { \"apis\": [\"Torch.full\"], \"parameters\": [\"size\", \"fill_value\", \"dtype = "
        "'float32'\"],\n"
        "    \"smoke\": { \"size\": [3], \"fill_value\": 32 },\n"
        "    \"outputs\": [ { \"name\": \"out\", \"shape\": \"size\", \"dtype\": \"dtype\" } ],\n"
        "    \"steps\": [ { \"call\": \"fill_by_name\",\n"
        "      \"arguments\": [ { \"string\": \"dtype\" }, { \"i64\": \"prod(size)\" },\n"
        "        { \"data\": \"out\" } ] } ] } ] }\n";
    char text[8192], ut[] = PROBE_UT;
    ck_assert_int_lt(snprintf(text, sizeof text, manifest, dirname(ut), handles ? session : "",
                              handles ? kernel_of_handles : ""),
                     (int)sizeof text);
    write_text(path, text);
}

/* One call of a real dump with its tensors. */
#define TENSOR(dtype, shape, name)                                               \
    "{\"type\":\"torch.Tensor\",\"dtype\":\"torch." dtype "\",\"shape\":" shape  \
    ",\"Max\":1.0,\"Min\":0.0,\"Mean\":0.5,\"Norm\":1.0,\"requires_grad\":true," \
    "\"data_name\":\"Functional.cross_entropy.0." name ".pt\"}"

/* clang-format off */
static void write_recorded(void)
{
    static const char dump[] =
        "{\"task\":\"tensor\",\"level\":\"L1\",\"framework\":\"pytorch\","
        "\"dump_data_dir\":\"dump_tensor_data\",\"data\":{"
        "\"Functional.cross_entropy.0.forward\":{\"input_args\":["
        TENSOR("float32", "[48,97]", "forward.input.0") "," TENSOR("int64", "[48]", "forward.input.1")
        "],\"input_kwargs\":{},\"output\":[" TENSOR("float32", "[]", "forward.output.0") "]},"
        "\"Functional.cross_entropy.0.backward\":{\"input\":["
        TENSOR("float32", "[]", "backward.input.0") "],\"output\":["
        TENSOR("float32", "[48,97]", "backward.output.0") "]}}}\n";
    static const char call[] = "dump_tensor_data/Functional.cross_entropy.0.";
    static const char *const tensors[] = { "forward.input.0", "forward.input.1", "forward.output.0",
                                           "backward.input.0", "backward.output.0" };
    char path[512];
    size_t bytes;
    ck_assert_int_eq(mkdir("recorded", 0750), 0);
    ck_assert_int_eq(mkdir("recorded/dump_tensor_data", 0750), 0);
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        snprintf(path, sizeof path, PROBE_TEST_DATA "/dumps/m2/L1_tensor/%s%s.pt", call, tensors[i]);
        char *tensor = read_file(path, &bytes);
        ck_assert_ptr_nonnull(tensor);
        snprintf(path, sizeof path, "recorded/%s%s.pt", call, tensors[i]);
        write_file(path, tensor, bytes);
        free(tensor);
    }
    write_text("recorded/dump.json", dump);
}
/* clang-format on */

/* A .npy file of three elements. */
static void write_npy(const char *path, const char *descr, const void *elements, size_t bytes)
{
    char text[128 + 64] = "\x93NUMPY\x01";
    int length =
        snprintf(text + 10, 118, "{'descr': '%s', 'fortran_order': False, 'shape': (3,), }", descr);
    text[8] = 118;
    memset(text + 10 + length, ' ', (size_t)(118 - 1 - length));
    text[127] = '\n';
    memcpy(text + 128, elements, bytes);
    write_file(path, text, 128 + bytes);
}

static void write_tensors(void)
{
    const float want[] = { 1, 2.5f, -3 };
    const double got[] = { 1, 2.5000002, -3 };
    write_npy("want.npy", "<f4", want, sizeof want);
    write_npy("got.npy", "<f8", got, sizeof got);
}

/* The first rows of two details files of msprobe. */
static void write_details(void)
{
    static const char *const files[][2] = { { "m2_bf16_dev_a", "npu.csv" },
                                            { "m2_bf16_dev_b", "gpu.csv" } };
    enum { ROWS = 8 };
    char path[512];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, PROBE_TEST_DATA "/three_way/inputs/%s.csv", files[i][0]);
        char *text = read_file(path, NULL), *end = text;
        ck_assert_ptr_nonnull(text);
        for (int row = 0; row <= ROWS + i; row++) end = strstr(end, "\r\n") + 2;
        write_file(files[i][1], text, (size_t)(end - text));
        free(text);
    }
    write_text("rules.json",
               "{\"overrides\": [{\"api\": \"add\", \"three_way\": {\"ratio\": {\"L0\": "
               "{\"rmse\": {\"error\": 3}}}}}]}");
}

/* ---- scenarios -------------------------------------------------------------------------- */

static char worker_backend[1200];

struct scenario {
    const char *name;
    const char *words[32]; /* of the command, after "probe-ut"; results go to out/ */
    const char *template;  /* the directory that out/ is at the start, or NULL for none */
    bool shows;            /* standard output is the outcome, and the same each time */
    bool goes_on;          /* an unfinished run: -csv_path goes on with it */
    bool any_order;        /* of the rows: which ones are done again depends on where it ended */
    bool skips; /* a tensor that cannot be read costs its call: a SKIP row names the file */
};

#define RUN     "run_ut", "-n", "1", "--no-progress", "--memory", "1G"
#define ON_DUMP RUN, "-api_info", "the user's dump.json"
#define TORN    "out/accuracy_checking_result_20260101000000.csv"

/* clang-format off */
static const struct scenario scenarios[] = {
    { "run with all options",
      { ON_DUMP, "-o", "out", "--config", "config.json", "--thresholds", "limits.json", "--baseline",
        "baseline.csv", "--junit", "out/junit.xml", "--timings", "timings.csv", "-save_error_data",
        "-f", "--fail-on", "warning", "--profile", "v2" },
      .template = "empty", .goes_on = true },
    { "run of the profile strict", { ON_DUMP, "-o", "out", "--profile", "strict" }, .goes_on = true },
    { "run of recorded data",
      { RUN, "-api_info", "recorded/dump.json", "-o", "out", "--backend", "recorded" },
      .goes_on = true, .skips = true },
    { "run of a plugin",
      { RUN, "-api_info", "kernel_calls.json", "-o", "out", "--backend",
        "plugin:manifest.json", "--isolate", "process" },
      .goes_on = true },
    { "run of a plugin in process",
      { RUN, "-api_info", "kernel_calls.json", "-o", "out", "--backend",
        "plugin:plain.json", "--isolate", "none" },
      .goes_on = true },
    { "run of a worker",
      { RUN, "-api_info", "kernel_calls.json", "-o", "out", "--backend", worker_backend,
        "-save_error_data", "--config", "config.json" },
      .template = "empty", .goes_on = true },
    { "resuming torn files", { ON_DUMP, "-csv_path", TORN }, .template = "torn" },
    { "resuming after a crash", { ON_DUMP, "-csv_path", TORN, "--retry-crashed" },
      .template = "torn" },
    { "resuming files of msprobe", { ON_DUMP, "-csv_path", TORN }, .template = "foreign",
      .any_order = true },
    { "case", { "case", "-api_info", "the user's dump.json", "-name", "Torch.add.1", "--thresholds",
                "limits.json", "--config", "config.json" },
      .template = "empty", .shows = true },
    { "case as JSON", { "case", "-api_info", "the user's dump.json", "-name", "Torch.add.1", "--json" },
      .shows = true },
    { "diff", { "diff", "want.npy", "got.npy", "--dtype", "torch.float32", "--api", "Torch.add.0" },
      .shows = true },
    { "diff as JSON", { "diff", "want.npy", "got.npy", "--bench_dtype", "torch.float64", "--json",
                        "--thresholds", "limits.json" },
      .shows = true },
    { "comparison",
      { "api_precision_compare", "-npu", "npu.csv", "-gpu", "gpu.csv", "-o", "out", "--profile",
        "v2", "--thresholds", "rules.json", "--junit", "out/junit.xml", "--baseline",
        "compared.csv" },
      .goes_on = false },
    { "report", { "report", "torn", "npu.csv", "-o", "out/page.html" }, .template = "empty" },
    { "ops", { "ops", "softmax" }, .shows = true },
    { "ops that are missing", { "ops", "--missing" }, .shows = true },
    { "ops as JSON", { "ops", "--json", "softmax", "cat" }, .shows = true },
    { "ops as markdown", { "ops", "--markdown" }, .shows = true },
    { "plugin check", { "plugin", "check", "manifest.json" }, .shows = true },
    { "plugin check in process", { "plugin", "check", "plain.json", "--in_process" },
      .shows = true },
};
/* clang-format on */
enum { N_SCENARIOS = sizeof scenarios / sizeof *scenarios };

static const struct {
    const char *name;
    enum fault_kind kind;
    int error;
    /* clang-format off */
} kinds[] = {
    { "allocation", FAULT_MEMORY, 0 },       { "request", FAULT_ARENA, 0 },
    { "file operation (EIO)", FAULT_FILE, EIO }, { "file operation (ENOSPC)", FAULT_FILE, ENOSPC },
    { "file operation (EACCES)", FAULT_FILE, EACCES },
    { "file operation (ENOMEM)", FAULT_FILE, ENOMEM },
    { "transfer (short)", FAULT_FILE, FILE_SHORT },
};
/* clang-format on */
enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* ---- running them ----------------------------------------------------------------------- */

static void copy_tree(const char *to, const char *from)
{
    struct tree tree = tree_read(from);
    ck_assert_int_eq(mkdir(to, 0750), 0);
    for (size_t i = 0; i < tree.count; i++) {
        char path[600];
        size_t bytes;
        char *text = read_file(tree.files[i].path, &bytes);
        snprintf(path, sizeof path, "%s%s", to, tree.files[i].path + strlen(from));
        write_file(path, text, bytes);
        free(text);
    }
}

static void prepare(const struct scenario *s)
{
    tree_remove("out");
    (void)unlink("timings.csv");
    if (s->template) copy_tree("out", s->template);
}

/* Run the scenario; with a `result` file go on with that one. */
static struct command_outcome run(const struct scenario *s, const char *result)
{
    const char *words[36] = { "probe-ut" };
    int count = 1;
    for (const char *const *word = s->words; *word; word++) words[count++] = *word;
    for (int i = 1; result && i < count; i++) {
        if (strcmp(words[i], "-o")) continue;
        words[i] = "-csv_path";
        words[i + 1] = result;
    }
    return run_command(words);
}

/* The result file of an unfinished run, or NULL. */
static const char *result_file(void)
{
    static const char pattern[] = "out/accuracy_checking_result_*.csv";
    return count_matches(&place, pattern) ? only_match(&place, pattern) : NULL;
}

/* The first bytes of a file. */
static void cut_file(const char *path, double part)
{
    size_t bytes;
    char *text = read_file(path, &bytes);
    ck_assert_ptr_nonnull(text);
    write_file(path, text, (size_t)((double)bytes * part));
    free(text);
}

static void rename_results(const char *directory, const char *to)
{
    static const char *const files[] = { "result_*.csv", "details_*.csv", "evidence_*.jsonl",
                                         "run_*.json" };
    char pattern[200], name[200];
    ck_assert_int_eq(mkdir(to, 0750), 0);
    for (int i = 0; i < 4; i++) {
        const char *star = strchr(files[i], '*');
        snprintf(pattern, sizeof pattern, "%s/accuracy_checking_%s", directory, files[i]);
        snprintf(name, sizeof name, "%s/accuracy_checking_%.*s20260101000000%s", to,
                 (int)(star - files[i]), files[i], star + 1);
        ck_assert_int_eq(rename(only_match(&place, pattern), name), 0);
    }
}

#define OF(directory, kind, suffix) directory "/accuracy_checking_" kind "_20260101000000." suffix

/* Unfinished results: rows torn in the middle, and, as those of msprobe, without a run file and
 * with a row in the middle that nothing tells to be whole. */
static void write_unfinished(void)
{
    static const char *const words[] = { "probe-ut", ON_DUMP, "-o", "out", NULL };
    struct command_outcome o = run_command(words);
    ck_assert_msg(!o.status.code, "%s", o.status.text);
    command_outcome_free(&o);
    rename_results("out", "torn");
    copy_tree("foreign", "torn");
    char *details = read_file(OF("torn", "details", "csv"), NULL);
    write_text("baseline.csv", details);
    free(details);
    cut_file(OF("torn", "result", "csv"), 0.8);
    cut_file(OF("torn", "details", "csv"), 0.9);
    cut_file(OF("torn", "evidence", "jsonl"), 0.95);
    ck_assert_int_eq(mkdir("empty", 0750), 0);
    ck_assert_int_eq(unlink(OF("foreign", "run", "json")), 0);
    /* The first call loses its result row: its details rows, which come first, must go. */
    char *result = read_file(OF("foreign", "result", "csv"), NULL);
    char *first = strstr(result, "\r\n") + 2, *second = strstr(first, "\r\n") + 2;
    memmove(first, second, strlen(second) + 1);
    write_text(OF("foreign", "result", "csv"), result);
    free(result);
}

static void write_everything(void)
{
    char ut[] = PROBE_UT;
    place = faults_workspace();
    origins = faults_shared(ORIGINS * sizeof *origins);
    snprintf(worker_backend, sizeof worker_backend, "worker:'%s/tests/plugin/worker-peer' well",
             dirname(ut));
    write_dump();
    write_kernel_calls();
    write_manifest("manifest.json", true);
    write_manifest("plain.json", false);
    write_recorded();
    write_tensors();
    write_details();
    write_unfinished();
    static const char *const words[] = { "probe-ut",  "api_precision_compare",
                                         "-npu",      "npu.csv",
                                         "-gpu",      "gpu.csv",
                                         "-o",        "compared",
                                         "--profile", "v2",
                                         NULL };
    struct command_outcome o = run_command(words);
    ck_assert_msg(!o.status.code, "%s", o.status.text);
    command_outcome_free(&o);
    ck_assert_int_eq(rename(only_match(&place, "compared/*details*"), "compared.csv"), 0);
}

/* ---- the test --------------------------------------------------------------------------- */

static void check_message(const struct command_outcome *o, enum fault_kind kind, const char *what)
{
    bool file = kind == FAULT_FILE;
    if (!file)
        ck_assert_msg(o->status.code == STATUS_NO_MEMORY, "%s: not short of memory but '%s'", what,
                      o->status.text);
    ck_assert_msg(o->status.text[0] && !strchr(o->status.text, '\n'), "%s: '%s'", what,
                  o->status.text);
    ck_assert_msg(o->status.code != STATUS_INTERNAL && o->status.code != STATUS_SKIP, "%s: %s",
                  what, o->status.text);
    if (file && o->status.code != STATUS_NO_MEMORY)
        ck_assert_msg(strchr(o->status.text, '\''), "%s: no file is named in '%s'", what,
                      o->status.text);
}

static void check_same(const struct scenario *s, const struct command_outcome *want,
                       const struct command_outcome *got, const char *what)
{
    ck_assert_msg(!got->status.code, "%s: %s", what, got->status.text);
    ck_assert_msg(got->exit_status == want->exit_status, "%s: exit status %d, not %d\n%s", what,
                  got->exit_status, want->exit_status, got->out);
    if (s->shows) ck_assert_msg(!strcmp(want->out, got->out), "%s: shows\n%s", what, got->out);
    tree_compare("whole", "out", s->any_order ? TREE_ANY_ORDER : 0, what);
}

/* Did the call become a SKIP row, one that names a tensor's file or its directory? */
static bool is_skipped(const struct scenario *s, const struct command_outcome *got)
{
    if (!s->skips || got->status.code) return false;
    char *text = read_file(only_match(&place, "out/accuracy_checking_details_*.csv"), NULL);
    const char *skip = strstr(text, ",SKIP,");
    bool named = skip && strstr(skip, "'recorded/dump_tensor_data");
    free(text);
    return named;
}

/* Make operation `at` fail. */
static void fail_at(const struct scenario *s, const struct command_outcome *want,
                    enum fault_kind kind, const char *kind_name, long at)
{
    char what[1024];
    prepare(s);
    faults_arm(kind, at, 1);
    struct command_outcome got = run(s, NULL);
    bool reached = faults_disarm() <= 0;
    snprintf(what, sizeof what, "%s, %s %ld", s->name, kind_name, at);
    if (!got.status.code) {
        if (kind != FAULT_FILE || !is_skipped(s, &got)) check_same(s, want, &got, what);
        command_outcome_free(&got);
        return;
    }
    ck_assert_msg(reached, "%s: nothing failed, but '%s'", what, got.status.text);
    check_message(&got, kind, what);
    const char *result = s->goes_on ? result_file() : NULL;
    if (s->goes_on ? result != NULL : s->template != NULL) {
        snprintf(what, sizeof what, "%s, resuming after %s %ld (%s)", s->name, kind_name, at,
                 got.status.text);
        command_outcome_free(&got);
        (void)unlink("timings.csv");
        got = run(s, result);
        check_same(s, want, &got, what);
    } else if (!s->goes_on) {
        tree_compare("whole", "out", TREE_PART, what); /* what is left is whole */
    }
    command_outcome_free(&got);
}

/* Operations of one origin fail alike: one of each is taken, once in all scenarios, and a sample of
 * all. The sanitizers' programs are ten times slower and take a part of that. */
enum { SAMPLE = SANITIZED ? 24 : 60, EVERY = SANITIZED ? 6 : 1 };

static bool is_new_origin(uint64_t hash)
{
    size_t at = hash % ORIGINS;
    for (; origins[at]; at = (at + 1) % ORIGINS)
        if (origins[at] == hash) return false;
    origins[at] = hash;
    return true;
}

/* The operations to fail, of `count`. */
static size_t choose(long *chosen, long count)
{
    size_t n = 0, fresh = 0;
    for (long at = 1; at <= count; at++) {
        bool taken = at < FAULTS_TRACED && is_new_origin(faults_trace[at - 1]) &&
                     !(fresh++ % EVERY);
        if (taken || at % (count / SAMPLE + 1) == 0) chosen[n++] = at;
    }
    return n;
}

START_TEST(failures)
{
    static long chosen[FAULTS_TRACED];
    const struct scenario *s = &scenarios[_i / N_KINDS];
    int which = _i % N_KINDS;
    enum fault_kind kind = kinds[which].kind;
    bool all = kind == FAULT_FILE; /* there are few of them */
    faults_error = kinds[which].error;
    prepare(s);
    faults_trace = all ? NULL : faults_shared(FAULTS_TRACED * sizeof *faults_trace);
    faults_arm(kind, LONG_MAX, 1);
    struct command_outcome want = run(s, NULL);
    long count = LONG_MAX - faults_disarm();
    ck_assert_msg(!want.status.code, "%s: %s", s->name, want.status.text);
    ck_assert_int_lt(count, FAULTS_TRACED);
    tree_remove("whole");
    (void)rename("out", "whole");
    size_t n = all ? (size_t)count : choose(chosen, count);
    if (faults_trace) munmap(faults_trace, FAULTS_TRACED * sizeof *faults_trace);
    faults_trace = NULL;
    for (size_t i = 0; i < n; i++)
        fail_at(s, &want, kind, kinds[which].name, all ? (long)i + 1 : chosen[i]);
    printf("%s: %zu of %ld times a failing %s\n", s->name, n, count, kinds[which].name);
    fflush(stdout);
    command_outcome_free(&want);
}
END_TEST

static void remove_everything(void) { workspace_remove(&place); }

int main(int argc, char **argv)
{
    (void)argc;
    if (environment_prepare(argv).code)
        return 1; /* the JSON library allocates through core from here on */
    Suite *suite = suite_create("command_faults");
    TCase *tests = tcase_create("command_faults");
    tcase_set_timeout(tests, 600);
    tcase_add_unchecked_fixture(tests, write_everything, remove_everything);
    tcase_add_loop_test(tests, failures, 0, N_SCENARIOS * N_KINDS);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
