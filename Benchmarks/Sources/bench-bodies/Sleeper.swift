internal import BenchmarkSupport
internal import Curlew
internal import Foundation

/// Measures the memory of a reader that takes one chunk and sleeps, while the server sends as fast as it can.
struct Sleeper {
    private let url: URL
    private let seconds: Int
    private let session: Session

    init(_ arguments: Arguments) throws {
        url = try arguments.url()
        seconds = arguments.number("seconds", or: 10)
        session = arguments.session()
    }

    func run() async throws -> Figures {
        // Excludes the cost of a session's first request.
        _ = try await session.request(url.deletingLastPathComponent().appending(path: "small")).data()
        let before = ProcessFigures.status("VmRSS")
        let request = session.streamRequest(url)
        let version = try await request.head().version
        var chunks = request.chunks.makeAsyncIterator()
        var taken = try await chunks.next()?.count ?? 0
        try await Task.sleep(for: .seconds(seconds))
        let growth = ProcessFigures.status("VmHWM") - before
        // The stream must continue.
        let resumed = ContinuousClock.now
        while taken < 64 << 20, let chunk = try await chunks.next() { taken += chunk.count }
        return [
            "growth_kb": [Double(growth)], "taken": [Double(taken)],
            "resumed_seconds": [(ContinuousClock.now - resumed) / .seconds(1)],
            "http2": [version == .http2 ? 1 : 0],
        ]
    }
}
