/// What a peer's SETTINGS say, as far as it concerns what we send (RFC 9113, 6.5.2).
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

    /// Takes what a frame changes. What we do not know is ignored, and so is the table's size: our encoder has no table.
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

/// How much a peer may ask of a connection.
struct HTTP2Limits {
    /// Streams that may be open at a time; more are refused.
    var streams = 100
    /// Bytes of one header block, before it is decoded.
    var headerBlock = 4 << 20
    /// What the fields of one block may add up to.
    var headerList = 4 << 20
    /// Frames in a row that bring nothing on: pings, settings, empty data.
    var idleFrames = 10_000
    /// Streams that the peer has reset, less those that came to their end.
    var resets = 10_000
}
