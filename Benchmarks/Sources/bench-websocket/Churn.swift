internal import BenchmarkSupport
internal import Curlew
internal import Foundation

/// Repeatedly opens a WebSocket, echoes one message and closes. Measures the cost, and the descriptors and memory that
/// are left.
struct Churn {
    private let url: URL
    private let count: Int

    init(_ arguments: Arguments) throws {
        url = try arguments.url()
        count = arguments.number("count", or: 1000)
    }

    func run() async throws -> Figures {
        let session = Session(configuration: SessionConfiguration { $0.proxy = .none })
        // Fills the pools, which keep memory.
        for _ in 0..<min(200, count) { try await once(session) }
        let (rss, descriptors) = (ProcessFigures.status("VmRSS"), ProcessFigures.descriptors)
        let watch = Stopwatch()
        for _ in 0..<count { try await once(session) }
        var figures: Figures = [
            "requests": [Double(count)],
            "grown_kb": [Double(ProcessFigures.status("VmRSS") - rss)],
            "grown_descriptors": [Double(ProcessFigures.descriptors - descriptors)],
        ]
        figures.add("run", watch)
        return figures
    }

    private func once(_ session: Session) async throws {
        let socket = session.webSocket(url)
        try await socket.send("hello")
        for try await _ in socket.messages { break }
        try await socket.close()
    }
}
