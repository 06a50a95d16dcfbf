import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import CurlewTransport

/// Hundreds of requests share two connections to one host.
@Suite("Waiting for a connection", .timeLimit(.minutes(4)))
struct ConnectionQueueTests {
    private let count = 434

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
            // Two run, two entered before there was a queue, and two wait within libcurl.
            #expect(transport.statistics.easyHandlesInUse <= 6)
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

    private static let features = Capabilities.ofLibcurl.features

    /// These two do not compete for the connections that the others wait for.
    @Test(.enabled(if: features.contains("NTLM"), "libcurl has no NTLM"))
    func loneRequestAndByteConnectionDoNotWait() async throws {
        try await withQueue { transport, server, gate, waiting in
            var lone = request(server.url("/bytes/7"))
            lone.options.authentication = .init(scheme: .ntlm, username: "ada", password: "secret")
            #expect(try await transport.fetch(lone).sink.body.count == 7)
            let connection = try await transport.connect(request(server.url("/bytes/7")))
            connection.close()
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
            // The first two wait within libcurl.
            let order = [1, 2, 6, 10, 9, 4, 7, 8, 3, 5]
            #expect(server.requests.dropFirst().map(\.path) == order.map { "/bytes/\($0)" })
        }
    }

    /// A multiplexed connection has streams for more transfers than there may be connections.
    @Test func moreTransfersEnterOnceConnectionIsMultiplexed() throws {
        let transport = CurlTransport()
        let url = try #require(URL(string: "http://a.example/"))
        var isMultiplexed = false
        var queues = ConnectionQueues(connections: 2) { _ in isMultiplexed }
        let transfers = try (0..<200).map { _ in try transport.makeTransfer(request(url), NoSink.shared) }
        var entered: [Bool] = []
        for transfer in transfers { entered.append(queues.add(transfer)) }
        // Two without a queue, and two of the queue.
        #expect(entered == (0..<200).map { $0 < 4 })
        isMultiplexed = true
        // One of the queue leaves libcurl, because it has a stream.
        queues.remove(transfers[2])
        var count = 0
        while queues.next() != nil { count += 1 }
        #expect(count == ConnectionQueues.mostBehindStreams - 1)
        #expect(queues.inside == 3 + count)
    }

    /// Compares the queue with a list that is searched for the most urgent transfer each time.
    @Test(arguments: 0..<20 as Range<UInt64>)
    func queueServesByUrgencyThenArrival(_ seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let transport = CurlTransport()
        let url = try #require(URL(string: "http://a.example/"))
        let make = { (urgency: Int) in
            var next = request(url)
            next.options.priority = RequestPriority(urgency: urgency)
            return try transport.makeTransfer(next, NoSink.shared)
        }
        var queues = ConnectionQueues(connections: 1) { _ in false }
        // One without a queue, and the only one that the queue may have within libcurl.
        var inside = try [make(3), make(3)]
        for transfer in inside {
            let isAdmitted = queues.add(transfer)
            #expect(isAdmitted)
        }
        var outside: [ActiveTransfer] = []
        func end(_ transfer: ActiveTransfer) {
            transfer.end()
            queues.remove(transfer)
        }
        for _ in 0..<500 {
            switch Int.random(in: 0..<10, using: &random) {
            case ..<6:
                let transfer = try make(Int.random(in: 0...7, using: &random))
                let isAdmitted = queues.add(transfer)
                #expect(!isAdmitted)
                outside.append(transfer)
            case 6:
                guard let index = outside.indices.randomElement(using: &random) else { continue }
                end(outside.remove(at: index))
            default:
                end(inside.removeLast())
                let next = queues.next()
                let expected = outside.indices.min { outside[$0].urgency < outside[$1].urgency }
                guard let expected else {
                    #expect(next == nil)
                    inside = try [inside[0], make(3)]
                    let isAdmitted = queues.add(inside[1])
                    #expect(isAdmitted)
                    continue
                }
                #expect(next === outside[expected])
                inside.append(outside.remove(at: expected))
            }
            var count = 0
            queues.forEachQueue { count += $1 }
            #expect(count == outside.count)
        }
    }

