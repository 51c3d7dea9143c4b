/* Frames cut out of bytes: those of recorded sessions in pieces of any size, and the ones that are hard to
 * tell apart. */
#include "online/peer_frames.h"

#include "online/frames.h"
#include "support/captures.h"
#include "support/suite.h"

#ifdef PROBE_HAS_OPENSSL
enum { PROBE_TESTS_MD5 = 1 };
#else
enum { PROBE_TESTS_MD5 = 0 };
#endif
enum { PLENTY = 1 << 30, LIMIT = 1 << 28 };

static uint64_t random_state = 1;
static size_t random_below(size_t count)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(random_state >> 33) % count;
}

/* Feed bytes in pieces; `piece` 0: of random size. Each frame is compared with what is expected. */
static size_t feed(struct peer_reader *reader, const struct capture *c, int connection,
                   size_t piece, size_t *left)
{
    const unsigned char *bytes = c->bytes[connection];
    size_t start = 0, end = 0, frame = 0, seen = 0;
    while (end < c->count[connection]) {
        size_t more = piece ? piece : 1 + random_below(5000);
        end = end + more < c->count[connection] ? end + more : c->count[connection];
        enum peer_progress progress;
        do {
            size_t taken;
            struct status status =
                peer_reader_take(&progress, &taken, reader, bytes + start, end - start);
            ck_assert_msg(!status.code, "%s: %s", c->name, status.text);
            start += taken;
            if (progress != PEER_FRAME) continue;
            while (c->frames[frame].connection != connection) frame++;
            const struct captured_frame *want = &c->frames[frame++];
            const struct peer_frame *got = &reader->frame;
            ck_assert_uint_eq(got->numbers.sequence, want->sequence);
            ck_assert_uint_eq(got->numbers.rank, want->rank);
            ck_assert_uint_eq(got->numbers.step, want->step);
            ck_assert_uint_eq(got->bytes, want->length);
            ck_assert_int_eq(got->is_intact, want->is_intact);
            ck_assert_int_eq(peer_frame_is_stop(got), want->is_stop);
            ck_assert(!memcmp(got->body, bytes + start - want->length, want->length));
            seen++;
        } while (progress == PEER_FRAME);
    }
    *left = end - start + (reader->in_body ? reader->arrived : 0);
    return seen;
}

/* However the bytes are cut, the frames are those that were recorded. */
START_TEST(captures_are_cut_into_their_frames)
{
    static const size_t pieces[] = { 1, 7, 4096, SIZE_MAX / 2, 0 };
    struct capture captures[CAPTURES_MAX];
    const size_t count = captures_read(captures);
    for (size_t i = 0; i < count; i++) {
        size_t seen = 0;
        for (int connection = 0; connection < (int)captures[i].connections; connection++) {
            struct receive_memory memory;
            struct peer_reader reader;
            size_t left;
            receive_memory_open(&memory, PLENTY);
            peer_reader_open(&reader, &memory, LIMIT);
            seen += feed(&reader, &captures[i], connection, pieces[_i], &left);
            const size_t header = PEER_INTEGERS_BYTES + checksum_digits(reader.kind);
            ck_assert_uint_eq(left + (reader.in_body ? header : 0),
                              captures[i].unfinished[connection]);
            peer_reader_close(&reader);
            ck_assert_uint_eq(memory.used_bytes, 0);
            receive_memory_close(&memory);
        }
        ck_assert_uint_eq(seen, captures[i].n_frames);
        capture_release(&captures[i]);
    }
}
END_TEST

struct fixture {
    struct receive_memory memory;
    struct peer_reader reader;
};

static void set_up(struct fixture *f, uint64_t share)
{
    receive_memory_open(&f->memory, share);
    peer_reader_open(&f->reader, &f->memory, LIMIT);
}

static void tear_down(struct fixture *f)
{
    peer_reader_close(&f->reader);
    ck_assert_uint_eq(f->memory.used_bytes, 0);
    receive_memory_close(&f->memory);
}

static enum peer_progress take(struct fixture *f, const unsigned char *bytes, size_t count,
                               size_t *taken)
{
    enum peer_progress progress;
    struct status status = peer_reader_take(&progress, taken, &f->reader, bytes, count);
    ck_assert_msg(!status.code, "%s", status.text);
    return progress;
}

/* RFC 1321, A.5: MD5 ("message digest") = f96b697d7cb7938d525a2f31aaf161d0. */
START_TEST(md5_is_told_by_its_32_digits)
{
    static const char body[] = "message digest";
    static const char digits[] = "f96b697d7cb7938d525a2f31aaf161d0";
    unsigned char frame[256];
    struct fixture f;
    size_t taken;
    set_up(&f, PLENTY);
    size_t bytes = frame_with(frame, sizeof body - 1, 3, 1, 2, digits, body, sizeof body - 1);
    if (PROBE_TESTS_MD5) {
        ck_assert_int_eq(take(&f, frame, bytes, &taken), PEER_FRAME);
        ck_assert_int_eq(f.reader.kind, CHECKSUM_MD5);
        ck_assert(f.reader.frame.is_intact);
        frame[bytes - 1] ^= 1;
        ck_assert_int_eq(take(&f, frame, bytes, &taken), PEER_FRAME);
        ck_assert(!f.reader.frame.is_intact);
    } else {
        enum peer_progress progress;
        ck_assert_int_eq(peer_reader_take(&progress, &taken, &f.reader, frame, bytes).code,
                         STATUS_SKIP);
    }
    tear_down(&f);
}
END_TEST

/* A first frame with CRC-32 whose body looks like more digits of a checksum is known by its own, without
 * a byte behind it. */
