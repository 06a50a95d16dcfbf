internal import BenchmarkSupport
internal import Curlew
internal import Foundation

/// Measures one large response: as a hit, as a stream from the cache, and while it is stored.
struct Bodies {
    private let subject: Subject
    private let url: URL
    private let count: Int

    init(_ subject: Subject, _ arguments: Arguments) throws {
        self.subject = subject
        url = try arguments.url()
        count = arguments.number("count", or: 5)
    }

    /// Measures hits with the body as one value, the most common request. Allocations are counted from outside.
    func hits() async throws -> Figures {
        let size = try await subject.cached.request(url).data().count
        let before = subject.cache.statistics
        for _ in 0..<count {
            guard try await subject.cached.request(url).data().count == size else { throw UnexpectedAnswer("its size") }
        }
        try subject.expect(hits: count, since: before)
        return ["bytes": [Double(size)]]
    }

    /// Measures the body as a stream from the cache, several times.
    func stream() async throws -> Figures {
        _ = try await Self.stream(url, subject.cached)
        var figures: Figures = [:]
        let before = subject.cache.statistics
        for _ in 0..<count {
            let watch = Stopwatch()
            figures["bytes"] = [Double(try await Self.stream(url, subject.cached))]
            figures.add("stream", watch)
        }
        try subject.expect(hits: count, since: before)
        return figures
    }

    /// Measures the body as a stream from the server, alternately without a cache and with one that stores it.
    func storing() async throws -> Figures {
        var figures: Figures = [:]
        for turn in 0...count {
            let plain = Stopwatch()
            _ = try await Self.stream(url, subject.plain)
            if turn > 0 { figures.add("plain", plain) }
            let before = subject.cache.statistics
            let storing = Stopwatch()
            figures["bytes"] = [Double(try await Self.stream(url, subject.cached))]
            if turn > 0 { figures.add("storing", storing) }
            guard subject.cache.statistics.stores == before.stores + 1 else { throw UnexpectedAnswer("not stored") }
            await subject.cache.removeAll()
        }
        return figures
    }

    private static func stream(_ url: URL, _ session: Session) async throws -> Int {
        var size = 0
        for try await chunk in session.streamRequest(url).chunks { size += chunk.count }
        return size
    }
}
