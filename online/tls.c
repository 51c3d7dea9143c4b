/* OpenSSL behind tls.h. Files are read by the rules of core/file.h and parsed from memory. */
#include "online/tls.h"

#ifdef PROBE_HAS_OPENSSL
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "online/tls_library.h"

struct tls {
    SSL_CTX *context;
    bool is_mutual;
};

struct tls_session {
    SSL *ssl;
};

/* As the client of msprobe has them: ephemeral keys and authenticated encryption. Those of TLS 1.3 are
 * nothing else. */
static const char suites[] = "ECDHE+AESGCM:ECDHE+CHACHA20:DHE+AESGCM:DHE+CHACHA20:!aNULL:!PSK";

/* ---- errors ----------------------------------------------------------------------------- */

/* What OpenSSL found, in words; the last entry of its queue is the nearest to the cause. */
static const char *reason(void)
{
    const unsigned long error = ERR_peek_last_error();
    const char *text = error ? ERR_reason_error_string(error) : NULL;
    return text ? text : "no reason given";
}

static struct status bad_file(const char *path, const char *sentence)
{
    struct status status = status_error(STATUS_BAD_INPUT, "%s: %s", path, sentence);
    ERR_clear_error();
    return status;
}

/* ---- files ------------------------------------------------------------------------------ */

enum { PATH_BYTES = 4096 + 32 };

/* One of the files of the directory, in memory. */
struct pem_file {
    char path[PATH_BYTES];
    char *text;
    BIO *bio;
};

static void pem_close(struct pem_file *file)
{
    BIO_free(file->bio);
    if (file->text) OPENSSL_cleanse(file->text, strlen(file->text));
    memory_release(file->text);
}

static void pem_path(char path[PATH_BYTES], const char *directory, const char *name)
{
    (void)snprintf(path, PATH_BYTES, "%s/%s", directory, name);
}

static struct status pem_open(struct pem_file *out, const char *directory, const char *name,
                              struct file_policy policy)
{
    size_t bytes;
    *out = (struct pem_file){ .text = NULL };
    pem_path(out->path, directory, name);
    TRY(file_read_text(&out->text, &bytes, out->path, policy));
    out->bio = BIO_new_mem_buf(out->text, (int)bytes);
    if (out->bio) return status_ok();
    pem_close(out);
    return status_no_memory(bytes);
}

static bool has_file(const char *directory, const char *name)
{
    char path[PATH_BYTES];
    pem_path(path, directory, name);
    return file_exists(path);
}

/* The next certificate of a file; NULL at its end. */
static X509 *next_certificate(struct pem_file *file)
{
    X509 *certificate = PEM_read_bio_X509(file->bio, NULL, NULL, NULL);
    ERR_clear_error();
    return certificate;
}

/* Is now within the time of a certificate or list? */
static struct status check_time(const char *path, const ASN1_TIME *from, const ASN1_TIME *to)
{
    if (X509_cmp_current_time(from) > 0) return bad_file(path, "it is not valid yet");
    if (to && X509_cmp_current_time(to) < 0) return bad_file(path, "its time is over");
    return status_ok();
}

static struct status check_certificate_time(const char *path, const X509 *certificate)
{
    return check_time(path, X509_get0_notBefore(certificate), X509_get0_notAfter(certificate));
}

/* ---- the server's own key and certificate ----------------------------------------------- */

struct password_request {
    tls_ask_password *ask;
    const char *path;
    bool was_asked;
};

static int give_password(char *out, int bytes, int writing, void *context)
{
    struct password_request *request = context;
    (void)writing;
    request->was_asked = true;
    if (!request->ask || !request->ask(out, (size_t)bytes, request->path)) return -1;
    return (int)strlen(out);
}

