import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import CurlewTransport

/// The user's resolver (`dns.resolver`), with connections to a server on loopback.
@Suite("Custom DNS resolver", .timeLimit(.minutes(4)))
struct NameResolverTests {
    /// A resolver that gives the answers of a test, and records its questions.
    private final class Registry: Sendable {
        struct State: Sendable {
            var asked: [HostAndPort] = []
            var cancelled = 0
        }

        let state = Lock(State())
        private let answer: @Sendable (Int) async throws -> DNSAnswer

        /// `answer` gets the number of the question, from 1 on.
        init(_ answer: @escaping @Sendable (Int) async throws -> DNSAnswer) { self.answer = answer }

        /// Answers with the loopback address when the gate is open.
        convenience init(heldBy gate: Gate) {
            self.init { _ in
                try await gate.wait()
                return NameResolverTests.loopback
            }
        }

        var asked: [HostAndPort] { state.withLock { $0.asked } }

        func resolve(_ host: String, _ port: Int) async throws -> DNSAnswer {
            let number = state.withLock { state in
                state.asked.append(HostAndPort(host: host, port: port))
                return state.asked.count
            }
            do { return try await answer(number) } catch {
                if error is CancellationError { state.withLock { $0.cancelled += 1 } }
                throw error
            }
        }
    }

    private struct Unreachable: Error, Equatable {}

    private static let loopback = DNSAnswer(addresses: ["127.0.0.1"], timeToLive: .seconds(3600))

    private func withRegistry(
        _ registry: Registry,
        _ configure: (inout TransportConfiguration) -> Void = { _ in },
        _ body: (CurlTransport, TestServer) async throws -> Void
    ) async throws {
        try await withTransport {
            $0.dns.resolver = { try await registry.resolve($0, $1) }
            configure(&$0)
        } _: {
            try await body($0, $1)
        }
    }

    private func url(_ server: TestServer, _ host: String = "shop.test", _ path: String = "/get") -> URL {
        URL(string: "http://\(host):\(server.port)\(path)")!
    }

    /// Returns a request whose connection closes after the response.
    private func closing(_ url: URL) -> TransferRequest { request(url, headers: ["Connection": "close"]) }

    @discardableResult
    private func succeeds(
        _ transport: CurlTransport, _ request: TransferRequest, _ sink: CollectingSink = CollectingSink()
    ) async throws -> Int {
        let status = try await transport.fetch(request, sink).status
        #expect(status == 200)
        return status
    }

    // MARK: Answers

    @Test func addressComesFromResolverAndHostFieldFromURL() async throws {
        let registry = Registry { _ in Self.loopback }
        try await withRegistry(registry) { transport, server in
            let answer = try await transport.fetch(request(url(server, "Shop.Test.")))
            #expect(answer.status == 200)
            #expect(answer.outcome.metrics.remoteAddress == "127.0.0.1:\(server.port)")
            #expect(server.requests[0].headers["Host"]?.lowercased().hasPrefix("shop.test") == true)
            #expect(registry.asked == [HostAndPort(host: "shop.test", port: server.port)])
        }
    }

    @Test func anAnswerServesUntilItExpires() async throws {
        let registry = Registry { _ in Self.loopback }
        try await withRegistry(registry) { transport, server in
            for _ in 0..<5 { try await succeeds(transport, closing(url(server))) }
            #expect(registry.asked.count == 1)
            try await succeeds(transport, closing(url(server, "other.test")))
            #expect(registry.asked.map(\.host) == ["shop.test", "other.test"])
        }
    }

    /// Nothing listens on 127.0.0.2. libcurl's own cache must not answer with an earlier address, in either direction.
    @Test func newerResolverAnswerIsUsed() async throws {
        let registry = Registry { number in
            DNSAnswer(addresses: [number.isMultiple(of: 2) ? "127.0.0.1" : "127.0.0.2"], timeToLive: .zero)
        }
        try await withRegistry(registry) { transport, server in
            for _ in 0..<3 {
                let error = await transport.failure(closing(url(server)))
                #expect(error.code == .connectFailed, "\(error)")
                let answer = try await transport.fetch(closing(url(server)))
                #expect(answer.outcome.metrics.remoteAddress == "127.0.0.1:\(server.port)")
            }
            #expect(registry.asked.count == 6)
        }
    }

