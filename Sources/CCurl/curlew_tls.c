#include "curlew_tls.h"
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int verdict_index = -1, key_log_index = -1, registration_index = -1;

static void free_registration(void *parent, void *value, CRYPTO_EX_DATA *data, int index, long argl, void *argp) {
    (void)parent, (void)data, (void)index, (void)argl, (void)argp;
    free(value);
}

// OpenSSL's atexit handler would free its state while loop threads still use it, and crash processes that exit during a
// transfer. Only the first initialization of OpenSSL in a process can prevent that, and other code may be the first to
// initialize it, for a digest or a certificate. So this runs before main.
__attribute__((constructor)) static void keep_openssl_at_exit(void) {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}

void curlew_openssl_take_indexes(void) {
    verdict_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    key_log_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    registration_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, free_registration);
}

void *curlew_tls_connection(CURL *easy) {
    struct curl_tlssessioninfo *info = NULL;
    if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &info) != CURLE_OK || !info) return NULL;
    return info->backend == CURLSSLBACKEND_OPENSSL ? info->internals : NULL;
}

const char *curlew_tls_version(const void *ssl) { return SSL_get_version(ssl); }
const char *curlew_tls_cipher(const void *ssl) { return SSL_get_cipher_name((const SSL *)ssl); }
long curlew_tls_verify_result(const void *ssl) { return SSL_get_verify_result(ssl); }

int curlew_tls_speaks_http2(const void *ssl) {
    const unsigned char *name = NULL;
    unsigned int length = 0;
    SSL_get0_alpn_selected(ssl, &name, &length);
    return length == 2 && memcmp(name, "h2", 2) == 0;
}

int curlew_tls_speaks_http1(const void *ssl) {
    const unsigned char *name = NULL;
    unsigned int length = 0;
    SSL_get0_alpn_selected(ssl, &name, &length);
    return length == 0 || (length > 7 && memcmp(name, "http/1.", 7) == 0);
}

int curlew_tls_has_pending(const void *ssl) { return SSL_pending((const SSL *)ssl) > 0; }

static int give(X509 *certificate, void *context, void (*take)(void *, const unsigned char *, size_t)) {
    unsigned char *der = NULL;
    int length = i2d_X509(certificate, &der);
    if (length <= 0) return 0;
    take(context, der, (size_t)length);
    OPENSSL_free(der);
    return 1;
}

int curlew_tls_each_certificate(const void *ssl, void *context,
                                void (*take)(void *, const unsigned char *, size_t)) {
    STACK_OF(X509) *chain = SSL_get_peer_cert_chain(ssl);
    int given = 0;
    if (chain && sk_X509_num(chain) > 0) {
        for (int index = 0; index < sk_X509_num(chain); index++) {
            given += give(sk_X509_value(chain, index), context, take);
        }
        return given;
    }
    // A resumed session may have stored only the server's own certificate.
    X509 *own = SSL_get_peer_certificate((const SSL *)ssl);
    if (own) {
        given = give(own, context, take);
        X509_free(own);
    }
    return given;
}

long curlew_tls_verdict(const void *ssl) { return (long)(intptr_t)SSL_get_ex_data(ssl, verdict_index); }
void curlew_tls_set_verdict(void *ssl, long verdict) { SSL_set_ex_data(ssl, verdict_index, (void *)(intptr_t)verdict); }

// Like libcurl's own store, it accepts a chain that ends at any trusted certificate, not only at a root.
static X509_STORE *make_store(void) {
    X509_STORE *store = X509_STORE_new();
    if (store) X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
    return store;
}

void *curlew_tls_store_create(const char *file, const char *directory) {
    X509_STORE *store = make_store();
    if (!store) return NULL;
    int loaded =
        file || directory ? X509_STORE_load_locations(store, file, directory) : X509_STORE_set_default_paths(store);
    if (loaded == 1) return store;
    X509_STORE_free(store);
    return NULL;
}

void *curlew_tls_store_create_from_pem(const void *bytes, size_t length) {
    X509_STORE *store = make_store();
    BIO *bio = length <= INT_MAX ? BIO_new_mem_buf(bytes, (int)length) : NULL;
    STACK_OF(X509_INFO) *items = store && bio ? PEM_X509_INFO_read_bio(bio, NULL, NULL, NULL) : NULL;
    int added = 0;
    for (int index = 0; items && index < sk_X509_INFO_num(items); index++) {
        X509_INFO *item = sk_X509_INFO_value(items, index);
        if (item->x509) added += X509_STORE_add_cert(store, item->x509);
    }
    sk_X509_INFO_pop_free(items, X509_INFO_free);
    BIO_free(bio);
    if (added > 0) return store;
    X509_STORE_free(store);
    return NULL;
}

int curlew_tls_store_add_revocations(void *store, const char *file) {
    X509_LOOKUP *lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());
    if (!lookup || X509_load_crl_file(lookup, file, X509_FILETYPE_PEM) <= 0) return 0;
    // A chain that ends at a trusted certificate below the root would not be checked against the lists of the issuers
    // above it.
    X509_VERIFY_PARAM_clear_flags(X509_STORE_get0_param(store), X509_V_FLAG_PARTIAL_CHAIN);
    return X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
}

void curlew_tls_store_free(void *store) { X509_STORE_free(store); }
void curlew_tls_context_use_store(void *ssl_ctx, void *store) { SSL_CTX_set1_cert_store(ssl_ctx, store); }

