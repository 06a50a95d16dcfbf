import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import CurlewTransport

/// Hundreds of requests share two connections to one host.
@Suite("Waiting for a connection", .timeLimit(.minutes(4)))
struct ConnectionQueueTests {
    private let count = 400

    /// Runs a test while the server holds two requests back until the gate opens, and `count` more wait for their
    /// connections.
    private func withQueue(
        changing: (inout TransferRequest, Int) -> Void = { _, _ in },
        _ body: (CurlTransport, TestServer, Gate, [Task<Int, any Error>]) async throws -> Void
    ) async throws {
        try await withTransport({ $0.maximumConnectionsPerHost = 2 }) { transport, server in
            let gate = Gate()
            let kept = TestServer.Response.text("first").stalling(until: gate, at: .beforeHead)
            server.script("/first", kept, kept)
            let url = server.url("/first")
            let first = (0..<2).map { _ in Task { try await transport.fetch(request(url)).status } }
            try await server.waitForRequests(count: 2)
            let waiting = (0..<count).map { number in
                var next = request(server.url("/bytes/\(number)"))
                changing(&next, number)
                return Task { [next] in try await transport.fetch(next).sink.body.count }
            }
            try await begun(count + 2, transport)
            try await body(transport, server, gate, waiting)
            gate.open()
            for task in first { _ = try? await task.value }
        }
    }

