internal import Foundation

/// The record of requests, connections and bytes that arrived, and the tasks that wait for more.
final class Recorder: Sendable {
    struct Counters: Sendable {
        var requests = 0
        var connections = 0
        var openConnections = 0
        var bytesReceived: Int64 = 0
        var bytesSent: Int64 = 0
        var isStopped = false
    }

    private struct State: Sendable {
        var counters = Counters()
        var requests: [TestServer.Request] = []
        var aborted: [TestServer.Request] = []
        /// Bytes of bodies and raw bytes in `requests`.
        var heldBytes = 0
        /// The index of the first request that still has its bytes.
        var firstWithBytes = 0
    }

    private let requestLimit: Int
    private let byteLimit: Int
    private let state = Watched(State())

    init(requestLimit: Int, byteLimit: Int) {
        self.requestLimit = max(1, requestLimit)
        self.byteLimit = byteLimit
    }

    var counters: Counters { state.value.counters }
    var requests: [TestServer.Request] { state.value.requests }
    var aborted: [TestServer.Request] { state.value.aborted }

    func add(_ request: TestServer.Request) {
        state.change { state in
            state.counters.requests += 1
            state.requests.append(request)
            state.heldBytes += request.heldBytes
            while state.heldBytes > byteLimit, state.firstWithBytes < state.requests.count {
                state.heldBytes -= state.requests[state.firstWithBytes].heldBytes
                state.requests[state.firstWithBytes].dropBytes()
                state.firstWithBytes += 1
            }
            // Requests are removed in batches, because removing the first one moves all others.
            guard state.requests.count > requestLimit + requestLimit / 4 else { return }
            let excess = state.requests.count - requestLimit
            state.heldBytes -= state.requests[..<excess].reduce(0) { $0 + $1.heldBytes }
            state.requests.removeFirst(excess)
            state.firstWithBytes = max(0, state.firstWithBytes - excess)
        }
    }

    func addAborted(_ request: TestServer.Request) {
        state.change { state in
            state.aborted.append(request)
            if state.aborted.count > 1_000 { state.aborted.removeFirst() }
        }
    }

    func connectionOpened() {
        state.change {
            $0.counters.connections += 1
            $0.counters.openConnections += 1
        }
    }

    func connectionClosed() { state.change { $0.counters.openConnections -= 1 } }

    func received(_ bytes: Int) { state.change { $0.counters.bytesReceived += Int64(bytes) } }

    func sent(_ bytes: Int) { state.change { $0.counters.bytesSent += Int64(bytes) } }

    func stopped() { state.change { $0.counters.isStopped = true } }

    func clear() {
        state.change { state in
            state.requests = []
            state.aborted = []
            state.heldBytes = 0
            state.firstWithBytes = 0
            state.counters.requests = 0
        }
    }

    /// Returns when the condition holds; throws if the server stops, the timeout passes or the task is cancelled.
    func wait(_ timeout: Duration, for condition: @escaping @Sendable (Counters) -> Bool) async throws {
        try await state.wait(
            atMost: timeout,
            orThrow: { TestServer.WaitFailure.timedOut($0.counters.summary) },
            until: { condition($0.counters) || $0.counters.isStopped }
        )
        let counters = state.value.counters
        if counters.isStopped, !condition(counters) { throw TestServer.WaitFailure.stopped }
    }
}

extension Recorder.Counters {
    var summary: String { "\(requests) requests on \(connections) connections, \(openConnections) of them open" }
}

extension TestServer.Request {
    fileprivate var heldBytes: Int { body.count + rawBytes.count }

    fileprivate mutating func dropBytes() {
        body = Data()
        rawBytes = Data()
    }
}
