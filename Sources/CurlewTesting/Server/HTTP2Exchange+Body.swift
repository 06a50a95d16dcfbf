internal import CurlewCore
internal import Foundation

// MARK: Reading

extension HTTP2Exchange {
    private enum Arrival { case part(ArraySlice<UInt8>), end, nothing(Turn) }

    func readBody(upTo limit: Int64?, _ now: ContinuousClock.Instant, _ machine: inout HTTP2Machine) -> Turn? {
        while !request.isBodyComplete {
            let room = limit.map { $0 - request.bodyByteCount } ?? .max
            guard room > 0 else { return nil }
            if case .nothing(let turn) = next(most: Int(min(room, 1 << 20)), now, &machine) { return turn }
        }
        return nil
    }

    /// Sends each piece back before it reads the next one, so a peer that does not read the response is not read
    /// either.
    func echoBody(_ now: ContinuousClock.Instant, _ machine: inout HTTP2Machine) -> Turn? {
        while machine.isOpen(stream) {
            if let turn = sendPiece(now, &machine) { return turn }
            guard !request.isBodyComplete else { return nil }
            switch next(most: BodyCursor.portion, now, &machine) {
            case .part(let part):
                piece = Array(part)
                pieceStart = 0
            case .end: server.recorder.add(request)
            case .nothing(let turn): return turn
            }
        }
        return nil
    }

    /// Consumes arrived bytes. Only consumed bytes reopen the stream's window.
    private func next(most: Int, _ now: ContinuousClock.Instant, _ machine: inout HTTP2Machine) -> Arrival {
        guard !arrived.isEmpty else {
            guard let end else { return .nothing(.waits(until: nil)) }
            bodyEnded(end)
            return .end
        }
        if let readTime, now < readTime { return .nothing(.waits(until: readTime)) }
        let part = arrived.prefix(min(most, readPace?.bytes ?? most))
        take(part)
        machine.consumed(stream, part.count)
        if let readPace { readTime = now + readPace.every }
        return .part(part)
    }

    private func take(_ part: ArraySlice<UInt8>) {
        arrived.consume(part.count)
        digest.update(part)
        request.bodyByteCount += Int64(part.count)
        let room = server.configuration.bodyLimit - request.body.count
        if room > 0 { request.body.append(contentsOf: part.prefix(room)) }
    }

    func bodyEnded(_ trailers: HTTPHeaders) {
        request.trailers = trailers
        request.isBodyComplete = true
        request.bodySHA256 = digest.finish()
    }

    /// Records the request that the peer did not finish.
    func recordAborted() {
        guard !request.isBodyComplete else { return }
        take(arrived.prefix(arrived.count))
        request.bodySHA256 = digest.finish()
        server.recorder.addAborted(request)
    }
}

// MARK: Writing

extension HTTP2Exchange {
    /// The size of unsent output at which streams wait for the socket.
    static let outputLimit = 128 * 1024

    func sendHead(_ status: Int, _ headers: HTTPHeaders, isLast: Bool, _ machine: inout HTTP2Machine) {
        let fields = [HPACKField(":status", String(status))] + Self.fields(headers)
        machine.sendFields(stream, fields, isLast: isLast)
    }

    func sendBody(upTo limit: Int64?, _ now: ContinuousClock.Instant, _ machine: inout HTTP2Machine) -> Turn? {
        while machine.isOpen(stream) {
            if let turn = sendPiece(now, &machine) { return turn }
            if pauseAfterPiece > .zero {
                stepWait.end = now + pauseAfterPiece
                pauseAfterPiece = .zero
            }
            if let end = stepWait.end, now < end { return .waits(until: end) }
            stepWait.end = nil
            guard let (bytes, pause) = body.next(upTo: limit) else { return nil }
            piece = bytes
            pieceStart = 0
            pauseAfterPiece = pause
        }
        return nil
    }

    /// Ends the body, with its trailers. A body that is shorter than promised is reset instead.
    func sendEnd(_ machine: inout HTTP2Machine) -> Turn? {
        if body.isShort {
            machine.reset(stream, .internalError)
            return .over
        }
        if trailers.isEmpty {
            machine.sendEnd(stream)
        } else {
            machine.sendFields(stream, Self.fields(trailers), isLast: true)
        }
        return nil
    }

    /// Sends one frame of the piece; returns `nil` when all of the piece has been sent.
    private func sendPiece(_ now: ContinuousClock.Instant, _ machine: inout HTTP2Machine) -> Turn? {
        guard pieceStart < piece.count else { return nil }
        if let sendTime, now < sendTime { return .waits(until: sendTime) }
        guard machine.output.count < Self.outputLimit else { return .waits(until: nil) }
        let end = pieceStart + min(piece.count - pieceStart, sendPace?.bytes ?? .max)
        let part = piece[pieceStart..<end]
        var sent = part.count
        if isRaw { machine.writeRaw(Array(part)) } else { sent = machine.sendData(stream, part) }
        guard sent > 0 else { return .waits(until: nil) }
        pieceStart += sent
        if let sendPace { sendTime = now + sendPace.every }
        return .moved
    }

    private static func fields(_ headers: HTTPHeaders) -> [HPACKField] {
        headers.map { HPACKField($0.name.lowercased(), $0.value) }
    }
}
