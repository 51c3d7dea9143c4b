/* The server without memory: whichever allocation fails, what it was for ends, its client sees the end or all
 * its answers, and everything is released (the sanitizers look). On one thread, because the hook is. */
#include <fcntl.h>

#include "core/memory.h"
#include "online/frames.h"
#include "online/loopback.h"

enum { PLENTY = 1 << 30, FRAMES = 30, BODY = 300000, ROUNDS = 400 };

static long allocations_left;

static int fail_when_due(size_t bytes)
{
    (void)bytes;
    return --allocations_left == 0;
}

/* Small frames, a large one, a damaged one, STOP_. */
static size_t make_session(unsigned char *out)
{
    static unsigned char body[BODY];
    size_t bytes = 0;
    memset(body, 'z', sizeof body);
    for (uint64_t i = 0; i + 2 < FRAMES; i++)
        bytes += frame_of(out + bytes, i, 0, i / 10, body, i == 5 ? sizeof body : 100);
    bytes += frame_with(out + bytes, 4, FRAMES - 2, 0, 0, "00000000", "zzzz", 4);
    return bytes + frame_of(out + bytes, FRAMES - 1, 0, 0, "STOP_", 5);
}

/* Send and serve in turns. How many answers came? */
static size_t converse(struct loopback *l, const unsigned char *session, size_t bytes)
{
    int fd = client_connect(l);
    size_t sent = 0, got = 0;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    for (int round = 0; round < ROUNDS && got < (size_t)FRAMES * ANSWER_BYTES; round++) {
        char answers[4096];
        if (sent < bytes) {
            ssize_t n = send(fd, session + sent, bytes - sent, MSG_NOSIGNAL);
            if (n > 0) sent += (size_t)n;
        }
        ck_assert(!server_serve(l->server, -1).code);
        ssize_t n = recv(fd, answers, sizeof answers, 0);
        if (n > 0) got += (size_t)n;
        if (n == 0 || (n < 0 && errno != EAGAIN)) break;
    }
    close(fd);
    return got / ANSWER_BYTES;
}

START_TEST(no_allocation_is_needed_for_others_to_go_on)
{
    static unsigned char session[BODY + FRAMES * 300];
    const size_t bytes = make_session(session);
    struct loopback l;
    long failed = 0;
    loopback_prepare(&l, PLENTY, NULL);
    for (long at = 1;; at++) {
        allocations_left = at;
        memory_fault = fail_when_due;
        const size_t answers = converse(&l, session, bytes);
        memory_fault = NULL;
        const bool was_due = allocations_left <= 0;
        failed += was_due && answers < FRAMES;
        if (!was_due) ck_assert_uint_eq(answers, FRAMES);
        ck_assert_uint_eq(converse(&l, session, bytes), FRAMES); /* the next one is served */
        if (!was_due) break;
    }
    ck_assert_int_gt(failed, 3);
    loopback_release(&l);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("server_faults");
    TCase *tcase = tcase_create("all");
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, no_allocation_is_needed_for_others_to_go_on);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
