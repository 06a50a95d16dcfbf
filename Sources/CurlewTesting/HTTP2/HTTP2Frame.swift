/// A frame of HTTP/2 (RFC 9113, 4.1).
struct HTTP2Frame: Equatable {
    enum Kind: UInt8 {
        case data = 0
        case headers = 1
        case priority = 2
        case resetStream = 3
        case settings = 4
        case pushPromise = 5
        case ping = 6
        case goAway = 7
        case windowUpdate = 8
        case continuation = 9
    }

    struct Flags: OptionSet, Hashable {
        var rawValue: UInt8

        static let endStream = Self(rawValue: 0x01)
        /// The flag of SETTINGS and PING that shares the bit of `endStream`.
        static let acknowledges = Self(rawValue: 0x01)
        static let endHeaders = Self(rawValue: 0x04)
        static let padded = Self(rawValue: 0x08)
        static let priority = Self(rawValue: 0x20)
    }

    /// The frame's type; `nil` if it is unknown.
    var kind: Kind?
    var flags: Flags = []
    var stream: UInt32
    var payload: [UInt8] = []

    /// The bytes that every client sends first.
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    /// Returns the payload without padding and priority fields.
    func content() throws(HTTP2Failure) -> ArraySlice<UInt8> {
        var content = payload[...]
        if flags.contains(.padded) {
            guard let padding = content.popFirst(), Int(padding) <= content.count else {
                throw .violation("more padding than payload")
            }
            content.removeLast(Int(padding))
        }
        if kind == .headers, flags.contains(.priority) {
            guard content.count >= 5 else { throw .size("a priority that is cut off") }
            content.removeFirst(5)
        }
        return content
    }

    /// Returns four bytes of the payload as a number, including a reserved first bit.
    func number(at offset: Int = 0) -> UInt32 {
        payload.dropFirst(offset).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }
}

// MARK: Writing

extension HTTP2Frame {
    static func append(
        _ kind: Kind, flags: Flags = [], stream: UInt32 = 0, _ payload: some Collection<UInt8>, to bytes: inout [UInt8]
    ) {
        let count = payload.count
        for shift in [16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: count >> shift)) }
        bytes += [kind.rawValue, flags.rawValue]
        bytes += big(stream)
        bytes += payload
    }

    static func big(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
    }
}

// MARK: Reading

/// Splits a stream of bytes, received in any pieces, into frames.
struct HTTP2FrameReader {
    /// The longest payload that our settings allow.
    static let payloadLimit = 16_384
    private static let headSize = 9

    private var bytes: [UInt8] = []
    private var start = 0

    mutating func append(_ new: some Sequence<UInt8>) {
        if start == bytes.count {
            bytes.removeAll(keepingCapacity: true)
            start = 0
        } else if start > 65_536 {
            bytes.removeFirst(start)
            start = 0
        }
        bytes.append(contentsOf: new)
    }

    /// Consumes the client's preface; returns false while it is incomplete.
    mutating func takePreface() throws(HTTP2Failure) -> Bool {
        let preface = HTTP2Frame.preface
        guard preface.starts(with: bytes[start...].prefix(preface.count)) else { throw .violation("no preface") }
        guard bytes.count - start >= preface.count else { return false }
        start += preface.count
        return true
    }

    /// Returns the next frame; `nil` while it is incomplete.
    mutating func next() throws(HTTP2Failure) -> HTTP2Frame? {
        guard bytes.count - start >= Self.headSize else { return nil }
        let head = Array(bytes[start..<start + Self.headSize])
        let count = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
        guard count <= Self.payloadLimit else { throw .size("a frame of \(count) bytes") }
        let end = start + Self.headSize + count
        guard bytes.count >= end else { return nil }
        let stream = head[5...].reduce(0) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        let payload = Array(bytes[start + Self.headSize..<end])
        start = end
        return HTTP2Frame(
            kind: HTTP2Frame.Kind(rawValue: head[3]), flags: HTTP2Frame.Flags(rawValue: head[4]), stream: stream,
            payload: payload)
    }
}

/// The peer's settings that affect our sending (RFC 9113, 6.5.2).
struct HTTP2Settings: Equatable {
    static let defaultTableSize = 4_096
    static let defaultWindow = 65_535
    static let largestWindow = 0x7FFF_FFFF

    var initialWindow = defaultWindow
    var maximumPayload = 16_384

    enum Name: UInt16 {
        case headerTableSize = 1
        case enablePush = 2
        case maximumStreams = 3
        case initialWindow = 4
        case maximumPayload = 5
        case maximumHeaderList = 6
    }

    /// Applies a SETTINGS frame. Ignores unknown settings and the table size, because our encoder uses no dynamic
    /// table.
    mutating func apply(_ payload: [UInt8]) throws(HTTP2Failure) {
        guard payload.count.isMultiple(of: 6) else { throw .size("settings of \(payload.count) bytes") }
        for start in stride(from: 0, to: payload.count, by: 6) {
            let name = UInt16(payload[start]) << 8 | UInt16(payload[start + 1])
            let value = payload[start + 2..<start + 6].reduce(0) { $0 << 8 | Int($1) }
            switch Name(rawValue: name) {
            case .enablePush?:
                guard value <= 1 else { throw .violation("ENABLE_PUSH \(value)") }
            case .initialWindow?:
                guard value <= Self.largestWindow else { throw .flow("INITIAL_WINDOW_SIZE \(value)") }
                initialWindow = value
            case .maximumPayload?:
                guard (16_384...16_777_215).contains(value) else { throw .violation("MAX_FRAME_SIZE \(value)") }
                maximumPayload = value
            case .headerTableSize?, .maximumStreams?, .maximumHeaderList?, nil:
                break
            }
        }
    }

    static func payload(_ values: [(Name, Int)]) -> [UInt8] {
        values.flatMap { name, value in
            [UInt8(truncatingIfNeeded: name.rawValue >> 8), UInt8(truncatingIfNeeded: name.rawValue)]
                + HTTP2Frame.big(UInt32(clamping: value))
        }
    }
}

/// The limits on the resources that a peer may use.
struct HTTP2Limits {
    /// The number of concurrent streams; more are refused.
    var streams = 100
    /// The size of one encoded header block, in bytes.
    var headerBlock = 4 << 20
    /// The total size of the decoded fields of one block.
    var headerList = 4 << 20
    /// The number of consecutive frames without progress: pings, settings, empty data.
    var idleFrames = 10_000
    /// The number of streams reset by the peer or for its violations, minus those that ended normally.
    var resets = 10_000
}

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
