package import CurlewCore

// What libcurl's versions do differently. Nothing else of the engine compares version numbers for this.
extension Capabilities {
    /// libcurl asks before it sends a request (CURLOPT_PREREQFUNCTION). Before 7.80 only its trace tells that it has sent.
    package var asksBeforeSending: Bool { isAtLeast(7, 80, 0) }

    /// libcurl reads on while a transfer is paused, up to 64 MB, and then fails (8.5, curl issue 12632).
    package var readsWhilePaused: Bool { isAtLeast(8, 5, 0) && !isAtLeast(8, 6, 0) }

    /// libcurl reads whenever it sends over HTTP/1, also while receiving is paused, up to 64 MB (from 8.10 on).
    package var readsWhileSending: Bool { isAtLeast(8, 10, 0) }

    /// Over QUIC libcurl takes what comes while a transfer is paused, keeps 64 MB of it, and then fails (up to 8.17).
    package var readsQUICWhilePaused: Bool { !isAtLeast(8, 18, 0) }

    /// A body that ends before its announced length fails the transfer, also after the response refused it (from 8.7 on).
    package var failsShortBodies: Bool { isAtLeast(8, 7, 0) }

    /// libcurl opens the socket to a host's next address only when it is run once more, and sets no timer for that
    /// (before 8.8).
    package var forgetsNextAddress: Bool { !isAtLeast(8, 8, 0) }

    /// libcurl appends a folded line that comes before any field to the last field of the handle's transfer before, whose
    /// memory it has freed (7.83 to 8.1.0, curl issue 11101).
    package var keepsFreedField: Bool { isAtLeast(7, 83, 0) && !isAtLeast(8, 1, 1) }

    /// libcurl sends over a connection on which there is something to read already (before 8.0). Before 7.80 it does not
    /// ask before, so nothing can be done about it.
    package var takesUnaskedBytes: Bool { asksBeforeSending && !isAtLeast(8, 0, 0) }

    /// libcurl takes the end of an HTTP/2 connection on which the server has broken a rule for the end of the responses on
    /// it (before 8.1).
    package var hidesBrokenConnections: Bool { !isAtLeast(8, 1, 0) }

    /// libcurl says nothing of a broken rule on an HTTP/2 connection before the server closes it (8.1 to 8.13).
    package var keepsSilentAboutFaults: Bool { isAtLeast(8, 1, 0) && !isAtLeast(8, 14, 0) }

    /// libcurl layers HTTP/2 a second time onto a plain connection that it re-uses, and fails (7.88, curl issue 10634).
    package var cannotReusePlainHTTP2: Bool { isAtLeast(7, 88, 0) && !isAtLeast(8, 0, 0) }

    /// libcurl reads 32 KiB of HTTP/2 at once, and loses sight of the frame in which its receive buffer is full (before 8.0):
    /// if that is a stream's last, the stream ends only when something else comes.
    package var losesFrames: Bool { !isAtLeast(8, 0, 0) }

    /// With CURLOPT_PIPEWAIT libcurl waits until another request's response has begun on the new connection, and for ever
    /// if that request has ended without one (8.13 to 8.15).
    package var waitsForOthersResponses: Bool { isAtLeast(8, 13, 0) && !isAtLeast(8, 16, 0) }

    /// Only a refused stream has libcurl try again over HTTP/2 without a word about an error (before 8.1).
    package var triesAgainSilentlyOnRefusal: Bool { !isAtLeast(8, 1, 0) }

    /// Beside other transfer codings libcurl does not undo chunking either (from 8.5 on). From 8.14 on it refuses such a
    /// response.
    package var garblesTransferCodings: Bool { isAtLeast(8, 5, 0) && !isAtLeast(8, 14, 0) }

    /// libcurl keeps its TLS libraries from writing to sockets without `MSG_NOSIGNAL` (from 7.88 on).
    package var suppressesSIGPIPE: Bool { isAtLeast(7, 88, 0) }
}
