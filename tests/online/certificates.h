/* Certificates for tests, made with OpenSSL when they are needed: an authority, and what it signs. */
#ifndef PROBE_TESTS_ONLINE_CERTIFICATES_H
#define PROBE_TESTS_ONLINE_CERTIFICATES_H

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "support/scratch.h"

struct identity {
    EVP_PKEY *key;
    X509 *certificate;
};

/* What a certificate is made of; times are seconds from now. */
struct identity_request {
    const char *name;
    long serial, from, to;
    bool is_authority;
    const char *extended_usage; /* NULL: none */
};

static inline void add_extension(X509 *certificate, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    ck_assert_ptr_nonnull(extension);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
}

/* Signed by `issuer`, or by itself when that is NULL. */
static inline struct identity identity_make(const struct identity_request *r,
                                            const struct identity *issuer)
{
    struct identity made = { EVP_EC_gen("P-256"), X509_new() };
    X509 *c = made.certificate;
    X509_NAME *name = X509_get_subject_name(c);
    X509_set_version(c, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(c), r->serial);
    X509_gmtime_adj(X509_getm_notBefore(c), r->from);
    X509_gmtime_adj(X509_getm_notAfter(c), r->to);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)r->name, -1, -1, 0);
    X509_set_issuer_name(c, issuer ? X509_get_subject_name(issuer->certificate) : name);
    X509_set_pubkey(c, made.key);
    X509 *from = issuer ? issuer->certificate : c;
    add_extension(c, from, NID_basic_constraints,
                  r->is_authority ? "critical,CA:TRUE" : "CA:FALSE");
    if (r->is_authority) add_extension(c, from, NID_key_usage, "keyCertSign,cRLSign");
    if (r->extended_usage) add_extension(c, from, NID_ext_key_usage, r->extended_usage);
    ck_assert_int_gt(X509_sign(c, issuer ? issuer->key : made.key, EVP_sha256()), 0);
    return made;
}

static inline void identity_release(struct identity *identity)
{
    EVP_PKEY_free(identity->key);
    X509_free(identity->certificate);
}

static inline void write_key(const char *path, EVP_PKEY *key, const char *password)
{
    FILE *file = fopen(path, "w");
    ck_assert_int_eq(PEM_write_PrivateKey(file, key, password ? EVP_aes_128_cbc() : NULL, NULL, 0,
                                          NULL, (void *)password),
                     1);
    fclose(file);
    chmod(path, 0600);
}

static inline void write_certificate(const char *path, X509 *certificate)
{
    FILE *file = fopen(path, "w");
    ck_assert_int_eq(PEM_write_X509(file, certificate), 1);
    fclose(file);
    chmod(path, 0640);
}

/* A list of one withdrawn certificate, valid until `to` seconds from now. */
static inline void write_list(const char *path, const struct identity *authority, long serial,
                              long to)
{
    X509_CRL *list = X509_CRL_new();
    ASN1_TIME *time = X509_gmtime_adj(NULL, -1000);
    X509_CRL_set_version(list, 1);
    X509_CRL_set_issuer_name(list, X509_get_subject_name(authority->certificate));
    X509_CRL_set1_lastUpdate(list, time);
    X509_REVOKED *entry = X509_REVOKED_new();
    ASN1_INTEGER *number = ASN1_INTEGER_new();
    ASN1_INTEGER_set(number, serial);
    X509_REVOKED_set_serialNumber(entry, number);
    X509_REVOKED_set_revocationDate(entry, time);
    X509_CRL_add0_revoked(list, entry);
    X509_gmtime_adj(time, to);
    X509_CRL_set1_nextUpdate(list, time);
    ck_assert_int_gt(X509_CRL_sign(list, authority->key, EVP_sha256()), 0);
    FILE *file = fopen(path, "w");
    PEM_write_X509_CRL(file, list);
    fclose(file);
    chmod(path, 0640);
    ASN1_INTEGER_free(number);
    ASN1_TIME_free(time);
    X509_CRL_free(list);
}

#endif