static struct status use_key(struct tls *tls, struct pem_file *file, tls_ask_password *ask)
{
    struct password_request request = { .ask = ask, .path = file->path };
    EVP_PKEY *key = PEM_read_bio_PrivateKey(file->bio, NULL, give_password, &request);
    const bool is_key = key != NULL;
    const bool fits = is_key && SSL_CTX_use_PrivateKey(tls->context, key) == 1 &&
                      SSL_CTX_check_private_key(tls->context) == 1;
    EVP_PKEY_free(key);
    if (fits) return status_ok();
    if (is_key) return bad_file(file->path, "it is not the key of server.crt");
    if (request.was_asked && !ask)
        return bad_file(file->path, "the key is encrypted, and there is no terminal to ask for its "
                                    "password; 'openssl pkey' writes one without");
    return bad_file(file->path, request.was_asked ? "the key is encrypted, and the password is not "
                                                    "the right one"
                                                  : "there is no private key in PEM format");
}

static struct status use_certificate(struct tls *tls, struct pem_file *file)
{
    X509 *own = next_certificate(file), *issuer;
    if (!own) return bad_file(file->path, "there is no certificate in PEM format");
    struct status status = check_certificate_time(file->path, own);
    if (!status.code && SSL_CTX_use_certificate(tls->context, own) != 1)
        status = bad_file(file->path, reason());
    X509_free(own);
    while (!status.code && (issuer = next_certificate(file)))
        if (SSL_CTX_add0_chain_cert(tls->context, issuer) != 1) {
            X509_free(issuer);
            status = bad_file(file->path, reason());
        }
    return status;
}

static struct status load_own(struct tls *tls, const char *directory, struct file_policy policy,
                              tls_ask_password *ask)
{
    struct pem_file file;
    TRY(pem_open(&file, directory, "server.crt", policy));
    struct status status = use_certificate(tls, &file);
    pem_close(&file);
    TRY(status);
    TRY(pem_open(&file, directory, "server.key", policy));
    status = use_key(tls, &file, ask);
    pem_close(&file);
    return status;
}

/* ---- what clients must have ------------------------------------------------------------- */

static struct status trust_authority(struct tls *tls, const char *path, X509 *authority)
{
    TRY(check_certificate_time(path, authority));
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(tls->context), authority) == 1 &&
        SSL_CTX_add_client_CA(tls->context, authority) == 1)
        return status_ok();
    return bad_file(path, reason());
}

static struct status trust_authorities(struct tls *tls, struct pem_file *file)
{
    struct status status = status_ok();
    X509 *authority;
    while (!status.code && (authority = next_certificate(file))) {
        status = trust_authority(tls, file->path, authority);
        X509_free(authority);
        tls->is_mutual = true;
    }
    if (!status.code && !tls->is_mutual)
        return bad_file(file->path, "there is no certificate in PEM format");
    return status;
}

/* Is the list signed by one of the authorities? */
static bool is_signed(const struct tls *tls, X509_CRL *list)
{
    X509_STORE *store = SSL_CTX_get_cert_store(tls->context);
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    bool valid = false;
    X509_OBJECT *issuer =
        context && X509_STORE_CTX_init(context, store, NULL, NULL) == 1
            ? X509_STORE_CTX_get_obj_by_subject(context, X509_LU_X509, X509_CRL_get_issuer(list))
            : NULL;
    if (issuer) valid = X509_CRL_verify(list, X509_get0_pubkey(X509_OBJECT_get0_X509(issuer))) == 1;
    X509_OBJECT_free(issuer);
    X509_STORE_CTX_free(context);
    return valid;
}

static struct status use_list(struct tls *tls, const char *path, X509_CRL *list)
{
    X509_STORE *store = SSL_CTX_get_cert_store(tls->context);
    if (!is_signed(tls, list)) return bad_file(path, "it is not signed by an authority of ca.crt");
    TRY(check_time(path, X509_CRL_get0_lastUpdate(list), X509_CRL_get0_nextUpdate(list)));
    if (X509_STORE_add_crl(store, list) != 1) return bad_file(path, reason());
    (void)X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
    return status_ok();
}

