/// The payload of a close frame: nothing, or a code and a reason (RFC 6455, 5.5.1).
package struct WebSocketClosePayload: Equatable, Sendable {
    package var code: WebSocketCloseCode?
    package var reason: String

    package init(_ code: WebSocketCloseCode?, reason: String = "") {
        self.code = code
        self.reason = reason
    }

    package init(reading bytes: [UInt8]) throws(WebSocketViolation) {
        guard !bytes.isEmpty else {
            self.init(nil)
            return
        }
        guard bytes.count >= 2 else { throw .brokenProtocol("a close frame has half a code") }
        let code = WebSocketCloseCode(rawValue: UInt16(bytes[0]) << 8 | UInt16(bytes[1]))
        guard code.isSendable else { throw .brokenProtocol("close code \(code) must not be sent") }
        var validator = UTF8Validator()
        let isText = bytes[2...].withUnsafeBytes { validator.accepts($0) }
        guard isText, validator.isComplete else {
            throw WebSocketViolation(.invalidFramePayloadData, "the reason of a close frame is not UTF-8")
        }
        self.init(code, reason: String(decoding: bytes[2...], as: UTF8.self))
    }

    /// The most bytes of a reason: the payload of a control frame without the code.
    package static let longestReason = WebSocketFrameHeader.maximumControlLength - 2

    /// The reason why a frame cannot contain all of the payload; `nil` if it can.
    package var flaw: String? {
        if let code, !code.isSendable {
            return "a close frame may not carry the code \(code): use 1000 to 1003, 1007 to 1014 or 3000 to 4999"
        }
        let length = reason.utf8.count
        guard length > Self.longestReason else { return nil }
        return "the reason has \(length) bytes, and a close frame holds \(Self.longestReason)"
    }

    /// The bytes of the payload. They are empty if the code must not be sent. A reason that is too long is truncated
    /// between two characters.
    package var bytes: [UInt8] {
        guard let code, code.isSendable else { return [] }
        var bytes = [UInt8(code.rawValue >> 8), UInt8(code.rawValue & 0xFF)]
        for character in reason.unicodeScalars {
            let encoded = UTF8.encode(character).map(Array.init) ?? []
            guard bytes.count + encoded.count <= WebSocketFrameHeader.maximumControlLength else { break }
            bytes += encoded
        }
        return bytes
    }
}
