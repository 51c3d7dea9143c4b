/* Reproducers are built and run, against the faulty kernels and against the same ones without their faults.
 * What they print is what the evidence says. */
#include <check.h>
#include <cjson/cJSON.h>
#include <libgen.h>
#include <math.h>

#include "formats/npy.h"
#include "support/faulty_calls.h"
#include "support/suite.h"

static struct workspace w;
static char backend[600], right_library[600];

static void start(void)
{
    char ut[] = PROBE_UT;
    const char *folder = dirname(ut);
    w = workspace_make();
    write_faulty_calls(in(&w, "dump.json"));
    snprintf(backend, sizeof backend, "plugin:%s/tests/shrink/faulty.json", folder);
    snprintf(right_library, sizeof right_library, "%s/tests/shrink/libright-kernels.so", folder);
}

static void finish(void) { workspace_remove(&w); }

/* Run a command of the shell in the workspace; its exit status. What it prints is in `said`. */
static int shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int shell(const char *format, ...)
{
    char command[3000], line[4000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    snprintf(line, sizeof line, "cd '%s' && { %s ; } >said 2>&1", w.path, command);
    int status = system(line);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
}

static char *said(void) { return read_file(in(&w, "said"), NULL); }

static void reproduce(const char *dump, const char *name, const char *device, const char *folder)
{
    struct outcome o = run_program(&w, "repro", "-api_info", in(&w, dump), "--name", name,
                                   "--backend", device, "-o", in(&w, folder), "--case-timeout", "1",
                                   NULL);
    ck_assert_msg(o.status == 0, "%s: exit status %d: %s%s", name, o.status, o.err, o.out);
    outcome_free(&o);
}

static void shrink(const char *name)
{
    struct outcome o = run_program(&w, "shrink", "-api_info", in(&w, "dump.json"), "--name", name,
                                   "--backend", backend, "-o", in(&w, "small"), "--no-progress",
                                   "--case-timeout", "0.3", NULL);
    ck_assert_msg(o.status == 0, "%s: exit status %d: %s", name, o.status, o.err);
    outcome_free(&o);
}

/* ---- C ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    bool values; /* the failing row is a comparison */
} kernels[] = {
    { "Torch.mm.0", true },    { "Torch.matmul.0", true }, { "Tensor.matmul.0", true },
    { "Torch.addmm.0", true }, { "Torch.exp.0", true },    { "Torch.abs.0", true },
    { "Torch.neg.0", true },   { "Torch.sin.0", false },   { "Torch.cos.0", false },
};
enum { N_KERNELS = sizeof kernels / sizeof *kernels };

static const char *const compilers[] = { "-std=c99", "-std=c17 -O2" };

static void build(const char *folder)
{
    for (size_t i = 0; i < 2; i++) {
        int status = shell("cc %s -Wall -Wextra -Werror -o %s/reproducer %s/reproducer.c -lm -ldl",
                           compilers[i], folder, folder);
        char *text = said();
        ck_assert_msg(status == 0, "%s: %s", compilers[i], text);
        free(text);
    }
}

static const cJSON *worst_of(cJSON **line, const char *name)
{
    struct outcome o = run_program(&w, "case", "-api_info", in(&w, "dump.json"), "--name", name,
                                   "--backend", backend, "--json", NULL);
    const cJSON *worst = NULL;
    *line = NULL;
    for (char *at = strtok(o.out, "\n"); at && !worst; at = strtok(NULL, "\n")) {
        cJSON_Delete(*line);
        *line = cJSON_Parse(at);
        const cJSON *verdict = cJSON_GetObjectItem(*line, "verdict");
        if (!cJSON_IsString(verdict) || strcmp(verdict->valuestring, "error") != 0) continue;
        worst = cJSON_GetObjectItem(cJSON_GetObjectItem(*line, "evidence"), "worst ulp");
    }
    outcome_free(&o);
    return worst;
}

