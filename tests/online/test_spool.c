/* The spool: what was appended is there after any end of the process, once each. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "online/receive_memory.h"
#include "online/spool.h"
#include "online/stream_frames.h"
#include "support/suite.h"
#include "support/workspace.h"

static struct workspace workspace;
static void start(void) { workspace = workspace_make(); }
static void finish(void) { workspace_remove(&workspace); }

static void ok(struct status status) { ck_assert_msg(!status.code, "%s", status.text); }

/* Body `i` of a session: its length and bytes follow from both. */
static struct spool_record record_of(unsigned char session, uint64_t sequence)
{
    struct spool_record record = { .sequence = sequence, .bytes = 1 + sequence * 37 % 900 };
    memset(record.session, session, sizeof record.session);
    return record;
}

static void fill(unsigned char *body, const struct spool_record *record)
{
    for (uint64_t i = 0; i < record->bytes; i++)
        body[i] = (unsigned char)(record->session[0] * 7 + record->sequence * 31 + i);
}

static void *body_of(const struct spool_record *record)
{
    unsigned char *body = malloc(record->bytes);
    fill(body, record);
    return body;
}

/* Append a record whose body lies `shift` bytes behind the beginning of a block. A segment is only begun behind what
 * is durable. */
static struct status append_at(struct spool *spool, struct spool_record *record, size_t shift)
{
    if (spool_begins_segment(spool)) (void)spool_sync(spool);

    size_t room = (shift + record->bytes) / FILE_BLOCK_BYTES * FILE_BLOCK_BYTES + FILE_BLOCK_BYTES;
    unsigned char *block = aligned_alloc(FILE_BLOCK_BYTES, room);
    const void *bodies[] = { block + shift };
    fill(block + shift, record);
    record->sum = stream_bulk_sum(0, block + shift, record->bytes);
    struct status status = spool_append(spool, record, bodies, 1);
    free(block);
    return status;
}

static struct status append(struct spool *spool, struct spool_record *record)
{
    return append_at(spool, record, 0);
}

static void check_body(struct spool *spool, const struct spool_record *record)
{
    void *want = body_of(record), *got = malloc(record->bytes);
    ok(spool_read(spool, record, got));
    ck_assert_mem_eq(got, want, record->bytes);
    free(want);
    free(got);
}

static struct spool *opened(void)
{
    struct spool *spool;
    ok(spool_open(&spool, in(&workspace, "spool"), 4000));
    return spool;
}

static struct status nothing_to_sync(void *context)
{
    (void)context;
    return status_ok();
}

/* 40 records of two sessions in segments of 4000 bytes: all are left, in order, with their bodies. */
START_TEST(records_are_left_for_the_next_process)
{
    struct spool *spool = opened();
    const struct spool_record *left;
    struct spool_record records[40];

    for (int i = 0; i < 40; i++) {
        records[i] = record_of((unsigned char)(1 + i % 2), (uint64_t)i / 2);
        ok(append(spool, &records[i]));
        check_body(spool, &records[i]);
    }
    ok(spool_sync(spool));
    ok(spool_close(spool, false));
    ck_assert_uint_gt(count_matches(&workspace, "spool/segment*.spool"), 3);

    spool = opened();
    ck_assert_uint_eq(spool_left(spool, &left), 40);
    for (int i = 0; i < 40; i++) {
        ck_assert_mem_eq(left[i].session, records[i].session, SPOOL_SESSION_BYTES);
        ck_assert_uint_eq(left[i].sequence, records[i].sequence);
        ck_assert_uint_eq(left[i].bytes, records[i].bytes);
        check_body(spool, &left[i]);
    }
    ck_assert_uint_eq(spool_next(spool, records[0].session), 20);
    ck_assert_uint_eq(spool_next(spool, (const unsigned char *)"another session!"), 0);
    ok(spool_close(spool, false));
}
END_TEST

