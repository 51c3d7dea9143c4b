/* Records from files in a folder: what is whole is read once and removed, what grows is waited for, what is
 * no record goes to the judge all the same, and the count of markers tells the end. */
#include "online/shared_storage.h"

#include <sys/stat.h>

#include "core/clock.h"
#include "core/memory.h"
#include "support/scratch.h"
#include "support/suite.h"

enum { PLENTY = 1 << 26, TAKEN = 16 };

struct fixture {
    struct scratch scratch;
    struct receive_memory memory;
    struct shared_storage storage;
    bool is_full;
    size_t arrived, taken;
    char names[TAKEN][64];
    size_t bytes[TAKEN];
    char log[4096];
};

static struct status note_arrived(void *context, const struct judge_submission *record)
{
    struct fixture *f = context;
    (void)record;
    f->arrived++;
    return status_ok();
}

static struct status take(bool *taken, void *context, const struct judge_submission *record)
{
    struct fixture *f = context;
    *taken = !f->is_full;
    if (f->is_full) return status_ok();
    ck_assert_uint_lt(f->taken, TAKEN);
    ck_assert_uint_eq(record->origin.sequence, f->taken);
    snprintf(f->names[f->taken], sizeof f->names[0], "%s", record->origin.address);
    f->bytes[f->taken++] = record->bytes;
    memory_release(record->body);
    (void)receive_memory_give(&f->memory, record->bytes);
    return status_ok();
}

static void keep_log(void *context, const char *text)
{
    struct fixture *f = context;
    strncat(f->log, text, sizeof f->log - strlen(f->log) - 1);
}

static void set_up(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    f->scratch = scratch_make();
    receive_memory_open(&f->memory, PLENTY);
    f->storage = (struct shared_storage){ .path = f->scratch.path,
                                          .sink = { note_arrived, take, f },
                                          .memory = &f->memory,
                                          .log.out = { keep_log, f },
                                          .expected = 1 };
    ck_assert(!shared_storage_open(&f->storage).code);
}

static void tear_down(struct fixture *f)
{
    shared_storage_close(&f->storage);
    ck_assert_uint_eq(f->memory.used_bytes, 0);
    receive_memory_close(&f->memory);
    scratch_remove(&f->scratch);
}

static bool poll_once(struct fixture *f)
{
    bool found, is_full;
    struct status status = shared_storage_poll(&found, &is_full, &f->storage);
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_int_eq(is_full, f->is_full && f->arrived > f->taken);
    return found;
}

/* A file of the recorded session, under another name. */
static char *record_bytes(size_t *bytes)
{
    return scratch_read(PROBE_TEST_DATA "/online/nfs/files/Functional.gelu.0.pt", bytes);
}

static void put_record(struct fixture *f, const char *name)
{
    size_t bytes;
    char *text = record_bytes(&bytes);
    scratch_write(&f->scratch, name, text, bytes);
    free(text);
}

static bool is_there(const struct fixture *f, const char *name)
{
    return !access(scratch_path(&f->scratch, name), F_OK);
}

START_TEST(records_are_read_once_and_removed)
{
    struct fixture f;
    set_up(&f);
    scratch_text(&f.scratch, "start_100", "");
    put_record(&f, "Torch.b.0.pt");
    usleep(20000);
    put_record(&f, "Torch.a.0.pt");
    scratch_text(&f.scratch, "end_101", "");
    scratch_text(&f.scratch, "notes.txt", "not ours");
    ck_assert(poll_once(&f));
    ck_assert(!poll_once(&f));
    ck_assert_uint_eq(f.taken, 2);
    ck_assert_str_eq(f.names[0], "Torch.b.0.pt"); /* the older one */
    ck_assert_str_eq(f.names[1], "Torch.a.0.pt");
    ck_assert(!is_there(&f, "Torch.a.0.pt") && !is_there(&f, "Torch.b.0.pt"));
    ck_assert(!is_there(&f, "start_100") && !is_there(&f, "end_101"));
    ck_assert(is_there(&f, "notes.txt"));
    tear_down(&f);
}
END_TEST

/* Written in three parts, with looks between them: one record. */
START_TEST(growing_files_are_waited_for)
{
    struct fixture f;
    size_t bytes;
    char *text = record_bytes(&bytes);
    set_up(&f);
    for (int part = 1; part <= 3; part++) {
        scratch_write(&f.scratch, "Torch.x.0.pt", text, bytes * (size_t)part / 3);
        ck_assert_int_eq(poll_once(&f), part == 3);
        usleep(20000);
    }
    ck_assert_uint_eq(f.taken, 1);
    ck_assert_uint_eq(f.bytes[0], bytes);
    free(text);
    tear_down(&f);
}
END_TEST

