/* Clients of msprobe's protocol, for tests: bytes out, answers in. */
#ifndef PROBE_TESTS_ONLINE_CLIENTS_H
#define PROBE_TESTS_ONLINE_CLIENTS_H

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_BYTES = 29 };

static inline int client_connect_to(uint16_t port)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_msg(!connect(fd, (void *)&to, sizeof to), "connect: %s", strerror(errno));
    return fd;
}

/* Write all bytes; false when the other side has closed. */
static inline bool client_send(int fd, const void *bytes, size_t count)
{
    while (count) {
        ssize_t n = send(fd, bytes, count, MSG_NOSIGNAL);
        if (n < 0) return false;
        bytes = (const char *)bytes + n;
        count -= (size_t)n;
    }
    return true;
}

struct client_answer {
    char word[6];
    uint64_t sequence, rank, step;
};

/* The next answer; false at the end of the connection. Fails after 20 s of silence. */
static inline bool client_read(int fd, struct client_answer *out)
{
    unsigned char bytes[ANSWER_BYTES];
    size_t have = 0;
    while (have < sizeof bytes) {
        struct pollfd event = { .fd = fd, .events = POLLIN };
        ck_assert_msg(poll(&event, 1, 20000) == 1, "no answer in 20 s");
        ssize_t n = recv(fd, bytes + have, sizeof bytes - have, 0);
        if (n <= 0) {
            ck_assert_uint_eq(have, 0);
            return false;
        }
        have += (size_t)n;
    }
    memcpy(out->word, bytes, 5);
    out->word[5] = '\0';
    uint64_t *numbers[] = { &out->sequence, &out->rank, &out->step };
    for (int i = 0; i < 3; i++) {
        *numbers[i] = 0;
        for (int k = 0; k < 8; k++) *numbers[i] = *numbers[i] << 8 | bytes[5 + 8 * i + k];
    }
    return true;
}

static inline void client_expect(int fd, const char *word, uint64_t sequence)
{
    struct client_answer got;
    ck_assert(client_read(fd, &got));
    ck_assert_str_eq(got.word, word);
    ck_assert_uint_eq(got.sequence, sequence);
}

/* Is the connection closed by the server, without another answer? */
static inline void client_expect_end(int fd)
{
    struct client_answer got;
    ck_assert(!client_read(fd, &got));
}

#endif
