/// The reason for closing a WebSocket (RFC 6455, 7.4). Codes from 4000 to 4999 are for applications.
public struct WebSocketCloseCode: RawRepresentable, Hashable, Sendable {
    /// The number in the close frame.
    public let rawValue: UInt16

    /// Creates a code from its number.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// 1000: the connection has fulfilled its purpose.
    public static let normalClosure = Self(rawValue: 1000)
    /// 1001: the server shuts down, or the user has left the page.
    public static let goingAway = Self(rawValue: 1001)
    /// 1002: the peer broke the protocol.
    public static let protocolError = Self(rawValue: 1002)
    /// 1003: the peer sent a kind of data that is not accepted.
    public static let unsupportedData = Self(rawValue: 1003)
    /// 1005: the close frame had no code. Never sent.
    public static let noStatusReceived = Self(rawValue: 1005)
    /// 1006: the connection ended without a close frame. Never sent.
    public static let abnormalClosure = Self(rawValue: 1006)
    /// 1007: the data do not match the type of the message, such as text that is not UTF-8.
    public static let invalidFramePayloadData = Self(rawValue: 1007)
    /// 1008: the message breaks a rule of the application.
    public static let policyViolation = Self(rawValue: 1008)
    /// 1009: the message is too large.
    public static let messageTooBig = Self(rawValue: 1009)
    /// 1010: the server did not agree to an extension that the client needs.
    public static let mandatoryExtensionMissing = Self(rawValue: 1010)
    /// 1011: the server met an unexpected condition.
    public static let internalServerError = Self(rawValue: 1011)
    /// 1012: the server restarts.
    public static let serviceRestart = Self(rawValue: 1012)
    /// 1013: the server is overloaded; try again later.
    public static let tryAgainLater = Self(rawValue: 1013)
    /// 1014: a gateway received an invalid response.
    public static let badGateway = Self(rawValue: 1014)
    /// 1015: the TLS handshake failed. Never sent.
    public static let tlsHandshakeFailure = Self(rawValue: 1015)

    /// Whether a close frame may contain this code (RFC 6455, 7.4.1 and 7.4.2, with the codes that IANA has registered
    /// since).
    package var isSendable: Bool {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }

    /// Whether the code means an ordinary end rather than a failure.
    package var isOrdinary: Bool { self == .normalClosure || self == .goingAway || self == .noStatusReceived }
}

extension WebSocketCloseCode: CustomStringConvertible {
    public var description: String { String(rawValue) }
}

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
