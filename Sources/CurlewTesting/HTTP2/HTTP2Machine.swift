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
    private var ignoredUpTo: UInt32 = 0
    /// Recently reset streams. Frames that were in flight at the time of the reset are ignored.
    var resetByUs: [UInt32] = []
    private var openBlock: OpenBlock?
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

extension HTTP2Machine {
    /// Processes bytes from the peer and returns the resulting events.
    mutating func receive(_ bytes: some Sequence<UInt8>) -> [Event] {
        guard phase != .failed else { return [] }
        reader.append(bytes)
        var events: [Event] = []
        do throws(HTTP2Failure) {
            if phase == .preface {
                guard try reader.takePreface() else { return [] }
                phase = .firstSettings
            }
            while let frame = try reader.next() { try take(frame, &events) }
        } catch {
            phase = .failed
            streams = [:]
            goAway(error)
            events.append(.failed(error))
        }
        return events
    }

    private mutating func take(_ frame: HTTP2Frame, _ events: inout [Event]) throws(HTTP2Failure) {
        if phase == .firstSettings {
            guard frame.kind == .settings, !frame.flags.contains(.acknowledges) else { throw .violation("no settings") }
            phase = .open
        }
        if let openBlock, frame.kind != .continuation || frame.stream != openBlock.stream {
            throw .violation("a header block that is interrupted")
        }
        switch frame.kind {
        case .data?: try takeData(frame, &events)
        case .headers?: try takeHeaders(frame, &events)
        case .continuation?: try takeContinuation(frame, &events)
        case .priority?: try takePriority(frame)
        case .resetStream?: try takeReset(frame, &events)
        case .settings?: try takeSettings(frame)
        case .pushPromise?: throw .violation("a push from a client")
        case .ping?: try takePing(frame)
        case .goAway?:
            guard frame.stream == 0 else { throw .violation("GOAWAY on a stream") }
            guard frame.payload.count >= 8 else { throw .size("a short GOAWAY") }
            isPeerLeaving = true
        case .windowUpdate?: try takeWindowUpdate(frame, &events)
        case nil: try countIdle()
        }
    }

    private func requireFewResets() throws(HTTP2Failure) {
        if resets > limits.resets { throw .excess("\(resets) streams that were reset") }
    }

    /// Counts a frame that costs work without making progress.
    private mutating func countIdle() throws(HTTP2Failure) {
        idleFrames += 1
        if idleFrames > limits.idleFrames { throw .excess("\(idleFrames) frames that bring nothing on") }
    }

    /// Resets a stream whose peer broke a rule.
    mutating func fail(_ stream: UInt32, _ code: HTTP2ErrorCode, _ events: inout [Event]) throws(HTTP2Failure) {
        let wasOpen = streams[stream] != nil
        reset(stream, code)
        if wasOpen { events.append(.reset(stream: stream)) }
        // A provoked reset costs as much as one that the peer sends.
        resets += 1
        try requireFewResets()
    }

    // MARK: The connection's frames

    private mutating func takeSettings(_ frame: HTTP2Frame) throws(HTTP2Failure) {
        guard frame.stream == 0 else { throw .violation("SETTINGS on a stream") }
        try countIdle()
        guard !frame.flags.contains(.acknowledges) else {
            guard frame.payload.isEmpty else { throw .size("an acknowledgement with settings") }
            return
        }
        let before = peer.initialWindow
        try peer.apply(frame.payload)
        for (stream, open) in streams {
            let window = open.sendWindow + peer.initialWindow - before
            guard window <= HTTP2Settings.largestWindow else { throw .flow("a window of \(window)") }
            streams[stream]?.sendWindow = window
        }
        write(.settings, flags: .acknowledges, [])
    }

    private mutating func takePing(_ frame: HTTP2Frame) throws(HTTP2Failure) {
        guard frame.stream == 0 else { throw .violation("PING on a stream") }
        guard frame.payload.count == 8 else { throw .size("a ping of \(frame.payload.count) bytes") }
        try countIdle()
        if !frame.flags.contains(.acknowledges) { write(.ping, flags: .acknowledges, frame.payload) }
    }

    private mutating func takeWindowUpdate(_ frame: HTTP2Frame, _ events: inout [Event]) throws(HTTP2Failure) {
        guard frame.payload.count == 4 else { throw .size("a WINDOW_UPDATE of \(frame.payload.count) bytes") }
        let increment = Int(frame.number() & 0x7FFF_FFFF)
        guard frame.stream != 0 else {
            guard increment > 0 else { throw .violation("a window that grows by nothing") }
            sendWindow += increment
            guard sendWindow <= HTTP2Settings.largestWindow else { throw .flow("a window of \(sendWindow)") }
            return
        }
        guard let open = streams[frame.stream] else { return isIgnored(frame.stream) ? () : try requireBegun(frame) }
        guard increment > 0 else { return try fail(frame.stream, .protocolError, &events) }
        guard open.sendWindow + increment <= HTTP2Settings.largestWindow else {
            return try fail(frame.stream, .flowControlError, &events)
        }
        streams[frame.stream]?.sendWindow += increment
    }

