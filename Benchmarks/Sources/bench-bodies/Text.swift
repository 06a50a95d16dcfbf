internal import BenchmarkSupport
internal import Curlew
internal import Foundation

/// Measures a text body from a server that sends as fast as the client reads, by lines or by server-sent events.
struct Text {
    private let url: URL
    private let rounds: Int
    private let kind: String
    private let session: Session

    init(_ arguments: Arguments) throws {
        url = try arguments.url()
        rounds = arguments.number("rounds", or: 3)
        kind = try arguments.text("of")
        session = arguments.session()
    }

    func run() async throws -> Figures {
        var figures = Figures()
        for _ in 0..<rounds {
            let stopwatch = Stopwatch()
            let (pieces, bytes) = try await kind == "events" ? events() : lines()
            figures.add("curlew", stopwatch)
            figures["pieces", default: []].append(Double(pieces))
            figures["bytes", default: []].append(Double(bytes))
        }
        return figures
    }

    private func lines() async throws -> (Int, Int) {
        var (count, bytes) = (0, 0)
        for try await line in session.streamRequest(url).lines {
            count += 1
            bytes += line.utf8.count + 1
        }
        return (count, bytes)
    }

    /// Counts the events' data, without the names of fields.
    private func events() async throws -> (Int, Int) {
        var (count, bytes) = (0, 0)
        for try await event in session.streamRequest(url).events {
            count += 1
            bytes += event.data.utf8.count
        }
        return (count, bytes)
    }
}
