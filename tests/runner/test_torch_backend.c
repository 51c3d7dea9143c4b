/* runner/devices/worker/torch_backend: what --backend torch means on this machine. Interpreters are
 * scripts that answer the one question that is asked of them. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/devices/worker/framework_backend.h"
#include "support/dumps.h"
#include "support/suite.h"
#include "support/workspace.h"

static struct workspace w;
static struct arena arena;

/* A directory that holds a python3 which has PyTorch or has not. */
static const char *python_in(const char *directory, bool has_torch)
{
    char path[64], script[64];
    snprintf(path, sizeof path, "%s/python3", directory);
    mkdir(in(&w, directory), 0755);
    snprintf(script, sizeof script, "#!/bin/sh\nexit %d\n", has_torch ? 0 : 1);
    write_text(in(&w, path), script);
    ck_assert_int_eq(chmod(in(&w, path), 0755), 0);
    return in(&w, directory);
}

static struct status find(struct framework_backend *out, const char *backend)
{
    return framework_backend_find(out, &arena, backend, FILES_CHECKED);
}

static void setup(void)
{
    w = workspace_make();
    write_text(in(&w, "torch_worker.py"), "");
    setenv("PROBE_UT_TORCH_WORKER", in(&w, "torch_worker.py"), 1);
    unsetenv("PROBE_UT_PYTHON");
    unsetenv("VIRTUAL_ENV");
    unsetenv("CONDA_PREFIX");
}

static void teardown(void)
{
    setenv("PATH", "/usr/bin:/bin", 1);
    arena_release(&arena);
    workspace_remove(&w);
}

static const struct {
    const char *backend, *kind;
    int id;
    bool known;
} devices[] = {
    { "torch", NULL, -1, true },         { "torch:cpu", "cpu", -1, true },
    { "torch:cuda", "cuda", -1, true },  { "torch:cuda:0", "cuda", 0, true },
    { "torch:npu:7", "npu", 7, true },   { "torch:gpu", NULL, 0, false },
    { "torch:cuda:", NULL, 0, false },   { "torch:cuda:x", NULL, 0, false },
    { "torch:cuda:-1", NULL, 0, false }, { "torch:cuda:99999999999", NULL, 0, false },
    { "torch:cpu:0", NULL, 0, false },   { "torch:", NULL, 0, false },
    { "torch:cud", NULL, 0, false },     { "torchx", NULL, 0, false },
};

START_TEST(devices_of_pytorch)
{
    struct framework_backend found;
    struct status checked = framework_backend_check(devices[_i].backend);
    ck_assert_int_eq(checked.code, devices[_i].known ? STATUS_OK : STATUS_BAD_ARGUMENT);
    if (!devices[_i].known) {
        ck_assert_msg(strstr(checked.text, devices[_i].backend) &&
                          strstr(checked.text, "torch:npu"),
                      "%s", checked.text);
        return;
    }
    setenv("PATH", python_in("bin", true), 1);
    struct status status = find(&found, devices[_i].backend);
    ck_assert_msg(!status.code, "%s", status.text);
    if (devices[_i].kind) ck_assert_str_eq(found.kind, devices[_i].kind);
    else ck_assert_ptr_null(found.kind);
    ck_assert_int_eq(found.device_id, devices[_i].id);
}
END_TEST

/* The first interpreter on the PATH often has no PyTorch; the next may. */
START_TEST(the_first_interpreter_that_has_pytorch)
{
    struct framework_backend found;
    char path[600];
    snprintf(path, sizeof path, "%s:%s:/nowhere", python_in("a", false), "");
    snprintf(path + strlen(path), sizeof path - strlen(path), ":%s", python_in("b", true));
    setenv("PATH", path, 1);
    ck_assert_int_eq(find(&found, "torch").code, STATUS_OK);
    ck_assert_str_eq(found.python, in(&w, "b/python3"));
    ck_assert_str_eq(found.worker, in(&w, "torch_worker.py"));

    /* An active environment goes first, what the user sets goes before all and is not asked. */
    mkdir(in(&w, "env"), 0755);
    python_in("env/bin", true);
    setenv("VIRTUAL_ENV", in(&w, "env"), 1);
    ck_assert_int_eq(find(&found, "torch").code, STATUS_OK);
    ck_assert_str_eq(found.python, in(&w, "env/bin/python3"));
    setenv("PROBE_UT_PYTHON", "/my/python", 1);
    ck_assert_int_eq(find(&found, "torch").code, STATUS_OK);
    ck_assert_str_eq(found.python, "/my/python");
}
END_TEST