START_TEST(short_hexadecimal_body_is_known_at_once)
{
    unsigned char frame[256];
    struct fixture f;
    size_t taken;
    for (size_t length = 0; length < 24; length++) {
        set_up(&f, PLENTY);
        size_t bytes = frame_of(frame, 0, 0, 0, "0123456789abcdef01234567", length);
        ck_assert_int_eq(take(&f, frame, bytes, &taken), PEER_FRAME);
        ck_assert_uint_eq(taken, bytes);
        ck_assert_int_eq(f.reader.frame.is_intact, length > 0);
        tear_down(&f);
    }
}
END_TEST

/* With a wrong checksum nothing tells it but that nothing follows. */
START_TEST(silence_settles_what_bytes_do_not)
{
    unsigned char frame[256];
    struct fixture f;
    size_t taken;
    set_up(&f, PLENTY);
    size_t bytes = frame_with(frame, 4, 9, 0, 0, "00000000", "beef", 4);
    ck_assert_int_eq(take(&f, frame, bytes, &taken), PEER_MORE);
    ck_assert_uint_eq(taken, 0);
    peer_reader_settle(&f.reader);
    ck_assert_int_eq(take(&f, frame, bytes, &taken), PEER_FRAME);
    ck_assert_uint_eq(f.reader.frame.numbers.sequence, 9);
    ck_assert(!f.reader.frame.is_intact);
    tear_down(&f);
}
END_TEST

/* Lengths above the limit are refused from the first eight bytes; at the limit they are not. */
START_TEST(lengths_above_the_limit_are_refused)
{
    static const uint64_t lengths[] = { LIMIT + 1ull, 1ull << 62, UINT64_MAX };
    unsigned char frame[256];
    struct fixture f;
    enum peer_progress progress;
    size_t taken;
    for (size_t i = 0; i < 3; i++) {
        set_up(&f, PLENTY);
        frame_with(frame, lengths[i], 0, 0, 0, "00000000", "x", 1);
        ck_assert_int_eq(peer_reader_take(&progress, &taken, &f.reader, frame, 8).code,
                         STATUS_BAD_INPUT);
        tear_down(&f);
    }
    set_up(&f, PLENTY);
    size_t bytes = frame_with(frame, LIMIT, 0, 0, 0, "00000000", "x", 1);
    ck_assert_int_eq(take(&f, frame, bytes, &taken), PEER_MORE);
    ck_assert_uint_le(f.memory.used_bytes, 64 << 10); /* of 256 MB that were announced */
    tear_down(&f);
}
END_TEST

/* A body that is larger than the memory for bodies is read, checked and not kept. */
START_TEST(body_beyond_the_memory_is_dropped)
{
    static unsigned char body[5000], frame[5200];
    struct fixture f;
    size_t taken;
    memset(body, 'z', sizeof body);
    set_up(&f, sizeof body - 1);
    size_t bytes = frame_of(frame, 0, 0, 0, body, sizeof body);
    ck_assert_int_eq(take(&f, frame, bytes, &taken), PEER_FRAME);
    ck_assert(f.reader.frame.is_intact);
    ck_assert_ptr_null(f.reader.frame.body);
    tear_down(&f);
}
END_TEST

/* Two connections with half a body each and memory for one: one waits, the other gets on, and then it
 * is the first one's turn. */
START_TEST(one_body_always_gets_on)
{
    enum { BODY = 100000 };
    static unsigned char body[BODY], frame[BODY + 100];
    struct receive_memory memory;
    struct peer_reader readers[2];
    size_t at[2] = { 0 }, taken, bytes, done = 0;
    enum peer_progress progress;
    receive_memory_open(&memory, BODY);
    for (int i = 0; i < 2; i++) peer_reader_open(&readers[i], &memory, LIMIT);
    memset(body, 'z', sizeof body);
    bytes = frame_of(frame, 0, 0, 0, body, sizeof body);
    for (int round = 0; done < 2; round++) {
        ck_assert_int_lt(round, 10000);
        for (int i = 0; i < 2; i++) {
            if (at[i] == bytes) continue;
            size_t piece = bytes - at[i] < 1000 ? bytes - at[i] : 1000;
            if (peer_reader_take(&progress, &taken, &readers[i], frame + at[i], piece).code)
                ck_abort();
            at[i] += taken;
            ck_assert_uint_le(memory.used_bytes, 2 * BODY);
            if (progress != PEER_FRAME) continue;
            ck_assert(readers[i].frame.is_intact);
            done++;
            peer_reader_close(&readers[i]);
        }
    }
    ck_assert_uint_eq(memory.used_bytes, 0);
    receive_memory_close(&memory);
}
END_TEST

START_TEST(answers_are_29_bytes)
{
    static const unsigned char want[PEER_ANSWER_BYTES] =
        "OVER_\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\1\3";
    unsigned char got[PEER_ANSWER_BYTES];
    peer_answer_write(got, PEER_OVER, &(struct peer_numbers){ 1, 2, 259 });
    ck_assert(!memcmp(got, want, sizeof got));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("peer_frames");
    TCase *tcase = tcase_create("all");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, captures_are_cut_into_their_frames, 0, 5);
    tcase_add_test(tcase, md5_is_told_by_its_32_digits);
    tcase_add_test(tcase, short_hexadecimal_body_is_known_at_once);
    tcase_add_test(tcase, silence_settles_what_bytes_do_not);
    tcase_add_test(tcase, lengths_above_the_limit_are_refused);
    tcase_add_test(tcase, body_beyond_the_memory_is_dropped);
    tcase_add_test(tcase, one_body_always_gets_on);
    tcase_add_test(tcase, answers_are_29_bytes);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
