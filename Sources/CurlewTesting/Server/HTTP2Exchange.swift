internal import CurlewCore
internal import Foundation

/// A request and its answer on one stream of HTTP/2: an interpreter of steps. Lives on the server's thread alone.
final class HTTP2Exchange {
    /// What a run of steps came to.
    enum Turn {
        /// There is more to do at once, when the other streams have had their turn.
        case moved
        /// Something must happen on the connection, or the time must come.
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
    /// The trailers, when the peer has ended its direction.
    var end: HTTPHeaders?
    var digest = Digest(.sha256)
    var readPace: Pace?
    var readTime: ContinuousClock.Instant?

    // The answer's body.
    var body = BodyCursor(.none, isChunked: false)
    var isRaw = false
    var trailers: HTTPHeaders = [:]
    var piece: [UInt8] = []
    var pieceStart = 0
    var pauseAfterPiece = Duration.zero
    var sendPace: Pace?
    var sendTime: ContinuousClock.Instant?

    /// `hasBegun` says that the faults before reading have happened: those of a connection's first exchange do before
    /// the connection's first byte is read.
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
                // The connection goes on: over HTTP/2 it is known where the next request begins.
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

    /// nil when the step is done.
    private func perform(
        _ step: HTTP2Step, _ now: ContinuousClock.Instant, _ machine: inout HTTP2Machine
    ) -> Turn? {
        switch step {
        case .readBody(let limit): return readBody(upTo: limit, now, &machine)
        case .answer: answer()
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
        let response = chosen ?? server.router.respond(to: request)
        let plan = HTTP2ResponseSteps(response: response, request: request)
        // One that is answered while it arrives is recorded at its end.
        if !plan.echoes || request.isBodyComplete { server.recorder.add(request) }
        body = BodyCursor(response.body, isChunked: false)
        isRaw = response.framing == .raw
        trailers = response.trailers
        steps += plan.answering()
    }
}
