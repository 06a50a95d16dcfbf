// Typed wrappers for curl_multi_setopt and curl_share_setopt, which are variadic, and for CURLMsg, which has a union.
#ifndef CURLEW_MULTI_H
#define CURLEW_MULTI_H
#include <curl/curl.h>

static inline CURLMcode curlew_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode curlew_multi_set_socket(CURLM *multi, curl_socket_callback callback, void *data) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, data);
    return code ? code : curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
}
static inline CURLMcode curlew_multi_set_timer(CURLM *multi, curl_multi_timer_callback callback, void *data) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_TIMERDATA, data);
    return code ? code : curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
}
// Runs every transfer, like curl_multi_perform, and calls the socket callback, which curl_multi_perform does not call.
// libcurl deprecates curl_multi_socket_all for handling events, because it does not scale. Here it runs transfers that
// may wait for no event.
static inline CURLMcode curlew_multi_run_all(CURLM *multi, int *running) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return curl_multi_socket_all(multi, running);
#pragma GCC diagnostic pop
}
// Returns the next finished handle and stores its result, or returns NULL.
static inline CURL *curlew_multi_next_done(CURLM *multi, CURLcode *result) {
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left))) {
        if (message->msg == CURLMSG_DONE) {
            *result = message->data.result;
            return message->easy_handle;
        }
    }
    return NULL;
}
// Returns a share for TLS sessions, or NULL. It has no lock functions, so only one thread at a time may use it.
static inline CURLSH *curlew_share_tls_sessions(void) {
    CURLSH *share = curl_share_init();
    if (share) curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    return share;
}
#endif
