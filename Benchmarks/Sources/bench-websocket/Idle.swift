internal import BenchmarkSupport
internal import Curlew
internal import Foundation

/// Measures the memory of open WebSockets, each with a reader that waits. `hold` keeps them open for a number of
/// seconds, for a profiler.
struct Idle {
    private let url: URL
    private let count: Int
    private let hold: Int

    init(_ arguments: Arguments) throws {
        url = try arguments.url()
        count = arguments.number("count", or: 1000)
        hold = arguments.number("hold", or: 0)
    }

    func run() async throws -> Figures {
        let session = Session(
            configuration: SessionConfiguration {
                $0.proxy = .none
                $0.maximumConnectionsPerHost = count + 1
                $0.maximumConnections = count + 1
            })
        return try await withThrowingTaskGroup(of: Void.self) { group in
            func open() async throws {
                let socket = session.webSocket(url)
                try await socket.opened()
                group.addTask { for try await _ in socket.messages {} }
            }
            // Creates the objects that all connections share.
            try await open()
            let before = ProcessFigures.status("VmRSS")
            // Opens one at a time, so that the temporary memory of an opening is counted only once.
            for _ in 0..<count { try await open() }
            let held = ProcessFigures.status("VmRSS") - before
            try await Task.sleep(for: .seconds(hold))
            group.cancelAll()
            return ["requests": [Double(count)], "held_kb": [Double(held)]]
        }
    }
}
