internal import CurlewCore
internal import Foundation

/// A step of one HTTP/2 stream: the counterpart of `Step`, with additions that only streams need.
enum HTTP2Step {
    /// Read the body up to this offset, or to its end.
    case readBody(upTo: Int64?)
    /// Choose the response: a scripted one, or the route's.
    case answer
    /// Send the response that an asynchronous route has made.
    case respond(PendingResponse)
    case sendHead(status: Int, HTTPHeaders, isLast: Bool)
    /// Send the body up to this offset, or to its end.
    case sendBody(upTo: Int64?)
    /// Send back the request's body, piece by piece.
    case echoBody
    /// End the stream, with the trailers if there are any.
    case sendEnd
    /// Write bytes to the connection, between two frames.
    case sendRaw([UInt8])
    case wait(Duration)
    case waitFor(Gate)
    /// Wait until the peer leaves or the server stops.
    case stall
    case paceSending(Pace)
    case paceReading(Pace)
    /// End the server's direction of the stream, even in the middle of the body.
    case halfClose
    case reset(HTTP2ErrorCode)
    /// End the connection with all its streams.
    case endConnection([Step])
    /// Announce that no further stream is served; the connection ends after the last one.
    case goAway
}

/// Turns a response into the steps of one stream.
struct HTTP2ResponseSteps {
    let response: TestServer.Response
    let request: TestServer.Request

    private var sendsBody: Bool { response.sendsBody(to: request) }

    var echoes: Bool { response.echoes(request) }

    /// Returns the steps before the request's body is read.
    static func beforeReading(_ response: TestServer.Response) -> [HTTP2Step] {
        var steps: [HTTP2Step] = []
        if let rate = response.readRate { steps.append(.paceReading(Pace(bytesPerSecond: rate))) }
        for fault in response.faults where fault.point == .beforeReading { steps += fault.action.streamSteps }
        return steps
    }

    /// Returns the steps that read the request's body.
    static func readingBody(_ response: TestServer.Response) -> [HTTP2Step] {
        guard response.readsBody else { return [] }
        if case .echo = response.body { return [] }
        var steps: [HTTP2Step] = []
        for (offset, action) in response.faults.ordered(by: \.readingOffset) {
            steps.append(.readBody(upTo: offset))
            steps += action.streamSteps
        }
        steps.append(.readBody(upTo: nil))
        return steps
    }

    /// Returns the steps that send the response.
    func answering() -> [HTTP2Step] {
        // A WebSocket begins with an upgrade, which HTTP/2 does not have.
        guard response.conversation == nil, response.status != 101 else { return [.reset(.http1Required)] }
        var steps: [HTTP2Step] = []
        for interim in response.interim where interim.status != 101 {
            steps.append(.sendHead(status: interim.status, interim.headers, isLast: false))
            if interim.pause > .zero { steps.append(.wait(interim.pause)) }
        }
        if response.delay > .zero { steps.append(.wait(response.delay)) }
        if let rate = response.sendRate { steps.append(.paceSending(Pace(bytesPerSecond: rate))) }
        for fault in response.faults where fault.point == .beforeHead { steps += fault.action.streamSteps }
        // A head is one frame, so faults inside it happen before it.
        for (_, action) in response.faults.ordered(by: \.headOffset) { steps += action.streamSteps }
        steps += sending()
        for fault in response.faults where fault.point == .atEnd { steps += fault.action.streamSteps }
        if response.closesConnection { steps.append(.goAway) }
        return steps
    }

    private func sending() -> [HTTP2Step] {
        guard response.framing != .raw else { return sendingBody() }
        guard sendsBody else { return [.sendHead(status: response.status, headers, isLast: true)] }
        let head = HTTP2Step.sendHead(status: response.status, headers, isLast: false)
        return [head] + (echoes ? [.echoBody] : sendingBody()) + [.sendEnd]
    }

    private func sendingBody() -> [HTTP2Step] {
        var steps: [HTTP2Step] = []
        for (offset, action) in response.faults.ordered(by: \.bodyOffset) {
            if offset > 0 { steps.append(.sendBody(upTo: offset)) }
            steps += action.streamSteps
        }
        return steps + [.sendBody(upTo: nil)]
    }

    /// The response's fields, without those that describe an HTTP/1.1 connection.
    private var headers: HTTPHeaders {
        let foreign = ["connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade"]
        var headers = HTTPHeaders(received: response.headers.filter { !foreign.contains($0.name.lowercased()) })
        if response.framing == .automatic, response.allowsBody, let length = response.bodyLength,
            !headers.contains(name: "Content-Length")
        {
            headers.append(name: "content-length", value: String(length))
        }
        return headers
    }
}

extension TestServer.Fault.Action {
    /// The steps of the fault on a stream: a reset and a half-close end only the stream, a close ends the connection.
    var streamSteps: [HTTP2Step] {
        switch self {
        case .close: [.endConnection([.close])]
        case .reset: [.reset(.internalError)]
        case .halfClose: [.halfClose]
        case .delay(let duration): [.wait(duration)]
        case .stall(nil): [.stall]
        case .stall(let gate?): [.waitFor(gate)]
        case .dribble(let bytes, let every): [.paceSending(Pace(bytes: bytes, every: every))]
        case .dribbleReading(let bytes, let every): [.paceReading(Pace(bytes: bytes, every: every))]
        case .garbage(let data): [.sendRaw(Array(data))]
        }
    }
}
