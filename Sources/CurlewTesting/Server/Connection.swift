internal import Curlew
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
    var bodyDigest = try? Digest(.sha256)
    var exchanges = 0
    /// Responses for the next exchanges of this connection, whatever their paths.
    var script: [TestServer.Response]
    /// The response, if a script has chosen it.
    var chosen: TestServer.Response?
    private var bodyCursor = BodyCursor(.none, isChunked: false)
    private var isBodyChunked = false
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
        bodyDigest = try? Digest(.sha256)
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
        case .respond(let pending):
            respond(with: pending)
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
        switch chosen.map(Router.Answer.response) ?? server.router.respond(to: request) {
        case .response(let response):
            // An echoed request is recorded when its body ends.
            if !response.echoes(request) || request.isBodyComplete { server.recorder.add(request) }
            begin(response, to: request)
        case .call(let call):
            // Recorded before the route is called, so that a test can wait for the request and then let the route go on.
            server.recorder.add(request)
            let pending = PendingResponse(call)
            append([.waitFor(pending.isMade), .respond(pending)])
        }
    }

    private func respond(with pending: PendingResponse) {
        guard let request, let response = pending.response else { return close() }
        begin(response, to: request)
    }

    private func begin(_ response: TestServer.Response, to request: TestServer.Request) {
        let plan = ResponseSteps(response: response, request: request)
        isBodyChunked = plan.isChunked
        trailers = response.trailers
        bodyCursor = BodyCursor(response.body, isChunked: plan.isChunked)
        append(plan.answering())
    }
}

extension Connection {
    /// Sends the rest of `output`; returns `nil` when all of it has been sent.
    func flush(_ now: ContinuousClock.Instant) -> Need? {
        var turns = 0
        while outputStart < output.count {
            if let sendTime, now < sendTime { return .time(sendTime) }
            // A peer that accepts everything must not keep the other connections waiting.
            turns += 1
            guard turns <= 16 else { return .writable }
            let most = min(output.count - outputStart, sendPace?.bytes ?? .max)
            let portion = outputStart..<outputStart + most
            switch output.withUnsafeBytes({ wire.send(UnsafeRawBufferPointer(rebasing: $0[portion])) }) {
            case .moved(let count):
                server.recorder.sent(count)
                outputStart += count
                if let sendPace { sendTime = now + sendPace.every }
            case .needs(let need):
                return need
            case .ended:
                close()
                return .event
            }
        }
        return nil
    }

    func sendBody(upTo limit: Int64?, _ now: ContinuousClock.Instant) -> Need? {
        while true {
            if let need = flush(now) { return need }
            if pauseAfterPiece > .zero {
                stepWait.end = now + pauseAfterPiece
                pauseAfterPiece = .zero
            }
            if let end = stepWait.end, now < end { return .time(end) }
            stepWait.end = nil
            guard let (bytes, pause) = bodyCursor.next(upTo: limit) else { return nil }
            output = bytes
            outputStart = 0
            pauseAfterPiece = pause
        }
    }

    /// Returns the last chunk and the trailers of a chunked body; empty for other framings.
    private func bodyEnd() -> [UInt8] {
        guard isBodyChunked else { return [] }
        var text = "0\r\n"
        for field in trailers { text += "\(field.name): \(field.value)\r\n" }
        return Array((text + "\r\n").utf8)
    }
}

extension Connection {
    /// Continues an open WebSocket until it must wait; returns `nil` when the next steps are set.
    func converse(_ agreed: AgreedConversation, _ now: ContinuousClock.Instant) -> Need? {
        let conversation = conversation ?? WebSocketConversation(agreed)
        self.conversation = conversation
        while true {
            if let need = flush(now) { return need }
            switch conversation.next(&input) {
            case .write(let bytes):
                output = bytes
                outputStart = 0
            case .read: if let need = readMore(65_536, now) { return need }
            case .wait(let duration):
                replaceRest(with: [.wait(duration), .converse(agreed)])
                return nil
            case .waitFor(let gate):
                replaceRest(with: [.waitFor(gate), .converse(agreed)])
                return nil
            case .end(let steps):
                replaceRest(with: steps)
                return nil
            }
        }
    }
}

extension Connection {
    /// Whether the peer speaks HTTP/2; `nil` while too few bytes have arrived to tell.
    func speaksHTTP2() -> Bool? {
        let protocols = server.configuration.protocols
        guard exchanges == 1, protocols.contains(.http2) else { return false }
        // A client that agreed on HTTP/2 by ALPN and sends no preface must get an HTTP/2 error, not a 400.
        guard protocols.contains(.http1), !wire.hasAgreedOnHTTP2 else { return true }
        // The preface counts over TLS too: a client may speak HTTP/2 with prior knowledge, without ALPN.
        let start = input.prefix(HTTP2Frame.preface.count)
        guard HTTP2Frame.preface.starts(with: start) else { return false }
        return start.count == HTTP2Frame.preface.count ? true : nil
    }

    /// Serves the streams until the connection must wait; returns `nil` when the steps that end it are next.
    func multiplex(_ now: ContinuousClock.Instant) -> Need? {
        let session = http2 ?? HTTP2Session(self)
        http2 = session
        // These bytes were read to detect the protocol.
        if !input.isEmpty { session.receive(&input) }
        // The number of turns is limited, so that the other connections are served in between.
        for _ in 0..<32 {
            if outputStart == output.count {
                output = session.takeOutput()
                outputStart = 0
            }
            var reads = true
            var writes = false
            var hasMoved = false
            if let need = flush(now) {
                guard !isClosed else {
                    session.recordAborted()
                    return .event
                }
                // TLS may have to read before it can write.
                if case .readable = need {} else { writes = true }
            } else if let ending = session.ending, !session.hasOutput {
                replaceRest(with: ending)
                return nil
            }
            // While the peer does not read our responses, we read no further requests.
            if writes { reads = session.ending == nil && !session.hasMuchOutput }
            if reads {
                if let need = readMore(65_536, now) {
                    guard !isClosed else { return .event }
                    if case .writable = need { writes = true }
                } else {
                    session.receive(&input)
                    hasMoved = true
                }
            }
            if session.advance(now) { hasMoved = true }
            if !writes, session.hasOutput || session.ending != nil { hasMoved = true }
            if !hasMoved { return .any(reads: reads, writes: writes, until: session.wakeTime) }
        }
        return .time(now)
    }
}
