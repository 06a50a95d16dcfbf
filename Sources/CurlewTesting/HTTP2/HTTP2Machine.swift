internal import CurlewCore

/// The server's end of an HTTP/2 connection, without I/O (RFC 9113): it turns received bytes into events, and responses
/// into bytes to send.
///
/// After a connection error it sends GOAWAY with the code and ignores all further input. After a stream error it sends
/// RST_STREAM.
struct HTTP2Machine {
    enum Event: Equatable {
        case request(stream: UInt32, HTTP2RequestHead, isLast: Bool)
        /// A part of a request's body. It occupies the stream's window until `consumed` is called.
        case data(stream: UInt32, [UInt8])
        case end(stream: UInt32, trailers: HTTPHeaders)
        /// The peer reset the stream or broke a rule on it.
        case reset(stream: UInt32)
        /// The connection has failed, and all streams with it.
        case failed(HTTP2Failure)
    }

    struct Stream {
        /// The number of bytes that we may send. Negative if the peer has reduced its window.
        var sendWindow: Int
        /// The number of bytes that the peer may send.
        var receiveWindow = HTTP2Settings.defaultWindow
        /// Consumed bytes that were not returned to the peer's window yet.
        var unreturned = 0
        var isPeerDone: Bool
        var hasSentHead = false
        var contentLength: Int64?
        var receivedLength: Int64 = 0
    }

    /// A header block that awaits CONTINUATION frames.
    struct OpenBlock {
        var stream: UInt32
        var bytes: [UInt8]
        var endsStream: Bool
    }

    enum Phase { case preface, firstSettings, open, failed }

    let limits: HTTP2Limits
    var phase = Phase.preface
    var reader = HTTP2FrameReader()
    var decoder = HPACKDecoder()
    var encoder = HPACKEncoder()
    var peer = HTTP2Settings()

    var streams: [UInt32: Stream] = [:]
    /// The highest stream that the peer has begun.
    var lastStream: UInt32 = 0
    /// Streams above `lastStream` up to this one began after our GOAWAY.
    var ignoredUpTo: UInt32 = 0
    /// Recently reset streams. Frames that were in flight at the time of the reset are ignored.
    var resetByUs: [UInt32] = []
    var openBlock: OpenBlock?
    var sendWindow = HTTP2Settings.defaultWindow
    var receiveWindow = HTTP2Settings.defaultWindow
    var idleFrames = 0
    var resets = 0
    /// Whether we have sent GOAWAY; streams that begin afterwards are ignored.
    var isLeaving = false
    /// Whether the peer has sent GOAWAY; the connection ends after the open streams.
    var isPeerLeaving = false
    private(set) var output: [UInt8] = []

    init(limits: HTTP2Limits = HTTP2Limits()) {
        self.limits = limits
        let settings = HTTP2Settings.payload([
            (.maximumStreams, limits.streams), (.maximumHeaderList, limits.headerList),
        ])
        write(.settings, settings)
    }

    func isOpen(_ stream: UInt32) -> Bool { streams[stream] != nil }

    /// Removes and returns the bytes to send.
    mutating func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    mutating func write(
        _ kind: HTTP2Frame.Kind, flags: HTTP2Frame.Flags = [], stream: UInt32 = 0, _ payload: some Collection<UInt8>
    ) {
        HTTP2Frame.append(kind, flags: flags, stream: stream, payload, to: &output)
    }

    /// Appends arbitrary bytes after the last frame.
    mutating func writeRaw(_ bytes: [UInt8]) { output += bytes }

    /// Removes a stream that has ended, and offsets one counted reset.
    mutating func close(_ stream: UInt32) {
        guard streams.removeValue(forKey: stream) != nil else { return }
        resets = max(0, resets - 1)
    }

    // MARK: Resetting

    /// Ends a stream with RST_STREAM.
    mutating func reset(_ stream: UInt32, _ code: HTTP2ErrorCode) {
        streams[stream] = nil
        resetByUs.append(stream)
        if resetByUs.count > 256 { resetByUs.removeFirst() }
        write(.resetStream, stream: stream, HTTP2Frame.big(code.rawValue))
    }

    /// Announces that later streams will not be served.
    mutating func goAway(_ failure: HTTP2Failure? = nil) {
        isLeaving = true
        let code = failure?.code ?? .noError
        let reason = Array((failure?.reason ?? "").utf8.prefix(256))
        write(.goAway, HTTP2Frame.big(lastStream) + HTTP2Frame.big(code.rawValue) + reason)
    }
}
