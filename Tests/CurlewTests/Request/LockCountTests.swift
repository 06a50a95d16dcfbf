#if DEBUG
import Curlew
import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

/// What a request that asks for nothing pays for being usable from every thread.
@Suite("The locks of a plain request", .timeLimit(.minutes(1)))
struct LockCountTests {
    @Test func aPlainRequestTakesItsOwnLockAFewTimes() async throws {
        let session = Session(transport: MockTransport { _ in .data(Data("x".utf8)) })
        let request = session.request("https://example.org/small")
        _ = try await request.data()
        // Each time for something that another thread can see: Docs/Architecture.md has the list.
        #expect(request.record.acquisitions <= 7)
    }
}
#endif
