// Typed wrappers for curl_easy_setopt and curl_easy_getinfo, one for each type of argument: Swift cannot call variadic
// functions.
#ifndef CURLEW_EASY_H
#define CURLEW_EASY_H
#include <curl/curl.h>
#include "curlew_gates.h"
#include <stdint.h>

typedef int (*curlew_prereq_callback)(void *data, char *remote_ip, char *local_ip, int remote_port, int local_port);
typedef int (*curlew_resolver_start_callback)(void *resolver_state, void *reserved, void *data);

static inline CURLcode curlew_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode curlew_set_offset(CURL *easy, CURLoption option, int64_t value) {
    return curl_easy_setopt(easy, option, (curl_off_t)value);
}
static inline CURLcode curlew_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode curlew_set_pointer(CURL *easy, CURLoption option, const void *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode curlew_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}
// The bytes are not copied: they must stay valid as long as the handle has the option.
static inline CURLcode curlew_set_blob(CURL *easy, CURLoption option, const void *bytes, size_t length) {
    struct curl_blob blob = {(void *)bytes, length, CURL_BLOB_NOCOPY};
    return curl_easy_setopt(easy, option, &blob);
}
static inline CURLcode curlew_set_write(CURL *easy, CURLoption option, curl_write_callback callback) {
    return curl_easy_setopt(easy, option, callback);
}
static inline CURLcode curlew_set_read(CURL *easy, curl_read_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_READFUNCTION, callback);
}
static inline CURLcode curlew_set_seek(CURL *easy, curl_seek_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, callback);
}
static inline CURLcode curlew_set_trailers(CURL *easy, curl_trailer_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_TRAILERFUNCTION, callback);
}
static inline CURLcode curlew_set_prereq(CURL *easy, curlew_prereq_callback callback) {
    return curl_easy_setopt(easy, (CURLoption)CURLEW_OPT_PREREQFUNCTION, callback);
}
static inline CURLcode curlew_set_resolver_start(CURL *easy, curlew_resolver_start_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, callback);
}
static inline CURLcode curlew_set_opensocket(CURL *easy, curl_opensocket_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
}
static inline CURLcode curlew_set_closesocket(CURL *easy, curl_closesocket_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, callback);
}
static inline CURLcode curlew_set_debug(CURL *easy, curl_debug_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, callback);
}
static inline CURLcode curlew_set_ssl_ctx(CURL *easy, curl_ssl_ctx_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, callback);
}

static inline long curlew_get_long(CURL *easy, CURLINFO info) {
    long value = 0;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}
static inline int64_t curlew_get_offset(CURL *easy, CURLINFO info) {
    curl_off_t value = 0;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}
static inline const char *curlew_get_string(CURL *easy, CURLINFO info) {
    char *value = NULL;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : NULL;
}

static inline curl_socket_t curlew_get_socket(CURL *easy) {
    curl_socket_t value = CURL_SOCKET_BAD;
    return curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &value) == CURLE_OK ? value : CURL_SOCKET_BAD;
}

static inline const curl_version_info_data *curlew_version_info(void) { return curl_version_info(CURLVERSION_NOW); }

// The option's name for the description of a plan, or NULL.
static inline const char *curlew_option_name(CURLoption option) {
    const struct curl_easyoption *found = curl_easy_option_by_id(option);
    return found ? found->name : NULL;
}

// The measurements of a finished exchange, read in one call from Swift. The handle owns the strings.
struct curlew_metrics {
    int64_t name_lookup, connected, tls, pretransfer, first_byte, total; // microseconds from the start
    int64_t uploaded, downloaded;
    long request_size, header_size, new_connections, remote_port, local_port;
    const char *remote_ip, *local_ip;
};
void curlew_read_metrics(CURL *easy, struct curlew_metrics *out);
#endif