    /// Returns once the engine has received `count` transfers, including those that have ended.
    private func begun(_ count: Int, _ transport: CurlTransport) async throws {
        while transport.statistics.liveTransfers + transport.statistics.transfersEnded < count {
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    @Test func queuedRequestsUseFewHandlesAndAllComplete() async throws {
        try await withQueue { transport, _, gate, waiting in
            #expect(transport.statistics.easyHandlesInUse == 2)
            gate.open()
            for (number, task) in waiting.enumerated() {
                let size = try await task.value
                #expect(size == number)
            }
            #expect(transport.statistics.connectionsMade <= 2)
        }
    }

    @Test func cancelledQueuedRequestEndsAtOnce() async throws {
        try await withQueue { transport, server, gate, waiting in
            for task in waiting { task.cancel() }
            for task in waiting {
                let error = await #expect(throws: CurlewError.self) { try await task.value }
                #expect(error?.code == .cancelled)
            }
            #expect(server.requests.count == 2)
            gate.open()
            let last = try await transport.fetch(request(server.url("/bytes/7")))
            #expect(last.sink.body.count == 7)
        }
    }

    @Test func anotherHostDoesNotWait() async throws {
        try await withQueue { transport, _, gate, waiting in
            let other = try TestServer()
            defer { other.stop() }
            let answer = try await transport.fetch(request(other.url("/bytes/7")))
            #expect(answer.sink.body.count == 7)
            gate.open()
            for task in waiting { _ = try await task.value }
        }
    }

    /// libcurl would try a transfer of the first host whenever a connection to the second one becomes free.
    @Test(arguments: [1, 2])
    func busyHostDoesNotHoldUpAnother(_ connections: Int) async throws {
        try await withTransport({
            $0.maximumConnectionsPerHost = connections
        }) { transport, server in
            let other = try TestServer()
            defer { other.stop() }
            let (stuck, gate) = (Gate(), Gate())
            server.route("/held") { _ in .text("held").stalling(until: stuck, at: .beforeHead) }
            let held = server.url("/held")
            let busy = (0..<20).map { _ in Task { try await transport.fetch(request(held)).status } }
            try await begun(busy.count, transport)
            other.route("/held") { _ in .text("held").stalling(until: gate, at: .beforeHead) }
            let next = other.url("/held")
            let waiting = (0..<30).map { _ in Task { try await transport.fetch(request(next)).status } }
            try await begun(busy.count + waiting.count, transport)
            try await other.waitForRequests(count: connections)
            gate.open()
            for task in waiting { #expect(try await task.value == 200) }
            stuck.open()
            for task in busy { #expect(try await task.value == 200) }
        }
    }

    private static let features = Capabilities.ofLibcurl.features

    @Test func byteConnectionDoesNotWait() async throws {
        try await withQueue { transport, server, gate, waiting in
            let connection = try await transport.connect(request(server.url("/bytes/7")))
            connection.close()
            gate.open()
            for task in waiting { _ = try await task.value }
        }
    }

    @Test func nothingToOpenIsKnownAtOnce() async throws {
        try await withQueue { transport, server, gate, waiting in
            let transfer = try transport.makeTransfer(
                request(server.url("/")), NoSink.shared, for: .prewarming(opensNew: true))
            await transfer.run()
            try transfer.checkEnd()
            gate.open()
            for task in waiting { _ = try await task.value }
        }
    }

    @Test func requestWithItsOwnProxyDoesNotWait() async throws {
        try await withQueue { transport, server, gate, waiting in
            let proxy = try TestServer()
            defer { proxy.stop() }
            var next = request(server.url("/bytes/7"))
            next.options.proxy = .url(proxy.url("/"))
            _ = try await transport.fetch(next)
            #expect(proxy.requests.count == 1)
            gate.open()
            for task in waiting { _ = try await task.value }
        }
    }

    @Test(.enabled(if: features.contains("NTLM"), "libcurl has no NTLM"))
    func loneRequestDoesNotWaitForOthers() async throws {
        try await withQueue { transport, server, gate, waiting in
            var lone = request(server.url("/bytes/7"))
            lone.options.authentication = .init(scheme: .ntlm, username: "ada", password: "secret")
            #expect(try await transport.fetch(lone).sink.body.count == 7)
            gate.open()
            for task in waiting { _ = try await task.value }
        }
    }

    @Test(.enabled(if: features.contains("NTLM"), "libcurl has no NTLM"))
    func othersDoNotWaitForLoneRequests() async throws {
        try await withTransport({ $0.maximumConnectionsPerHost = 1 }) { transport, server in
            let gate = Gate()
            server.route("/held") { _ in .text("held").stalling(until: gate, at: .beforeHead) }
            var lone = request(server.url("/held"))
            lone.options.authentication = .init(scheme: .ntlm, username: "ada", password: "secret")
            let held = (0..<20).map { _ in Task { [lone] in try await transport.fetch(lone).status } }
            try await begun(held.count, transport)
            #expect(try await transport.fetch(request(server.url("/bytes/7"))).sink.body.count == 7)
            gate.open()
            for task in held { #expect(try await task.value == 200) }
        }
    }

    @Test func queueTimeoutRunsInTheQueue() async throws {
        try await withQueue(changing: { $0.options.timeouts.queue = $1 % 2 == 0 ? .milliseconds(300) : nil }) {
            _, _, gate, waiting in
            for task in stride(from: 0, to: count, by: 2).map({ waiting[$0] }) {
                let error = await #expect(throws: CurlewError.self) { try await task.value }
                #expect(error?.code == .queueTimedOut)
                // The transfer never had a handle, so the engine itself must have measured the duration.
                let duration = try #require(error?.metrics?.duration)
                #expect(duration >= 0.25)
            }
            gate.open()
            for number in stride(from: 1, to: count, by: 2) {
                let size = try await waiting[number].value
                #expect(size == number)
            }
        }
    }

    @Test func shutdownEndsQueuedRequests() async throws {
        try await withQueue { transport, server, _, waiting in
            await transport.shutdown()
            for task in waiting {
                let error = await #expect(throws: CurlewError.self) { try await task.value }
                #expect(error?.code == .sessionClosed)
            }
            #expect(server.requests.count == 2)
        }
    }

    @Test func suspendedRequestDoesNotBlockQueue() async throws {
        try await withTransport({ $0.maximumConnectionsPerHost = 1 }) { transport, server in
            let gate = Gate()
            server.script("/first", .text("first").stalling(until: gate, at: .beforeHead))
            let (first, others) = (server.url("/first"), server.url("/bytes/1"))
            let blocker = Task { try await transport.fetch(request(first)).text }
            try await server.waitForRequests(count: 1)
            let before = (0..<20).map { _ in Task { try await transport.fetch(request(others)).status } }
            try await begun(before.count + 1, transport)
            let sink = CollectingSink()
            let held = request(server.url("/bytes/7"))
            let task = Task { try await transport.fetch(held, sink).sink.body.count }
            try await begun(before.count + 2, transport)
            sink.control?.suspend()
            gate.open()
            #expect(try await blocker.value == "first")
            for other in before { #expect(try await other.value == 200) }
            _ = try await transport.fetch(request(others))
            #expect(!server.requests.map(\.path).contains("/bytes/7"))
            sink.control?.resume()
            #expect(try await task.value == 7)
        }
    }

    @Test func mostUrgentRequestIsServedFirst() async throws {
        try await withTransport({ $0.maximumConnectionsPerHost = 1 }) { transport, server in
            let gate = Gate()
            server.script("/first", .text("first").stalling(until: gate, at: .beforeHead))
            let first = server.url("/first")
            let blocker = Task { try await transport.fetch(request(first)).text }
            try await server.waitForRequests(count: 1)
            let arrivals: [(RequestPriority, Int)] = [
                (.background, 1), (.background, 2), (.background, 3), (.normal, 4), (.background, 5), (.critical, 6),
                (.normal, 7), (.low, 8), (.high, 9), (.critical, 10),
            ]
            var waiting: [Task<Int, any Error>] = []
            for (priority, number) in arrivals {
                var next = request(server.url("/bytes/\(number)"))
                next.options.priority = priority
                waiting.append(Task { [next] in try await transport.fetch(next).outcome.head.status })
                try await begun(waiting.count + 1, transport)
            }
            gate.open()
            #expect(try await blocker.value == "first")
            for task in waiting { #expect(try await task.value == 200) }
            let order = [6, 10, 9, 4, 7, 8, 1, 2, 3, 5]
            #expect(server.requests.dropFirst().map(\.path) == order.map { "/bytes/\($0)" })
        }
    }

    // MARK: Without sockets

    /// The queues, and the transfers that libcurl has.
    private final class Model {
        let transport = CurlTransport()
        var queues: ConnectionQueues
        var inLibcurl: [ActiveTransfer] = []

        init(connections: Int, multiplexes: @escaping () -> Bool = { false }) {
            queues = ConnectionQueues(connections: connections, proxy: .none) { _ in multiplexes() }
        }

        func make(_ urgency: Int = 3, _ url: String = "http://a.example/") throws -> ActiveTransfer {
            var next = request(try #require(URL(string: url)))
            next.options.priority = RequestPriority(urgency: urgency)
            return try transport.makeTransfer(next, NoSink.shared)
        }

        /// Returns whether libcurl gets the transfer at once.
        func add(_ transfer: ActiveTransfer) -> Bool {
            let isAdmitted = queues.add(transfer, besides: inLibcurl)
            if isAdmitted { inLibcurl.append(transfer) }
            return isAdmitted
        }

        func next() -> ActiveTransfer? {
            let transfer = queues.next()
            if let transfer { inLibcurl.append(transfer) }
            return transfer
        }

        func end(_ transfer: ActiveTransfer) {
            inLibcurl.removeAll { $0 === transfer }
            transfer.end()
            queues.remove(transfer)
        }

        var waitingCount: Int {
            var sum = 0
            queues.forEachQueue { sum += $1 }
            return sum
        }
    }

    /// A multiplexed connection has streams for more transfers than there may be connections.
    @Test func moreTransfersEnterOnceConnectionIsMultiplexed() throws {
        let most = ConnectionQueues.mostBehindStreams
        var isMultiplexed = false
        let model = Model(connections: 2) { isMultiplexed }
        let transfers = try (0..<3 * most).map { _ in try model.make() }
        let entered = transfers.map(model.add)
        #expect(entered == transfers.indices.map { $0 < 2 })
        isMultiplexed = true
        #expect(model.next() == nil)
        for index in 0..<2 { model.queues.foundConnection(transfers[index]) }
        while model.next() != nil {}
        #expect(model.queues.count == 2 + most)
        for index in 2..<12 { model.queues.foundConnection(transfers[index]) }
        while model.next() != nil {}
        #expect(model.queues.count == 12 + most)
        let late = try model.make()
        #expect(!model.add(late))
        for transfer in transfers + [late] { model.end(transfer) }
        #expect(model.next() == nil)
        #expect(model.queues.count == 0 && model.waitingCount == 0)
    }

    /// Compares the queues with a list that is searched for the most urgent transfer each time.
    @Test(arguments: 0..<20 as Range<UInt64>)
    func transfersLeaveByUrgencyThenArrival(_ seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let connections = Int.random(in: 1...4, using: &random)
        let model = Model(connections: connections)
        var waiting: [ActiveTransfer] = []
        for _ in 0..<1000 {
            switch Int.random(in: 0..<10, using: &random) {
            case ..<5:
                let transfer = try model.make(Int.random(in: 0...7, using: &random))
                let isAdmitted = model.add(transfer)
                if !isAdmitted { waiting.append(transfer) }
            case 5:
                guard let index = waiting.indices.randomElement(using: &random) else { continue }
                model.end(waiting.remove(at: index))
            case 6: model.inLibcurl.randomElement(using: &random).map { model.queues.foundConnection($0) }
            default:
                guard let transfer = model.inLibcurl.randomElement(using: &random) else { continue }
                model.end(transfer)
                let next = model.next()
                let expected = waiting.indices.min { waiting[$0].urgency < waiting[$1].urgency }
                #expect(next === expected.map { waiting[$0] })
                if let expected { waiting.remove(at: expected) }
            }
            #expect(model.queues.count == model.inLibcurl.count && model.inLibcurl.count <= connections)
            #expect(model.waitingCount == waiting.count)
            #expect(waiting.isEmpty || model.inLibcurl.count == connections)
        }
        for transfer in model.inLibcurl + waiting { model.end(transfer) }
        #expect(model.next() == nil)
        #expect(model.queues.count == 0 && model.waitingCount == 0)
    }

    private struct Kept {
        weak var transfer: ActiveTransfer?
    }

    /// If no connection becomes free, `next` is not called and drops no ended transfers. They must be released
    /// nevertheless.
    @Test func endedTransfersAreReleasedFromQueue() throws {
        let model = Model(connections: 1)
        let running = try model.make()
        #expect(model.add(running))
        var kept: [Kept] = []
        func wait() throws -> ActiveTransfer {
            let transfer = try model.make()
            #expect(!model.add(transfer))
            kept.append(Kept(transfer: transfer))
            return transfer
        }
        let patient = [try wait(), try wait()]
        for _ in 0..<1000 { model.end(try wait()) }
        #expect(kept.count { $0.transfer != nil } <= 2 * patient.count)
        // The waiting transfers have kept their places.
        #expect(model.next() == nil)
        model.end(running)
        #expect(model.next() === patient[0])
        #expect(model.next() == nil)
        model.end(patient[0])
        #expect(model.next() === patient[1])
        model.end(patient[1])
        #expect(model.next() == nil)
        #expect(model.queues.count == 0)
    }

    /// A queue that is ready may lose all its transfers before `next` has seen it. It remains the queue of its origin,
    /// and transfers that arrive join it.
    @Test func eachOriginHasOneQueue() throws {
        let model = Model(connections: 2)
        let transfers = try (0..<6).map { _ in try model.make() }
        let entered = transfers[..<3].map(model.add)
        #expect(entered == [true, true, false])
        // The queue is ready after the first of these, and empty after the last.
        for transfer in [transfers[0], transfers[2], transfers[1]] { model.end(transfer) }
        let joined = transfers[3...].map(model.add)
        #expect(joined == [true, true, false])
        #expect(model.next() == nil)
        model.end(transfers[3])
        #expect(model.next() === transfers[5])
        for transfer in transfers[4...] { model.end(transfer) }
        #expect(model.queues.count == 0 && model.waitingCount == 0)
    }

    /// Transfers that libcurl got before there were queues count as well.
    @Test func earlierTransfersAreCountedByOrigin() throws {
        let model = Model(connections: 2)
        let first = [try model.make(), try model.make(3, "http://b.example/")]
        let next = [try model.make(), try model.make(), try model.make(3, "http://b.example/")]
        let entered = (first + next).map(model.add)
        #expect(entered == [true, true, true, false, true])
        model.end(first[1])
        #expect(model.next() == nil)
        model.end(first[0])
        #expect(model.next() === next[1])
    }

    /// libcurl reports a connection before each send, and the end of the transfer comes after all of them.
    @Test func transferIsRemovedOnce() throws {
        let model = Model(connections: 6)
        let transfer = try model.make()
        #expect(model.add(transfer) && model.queues.count == 1)
        for _ in 0..<2 { model.queues.foundConnection(transfer) }
        for _ in 0..<2 {
            model.queues.remove(transfer)
            #expect(model.queues.count == 0)
        }
    }
}

extension ActiveTransfer {
    fileprivate var urgency: Int { request.options.priority.urgency }
}
