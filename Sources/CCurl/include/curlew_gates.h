// Options by number where the header compiled against may be older than the library that runs:
// curl_version_info() decides at run time whether they are used.
#ifndef CURLEW_GATES_H
#define CURLEW_GATES_H
#include <curl/curl.h>

enum {
    CURLEW_OPT_QUICK_EXIT = CURLOPTTYPE_LONG + 322,          // 7.87.0
    CURLEW_OPT_CA_CACHE_TIMEOUT = CURLOPTTYPE_LONG + 321,    // 7.87.0
    CURLEW_OPT_PROTOCOLS_STR = CURLOPTTYPE_STRINGPOINT + 318,// 7.85.0
    CURLEW_OPT_PREREQFUNCTION = CURLOPTTYPE_FUNCTIONPOINT + 312, // 7.80.0
    CURLEW_OPT_PREREQDATA = CURLOPTTYPE_CBPOINT + 313,
};

#define CURLEW_VERSION(major, minor, patch) (((major) << 16) | ((minor) << 8) | (patch))

// The version that the header had, for messages.
static inline unsigned int curlew_header_version(void) { return LIBCURL_VERSION_NUM; }
#endif
