internal import CurlewCore
internal import Foundation

/// The control of one running exchange of a `MockTransport`: records pauses, suspension and cancellation.
final class MockExchange: TransferControl {
    private struct State: Sendable {
        var isPaused = false
        var isSuspended = false
        var ending: CurlewError?

        func isClear(_ direction: Direction) -> Bool {
            ending != nil || !(isSuspended || (direction == .receiving && isPaused))
        }
    }

    /// The direction of bytes. A pause delays only received bytes; a suspension delays both.
    enum Direction { case sending, receiving }

    private let state = Watched(State())

    func resumeReceiving() { state.change { $0.isPaused = false } }
    func suspend() { state.change { $0.isSuspended = true } }
    func resume() { state.change { $0.isSuspended = false } }

    func cancel(with error: CurlewError) {
        state.change { if $0.ending == nil { $0.ending = error } }
    }

    /// Calls the sink and returns whether it accepted; throws the error that it aborts with.
    ///
    /// The exchange is marked as paused before the call. A sink that returns `.pause` may have another thread call
    /// `resumeReceiving` before it returns; marking the pause afterwards would overwrite that resumption, and the
    /// exchange would wait forever.
    func offer(_ ask: () -> Disposition) throws(CurlewError) -> Bool {
        state.change { $0.isPaused = true }
        switch ask() {
        case .proceed:
            state.change { $0.isPaused = false }
            return true
        case .pause: return false
        case .abort(let error): throw error
        }
    }

    /// Returns when bytes may be transferred in this direction; throws the error that ended the exchange.
    func clearance(_ direction: Direction) async throws(CurlewError) {
        if !state.value.isClear(direction) {
            // Cancelling the task does not interrupt this wait by itself: `perform` turns cancellation into an ending.
            _ = await state.wait { $0.isClear(direction) }
        }
        if let ending = state.value.ending { throw ending }
    }

    /// Runs `work`. If the exchange ends first, cancels `work`, waits for it to return, and throws the ending.
    func whileRunning<T: Sendable>(_ work: @escaping @Sendable () async throws -> T) async throws(CurlewError) -> T {
        do {
            return try await withThrowingTaskGroup(of: T?.self) { group in
                group.addTask {
                    _ = await self.state.wait { $0.ending != nil }
                    return nil
                }
                group.addTask { try await work() }
                defer { group.cancelAll() }
                guard let first = try await group.next(), let value = first else { throw CancellationError() }
                return value
            }
        } catch {
            if let ending = state.value.ending { throw ending }
            if let error = error as? CurlewError { throw error }
            if error is CancellationError { throw CurlewError(.cancelled, phase: .waiting) }
            throw CurlewError(.receiveFailed, phase: .waiting, reason: "the mock's closure threw", underlying: error)
        }
    }
}

/// Consumes a request's body as a connection would: in portions, only while the exchange is not suspended, and waiting
/// for a source that has no bytes yet.
struct MockBody {
    let exchange: MockExchange
    let sink: any TransferSink

    private static let portion = 64 * 1024

    func collect(_ source: BodySource) async throws(CurlewError) -> Data {
        switch source {
        case .none:
            return Data()
        case .data(let data):
            try await report(data.count, of: Int64(data.count))
            return data
        case .file(let url, let range):
            let data = try read(url, range)
            try await report(data.count, of: Int64(data.count))
            return data
        case .stream(let stream, let length):
            defer { stream.close() }
            return try await pull(stream, length)
        }
    }

    private func report(_ total: Int, of expected: Int64?) async throws(CurlewError) {
        var sent = 0
        while sent < total {
            try await exchange.clearance(.sending)
            sent = min(total, sent + Self.portion)
            sink.didSend(bodyBytes: Int64(sent), of: expected)
        }
    }

    private func read(_ url: URL, _ range: Range<Int64>?) throws(CurlewError) -> Data {
        do {
            let file = try FileHandle(forReadingFrom: url)
            defer { try? file.close() }
            guard let range else { return try file.readToEnd() ?? Data() }
            try file.seek(toOffset: UInt64(range.lowerBound))
            return try file.read(upToCount: Int(range.count)) ?? Data()
        } catch {
            throw CurlewError(.fileUnreadable, phase: .creation, reason: "body file", underlying: error)
        }
    }

    private func pull(_ stream: any BodyStream, _ length: Int64?) async throws(CurlewError) -> Data {
        let waker = Waker()
        stream.open(waker: waker)
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: Self.portion)
        while true {
            try await exchange.clearance(.sending)
            let wakes = waker.count.value
            switch buffer.withUnsafeMutableBytes({ stream.read(into: $0) }) {
            case .bytes(let count):
                data.append(contentsOf: buffer[..<count])
                sink.didSend(bodyBytes: Int64(data.count), of: length)
            case .pending:
                _ = try await exchange.whileRunning { await waker.count.wait { $0 > wakes } }
            case .end:
                return data
            case .failed(let error):
                throw error
            }
        }
    }

    private final class Waker: BodyWaker {
        let count = Watched(0)

        func wake() { count.change { $0 += 1 } }
    }
}

/// Delivers one canned response to a sink.
struct MockDelivery {
    let exchange: MockExchange
    let sink: any TransferSink
    let request: TransferRequest
    let response: MockResponse

    func deliver(_ started: TransferMetrics) async throws(CurlewError) -> TransferOutcome {
        var metrics = response.metrics ?? started
        if let gate = response.gate { try await pass(gate) }
        if response.failsAtOnce, let error = response.error { throw error }
        for head in response.interim {
            try await exchange.clearance(.receiving)
            sink.didReceive(informational: head)
        }
        try await exchange.clearance(.receiving)
        let firstByte = Date()
        _ = try exchange.offer { sink.didReceive(head: response.head) }
        var received = 0
        for piece in sentBody {
            switch piece {
            case .wait(let gate): try await pass(gate)
            case .bytes(let data):
                received += data.count
                if let most = request.options.maximumBodySize, received > most {
                    throw CurlewError(.limitExceeded, phase: .receive, reason: "the body is above \(most) bytes")
                }
                try await offer(data)
            }
        }
        // A sink that paused at the last byte also delays the end.
        try await exchange.clearance(.receiving)
        if let error = response.error { throw error }
        if response.metrics == nil {
            metrics.firstByte = firstByte
            metrics.httpVersion = response.version
            metrics.bytesReceived = Int64(received)
            metrics.decodedBytesReceived = Int64(received)
            metrics.attempt = request.attempt
            metrics.ended = Date()
        }
        return TransferOutcome(head: response.head, trailers: response.trailers, metrics: metrics)
    }

    /// Responses to HEAD, and those with a status that excludes a body, have none, whatever the canned response contains.
    private var sentBody: [MockResponse.Piece] {
        let hasNone = request.method == .head || HTTPStatus(response.status).hasNoBody
        return hasNone ? [] : response.body
    }

    /// Offers identical bytes repeatedly until the sink accepts them.
    private func offer(_ data: Data) async throws(CurlewError) {
        guard !data.isEmpty else { return }
        var isTaken = false
        while !isTaken {
            try await exchange.clearance(.receiving)
            isTaken = try exchange.offer { data.withUnsafeBytes { sink.didReceive(body: $0) } }
        }
    }

    private func pass(_ gate: Gate) async throws(CurlewError) {
        try await exchange.whileRunning { try await gate.wait() }
    }
}
