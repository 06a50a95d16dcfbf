internal import CCurl
internal import Glibc

/// libcurl's process-wide start, done once before its first use and never undone.
///
/// OpenSSL was told by then not to clean up at exit (`curlew_tls.c`).
enum CurlGlobal {
    static let isReady: Bool = {
        curlew_openssl_take_indexes()
        return curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK
    }()
}
