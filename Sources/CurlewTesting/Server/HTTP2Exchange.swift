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
    var digest = Digest(.sha256)
    var readPace: Pace?
    var readTime: ContinuousClock.Instant?

    // The response's body.
    var body = BodyCursor(.none, isChunked: false)
    var isRaw = false
    var trailers: HTTPHeaders = [:]
    var piece: [UInt8] = []
    var pieceStart = 0
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
        // An echoed request is recorded when its body ends.
        if !plan.echoes || request.isBodyComplete { server.recorder.add(request) }
        body = BodyCursor(response.body, isChunked: false)
        isRaw = response.framing == .raw
        trailers = response.trailers
        steps += plan.answering()
    }
}
