// Hides the differences between libcurl's headers since 7.76. Options that those headers may lack are defined by their
// numbers, because the library at run time may be newer than the headers. Whether such an option is used is decided at
// run time with curl_version_info().
#ifndef CURLEW_GATES_H
#define CURLEW_GATES_H
#include <curl/curl.h>
#include <string.h>

enum {
    CURLEW_OPT_QUICK_EXIT = CURLOPTTYPE_LONG + 322,          // 7.87.0
    CURLEW_OPT_CA_CACHE_TIMEOUT = CURLOPTTYPE_LONG + 321,    // 7.87.0
    CURLEW_OPT_PROTOCOLS_STR = CURLOPTTYPE_STRINGPOINT + 318,// 7.85.0
    CURLEW_OPT_PREREQFUNCTION = CURLOPTTYPE_FUNCTIONPOINT + 312, // 7.80.0
    CURLEW_OPT_PREREQDATA = CURLOPTTYPE_CBPOINT + 313,
    CURLEW_OPT_MAXLIFETIME_CONN = CURLOPTTYPE_LONG + 314,    // 7.80.0

    // 3ONLY exists since 7.88.0. Since then CURL_HTTP_VERSION_3 races HTTP/3 against the earlier versions; before, it
    // attempted HTTP/3 alone.
    CURLEW_HTTP_VERSION_3 = 30,
    CURLEW_HTTP_VERSION_3ONLY = 31,

    // Headers before 8.14 declare an enumerator, later ones a long, which Swift imports as different types.
    CURLEW_NETRC_OPTIONAL = (int)CURL_NETRC_OPTIONAL,
};

#if LIBCURL_VERSION_NUM < 0x075000 // 7.80.0
#define CURL_PREREQFUNC_OK 0
#define CURL_PREREQFUNC_ABORT 1
#endif

#define CURLEW_VERSION(major, minor, patch) (((major) << 16) | ((minor) << 8) | (patch))

// The version of the headers that this file was compiled with, for messages.
static inline unsigned int curlew_header_version(void) { return LIBCURL_VERSION_NUM; }

// Whether the libcurl at run time has a feature with this name. For features without a CURL_VERSION_* bit, which exist
// since 8.0; libcurl reports names since 7.87.
static inline int curlew_has_named_feature(const char *name) {
#if LIBCURL_VERSION_NUM >= 0x075700 // 7.87.0
    const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);
    if (info->age >= CURLVERSION_ELEVENTH && info->feature_names)
        for (const char *const *next = info->feature_names; *next; next++)
            if (strcmp(*next, name) == 0) return 1;
#endif
    return 0;
}
#endif