/* What is done goes, segment by segment; how far the sessions are stays. */
START_TEST(segments_go_when_their_records_are_done)
{
    struct spool *spool = opened();
    const struct spool_record *left;
    struct spool_record records[40];

    for (int i = 0; i < 40; i++) {
        records[i] = record_of(1, (uint64_t)i);
        ok(append(spool, &records[i]));
    }
    ok(spool_sync(spool));
    uint64_t all_bytes = spool_bytes(spool);
    for (int i = 0; i < 39; i++) (void)spool_done(spool, &records[i]);
    ok(spool_clear(spool, nothing_to_sync, NULL));
    ck_assert_uint_lt(spool_bytes(spool), all_bytes / 2);
    check_body(spool, &records[39]);
    ok(spool_close(spool, false));

    spool = opened();
    size_t count = spool_left(spool, &left);
    ck_assert_uint_ge(count, 1);
    ck_assert_uint_lt(count, 20);
    ck_assert_uint_eq(left[count - 1].sequence, 39);
    for (size_t i = 0; i < count; i++) (void)spool_done(spool, &left[i]);
    ok(spool_clear(spool, nothing_to_sync, NULL));
    ok(spool_close(spool, false));

    spool = opened(); /* nothing is left but the session's progress */
    ck_assert_uint_eq(spool_left(spool, &left), 0);
    ck_assert_uint_eq(spool_next(spool, records[0].session), 40);
    ok(spool_close(spool, true));
    ck_assert_uint_eq(count_matches(&workspace, "spool*"), 0);
}
END_TEST

/* Where there is no room, the newest segment goes too, once it is not needed; how far the sessions are stays. */
START_TEST(a_full_disk_gets_back_what_is_done)
{
    struct spool *spool = opened();
    const struct spool_record *left;
    struct spool_record records[20];

    for (int i = 0; i < 20; i++) { /* so many that there are spare files */
        records[i] = record_of(1, (uint64_t)i);
        ok(append(spool, &records[i]));
    }
    ok(spool_sync(spool));
    for (int i = 0; i < 19; i++) (void)spool_done(spool, &records[i]);
    ok(spool_clear(spool, nothing_to_sync, NULL));
    ck_assert_uint_gt(count_matches(&workspace, "spool/spare*"), 0);
    ck_assert(!spool_relieve(spool)); /* one is not done */
    ck_assert_uint_eq(count_matches(&workspace, "spool/spare*"), 0);
    check_body(spool, &records[19]);
    (void)spool_done(spool, &records[19]);
    uint64_t bytes = spool_bytes(spool);
    ck_assert(spool_relieve(spool));
    ok(spool_clear(spool, nothing_to_sync, NULL));
    ck_assert_uint_lt(spool_bytes(spool), bytes);
    ck_assert_uint_eq(count_matches(&workspace, "spool/segment*"), 1);
    ck_assert_uint_eq(count_matches(&workspace, "spool/spare*"), 0);
    ck_assert(!spool_relieve(spool)); /* there is nothing in it */
    ok(spool_close(spool, false));

    spool = opened();
    ck_assert_uint_eq(spool_left(spool, &left), 0);
    ck_assert_uint_eq(spool_next(spool, records[0].session), 20);
    ok(spool_close(spool, true));
}
END_TEST

static struct status cannot_sync(void *context)
{
    (void)context;
    return status_error(STATUS_IO, "no");
}

/* Rows that are not durable keep their records. */
START_TEST(nothing_goes_before_the_rows_are_durable)
{
    struct spool *spool = opened();
    struct spool_record records[40];

    for (int i = 0; i < 40; i++) {
        records[i] = record_of(1, (uint64_t)i);
        ok(append(spool, &records[i]));
        (void)spool_done(spool, &records[i]);
    }
    uint64_t bytes = spool_bytes(spool);
    ok(spool_clear(spool, cannot_sync, NULL)); /* how far the sessions are must be durable first */
    ck_assert_uint_eq(spool_bytes(spool), bytes);
    ok(spool_sync(spool));
    ck_assert_int_eq(spool_clear(spool, cannot_sync, NULL).code, STATUS_IO);
    ck_assert_uint_eq(spool_bytes(spool), bytes);
    ok(spool_clear(spool, nothing_to_sync, NULL));
    ck_assert_uint_lt(spool_bytes(spool), bytes);
    ok(spool_close(spool, true));
}
END_TEST

