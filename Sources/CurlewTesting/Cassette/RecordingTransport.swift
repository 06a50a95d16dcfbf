public import CurlewCore
public import Foundation

/// Passes exchanges on to another transport and records them, without their secrets.
///
///     let recorder = RecordingTransport(SessionConfiguration.default.makeTransport())
///     let session = Session(transport: recorder)
///     _ = try await session.request("https://api.example.org/birds").data()
///     try recorder.save(to: URL(filePath: "Fixtures/birds.json"))
///
/// The sink gets everything as it would without it; what is recorded is what the sink took. Nothing is
/// written before `save`. Bodies are held in memory: an exchange with a body above `bodyLimit` is passed on
/// and not recorded (`skippedCount`). Look through a new cassette before you commit it: what is secret in
/// your API only you know (`CassetteRedaction`).
public final class RecordingTransport: Transport {
    private struct State: Sendable {
        var cassette = Cassette()
        var skipped = 0
    }

    private let other: any Transport
    private let redaction: CassetteRedaction
    private let bodyLimit: Int
    private let state = Watched(State())

    /// Wraps a transport.
    public init(_ other: any Transport, redaction: CassetteRedaction = .init(), bodyLimit: Int = 16 << 20) {
        self.other = other
        self.redaction = redaction
        self.bodyLimit = bodyLimit
    }

    /// What has been recorded so far.
    public var cassette: Cassette { state.value.cassette }

    /// Exchanges that were not recorded because a body was too large.
    public var skippedCount: Int { state.value.skipped }

    /// Writes what has been recorded so far.
    public func save(to file: URL) throws { try cassette.write(to: file) }

    /// Performs the request for real, and records it.
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
            // A cancelled exchange says something about the caller, not about the server.
            if error.code != .cancelled { record(request, body, tap, tap.head, [:], error) }
            throw error
        }
    }

    public func shutdown() async { await other.shutdown() }

    /// Those that the other transport enforces.
    public func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards {
        other.enforcedGuards(of: configuration)
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

    /// nil where it is above the limit or cannot be had again.
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
        // One byte more than the limit tells a body that is above it, except where nothing can be.
        let enough = limit == .max ? limit : limit + 1
        let most = min(enough, range.map { Int($0.upperBound - $0.lowerBound) } ?? .max)
        let data = (try? handle.read(upToCount: most)) ?? Data()
        return data.count > limit ? nil : data
    }
}