    /// A transfer has addresses when it enters the queue of its origin. Once libcurl has room for it, they may be old.
    /// Nothing listens on 127.0.0.2.
    @Test func newerResolverAnswerIsUsedForQueuedRequests() async throws {
        let (isLaunched, isDone) = (Gate(), Gate())
        let registry = Registry { number in
            switch number {
            case 1: return DNSAnswer(addresses: ["127.0.0.1"], timeToLive: .zero)
            case 2:
                try await isLaunched.wait()
                return DNSAnswer(addresses: ["127.0.0.1"], timeToLive: .nanoseconds(1))
            default: return DNSAnswer(addresses: ["127.0.0.2"], timeToLive: .seconds(3600))
            }
        }
        let count = 100
        try await withRegistry(registry) {
            $0.maximumConnectionsPerHost = 1
        } _: { transport, server in
            server.route("/held") { _ in .text("held").stalling(until: isDone, at: .beforeHead) }
            let (target, held) = (url(server), closing(url(server, "shop.test", "/held")))
            let first = Task { try await transport.fetch(held).status }
            try await server.waitForRequests(count: 1)
            let codes = try await withThrowingTaskGroup(of: CurlewError.Code?.self) { group in
                let next = { @Sendable () async -> CurlewError.Code? in
                    do throws(CurlewError) {
                        _ = try await transport.fetch(closing(target))
                        return nil
                    } catch { return error.code }
                }
                for _ in 0..<count { group.addTask { await next() } }
                try await eventually { transport.statistics.liveTransfers == count + 1 }
                isLaunched.open()
                try await transport.expectPool(of: target) { $0.waiting == count }
                group.addTask { await next() }
                try await transport.expectPool(of: target) { $0.waiting == count + 1 }
                #expect(registry.asked.count == 3)
                isDone.open()
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(try await first.value == 200)
            #expect(codes.allSatisfy { $0 == nil || $0 == .connectFailed })
            #expect(codes.count { $0 != nil } >= count)
        }
    }

    @Test func otherResolvedAddressesAreTried() async throws {
        let registry = Registry { _ in DNSAnswer(addresses: ["127.0.0.2", "127.0.0.1"]) }
        try await withRegistry(registry) { transport, server in
            try await succeeds(transport, request(url(server)))
        }
    }

    @Test func openConnectionIsReusedForAnyAddress() async throws {
        let registry = Registry { number in
            DNSAnswer(addresses: [number == 1 ? "127.0.0.1" : "127.0.0.2"], timeToLive: .zero)
        }
        try await withRegistry(registry) { transport, server in
            for _ in 0..<2 { try await succeeds(transport, request(url(server))) }
            #expect(registry.asked.count == 2 && server.connectionCount == 1)
        }
    }

    @Test func thousandRequestsCallTheResolverOnce() async throws {
        let gate = Gate()
        let registry = Registry(heldBy: gate)
        try await withRegistry(registry) { transport, server in
            let target = url(server)
            let count = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<1_000 { group.addTask { try await succeeds(transport, request(target)) } }
                try await eventually { transport.statistics.liveTransfers == 1_000 }
                #expect(transport.statistics.easyHandlesInUse == 0)
                gate.open()
                return try await group.reduce(0) { $0 + ($1 == 200 ? 1 : 0) }
            }
            #expect(count == 1_000)
            #expect(registry.asked.count == 1)
        }
    }

    @Test func resolverIsNotCalledForAddressesAndOverrides() async throws {
        let registry = Registry { _ in throw Unreachable() }
        try await withRegistry(registry) {
            $0.dns.overrides = ["known.test": ["127.0.0.1"]]
        } _: { transport, server in
            for host in ["127.0.0.1", "2130706433", "known.test"] {
                try await succeeds(transport, request(url(server, host)))
            }
            #expect(registry.asked.isEmpty)
            // The same handle then serves a host that is asked for, and one that is not.
            let error = await transport.failure(request(url(server)))
            #expect(error.code == .resolveFailed)
            try await succeeds(transport, request(url(server, "known.test")))
        }
    }

    @Test func byteConnectionsUseTheResolver() async throws {
        let registry = Registry { _ in Self.loopback }
        try await withRegistry(registry) { transport, server in
            let connection = try await transport.connect(request(url(server)), sendBuffer: 1024)
            #expect(connection.metrics.remoteAddress == "127.0.0.1:\(server.port)")
            #expect(registry.asked.count == 1)
            connection.close()
            await expectNoConnection(transport, countingSockets: false)
        }
    }

    // MARK: Failures

