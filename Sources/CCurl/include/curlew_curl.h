// The umbrella header: typed wrappers for libcurl's variadic functions and for epoll and eventfd, and the few functions
// of OpenSSL, GnuTLS, brotli and zstd that the engine calls itself.
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