/* Cut at every byte: the records in front of the cut are left, and the session resumes behind them. */
START_TEST(a_torn_tail_costs_only_what_it_tore)
{
    struct spool *spool = opened();
    struct spool_record records[3];
    const struct spool_record *left;
    size_t bytes;

    for (int i = 0; i < 3; i++) {
        records[i] = record_of(1, (uint64_t)i);
        ok(append(spool, &records[i]));
    }
    ok(spool_close(spool, false));
    char *whole = read_file(in(&workspace, "spool/segment00000001.spool"), &bytes);
    for (size_t cut = 0; cut < bytes; cut++) {
        size_t want = 0;
        while (want < 3 && records[want].offset + records[want].bytes <= cut) want++;
        ok(file_make_directories(in(&workspace, "cut")));
        write_file(in(&workspace, "cut/segment00000001.spool"), whole, cut);
        ok(spool_open(&spool, in(&workspace, "cut"), 4000));
        ck_assert_msg(spool_left(spool, &left) == want, "cut at %zu: %zu records, not %zu", cut,
                      spool_left(spool, &left), want);
        ck_assert_uint_eq(spool_next(spool, records[0].session), want);
        for (size_t i = 0; i < want; i++) check_body(spool, &left[i]);
        for (size_t i = 0; i < want; i++) (void)spool_done(spool, &left[i]);
        ok(spool_close(spool, true));
    }
    free(whole);
}
END_TEST

/* A byte that has changed on the disk ends the reading of its segment; what is in front of it counts. */
START_TEST(a_changed_byte_is_noticed)
{
    struct spool *spool = opened();
    struct spool_record records[3];
    const struct spool_record *left;
    size_t bytes;

    for (int i = 0; i < 3; i++) {
        records[i] = record_of(1, (uint64_t)i);
        ok(append(spool, &records[i]));
    }
    ok(spool_close(spool, false));
    char *whole = read_file(in(&workspace, "spool/segment00000001.spool"), &bytes);
    whole[records[1].offset + 3] ^= 1;
    write_file(in(&workspace, "spool/segment00000001.spool"), whole, bytes);
    free(whole);
    spool = opened();
    ck_assert_uint_eq(spool_left(spool, &left), 1);
    ok(spool_close(spool, false));
}
END_TEST

/* ---- a disk that fails ------------------------------------------------------------------ */

static int calls_until_fault, fault_errno;
static enum file_operation faulty;
static int fail_later(enum file_operation operation, const char *path)
{
    (void)path;
    return operation == faulty && calls_until_fault-- <= 0 ? fault_errno : 0;
}

/* While the disk is full nothing counts of an append; when there is room again, it succeeds in the same place. */
START_TEST(a_full_disk_keeps_nothing_half)
{
    static const enum file_operation operations[] = { FILE_WRITE, FILE_CREATE };
    struct spool *spool = opened();
    struct spool_record records[30];
    const struct spool_record *left;
    size_t failed = 0;

    faulty = operations[_i];
    fault_errno = ENOSPC;
    for (int i = 0; i < 30; i++) {
        records[i] = record_of(1, (uint64_t)i);
        calls_until_fault = 0;
        file_fault = i % 3 == 1 || faulty == FILE_CREATE ? fail_later : NULL;
        struct status status = append(spool, &records[i]);
        file_fault = NULL;
        if (!status.code) continue;
        failed++;
        ck_assert_msg(strstr(status.text, "No space left"), "%s", status.text);
        ck_assert_uint_eq(spool_next(spool, records[i].session), (uint64_t)i);
        ok(append(spool, &records[i]));
    }
    ck_assert_uint_gt(failed, 0);
    ok(spool_close(spool, false));
    spool = opened();
    ck_assert_uint_eq(spool_left(spool, &left), 30);
    for (int i = 0; i < 30; i++) {
        ck_assert_uint_eq(left[i].sequence, (uint64_t)i);
        check_body(spool, &left[i]);
    }
    ok(spool_close(spool, false));
}
END_TEST

