internal import CurlewCore
internal import Foundation

/// A step of a connection. Every exchange is a list of steps; faults are steps in that list.
enum Step {
    /// Read a request's head, then choose the response.
    case readHead
    /// Read the body up to this offset, or to its end.
    case readBody(upTo: Int64?)
    /// Choose the response: a scripted one, or the route's.
    case answer
    /// Send the response that an asynchronous route has made.
    case respond(PendingResponse)
    case send([UInt8])
    /// Continue an unfinished `send`.
    case flush
    /// Send the body up to this offset, or to its end.
    case sendBody(upTo: Int64?)
    /// Send the last chunk and the trailers, if the body is chunked.
    case sendBodyEnd
    /// Start or continue an open WebSocket.
    case converse(AgreedConversation)
    /// Serve HTTP/2 streams, from the preface to the end of the connection.
    case multiplex
    /// Send back the request's body, piece by piece.
    case echoBody
    case wait(Duration)
    case waitFor(Gate)
    /// Wait until the peer leaves or the server stops.
    case stall
    case paceSending(Pace)
    case paceReading(Pace)
    /// End the server's direction.
    case halfClose
    /// Discard input until the peer ends its direction or the time has passed.
    case drain(Duration?)
    case close
    case reset
    /// End the exchange and prepare for the next request.
    case endExchange
}

/// A transfer rate: a number of bytes, then a pause.
struct Pace: Equatable {
    var bytes: Int
    var every: Duration

    init(bytes: Int, every: Duration) {
        self.bytes = max(1, bytes)
        self.every = every
    }

    /// At most a hundred portions a second; fewer if a portion would be less than one byte.
    init(bytesPerSecond rate: Int) {
        let portions = min(100, max(1, rate))
        self.init(bytes: rate / portions, every: .seconds(1) / portions)
    }
}

/// The wait of one step: for a time or for a gate.
struct StepWait {
    /// The time at which the current wait ends.
    var end: ContinuousClock.Instant?
    private var awaitsGate = false
    private var hasPassedGate = false

    mutating func gateOpened() { hasPassedGate = true }

    /// Returns `nil` when the time has passed; the first call starts the wait.
    mutating func wait(_ duration: Duration, _ now: ContinuousClock.Instant) -> Connection.Need? {
        guard let end else {
            end = now + duration
            return .time(now + duration)
        }
        guard now >= end else { return .time(end) }
        self.end = nil
        return nil
    }

    /// Returns `nil` if the gate is open or has opened since the first call. Otherwise calls `wakeLater` when it opens.
    mutating func wait(for gate: Gate, _ wakeLater: @escaping @Sendable () -> Void) -> Connection.Need? {
        if !awaitsGate {
            guard gate.whenOpen(wakeLater) else { return nil }
            awaitsGate = true
        }
        guard hasPassedGate else { return .event }
        awaitsGate = false
        hasPassedGate = false
        return nil
    }
}

/// Turns a response into the steps of an HTTP/1.1 connection.
struct ResponseSteps {
    let response: TestServer.Response
    let request: TestServer.Request

    /// Whether the body is sent with chunked framing.
    var isChunked: Bool {
        switch response.framing {
        case .chunked: allowsBody
        case .automatic: allowsBody && request.version != .http1_0 && bodyLength == nil
        case .untilClose, .asIs, .raw: false
        }
    }

    private var sendsBody: Bool { response.sendsBody(to: request) }

    var echoes: Bool { response.echoes(request) }

    /// Returns the steps before any byte of the request is read, or before its body if the response was chosen by path.
    static func beforeReading(_ response: TestServer.Response) -> [Step] {
        var steps: [Step] = []
        if let rate = response.readRate { steps.append(.paceReading(Pace(bytesPerSecond: rate))) }
        for fault in response.faults where fault.point == .beforeReading { steps += fault.action.steps }
        return steps
    }

    /// Returns the steps that read the request's body.
    static func readingBody(_ response: TestServer.Response) -> [Step] {
        guard response.readsBody else { return [] }
        if case .echo = response.body { return [] }
        var steps: [Step] = []
        for (offset, action) in response.faults.ordered(by: \.readingOffset) {
            steps.append(.readBody(upTo: offset))
            steps += action.steps
        }
        steps.append(.readBody(upTo: nil))
        return steps
    }

    /// Returns the steps that send the response.
    func answering() -> [Step] {
        var steps: [Step] = []
        for interim in response.interim {
            steps.append(.send(head(status: interim.status, reason: nil, headers: interim.headers)))
            if interim.pause > .zero { steps.append(.wait(interim.pause)) }
        }
        if response.delay > .zero { steps.append(.wait(response.delay)) }
        if let rate = response.sendRate { steps.append(.paceSending(Pace(bytesPerSecond: rate))) }
        for fault in response.faults where fault.point == .beforeHead { steps += fault.action.steps }
        if response.framing != .raw { steps += sendingHead() }
        if let conversation = response.conversation {
            steps.append(.converse(conversation))
        } else if echoes {
            steps += [.echoBody, .sendBodyEnd]
        } else if sendsBody {
            for (offset, action) in response.faults.ordered(by: \.bodyOffset) {
                if offset > 0 { steps.append(.sendBody(upTo: offset)) }
                steps += action.steps
            }
            steps += [.sendBody(upTo: nil), .sendBodyEnd]
        }
        for fault in response.faults where fault.point == .atEnd { steps += fault.action.steps }
        if endsConnection {
            steps += Step.ending
        } else {
            steps.append(.endExchange)
        }
        return steps
    }

