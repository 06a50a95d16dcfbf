#include "curlew_tls.h"
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

// A copy of gnutls_datum_t.
struct datum {
    const unsigned char *data;
    unsigned int size;
};

// The functions of libgnutls, looked up at run time instead of linked: if libcurl uses the library, it is loaded.
static struct {
    int (*version)(void *session);
    const char *(*suite)(void *session);
    int (*protocol)(const void *session, struct datum *name);
} gnutls;

static void look_up(void) {
    void *self = dlopen(NULL, RTLD_LAZY);
    if (!self) return;
    // C does not convert a `void *` to a function pointer; POSIX recommends this assignment for dlsym.
    *(void **)&gnutls.version = dlsym(self, "gnutls_protocol_get_version");
    // Exists since GnuTLS 3.7.4.
    *(void **)&gnutls.suite = dlsym(self, "gnutls_ciphersuite_get");
    *(void **)&gnutls.protocol = dlsym(self, "gnutls_alpn_get_selected_protocol");
}

static void *session_of(CURL *easy) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct curl_tlssessioninfo *info = NULL;
    if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &info) != CURLE_OK || !info) return NULL;
    if (info->backend != CURLSSLBACKEND_GNUTLS || !info->internals) return NULL;
    pthread_once(&once, look_up);
    return info->internals;
}

const char *curlew_gnutls_version(CURL *easy) {
    void *session = session_of(easy);
    // Values of gnutls_protocol_t, with the names that OpenSSL gives to these versions.
    switch (session && gnutls.version ? gnutls.version(session) : 0) {
    case 2: return "TLSv1";
    case 3: return "TLSv1.1";
    case 4: return "TLSv1.2";
    case 5: return "TLSv1.3";
    default: return NULL;
    }
}

const char *curlew_gnutls_cipher(CURL *easy) {
    void *session = session_of(easy);
    return session && gnutls.suite ? gnutls.suite(session) : NULL;
}

int curlew_gnutls_speaks_http2(CURL *easy) {
    void *session = session_of(easy);
    struct datum name = {NULL, 0};
    if (!session || !gnutls.protocol) return -1;
    // An error means that ALPN selected no protocol, so the connection uses HTTP/1.
    if (gnutls.protocol(session, &name) != 0) return 0;
    return name.size == 2 && memcmp(name.data, "h2", 2) == 0;
}
