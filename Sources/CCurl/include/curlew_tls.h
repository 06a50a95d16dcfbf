// The questions that only libssl can answer, asked through CURLINFO_TLS_SSL_PTR.
#ifndef CURLEW_TLS_H
#define CURLEW_TLS_H
#include <curl/curl.h>
#include <stddef.h>

// Takes the numbers under which OpenSSL's objects carry what belongs to them; once, before the others.
void curlew_openssl_take_indexes(void);

// The connection's SSL*, or NULL if there is none or the backend is not OpenSSL.
void *curlew_tls_connection(CURL *easy);
// Static strings.
const char *curlew_tls_version(const void *ssl);
const char *curlew_tls_cipher(const void *ssl);
long curlew_tls_verify_result(const void *ssl);
// The version and the cipher of a connection that GnuTLS secures; NULL if they are unknown.
const char *curlew_gnutls_version(CURL *easy);
const char *curlew_gnutls_cipher(CURL *easy);
// Whether the peers of a connection that GnuTLS secures agreed on HTTP/2; -1 if it is unknown.
int curlew_gnutls_speaks_http2(CURL *easy);
// Whether the peers agreed on HTTP/2.
int curlew_tls_speaks_http2(const void *ssl);
// Whether they agreed on HTTP/1, or on nothing, which means it. Not the negation of curlew_tls_speaks_http2: a libcurl
// that returns a connection for QUIC returns one that agreed on HTTP/3.
int curlew_tls_speaks_http1(const void *ssl);
// Whether bytes of the peer's are decrypted, and were not read.
int curlew_tls_has_pending(const void *ssl);
// Certificates in DER, the server's own first: calls `take` for each. Returns their number.
int curlew_tls_each_certificate(const void *ssl, void *context,
                                void (*take)(void *context, const unsigned char *der, size_t length));
// A verdict that lives and dies with the connection: 0 none yet, otherwise what was stored.
long curlew_tls_verdict(const void *ssl);
void curlew_tls_set_verdict(void *ssl, long verdict);

// One parsed trust store for all connections. NULL paths mean the system's own.
void *curlew_tls_store_create(const char *file, const char *directory);
// A store of the certificates in PEM; NULL if the bytes contain none.
void *curlew_tls_store_create_from_pem(const void *bytes, size_t length);
// Every certificate of a chain then needs a list of its issuer. Returns 0 if the file has none.
int curlew_tls_store_add_revocations(void *store, const char *file);
void curlew_tls_store_free(void *store);
void curlew_tls_context_use_store(void *ssl_ctx, void *store);
// Appends NSS key log lines to the descriptor.
void curlew_tls_context_log_keys(void *ssl_ctx, int fd);
// Functions that a handshake calls with facts about the peer. `owner` and `transfer` are passed through.
struct curlew_tls_witness {
    // The server wants a certificate, and none is set.
    void (*asked)(void *owner, unsigned long long transfer);
    // The server's chain has been looked at, with what result (X509_V_*); `name` is the host it is for, NULL for an
    // address. The chain belongs to the callee.
    void (*shown)(void *owner, unsigned long long transfer, void *chain, const char *name, long verify_result);
    // Decides about the chain within the handshake, before a certificate of our own is shown; not 0 accepts it. The
    // chain is the connection's. NULL leaves the decision to OpenSSL and libcurl.
    int (*judge)(void *owner, unsigned long long transfer, const void *chain, long verify_result);
    // The peer has sent an alert, at any time in the connection's life: `alert` is its number (RFC 8446, 6).
    void (*alerted)(void *owner, unsigned long long transfer, int alert);
    // Whether `judge` is also asked about chains that OpenSSL does not trust.
    int judges_alone;
};
// An alert in words.
const char *curlew_tls_alert_text(int alert);
// Whether OpenSSL's verdict ends a handshake.
int curlew_tls_context_verifies(const void *ssl_ctx);
void curlew_tls_context_watch(void *ssl_ctx, void *owner, unsigned long long transfer, struct curlew_tls_witness tell);
// As curlew_tls_each_certificate, for such a chain.
int curlew_tls_chain_each(const void *chain, void *context,
                          void (*take)(void *context, const unsigned char *der, size_t length));
void curlew_tls_chain_free(void *chain);
const char *curlew_tls_verify_text(long verify_result);

// Writes 32 bytes. Any backend: this is libcrypto's own, which libcurl's need not be.
void curlew_sha256(const void *bytes, size_t length, unsigned char *digest);
#endif
