package import CurlewCore

// Bugs and differences of libcurl's versions that the engine has to work around.
extension Capabilities {
    /// Whether libcurl calls back before it sends a request (CURLOPT_PREREQFUNCTION, since 7.80). Older versions report
    /// only in their trace that they have sent.
    package var asksBeforeSending: Bool { isAtLeast(7, 80, 0) }

    /// Whether libcurl reads on while a transfer is paused, up to 64 MB, and then fails (8.5, curl issue 12632).
    package var readsWhilePaused: Bool { isAtLeast(8, 5, 0) && !isAtLeast(8, 6, 0) }

    /// Whether libcurl reads from HTTP/1 whenever it sends, even while receiving is paused, up to 64 MB (since 8.10).
    package var readsWhileSending: Bool { isAtLeast(8, 10, 0) }

    /// Whether libcurl reads from QUIC while a transfer is paused, buffers up to 64 MB, and then fails (up to 8.17).
    package var readsQUICWhilePaused: Bool { !isAtLeast(8, 18, 0) }

    /// Whether a request body that ends before its announced length fails the transfer, even after the response has
    /// refused the body (since 8.7).
    package var failsShortBodies: Bool { isAtLeast(8, 7, 0) }

    /// Whether libcurl tries a host's next address only when it is run again, and sets no timer for that (before 8.8).
    package var forgetsNextAddress: Bool { !isAtLeast(8, 8, 0) }

    /// Whether libcurl appends a folded line that precedes all fields to the last field of the handle's previous
    /// transfer, whose memory it has freed (7.83 to 8.1.0, curl issue 11101).
    package var keepsFreedField: Bool { isAtLeast(7, 83, 0) && !isAtLeast(8, 1, 1) }

    /// Whether libcurl sends a request over a connection on which bytes have already arrived (before 8.0). False before
    /// 7.80, although those versions do so too: without a call before sending nothing can prevent it.
    package var takesUnaskedBytes: Bool { asksBeforeSending && !isAtLeast(8, 0, 0) }

    /// Whether libcurl takes the end of an HTTP/2 connection for the end of the responses on it, even if the server has
    /// violated the protocol (before 8.1).
    package var hidesBrokenConnections: Bool { !isAtLeast(8, 1, 0) }

    /// Whether libcurl layers HTTP/2 a second time onto a plain connection that it reuses, and fails (7.88, curl issue
    /// 10634).
    package var cannotReusePlainHTTP2: Bool { isAtLeast(7, 88, 0) && !isAtLeast(8, 0, 0) }

    /// Whether libcurl loses track of the frame in which its receive buffer is full: it reads 32 KiB of HTTP/2 at once
    /// (before 8.0). If the frame is a stream's last, the stream ends only when more data arrives.
    package var losesFrames: Bool { !isAtLeast(8, 0, 0) }

    /// Whether a transfer with CURLOPT_PIPEWAIT waits until the response of another request has begun on the new
    /// connection, and forever if that request has ended without a response (8.13 to 8.15).
    package var waitsForOthersResponses: Bool { isAtLeast(8, 13, 0) && !isAtLeast(8, 16, 0) }

    /// Whether a repetition over HTTP/2 without an error message proves that the server refused the stream (before
    /// 8.1).
    package var triesAgainSilentlyOnRefusal: Bool { !isAtLeast(8, 1, 0) }

    /// Whether libcurl leaves chunking undone if there are other transfer codings (8.5 to 8.13). Since 8.14 it refuses
    /// such a response.
    package var garblesTransferCodings: Bool { isAtLeast(8, 5, 0) && !isAtLeast(8, 14, 0) }

    /// Whether libcurl keeps parsed certificates for the next connections (7.87 to 8.20, from its sources). Its rules
    /// changed after 8.20.
    package var hasCertificateCache: Bool { isAtLeast(7, 87, 0) && !isAtLeast(8, 21, 0) }

    /// Whether libcurl trusts the version in the text of an HTTP/1 response (before 8.12). It frames the body
    /// accordingly, and lets other requests use the connection before this response has ended.
    package var trustsVersionInText: Bool { !isAtLeast(8, 12, 0) }

    /// Whether libcurl keeps its TLS libraries from writing to sockets without `MSG_NOSIGNAL` (since 7.88).
    package var suppressesSIGPIPE: Bool { isAtLeast(7, 88, 0) }
}
