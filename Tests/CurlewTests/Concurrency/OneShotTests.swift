import CurlewLocks
import Testing

@testable import Curlew

@Suite("A value that is set once", .timeLimit(.minutes(4)))
struct OneShotTests {
    @Test func onlyTheFirstResolvedValueIsKept() async {
        let shot = OneShot<Int>()
        #expect(shot.value == nil)
        #expect(shot.resolve(1))
        #expect(!shot.resolve(2))
        #expect(shot.value == 1)
        #expect(await shot.wait() == 1)
    }

    @Test func everyWaiterReceivesTheValue() async {
        let shot = OneShot<Int>()
        let values = await withTaskGroup(of: Int?.self, returning: [Int?].self) { group in
            for _ in 0..<20 { group.addTask { await shot.wait() } }
            group.addTask {
                shot.resolve(7)
                return 7
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(values == Array(repeating: 7, count: 21))
    }

    @Test func cancellingAWaiterEndsOnlyItsOwnWait() async {
        let shot = OneShot<Int>()
        let cancelled = Task { await shot.wait() }
        let patient = Task { await shot.wait() }
        cancelled.cancel()
        #expect(await cancelled.value == nil)
        #expect(shot.value == nil)
        shot.resolve(3)
        #expect(await patient.value == 3)
    }

    @Test func cancelledTaskDoesNotWait() async {
        let shot = OneShot<Int>()
        let task = Task { () -> Int? in
            withUnsafeCurrentTask { $0?.cancel() }
            return await shot.wait()
        }
        #expect(await task.value == nil)
        shot.resolve(1)
        let late = Task { () -> Int? in
            withUnsafeCurrentTask { $0?.cancel() }
            return await shot.wait()
        }
        #expect(await late.value == 1)
    }

    /// For the thread sanitizer: many threads resolve, wait and cancel, and each waiter must resume exactly once.
    @Test func everyWaiterResumesOnceInARace() async {
        for _ in 0..<300 {
            let shot = OneShot<Int>()
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<4 {
                    let waiter = Task { await shot.wait() }
                    group.addTask {
                        let value = await waiter.value
                        #expect(value == nil || value == 1)
                    }
                    if number % 2 == 0 { group.addTask { waiter.cancel() } }
                }
                group.addTask { shot.resolve(1) }
            }
            #expect(await shot.wait() == 1)
        }
    }
}
