internal import CurlewCore

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
