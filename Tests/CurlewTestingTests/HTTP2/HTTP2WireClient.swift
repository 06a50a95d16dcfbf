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
