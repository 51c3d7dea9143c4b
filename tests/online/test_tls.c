/* TLS of the server, with certificates made here: who is let in, who is not, and that a failed handshake
 * ends nothing but its connection. */
#include "online/tls.h"

#include "support/suite.h"

#ifdef PROBE_HAS_OPENSSL
#include "online/certificates.h"
#include "online/frames.h"
#include "online/loopback.h"

enum { PLENTY = 1 << 30, DAY = 86400, WITHDRAWN = 77 };

/* An authority with a server and clients of every kind. */
struct parties {
    struct scratch folder;
    struct identity authority, server, client, stranger_authority, stranger, expired, withdrawn,
        server_only;
};

static void parties_make(struct parties *p)
{
    const struct identity_request authority = { "authority", 1, -DAY, DAY, true, NULL };
    const struct identity_request server = { "server", 2, -DAY, DAY, false, NULL };
    const struct identity_request client = { "client", 3, -DAY, DAY, false, "clientAuth" };
    const struct identity_request expired = { "expired", 4, -2 * DAY, -DAY, false, NULL };
    const struct identity_request withdrawn = { "withdrawn", WITHDRAWN, -DAY, DAY, false, NULL };
    const struct identity_request server_only = {
        "server only", 5, -DAY, DAY, false, "serverAuth"
    };
    p->folder = scratch_make();
    p->authority = identity_make(&authority, NULL);
    p->server = identity_make(&server, &p->authority);
    p->client = identity_make(&client, &p->authority);
    p->expired = identity_make(&expired, &p->authority);
    p->withdrawn = identity_make(&withdrawn, &p->authority);
    p->server_only = identity_make(&server_only, &p->authority);
    p->stranger_authority = identity_make(&authority, NULL);
    p->stranger = identity_make(&client, &p->stranger_authority);
    write_key(scratch_path(&p->folder, "server.key"), p->server.key, NULL);
    write_certificate(scratch_path(&p->folder, "server.crt"), p->server.certificate);
}

static void parties_release(struct parties *p)
{
    struct identity *all[] = { &p->authority, &p->server,  &p->client,    &p->stranger_authority,
                               &p->stranger,  &p->expired, &p->withdrawn, &p->server_only };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) identity_release(all[i]);
    scratch_remove(&p->folder);
}

static void require_certificates(const struct parties *p)
{
    write_certificate(scratch_path(&p->folder, "ca.crt"), p->authority.certificate);
}

static struct tls *open_tls(const struct parties *p)
{
    struct tls *tls = NULL;
    struct status status = tls_open(&tls, p->folder.path, FILES_CHECKED, NULL);
    ck_assert_msg(!status.code, "%s", status.text);
    return tls;
}

/* ---- a client --------------------------------------------------------------------------- */

struct client {
    const struct identity *identity; /* NULL: without a certificate */
    int version;                     /* the only one that it speaks; 0: any */
    const char *suites;              /* of TLS 1.2; NULL: the usual ones */
};

/* Send a record through TLS. Was it answered with OK___? */
static bool is_served(const struct loopback *l, const struct parties *p,
                      const struct client *client)
{
    unsigned char frame[256], answer[PEER_ANSWER_BYTES];
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    size_t bytes = frame_of(frame, 0, 0, 0, "a record", 8), done = 0;
    SSL_CTX_set_security_level(context, 0);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), p->authority.certificate);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    if (client->version) {
        SSL_CTX_set_min_proto_version(context, client->version);
        SSL_CTX_set_max_proto_version(context, client->version);
    }
    if (client->suites) ck_assert_int_eq(SSL_CTX_set_cipher_list(context, client->suites), 1);
    if (client->identity) {
        SSL_CTX_use_certificate(context, client->identity->certificate);
        SSL_CTX_use_PrivateKey(context, client->identity->key);
    }
    SSL *ssl = SSL_new(context);
    int fd = client_connect(l);
    SSL_set_fd(ssl, fd);
    /* With TLS 1.3 a refused certificate shows in the first read. */
    bool served = SSL_connect(ssl) == 1 && SSL_write_ex(ssl, frame, bytes, &done) == 1 &&
                  SSL_read_ex(ssl, answer, sizeof answer, &done) == 1 &&
                  !memcmp(answer, "OK___", 5);
    if (served) SSL_shutdown(ssl);
    SSL_free(ssl);
    SSL_CTX_free(context);
    close(fd);
    return served;
}