static bool fails_to_sync, fails_to_cut;
static int fail_to_sync(enum file_operation operation, const char *path)
{
    (void)path;
    return (operation == FILE_SYNC && fails_to_sync) || (operation == FILE_TRUNCATE && fails_to_cut)
               ? EIO
               : 0;
}

/* The first sync of a segment succeeds behind three records, the second fails: what came between is written anew, and
 * nothing of it is needed that the first file may have lost, or may still show. A later sync of that file does not count. */
START_TEST(what_a_failed_sync_may_have_lost_is_written_anew)
{
    struct spool *spool = opened();
    struct spool_record records[6];
    const struct spool_record *left;

    file_fault = fail_to_sync;
    fails_to_cut = _i;
    for (int i = 0; i < 6; i++) {
        records[i] = record_of(1, (uint64_t)i);
        ok(append(spool, &records[i]));
        fails_to_sync = i == 5;
        if (i == 2) ok(spool_sync(spool));
    }
    ck_assert_int_eq(spool_sync(spool).code, STATUS_IO);
    fails_to_sync = false;
    ck_assert_int_eq(spool_sync(spool).code, STATUS_IO);
    for (int i = 3; i < 6; i++) spool_retract(spool, &records[i]);
    ck_assert_uint_eq(spool_next(spool, records[0].session), 3);
    for (int i = 3; i < 6; i++) ok(append(spool, &records[i]));
    ok(spool_sync(spool));
    ck_assert_uint_eq(spool_next(spool, records[0].session), 6);
    file_fault = NULL;
    for (int i = 0; i < 6; i++) check_body(spool, &records[i]);
    ok(spool_close(spool, false));

    spool = opened();
    ck_assert_uint_eq(spool_left(spool, &left), 6); /* and not nine */
    for (int i = 0; i < 6; i++) {
        ck_assert_uint_eq(left[i].sequence, (uint64_t)i);
        check_body(spool, &left[i]);
        (void)spool_done(spool, &left[i]);
    }
    ok(spool_close(spool, true));
    ck_assert_uint_eq(count_matches(&workspace, "spool*"), 0);
}
END_TEST

static int no_direct_files(enum file_operation operation, const char *path)
{
    return operation == FILE_OPEN && strstr(path, "/segment") ? EINVAL : 0;
}

/* Bodies of all sizes around that of a large one, with and without writing past the page cache, on blocks of memory
 * and not. */
START_TEST(large_bodies_are_like_small_ones)
{
    enum { LARGE = RECEIVE_MEMORY_LARGE_BYTES };
    static const uint64_t sizes[] = { LARGE - 1,    LARGE, 100,          LARGE + 1,
                                      LARGE + 4096, 3,     3 * LARGE - 5 };
    enum { COUNT = sizeof sizes / sizeof *sizes };
    struct spool_record records[COUNT];
    const struct spool_record *left;
    struct spool *spool;
    bool is_direct = _i & 1, is_aligned = _i & 2;

    file_fault = is_direct ? NULL : no_direct_files;
    ok(spool_open(&spool, in(&workspace, "spool"), 2 * LARGE));
    for (int i = 0; i < COUNT; i++) {
        records[i] = record_of(1, (uint64_t)i);
        records[i].bytes = sizes[i];
        ok(append_at(spool, &records[i], is_aligned ? 0 : 16));
    }
    ok(spool_sync(spool));
    for (int i = 0; i < COUNT; i++) check_body(spool, &records[i]);
    ok(spool_close(spool, false));
    file_fault = NULL;

    ok(spool_open(&spool, in(&workspace, "spool"), 2 * LARGE));
    ck_assert_uint_eq(spool_left(spool, &left), COUNT);
    for (int i = 0; i < COUNT; i++) {
        ck_assert_uint_eq(left[i].bytes, sizes[i]);
        check_body(spool, &left[i]);
    }
    ok(spool_close(spool, false));
}
END_TEST

