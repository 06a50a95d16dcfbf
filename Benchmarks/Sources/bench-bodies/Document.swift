internal import BenchmarkSupport
internal import Curlew
internal import Foundation

/// Measures requesting and decoding a megabyte of JSON, and FastJSONDecoder alone with those bytes.
struct Document {
    private let url: URL
    private let file: URL
    private let count: Int
    private let sides: String
    private let session: Session

    init(_ arguments: Arguments) throws {
        url = try arguments.url()
        file = URL(fileURLWithPath: try arguments.text("file"))
        count = arguments.number("count", or: 50)
        // A single side can be chosen, to count its allocations.
        sides = (try? arguments.text("sides")) ?? "alone,curlew"
        session = arguments.session()
    }

    func run() async throws -> Figures {
        let bytes = try Data(contentsOf: file)
        var figures = Figures()
        figures["bytes"] = [Double(bytes.count)]
        for _ in 0..<count {
            if sides.contains("alone") { try alone(bytes, &figures) }
            if sides.contains("curlew") { try await whole(&figures) }
            if sides.contains("body") { _ = try await session.request(url).data() }
        }
        return figures
    }

    private func alone(_ bytes: Data, _ figures: inout Figures) throws {
        let stopwatch = Stopwatch()
        _ = try FastJSONDecoder().decode([Item].self, from: bytes)
        figures.add("alone", stopwatch)
    }

    /// Measures the request and the decoding of its response.
    private func whole(_ figures: inout Figures) async throws {
        let stopwatch = Stopwatch()
        _ = try await session.request(url).decode([Item].self)
        figures.add("curlew", stopwatch)
    }
}
