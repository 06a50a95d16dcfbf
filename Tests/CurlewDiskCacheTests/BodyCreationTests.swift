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

    /// Another store or process may look for orphans at any moment, even between the creation of a file and its lock.
    /// It looks at each name once.
    @Test("a file that was made stays until it is closed") func creationAndCollection() async throws {
        let path = folder.bodies.appending(path: "body").path(percentEncoded: false)
        #expect(await inOwnThread { Self.lost(of: 2_000, path) } == 0)
    }

    /// Creates the file `rounds` times, and counts how often it is removed before it is closed.
    private static func lost(of rounds: Int, _ path: String) -> Int {
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
            // The collector may be preempted while it holds the lock.
            let file = NewBodyFile(path, expectedSize: nil, patience: .seconds(30))
            if file == nil || access(path, F_OK) != 0 { lost += 1 }
            file?.close(isKept: false)
        }
        return lost
    }
}
