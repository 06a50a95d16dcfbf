// Functions of OpenSSL and GnuTLS for which libcurl has no options: facts about a connection, reached through
// CURLINFO_TLS_SSL_PTR, shared trust stores, key logs, callbacks of the handshake, and SHA-256.
#ifndef CURLEW_TLS_H
#define CURLEW_TLS_H
#include <curl/curl.h>
#include <stddef.h>

// Reserves the ex_data indexes of the values that this file stores in OpenSSL's objects. Call it once, before the other
// functions.
void curlew_openssl_take_indexes(void);

// Returns the connection's SSL*, the `ssl` of the functions below. libcurl owns it. NULL if there is no TLS connection
// or libcurl's backend is not OpenSSL.
void *curlew_tls_connection(CURL *easy);
// The version of TLS and the cipher. OpenSSL owns the strings, which stay valid.
const char *curlew_tls_version(const void *ssl);
const char *curlew_tls_cipher(const void *ssl);
// OpenSSL's result of the verification (X509_V_*).
long curlew_tls_verify_result(const void *ssl);
// The version and the cipher of a handle's GnuTLS connection. NULL if they are unknown or the backend is not GnuTLS.
const char *curlew_gnutls_version(CURL *easy);
const char *curlew_gnutls_cipher(CURL *easy);
// Whether the peers of a handle's GnuTLS connection agreed on HTTP/2; -1 if that is unknown.
int curlew_gnutls_speaks_http2(CURL *easy);
// Whether the peers agreed on HTTP/2.
int curlew_tls_speaks_http2(const void *ssl);
// Whether the peers agreed on HTTP/1, or on no protocol, which means HTTP/1. Not the negation of
// curlew_tls_speaks_http2: a libcurl that also returns QUIC connections returns one that agreed on HTTP/3.
int curlew_tls_speaks_http1(const void *ssl);
// Whether OpenSSL has decrypted bytes of the peer that were not read.
int curlew_tls_has_pending(const void *ssl);
// Calls `take` for each certificate that the peer presented, in DER form, the server's own first. The bytes are valid
// only during the call. Returns the number of certificates.
int curlew_tls_each_certificate(const void *ssl, void *context,
                                void (*take)(void *context, const unsigned char *der, size_t length));
// The evaluator's verdict, stored with the connection and discarded with it. 0 if none was stored.
long curlew_tls_verdict(const void *ssl);
void curlew_tls_set_verdict(void *ssl, long verdict);

// Parses a trust store, which all connections share. Two NULL paths mean OpenSSL's default paths. Returns NULL if the
// certificates cannot be read. Free the store with curlew_tls_store_free.
void *curlew_tls_store_create(const char *file, const char *directory);
// Returns a store of the certificates in the PEM bytes, or NULL if they contain none.
void *curlew_tls_store_create_from_pem(const void *bytes, size_t length);
// Adds the revocation lists in a PEM file. From then on, every certificate of a chain needs a list of its issuer.
// Returns 0 if the file has no list.
int curlew_tls_store_add_revocations(void *store, const char *file);
void curlew_tls_store_free(void *store);
// Makes a context verify with the store. The context takes its own reference.
void curlew_tls_context_use_store(void *ssl_ctx, void *store);
// Appends the keys of a context's connections to a descriptor, in NSS key log format. The descriptor must stay open
// longer than the connections.
void curlew_tls_context_log_keys(void *ssl_ctx, int fd);
// Callbacks for the connections of a TLS context. `owner` and `transfer` are passed through. A callback that is NULL is
// not called.
struct curlew_tls_callbacks {
    // The peer requests a client certificate, and none is set.
    void (*asked)(void *owner, unsigned long long transfer);
    // OpenSSL has verified the peer's chain, or has found an error in it: `verify_result` is X509_V_OK or the error.
    // May be called several times in a handshake. `name` is the host name that the handshake asked for, NULL for an
    // address. The callee owns the chain, and frees it with curlew_tls_chain_free.
    void (*shown)(void *owner, unsigned long long transfer, void *chain, const char *name, long verify_result);
    // Evaluates the chain within the handshake, before a client certificate is presented. Any value but 0 accepts the
    // chain. The chain is valid only during the call. If this is NULL, OpenSSL and libcurl decide.
    int (*evaluate)(void *owner, unsigned long long transfer, const void *chain, long verify_result);
    // The peer has sent an alert, at any time in the connection's life. `alert` is its number (RFC 8446, section 6).
    void (*alerted)(void *owner, unsigned long long transfer, int alert);
    // Whether `evaluate` is also called for chains that OpenSSL does not trust.
    int evaluates_untrusted;
};
// The description of an alert, a static string.
const char *curlew_tls_alert_text(int alert);
// Whether a failed verification by OpenSSL ends the handshakes of a context.
int curlew_tls_context_verifies(const void *ssl_ctx);
// Sets the callbacks for a context whose handshake has not begun. `owner` must outlive the context.
void curlew_tls_context_watch(void *ssl_ctx, void *owner, unsigned long long transfer,
                              struct curlew_tls_callbacks callbacks);
// Like curlew_tls_each_certificate, for a chain that a callback received.
int curlew_tls_chain_each(const void *chain, void *context,
                          void (*take)(void *context, const unsigned char *der, size_t length));
void curlew_tls_chain_free(void *chain);
// The description of a result of verification (X509_V_*), a static string.
const char *curlew_tls_verify_text(long verify_result);

// Writes the 32 bytes of the SHA-256 digest. Works with every TLS backend of libcurl, because it calls the libcrypto
// that this package links.
void curlew_sha256(const void *bytes, size_t length, unsigned char *digest);
#endif
