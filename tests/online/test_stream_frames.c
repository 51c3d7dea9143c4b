/* Frames of our own client: bytes that are written down, and what is refused. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "online/stream_frames.h"
#include "support/suite.h"

/* A header as docs/stream-protocol.md has it, byte by byte; the CRC by zlib. */
static void put_header(unsigned char *out, unsigned kind, uint64_t sequence, uint64_t bytes,
                       uint64_t sum, uint32_t head_bytes, const unsigned char *head)
{
    memset(out, 0, STREAM_HEADER_BYTES);
    memcpy(out, "UTS1", 4);
    out[4] = (unsigned char)kind;
    for (int i = 0; i < 8; i++) {
        out[8 + i] = (unsigned char)(sequence >> 8 * i);
        out[16 + i] = (unsigned char)(bytes >> 8 * i);
        out[24 + i] = (unsigned char)(sum >> 8 * i);
    }
    for (int i = 0; i < 4; i++) out[32 + i] = (unsigned char)(head_bytes >> 8 * i);
    uLong crc = crc32(0, out, 36);
    if (head_bytes) crc = crc32(crc, head, head_bytes);
    for (int i = 0; i < 4; i++) out[36 + i] = (unsigned char)(crc >> 8 * i);
}

/* A frame that is written is the header of the document and the body. */
START_TEST(frames_are_written_as_documented)
{
    unsigned char wanted[STREAM_HEADER_BYTES + 3], got[STREAM_HEADER_BYTES + 3];
    const unsigned char body[] = "why";

    memcpy(wanted + STREAM_HEADER_BYTES, body, 3);
    put_header(wanted, STREAM_STOP, 0x1122334455667788, 3, 0, 3, body);
    ck_assert_uint_eq(stream_frame_write(got, STREAM_STOP, 0x1122334455667788, body, 3),
                      sizeof wanted);
    ck_assert_mem_eq(got, wanted, sizeof wanted);
}
END_TEST

START_TEST(headers_are_read)
{
    unsigned char header[STREAM_HEADER_BYTES];
    struct stream_frame frame;
    const unsigned char body[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };

    /* the last four bytes are bulk: one word, filled up */
    put_header(header, STREAM_RECORD, 7, 12, 0x0c0b0a09, 8, body);
    ck_assert_int_eq(stream_frame_read(&frame, header, 12).code, STATUS_OK);
    ck_assert_int_eq(frame.kind, STREAM_RECORD);
    ck_assert_uint_eq(frame.sequence, 7);
    ck_assert_uint_eq(frame.body_bytes, 12);
    ck_assert_uint_eq(frame.head_bytes, 8);
    ck_assert(stream_frame_is_intact(&frame, header, body));
}
END_TEST

/* Any bit of header, head or bulk that flips is noticed: in the header by its rules or by the CRC. */
START_TEST(a_flipped_bit_is_noticed)
{
    unsigned char frame_bytes[STREAM_HEADER_BYTES + 21];
    struct stream_frame frame;

    for (int i = 0; i < 21; i++) frame_bytes[STREAM_HEADER_BYTES + i] = (unsigned char)(37 * i);
    uint64_t sum = 0;
    for (int i = 5; i < 21; i++)
        sum += (uint64_t)frame_bytes[STREAM_HEADER_BYTES + i] << 8 * ((i - 5) % 8);
    put_header(frame_bytes, STREAM_RECORD, 3, 21, sum, 5, frame_bytes + STREAM_HEADER_BYTES);
    ck_assert_int_eq(stream_frame_read(&frame, frame_bytes, 100).code, STATUS_OK);
    ck_assert(stream_frame_is_intact(&frame, frame_bytes, frame_bytes + STREAM_HEADER_BYTES));
    for (size_t bit = 0; bit < 8 * sizeof frame_bytes; bit++) {
        unsigned char copy[sizeof frame_bytes];
        memcpy(copy, frame_bytes, sizeof copy);
        copy[bit / 8] ^= (unsigned char)(1u << bit % 8);
        bool noticed = stream_frame_read(&frame, copy, 100).code != STATUS_OK ||
                       frame.body_bytes != 21 ||
                       !stream_frame_is_intact(&frame, copy, copy + STREAM_HEADER_BYTES);
        ck_assert_msg(noticed, "bit %zu", bit);
    }
}
END_TEST

