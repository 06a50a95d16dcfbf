import CurlewLocks
import Foundation
import Glibc
import StoreSupport
import Testing

@testable import CurlewDiskCache

@Suite("A body's file while orphans are collected")
struct BodyCreationTests {
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
        try FileManager.default.createDirectory(at: folder.bodies, withIntermediateDirectories: true)
    }

    /// Another store, or another process, looks for orphans at any moment: also between the making of a file and its lock.
    /// It looks at each name once.
    @Test("a file that was made stays until it is closed") func creationAndCollection() async throws {
        let path = folder.bodies.appending(path: "body").path(percentEncoded: false)
        let rounds = 2_000
        let round = Lock(0)
        let collector = Thread {
            var last = -1
            while case let now = round.withLock({ $0 }), now < rounds {
                guard now != last else {
                    sched_yield()
                    continue
                }
                guard let body = UnusedBody(path) else { continue }
                body.remove()
                last = now
            }
        }
        collector.start()
        defer { round.withLock { $0 = rounds } }
        var lost = 0
        for number in 0..<rounds {
            round.withLock { $0 = number }
            let file = NewBodyFile(path, expectedSize: nil)
            if file == nil || access(path, F_OK) != 0 { lost += 1 }
            file?.close(isKept: false)
        }
        #expect(lost == 0)
    }
}
