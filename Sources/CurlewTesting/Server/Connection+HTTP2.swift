internal import CurlewCore

extension Connection {
    /// Whether the peer begins with HTTP/2; nil while its bytes do not tell.
    func speaksHTTP2() -> Bool? {
        let protocols = server.configuration.protocols
        guard exchanges == 1, protocols.contains(.http2) else { return false }
        // Who agreed on HTTP/2 and says anything else than its preface is told so by HTTP/2's means.
        guard protocols.contains(.http1), !wire.hasAgreedOnHTTP2 else { return true }
        // Over TLS too: a client that agreed on nothing may know beforehand.
        let start = input.prefix(HTTP2Frame.preface.count)
        guard HTTP2Frame.preface.starts(with: start) else { return false }
        return start.count == HTTP2Frame.preface.count ? true : nil
    }

    /// Serves the streams until the connection must wait; nil when what ends it comes next.
    func multiplex(_ now: ContinuousClock.Instant) -> Need? {
        let session = http2 ?? HTTP2Session(self)
        http2 = session
        // What was read to tell the protocols apart.
        if !input.isEmpty { session.receive(&input) }
        // So many turns, then the other connections.
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
            // Of a peer that takes no answers no further questions are read.
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
