/* The functions of OpenSSL that the program calls, each handed on to the library. One that is missing here is
 * undefined when the program is linked: add its row. libssl brings libcrypto with it. */
#include "online/tls_library.h"

#ifdef PROBE_TLS_LIBRARY /* cmake/dependencies.cmake: the name under which it is loaded */

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "core/late_library.h"

static struct late_library openssl = LATE_LIBRARY(PROBE_TLS_LIBRARY, .prepare = NULL);

struct status tls_library_load(void) { return late_library_load(&openssl); }

#define LATE(...) LATE_FUNCTION(openssl, __VA_ARGS__)

/* clang-format off */
LATE(int, SSL_CTX_add_client_CA, (SSL_CTX *ctx, X509 *x), (ctx, x))
LATE(int, SSL_CTX_check_private_key, (const SSL_CTX *ctx), (ctx))
LATE(long, SSL_CTX_ctrl, (SSL_CTX *ctx, int cmd, long larg, void *parg), (ctx, cmd, larg, parg))
LATE(void, SSL_CTX_free, (SSL_CTX *context), (context))
LATE(X509_STORE *, SSL_CTX_get_cert_store, (const SSL_CTX *context), (context))
LATE(SSL_CTX *, SSL_CTX_new, (const SSL_METHOD *meth), (meth))
LATE(int, SSL_CTX_set_cipher_list, (SSL_CTX *context, const char *str), (context, str))
LATE(int, SSL_CTX_set_num_tickets, (SSL_CTX *ctx, size_t num_tickets), (ctx, num_tickets))
LATE(uint64_t, SSL_CTX_set_options, (SSL_CTX *ctx, uint64_t op), (ctx, op))
LATE(void, SSL_CTX_set_verify, (SSL_CTX *ctx, int mode, SSL_verify_cb callback), (ctx, mode, callback))
LATE(int, SSL_CTX_use_PrivateKey, (SSL_CTX *ctx, EVP_PKEY *pkey), (ctx, pkey))
LATE(int, SSL_CTX_use_certificate, (SSL_CTX *ctx, X509 *x), (ctx, x))
LATE(int, SSL_accept, (SSL *ssl), (ssl))
LATE(void, SSL_free, (SSL *ssl), (ssl))
LATE(int, SSL_get_error, (const SSL *s, int ret_code), (s, ret_code))
LATE(long, SSL_get_verify_result, (const SSL *ssl), (ssl))
LATE(int, SSL_has_pending, (const SSL *s), (s))
LATE(int, SSL_is_init_finished, (const SSL *s), (s))
LATE(SSL *, SSL_new, (SSL_CTX *ctx), (ctx))
LATE(int, SSL_peek_ex, (SSL *ssl, void *buf, size_t num, size_t *readbytes), (ssl, buf, num, readbytes))
LATE(int, SSL_read_ex, (SSL *ssl, void *buf, size_t num, size_t *readbytes), (ssl, buf, num, readbytes))
LATE(void, SSL_set_accept_state, (SSL *s), (s))
LATE(int, SSL_set_fd, (SSL *s, int fd), (s, fd))
LATE(int, SSL_shutdown, (SSL *s), (s))
LATE(int, SSL_write_ex, (SSL *s, const void *buf, size_t num, size_t *written), (s, buf, num, written))
LATE(const SSL_METHOD *, TLS_server_method, (void), ())
LATE(int, BIO_free, (BIO *a), (a))
LATE(BIO *, BIO_new_mem_buf, (const void *buf, int len), (buf, len))
LATE(void, ERR_clear_error, (void), ())
LATE(unsigned long, ERR_peek_last_error, (void), ())
LATE(const char *, ERR_reason_error_string, (unsigned long e), (e))
LATE(int, EVP_DigestFinal_ex, (EVP_MD_CTX *ctx, unsigned char *md, unsigned *s), (ctx, md, s))
LATE(int, EVP_DigestInit_ex2, (EVP_MD_CTX *ctx, const EVP_MD *type, const OSSL_PARAM *params), (ctx, type, params))
LATE(int, EVP_DigestUpdate, (EVP_MD_CTX *ctx, const void *d, size_t cnt), (ctx, d, cnt))
LATE(void, EVP_MD_CTX_free, (EVP_MD_CTX *ctx), (ctx))
LATE(EVP_MD_CTX *, EVP_MD_CTX_new, (void), ())
LATE(EVP_MD *, EVP_MD_fetch, (OSSL_LIB_CTX *ctx, const char *algorithm, const char *properties), (ctx, algorithm, properties))
LATE(void, EVP_MD_free, (EVP_MD *md), (md))
LATE(void, EVP_PKEY_free, (EVP_PKEY *pkey), (pkey))
LATE(void, OPENSSL_cleanse, (void *ptr, size_t len), (ptr, len))
LATE(EVP_PKEY *, PEM_read_bio_PrivateKey, (BIO *out, EVP_PKEY **x, pem_password_cb *cb, void *u), (out, x, cb, u))
LATE(X509 *, PEM_read_bio_X509, (BIO *out, X509 **x, pem_password_cb *cb, void *u), (out, x, cb, u))
LATE(X509_CRL *, PEM_read_bio_X509_CRL, (BIO *out, X509_CRL **x, pem_password_cb *cb, void *u), (out, x, cb, u))
LATE(void, X509_CRL_free, (X509_CRL *a), (a))
LATE(const ASN1_TIME *, X509_CRL_get0_lastUpdate, (const X509_CRL *crl), (crl))
LATE(const ASN1_TIME *, X509_CRL_get0_nextUpdate, (const X509_CRL *crl), (crl))
LATE(X509_NAME *, X509_CRL_get_issuer, (const X509_CRL *crl), (crl))
LATE(int, X509_CRL_verify, (X509_CRL *a, EVP_PKEY *r), (a, r))
LATE(void, X509_OBJECT_free, (X509_OBJECT *a), (a))
LATE(X509 *, X509_OBJECT_get0_X509, (const X509_OBJECT *a), (a))
LATE(void, X509_STORE_CTX_free, (X509_STORE_CTX *ctx), (ctx))
LATE(X509_OBJECT *, X509_STORE_CTX_get_obj_by_subject, (X509_STORE_CTX *vs, X509_LOOKUP_TYPE type, const X509_NAME *name), (vs, type, name))
LATE(int, X509_STORE_CTX_init, (X509_STORE_CTX *ctx, X509_STORE *trust_store, X509 *target, STACK_OF(X509) *untrusted), (ctx, trust_store, target, untrusted))
LATE(X509_STORE_CTX *, X509_STORE_CTX_new, (void), ())
LATE(int, X509_STORE_add_cert, (X509_STORE *ctx, X509 *x), (ctx, x))
LATE(int, X509_STORE_add_crl, (X509_STORE *ctx, X509_CRL *x), (ctx, x))
LATE(int, X509_STORE_set_flags, (X509_STORE *ctx, unsigned long flags), (ctx, flags))
LATE(int, X509_cmp_current_time, (const ASN1_TIME *s), (s))
LATE(void, X509_free, (X509 *a), (a))
LATE(const ASN1_TIME *, X509_get0_notAfter, (const X509 *x), (x))
LATE(const ASN1_TIME *, X509_get0_notBefore, (const X509 *x), (x))
LATE(EVP_PKEY *, X509_get0_pubkey, (const X509 *x), (x))
LATE(const char *, X509_verify_cert_error_string, (long n), (n))
/* clang-format on */

#endif
