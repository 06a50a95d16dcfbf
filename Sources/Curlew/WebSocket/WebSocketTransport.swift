internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Performs the exchange of a WebSocket: the handshake and, after a 101, the WebSocket until its end.
///
/// Any other response is passed on like that of any request, so that redirects are followed as usual.
struct WebSocketTransport: Transport {
    let base: any Transport
    let link: WebSocketLink
    let maximumHeaderSize: Int
    /// Called with the head of a 101, before the WebSocket is open.
    let willOpen: @Sendable (ResponseHead) -> Void
    /// Prepares the connection before other callers may use it.
    let hook: WebSocketLink.Hook?

    func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome {
        guard let connector = base as? any ConnectTransport else {
            throw .unsupported(feature: "WebSocket over this transport", needs: "one that can connect")
        }
        let control = WebSocketControl(link)
        sink.willStart(control)
        let upgrade = WebSocketUpgrade(
            connector: connector, request: request, compresses: link.options.compression,
            maximumHeaderSize: maximumHeaderSize, sink: sink, control: control)
        switch try await upgrade.result() {
        case .declined(let outcome): return outcome
        case .upgraded(let upgraded):
            willOpen(upgraded.head)
            let summary = await withTaskCancellationHandler {
                await link.run(upgraded, at: link.asGiven(request.url), hook: hook)
            } onCancel: {
                link.stop(with: .cancelled)
            }
            var metrics = upgraded.metrics
            metrics.bytesSent += summary.bytesSent
            metrics.bytesReceived += summary.bytesReceived
            metrics.ended = Date()
            if var error = summary.ending.error {
                if error.metrics == nil { error.metrics = metrics }
                throw error
            }
            return TransferOutcome(head: upgraded.head, metrics: metrics)
        }
    }
}

/// Controls the exchange of a WebSocket.
final class WebSocketControl: TransferControl {
    /// Resolved with the error that ends the exchange.
    let stopped = OneShot<CurlewError>()
    private let link: WebSocketLink
    private let resumption = Lock<OneShot<Void>?>(nil)

    init(_ link: WebSocketLink) { self.link = link }

    func cancel(with error: CurlewError) {
        stopped.resolve(error)
        link.stop(with: error)
    }

    func resumeReceiving() { resumption.withLock { exchange(&$0, with: nil) }?.resolve(()) }

    // An open WebSocket is not suspended: its messages wait in the inbox until they are read.
    func suspend() {}

    func resume() {}

    /// Returns an event that `resumeReceiving` resolves. Call this before the sink, because `resumeReceiving` may be
    /// called before the sink returns.
    func nextResumption() -> OneShot<Void> {
        let next = OneShot<Void>()
        _ = resumption.withLock { exchange(&$0, with: next) }
        return next
    }
}

/// One opening handshake: connects, sends the request, and reads the response.
struct WebSocketUpgrade: Sendable {
    enum Outcome: Sendable {
        case upgraded(Upgraded)
        /// The server sent another response, which the sink has received.
        case declined(TransferOutcome)
    }

    struct Upgraded: Sendable {
        let wire: any ByteConnection
        let head: ResponseHead
        let agreement: WebSocketHandshake.Agreement
        /// The bytes that followed the head.
        let rest: [UInt8]
        let metrics: TransferMetrics
    }

    let connector: any ConnectTransport
    let request: TransferRequest
    let compresses: WebSocketOptions.Compression
    let maximumHeaderSize: Int
    let sink: any TransferSink
    let control: WebSocketControl

    /// Performs the handshake. Throws if it fails, is stopped, or exceeds the total timeout.
    func result() async throws(CurlewError) -> Outcome {
        let timeouts = request.options.timeouts
        let result = await withTaskGroup(of: Result<Outcome, CurlewError>?.self) { group in
            group.addTask { await self.attempt() }
            group.addTask { await control.stopped.wait().map { .failure($0) } }
            if let total = timeouts.total {
                group.addTask {
                    guard await CancellableSleep.wait(for: total) else { return nil }
                    return .failure(.totalTimeout(total, phase: .waiting))
                }
            }
            var result: Result<Outcome, CurlewError>?
            while result == nil, let next = await group.next() { result = next }
            group.cancelAll()
            // A handshake that succeeded just as it was stopped or timed out has an open connection, which is not used.
            if case .failure? = result { for await case .success(.upgraded(let late))? in group { late.wire.close() } }
            return result
        }
        return try (result ?? .failure(.cancelled)).get()
    }

