internal import CurlewCore

/// The table of `CURLE_*` codes, with the error code that applies if nothing more is known.
///
/// Native codes mislead: a header line of 1 MB is 27, garbage instead of a status line is 1. Therefore
/// `ActiveTransfer.error(forCurlResult:_:)` checks the transfer's own counters and phase first. Codes that only other
/// protocols cause are internal errors.
enum CurlCode {
    struct Row: Sendable {
        let number: Int
        let name: String
        let code: CurlewError.Code

        init(_ number: Int, _ name: String, _ code: CurlewError.Code) {
            self.number = number
            self.name = name
            self.code = code
        }
    }

    static func row(_ number: Int) -> Row {
        rows.first { $0.number == number } ?? Row(number, "CURLE_\(number)", .`internal`)
    }

    static func native(_ number: Int) -> CurlewError.NativeCode {
        CurlewError.NativeCode(number: number, name: row(number).name)
    }

    static let rows: [Row] = [
        Row(1, "CURLE_UNSUPPORTED_PROTOCOL", .protocolViolation),
        Row(2, "CURLE_FAILED_INIT", .`internal`),
        Row(3, "CURLE_URL_MALFORMAT", .invalidURL),
        Row(4, "CURLE_NOT_BUILT_IN", .unsupported),
        Row(5, "CURLE_COULDNT_RESOLVE_PROXY", .proxyFailed),
        Row(6, "CURLE_COULDNT_RESOLVE_HOST", .resolveFailed),
        Row(7, "CURLE_COULDNT_CONNECT", .connectFailed),
        Row(8, "CURLE_WEIRD_SERVER_REPLY", .protocolViolation),
        Row(9, "CURLE_REMOTE_ACCESS_DENIED", .receiveFailed),
        Row(10, "CURLE_FTP_ACCEPT_FAILED", .`internal`),
        Row(11, "CURLE_FTP_WEIRD_PASS_REPLY", .`internal`),
        Row(12, "CURLE_FTP_ACCEPT_TIMEOUT", .`internal`),
        Row(13, "CURLE_FTP_WEIRD_PASV_REPLY", .`internal`),
        Row(14, "CURLE_FTP_WEIRD_227_FORMAT", .`internal`),
        Row(15, "CURLE_FTP_CANT_GET_HOST", .`internal`),
        Row(16, "CURLE_HTTP2", .protocolViolation),
        Row(17, "CURLE_FTP_COULDNT_SET_TYPE", .`internal`),
        Row(18, "CURLE_PARTIAL_FILE", .truncated),
        Row(19, "CURLE_FTP_COULDNT_RETR_FILE", .`internal`),
        Row(20, "CURLE_OBSOLETE20", .`internal`),
        Row(21, "CURLE_QUOTE_ERROR", .protocolViolation),
        Row(22, "CURLE_HTTP_RETURNED_ERROR", .unacceptableStatus),
        Row(23, "CURLE_WRITE_ERROR", .receiveFailed),
        Row(24, "CURLE_OBSOLETE24", .`internal`),
        Row(25, "CURLE_UPLOAD_FAILED", .sendFailed),
        Row(26, "CURLE_READ_ERROR", .bodyUnavailable),
        Row(27, "CURLE_OUT_OF_MEMORY", .`internal`),
        // In libcurl only making a connection has a time limit: neither a total timeout nor a lowest speed is ever set.
        Row(28, "CURLE_OPERATION_TIMEDOUT", .connectTimedOut),
        Row(29, "CURLE_OBSOLETE29", .`internal`),
        Row(30, "CURLE_FTP_PORT_FAILED", .`internal`),
        Row(31, "CURLE_FTP_COULDNT_USE_REST", .`internal`),
        Row(32, "CURLE_OBSOLETE32", .`internal`),
        Row(33, "CURLE_RANGE_ERROR", .resumeRejected),
        Row(34, "CURLE_HTTP_POST_ERROR", .`internal`),
        Row(35, "CURLE_SSL_CONNECT_ERROR", .tlsFailed),
        Row(36, "CURLE_BAD_DOWNLOAD_RESUME", .resumeRejected),
        Row(37, "CURLE_FILE_COULDNT_READ_FILE", .fileUnreadable),
        Row(38, "CURLE_LDAP_CANNOT_BIND", .`internal`),
        Row(39, "CURLE_LDAP_SEARCH_FAILED", .`internal`),
        Row(40, "CURLE_OBSOLETE40", .`internal`),
        Row(41, "CURLE_FUNCTION_NOT_FOUND", .`internal`),
        Row(42, "CURLE_ABORTED_BY_CALLBACK", .cancelled),
        Row(43, "CURLE_BAD_FUNCTION_ARGUMENT", .`internal`),
        Row(44, "CURLE_OBSOLETE44", .`internal`),
        Row(45, "CURLE_INTERFACE_FAILED", .connectFailed),
        Row(46, "CURLE_OBSOLETE46", .`internal`),
        Row(47, "CURLE_TOO_MANY_REDIRECTS", .tooManyRedirects),
        Row(48, "CURLE_UNKNOWN_OPTION", .unsupported),
        Row(49, "CURLE_SETOPT_OPTION_SYNTAX", .requestCreationFailed),
        Row(50, "CURLE_OBSOLETE50", .`internal`),
        Row(51, "CURLE_OBSOLETE51", .`internal`),
        Row(52, "CURLE_GOT_NOTHING", .receiveFailed),
        Row(53, "CURLE_SSL_ENGINE_NOTFOUND", .tlsFailed),
        Row(54, "CURLE_SSL_ENGINE_SETFAILED", .tlsFailed),
        Row(55, "CURLE_SEND_ERROR", .sendFailed),
        Row(56, "CURLE_RECV_ERROR", .receiveFailed),
        Row(57, "CURLE_OBSOLETE57", .`internal`),
        Row(58, "CURLE_SSL_CERTPROBLEM", .tlsFailed),
        Row(59, "CURLE_SSL_CIPHER", .requestCreationFailed),
        Row(60, "CURLE_PEER_FAILED_VERIFICATION", .certificateUntrusted),
        Row(61, "CURLE_BAD_CONTENT_ENCODING", .contentDecodingFailed),
        Row(62, "CURLE_OBSOLETE62", .`internal`),
        Row(63, "CURLE_FILESIZE_EXCEEDED", .limitExceeded),
        Row(64, "CURLE_USE_SSL_FAILED", .tlsFailed),
        Row(65, "CURLE_SEND_FAIL_REWIND", .bodyUnavailable),
        Row(66, "CURLE_SSL_ENGINE_INITFAILED", .tlsFailed),
        Row(67, "CURLE_LOGIN_DENIED", .authenticationFailed),
        Row(68, "CURLE_TFTP_NOTFOUND", .`internal`),
        Row(69, "CURLE_TFTP_PERM", .`internal`),
        Row(70, "CURLE_REMOTE_DISK_FULL", .diskFull),
        Row(71, "CURLE_TFTP_ILLEGAL", .`internal`),
        Row(72, "CURLE_TFTP_UNKNOWNID", .`internal`),
        Row(73, "CURLE_REMOTE_FILE_EXISTS", .`internal`),
        Row(74, "CURLE_TFTP_NOSUCHUSER", .`internal`),
        Row(75, "CURLE_OBSOLETE75", .`internal`),
        Row(76, "CURLE_OBSOLETE76", .`internal`),
        Row(77, "CURLE_SSL_CACERT_BADFILE", .tlsFailed),
        Row(78, "CURLE_REMOTE_FILE_NOT_FOUND", .receiveFailed),
        Row(79, "CURLE_SSH", .`internal`),
        Row(80, "CURLE_SSL_SHUTDOWN_FAILED", .tlsFailed),
        // Only 8.16.0 returns this code, after it has lost the buffered part of a paused response.
        Row(81, "CURLE_AGAIN", .receiveFailed),
        Row(82, "CURLE_SSL_CRL_BADFILE", .tlsFailed),
        Row(83, "CURLE_SSL_ISSUER_ERROR", .certificateUntrusted),
        Row(84, "CURLE_FTP_PRET_FAILED", .`internal`),
        Row(85, "CURLE_RTSP_CSEQ_ERROR", .`internal`),
        Row(86, "CURLE_RTSP_SESSION_ERROR", .`internal`),
        Row(87, "CURLE_FTP_BAD_FILE_LIST", .`internal`),
        Row(88, "CURLE_CHUNK_FAILED", .`internal`),
        Row(89, "CURLE_NO_CONNECTION_AVAILABLE", .`internal`),
        Row(90, "CURLE_SSL_PINNEDPUBKEYNOTMATCH", .certificateUntrusted),
        Row(91, "CURLE_SSL_INVALIDCERTSTATUS", .certificateRevoked),
        Row(92, "CURLE_HTTP2_STREAM", .receiveFailed),
        Row(93, "CURLE_RECURSIVE_API_CALL", .`internal`),
        Row(94, "CURLE_AUTH_ERROR", .authenticationFailed),
        Row(95, "CURLE_HTTP3", .protocolViolation),
        Row(96, "CURLE_QUIC_CONNECT_ERROR", .connectFailed),
        Row(97, "CURLE_PROXY", .proxyFailed),
        Row(98, "CURLE_SSL_CLIENTCERT", .clientCertificateRequired),
        Row(99, "CURLE_UNRECOVERABLE_POLL", .`internal`),
        Row(100, "CURLE_TOO_LARGE", .limitExceeded),
        Row(101, "CURLE_ECH_REQUIRED", .tlsFailed),
    ]
}

