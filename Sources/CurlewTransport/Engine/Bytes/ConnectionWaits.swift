internal import CurlewCore

/// The calls of one kind that wait at a connection, in order.
struct ConnectionWaits<Value: Sendable> {
    struct Wait {
        let number: Int
        let answer: ConnectionCommand.Answer<Value>
        /// The most bytes that a reader accepts.
        var maximum = 0
    }

    private var waits: [Wait] = []

    var isEmpty: Bool { waits.isEmpty }
    var first: Wait? { waits.first }

    mutating func append(_ wait: Wait) { waits.append(wait) }

    /// Answers the first call.
    mutating func answerFirst(_ result: Result<Value, CurlewError>) {
        waits.removeFirst().answer.resume(returning: result)
    }

    mutating func answerAll(_ result: Result<Value, CurlewError>) {
        while !waits.isEmpty { answerFirst(result) }
    }

    /// Ends the wait of a cancelled task. Ignores a wait that has been answered already.
    mutating func abandon(_ number: Int, _ error: CurlewError) {
        guard let index = waits.firstIndex(where: { $0.number == number }) else { return }
        waits.remove(at: index).answer.resume(returning: .failure(error))
    }
}
