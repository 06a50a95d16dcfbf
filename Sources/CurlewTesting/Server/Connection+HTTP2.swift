internal import CurlewCore

extension Connection {
    /// Whether the peer speaks HTTP/2; `nil` while too few bytes have arrived to tell.
    func speaksHTTP2() -> Bool? {
        let protocols = server.configuration.protocols
        guard exchanges == 1, protocols.contains(.http2) else { return false }
        // A client that agreed on HTTP/2 by ALPN and sends no preface must get an HTTP/2 error, not a 400.
        guard protocols.contains(.http1), !wire.hasAgreedOnHTTP2 else { return true }
        // The preface counts over TLS too: a client may speak HTTP/2 with prior knowledge, without ALPN.
        let start = input.prefix(HTTP2Frame.preface.count)
        guard HTTP2Frame.preface.starts(with: start) else { return false }
        return start.count == HTTP2Frame.preface.count ? true : nil
    }

    /// Serves the streams until the connection must wait; returns `nil` when the steps that end it are next.
    func multiplex(_ now: ContinuousClock.Instant) -> Need? {
        let session = http2 ?? HTTP2Session(self)
        http2 = session
        // These bytes were read to detect the protocol.
        if !input.isEmpty { session.receive(&input) }
        // The number of turns is limited, so that the other connections are served in between.
        for _ in 0..<32 {
            if outputStart == output.count {
                output = session.takeOutput()
                outputStart = 0
            }
            var reads = true
            var writes = false
            var hasMoved = false
            if let need = flush(now) {
                guard !isClosed else {
                    session.recordAborted()
                    return .event
                }
                // TLS may have to read before it can write.
                if case .readable = need {} else { writes = true }
            } else if let ending = session.ending, !session.hasOutput {
                replaceRest(with: ending)
                return nil
            }
            // While the peer does not read our responses, we read no further requests.
            if writes { reads = session.ending == nil && !session.hasMuchOutput }
            if reads {
                if let need = readMore(65_536, now) {
                    guard !isClosed else { return .event }
                    if case .writable = need { writes = true }
                } else {
                    session.receive(&input)
                    hasMoved = true
                }
            }
            if session.advance(now) { hasMoved = true }
            if !writes, session.hasOutput || session.ending != nil { hasMoved = true }
            if !hasMoved { return .any(reads: reads, writes: writes, until: session.wakeTime) }
        }
        return .time(now)
    }
}