/* "worst ulp [4,97]: want 3.85..., got 0, error 1616..." as in the evidence. */
static void assert_worst(const char *name, const char *text)
{
    cJSON *line;
    const cJSON *worst = worst_of(&line, name);
    const char *at = strstr(text, "worst ulp ");
    char place[64];
    double want, got, error;
    ck_assert_ptr_nonnull(worst);
    ck_assert_msg(at != NULL, "%s", text);
    ck_assert_int_eq(
        sscanf(at, "worst ulp %63[^:]: want %lf, got %lf, error %lf", place, &want, &got, &error),
        4);
    ck_assert_str_eq(place, cJSON_GetObjectItem(worst, "at")->valuestring);
    ck_assert(want == cJSON_GetObjectItem(worst, "want")->valuedouble);
    ck_assert(got == cJSON_GetObjectItem(worst, "got")->valuedouble);
    ck_assert(fabs(error - cJSON_GetObjectItem(worst, "error")->valuedouble) <= 1e-6 * error);
    cJSON_Delete(line);
}

START_TEST(a_kernel_is_reproduced)
{
    const char *name = kernels[_i].name;
    reproduce("dump.json", name, backend, "whole");
    build("whole");
    ck_assert_int_eq(shell("cd whole && ./reproducer"), 1);
    char *text = said();
    if (kernels[_i].values) assert_worst(name, text);
    free(text);
    int status = shell("cd whole && ./reproducer %s", right_library);
    text = said();
    ck_assert_msg(status == 0, "the right kernel: exit status %d: %s", status, text);
    free(text);
    ck_assert_int_eq(shell("cd whole && ./reproducer ./no-such-library.so"), 2);
}
END_TEST

/* The smallest call too. */
START_TEST(the_smallest_call_is_reproduced)
{
    const char *name = kernels[_i].name;
    shrink(name);
    reproduce("small/dump.json", name, backend, "least");
    build("least");
    ck_assert_int_eq(shell("cd least && ./reproducer"), 1);
    ck_assert_int_eq(shell("cd least && ./reproducer %s", right_library), 0);
}
END_TEST

/* As the README says, from another folder. Torch.matmul.0 has arrays that are files. */
START_TEST(cmake_builds_it)
{
    if (shell("cmake --version")) {
        fprintf(stderr, "cmake is not installed: the build by CMake is not tried\n");
        return;
    }
    reproduce("dump.json", "Torch.matmul.0", backend, "whole");
    ck_assert_uint_ge(count_matches(&w, "whole/*.bin"), 1);
    ck_assert_int_eq(shell("cmake -S whole -B built && cmake --build built"), 0);
    ck_assert_int_eq(shell("built/reproducer"), 1);
    char *text = read_file(in(&w, "whole/README.md"), NULL);
    ck_assert_ptr_nonnull(strstr(text, "# Torch.matmul.0.forward.output.0\n"));
    ck_assert_ptr_nonnull(strstr(text, "worst ulp"));
    free(text);
}
END_TEST

START_TEST(what_passes_has_no_reproducer)
{
    struct outcome o = run_program(&w, "repro", "-api_info", in(&w, "dump.json"), "--name",
                                   "Torch.neg.1", "--backend", backend, "-o", in(&w, "none"), NULL);
    ck_assert_int_eq(o.status, 1);
    ck_assert_ptr_nonnull(strstr(o.out, "Torch.neg.1 passes: there is nothing to reproduce"));
    ck_assert_uint_eq(count_matches(&w, "none"), 0);
    outcome_free(&o);
    o = run_program(&w, "repro", "-api_info", in(&w, "dump.json"), "--name", "Torch.neg.1",
                    "--backend", "cpu", NULL);
    ck_assert_int_eq(o.status, 2);
    outcome_free(&o);
}
END_TEST

/* The evidence names the command, for a shell. */
START_TEST(the_evidence_names_the_command)
{
    cJSON *line;
    (void)worst_of(&line, "Torch.mm.0");
    const cJSON *command = cJSON_GetObjectItem(line, "reproducer");
    char ut[] = PROBE_UT;
    ck_assert(cJSON_IsString(command));
    int status = shell("PATH='%s':$PATH %s -o told", dirname(ut), command->valuestring);
    char *text = said();
    ck_assert_msg(status == 0, "%s: exit status %d: %s", command->valuestring, status, text);
    ck_assert_uint_eq(count_matches(&w, "told/reproducer.c"), 1);
    free(text);
    cJSON_Delete(line);
}
END_TEST

/* ---- PyTorch ---------------------------------------------------------------------------- */

static const char python[] = "/usr/bin/python3";

/* A call that the faulty plugin has answered, as if PyTorch had recorded it: the right PyTorch passes, one
 * that is wrong in the same way does not. */
