internal import BenchmarkSupport
internal import Curlew

/// Measures `session.connections` with a number of requests that wait for responses, each on its connection.
struct Pool {
    private let subject: Subject
    private let held: Int
    private let rounds: Int

    init(_ arguments: Arguments) throws {
        subject = try Subject(arguments)
        held = arguments.number("held", or: 1000)
        rounds = arguments.number("rounds", or: 50)
    }

    func run() async throws -> Figures {
        // Excludes the cost of the first request and the first snapshot.
        try await subject.get(0)
        let requests = try await Held(held, of: subject)
        guard await subject.session.connections.totals.inUse == held else {
            throw UnexpectedAnswer("not every connection that is in use is counted")
        }
        var figures: Figures = ["held": [Double(held)]]
        for _ in 0..<rounds {
            let stopwatch = Stopwatch()
            let snapshot = await subject.session.connections
            figures.add("snapshot", stopwatch)
            guard snapshot.origins.count == 1 else { throw UnexpectedAnswer("another origin") }
        }
        await subject.session.cancelAllRequests()
        guard await requests.cancelled == held else { throw UnexpectedAnswer("not every request was cancelled") }
        return figures
    }
}