/* ---- who is let in ---------------------------------------------------------------------- */

START_TEST(both_versions_are_spoken)
{
    static const int versions[] = { 0, TLS1_2_VERSION, TLS1_3_VERSION };
    struct parties p;
    struct loopback l;
    parties_make(&p);
    struct tls *tls = open_tls(&p);
    ck_assert(!tls_is_mutual(tls));
    loopback_start(&l, PLENTY, tls);
    for (size_t i = 0; i < 3; i++)
        ck_assert(is_served(&l, &p, &(struct client){ .version = versions[i] }));
    loopback_stop(&l);
    tls_close(tls);
    parties_release(&p);
}
END_TEST

/* Older versions, and suites without forward secrecy or authenticated encryption, are refused; the next client
 * is served. */
START_TEST(downgrades_are_refused)
{
    static const struct client clients[] = {
        { .version = TLS1_VERSION },
        { .version = TLS1_1_VERSION },
        { .version = TLS1_2_VERSION, .suites = "ECDHE-ECDSA-AES128-SHA" },
        { .version = TLS1_2_VERSION, .suites = "ECDHE-ECDSA-AES128-SHA256" },
        { .version = TLS1_2_VERSION, .suites = "AES128-GCM-SHA256" },
        { .version = TLS1_2_VERSION, .suites = "aNULL:@SECLEVEL=0" },
    };
    struct parties p;
    struct loopback l;
    parties_make(&p);
    struct tls *tls = open_tls(&p);
    loopback_start(&l, PLENTY, tls);
    for (size_t i = 0; i < sizeof clients / sizeof *clients; i++)
        ck_assert(!is_served(&l, &p, &clients[i]));
    ck_assert(loopback_says(&l, "the TLS handshake failed"));
    ck_assert(is_served(&l, &p, &(struct client){ .version = 0 }));
    loopback_stop(&l);
    tls_close(tls);
    parties_release(&p);
}
END_TEST

/* With ca.crt and crl.pem only those with a good certificate get in. */
START_TEST(clients_are_known_by_their_certificates)
{
    struct parties p;
    struct loopback l;
    parties_make(&p);
    require_certificates(&p);
    write_list(scratch_path(&p.folder, "crl.pem"), &p.authority, WITHDRAWN, DAY);
    const struct {
        const struct identity *identity;
        const char *reason; /* NULL: let in */
    } clients[] = {
        { &p.client, NULL },
        { NULL, "peer did not return a certificate" },
        { &p.stranger, "certificate verify failed" },
        { &p.expired, "certificate has expired" },
        { &p.withdrawn, "certificate revoked" },
        { &p.server_only, "certificate purpose" },
        { &p.client, NULL },
    };
    struct tls *tls = open_tls(&p);
    ck_assert(tls_is_mutual(tls));
    loopback_start(&l, PLENTY, tls);
    for (size_t i = 0; i < sizeof clients / sizeof *clients; i++) {
        struct client client = { .identity = clients[i].identity,
                                 .version = _i ? TLS1_2_VERSION : TLS1_3_VERSION };
        ck_assert_int_eq(is_served(&l, &p, &client), !clients[i].reason);
        if (clients[i].reason)
            ck_assert_msg(loopback_says(&l, clients[i].reason), "%s: %s", clients[i].reason, l.log);
    }
    ck_assert_uint_eq(l.attendance.delivered, 2);
    loopback_stop(&l);
    tls_close(tls);
    parties_release(&p);
}
END_TEST

