// What Swift cannot call by itself: libcurl's variadic functions, epoll, eventfd, and the few
// calls into libssl that libcurl has no own name for. Everything here is a thin typed wrapper.
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
