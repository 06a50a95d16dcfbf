#ifndef CURLEW_CURL_H
#define CURLEW_CURL_H
#include <curl/curl.h>
#endif