    @Test func resolverErrorIsTheUnderlyingError() async throws {
        let registry = Registry { _ in throw Unreachable() }
        try await withRegistry(registry) { transport, server in
            for count in 1...2 {
                let error = await transport.failure(request(url(server), method: .post))
                #expect(error.code == .resolveFailed && error.phase == .resolve)
                #expect(error.underlying as? Unreachable == Unreachable())
                #expect(error.isSafeToRetry && error.url?.host() == "shop.test")
                #expect(registry.asked.count == count, "failures are not stored")
            }
            #expect(server.connectionCount == 0)
        }
    }

    @Test(arguments: [
        ([], DNSConfiguration.IPVersion.any), (["::1"], .v4), (["127.0.0.1"], .v6), (["shop.internal"], .any),
        (["127.0.0.1", "127.0.0.1:80"], .any),
    ])
    func anUnusableAnswerIsResolveFailed(_ addresses: [String], _ version: DNSConfiguration.IPVersion) async throws {
        let registry = Registry { _ in DNSAnswer(addresses: addresses) }
        try await withRegistry(registry) {
            $0.dns.ipVersion = version
        } _: { transport, server in
            for _ in 0..<2 {
                let error = await transport.failure(request(url(server)))
                #expect(error.code == .resolveFailed, "\(error)")
            }
            #expect(registry.asked.count == 2 && server.connectionCount == 0)
        }
    }

    @Test func aPrivateAddressIsRefused() async throws {
        let registry = Registry { _ in DNSAnswer(addresses: ["10.1.2.3", "127.0.0.1"]) }
        try await withRegistry(registry) {
            $0.addressPolicy = .publicOnly
        } _: { transport, server in
            let error = await transport.failure(request(url(server)))
            #expect(error.code == .addressRefused, "\(error)")
            #expect(server.connectionCount == 0)
        }
    }

    @Test(arguments: [CurlewError.Code.connectTimedOut, .totalTimedOut])
    func hangingResolverIsATimeout(_ code: CurlewError.Code) async throws {
        let registry = Registry(heldBy: Gate())
        try await withRegistry(registry) { transport, server in
            let slow = request(url(server)) {
                if code == .totalTimedOut {
                    $0.options.timeouts.total = .milliseconds(50)
                } else {
                    $0.options.timeouts.connect = .milliseconds(50)
                }
            }
            let error = await transport.failure(slow)
            #expect(error.code == code && error.phase == .resolve, "\(error)")
            // The resolver's task is cancelled, because no request waits for its answer.
            try await eventually { registry.state.withLock { $0.cancelled } == 1 }
            #expect(server.connectionCount == 0)
        }
    }

    @Test func cancelledRequestDoesNotCancelSharedLookup() async throws {
        let gate = Gate()
        let registry = Registry(heldBy: gate)
        try await withRegistry(registry) { transport, server in
            let target = url(server)
            let first = Task { await transport.failure(request(target)) }
            try await gate.waitForArrivals(count: 1)
            async let second = succeeds(transport, request(target))
            try await eventually { transport.statistics.liveTransfers == 2 }
            first.cancel()
            let error = await first.value
            #expect(error.code == .cancelled && error.phase == .resolve)
            gate.open()
            #expect(try await second == 200)
            #expect(registry.asked.count == 1 && registry.state.withLock { $0.cancelled } == 0)
        }
    }

    @Test func cancellingTheLastRequestCancelsTheResolver() async throws {
        let gate = Gate()
        let registry = Registry { number in
            if number == 1 { try await gate.wait() }
            return Self.loopback
        }
        try await withRegistry(registry) { transport, server in
            let target = url(server)
            let task = Task { await transport.failure(request(target)) }
            try await gate.waitForArrivals(count: 1)
            task.cancel()
            #expect(await task.value.code == .cancelled)
            try await eventually { registry.state.withLock { $0.cancelled } == 1 }
            // The next request asks the resolver again.
            try await succeeds(transport, request(target))
            #expect(registry.asked.count == 2)
        }
    }

    @Test func controlCancelsSuspendedAndResolvingRequests() async throws {
        let gate = Gate()
        let registry = Registry(heldBy: gate)
        try await withRegistry(registry) { transport, server in
            let target = url(server)
            for isSuspended in [false, true] {
                let sink = CollectingSink()
                async let failure = transport.failure(request(target), sink)
                try await gate.waitForArrivals(count: isSuspended ? 2 : 1)
                if isSuspended { sink.control?.suspend() }
                sink.control?.cancel(with: CurlewError(.cancelled, phase: .lifecycle))
                #expect(await failure.code == .cancelled)
            }
        }
    }

