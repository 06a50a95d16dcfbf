@testable import CurlewTesting

/// Returns the bytes of hexadecimal digits. Spaces and line ends between the digits are ignored.
func bytes(_ hex: String) -> [UInt8] {
    let digits = hex.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

/// Builds the bytes that an HTTP/2 client sends, and decodes the frames that it receives.
struct HTTP2Speaker {
    var bytes: [UInt8]
    private var encoder = HPACKEncoder()
    private var decoder = HPACKDecoder()

    /// Begins with the preface and empty settings if `begins` is true.
    init(begins: Bool = true) {
        bytes = begins ? HTTP2Frame.preface : []
        if begins { frame(.settings) }
    }

    /// Returns the bytes that have been built, and removes them.
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

    /// Parses the frames in the bytes of a server.
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
    /// Returns the frames of the machine's output, without its settings and its acknowledgements of ours.
    mutating func takeFrames() throws -> [HTTP2Frame] {
        try HTTP2Speaker.frames(takeOutput()).filter { $0.kind != .settings }
    }

    /// Returns the code of the GOAWAY frame in the machine's output, or `nil` if there is none.
    mutating func goAwayCode() throws -> HTTP2ErrorCode? { try takeFrames().first { $0.kind == .goAway }?.code }
}