/* What stands in a header is refused at its limit plus one, and taken at it. */
START_TEST(sizes_have_limits)
{
    static const struct {
        unsigned kind;
        uint64_t bytes;
        uint32_t head;
        enum status_code code;
    } cases[] = {
        { STREAM_RECORD, 1000, 1000, STATUS_OK },
        { STREAM_RECORD, 1001, 1000, STATUS_BAD_INPUT },
        { STREAM_RECORD, 10, 11, STATUS_BAD_INPUT },
        { STREAM_RECORD, UINT64_MAX, 10, STATUS_BAD_INPUT },
        { STREAM_HELLO, STREAM_CONTROL_BYTES, STREAM_CONTROL_BYTES, STATUS_OK },
        { STREAM_HELLO, STREAM_CONTROL_BYTES + 1, STREAM_CONTROL_BYTES + 1, STATUS_BAD_INPUT },
        { STREAM_HELLO, 10, 9, STATUS_BAD_INPUT },
        { 0, 0, 0, STATUS_BAD_INPUT },
        { STREAM_REFUSED, 0, 0, STATUS_OK },
        { STREAM_REFUSED + 1, 0, 0, STATUS_BAD_INPUT },
    };
    static const unsigned char head[STREAM_CONTROL_BYTES + 1];
    unsigned char header[STREAM_HEADER_BYTES];
    struct stream_frame frame;

    put_header(header, cases[_i].kind, 0, cases[_i].bytes, 0, cases[_i].head, head);
    struct status status = stream_frame_read(&frame, header, 1000);
    ck_assert_int_eq(status.code, cases[_i].code);
    ck_assert(status.code == STATUS_OK || status.text[0]);
}
END_TEST

START_TEST(the_head_of_a_record_has_a_limit)
{
    unsigned char header[STREAM_HEADER_BYTES];
    struct stream_frame frame;

    stream_frame_write(header, STREAM_ACK, 0, NULL, 0);
    header[4] = STREAM_RECORD;
    stream_put_u64(header + 16, (uint64_t)1 << 40);
    stream_put_u32(header + 32, STREAM_HEAD_BYTES);
    ck_assert_int_eq(stream_frame_read(&frame, header, UINT64_MAX).code, STATUS_OK);
    stream_put_u32(header + 32, STREAM_HEAD_BYTES + 1);
    ck_assert_int_eq(stream_frame_read(&frame, header, UINT64_MAX).code, STATUS_BAD_INPUT);
}
END_TEST

/* 16 bytes of session, rank, process, flags, lengths, token, name. */
static size_t put_greeting(unsigned char *out, const char *token, const char *host)
{
    memset(out, 0, 32);
    memcpy(out, "0123456789abcdef", 16);
    stream_put_u32(out + 16, 3);
    stream_put_u32(out + 20, 4711);
    stream_put_u32(out + 24, STREAM_WANTS_STOP);
    stream_put_u16(out + 28, (uint16_t)strlen(token));
    stream_put_u16(out + 30, (uint16_t)strlen(host));
    memcpy(out + 32, token, strlen(token));
    memcpy(out + 32 + strlen(token), host, strlen(host));
    return 32 + strlen(token) + strlen(host);
}

START_TEST(greetings_are_read)
{
    unsigned char body[200];
    struct stream_hello hello;
    size_t bytes = put_greeting(body, "secret", "node\n7");

    ck_assert_int_eq(stream_hello_read(&hello, body, bytes).code, STATUS_OK);
    ck_assert_mem_eq(hello.session, "0123456789abcdef", 16);
    ck_assert_int_eq(hello.rank, 3);
    ck_assert_uint_eq(hello.process, 4711);
    ck_assert_uint_eq(hello.flags, STREAM_WANTS_STOP);
    ck_assert(stream_token_is(hello.token, hello.token_bytes, "secret"));
    ck_assert_str_eq(hello.host, "node 7"); /* fit for a log */
    for (size_t cut = 0; cut < bytes; cut++)
        ck_assert_int_eq(stream_hello_read(&hello, body, cut).code, STATUS_BAD_INPUT);
    ck_assert_int_eq(stream_hello_read(&hello, body, bytes + 1).code, STATUS_BAD_INPUT);
}
END_TEST

START_TEST(only_the_token_is_the_token)
{
    static const char *const wrong[] = { "",       "s",      "secre", "secrets", "secretsecret",
                                         "Secret", "\0ecret" };
    const char *token = wrong[_i];

    ck_assert(!stream_token_is((const unsigned char *)token, strlen(token), "secret"));
    ck_assert(stream_token_is((const unsigned char *)"secret", 6, "secret"));
    ck_assert(stream_token_is((const unsigned char *)"", 0, ""));
    ck_assert(!stream_token_is((const unsigned char *)"x", 1, ""));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream frames");
    TCase *cases = tcase_create("all");

    tcase_add_test(cases, frames_are_written_as_documented);
    tcase_add_test(cases, headers_are_read);
    tcase_add_test(cases, a_flipped_bit_is_noticed);
    tcase_add_loop_test(cases, sizes_have_limits, 0, 10);
    tcase_add_test(cases, the_head_of_a_record_has_a_limit);
    tcase_add_test(cases, greetings_are_read);
    tcase_add_loop_test(cases, only_the_token_is_the_token, 0, 7);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
