internal import CurlewLocks
internal import Foundation

/// What has arrived so far, and who waits for more of it.
final class Recorder: Sendable {
    struct Counters: Sendable {
        var requests = 0
        var connections = 0
        var openConnections = 0
        var bytesReceived: Int64 = 0
        var bytesSent: Int64 = 0
        var isStopped = false
    }

    private struct Waiter {
        var condition: @Sendable (Counters) -> Bool
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var counters = Counters()
        var requests: [TestServer.Request] = []
        var aborted: [TestServer.Request] = []
        /// Bytes of body and raw bytes in `requests`.
        var heldBytes = 0
        /// The first request that still has its bytes.
        var firstWithBytes = 0
        var lastTicket = 0
        var waiters: [Int: Waiter] = [:]
    }

    private let requestLimit: Int
    private let byteLimit: Int
    private let state = Lock(State())

    init(requestLimit: Int, byteLimit: Int) {
        self.requestLimit = max(1, requestLimit)
        self.byteLimit = byteLimit
    }

    var counters: Counters { state.withLock { $0.counters } }
    var requests: [TestServer.Request] { state.withLock { $0.requests } }
    var aborted: [TestServer.Request] { state.withLock { $0.aborted } }

    func add(_ request: TestServer.Request) {
        change { state in
            state.counters.requests += 1
            state.requests.append(request)
            state.heldBytes += request.heldBytes
            while state.heldBytes > byteLimit, state.firstWithBytes < state.requests.count {
                state.heldBytes -= state.requests[state.firstWithBytes].heldBytes
                state.requests[state.firstWithBytes].dropBytes()
                state.firstWithBytes += 1
            }
            // A quarter more than allowed, then back: removing one at a time would move them all each time.
            guard state.requests.count > requestLimit + requestLimit / 4 else { return }
            let excess = state.requests.count - requestLimit
            state.heldBytes -= state.requests[..<excess].reduce(0) { $0 + $1.heldBytes }
            state.requests.removeFirst(excess)
            state.firstWithBytes = max(0, state.firstWithBytes - excess)
        }
    }

    func addAborted(_ request: TestServer.Request) {
        state.withLock { state in
            state.aborted.append(request)
            if state.aborted.count > 1_000 { state.aborted.removeFirst() }
        }
    }

    func connectionOpened() {
        change {
            $0.counters.connections += 1
            $0.counters.openConnections += 1
        }
    }

    func connectionClosed() { change { $0.counters.openConnections -= 1 } }

    func received(_ bytes: Int) { change { $0.counters.bytesReceived += Int64(bytes) } }

    func sent(_ bytes: Int) { change { $0.counters.bytesSent += Int64(bytes) } }

    func stopped() { change { $0.counters.isStopped = true } }

    func clear() {
        state.withLock { state in
            state.requests = []
            state.aborted = []
            state.heldBytes = 0
            state.firstWithBytes = 0
            state.counters.requests = 0
        }
    }

    /// Returns when the condition holds; throws when the server stops, the time is over or the task is cancelled.
    func wait(_ timeout: Duration, for condition: @escaping @Sendable (Counters) -> Bool) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.wait(for: condition) }
            group.addTask {
                try await Task.sleep(for: timeout)
                throw TestServer.WaitFailure.timedOut(self.counters.summary)
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func wait(for condition: @escaping @Sendable (Counters) -> Bool) async throws {
        let ticket = state.withLock { state in
            state.lastTicket += 1
            return state.lastTicket
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                change { $0.waiters[ticket] = Waiter(condition: condition, continuation: continuation) }
                if Task.isCancelled { leave(ticket) }
            }
        } onCancel: {
            leave(ticket)
        }
    }

    private func leave(_ ticket: Int) {
        let waiter = state.withLock { $0.waiters.removeValue(forKey: ticket) }
        waiter?.continuation.resume(throwing: CancellationError())
    }

    private func change(_ body: (inout State) -> Void) {
        let (ready, isStopped) = state.withLock { state in
            body(&state)
            guard !state.waiters.isEmpty else { return ([Waiter](), false) }
            let counters = state.counters
            var ready: [Waiter] = []
            for (ticket, waiter) in state.waiters where counters.isStopped || waiter.condition(counters) {
                ready.append(waiter)
                state.waiters[ticket] = nil
            }
            return (ready, counters.isStopped)
        }
        for waiter in ready {
            if isStopped {
                waiter.continuation.resume(throwing: TestServer.WaitFailure.stopped)
            } else {
                waiter.continuation.resume()
            }
        }
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