    private func attempt() async -> Result<Outcome, CurlewError> {
        var metrics = TransferMetrics(queued: Date(), ended: Date())
        do throws(CurlewError) {
            _ = try authorization(request.effectiveHeaders)
            // No send buffer: bytes that wait in the connection would be dropped when it is closed.
            let wire = try await connector.connect(request, sendBuffer: 0)
            metrics = wire.metrics
            if metrics.connected == nil { metrics.connected = Date() }
            do throws(CurlewError) {
                let outcome = try await exchange(over: wire, &metrics)
                if case .declined = outcome { wire.close() }
                return .success(outcome)
            } catch {
                wire.close()
                throw error
            }
        } catch {
            var error = error.ofServerWithoutHTTP1 ?? error
            metrics.ended = Date()
            if error.metrics == nil { error.metrics = metrics }
            return .failure(error)
        }
    }

    private func exchange(
        over wire: any ByteConnection, _ metrics: inout TransferMetrics
    ) async throws(CurlewError) -> Outcome {
        var random = SystemRandom()
        var headers = request.effectiveHeaders
        let protocols = WebSocketHandshake.protocols(in: headers)
        guard WebSocketHandshake.areValid(protocols) else { throw .invalidSubprotocol }
        let handshake = WebSocketHandshake(
            key: WebSocketKey(using: &random), protocols: protocols, compression: compresses == .off ? nil : .init())
        if let authorization = try authorization(headers) { headers.add(authorization) }
        for field in handshake.headers { headers.add(field) }
        // Nothing decodes a content coding on this connection, and the handshake has no body.
        for name in ["Accept-Encoding", "Content-Length", "Transfer-Encoding"] { headers.remove(name: name) }
        let bytes = UpgradeRequestHead.bytes(for: request.url, headers: headers)
        try await wire.send(bytes)
        metrics.requestSent = Date()
        metrics.bytesSent += Int64(bytes.count)
        var reader = UpgradeReader(
            wire: wire, maximumHeaderSize: maximumHeaderSize, timeouts: request.options.timeouts)
        let head = try await reader.head { sink.didReceive(informational: $0) }
        metrics.firstByte = Date()
        metrics.httpVersion = head.version
        switch sink.didReceive(head: head) {
        case .abort(let error): throw error
        case .proceed, .pause: break
        }
        guard head.status == 101 else {
            try await forwardBody(of: &reader)
            metrics.ended = Date()
            metrics.bytesReceived = reader.bytesReceived
            return .declined(TransferOutcome(head: head, metrics: metrics))
        }
        do throws(WebSocketHandshake.Refusal) {
            let agreement = try handshake.agreement(with: head)
            metrics.bytesReceived = reader.bytesReceived - Int64(reader.rest.count)
            return .upgraded(
                Upgraded(wire: wire, head: head, agreement: agreement, rest: reader.rest, metrics: metrics))
        } catch {
            throw CurlewError(.webSocketRefused, phase: .receive, reason: error.reason, responseCode: 101)
        }
    }

    /// The `Authorization` field for the request's credentials. Schemes that answer a challenge are not supported:
    /// libcurl implements them, and it only passes bytes on this connection.
    private func authorization(_ headers: HTTPHeaders) throws(CurlewError) -> HTTPHeader? {
        guard let own = request.options.authentication, !headers.contains(name: "Authorization") else { return nil }
        let field: HTTPHeader
        let isSecured = request.url.scheme == "https" || request.url.scheme == "wss"
        switch own.scheme {
        case .basic: field = .authorization(username: own.username, password: own.password)
        case .any where isSecured: field = .authorization(username: own.username, password: own.password)
        case .bearer: field = .authorization(bearerToken: own.password)
        case .any, .digest, .ntlm, .negotiate, .awsSigV4:
            throw .unsupported(feature: "this authentication for a WebSocket", needs: "Basic, a bearer token, or TLS")
        }
        guard field.isValid else {
            throw CurlewError(
                .invalidHeader, phase: .creation, reason: "the credentials have characters that HTTP does not allow")
        }
        return field
    }

