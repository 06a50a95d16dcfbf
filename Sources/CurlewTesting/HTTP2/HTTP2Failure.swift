/// The error that ends a stream or a connection.
struct HTTP2Failure: Error, Equatable {
    var code: HTTP2ErrorCode
    var reason: String

    static func compression(_ reason: String) -> Self { Self(code: .compressionError, reason: reason) }
    static func violation(_ reason: String) -> Self { Self(code: .protocolError, reason: reason) }
    static func size(_ reason: String) -> Self { Self(code: .frameSizeError, reason: reason) }
    static func flow(_ reason: String) -> Self { Self(code: .flowControlError, reason: reason) }
    static func excess(_ reason: String) -> Self { Self(code: .enhanceYourCalm, reason: reason) }
}

/// An error code of RST_STREAM and GOAWAY (RFC 9113, 7). Peers may send unlisted codes.
struct HTTP2ErrorCode: RawRepresentable, Hashable {
    var rawValue: UInt32

    static let noError = Self(rawValue: 0)
    static let protocolError = Self(rawValue: 1)
    static let internalError = Self(rawValue: 2)
    static let flowControlError = Self(rawValue: 3)
    static let streamClosed = Self(rawValue: 5)
    static let frameSizeError = Self(rawValue: 6)
    static let refusedStream = Self(rawValue: 7)
    static let cancel = Self(rawValue: 8)
    static let compressionError = Self(rawValue: 9)
    static let enhanceYourCalm = Self(rawValue: 11)
    static let http1Required = Self(rawValue: 13)
}
