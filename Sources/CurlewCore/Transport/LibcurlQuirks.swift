/// The differences between libcurl's versions: bugs that Curlew works around, and functions that older versions lack.
///
/// Nothing else in Swift compares version numbers. Docs/Internals/CurlContract.md has this list as a table. It is part
/// of the core because `Capabilities.refusals`, which users read, depends on it.
package struct LibcurlQuirks: Sendable, Hashable {
    // MARK: Functions

    /// Whether libcurl calls back before it sends a request (CURLOPT_PREREQFUNCTION, since 7.80). Older versions report
    /// only in their trace that they have sent.
    package let asksBeforeSending: Bool
    /// Whether the permitted protocols are set as a text (CURLOPT_PROTOCOLS_STR, since 7.85).
    package let takesProtocolsAsText: Bool
    /// Whether a handle can be removed without waiting for its resolver (CURLOPT_QUICK_EXIT, since 7.87).
    package let quitsWithoutResolver: Bool
    /// Whether curl_easy_upkeep reaches the connections of a multi handle (since 8.10). Older versions look only at
    /// those of curl_easy_perform.
    package let sendsPings: Bool
    /// Whether libcurl races QUIC with TCP (since 7.88).
    package let racesQUIC: Bool
    /// Whether libcurl keeps its TLS libraries from writing to sockets without `MSG_NOSIGNAL` (since 7.88).
    package let suppressesSIGPIPE: Bool
    /// Whether connections can be bound to an interface and an address at once (since 8.9).
    package let bindsInterfaceWithAddress: Bool
    /// Whether libcurl keeps parsed certificates for the next connections (7.87 to 8.20, from its sources). Its rules
    /// changed after 8.20.
    package let hasCertificateCache: Bool
    /// Whether libcurl closes a socket that is not connected yet without a call (CURLOPT_CLOSESOCKETFUNCTION; 7.88 to
    /// 8.1, curl issue 11439).
    package let closesUnseen: Bool

    /// Whether the internal handles that resolve names over HTTPS copy the switch of the trace but not its callback, so
    /// that they write to the process's stderr (before 8.4).
    package let tracesDoHToStderr: Bool

    // MARK: Sending

    /// Whether libcurl sends a request over a connection on which bytes have already arrived (before 8.0). False before
    /// 7.80, although those versions do so too: without a call before sending nothing can prevent it.
    package let takesUnaskedBytes: Bool
    /// Whether a request body that ends before its announced length fails the transfer, even after the response has
    /// refused the body (since 8.7).
    package let failsShortBodies: Bool
    /// Whether a handle that has sent trailers writes outside its buffer when it sends another chunked body (before
    /// 8.7).
    package let sendsTrailersOnce: Bool
    /// Whether libcurl tries a host's next address only when it is run again, and sets no timer for that (before 8.8).
    package let forgetsNextAddress: Bool
    /// Whether libcurl reads from HTTP/1 whenever it sends, even while receiving is paused, up to 64 MB (since 8.10).
    package let readsWhileSending: Bool
    /// Whether a transfer with CURLOPT_PIPEWAIT waits until the response of another request has begun on the new
    /// connection, and forever if that request has ended without a response (8.13 to 8.15).
    package let waitsForOthersResponses: Bool

    // MARK: Receiving

    /// Whether libcurl appends a folded line that precedes all fields to the last field of the handle's previous
    /// transfer, whose memory it has freed (7.83 to 8.1.0, curl issue 11101).
    package let keepsFreedField: Bool
    /// Whether libcurl reads on while a transfer is paused, up to 64 MB, and then fails (8.5, curl issue 12632).
    package let readsWhilePaused: Bool
    /// Whether libcurl leaves chunking undone if there are other transfer codings (8.5 to 8.13). Since 8.14 it refuses
    /// such a response.
    package let garblesTransferCodings: Bool

    // MARK: HTTP/2 and HTTP/3

    /// Whether libcurl layers HTTP/2 a second time onto a plain connection that it reuses, and fails (7.88, curl issue
    /// 10634).
    package let cannotReusePlainHTTP2: Bool
    /// Whether libcurl loses track of the frame in which its receive buffer is full: it reads 32 KiB of HTTP/2 at once
    /// (before 8.0). If the frame is a stream's last, the stream ends only when more data arrives.
    package let losesFrames: Bool
    /// Whether libcurl takes the end of an HTTP/2 connection for the end of the responses on it, even if the server has
    /// violated the protocol (before 8.1).
    package let hidesBrokenConnections: Bool
    /// Whether libcurl considers an idle HTTP/2 connection dead if only TLS session tickets have arrived on it, and
    /// makes another one (before 8.2).
    package let takesTicketsForEnd: Bool
    /// Whether a repetition over HTTP/2 without an error message proves that the server refused the stream (before
    /// 8.1).
    package let triesAgainSilentlyOnRefusal: Bool
    /// Whether libcurl reads from QUIC while a transfer is paused, buffers up to 64 MB, and then fails (up to 8.17).
    package let readsQUICWhilePaused: Bool

    // MARK: GnuTLS

    /// Whether libcurl with GnuTLS accepts every OCSP response but "revoked" (up to 8.9.1, CVE-2024-8096).
    package let acceptsAnyStapleWithGnuTLS: Bool
    /// Whether libcurl with GnuTLS checks nothing of the server's chain over QUIC if names are not verified: neither
    /// roots, expiry, revocation nor pins (up to 8.17).
    package let ignoresQUICChainWithGnuTLS: Bool

    // MARK: Versions

    fileprivate init(_ libcurl: Capabilities) {
        asksBeforeSending = libcurl.isAtLeast(7, 80, 0)
        takesProtocolsAsText = libcurl.isAtLeast(7, 85, 0)
        quitsWithoutResolver = libcurl.isAtLeast(7, 87, 0)
        sendsPings = libcurl.isAtLeast(8, 10, 0)
        racesQUIC = libcurl.isAtLeast(7, 88, 0)
        suppressesSIGPIPE = libcurl.isAtLeast(7, 88, 0)
        bindsInterfaceWithAddress = libcurl.isAtLeast(8, 9, 0)
        hasCertificateCache = libcurl.isAtLeast(7, 87, 0) && !libcurl.isAtLeast(8, 21, 0)
        closesUnseen = libcurl.isAtLeast(7, 88, 0) && !libcurl.isAtLeast(8, 2, 0)
        tracesDoHToStderr = !libcurl.isAtLeast(8, 4, 0)
        takesUnaskedBytes = libcurl.isAtLeast(7, 80, 0) && !libcurl.isAtLeast(8, 0, 0)
        failsShortBodies = libcurl.isAtLeast(8, 7, 0)
        sendsTrailersOnce = !libcurl.isAtLeast(8, 7, 0)
        forgetsNextAddress = !libcurl.isAtLeast(8, 8, 0)
        readsWhileSending = libcurl.isAtLeast(8, 10, 0)
        waitsForOthersResponses = libcurl.isAtLeast(8, 13, 0) && !libcurl.isAtLeast(8, 16, 0)
        keepsFreedField = libcurl.isAtLeast(7, 83, 0) && !libcurl.isAtLeast(8, 1, 1)
        readsWhilePaused = libcurl.isAtLeast(8, 5, 0) && !libcurl.isAtLeast(8, 6, 0)
        garblesTransferCodings = libcurl.isAtLeast(8, 5, 0) && !libcurl.isAtLeast(8, 14, 0)
        cannotReusePlainHTTP2 = libcurl.isAtLeast(7, 88, 0) && !libcurl.isAtLeast(8, 0, 0)
        losesFrames = !libcurl.isAtLeast(8, 0, 0)
        hidesBrokenConnections = !libcurl.isAtLeast(8, 1, 0)
        takesTicketsForEnd = !libcurl.isAtLeast(8, 2, 0)
        triesAgainSilentlyOnRefusal = !libcurl.isAtLeast(8, 1, 0)
        readsQUICWhilePaused = !libcurl.isAtLeast(8, 18, 0)
        acceptsAnyStapleWithGnuTLS = !libcurl.isAtLeast(8, 10, 0)
        ignoresQUICChainWithGnuTLS = !libcurl.isAtLeast(8, 18, 0)
    }
}

extension Capabilities {
    /// The differences of this version of libcurl.
    package var quirks: LibcurlQuirks { LibcurlQuirks(self) }
}
