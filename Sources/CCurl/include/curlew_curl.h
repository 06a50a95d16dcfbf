// Thin typed wrappers of what Swift cannot call itself: libcurl's variadic functions, epoll, eventfd, and the few
// functions of libssl that libcurl does not cover.
#ifndef CURLEW_CURL_H
#define CURLEW_CURL_H
#include <curl/curl.h>
#include "curlew_codings.h"
#include "curlew_gates.h"
#include "curlew_easy.h"
#include "curlew_multi.h"
#include "curlew_poll.h"
#include "curlew_tls.h"
#endif
