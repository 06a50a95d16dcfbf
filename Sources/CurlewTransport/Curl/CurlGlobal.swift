internal import CCurl
internal import Glibc

/// libcurl's process-wide start, done once before its first use and never undone.
///
/// OpenSSL is told not to clean up at exit: its handler runs while loop threads still use it, and
/// crashes processes that end in mid-transfer.
enum CurlGlobal {
    static let isReady: Bool = {
        curlew_openssl_keep_at_exit()
        return curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK
    }()
}