/* Bytes that are no TLS, a handshake that stops in the middle, garbage inside: the others continue. */
START_TEST(failed_handshakes_end_only_themselves)
{
    static const char *const greetings[] = { "GET / HTTP/1.1\r\n\r\n",
                                             "\0\0\0\0\0\0\0\x10plain frame",
                                             "\x16\x03\x01\x02\x00\x01", "\x16\x03\x01\xff\xff" };
    static const size_t lengths[] = { 18, 19, 6, 5 };
    struct parties p;
    struct loopback l;
    int fds[4];
    parties_make(&p);
    struct tls *tls = open_tls(&p);
    loopback_start(&l, PLENTY, tls);
    for (int i = 0; i < 4; i++) {
        fds[i] = client_connect(&l);
        ck_assert(client_send(fds[i], greetings[i], lengths[i]));
        ck_assert(is_served(&l, &p, &(struct client){ .version = 0 }));
    }
    ck_assert(loopback_says(&l, "http request"));
    for (int i = 0; i < 4; i++) close(fds[i]);
    ck_assert(loopback_says(&l, "the connection ended within the TLS handshake") ||
              loopback_says(&l, "the TLS handshake failed"));
    loopback_stop(&l);
    tls_close(tls);
    parties_release(&p);
}
END_TEST

/* A client of TLS 1.2 that asks for new keys is refused, and served on its old ones or not at all. */
START_TEST(nothing_is_renegotiated)
{
    struct parties p;
    struct loopback l;
    parties_make(&p);
    struct tls *tls = open_tls(&p);
    loopback_start(&l, PLENTY, tls);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
    SSL *ssl = SSL_new(context);
    int fd = client_connect(&l);
    SSL_set_fd(ssl, fd);
    ck_assert_int_eq(SSL_connect(ssl), 1);
    (void)SSL_renegotiate(ssl);
    ck_assert_int_ne(SSL_do_handshake(ssl), 1);
    SSL_free(ssl);
    SSL_CTX_free(context);
    close(fd);
    ck_assert(is_served(&l, &p, &(struct client){ .version = 0 }));
    loopback_stop(&l);
    tls_close(tls);
    parties_release(&p);
}
END_TEST

/* ---- files ------------------------------------------------------------------------------ */

static void expect_refused(const struct parties *p, const char *sentence)
{
    struct tls *tls;
    struct status status = tls_open(&tls, p->folder.path, FILES_CHECKED, NULL);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_msg(strstr(status.text, sentence) != NULL, "%s", status.text);
}

START_TEST(files_that_do_not_fit_are_refused)
{
    struct parties p;
    parties_make(&p);
    const char *key = scratch_path(&p.folder, "server.key");
    const char *certificate = scratch_path(&p.folder, "server.crt");
    write_key(key, p.client.key, NULL);
    expect_refused(&p, "server.key: it is not the key of server.crt");
    write_key(key, p.server.key, "secret");
    expect_refused(&p, "server.key: the key is encrypted, and there is no terminal");
    scratch_text(&p.folder, "server.key", "no key");
    expect_refused(&p, "server.key: there is no private key");
    write_key(key, p.expired.key, NULL);
    write_certificate(certificate, p.expired.certificate);
    expect_refused(&p, "server.crt: its time is over");
    scratch_text(&p.folder, "server.crt", "no certificate");
    expect_refused(&p, "server.crt: there is no certificate");
    write_key(key, p.server.key, NULL);
    write_certificate(certificate, p.server.certificate);
    write_list(scratch_path(&p.folder, "crl.pem"), &p.authority, WITHDRAWN, DAY);
    expect_refused(&p, "crl.pem needs the ca.crt");
    require_certificates(&p);
    write_list(scratch_path(&p.folder, "crl.pem"), &p.authority, WITHDRAWN, -10);
    expect_refused(&p, "crl.pem: its time is over");
    write_list(scratch_path(&p.folder, "crl.pem"), &p.stranger, WITHDRAWN, DAY);
    expect_refused(&p, "crl.pem: it is not signed by an authority of ca.crt");
    scratch_text(&p.folder, "ca.crt", "");
    expect_refused(&p, "ca.crt: there is no certificate");
    parties_release(&p);
}
END_TEST

