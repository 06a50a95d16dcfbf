import Foundation
@testable import CurlewTesting

/// A blocking HTTP/2 client that sends the frames of a test and shows the server's frames.
final class HTTP2WireClient {
    struct Failure: Error { var text: String }

    struct Response {
        /// The field sections in order: 1xx heads, the head, and the trailers.
        var heads: [[HPACKField]] = []
        var body: [UInt8] = []
        /// The sizes of the DATA frames.
        var pieces: [Int] = []
        /// The code of RST_STREAM, or `nil` if the stream was not reset.
        var reset: HTTP2ErrorCode?

        func value(_ name: String) -> String? {
            for field in heads.joined() where field.name == Array(name.utf8) {
                return String(decoding: field.value, as: UTF8.self)
            }
            return nil
        }
    }

    let wire: WireClient
    var speaker: HTTP2Speaker
    /// All received frames except settings and window updates of the connection.
    private(set) var frames: [HTTP2Frame] = []
    private var reader = HTTP2FrameReader()
    private var taken = 0

    /// Sends the preface, and windows that let the server send everything at once.
    init(port: Int, window: Int = 1 << 30) throws {
        wire = try WireClient(port: port)
        speaker = HTTP2Speaker()
        speaker.frame(.settings, [], HTTP2Settings.payload([(.initialWindow, window)]))
        speaker.window(0, 1 << 30)
        send()
    }

    /// Sends the bytes that the speaker has built.
    func send() { wire.send(Data(speaker.take())) }

    func send(_ change: (inout HTTP2Speaker) -> Void) {
        change(&speaker)
        send()
    }

    /// Returns the first received frame that matches, and reads until there is one.
    @discardableResult
    func wait(for isWanted: (HTTP2Frame) -> Bool) throws -> HTTP2Frame {
        var seen = 0
        while true {
            while seen < frames.count {
                defer { seen += 1 }
                if isWanted(frames[seen]) { return frames[seen] }
            }
            guard wire.readMore() else { throw Failure(text: "\(wire.ending) behind \(frames.map(\.kind))") }
            reader.append(wire.received.dropFirst(taken))
            taken = wire.received.count
            while let frame = try reader.next() {
                if frame.kind != .settings, frame.kind != .windowUpdate || frame.stream != 0 { frames.append(frame) }
            }
        }
    }

    /// Reads the whole response on a stream.
    func response(_ stream: UInt32) throws -> Response {
        try wait { $0.stream == stream && ($0.kind == .resetStream || $0.flags.contains(.endStream)) }
        var response = Response()
        for frame in frames where frame.stream == stream {
            switch frame.kind {
            // The server's encoder uses no dynamic table, so blocks can be decoded in any order.
            case .headers?: response.heads.append(try speaker.fields(of: frame))
            case .data?:
                response.body += frame.payload
                response.pieces.append(frame.payload.count)
            case .resetStream?: response.reset = frame.code
            case .windowUpdate?: break
            default: throw Failure(text: "\(frame)")
            }
        }
        return response
    }

    func request(
        _ stream: UInt32, _ method: String, _ path: String, _ more: [(String, String)] = [], isLast: Bool = true
    ) {
        send { $0.headers(stream, HTTP2Speaker.fields(method, path, more), isLast: isLast) }
    }
}

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

    // MARK: Received frames

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
