// Errors and sentences that are needed in more than one place.

extension CurlewError {
    /// Names the timeout that expired, and its value.
    package static func timeoutReason(_ code: Code, after limit: Duration?) -> String {
        let (what, name) =
            switch code {
            case .queueTimedOut: ("no connection became free", "queue")
            case .connectTimedOut: ("the connection was not established", "connect")
            case .firstByteTimedOut: ("no response began", "first-byte")
            case .idleTimedOut: ("no byte was sent or received", "idle")
            default: ("the request did not end", "total")
            }
        return "\(what) within " + (limit.map { "\($0), the \(name) timeout" } ?? "the \(name) timeout")
    }

    /// Returns the error for a header field that may not be sent.
    ///
    /// The value may be a secret, and so may the part of a name after a colon:
    /// `HTTPHeader(name: "Authorization: Bearer …")`. The message therefore shows only the valid beginning of the name,
    /// and the first character that is not allowed.
    package static func invalidHeader(_ field: HTTPHeader) -> CurlewError {
        let reason: String
        if field.name.isHTTPToken {
            reason =
                "the value of the header field \(field.name) has characters that HTTP does not allow, such as a line break"
        } else if let end = field.name.utf8.firstIndex(where: { !ASCII.isTokenByte($0) }) {
            // Every byte before `end` is ASCII, so a scalar begins at `end`.
            let (start, bad) = (field.name[..<end].prefix(60), field.name.unicodeScalars[end])
            let code = String(bad.value, radix: 16, uppercase: true)
            let number = String(repeating: "0", count: max(0, 4 - code.count)) + code
            reason =
                "the name of a header field, which begins with \"\(start)\", has a character that HTTP does not allow: U+\(number)"
        } else {
            reason = "the name of a header field is empty"
        }
        return CurlewError(.invalidHeader, phase: .creation, reason: reason)
    }

    /// Whether libcurl reported CURLE_SSL_PINNEDPUBKEYNOTMATCH: the server's key is not among the pinned ones.
    package var isOfUnpinnedKey: Bool { native?.number == 90 }

    /// The suggestion for a key that is not pinned. It must not advise trusting another certificate, which would defeat
    /// the pins.
    package static let pinSuggestion =
        "If the server's owner has changed its key, pin the new one. Otherwise do not connect: another may be in between."
}