    // MARK: Streams' frames

    private mutating func takeData(_ frame: HTTP2Frame, _ events: inout [Event]) throws(HTTP2Failure) {
        let size = frame.payload.count
        let content = try frame.content()
        guard size <= receiveWindow else { throw .flow("data beyond the connection's window") }
        // The connection's window is returned at once: a stream that is not read must not block the others.
        receiveWindow -= size
        if receiveWindow < HTTP2Settings.defaultWindow / 2 {
            let room = HTTP2Settings.defaultWindow - receiveWindow
            write(.windowUpdate, HTTP2Frame.big(UInt32(clamping: room)))
            receiveWindow += room
        }
        let isLast = frame.flags.contains(.endStream)
        if content.isEmpty, !isLast { try countIdle() } else { idleFrames = 0 }
        let stream = frame.stream
        guard var open = streams[stream] else {
            if isIgnored(stream) { return }
            try requireBegun(frame)
            if !resetByUs.contains(stream) { try fail(stream, .streamClosed, &events) }
            return
        }
        guard !open.isPeerDone else { return try fail(stream, .streamClosed, &events) }
        guard size <= open.receiveWindow else { return try fail(stream, .flowControlError, &events) }
        open.receiveWindow -= size
        open.receivedLength += Int64(content.count)
        open.isPeerDone = isLast
        streams[stream] = open
        if let length = open.contentLength, open.receivedLength > length || isLast && open.receivedLength < length {
            return try fail(stream, .protocolError, &events)
        }
        consumed(stream, size - content.count)
        if !content.isEmpty { events.append(.data(stream: stream, Array(content))) }
        if isLast { events.append(.end(stream: stream, trailers: [:])) }
    }

    private mutating func takeReset(_ frame: HTTP2Frame, _ events: inout [Event]) throws(HTTP2Failure) {
        guard frame.payload.count == 4 else { throw .size("a RST_STREAM of \(frame.payload.count) bytes") }
        if isIgnored(frame.stream) { return try countIdle() }
        try requireBegun(frame)
        guard streams.removeValue(forKey: frame.stream) != nil else { return try countIdle() }
        events.append(.reset(stream: frame.stream))
        resets += 1
        try requireFewResets()
    }

    private mutating func takePriority(_ frame: HTTP2Frame) throws(HTTP2Failure) {
        guard frame.stream != 0 else { throw .violation("PRIORITY without a stream") }
        guard frame.payload.count == 5 else { throw .size("a priority of \(frame.payload.count) bytes") }
        try countIdle()
    }

    /// Whether the client began the stream before it saw our GOAWAY (RFC 9113, 6.8).
    private func isIgnored(_ stream: UInt32) -> Bool {
        !stream.isMultiple(of: 2) && stream > lastStream && stream <= ignoredUpTo
    }

    /// Throws if the stream has never been open. On a closed stream, late frames are legal.
    private func requireBegun(_ frame: HTTP2Frame) throws(HTTP2Failure) {
        guard frame.stream != 0, !frame.stream.isMultiple(of: 2), frame.stream <= lastStream else {
            throw .violation("a frame for stream \(frame.stream), which has not begun")
        }
    }
}

extension HTTP2Machine {
    private mutating func takeHeaders(_ frame: HTTP2Frame, _ events: inout [Event]) throws(HTTP2Failure) {
        guard !frame.stream.isMultiple(of: 2) else { throw .violation("headers on stream \(frame.stream)") }
        let block = OpenBlock(
            stream: frame.stream, bytes: Array(try frame.content()), endsStream: frame.flags.contains(.endStream))
        try takePart(of: block, isWhole: frame.flags.contains(.endHeaders), &events)
    }

    private mutating func takeContinuation(_ frame: HTTP2Frame, _ events: inout [Event]) throws(HTTP2Failure) {
        guard var block = openBlock else { throw .violation("CONTINUATION of nothing") }
        if frame.payload.isEmpty { try countIdle() }
        openBlock = nil
        block.bytes += frame.payload
        try takePart(of: block, isWhole: frame.flags.contains(.endHeaders), &events)
    }

    private mutating func takePart(
        of block: OpenBlock, isWhole: Bool, _ events: inout [Event]
    ) throws(HTTP2Failure) {
        guard block.bytes.count <= limits.headerBlock else { throw .excess("a header block above the limit") }
        guard isWhole else {
            openBlock = block
            return
        }
        // A block must be decoded even if its fields are discarded, because the next block may refer to them.
        let decoded = try decoder.decode(block.bytes, listLimit: limits.headerList)
        if streams[block.stream] != nil {
            try takeTrailers(block, decoded, &events)
        } else if block.stream > lastStream {
            try begin(block, decoded, &events)
        } else if !resetByUs.contains(block.stream) {
            throw HTTP2Failure(code: .streamClosed, reason: "headers on stream \(block.stream), which is over")
        }
    }

