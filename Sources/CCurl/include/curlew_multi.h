// curl_multi_setopt and curl_share_setopt are variadic, CURLMsg holds a union: typed wrappers.
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
// curl_multi_perform, with the socket callbacks that it leaves out. Advised against for events, not for having none.
static inline CURLMcode curlew_multi_run_all(CURLM *multi, int *running) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return curl_multi_socket_all(multi, running);
#pragma GCC diagnostic pop
}
// The next finished handle with its result, or NULL.
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
// A share for one thread: libcurl needs no locks, because no other thread uses it.
static inline CURLSH *curlew_share_tls_sessions(void) {
    CURLSH *share = curl_share_init();
    if (share) curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    return share;
}
#endif
