// The differences between libcurl's headers since 7.76. Options that the header compiled against may lack are named by
// their numbers: the library that runs may be newer, and curl_version_info() decides at run time whether they are used.
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

    // 7.88.0; what CURL_HTTP_VERSION_3 races is raced since then, too.
    CURLEW_HTTP_VERSION_3 = 30,
    CURLEW_HTTP_VERSION_3ONLY = 31,

    // An enumerator in headers before 8.14, a long since then: another type to Swift.
    CURLEW_NETRC_OPTIONAL = (int)CURL_NETRC_OPTIONAL,
};

#if LIBCURL_VERSION_NUM < 0x075000 // 7.80.0
#define CURL_PREREQFUNC_OK 0
#define CURL_PREREQFUNC_ABORT 1
#endif

#define CURLEW_VERSION(major, minor, patch) (((major) << 16) | ((minor) << 8) | (patch))

// The version that the header had, for messages.
static inline unsigned int curlew_header_version(void) { return LIBCURL_VERSION_NUM; }

// Whether the running libcurl has a feature that has a name and no bit. Names exist since 7.87, and such features since 8.
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