static struct status use_lists(struct tls *tls, struct pem_file *file)
{
    struct status status = status_ok();
    X509_CRL *list;
    size_t count = 0;
    for (; !status.code && (list = PEM_read_bio_X509_CRL(file->bio, NULL, NULL, NULL)); count++) {
        status = use_list(tls, file->path, list);
        X509_CRL_free(list);
    }
    ERR_clear_error();
    if (!status.code && !count)
        return bad_file(file->path, "there is no list of withdrawn certificates in PEM format");
    return status;
}

static struct status load_clients(struct tls *tls, const char *directory, struct file_policy policy)
{
    struct pem_file file;
    const bool has_list = has_file(directory, "crl.pem");
    if (!has_file(directory, "ca.crt"))
        return has_list ? status_error(STATUS_BAD_INPUT,
                                       "%s: crl.pem needs the ca.crt of the "
                                       "authority that signed it",
                                       directory)
                        : status_ok();
    TRY(pem_open(&file, directory, "ca.crt", policy));
    struct status status = trust_authorities(tls, &file);
    pem_close(&file);
    TRY(status);
    SSL_CTX_set_verify(tls->context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    if (!has_list) return status_ok();
    TRY(pem_open(&file, directory, "crl.pem", policy));
    status = use_lists(tls, &file);
    pem_close(&file);
    return status;
}

/* ---- the context ------------------------------------------------------------------------ */

static struct status set_up(struct tls *tls)
{
    tls->context = SSL_CTX_new(TLS_server_method());
    if (!tls->context || SSL_CTX_set_min_proto_version(tls->context, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_cipher_list(tls->context, suites) != 1 ||
        SSL_CTX_set_dh_auto(tls->context, 1) != 1)
        return status_error(STATUS_INTERNAL, "OpenSSL cannot be set up: %s", reason());
    /* The end of a frame is known from its length, not from the end of the connection. */
    SSL_CTX_set_options(tls->context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                          SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                          SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_session_cache_mode(tls->context, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_num_tickets(tls->context, 0);
    SSL_CTX_set_mode(tls->context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                       SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                       SSL_MODE_RELEASE_BUFFERS);
    return status_ok();
}

struct status tls_open(struct tls **out, const char *directory, struct file_policy policy,
                       tls_ask_password *ask)
{
    TRY(tls_library_load());
    struct tls *tls = memory_allocate_zeroed(1, sizeof *tls);
    if (!tls) return status_no_memory(sizeof *tls);
    struct status status = set_up(tls);
    if (!status.code) status = load_own(tls, directory, policy, ask);
    if (!status.code) status = load_clients(tls, directory, policy);
    if (status.code) tls_close(tls);
    else *out = tls;
    return status;
}

void tls_close(struct tls *tls)
{
    if (!tls) return;
    SSL_CTX_free(tls->context);
    memory_release(tls);
}

bool tls_is_mutual(const struct tls *tls) { return tls->is_mutual; }

/* ---- a connection ----------------------------------------------------------------------- */

struct status tls_accept(struct tls_session **out, struct tls *tls, int fd)
{
    struct tls_session *session = memory_allocate_zeroed(1, sizeof *session);
    if (!session) return status_no_memory(sizeof *session);
    session->ssl = SSL_new(tls->context);
    if (!session->ssl || SSL_set_fd(session->ssl, fd) != 1) {
        tls_session_close(session);
        return status_no_memory(0);
    }
    SSL_set_accept_state(session->ssl);
    *out = session;
    return status_ok();
}

/* Why a handshake failed: OpenSSL's reason, and for a certificate what is wrong with it. */
static struct status handshake_failed(const struct tls_session *session)
{
    const long verdict = SSL_get_verify_result(session->ssl);
    return status_error(STATUS_IO, "the TLS handshake failed: %s%s%s", reason(),
                        verdict == X509_V_OK ? "" : ": ",
                        verdict == X509_V_OK ? "" : X509_verify_cert_error_string(verdict));
}

/* What the result of a call means. */
static struct status state_of(enum transport_state *state, const struct tls_session *session,
                              int result)
{
    *state = TRANSPORT_DONE;
    if (result > 0) return status_ok();
    switch (SSL_get_error(session->ssl, result)) {
    case SSL_ERROR_WANT_READ: *state = TRANSPORT_WANTS_READ; return status_ok();
    case SSL_ERROR_WANT_WRITE: *state = TRANSPORT_WANTS_WRITE; return status_ok();
    case SSL_ERROR_ZERO_RETURN: *state = TRANSPORT_ENDED; return status_ok();
    default: break;
    }
    if (!SSL_is_init_finished(session->ssl)) return handshake_failed(session);
    return status_error(STATUS_IO, "TLS failed: %s", reason());
}

struct status tls_handshake(enum transport_state *state, struct tls_session *session)
{
    ERR_clear_error();
    struct status status = state_of(state, session, SSL_accept(session->ssl));
    if (!status.code && *state == TRANSPORT_ENDED)
        return status_error(STATUS_IO, "the connection ended within the TLS handshake");
    return status;
}

struct status tls_peek(enum transport_state *state, unsigned char *byte,
                       struct tls_session *session)
{
    size_t got;
    ERR_clear_error();
    return state_of(state, session, SSL_peek_ex(session->ssl, byte, 1, &got));
}

struct status tls_read(enum transport_state *state, size_t *got, struct tls_session *session,
                       void *bytes, size_t count)
{
    *got = 0;
    ERR_clear_error();
    return state_of(state, session, SSL_read_ex(session->ssl, bytes, count, got));
}

struct status tls_write(enum transport_state *state, size_t *written, struct tls_session *session,
                        const void *bytes, size_t count)
{
    *written = 0;
    ERR_clear_error();
    return state_of(state, session, SSL_write_ex(session->ssl, bytes, count, written));
}

bool tls_has_pending(const struct tls_session *session) { return SSL_has_pending(session->ssl); }

void tls_say_end(struct tls_session *session)
{
    ERR_clear_error();
    if (SSL_is_init_finished(session->ssl)) (void)SSL_shutdown(session->ssl);
    ERR_clear_error();
}

void tls_session_close(struct tls_session *session)
{
    if (!session) return;
    SSL_free(session->ssl);
    memory_release(session);
}

#else
/* ---- without OpenSSL -------------------------------------------------------------------- */

struct status tls_open(struct tls **out, const char *directory, struct file_policy policy,
                       tls_ask_password *ask)
{
    (void)out, (void)policy, (void)ask;
    return status_error(STATUS_BAD_ARGUMENT,
                        "%s: this program was built without OpenSSL and cannot encrypt; set "
                        "tls_path to \"\" for connections in plain text",
                        directory);
}

static struct status no_tls(void)
{
    return status_error(STATUS_INTERNAL, "there are no TLS connections in this program");
}

void tls_close(struct tls *tls) { (void)tls; }
bool tls_is_mutual(const struct tls *tls) { return (void)tls, false; }
struct status tls_accept(struct tls_session **out, struct tls *tls, int fd)
{
    return (void)out, (void)tls, (void)fd, no_tls();
}
struct status tls_handshake(enum transport_state *state, struct tls_session *session)
{
    return (void)state, (void)session, no_tls();
}
struct status tls_peek(enum transport_state *state, unsigned char *byte,
                       struct tls_session *session)
{
    return (void)state, (void)byte, (void)session, no_tls();
}
struct status tls_read(enum transport_state *state, size_t *got, struct tls_session *session,
                       void *bytes, size_t count)
{
    return (void)state, (void)got, (void)session, (void)bytes, (void)count, no_tls();
}
struct status tls_write(enum transport_state *state, size_t *written, struct tls_session *session,
                        const void *bytes, size_t count)
{
    return (void)state, (void)written, (void)session, (void)bytes, (void)count, no_tls();
}
bool tls_has_pending(const struct tls_session *session) { return (void)session, false; }
void tls_say_end(struct tls_session *session) { (void)session; }
void tls_session_close(struct tls_session *session) { (void)session; }
#endif
