internal import CurlewCore
internal import Foundation
internal import Glibc

/// One accepted connection: an interpreter of steps. Used only on the server's thread.
final class Connection {
    /// The condition under which the connection can continue.
    enum Need {
        case readable
        /// Bytes arrive, or this time is reached.
        case readableUntil(ContinuousClock.Instant)
        case writable
        case time(ContinuousClock.Instant)
        /// A gate opens or the peer leaves.
        case event
        /// Any of these happens. If neither reading nor writing is requested, the peer's leaving counts too.
        case any(reads: Bool, writes: Bool, until: ContinuousClock.Instant?)
    }

    let descriptor: Int32
    let wire: any Wire
    let number: Int
    let peerPort: Int
    let server: ServerCore
    /// Wakes the connection for one of its streams, or for stream 0, the exchange of HTTP/1.1.
    let wakeLater: @Sendable (_ stream: UInt32) -> Void

    var input = InputBuffer()
    var parser = RequestParser()
    var request: TestServer.Request?
    var bodyDigest = Digest(.sha256)
    var exchanges = 0
    /// Responses for the next exchanges of this connection, whatever their paths.
    var script: [TestServer.Response]
    /// The response, if a script has chosen it.
    var chosen: TestServer.Response?
    var bodyCursor = BodyCursor(.none, isChunked: false)
    var isBodyChunked = false
    var trailers: HTTPHeaders = [:]
    /// The open WebSocket.
    var conversation: WebSocketConversation?
    /// The HTTP/2 streams; `nil` until the peer speaks HTTP/2.
    var http2: HTTP2Session?

    var output: [UInt8] = []
    var outputStart = 0
    var sendPace: Pace?
    var readPace: Pace?

    private var steps: [Step] = []
    private var nextStep = 0
    var stepWait = StepWait()
    /// The times from which the next portion may be sent or read.
    var sendTime: ContinuousClock.Instant?
    var readTime: ContinuousClock.Instant?
    var pauseAfterPiece = Duration.zero
    private(set) var isClosed = false

    init(
        descriptor: Int32,
        wire: any Wire,
        number: Int,
        peerPort: Int,
        script: [TestServer.Response],
        server: ServerCore,
        wakeLater: @escaping @Sendable (_ stream: UInt32) -> Void
    ) {
        self.descriptor = descriptor
        self.wire = wire
        self.number = number
        self.peerPort = peerPort
        self.script = script
        self.server = server
        self.wakeLater = wakeLater
        beginExchange()
    }

    func append(_ more: [Step]) { steps += more }

    /// Replaces all steps after the current one.
    func replaceRest(with others: [Step]) { steps = Array(steps[...nextStep]) + others }

    func gateOpened(stream: UInt32) {
        if let http2 { http2.gateOpened(stream) } else { stepWait.gateOpened() }
    }

    /// Runs steps until one must wait; returns `nil` when the connection is over.
    func run(_ now: ContinuousClock.Instant) -> Need? {
        // The number of steps is limited: a peer that is always ready must not keep the others waiting.
        for _ in 0..<64 {
            guard !isClosed, nextStep < steps.count else { return nil }
            if let need = perform(steps[nextStep], now) { return isClosed ? nil : need }
            nextStep += 1
        }
        return .time(now)
    }

    /// Called when the peer leaves while the connection is not reading.
    func peerLeft() {
        recordAborted()
        close()
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        _ = Glibc.close(descriptor)
    }

    func beginExchange() {
        steps = []
        nextStep = 0
        request = nil
        chosen = nil
        sendPace = nil
        readPace = nil
        sendTime = nil
        readTime = nil
        bodyDigest = Digest(.sha256)
        parser.beginRequest()
        parser.rawLimit = server.configuration.rawLimit
        parser.headLimit = server.configuration.headLimit
        exchanges += 1
        if !script.isEmpty {
            let next = script.removeFirst()
            chosen = next
            steps += ResponseSteps.beforeReading(next)
        }
        steps.append(.readHead)
    }

    /// Performs one step; returns `nil` when it is done.
    private func perform(_ step: Step, _ now: ContinuousClock.Instant) -> Need? {
        switch step {
        case .readHead:
            return readHead(now)
        case .readBody(let limit):
            return readBody(upTo: limit, now)
        case .answer:
            answer()
            return nil
        case .send(let bytes):
            output = bytes
            outputStart = 0
            steps[nextStep] = .flush
            return flush(now)
        case .flush:
            return flush(now)
        case .sendBody(let limit):
            return sendBody(upTo: limit, now)
        case .sendBodyEnd:
            // After a generator that ended early, the peer could not find the start of the next response.
            steps[nextStep] = bodyCursor.isShort ? .close : .send(bodyEnd())
            nextStep -= 1
            return nil
        case .echoBody:
            return echoBody(now)
        case .converse(let agreed):
            return converse(agreed, now)
        case .multiplex:
            return multiplex(now)
        case .wait(let duration):
            return stepWait.wait(duration, now)
        case .waitFor(let gate):
            return stepWait.wait(for: gate) { [wakeLater] in wakeLater(0) }
        case .stall:
            return .event
        case .paceSending(let pace):
            sendPace = pace
            return nil
        case .paceReading(let pace):
            readPace = pace
            return nil
        case .halfClose:
            wire.endSending()
            return nil
        case .drain(let limit):
            return drain(limit, now)
        case .close:
            close()
            return .event
        case .reset:
            isClosed = true
            Sockets.reset(descriptor)
            return .event
        case .endExchange:
            beginExchange()
            // `run` increments the index, so that it continues with the first step of the new list.
            nextStep = -1
            return nil
        }
    }

    private func answer() {
        guard let request else { return close() }
        let response = chosen ?? server.router.respond(to: request)
        let plan = ResponseSteps(response: response, request: request)
        // An echoed request is recorded when its body ends.
        if !plan.echoes || request.isBodyComplete { server.recorder.add(request) }
        isBodyChunked = plan.isChunked
        trailers = response.trailers
        bodyCursor = BodyCursor(response.body, isChunked: plan.isChunked)
        append(plan.answering())
    }
}