    private func sendingHead() -> [Step] {
        let bytes = head(status: response.status, reason: response.reason, headers: framedHeaders())
        var steps: [Step] = []
        var sent = 0
        for (offset, action) in response.faults.ordered(by: \.headOffset) {
            let end = max(sent, min(Int(offset), bytes.count))
            steps.append(.send(Array(bytes[sent..<end])))
            steps += action.steps
            sent = end
        }
        steps.append(.send(Array(bytes[sent...])))
        return steps
    }

    private var endsConnection: Bool {
        if response.closesConnection || !response.readsBody { return true }
        switch response.framing {
        case .untilClose: return true
        case .automatic: if allowsBody, bodyLength == nil, request.version == .http1_0 { return true }
        case .chunked, .asIs, .raw: break
        }
        let connection = request.headers.values(for: "Connection").joined(separator: ",").lowercased()
        if request.version == .http1_0 { return !connection.contains("keep-alive") }
        return connection.contains("close")
    }

    private var allowsBody: Bool { response.allowsBody }

    private var bodyLength: Int64? { response.bodyLength }

    private func framedHeaders() -> HTTPHeaders {
        var headers = response.headers
        guard response.framing != .asIs else { return headers }
        if isChunked {
            if !headers.contains(name: "Transfer-Encoding") {
                headers.append(name: "Transfer-Encoding", value: "chunked")
            }
        } else if response.framing == .automatic, allowsBody, let bodyLength, !headers.contains(name: "Content-Length")
        {
            headers.append(name: "Content-Length", value: String(bodyLength))
        }
        if endsConnection, !headers.contains(name: "Connection") { headers.append(name: "Connection", value: "close") }
        return headers
    }

    private func head(status: Int, reason: String?, headers: HTTPHeaders) -> [UInt8] {
        let registered = HTTPStatus(status).reasonPhrase
        var text = "HTTP/1.1 \(status) \(reason ?? (registered.isEmpty ? "Unknown" : registered))\r\n"
        for field in headers { text += "\(field.name): \(field.value)\r\n" }
        return Array((text + "\r\n").utf8)
    }
}

extension TestServer.Response {
    /// Whether the status allows a body: 1xx, 204 and 304 have none, whatever the response contains.
    var allowsBody: Bool { status >= 200 && status != 204 && status != 304 }

    /// Whether any body byte is sent.
    func sendsBody(to request: TestServer.Request) -> Bool {
        framing == .raw || (allowsBody && request.method != "HEAD")
    }

    /// Whether the request's body is read while the response is sent.
    func echoes(_ request: TestServer.Request) -> Bool {
        if case .echo = body { sendsBody(to: request) } else { false }
    }

    /// The length of the body; `nil` if it is known only at the end.
    var bodyLength: Int64? {
        switch body {
        case .none: 0
        case .data(let data): Int64(data.count)
        case .chunks, .echo: nil
        case .generated(let length, _): length
        }
    }
}

extension Step {
    /// Ends a connection after all output has been sent: ends the server's direction, then discards input for up to a
    /// second. Closing a socket with unread bytes would send a reset, which can destroy the response.
    static let ending: [Step] = [.halfClose, .drain(.seconds(1)), .close]
}

extension TestServer.Fault.Action {
    var steps: [Step] {
        switch self {
        case .close: [.close]
        case .reset: [.reset]
        case .halfClose: [.halfClose, .drain(nil), .close]
        case .delay(let duration): [.wait(duration)]
        case .stall(nil): [.stall]
        case .stall(let gate?): [.waitFor(gate)]
        case .dribble(let bytes, let every): [.paceSending(Pace(bytes: bytes, every: every))]
        case .dribbleReading(let bytes, let every): [.paceReading(Pace(bytes: bytes, every: every))]
        case .garbage(let data): [.send(Array(data))]
        }
    }
}

extension TestServer.Fault {
    var readingOffset: Int64? { if case .readingBody(let offset) = point { offset } else { nil } }
    var headOffset: Int64? { if case .inHead(let offset) = point { Int64(offset) } else { nil } }
    var bodyOffset: Int64? { if case .inBody(let offset) = point { offset } else { nil } }
}

extension [TestServer.Fault] {
    /// The faults that have an offset, in ascending order; faults with equal offsets keep their order.
    func ordered(
        by offset: (TestServer.Fault) -> Int64?
    ) -> [(offset: Int64, action: TestServer.Fault.Action)] {
        enumerated()
            .compactMap { index, fault in offset(fault).map { (offset: $0, action: fault.action, index: index) } }
            .sorted { ($0.offset, $0.index) < ($1.offset, $1.index) }
            .map { ($0.offset, $0.action) }
    }
}
