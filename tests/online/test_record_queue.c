/* Records of one rank come out in the order in which they went in; ranks overtake each other. */
#include "online/record_queue.h"
#include "support/suite.h"

static struct record_queue queue;

static struct queued_record *add(uint64_t sequence)
{
    const struct judge_submission submission = {
        .origin = { .address = "10.0.0.7:4711", .sequence = sequence, .session = "s" }
    };
    struct queued_record *record = record_queue_add(&queue, &submission);
    ck_assert_ptr_nonnull(record);
    ck_assert_str_eq(record->submission.origin.session, "s");
    return record;
}

static void know(struct queued_record *record, int64_t rank, enum record_state state)
{
    record->rank = rank;
    record->state = state;
}

/* The next that may be committed, by its sequence; -1 when there is none. */
static int next(void)
{
    struct queued_record *record = record_queue_next_done(&queue);
    if (!record) return -1;
    int sequence = (int)record->submission.origin.sequence;
    record_queue_recycle(&queue, record);
    return sequence;
}

START_TEST(threads_take_from_the_front)
{
    struct queued_record *a = add(0), *b = add(1);
    ck_assert_ptr_eq(record_queue_take(&queue), a);
    ck_assert_ptr_eq(record_queue_take(&queue), b);
    ck_assert_ptr_null(record_queue_take(&queue));
    struct queued_record *c = add(2);
    ck_assert_ptr_eq(record_queue_take(&queue), c);
    record_queue_release(&queue);
}
END_TEST

START_TEST(ranks_overtake_each_other_and_nobody_else)
{
    struct queued_record *records[6];
    for (int i = 0; i < 6; i++) {
        records[i] = add((uint64_t)i);
        ck_assert_ptr_eq(record_queue_take(&queue), records[i]);
    }
    know(records[5], 0, RECORD_DONE);
    ck_assert_int_eq(next(), -1); /* the ranks of the others are not known */
    know(records[0], 0, RECORD_KNOWN);
    know(records[1], 1, RECORD_DONE);
    know(records[2], 1, RECORD_KNOWN);
    know(records[3], 0, RECORD_DONE);
    ck_assert_int_eq(next(), 1);
    ck_assert_int_eq(
        next(), -1); /* of rank 0 the first is not done, behind 3 stands one that is not known */
    know(records[0], 0, RECORD_DONE);
    ck_assert_int_eq(next(), 0);
    ck_assert_int_eq(next(), 3);
    ck_assert_int_eq(next(), -1);
    know(records[4], 2, RECORD_KNOWN);
    ck_assert_int_eq(next(), 5);
    know(records[2], 1, RECORD_DONE);
    know(records[4], 2, RECORD_DONE);
    ck_assert_int_eq(next(), 2);
    ck_assert_int_eq(next(), 4);
    ck_assert_int_eq(next(), -1);
    ck_assert_uint_eq(queue.count, 0);
    ck_assert_ptr_null(queue.first);
    struct queued_record *again = add(9); /* of those that were handed back */
    ck_assert_ptr_eq(queue.last, again);
    record_queue_release(&queue);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("record queue");
    TCase *tests = tcase_create("record queue");
    tcase_add_test(tests, threads_take_from_the_front);
    tcase_add_test(tests, ranks_overtake_each_other_and_nobody_else);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
