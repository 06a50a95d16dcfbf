internal import CurlewCore

/// The server's end of an HTTP/2 connection, without the connection: bytes go in, in any pieces, and events come out;
/// answers go in, and bytes come out (RFC 9113).
///
/// A peer that breaks a rule of the connection gets a GOAWAY with the code, and nothing that it sends afterwards is read.
/// One that breaks a rule of a stream gets a RST_STREAM.
struct HTTP2Machine {
    enum Event: Equatable {
        case request(stream: UInt32, HTTP2RequestHead, isLast: Bool)
        /// A part of a request's body. It fills the stream's window until `consumed` gives the room back.
        case data(stream: UInt32, [UInt8])
        case end(stream: UInt32, trailers: HTTPHeaders)
        /// The stream is over, by the peer's will or because the peer broke a rule.
        case reset(stream: UInt32)
        /// The connection is over, and so are its streams.
        case failed(HTTP2Failure)
    }

    struct Stream {
        /// What we may send. Below zero where the peer has made its window smaller.
        var sendWindow: Int
        /// What the peer may send.
        var receiveWindow = HTTP2Settings.defaultWindow
        /// What has been consumed and not yet given back.
        var unreturned = 0
        var isPeerDone: Bool
        var hasSentHead = false
        var contentLength: Int64?
        var receivedLength: Int64 = 0
    }

    /// A header block of which CONTINUATION frames are to come.
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
    /// Streams above `lastStream` and up to this one began when we were leaving.
    var ignoredUpTo: UInt32 = 0
    /// Streams that we have reset of late: what was under way for them then is ignored.
    var resetByUs: [UInt32] = []
    var openBlock: OpenBlock?
    var sendWindow = HTTP2Settings.defaultWindow
    var receiveWindow = HTTP2Settings.defaultWindow
    var idleFrames = 0
    var resets = 0
    /// Whether a GOAWAY has gone out: streams that begin afterwards are ignored.
    var isLeaving = false
    /// Whether the peer has sent one: the connection ends behind the streams that are open.
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

    /// Takes what is to be sent.
    mutating func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    mutating func write(
        _ kind: HTTP2Frame.Kind, flags: HTTP2Frame.Flags = [], stream: UInt32 = 0, _ payload: some Collection<UInt8>
    ) {
        HTTP2Frame.append(kind, flags: flags, stream: stream, payload, to: &output)
    }

    /// Puts bytes that are no frame of ours between the frames.
    mutating func writeRaw(_ bytes: [UInt8]) { output += bytes }

    /// Forgets a stream that has ended.
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

    /// Says that no streams beyond those that have begun will be answered.
    mutating func goAway(_ failure: HTTP2Failure? = nil) {
        isLeaving = true
        let code = failure?.code ?? .noError
        let reason = Array((failure?.reason ?? "").utf8.prefix(256))
        write(.goAway, HTTP2Frame.big(lastStream) + HTTP2Frame.big(code.rawValue) + reason)
    }
}
