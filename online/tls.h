/* TLS 1.2 and 1.3 for the server, by OpenSSL 3. In a program that was built without it tls_open says so.
 *
 * A directory holds, in PEM:
 *     server.key  the server's private key; it may be encrypted
 *     server.crt  its certificate, with those of intermediate authorities behind it
 *     ca.crt      optional: clients must have a certificate from one of these authorities
 *     crl.pem     optional, with ca.crt: certificates that were withdrawn
 * Names of hosts are not checked. Only suites with forward secrecy and authenticated encryption are
 * offered, and nothing is renegotiated or resumed.
 */
#ifndef PROBE_ONLINE_TLS_H
#define PROBE_ONLINE_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/file.h"
#include "core/status.h"

struct tls;
struct tls_session;

/* What a transfer came to. */
enum transport_state {
    TRANSPORT_DONE,
    TRANSPORT_WANTS_READ,
    TRANSPORT_WANTS_WRITE,
    TRANSPORT_ENDED, /* the other side has closed */
};

/* Who knows the password of an encrypted key. NULL: nobody, it is refused. */
typedef bool tls_ask_password(char *password, size_t bytes, const char *path);

/* Read and check the files: the key is that of the certificate, all are within their time, the list
 * of withdrawn certificates is signed by an authority of ca.crt.
 *
 *   errors  STATUS_BAD_INPUT naming the file
 */
struct status tls_open(struct tls **out, const char *directory, struct file_policy policy,
                       tls_ask_password *ask);
void tls_close(struct tls *tls);

/* Are clients asked for certificates? */
bool tls_is_mutual(const struct tls *tls);

/* The server's end of one connection. The functions below behave as those of transport.h. */
struct status tls_accept(struct tls_session **out, struct tls *tls, int fd);
struct status tls_handshake(enum transport_state *state, struct tls_session *session);
struct status tls_peek(enum transport_state *state, unsigned char *byte,
                       struct tls_session *session);
struct status tls_read(enum transport_state *state, size_t *got, struct tls_session *session,
                       void *bytes, size_t count);
struct status tls_write(enum transport_state *state, size_t *written, struct tls_session *session,
                        const void *bytes, size_t count);
bool tls_has_pending(const struct tls_session *session);
void tls_say_end(struct tls_session *session);
void tls_session_close(struct tls_session *session);

#endif
