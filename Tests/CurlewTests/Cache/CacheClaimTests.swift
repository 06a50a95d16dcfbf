import Curlew
import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

/// Requests that wait for another process, if the store asks them to.
@Suite(.timeLimit(.minutes(2))) struct CacheClaimTests {
    private let store = ClaimingStore()

    private func server() -> CacheServer { CacheServer(store: store) { _ in cacheable("hello") } }

    @Test func aRequestThatWaitsForAnotherProcessCanBeCancelled() async throws {
        let server = server()
        let request = server.session.request(CacheServer.url)
        let response = Task { await request.response() }
        try await store.gate.waitForArrivals(count: 1)
        // A second request waits for the first one.
        let (waiter, waiterResponse) = try await server.beginWaiter()
        waiter.cancel()
        #expect(await waiterResponse.value.error?.code == .cancelled)
        request.cancel()
        #expect(await response.value.error?.code == .cancelled)
        #expect(server.sent == 0 && store.openClaims == 0)
    }

    @Test func cancelledTaskEndsWaitForOtherProcess() async throws {
        let server = server()
        let response = Task { await server.get() }
        try await store.gate.waitForArrivals(count: 1)
        response.cancel()
        #expect(await response.value.error?.code == .cancelled)
        #expect(store.openClaims == 0)
    }

    @Test func totalTimeoutEndsWaitForOtherProcess() async {
        let server = server()
        let request = server.session.request(CacheServer.url).timeouts { $0.total = .milliseconds(50) }
        #expect(await request.response().error?.code == .totalTimedOut)
        #expect(server.sent == 0 && store.openClaims == 0)
    }

    @Test func requestIsSentIfTheOtherProcessIsTooSlow() async {
        let server = server()
        let request = server.session.request(CacheServer.url).timeouts {
            $0.firstByte = .milliseconds(50)
            $0.total = .seconds(100)
        }
        #expect(await request.response().text == "hello")
        #expect(store.openClaims == 0)
        // The time spent waiting counts toward the total timeout.
        let total = server.transport.requests.first?.transfer.options.timeouts.total ?? .zero
        #expect(total > .zero && total <= .seconds(100) - .milliseconds(50))
    }

    @Test(arguments: [false, true])
    func claimEndsWithHeadOfUnstoredResponse(fails: Bool) async throws {
        let rest = Gate()
        let server = CacheServer(store: store) { _ in
            var response = cacheable("hello", "no-store")
            response.body = [.bytes(Data("hel".utf8)), .wait(rest), .bytes(Data("lo".utf8))]
            if fails { response.error = CurlewError(.receiveFailed, phase: .receive) }
            return response
        }
        store.gate.open()
        async let response = server.get()
        try await rest.waitForArrivals(count: 1)
        // The claim ends before the rest of the body arrives.
        try await store.hasEnded.wait()
        #expect(store.openClaims == 0)
        rest.open()
        #expect(await response.error?.code == (fails ? .receiveFailed : nil))
        // The end of the response must not end the claim again.
        #expect(store.openClaims == 0)
    }

    @Test func claimLastsUntilEndOfStoredResponse() async throws {
        let rest = Gate()
        let server = CacheServer(store: store) { _ in
            var response = cacheable("hello")
            response.body = [.bytes(Data("hel".utf8)), .wait(rest), .bytes(Data("lo".utf8))]
            return response
        }
        store.gate.open()
        async let response = server.get()
        try await rest.waitForArrivals(count: 1)
        #expect(store.openClaims == 1 && !store.hasEnded.isOpen)
        rest.open()
        #expect(await response.text == "hello")
        #expect(store.openClaims == 0)
        #expect(await server.get().cacheStatus == .hit)
    }

    @Test func responseStoredByAnotherProcessIsServed() async throws {
        let server = server()
        store.answer.withLock { $0 = false }
        let response = Task { await server.get() }
        try await store.gate.waitForArrivals(count: 1)
        // Another process stores its response meanwhile.
        let other = CacheServer(store: store.memory) { _ in cacheable("theirs") }
        #expect(await other.get().text == "theirs")
        store.gate.open()
        #expect(await response.value.text == "theirs")
        #expect(server.sent == 0)
    }
}

/// A memory store that holds every claim until its gate opens or the calling task is cancelled.
private final class ClaimingStore: CacheStoreOverMemory {
    let gate = Gate()
    /// Opens when a claim ends.
    let hasEnded = Gate()
    let answer = Lock(true)
    let memory = MemoryCacheStore()
    private let claims = Lock(0)

    var openClaims: Int { claims.withLock { $0 } }

    func claimFetch(of key: CacheKey) async -> Bool {
        try? await gate.wait()
        let isOurs = answer.withLock { $0 }
        if isOurs { claims.withLock { $0 += 1 } }
        return isOurs
    }

    func fetchEnded(of key: CacheKey, stored: Bool) async {
        claims.withLock { $0 -= 1 }
        hasEnded.open()
    }
}
