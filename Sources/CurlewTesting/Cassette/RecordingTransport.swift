public import CurlewCore
public import Foundation

/// A transport that forwards exchanges to another transport and records them without secrets.
///
///     let recorder = RecordingTransport(SessionConfiguration.default.makeTransport())
///     let session = Session(transport: recorder)
///     _ = try await session.request("https://api.example.org/birds").data()
///     try recorder.save(to: URL(filePath: "Fixtures/birds.json"))
///
/// The sink receives exactly what the other transport delivers; the recording holds the bytes that the sink accepted.
/// Nothing is written before `save`. Bodies are held in memory: an exchange with a body above `bodyLimit` is forwarded
/// but not recorded (`skippedCount`). Cancelled exchanges are not recorded. Review a new cassette before you commit it:
/// only you know what is secret in your API (`CassetteRedaction`).
public final class RecordingTransport: PoolingTransport {
    private struct State: Sendable {
        var cassette = Cassette()
        var skipped = 0
    }

    private let other: any Transport
    private let redaction: CassetteRedaction
    private let bodyLimit: Int
    private let state = Watched(State())

    /// Creates a transport that records the exchanges of another one.
    public init(_ other: any Transport, redaction: CassetteRedaction = .init(), bodyLimit: Int = 16 << 20) {
        self.other = other
        self.redaction = redaction
        self.bodyLimit = bodyLimit
    }

    /// The exchanges recorded so far.
    public var cassette: Cassette { state.value.cassette }

    /// The number of exchanges that were not recorded because a body was too large or its file could not be read again.
    public var skippedCount: Int { state.value.skipped }

    /// Writes the exchanges recorded so far to a file.
    public func save(to file: URL) throws { try cassette.write(to: file) }

    /// Performs the request with the other transport, and records it.
    public func perform(
        _ request: TransferRequest,
        sink: any TransferSink
    ) async throws(CurlewError) -> TransferOutcome {
        let tap = TapSink(sink, limit: bodyLimit)
        var tapped = request
        let body: TapBody?
        if case .stream(let stream, let length) = request.body {
            let made = TapBody(stream, limit: bodyLimit)
            tapped.body = .stream(made, length: length)
            body = made
        } else {
            body = nil
        }
        do throws(CurlewError) {
            let outcome = try await other.perform(tapped, sink: tap)
            record(request, body, tap, outcome.head, outcome.trailers, nil)
            return outcome
        } catch {
            // A cancellation is the caller's decision and says nothing about the server.
            if error.code != .cancelled { record(request, body, tap, tap.head, [:], error) }
            throw error
        }
    }

    public func shutdown() async { await other.shutdown() }

    /// Returns the guards that the other transport enforces.
    public func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards {
        other.enforcedGuards(of: configuration)
    }

    /// The connections of the other transport.
    public var connections: ConnectionSnapshot {
        get async { await other.pooledConnections }
    }

    /// Has the other transport open connections. Nothing is recorded.
    public func prewarm(_ request: TransferRequest, connections count: Int) async throws(CurlewError) {
        try await other.prewarmPool(for: request, connections: count)
    }

    private func record(
        _ request: TransferRequest,
        _ streamed: TapBody?,
        _ tap: TapSink,
        _ head: ResponseHead?,
        _ trailers: HTTPHeaders,
        _ error: CurlewError?
    ) {
        guard let sent = sentBody(request.body, streamed), let received = tap.body else {
            state.change { $0.skipped += 1 }
            return
        }
        let response = head.map { head in
            Cassette.Response(
                status: head.status,
                reason: head.reason,
                version: head.version.rawValue,
                headers: head.headers.fields,
                body: Cassette.Body(received),
                trailers: trailers.isEmpty ? nil : trailers.fields
            )
        }
        let exchange = Cassette.Exchange(
            request: Cassette.Request(
                method: request.method.rawValue,
                url: request.url.absoluteString,
                headers: request.effectiveHeaders.fields,
                body: Cassette.Body(sent)
            ),
            response: response,
            error: error.map { Cassette.Failure(code: $0.code.rawValue, phase: $0.phase.rawValue, reason: $0.reason) }
        )
        let clean = redaction.redacted(exchange)
        state.change { $0.cassette.exchanges.append(clean) }
    }