static void log_key(const SSL *ssl, const char *line) {
    intptr_t fd = (intptr_t)SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), key_log_index) - 1;
    char text[512];
    size_t length = strlen(line);
    if (fd < 0 || length >= sizeof text) return;
    memcpy(text, line, length);
    text[length] = '\n';
    ssize_t ignored = write((int)fd, text, length + 1);
    (void)ignored;
}

void curlew_tls_context_log_keys(void *ssl_ctx, int fd) {
    SSL_CTX_set_ex_data(ssl_ctx, key_log_index, (void *)(intptr_t)(fd + 1));
    SSL_CTX_set_keylog_callback(ssl_ctx, log_key);
}

// The callbacks of a context. OpenSSL frees it with the context.
struct registration {
    void *owner;
    unsigned long long transfer;
    struct curlew_tls_callbacks callbacks;
};

static struct registration *registration_of(const SSL *ssl) {
    return ssl ? SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), registration_index) : NULL;
}

static int certificate_wanted(SSL *ssl, X509 **certificate, EVP_PKEY **key) {
    (void)certificate, (void)key;
    struct registration *registered = registration_of(ssl);
    if (registered) registered->callbacks.asked(registered->owner, registered->transfer);
    return 0;
}

// OpenSSL calls it for every certificate from the root to the server's own (depth 0), and for each error. The result at
// depth 0 and every error are reported.
static int verified(int passed, X509_STORE_CTX *context) {
    if (passed && X509_STORE_CTX_get_error_depth(context) > 0) return passed;
    SSL *ssl = X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct registration *registered = registration_of(ssl);
    STACK_OF(X509) *sent = X509_STORE_CTX_get0_untrusted(context);
    STACK_OF(X509) *chain = registered && sent ? X509_chain_up_ref(sent) : NULL;
    if (chain) {
        registered->callbacks.shown(registered->owner, registered->transfer, chain,
                                    SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name),
                                    passed ? 0 : X509_STORE_CTX_get_error(context));
    }
    return passed;
}

// Replaces OpenSSL's verification, and calls it first. If the callback accepts the chain, the connection's result of
// verification remains what OpenSSL found. If it refuses a chain that OpenSSL trusts, the result becomes
// X509_V_ERR_APPLICATION_VERIFICATION.
static int evaluate_chain(X509_STORE_CTX *context, void *data) {
    struct registration *registered = data;
    SSL *ssl = X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx());
    int passed = X509_verify_cert(context);
    if (passed <= 0 && !registered->callbacks.evaluates_untrusted) return passed;
    if (ssl && registered->callbacks.evaluate(registered->owner, registered->transfer,
                                              X509_STORE_CTX_get0_untrusted(context),
                                              X509_STORE_CTX_get_error(context))) {
        curlew_tls_set_verdict(ssl, 1);
        return 1;
    }
    if (X509_STORE_CTX_get_error(context) == X509_V_OK) {
        X509_STORE_CTX_set_error(context, X509_V_ERR_APPLICATION_VERIFICATION);
    }
    return 0;
}

// OpenSSL calls it for every step of a handshake, and for alerts. The value of an alert has its level in the upper byte
// and its number in the lower byte.
static void informed(const SSL *ssl, int where, int value) {
    struct registration *registered = where == SSL_CB_READ_ALERT ? registration_of(ssl) : NULL;
    if (registered) registered->callbacks.alerted(registered->owner, registered->transfer, value & 0xff);
}

const char *curlew_tls_alert_text(int alert) { return SSL_alert_desc_string_long(alert); }

int curlew_tls_context_verifies(const void *ssl_ctx) { return SSL_CTX_get_verify_mode(ssl_ctx) != SSL_VERIFY_NONE; }

void curlew_tls_context_watch(void *ssl_ctx, void *owner, unsigned long long transfer,
                              struct curlew_tls_callbacks callbacks) {
    struct registration *registered = malloc(sizeof *registered);
    if (!registered) return;
    *registered = (struct registration){owner, transfer, callbacks};
    if (SSL_CTX_set_ex_data(ssl_ctx, registration_index, registered) != 1) return free(registered);
    if (callbacks.alerted) SSL_CTX_set_info_callback(ssl_ctx, informed);
    if (callbacks.asked) SSL_CTX_set_client_cert_cb(ssl_ctx, certificate_wanted);
    int mode = SSL_CTX_get_verify_mode(ssl_ctx);
    if (callbacks.evaluate) {
        // Without SSL_VERIFY_PEER, OpenSSL ignores the result of the verification.
        mode |= SSL_VERIFY_PEER;
        SSL_CTX_set_cert_verify_callback(ssl_ctx, evaluate_chain, registered);
    }
    if (callbacks.shown && mode != SSL_VERIFY_NONE) SSL_CTX_set_verify(ssl_ctx, mode, verified);
}

int curlew_tls_chain_each(const void *chain, void *context, void (*take)(void *, const unsigned char *, size_t)) {
    int given = 0;
    for (int index = 0; index < sk_X509_num((STACK_OF(X509) *)chain); index++) {
        given += give(sk_X509_value((STACK_OF(X509) *)chain, index), context, take);
    }
    return given;
}

void curlew_tls_chain_free(void *chain) { sk_X509_pop_free(chain, X509_free); }

const char *curlew_tls_verify_text(long verify_result) { return X509_verify_cert_error_string(verify_result); }

void curlew_sha256(const void *bytes, size_t length, unsigned char *digest) {
    SHA256(length ? bytes : "", length, digest);
}
