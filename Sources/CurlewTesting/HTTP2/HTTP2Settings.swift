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
