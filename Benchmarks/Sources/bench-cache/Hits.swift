internal import BenchmarkSupport
internal import Curlew
internal import Foundation

/// Measures small responses, alternately from the server and from the cache.
struct Hits {
    private let subject: Subject
    private let urls: [URL]
    private let inFlight: Int
    private let count: Int
    private let rounds: Int

    init(_ subject: Subject, _ arguments: Arguments) {
        self.subject = subject
        // Created in advance, so that the time in which Foundation creates a URL is not measured.
        urls = (0..<256).compactMap { URL(string: "\(subject.url)?\($0)") }
        inFlight = arguments.number("in-flight", or: 1)
        count = arguments.number("count", or: 4000)
        rounds = arguments.number("rounds", or: 5)
    }

    func run() async throws -> Figures {
        var figures: Figures = [:]
        for url in urls { _ = try await subject.cached.request(url).data() }
        try await ask(subject.plain)
        try await ask(subject.cached)
        for _ in 0..<rounds {
            let plain = Stopwatch()
            try await ask(subject.plain)
            figures.add("plain", plain)
            let before = subject.cache.statistics
            let cached = Stopwatch()
            try await ask(subject.cached)
            figures.add("cached", cached)
            try subject.expect(hits: count / inFlight * inFlight, since: before)
        }
        figures["requests"] = [Double(count / inFlight * inFlight)]
        return figures
    }

    private func ask(_ session: Session) async throws {
        let (urls, each) = (urls, count / inFlight)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<inFlight {
                group.addTask {
                    for number in 0..<each {
                        _ = try await session.request(urls[(worker * each + number) % urls.count]).data()
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
