internal import CurlewCore

/// What the server says. What is said on a stream that is over goes nowhere.
extension HTTP2Machine {
    /// Sends a head, or trailers when `isLast` and the head has gone.
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

    /// How many bytes of a body may be sent now, in one frame.
    func room(_ stream: UInt32) -> Int {
        guard let open = streams[stream] else { return 0 }
        return max(0, min(open.sendWindow, sendWindow, peer.maximumPayload))
    }

    /// Sends as much as one frame and the windows take; the answer is how much that was.
    mutating func sendData(_ stream: UInt32, _ bytes: ArraySlice<UInt8>) -> Int {
        let part = bytes.prefix(room(stream))
        guard !part.isEmpty else { return 0 }
        streams[stream]?.sendWindow -= part.count
        sendWindow -= part.count
        idleFrames = 0
        write(.data, stream: stream, part)
        return part.count
    }

    /// Ends our direction of a stream.
    mutating func sendEnd(_ stream: UInt32) {
        guard let open = streams[stream] else { return }
        guard open.hasSentHead else { return reset(stream, .noError) }
        write(.data, flags: .endStream, stream: stream, [])
        ended(stream)
    }

    /// Gives room back to the peer, for so many bytes of a body that have been taken.
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

    /// We have sent everything. A request that has not ended by then is not wanted any more (RFC 9113, 8.1).
    private mutating func ended(_ stream: UInt32) {
        guard let open = streams[stream] else { return }
        if open.isPeerDone { close(stream) } else { reset(stream, .noError) }
    }
}
