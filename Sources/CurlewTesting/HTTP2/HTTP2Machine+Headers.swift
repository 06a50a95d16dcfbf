internal import CurlewCore

extension HTTP2Machine {
    mutating func takeHeaders(_ frame: HTTP2Frame, _ events: inout [Event]) throws(HTTP2Failure) {
        guard !frame.stream.isMultiple(of: 2) else { throw .violation("headers on stream \(frame.stream)") }
        let block = OpenBlock(
            stream: frame.stream, bytes: Array(try frame.content()), endsStream: frame.flags.contains(.endStream))
        try takePart(of: block, isWhole: frame.flags.contains(.endHeaders), &events)
    }

    mutating func takeContinuation(_ frame: HTTP2Frame, _ events: inout [Event]) throws(HTTP2Failure) {
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
