import CurlewCore
import CurlewLocks
import Testing

@testable import Curlew
@testable import CurlewTesting

/// Validations in the background and the tasks that run them.
@Suite struct BackgroundRevalidationTests {
    private let key = CacheKey(url: "http://a.test/")

    /// A task that runs until it is cancelled.
    private func endless() -> Task<Void, Never> { Task { try? await Gate().wait() } }

    @Test func delayedStarterDoesNotReplaceLaterTask() async throws {
        let validations = BackgroundRevalidations(limit: 2)
        let first = try #require(validations.begin(key))
        // The work ends before its starter has stored the task with `keep`, and the next validation begins.
        validations.ended(key, first)
        let second = try #require(validations.begin(key))
        let task = endless()
        validations.keep(task, key, second)
        validations.keep(Task {}, key, first)
        validations.ended(key, first)
        #expect(validations.begin(key) == nil)
        await validations.close()
        #expect(task.isCancelled)
    }

    @Test func revalidationsAreLimitedPerKeyAndInTotal() async throws {
        let validations = BackgroundRevalidations(limit: 2)
        let first = try #require(validations.begin(key))
        #expect(validations.begin(key) == nil)
        #expect(validations.begin(CacheKey(url: "http://b.test/")) != nil)
        #expect(validations.begin(CacheKey(url: "http://c.test/")) == nil)
        validations.ended(key, first)
        #expect(validations.begin(CacheKey(url: "http://c.test/")) != nil)
    }

    @Test func noRevalidationStartsAfterClose() async throws {
        let validations = BackgroundRevalidations(limit: 2)
        let number = try #require(validations.begin(key))
        await validations.close()
        let late = endless()
        validations.keep(late, key, number)
        #expect(late.isCancelled)
        #expect(validations.begin(CacheKey(url: "http://b.test/")) == nil)
        validations.ended(key, number)
    }

    /// User code that a background validation calls.
    private struct Handler: CachedResponseHandler {
        let stores: @Sendable () async -> Void

        func dataTask(_ task: TaskIdentifier, willCacheResponse response: CachedResponse) async -> CachedResponse? {
            await stores()
            return response
        }
    }

    @Test(arguments: WaitingFromOwnCodeTests.Wait.allCases, [false, true])
    func cachedResponseHandlerMayEndTheSession(_ wait: WaitingFromOwnCodeTests.Wait, afterAnother: Bool) async throws {
        let (gate, returned, ended) = (Gate(), Gate(), Gate())
        let stored = Lock(0)
        let reference = Lock<Session?>(nil)
        let handler = Handler {
            guard stored.withLock({ exchange(&$0, with: $0 + 1) }) == 1, let session = reference.withLock({ $0 })
            else { return }
            await Task { try? await gate.wait() }.value
            await wait(session)
            returned.open()
        }
        let server = CacheServer(handler: handler) { request in
            cacheable("\(request.index)", "max-age=1, stale-while-revalidate=60")
        }
        reference.withLock { $0 = server.session }
        _ = await server.get()
        server.advance(by: 5)
        #expect(await server.get().cacheStatus == .stale(.whileRevalidate))
        try await gate.waitForArrivals(count: 1)
        if afterAnother {
            Task {
                await server.session.invalidate()
                ended.open()
            }
            try await eventually { server.session.registry.withLock { $0.lifecycle.isClosed } }
        } else {
            ended.open()
        }
        gate.open()
        try await eventually(within: .seconds(10)) { returned.isOpen && ended.isOpen }
        reference.withLock { $0 = nil }
    }
}