/* A run asks each interpreter once, however many workers it starts: some are scripts that take a while. */
START_TEST(a_run_looks_for_the_interpreter_once)
{
    char script[600];
    write_many_calls(in(&w, "dump.json"), 4, 4);
    python_in("bin", true);
    snprintf(script, sizeof script, "#!/bin/sh\n[ \"$1\" = -c ] && echo asked >> '%s'\nexit 0\n",
             in(&w, "asked"));
    write_text(in(&w, "bin/python3"), script);
    setenv("PATH", in(&w, "bin"), 1);
    struct outcome o = run_program(&w, "-api_info", in(&w, "dump.json"), "-o", in(&w, ""), "-n",
                                   "4", "--backend", "torch", NULL);
    ck_assert_int_eq(o.status, 3); /* it is no worker */
    outcome_free(&o);
    char *asked = read_file(in(&w, "asked"), NULL);
    ck_assert_str_eq(asked, "asked\n");
    free(asked);
}
END_TEST

/* Nobody can have slipped in another worker: the rules of input files hold for it. */
START_TEST(a_worker_that_everybody_can_write)
{
    struct framework_backend found;
    setenv("PATH", python_in("bin", true), 1);
    ck_assert_int_eq(chmod(in(&w, "torch_worker.py"), 0666), 0);
    ck_assert_int_eq(find(&found, "torch").code, STATUS_BAD_INPUT);
    ck_assert_int_eq(framework_backend_find(&found, &arena, "torch", FILES_TRUSTED).code,
                     STATUS_OK);
    setenv("PROBE_UT_TORCH_WORKER", in(&w, "none.py"), 1);
    ck_assert_int_eq(find(&found, "torch").code, STATUS_BAD_INPUT);
}
END_TEST

/* The program finds its own worker, in the source tree here, and says so. */
START_TEST(doctor_says_what_it_found)
{
    unsetenv("PROBE_UT_TORCH_WORKER");
    setenv("PROBE_UT_PYTHON", in(&w, "bin/python3"), 1);
    python_in("bin", false); /* ends at once: no greeting */
    struct outcome o = run_program(&w, "doctor", NULL);
    ck_assert_int_eq(o.status, 0);
    ck_assert_msg(strstr(o.out, PROBE_SOURCE_DIR "/runner/devices/worker/torch_worker.py"), "%s",
                  o.out);
    ck_assert_msg(strstr(o.out, "bin/python3"), "%s", o.out);
    ck_assert_msg(strstr(o.out, "note    PyTorch"), "%s", o.out);
    ck_assert_ptr_nonnull(strstr(o.out, "FLINT"));
    ck_assert_ptr_nonnull(strstr(o.out, "OpenBLAS"));
    ck_assert_ptr_nonnull(strstr(o.out, "processes of their own"));
    outcome_free(&o);
    o = run_program(&w, "doctor", "--backend", "cpu", NULL);
    ck_assert_int_eq(o.status, 2);
    outcome_free(&o);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("torch_backend");
    TCase *tests = tcase_create("torch_backend");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, devices_of_pytorch, 0, (int)(sizeof devices / sizeof *devices));
    tcase_add_test(tests, the_first_interpreter_that_has_pytorch);
    tcase_add_test(tests, a_run_looks_for_the_interpreter_once);
    tcase_add_test(tests, a_worker_that_everybody_can_write);
    tcase_add_test(tests, doctor_says_what_it_found);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