    @Test func requestSuspendedWhileResolvingResolvesAgain() async throws {
        let gate = Gate()
        let registry = Registry { number in
            if number == 1 { try await gate.wait() }
            return DNSAnswer(addresses: ["127.0.0.1"], timeToLive: .zero)
        }
        try await withRegistry(registry) { transport, server in
            let (target, sink) = (url(server), CollectingSink())
            async let answer = succeeds(transport, request(target), sink)
            try await gate.waitForArrivals(count: 1)
            sink.control?.suspend()
            gate.open()
            // A second request shows that the first answer has been delivered.
            try await succeeds(transport, request(target))
            #expect(server.requests.count == 1)
            sink.control?.resume()
            #expect(try await answer == 200)
            #expect(registry.asked.count >= 2)
        }
    }

    @Test func shutdownEndsRequestsThatResolve() async throws {
        let gate = Gate()
        let registry = Registry(heldBy: gate)
        try await withRegistry(registry) { transport, server in
            let target = url(server)
            async let failure = transport.failure(request(target))
            try await gate.waitForArrivals(count: 1)
            await transport.shutdown()
            #expect(await failure.code == .sessionClosed)
            try await eventually { registry.state.withLock { $0.cancelled } == 1 }
        }
    }

    /// The resolver of a host asks its own transport for the next host of the list, and that of the last host for the
    /// first one. No connect timeout ends the wait.
    @Test(arguments: [["shop.test"], ["a.test", "b.test"], ["a.test", "b.test", "c.test"]])
    func resolverThatWaitsForItselfFailsAtOnce(_ hosts: [String]) async throws {
        let made = Lock<CurlTransport?>(nil)
        let server = try TestServer()
        let requests = hosts.map { host in
            request(url(server, host)) { $0.options.timeouts.connect = nil }
        }
        var configuration = TransportConfiguration()
        configuration.proxy = .none
        configuration.dns.resolver = { host, _ in
            guard let transport = made.withLock({ $0 }), let index = hosts.firstIndex(of: host) else {
                throw Unreachable()
            }
            _ = try await transport.perform(requests[(index + 1) % hosts.count], sink: CollectingSink())
            return Self.loopback
        }
        let transport = CurlTransport(configuration: configuration)
        made.withLock { $0 = transport }
        var error = await transport.failure(requests[0])
        for _ in hosts {
            #expect(error.code == .resolveFailed, "\(error)")
            error = try #require(error.underlying as? CurlewError)
        }
        #expect(error.code == .resolveFailed && error.underlying == nil)
        made.withLock { $0 = nil }
        await transport.shutdown()
    }

    /// A resolver may start a task that outlives it. Once the resolver has answered, a request of the task does not
    /// wait for itself.
    @Test func taskStartedByResolverMayUseItAfterItsAnswer() async throws {
        let made = Lock<CurlTransport?>(nil)
        let later = Lock<Task<Int, any Error>?>(nil)
        let answered = Gate()
        let server = try TestServer()
        let target = request(url(server))
        var configuration = TransportConfiguration()
        configuration.proxy = .none
        configuration.dns.resolver = { _, _ in
            let task = Task {
                try await answered.wait()
                guard let transport = made.withLock({ $0 }) else { throw Unreachable() }
                return try await transport.fetch(target).status
            }
            later.withLock { $0 = $0 ?? task }
            return Self.loopback
        }
        let transport = CurlTransport(configuration: configuration)
        made.withLock { $0 = transport }
        try await succeeds(transport, target)
        answered.open()
        #expect(try await later.withLock { $0 }?.value == 200)
        made.withLock { $0 = nil }
        await transport.shutdown()
    }

    /// If libcurl has dropped the addresses, it must not look the host up itself. Here the entry in libcurl's cache
    /// has the name of another host.
    @Test func libcurlDoesNotLookUpTheHostItself() async throws {
        let registry = Registry { _ in DNSAnswer(addresses: ["127.0.0.1"], timeToLive: .zero) }
        try await withRegistry(registry) { transport, server in
            // `localhost` would be found without a name server.
            let target = url(server, "localhost")
            let transfer = try transport.makeTransfer(request(target), NoSink.shared)
            let name = HostAndPort(host: "localhost", port: server.port)
            transfer.plan.question = HostQuestion(name: name, key: "elsewhere.test", isDirect: true)
            await withUnsafeContinuation { transfer.start(resuming: $0) }
            #expect { try transfer.outcome() } throws: { CurlewError.Code.resolveFailed ~= $0 }
            #expect(server.connectionCount == 0)
            // The transfer asks the resolver each time that it is enqueued.
            #expect(registry.asked.count > 1)
        }
    }
}
