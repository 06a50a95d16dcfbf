internal import CCurl
internal import Glibc

/// Initializes libcurl for the process, once before its first use. The initialization is never undone.
///
/// A constructor in `curlew_tls.c` has already told OpenSSL not to clean up at exit.
enum CurlGlobal {
    static let isReady: Bool = {
        curlew_openssl_take_indexes()
        return curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK
    }()
}
