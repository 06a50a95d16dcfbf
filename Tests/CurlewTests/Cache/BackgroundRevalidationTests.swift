import CurlewCore
import CurlewTesting
import Testing

@testable import Curlew

/// Validations in the background, and the tasks that they run in.
@Suite struct BackgroundRevalidationTests {
    private let key = CacheKey(url: "http://a.test/")

    /// A task that runs until it is cancelled.
    private func endless() -> Task<Void, Never> { Task { try? await Gate().wait() } }

    @Test func aStarterThatIsHeldUpTakesNoLaterTasksPlace() async throws {
        let validations = BackgroundRevalidations(limit: 2)
        let first = try #require(validations.begin(key))
        // Its work ends before its starter has kept its task, and the next one begins.
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

    @Test func oneForAKeyAndFewAtATime() async throws {
        let validations = BackgroundRevalidations(limit: 2)
        let first = try #require(validations.begin(key))
        #expect(validations.begin(key) == nil)
        #expect(validations.begin(CacheKey(url: "http://b.test/")) != nil)
        #expect(validations.begin(CacheKey(url: "http://c.test/")) == nil)
        validations.ended(key, first)
        #expect(validations.begin(CacheKey(url: "http://c.test/")) != nil)
    }

    @Test func nothingStartsAfterTheEnd() async throws {
        let validations = BackgroundRevalidations(limit: 2)
        let number = try #require(validations.begin(key))
        await validations.close()
        let late = endless()
        validations.keep(late, key, number)
        #expect(late.isCancelled)
        #expect(validations.begin(CacheKey(url: "http://b.test/")) == nil)
        validations.ended(key, number)
    }
}