static const struct {
    const char *name, *wrong;
} scripts[] = {
    { "Torch.mm.0", "torch.mm = lambda a, b: a[:, :128] @ b[:128]" },
    { "Torch.addmm.0",
      "f = torch.addmm; torch.addmm = lambda c, a, b, beta, alpha: f(c, a, b, alpha=alpha)" },
    { "Torch.exp.0", "f = torch.exp; torch.exp = lambda x: f(x) * 0" },
    { "Torch.abs.0", "torch.abs = lambda x: x.clone()" },
    { "Torch.neg.0", "torch.neg = lambda x: x.clone()" },
    { "Tensor.matmul.0", "f = torch.autograd.grad\n"
                         "torch.autograd.grad = lambda *a, **k: [f(*a, **k)[0] - 1]" },
};
enum { N_SCRIPTS = sizeof scripts / sizeof *scripts };

START_TEST(a_call_of_torch_is_reproduced)
{
    char text[1000];
    shrink(scripts[_i].name);
    reproduce("small/dump.json", scripts[_i].name, "recorded", "script");
    int status = shell("%s script/reproducer.py", python);
    char *out = said();
    if (status == 2 && strstr(out, "cannot load PyTorch")) {
        fprintf(stderr, "Debian's python3-torch is not installed: the script is not run\n");
        free(out);
        return;
    }
    ck_assert_msg(status == 0, "right: exit status %d: %s", status, out);
    free(out);
    snprintf(
        text, sizeof text,
        "import runpy, torch\n%s\nrunpy.run_path('script/reproducer.py', run_name='__main__')\n",
        scripts[_i].wrong);
    write_text(in(&w, "wrong.py"), text);
    status = shell("%s wrong.py", python);
    out = said();
    ck_assert_msg(status == 1, "wrong: exit status %d: %s", status, out);
    ck_assert_ptr_nonnull(strstr(out, "first wrong ["));
    free(out);
    if (!_i) ck_assert_int_eq(shell("%s script/reproducer.py --device cuda:77", python), 2);
}
END_TEST

/* A dtype that the dump has lost stands in the script, and in the smallest call. */
START_TEST(a_lost_dtype_is_known)
{
    struct arena arena = { 0 };
    struct tensor wrong;
    ck_assert(!tensor_create(&wrong, &arena, DT_I32, 1, (int64_t[]){ 4 }).code);
    memset(wrong.data, 0x55, 4 * sizeof(int32_t));
    ck_assert_int_eq(mkdir(in(&w, "dump_tensor_data"), 0750), 0);
    ck_assert(!npy_write(in(&w, "dump_tensor_data/o.npy"), &wrong, &arena).code);
    write_text(in(&w, "lost.json"),
               "{\"task\":\"tensor\",\"level\":\"L1\",\"dump_data_dir\":\"dump_tensor_data\","
               "\"data\":{\"Tensor.to.0.forward\":{\"input_args\":[{\"type\":\"torch.Tensor\","
               "\"dtype\":\"torch.float32\",\"shape\":[4],\"Max\":9,\"Min\":0,\"Mean\":4,"
               "\"Norm\":9,\"requires_grad\":false},{}],\"input_kwargs\":{},\"output\":[{"
               "\"type\":\"torch.Tensor\",\"dtype\":\"torch.int32\",\"shape\":[4],\"Max\":9,"
               "\"Min\":0,\"Mean\":4,\"Norm\":9,\"requires_grad\":false,"
               "\"data_name\":\"o.npy\"}]}}}");
    reproduce("lost.json", "Tensor.to.0", "recorded", "script");
    char *script = read_file(in(&w, "script/reproducer.py"), NULL);
    ck_assert_msg(strstr(script, ".to(torch.int32)") != NULL, "%s", script);
    free(script);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("repro");
    TCase *tests = tcase_create("built and run");
    tcase_set_timeout(tests, 300);
    tcase_add_checked_fixture(tests, start, finish);
    tcase_add_loop_test(tests, a_kernel_is_reproduced, 0, N_KERNELS);
    tcase_add_loop_test(tests, the_smallest_call_is_reproduced, 0, N_KERNELS);
    tcase_add_test(tests, cmake_builds_it);
    tcase_add_test(tests, what_passes_has_no_reproducer);
    tcase_add_test(tests, the_evidence_names_the_command);
    tcase_add_test(tests, a_lost_dtype_is_known);
    tcase_add_loop_test(tests, a_call_of_torch_is_reproduced, 0, N_SCRIPTS);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