/* What does not get better in five seconds is handed over as it is; other records do not wait for it. */
START_TEST(what_does_not_grow_goes_to_the_judge)
{
    struct fixture f;
    set_up(&f);
    scratch_text(&f.scratch, "Torch.bad.0.pt", "no pickle at all");
    put_record(&f, "Torch.x.0.pt");
    const double start_s = clock_seconds();
    ck_assert(poll_once(&f));
    ck_assert_uint_eq(f.taken, 1);
    while (!poll_once(&f)) {
        ck_assert(clock_seconds() - start_s < 60);
        usleep(50000);
    }
    ck_assert_uint_eq(f.taken, 2);
    ck_assert_str_eq(f.names[1], "Torch.bad.0.pt");
    ck_assert(!is_there(&f, "Torch.bad.0.pt"));
    tear_down(&f);
}
END_TEST

START_TEST(links_pipes_and_folders_are_removed)
{
    struct fixture f;
    set_up(&f);
    scratch_text(&f.scratch, "secret", "of somebody else");
    ck_assert_int_eq(symlink("secret", scratch_path(&f.scratch, "Torch.link.0.pt")), 0);
    ck_assert_int_eq(mkfifo(scratch_path(&f.scratch, "Torch.pipe.0.pt"), 0600), 0);
    ck_assert_int_eq(mkdir(scratch_path(&f.scratch, "Torch.folder.0.pt"), 0700), 0);
    put_record(&f, "Torch.x.0.pt");
    poll_once(&f);
    ck_assert_uint_eq(f.taken, 1);
    ck_assert(!is_there(&f, "Torch.pipe.0.pt") && !is_there(&f, "Torch.folder.0.pt"));
    ck_assert(is_there(&f, "secret") && !is_there(&f, "Torch.link.0.pt"));
    ck_assert(strstr(f.log, "Torch.pipe.0.pt: it is no regular file"));
    tear_down(&f);
}
END_TEST

/* While the judge has no room a record is held, and told of once. */
START_TEST(full_judge_is_waited_for)
{
    struct fixture f;
    set_up(&f);
    f.is_full = true;
    put_record(&f, "Torch.x.0.pt");
    put_record(&f, "Torch.y.0.pt");
    for (int i = 0; i < 3; i++) poll_once(&f);
    ck_assert_uint_eq(f.taken, 0);
    ck_assert_uint_eq(f.arrived, 1);
    f.is_full = false;
    for (int i = 0; i < 3; i++) poll_once(&f);
    ck_assert_uint_eq(f.taken, 2);
    ck_assert_uint_eq(f.arrived, 2);
    tear_down(&f);
}
END_TEST

/* A record of the same name that is written while the first is in work stays for the next look. */
START_TEST(records_may_come_again_under_their_name)
{
    struct fixture f;
    set_up(&f);
    for (size_t i = 1; i <= 3; i++) {
        put_record(&f, "Torch.x.0.pt");
        poll_once(&f);
        ck_assert_uint_eq(f.taken, i);
    }
    tear_down(&f);
}
END_TEST

/* starts, ends, ranks of the run; quiet seconds until the end, or none at all (-1). */
START_TEST(markers_tell_the_end)
{
    static const struct {
        size_t starts, ends, expected;
        double quiet_s;
    } cases[] = {
        { 0, 0, 1, -1 }, { 1, 0, 1, -1 }, { 1, 1, 1, 1 }, { 2, 1, 2, -1 },
        { 2, 2, 2, 1 },  { 1, 1, 2, 5 },  { 1, 2, 2, 1 }, { 0, 1, 1, 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double quiet_s = cases[i].quiet_s;
        const struct shared_storage storage = { .starts = cases[i].starts,
                                                .ends = cases[i].ends,
                                                .expected = cases[i].expected,
                                                .changed_s = 1000 };
        ck_assert_int_eq(shared_storage_is_over(&storage, 1000 + 3600), quiet_s >= 0);
        if (quiet_s < 0) continue;
        ck_assert(!shared_storage_is_over(&storage, 1000 + quiet_s - 0.5));
        ck_assert(shared_storage_is_over(&storage, 1000 + quiet_s));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shared_storage");
    TCase *tcase = tcase_create("all");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, records_are_read_once_and_removed);
    tcase_add_test(tcase, growing_files_are_waited_for);
    tcase_add_test(tcase, what_does_not_grow_goes_to_the_judge);
    tcase_add_test(tcase, links_pipes_and_folders_are_removed);
    tcase_add_test(tcase, full_judge_is_waited_for);
    tcase_add_test(tcase, records_may_come_again_under_their_name);
    tcase_add_test(tcase, markers_tell_the_end);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