static bool type_secret(char *password, size_t bytes, const char *path)
{
    (void)path;
    snprintf(password, bytes, "secret");
    return true;
}

START_TEST(password_opens_an_encrypted_key)
{
    struct parties p;
    struct tls *tls;
    parties_make(&p);
    write_key(scratch_path(&p.folder, "server.key"), p.server.key, "secret");
    ck_assert(!tls_open(&tls, p.folder.path, FILES_CHECKED, type_secret).code);
    tls_close(tls);
    write_key(scratch_path(&p.folder, "server.key"), p.server.key, "another");
    struct status status = tls_open(&tls, p.folder.path, FILES_CHECKED, type_secret);
    ck_assert(strstr(status.text, "the password is not the right one"));
    parties_release(&p);
}
END_TEST

/* Twenty frames in one write, as msprobe's client sends them: all are answered. */
START_TEST(frames_of_one_write_are_all_answered)
{
    static unsigned char frames[20 * 20000], body[18000];
    struct parties p;
    struct loopback l;
    size_t bytes = 0, done;
    parties_make(&p);
    struct tls *tls = open_tls(&p);
    loopback_start(&l, PLENTY, tls);
    memset(body, 'z', sizeof body);
    for (uint64_t i = 0; i < 20; i++)
        bytes += frame_of(frames + bytes, i, 0, 0, body, i % 2 ? 100 : sizeof body);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(context);
    int fd = client_connect(&l);
    SSL_set_fd(ssl, fd);
    ck_assert_int_eq(SSL_connect(ssl), 1);
    ck_assert_int_eq(SSL_write_ex(ssl, frames, bytes, &done), 1);
    for (uint64_t i = 0; i < 20; i++) {
        unsigned char answer[PEER_ANSWER_BYTES];
        for (size_t have = 0; have < sizeof answer; have += done)
            ck_assert_int_eq(SSL_read_ex(ssl, answer + have, sizeof answer - have, &done), 1);
        ck_assert(!memcmp(answer, "OK___", 5));
        ck_assert_uint_eq(answer[12], i);
    }
    SSL_free(ssl);
    SSL_CTX_free(context);
    close(fd);
    loopback_stop(&l);
    tls_close(tls);
    parties_release(&p);
}
END_TEST

static void add_tests(TCase *tcase)
{
    tcase_add_test(tcase, both_versions_are_spoken);
    tcase_add_test(tcase, downgrades_are_refused);
    tcase_add_loop_test(tcase, clients_are_known_by_their_certificates, 0, 2);
    tcase_add_test(tcase, failed_handshakes_end_only_themselves);
    tcase_add_test(tcase, nothing_is_renegotiated);
    tcase_add_test(tcase, files_that_do_not_fit_are_refused);
    tcase_add_test(tcase, password_opens_an_encrypted_key);
    tcase_add_test(tcase, frames_of_one_write_are_all_answered);
}
#else
START_TEST(without_openssl_it_is_said)
{
    struct tls *tls;
    struct status status = tls_open(&tls, ".", FILES_CHECKED, NULL);
    ck_assert_int_eq(status.code, STATUS_BAD_ARGUMENT);
}
END_TEST

static void add_tests(TCase *tcase) { tcase_add_test(tcase, without_openssl_it_is_said); }
#endif

int main(void)
{
    Suite *suite = suite_create("tls");
    TCase *tcase = tcase_create("all");
    tcase_set_timeout(tcase, 300);
    add_tests(tcase);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