    private mutating func begin(
        _ block: OpenBlock, _ decoded: HPACKDecoder.Block, _ events: inout [Event]
    ) throws(HTTP2Failure) {
        let stream = block.stream
        guard !isLeaving else {
            ignoredUpTo = max(ignoredUpTo, stream)
            return
        }
        lastStream = stream
        guard streams.count < limits.streams else { return try fail(stream, .refusedStream, &events) }
        streams[stream] = Stream(sendWindow: peer.initialWindow, isPeerDone: block.endsStream)
        guard !decoded.isTooLong else {
            // As with HTTP/1.1, a head above the limit is answered with 400.
            sendFields(stream, [HPACKField(":status", "400")], isLast: true)
            resets += 1
            return try requireFewResets()
        }
        do throws(HTTP2Failure) {
            let head = try HTTP2RequestHead(decoded.fields)
            streams[stream]?.contentLength = head.contentLength
            if block.endsStream, let length = head.contentLength, length > 0 {
                throw .violation("a body that is missing")
            }
            idleFrames = 0
            events.append(.request(stream: stream, head, isLast: block.endsStream))
        } catch {
            streams[stream] = nil
            try fail(stream, error.code, &events)
        }
    }

    private mutating func takeTrailers(
        _ block: OpenBlock, _ decoded: HPACKDecoder.Block, _ events: inout [Event]
    ) throws(HTTP2Failure) {
        let stream = block.stream
        guard let open = streams[stream] else { return }
        guard !open.isPeerDone else { return try fail(stream, .streamClosed, &events) }
        let isComplete = open.contentLength.map { $0 == open.receivedLength } ?? true
        guard block.endsStream, isComplete, !decoded.isTooLong,
            let trailers = try? HTTP2RequestHead.trailers(decoded.fields)
        else { return try fail(stream, .protocolError, &events) }
        streams[stream]?.isPeerDone = true
        events.append(.end(stream: stream, trailers: trailers))
    }
}

/// Sending. Output for a stream that is closed is dropped.
extension HTTP2Machine {
    /// Sends a head, or trailers if the head was sent and `isLast` is set.
    mutating func sendFields(_ stream: UInt32, _ fields: [HPACKField], isLast: Bool) {
        guard streams[stream] != nil else { return }
        streams[stream]?.hasSentHead = true
        var block = encoder.encode(fields)[...]
        var kind = HTTP2Frame.Kind.headers
        var flags: HTTP2Frame.Flags = isLast ? .endStream : []
        repeat {
            let part = block.prefix(peer.maximumPayload)
            block = block.dropFirst(part.count)
            if block.isEmpty { flags.insert(.endHeaders) }
            write(kind, flags: flags, stream: stream, part)
            kind = .continuation
            flags = []
        } while !block.isEmpty
        if isLast { ended(stream) }
    }

    /// Returns the number of body bytes that may be sent in one frame.
    func room(_ stream: UInt32) -> Int {
        guard let open = streams[stream] else { return 0 }
        return max(0, min(open.sendWindow, sendWindow, peer.maximumPayload))
    }

    /// Sends as many bytes as one frame and the windows allow; returns their number.
    mutating func sendData(_ stream: UInt32, _ bytes: ArraySlice<UInt8>) -> Int {
        let part = bytes.prefix(room(stream))
        guard !part.isEmpty else { return 0 }
        streams[stream]?.sendWindow -= part.count
        sendWindow -= part.count
        idleFrames = 0
        write(.data, stream: stream, part)
        return part.count
    }

    /// Ends our direction of a stream. Resets it if no head was sent.
    mutating func sendEnd(_ stream: UInt32) {
        guard let open = streams[stream] else { return }
        guard open.hasSentHead else { return reset(stream, .noError) }
        write(.data, flags: .endStream, stream: stream, [])
        ended(stream)
    }

    /// Counts consumed body bytes, and returns them to the peer's window in batches.
    mutating func consumed(_ stream: UInt32, _ count: Int) {
        guard var open = streams[stream], !open.isPeerDone else { return }
        open.unreturned += count
        if open.unreturned >= HTTP2Settings.defaultWindow / 2 {
            write(.windowUpdate, stream: stream, HTTP2Frame.big(UInt32(clamping: open.unreturned)))
            open.receiveWindow += open.unreturned
            open.unreturned = 0
        }
        streams[stream] = open
    }

    /// Closes the stream after our last frame. A request that is still arriving is reset with NO_ERROR (RFC 9113, 8.1).
    private mutating func ended(_ stream: UInt32) {
        guard let open = streams[stream] else { return }
        if open.isPeerDone { close(stream) } else { reset(stream, .noError) }
    }
}
