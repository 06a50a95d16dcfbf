/// Requests that have been sent and get no response, each in a task that waits for it.
struct Held {
    private let tasks: [Task<Bool, Never>]

    /// Starts the requests, and returns when all are in flight.
    init(_ count: Int, of subject: Subject) async throws {
        tasks = (0..<count).map { number in Task.detached { await subject.wait(number) } }
        try await subject.untilQuiet(count)
    }

    /// Waits until all requests have ended, and returns how many were cancelled.
    var cancelled: Int {
        get async {
            var count = 0
            for task in tasks where await task.value { count += 1 }
            return count
        }
    }
}
