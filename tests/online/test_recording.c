/* Recordings: what was written is read again; a file that was cut anywhere ends with its last whole record. */
#include "online/recording.h"

#include "core/memory.h"
#include "support/scratch.h"
#include "support/suite.h"

enum { RECORDS = 3, LIMIT = 1 << 20 };

static const char *const bodies[RECORDS] = { "first", "", "the third of them" };

static struct record_origin origin_of(int i)
{
    return (struct record_origin){ .session = i == 2 ? "session" : NULL,
                                   .address = "10.0.0.7:41234",
                                   .sequence = (uint64_t)i * 1000000007u,
                                   .rank = i,
                                   .step = -i };
}

static const char *write_recording(const struct scratch *scratch)
{
    struct recording recording;
    const char *path = scratch_path(scratch, "received");
    ck_assert(!recording_create(&recording, path).code);
    for (int i = 0; i < RECORDS; i++) {
        const struct record_origin origin = origin_of(i);
        const enum recording_kind kind = i == 2 ? RECORDING_STREAM : RECORDING_PEER;
        ck_assert(!recording_add(&recording, kind, &origin, bodies[i], strlen(bodies[i])).code);
    }
    ck_assert(!recording_close(&recording).code);
    return path;
}

/* How many records can be read; each as it was written. */
static int read_recording(struct status *status, const char *path)
{
    struct recording_reader reader;
    bool more = true;
    int count = 0;
    *status = recording_open(&reader, path, FILES_CHECKED);
    if (status->code) return 0;
    for (;;) {
        struct judge_submission got;
        *status = recording_next(&more, &got, &reader, LIMIT);
        if (status->code || !more) break;
        const struct record_origin want = origin_of(count);
        ck_assert_uint_eq(got.bytes, strlen(bodies[count]));
        ck_assert(!memcmp(got.body, bodies[count], got.bytes));
        ck_assert_uint_eq(got.origin.sequence, want.sequence);
        ck_assert_int_eq(got.origin.rank, want.rank);
        ck_assert_int_eq(got.origin.step, want.step);
        if (want.session) ck_assert_str_eq(got.origin.session, want.session);
        else ck_assert_str_eq(got.origin.address, want.address);
        ck_assert(!want.session == !got.origin.session);
        memory_release(got.body);
        count++;
    }
    recording_reader_close(&reader);
    return count;
}

START_TEST(records_come_back)
{
    struct scratch scratch = scratch_make();
    struct status status;
    ck_assert_int_eq(read_recording(&status, write_recording(&scratch)), RECORDS);
    ck_assert(!status.code);
    scratch_remove(&scratch);
}
END_TEST

START_TEST(recordings_may_be_cut_anywhere)
{
    struct scratch scratch = scratch_make();
    size_t bytes;
    char *text = scratch_read(write_recording(&scratch), &bytes);
    int before = 0;
    for (size_t cut = 0; cut <= bytes; cut++) {
        struct status status;
        int count = read_recording(&status, scratch_write(&scratch, "cut", text, cut));
        ck_assert_int_ge(count, before);
        ck_assert_int_le(count, before + 1);
        ck_assert_int_eq(status.code, cut < 28 ? STATUS_BAD_INPUT : STATUS_OK);
        before = count;
    }
    ck_assert_int_eq(before, RECORDS);
    free(text);
    scratch_remove(&scratch);
}
END_TEST

/* Any byte may be wrong: that is said, or does not matter, and every body that comes back is whole. */
START_TEST(damage_is_found)
{
    struct scratch scratch = scratch_make();
    size_t bytes;
    char *text = scratch_read(write_recording(&scratch), &bytes);
    for (size_t at = 0; at < bytes; at++) {
        struct recording_reader reader;
        struct judge_submission got;
        bool more = true;
        text[at] ^= 0x55;
        struct status status =
            recording_open(&reader, scratch_write(&scratch, "wrong", text, bytes), FILES_CHECKED);
        ck_assert_int_eq(status.code, at < 28 ? STATUS_BAD_INPUT : STATUS_OK);
        for (int i = 0; !status.code && more; i++) {
            status = recording_next(&more, &got, &reader, LIMIT);
            if (status.code || !more) break;
            ck_assert_int_lt(i, RECORDS);
            ck_assert(!memcmp(got.body, bodies[i], got.bytes) && got.bytes == strlen(bodies[i]));
            memory_release(got.body);
        }
        if (at >= 28) recording_reader_close(&reader);
        text[at] ^= 0x55;
    }
    free(text);
    scratch_remove(&scratch);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recording");
    TCase *tcase = tcase_create("all");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, records_come_back);
    tcase_add_test(tcase, recordings_may_be_cut_anywhere);
    tcase_add_test(tcase, damage_is_found);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