/* A file is used again, and all that is found in it then is what the last segment has put there. */
START_TEST(files_are_used_again)
{
    struct spool *spool = opened();
    struct spool_record records[60];
    const struct spool_record *left;
    bool was_used_again = false;

    for (int i = 0; i < 60; i++) {
        records[i] = record_of(1, (uint64_t)i);
        bool has_spare = count_matches(&workspace, "spool/spare0.spool");
        ok(append(spool, &records[i]));
        was_used_again |= has_spare && !count_matches(&workspace, "spool/spare0.spool");
        if (i < 57) (void)spool_done(spool, &records[i]);
        ok(spool_sync(spool));
        ok(spool_clear(spool, nothing_to_sync, NULL));
    }
    ck_assert(was_used_again);
    ok(spool_close(spool, false));
    spool = opened();
    ck_assert_uint_eq(count_matches(&workspace, "spool/spare0.spool"), 0);
    size_t count = spool_left(spool, &left);
    ck_assert_uint_ge(count, 3);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(left[i].sequence, 60 - count + i);
        check_body(spool, &left[i]);
    }
    ok(spool_close(spool, false));
}
END_TEST

/* What is in a file belongs to the number that it was written under. */
START_TEST(a_file_under_another_number_is_empty)
{
    struct spool *spool = opened();
    struct spool_record record = record_of(1, 0);
    const struct spool_record *left;
    size_t bytes;

    ok(append(spool, &record));
    ok(spool_close(spool, false));
    char *whole = read_file(in(&workspace, "spool/segment00000001.spool"), &bytes);
    for (int i = 0; i < 2; i++) { /* with the old number at its start, and with the new one */
        ok(file_make_directories(in(&workspace, "other")));
        write_file(in(&workspace, "other/segment00000003.spool"), whole, bytes);
        ok(spool_open(&spool, in(&workspace, "other"), 4000));
        ck_assert_uint_eq(spool_left(spool, &left), 0);
        ok(spool_close(spool, true));
        whole[8] = 3;
    }
    free(whole);
}
END_TEST

/* Two processes do not share a spool. */
START_TEST(a_spool_has_one_owner)
{
    struct spool *spool = opened(), *other;
    struct status status = spool_open(&other, in(&workspace, "spool"), 4000);

    ck_assert(file_is_locked(status));
    ck_assert_ptr_null(other);
    ok(spool_close(spool, false));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spool");
    TCase *cases = tcase_create("all");

    tcase_add_checked_fixture(cases, start, finish);
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, records_are_left_for_the_next_process);
    tcase_add_test(cases, segments_go_when_their_records_are_done);
    tcase_add_test(cases, nothing_goes_before_the_rows_are_durable);
    tcase_add_test(cases, a_torn_tail_costs_only_what_it_tore);
    tcase_add_test(cases, a_changed_byte_is_noticed);
    tcase_add_test(cases, a_full_disk_gets_back_what_is_done);
    tcase_add_loop_test(cases, a_full_disk_keeps_nothing_half, 0, 2);
    tcase_add_loop_test(cases, what_a_failed_sync_may_have_lost_is_written_anew, 0, 2);
    tcase_add_loop_test(cases, large_bodies_are_like_small_ones, 0, 4);
    tcase_add_test(cases, files_are_used_again);
    tcase_add_test(cases, a_file_under_another_number_is_empty);
    tcase_add_test(cases, a_spool_has_one_owner);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
