@testable import CurlewTesting

/// Bytes from hex digits; spaces and line ends between them do not count.
func bytes(_ hex: String) -> [UInt8] {
    let digits = hex.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

/// What a client of HTTP/2 says, byte for byte, and what it is told.
struct HTTP2Speaker {
    var bytes: [UInt8]
    private var encoder = HPACKEncoder()
    private var decoder = HPACKDecoder()

    /// With `begins` the preface and empty settings come first.
    init(begins: Bool = true) {
        bytes = begins ? HTTP2Frame.preface : []
        if begins { frame(.settings) }
    }

    /// Gives what has been said, and forgets it.
    mutating func take() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }

    mutating func frame(
        _ kind: HTTP2Frame.Kind, _ flags: HTTP2Frame.Flags = [], stream: UInt32 = 0, _ payload: [UInt8] = []
    ) {
        HTTP2Frame.append(kind, flags: flags, stream: stream, payload, to: &bytes)
    }

    static func fields(_ method: String = "GET", _ path: String = "/", _ more: [(String, String)] = []) -> [HPACKField]
    {
        [
            HPACKField(":method", method), HPACKField(":scheme", "http"), HPACKField(":authority", "test"),
            HPACKField(":path", path),
        ] + more.map { HPACKField($0.0, $0.1) }
    }

    mutating func headers(_ stream: UInt32, _ fields: [HPACKField] = fields(), isLast: Bool = true) {
        frame(.headers, isLast ? [.endHeaders, .endStream] : .endHeaders, stream: stream, encoder.encode(fields))
    }

    mutating func block(_ fields: [HPACKField]) -> [UInt8] { encoder.encode(fields) }

    mutating func data(_ stream: UInt32, _ count: Int, isLast: Bool = false) {
        frame(.data, isLast ? .endStream : [], stream: stream, [UInt8](repeating: 7, count: count))
    }

    mutating func window(_ stream: UInt32, _ increment: UInt32) {
        frame(.windowUpdate, stream: stream, HTTP2Frame.big(increment))
    }

    // MARK: Listening

    /// The frames in what a server has sent.
    static func frames(_ bytes: [UInt8]) throws -> [HTTP2Frame] {
        var reader = HTTP2FrameReader()
        reader.append(bytes)
        var frames: [HTTP2Frame] = []
        while let frame = try reader.next() { frames.append(frame) }
        return frames
    }

    mutating func fields(of frame: HTTP2Frame) throws -> [HPACKField] {
        try decoder.decode(Array(frame.content()), listLimit: 1 << 20).fields
    }
}

extension HTTP2Frame {
    var code: HTTP2ErrorCode { HTTP2ErrorCode(rawValue: number(at: kind == .goAway ? 4 : 0)) }
}

extension HTTP2Machine {
    /// The frames that the machine has to say, without its own settings and acknowledgements of ours.
    mutating func takeFrames() throws -> [HTTP2Frame] {
        try HTTP2Speaker.frames(takeOutput()).filter { $0.kind != .settings }
    }

    /// The code of the GOAWAY, where there is one.
    mutating func goAwayCode() throws -> HTTP2ErrorCode? { try takeFrames().first { $0.kind == .goAway }?.code }
}
