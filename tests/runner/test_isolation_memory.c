/* Memory shared with a kernel process: requests, buffers and guards stay inside their region. */
#include "isolation_kernels.h"

/* Memory that a large call took is given back; the values of later calls do not suffer. */
START_TEST(large_memory_is_given_back)
{
    struct zygote *zygote;
    ck_assert(!zygote_start(&zygote).code);
    struct isolation *isolation = open_isolation(zygote, false);
    struct space *space = isolation_space(isolation);
    ck_assert(!call(isolation, ADD_ONE, 4 << 20).code);
    ck_assert(!call(isolation, ADD_ONE, 1000).code);
    ck_assert_uint_le(space->touched[0], 2 << 20);
    ck_assert(!call(isolation, ADD_ONE, 1 << 20).code);
    isolation_close(isolation);
    zygote_stop(zygote);
}
END_TEST

/* Many buffers: the small slots run out, the rest gets guards of its own. */
START_TEST(buffers_never_overlap)
{
    struct space space;
    ck_assert(!space_open(&space).code);
    for (int round = 0; round < 3; round++) {
        space_begin(&space, 0);
        for (int i = 0; i < 200; i++) {
            struct space_buffer *b;
            uint64_t bytes = (uint64_t)(i * 977 % 30011);
            ck_assert(
                !space_place(&space, &b, i % 2 ? SPACE_INPUT : SPACE_OUTPUT, "b", bytes).code);
            ck_assert_uint_eq(b->offset % 64, 0);
            ck_assert_uint_le(b->offset + bytes, b->fence + b->fence_bytes);
        }
        for (size_t i = 0; i < space.count; i++)
            for (size_t k = 0; k < i; k++) {
                const struct space_buffer *a = &space.buffers[i], *b = &space.buffers[k];
                ck_assert(a->fence >= b->fence + b->fence_bytes ||
                          b->fence >= a->fence + a->fence_bytes);
            }
        const struct space_buffer *damaged;
        int64_t where;
        ck_assert(!space_damaged(&space, &damaged, &where));
    }
    struct space_buffer *b;
    ck_assert_int_eq(space_place(&space, &b, SPACE_INPUT, "huge", UINT64_MAX / 2).code,
                     STATUS_SKIP);
    space_close(&space);
}
END_TEST

/* Requests stay inside their region, whatever their sizes are. */
START_TEST(requests_are_bounded)
{
    struct space space;
    const uint64_t most = (uint64_t)64 << 20;
    ck_assert(!space_open(&space).code);
    for (uint64_t first = 0; first <= 48; first += 8)
        for (uint64_t less = 0; less <= 80; less += 4) {
            uint64_t offset, bytes = most - less;
            space_begin(&space, 0);
            ck_assert(!space_request(&space, &offset, first).code);
            struct status st = space_request(&space, &offset, bytes);
            if (!st.code) ck_assert_uint_le(offset + bytes, space.inputs);
            else ck_assert_str_eq(st.text, "the call's arguments take more than 64 MB");
            /* 64 bytes are more than what rounding takes. */
            if (first + 64 <= less) ck_assert(!st.code);
        }
    uint64_t offset;
    ck_assert_int_eq(space_request(&space, &offset, UINT64_MAX).code, STATUS_SKIP);
    space_close(&space);
    space_close(&space); /* again is no harm */
}
END_TEST

START_TEST(buffers_are_bounded)
{
    struct space space;
    struct space_buffer *b;
    ck_assert(!space_open(&space).code);
    for (int i = 0; i < SPACE_MAX_BUFFERS; i++)
        ck_assert(!space_place(&space, &b, i % 2 ? SPACE_INPUT : SPACE_OUTPUT, "b", 100).code);
    ck_assert_str_eq(space_place(&space, &b, SPACE_INPUT, "b", 1).text,
                     "the call has more than 512 tensors");
    /* Two that fit alone do not fit together. */
    uint64_t bytes = (space.outputs - space.inputs) / 5 * 3;
    space_begin(&space, 0);
    ck_assert(!space_place(&space, &b, SPACE_INPUT, "one", bytes).code);
    struct status st = space_place(&space, &b, SPACE_INPUT, "two", bytes);
    ck_assert_int_eq(st.code, STATUS_SKIP);
    ck_assert(!strncmp(st.text, "two of ", 7) &&
              strstr(st.text, "B does not fit into shared memory"));
    ck_assert(!space_place(&space, &b, SPACE_INPUT, "three", 100).code);
    space_close(&space);
}
END_TEST

/* May this byte of the view be written? Asked of the system, which answers EFAULT. */
static bool may_write(const unsigned char *at, int from)
{
    return pread(from, (void *)(uintptr_t)at, 1, 0) == 1;
}