    /// Passes the body of a response other than 101 to the sink, at the sink's speed.
    private func forwardBody(of reader: inout UpgradeReader) async throws(CurlewError) {
        while let piece = try await reader.body() {
            var isTaken = false
            while !isTaken {
                let resumption = control.nextResumption()
                switch piece.withUnsafeBytes({ sink.didReceive(body: $0) }) {
                case .proceed: isTaken = true
                case .pause:
                    guard await resumption.wait() != nil else { throw .cancelled }
                case .abort(let error): throw error
                }
            }
        }
    }
}

extension CurlewError {
    static var invalidSubprotocol: CurlewError {
        CurlewError(.invalidHeader, phase: .creation, reason: "a subprotocol is not a valid token, or is listed twice")
    }

    /// The `.unsupported` error for a server that refuses HTTP/1.1, the only protocol that was offered in TLS. `nil`
    /// for any other error.
    fileprivate var ofServerWithoutHTTP1: CurlewError? {
        guard code == .tlsFailed, case .noSharedProtocol? = detail else { return nil }
        var error = CurlewError.unsupported(
            feature: "a WebSocket over HTTP/2", needs: "a server that opens them over HTTP/1.1")
        error.underlying = self
        return error
    }
}

/// Reads the response to an upgrade request from its connection.
private struct UpgradeReader {
    private let wire: any ByteConnection
    private let timeouts: Timeouts
    private var parser: UpgradeResponseParser
    /// Received bytes that have not been parsed.
    private(set) var rest: [UInt8] = []
    private(set) var bytesReceived: Int64 = 0
    private var hasEnded = false

    private static let readSize = 16 * 1024

    init(wire: any ByteConnection, maximumHeaderSize: Int, timeouts: Timeouts) {
        self.wire = wire
        self.timeouts = timeouts
        parser = UpgradeResponseParser(maximumHeaderSize: maximumHeaderSize)
    }

    /// Returns the final head. Earlier heads, with a 1xx status, are passed to `informational`.
    mutating func head(informational: (ResponseHead) -> Void) async throws(CurlewError) -> ResponseHead {
        while let event = try await next() {
            switch event {
            case .informational(let head): informational(head)
            case .head(let head): return head
            case .body, .end: break
            }
        }
        throw CurlewError(
            .receiveFailed, phase: .waiting, reason: "the connection ended before the server had answered")
    }

    /// The next piece of the body; `nil` at its end.
    mutating func body() async throws(CurlewError) -> Data? {
        guard case .body(let piece)? = try await next() else { return nil }
        return piece
    }

    private mutating func next() async throws(CurlewError) -> UpgradeResponseParser.Event? {
        while true {
            if let event = try parse() { return event }
            if hasEnded { return nil }
            guard let bytes = try await receive() else {
                hasEnded = true
                try parser.finish()
                return nil
            }
            bytesReceived += Int64(bytes.count)
            rest += bytes
        }
    }

    private mutating func parse() throws(CurlewError) -> UpgradeResponseParser.Event? {
        let given = rest
        var parser = parser
        let result = given.withUnsafeBytes { whole in
            var input = whole
            return Result { () throws(CurlewError) in (try parser.next(&input), whole.count - input.count) }
        }
        let (event, taken) = try result.get()
        self.parser = parser
        rest = Array(given[taken...])
        return event
    }

    private func receive() async throws(CurlewError) -> [UInt8]? {
        let isFirst = bytesReceived == 0
        guard let limit = isFirst ? timeouts.firstByte : timeouts.idle else {
            return try await wire.receive(maximum: Self.readSize)
        }
        let wire = wire
        let result = await withTaskGroup(of: Result<[UInt8]?, CurlewError>?.self) { group in
            group.addTask {
                do throws(CurlewError) { return .success(try await wire.receive(maximum: Self.readSize)) } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                guard await CancellableSleep.wait(for: limit) else { return nil }
                return .failure(
                    CurlewError(
                        isFirst ? .firstByteTimedOut : .idleTimedOut,
                        phase: isFirst ? .waiting : .receive,
                        reason: "the server sent nothing for \(limit)"))
            }
            var result: Result<[UInt8]?, CurlewError>?
            while result == nil, let next = await group.next() { result = next }
            group.cancelAll()
            return result
        }
        return try (result ?? .failure(.cancelled)).get()
    }
}