    private struct Kept {
        weak var transfer: ActiveTransfer?
    }

    /// If no connection becomes free, `next` is not called and drops no ended transfers. They must be released
    /// nevertheless.
    @Test func endedTransfersAreReleasedFromQueue() throws {
        let transport = CurlTransport()
        let url = try #require(URL(string: "http://a.example/"))
        let make = { try transport.makeTransfer(request(url), NoSink.shared) }
        var queues = ConnectionQueues(connections: 100) { _ in false }
        // The first half of these transfers enters before there is a queue.
        let inside = try (0..<200).map { _ in try make() }
        let entered = inside.map { queues.add($0) }
        #expect(!entered.contains(false))
        var kept: [Kept] = []
        func end(_ transfer: ActiveTransfer) {
            transfer.end()
            queues.remove(transfer)
        }
        func wait() throws -> ActiveTransfer {
            let transfer = try make()
            let isAdmitted = queues.add(transfer)
            #expect(!isAdmitted)
            kept.append(Kept(transfer: transfer))
            return transfer
        }
        let patient = [try wait(), try wait()]
        for _ in 0..<1000 { end(try wait()) }
        #expect(kept.count { $0.transfer != nil } <= 2 * patient.count)
        // The waiting transfers have kept their places.
        func next() -> ActiveTransfer? { queues.next() }
        #expect(next() == nil)
        for transfer in inside.suffix(1) { end(transfer) }
        #expect(next() === patient[0])
        #expect(next() == nil)
        end(patient[0])
        #expect(next() === patient[1])
        end(patient[1])
        for transfer in inside.dropLast() { end(transfer) }
        #expect(next() == nil)
        #expect(queues.inside == 0)
    }

    /// A queue with a free place may lose all its transfers before `next` serves it. Until then it remains the queue of
    /// its origin, so new transfers must join it.
    @Test func eachOriginHasOneQueue() throws {
        let transport = CurlTransport()
        let url = try #require(URL(string: "http://a.example/"))
        let most = 100
        var queues = ConnectionQueues(connections: most) { _ in false }
        var transfers: [ActiveTransfer] = []
        func enters() throws -> Bool {
            let transfer = try transport.makeTransfer(request(url), NoSink.shared)
            transfers.append(transfer)
            return queues.add(transfer)
        }
        func end(_ range: Range<Int>) {
            for transfer in transfers[range] {
                transfer.end()
                queues.remove(transfer)
            }
        }
        for _ in 0..<2 * most { #expect(try enters()) }
        #expect(try !enters())
        // One of the queue's transfers leaves libcurl, which makes the queue ready. Then the transfer outside ends, and
        // after it all others of the queue.
        end(most..<most + 1)
        end(2 * most..<2 * most + 1)
        end(most + 1..<2 * most)
        for _ in 0..<most { #expect(try enters()) }
        #expect(try !enters())
        let next = queues.next()
        #expect(next == nil)
        #expect(try !enters())
        end(0..<most)
        end(2 * most + 1..<transfers.count)
        #expect(queues.inside == 0)
    }

    /// libcurl reports a connection before each send, and the end of the transfer comes after all of them.
    @Test func transferLeavesItsQueueOnce() throws {
        let transport = CurlTransport()
        let transfer = try transport.makeTransfer(
            request(try #require(URL(string: "http://a.example/"))), NoSink.shared)
        var queues = ConnectionQueues(connections: 6) { _ in false }
        let isAdmitted = queues.add(transfer)
        #expect(isAdmitted && queues.inside == 1)
        for _ in 0..<2 {
            queues.remove(transfer)
            #expect(queues.inside == 0)
        }
    }
}

extension ActiveTransfer {
    fileprivate var urgency: Int { request.options.priority.urgency }
}