    /// Returns the request's body; `nil` if it exceeds the limit or cannot be read again.
    private func sentBody(_ body: BodySource, _ streamed: TapBody?) -> Data? {
        switch body {
        case .none: Data()
        case .data(let data): data.count > bodyLimit ? nil : data
        case .file(let url, let range): Self.file(url, range, limit: bodyLimit)
        case .stream: streamed?.bytes
        }
    }

    private static func file(_ url: URL, _ range: Range<Int64>?, limit: Int) -> Data? {
        guard let handle = try? FileHandle(forReadingFrom: url) else { return nil }
        defer { try? handle.close() }
        if let range { try? handle.seek(toOffset: UInt64(range.lowerBound)) }
        // One byte more than the limit reveals a larger body. Without a limit, the addition would overflow.
        let enough = limit == .max ? limit : limit + 1
        let most = min(enough, range.map { Int($0.upperBound - $0.lowerBound) } ?? .max)
        let data = (try? handle.read(upToCount: most)) ?? Data()
        return data.count > limit ? nil : data
    }
}

/// A sink that forwards to another one and stores the bytes that it accepted.
private final class TapSink: TransferSink {
    private struct State: Sendable {
        var head: ResponseHead?
        /// The accepted bytes; `nil` once they exceed the limit.
        var body: Data? = Data()
    }

    private let sink: any TransferSink
    private let limit: Int
    private let state = Watched(State())

    init(_ sink: any TransferSink, limit: Int) {
        self.sink = sink
        self.limit = limit
    }

    var head: ResponseHead? { state.value.head }
    var body: Data? { state.value.body }

    func willStart(_ control: any TransferControl) { sink.willStart(control) }
    func didReceive(informational head: ResponseHead) { sink.didReceive(informational: head) }
    func didSend(bodyBytes: Int64, of expected: Int64?) { sink.didSend(bodyBytes: bodyBytes, of: expected) }

    func didReceive(head: ResponseHead) -> Disposition {
        state.change {
            $0.head = head
            $0.body = Data()
        }
        return sink.didReceive(head: head)
    }

    func didReceive(body bytes: UnsafeRawBufferPointer) -> Disposition {
        let answer = sink.didReceive(body: bytes)
        // Bytes that the sink does not accept are delivered again.
        guard case .proceed = answer else { return answer }
        let limit = limit
        let part = Data(bytes)
        state.change { state in
            if let count = state.body?.count, count + part.count <= limit {
                state.body?.append(part)
            } else {
                state.body = nil
            }
        }
        return answer
    }
}

/// A body stream that forwards another one and stores its bytes.
private final class TapBody: BodyStream {
    private let stream: any BodyStream
    private let limit: Int
    /// The bytes that were read; `nil` once they exceed the limit.
    private let kept = Watched<Data?>(Data())

    init(_ stream: any BodyStream, limit: Int) {
        self.stream = stream
        self.limit = limit
    }

    var bytes: Data? { kept.value }
    var isReplayable: Bool { stream.isReplayable }

    func open(waker: any BodyWaker) {
        kept.change { $0 = Data() }
        stream.open(waker: waker)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead {
        let read = stream.read(into: buffer)
        if case .bytes(let count) = read {
            let part = Data(buffer[..<count])
            let limit = limit
            kept.change { kept in
                if let now = kept?.count, now + count <= limit { kept?.append(part) } else { kept = nil }
            }
        }
        return read
    }

    func rewind() -> Bool {
        guard stream.rewind() else { return false }
        kept.change { $0 = Data() }
        return true
    }

    func close() { stream.close() }
}
