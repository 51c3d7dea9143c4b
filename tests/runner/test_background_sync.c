/* Files that are made durable beside the run: what is written is, what fails is told at the end, and no second one starts before the
 * first has ended. The sync of the test waits until the test lets it go on. */
#include "runner/background_sync.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#include "results/result_files.h"
#include "support/suite.h"
#include "support/workspace.h"

static atomic_int syncs; /* of files, since the test began */
static int sync_error;   /* of each of them */
static sem_t may_go_on, has_begun;

static int slow_sync(enum file_operation operation, const char *path)
{
    (void)path;
    if (operation != FILE_SYNC) return 0;
    atomic_fetch_add(&syncs, 1);
    (void)sem_post(&has_begun);
    (void)sem_wait(&may_go_on);
    return sync_error;
}

struct fixture {
    struct workspace w;
    struct run_record record;
    struct result_files files;
    struct background_sync sync;
};

static void setup(struct fixture *f)
{
    *f = (struct fixture){ .w = workspace_make() };
    ck_assert_int_eq(run_record_create(&f->record).code, 0);
    struct status status =
        result_files_create(&f->files, f->w.path, &f->record, &layout_precheck, HEADERS_MSPROBE);
    ck_assert_msg(!status.code, "%s", status.text);
    atomic_store(&syncs, 0);
    sync_error = 0;
    (void)sem_init(&may_go_on, 0, 0);
    (void)sem_init(&has_begun, 0, 0);
    file_fault = slow_sync;
}

static void let_go_on(int count)
{
    for (int i = 0; i < count; i++) (void)sem_post(&may_go_on);
}

static void teardown(struct fixture *f)
{
    file_fault = NULL;
    (void)result_files_close(&f->files);
    run_record_release(&f->record);
    workspace_remove(&f->w);
}

/* The run goes on while the disk does not answer; of what came meanwhile nothing is begun. All files, the run
 * file once. */
START_TEST(nobody_waits_for_the_disk)
{
    struct fixture f;
    setup(&f);
    ck_assert(f.files.run_is_new);
    ck_assert_int_eq(background_sync_begin(&f.sync, &f.files).code, 0);
    ck_assert(!f.files.run_is_new);
    (void)sem_wait(&has_begun);
    for (int i = 0; i < 10; i++) ck_assert_int_eq(background_sync_begin(&f.sync, &f.files).code, 0);
    ck_assert_int_eq(atomic_load(&syncs), 1);
    let_go_on(100);
    ck_assert_int_eq(background_sync_end(&f.sync).code, 0);
    int with_run_file = atomic_load(&syncs);
    ck_assert_int_ge(with_run_file, 4);
    ck_assert_int_eq(background_sync_begin(&f.sync, &f.files).code, 0);
    ck_assert_int_eq(background_sync_end(&f.sync).code, 0);
    ck_assert_int_eq(atomic_load(&syncs) - with_run_file, 3);
    ck_assert_int_eq(background_sync_end(&f.sync).code, 0);
    teardown(&f);
}
END_TEST

/* What fails is told by whatever comes next: the end, or the next beginning. */
START_TEST(failures_are_told)
{
    struct fixture f;
    setup(&f);
    sync_error = EIO;
    let_go_on(100);
    ck_assert_int_eq(background_sync_begin(&f.sync, &f.files).code, 0);
    struct status status = status_ok();
    if (_i) status = background_sync_end(&f.sync);
    while (!_i && !status.code) status = background_sync_begin(&f.sync, &f.files);
    ck_assert_int_eq(status.code, STATUS_IO);
    ck_assert_msg(strstr(status.text, "cannot sync") != NULL, "%s", status.text);
    ck_assert_int_eq(background_sync_end(&f.sync).code, 0);
    teardown(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("background_sync");
    TCase *tests = tcase_create("background_sync");
    tcase_add_test(tests, nobody_waits_for_the_disk);
    tcase_add_loop_test(tests, failures_are_told, 0, 2);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
