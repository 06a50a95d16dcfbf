internal import CurlewCore

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

    func requireFewResets() throws(HTTP2Failure) {
        if resets > limits.resets { throw .excess("\(resets) streams that were reset") }
    }

    /// Counts a frame that costs work without making progress.
    mutating func countIdle() throws(HTTP2Failure) {
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
