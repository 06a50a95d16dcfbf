internal import BenchmarkSupport
internal import Curlew

/// Measures `cancelAllRequests` with a number of requests that wait for responses.
struct Cancellation {
    private let subject: Subject
    private let held: Int
    private let rounds: Int

    init(_ arguments: Arguments) throws {
        subject = try Subject(arguments)
        held = arguments.number("held", or: 1000)
        rounds = arguments.number("rounds", or: 1)
    }

    func run() async throws -> Figures {
        try await subject.get(0)
        var figures: Figures = ["held": [Double(held)]]
        for _ in 0..<rounds {
            let requests = try await Held(held, of: subject)
            let stopwatch = Stopwatch()
            await subject.session.cancelAllRequests()
            figures.add("registry", stopwatch)
            // The requests have left the registry, and their callers are resumed.
            guard await requests.cancelled == held else { throw UnexpectedAnswer("not every request was cancelled") }
            figures.add("cancel", stopwatch)
            guard await subject.isEmpty else { throw UnexpectedAnswer("something is left of cancelled requests") }
        }
        return figures
    }
}
