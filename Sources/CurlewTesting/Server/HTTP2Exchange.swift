internal import Curlew
internal import CurlewCore
internal import Foundation

/// A request and its response on one HTTP/2 stream: an interpreter of steps. Used only on the server's thread.
final class HTTP2Exchange {
    /// The result of running steps.
    enum Turn {
        /// The exchange can continue at once, after the other streams have had their turn.
        case moved
        /// The exchange continues when the connection makes progress, or at this time.
        case waits(until: ContinuousClock.Instant?)
        case over
        /// The connection ends with these steps.
        case endsConnection([Step])
    }

    let stream: UInt32
    let server: ServerCore
    private let wakeLater: @Sendable () -> Void

    var request: TestServer.Request
    private var chosen: TestServer.Response?
    private var steps: [HTTP2Step]
    private var nextStep = 0
    var stepWait = StepWait()

    // The request's body.
    var arrived = InputBuffer()
    /// The trailers, once the peer has ended its direction.
    var end: HTTPHeaders?
    var digest = try? Digest(.sha256)
    var readPace: Pace?
    var readTime: ContinuousClock.Instant?

    // The response's body.
    var body = BodyCursor(.none, isChunked: false)
    private var isRaw = false
    var trailers: HTTPHeaders = [:]
    var piece: [UInt8] = []
    private var pieceStart = 0
    var pauseAfterPiece = Duration.zero
    var sendPace: Pace?
    var sendTime: ContinuousClock.Instant?

    /// `hasBegun` means that the `.beforeReading` faults have already happened: those of a connection's first exchange
    /// happen before the connection's first byte is read.
    init(
        stream: UInt32, request: TestServer.Request, isComplete: Bool, script: TestServer.Response?, hasBegun: Bool,
        server: ServerCore, wakeLater: @escaping @Sendable () -> Void
    ) {
        self.stream = stream
        self.server = server
        self.wakeLater = wakeLater
        self.request = request
        chosen = script ?? server.router.takeScripted(request.rawPath)
        steps = hasBegun ? [] : chosen.map(HTTP2ResponseSteps.beforeReading) ?? []
        if hasBegun, let rate = chosen?.readRate { readPace = Pace(bytesPerSecond: rate) }
        if isComplete {
            bodyEnded([:])
        } else if let expectation = server.expectation(of: request, chosen) {
            switch expectation {
            case .answer:
                if chosen?.readsBody != false { steps.append(.sendHead(status: 100, [:], isLast: false)) }
            case .ignore:
                break
            case .refuse:
                chosen = .refusal
                // The connection continues: HTTP/2 frames show where the next request begins.
                chosen?.closesConnection = false
            }
        }
        steps += chosen.map(HTTP2ResponseSteps.readingBody) ?? [.readBody(upTo: nil)]
        steps.append(.answer)
    }

    /// Runs steps until one must wait.
    func run(_ now: ContinuousClock.Instant, _ machine: inout HTTP2Machine) -> Turn {
        while nextStep < steps.count {
            if let turn = perform(steps[nextStep], now, &machine) { return turn }
            nextStep += 1
        }
        return .over
    }

    /// Performs one step; returns `nil` when it is done.
    private func perform(
        _ step: HTTP2Step, _ now: ContinuousClock.Instant, _ machine: inout HTTP2Machine
    ) -> Turn? {
        switch step {
        case .readBody(let limit): return readBody(upTo: limit, now, &machine)
        case .answer: answer()
        case .respond(let pending): if let response = pending.response { begin(response) }
        case .sendHead(let status, let headers, let isLast): sendHead(status, headers, isLast: isLast, &machine)
        case .sendBody(let limit): return sendBody(upTo: limit, now, &machine)
        case .echoBody: return echoBody(now, &machine)
        case .sendEnd: return sendEnd(&machine)
        case .sendRaw(let bytes): machine.writeRaw(bytes)
        case .wait(let duration): return turn(stepWait.wait(duration, now))
        case .waitFor(let gate): return turn(stepWait.wait(for: gate, wakeLater))
        case .stall: return .waits(until: nil)
        case .paceSending(let pace): sendPace = pace
        case .paceReading(let pace): readPace = pace
        case .halfClose:
            machine.sendEnd(stream)
            return .over
        case .reset(let code):
            machine.reset(stream, code)
            return .over
        case .endConnection(let steps): return .endsConnection(steps)
        case .goAway: machine.goAway()
        }
        return nil
    }

    private func turn(_ need: Connection.Need?) -> Turn? {
        switch need {
        case nil: nil
        case .time(let time)?, .readableUntil(let time)?: .waits(until: time)
        case .any(_, _, let time)?: .waits(until: time)
        case .readable?, .writable?, .event?: .waits(until: nil)
        }
    }

    private func answer() {
        switch chosen.map(Router.Answer.response) ?? server.router.respond(to: request) {
        case .response(let response):
            // An echoed request is recorded when its body ends.
            if !response.echoes(request) || request.isBodyComplete { server.recorder.add(request) }
            begin(response)
        case .call(let call):
            // Recorded before the route is called, so that a test can wait for the request and then let the route go on.
            server.recorder.add(request)
            let pending = PendingResponse(call)
            steps += [.waitFor(pending.isMade), .respond(pending)]
        }
    }

    private func begin(_ response: TestServer.Response) {
        let plan = HTTP2ResponseSteps(response: response, request: request)
        body = BodyCursor(response.body, isChunked: false)
        isRaw = response.framing == .raw
        trailers = response.trailers
        steps += plan.answering()
    }
}

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
        part.withUnsafeBytes { digest?.update($0) }
        request.bodyByteCount += Int64(part.count)
        let room = server.configuration.bodyLimit - request.body.count
        if room > 0 { request.body.append(contentsOf: part.prefix(room)) }
    }

    func bodyEnded(_ trailers: HTTPHeaders) {
        request.trailers = trailers
        request.isBodyComplete = true
        request.bodySHA256 = Checksum.hex(digest?.finish() ?? [])
    }

    /// Records the request that the peer did not finish.
    func recordAborted() {
        guard !request.isBodyComplete else { return }
        take(arrived.prefix(arrived.count))
        request.bodySHA256 = Checksum.hex(digest?.finish() ?? [])
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