// The numbers that `ActiveTransfer` tells apart. Imported constants would do for most, but a header at compile time may
// lack the newest.
extension CurlCode {
    static let unsupportedProtocol = 1
    static let notBuiltIn = 4
    static let couldNotResolveProxy = 5
    static let couldNotResolveHost = 6
    static let couldNotConnect = 7
    static let partialFile = 18
    static let outOfMemory = 27
    static let operationTimedOut = 28
    static let sslConnectError = 35
    static let badFunctionArgument = 43
    static let unknownOption = 48
    /// CURLE_PEER_FAILED_VERIFICATION until libcurl 7.61; obsolete since.
    static let oldPeerFailedVerification = 51
    static let gotNothing = 52
    static let sslEngineNotFound = 53
    static let sslEngineSetFailed = 54
    static let sendError = 55
    static let receiveError = 56
    static let sslCertificateProblem = 58
    static let sslCipher = 59
    static let peerFailedVerification = 60
    static let badContentEncoding = 61
    static let useSSLFailed = 64
    static let sslEngineInitFailed = 66
    static let sslCACertificateBadFile = 77
    static let sslShutdownFailed = 80
    static let sslCRLBadFile = 82
    static let sslIssuerError = 83
    static let sslPinnedKeyNotMatched = 90
    static let sslInvalidCertificateStatus = 91
    static let proxy = 97
    static let sslClientCertificate = 98
}