/* Guards are where the header says, and nowhere else; a header that says what cannot be is refused. */
START_TEST(guards_of_any_header)
{
    struct space space;
    static struct space_view view;
    struct space_buffer *in, *out;
    int zero = open("/dev/zero", O_RDONLY);
    ck_assert(!space_open(&space).code);
    ck_assert(!space_view_open(&view, space.descriptor).code);
    ck_assert(!space_place(&space, &in, SPACE_INPUT, "in", 1 << 20).code);
    ck_assert(!space_place(&space, &out, SPACE_OUTPUT, "out", 1 << 20).code);
    const unsigned char *guard = view.base + out->fence + out->fence_bytes;
    for (int round = 0; round < 2; round++) {
        space_publish_guards(&space);
        ck_assert_uint_eq(space_header(&space)->guard_count, 2);
        for (int again = 0; again < 2; again++) {
            ck_assert(space_view_fence(&view));
            ck_assert(!may_write(guard, zero));
            ck_assert(may_write(guard - 1, zero));
            ck_assert(!may_write(view.base + in->offset, zero));
        }
        space_header(&space)->guard_count = 0;
        ck_assert(space_view_fence(&view));
        ck_assert(may_write(guard, zero));
        ck_assert(!may_write(view.base + in->fence + in->fence_bytes,
                             zero)); /* readable again, no more */
        ck_assert_int_eq(view.base[in->fence + in->fence_bytes], 0);
    }
    /* As many guards, elsewhere. */
    space_publish_guards(&space);
    ck_assert(space_view_fence(&view));
    ck_assert(!may_write(guard, zero));
    space_begin(&space, 0);
    ck_assert(!space_place(&space, &in, SPACE_INPUT, "in", 1 << 20).code);
    ck_assert(!space_place(&space, &out, SPACE_OUTPUT, "out", 3 << 20).code);
    space_publish_guards(&space);
    ck_assert(space_view_fence(&view));
    ck_assert(may_write(guard, zero));
    ck_assert(!may_write(view.base + out->fence + out->fence_bytes, zero));
    struct space_header *header = space_header(&space);
    header->guard_count = SPACE_MAX_BUFFERS + 1;
    ck_assert(!space_view_fence(&view));
    const uint64_t bad[] = { view.bytes, UINT64_MAX, view.bytes - 1, 12345 };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        header->guard_count = 1;
        header->guards[0] = bad[i];
        ck_assert(!space_view_fence(&view));
    }
    space_view_close(&view);
    space_view_close(&view);
    space_close(&space);
    close(zero);
}
END_TEST

START_TEST(views_of_no_shared_memory)
{
    struct space_view *view = calloc(1, sizeof *view);
    int file = memfd_create("empty", MFD_CLOEXEC);
    ck_assert_str_eq(space_view_open(view, -1).text,
                     "cannot use shared memory: Bad file descriptor");
    ck_assert_str_eq(space_view_open(view, file).text,
                     "cannot map shared memory: Invalid argument");
    close(file);
    free(view);
}
END_TEST

static uint64_t address_bytes(void)
{
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    ck_assert_int_eq(fscanf(statm, "%lu", &pages), 1);
    fclose(statm);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Where addresses are few, the space is smaller, and calls work in it; where there are none, it says so. */
START_TEST(few_addresses_will_do)
{
    if (SANITIZED || emulated()) return; /* their shadow takes all addresses there are */
    struct rlimit usual, few;
    struct space space;
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &usual), 0);
    few = usual;
    few.rlim_cur = address_bytes() + ((rlim_t)3 << 32);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &few), 0);
    struct status st = space_open(&space);
    ck_assert_msg(!st.code, "%s", st.text);
    ck_assert_uint_eq(space.bytes, (uint64_t)1 << 32); /* and as much again for a view */
    space_close(&space);
    struct isolation *isolation = open_isolation(NULL, true);
    few.rlim_cur = address_bytes() + ((rlim_t)3 << 32);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &few), 0);
    ck_assert(!call(isolation, ADD_ONE, 100000).code);
    few.rlim_cur = address_bytes() + ((rlim_t)1 << 29);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &few), 0);
    ck_assert_str_eq(space_open(&space).text, "cannot map shared memory: Cannot allocate memory");
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &usual), 0);
    isolation_close(isolation);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("isolation_memory");
    TCase *tests = tcase_create("isolation_memory");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, large_memory_is_given_back);
    tcase_add_test(tests, buffers_never_overlap);
    tcase_add_test(tests, requests_are_bounded);
    tcase_add_test(tests, buffers_are_bounded);
    tcase_add_test(tests, guards_of_any_header);
    tcase_add_test(tests, views_of_no_shared_memory);
    tcase_add_test(tests, few_addresses_will_do);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
