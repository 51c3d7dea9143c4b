/* When a run is over: every way in which clients come and go. */
#include "online/attendance.h"

#include "support/suite.h"

struct fixture {
    struct attendance all;
    struct attendant a, b;
    bool was_active;
};

static struct fixture two_ranks(void) { return (struct fixture){ .all.expected = 2 }; }

/* Is it over this long after second 100, and not before? */
static void expect_over_after(const struct fixture *f, double seconds)
{
    ck_assert(!attendance_is_over(&f->all, 100 + seconds - 0.01));
    ck_assert(attendance_is_over(&f->all, 100 + seconds));
}

START_TEST(all_have_stopped)
{
    struct fixture f = two_ranks();
    ck_assert(!attendance_is_over(&f.all, 1e9));
    attendance_deliver(&f.all, &f.a);
    attendance_deliver(&f.all, &f.b);
    attendance_stop(&f.all, &f.a, 50);
    ck_assert(!attendance_is_over(&f.all, 1e9));
    attendance_stop(&f.all, &f.b, 100);
    attendance_stop(&f.all, &f.b, 200); /* said again */
    expect_over_after(&f, 1);
}
END_TEST

START_TEST(who_never_delivered_counts_for_nothing)
{
    struct fixture f = two_ranks();
    attendance_leave(&f.was_active, &f.all, &f.a, 10);
    ck_assert(!f.was_active && !attendance_is_over(&f.all, 1e9));
    attendance_stop(&f.all, &f.a, 20);
    ck_assert(!attendance_is_over(&f.all, 1e9));
    f.all.expected = 1;
    attendance_deliver(&f.all, &f.b);
    attendance_stop(&f.all, &f.b, 100);
    expect_over_after(&f, 1);
}
END_TEST

START_TEST(fewer_clients_than_ranks_are_waited_for)
{
    struct fixture f = two_ranks();
    attendance_deliver(&f.all, &f.a);
    attendance_stop(&f.all, &f.a, 100);
    expect_over_after(&f, 5);
    attendance_deliver(&f.all, &f.b);
    ck_assert(!attendance_is_over(&f.all, 1e9));
}
END_TEST

START_TEST(damaged_frames_may_come_again)
{
    struct fixture f = two_ranks();
    f.all.expected = 1;
    attendance_deliver(&f.all, &f.a);
    attendance_set_damaged(&f.all, &f.a, true);
    attendance_stop(&f.all, &f.a, 100);
    expect_over_after(&f, 5);
    attendance_set_damaged(&f.all, &f.a, false);
    expect_over_after(&f, 1);
}
END_TEST

START_TEST(lost_clients_may_come_back)
{
    struct fixture f = two_ranks();
    attendance_deliver(&f.all, &f.a);
    attendance_set_damaged(&f.all, &f.a, true);
    attendance_leave(&f.was_active, &f.all, &f.a, 100);
    ck_assert(f.was_active);
    ck_assert_uint_eq(f.all.lost, 1);
    ck_assert_uint_eq(f.all.damaged, 0);
    expect_over_after(&f, 10);
    attendance_deliver(&f.all, &f.a);
    ck_assert(!attendance_is_over(&f.all, 1e9));
    attendance_stop(&f.all, &f.a, 100);
    expect_over_after(&f, 1);
    attendance_leave(&f.was_active, &f.all, &f.a, 101);
    ck_assert(!f.was_active);
    expect_over_after(&f, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("attendance");
    TCase *tcase = tcase_create("all");
    tcase_add_test(tcase, all_have_stopped);
    tcase_add_test(tcase, who_never_delivered_counts_for_nothing);
    tcase_add_test(tcase, fewer_clients_than_ranks_are_waited_for);
    tcase_add_test(tcase, damaged_frames_may_come_again);
    tcase_add_test(tcase, lost_clients_may_come_back);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
