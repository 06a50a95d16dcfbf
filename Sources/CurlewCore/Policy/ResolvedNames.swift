/// A host and a port for which a user's resolver is asked.
package struct HostAndPort: Sendable, Hashable {
    package let host: String
    package let port: Int

    package init(host: String, port: Int) { (self.host, self.port) = (host, port) }
}

/// The answers of a user's resolver, and the transfers that wait for one. It decides; its owner calls the resolver.
///
/// There is at most one question at a time for a name; further transfers to the host wait for its answer. A question
/// that no transfer waits for is dropped: its answer is ignored, and the next request asks again. Failures are not
/// stored.
package struct ResolvedNames<Waiter: AnyObject> {
    package typealias Instant = ContinuousClock.Instant

    package enum Verdict: Equatable {
        case known([String])
        /// The caller waits for a question that has been asked already.
        case joined
        /// The caller waits, and its owner has to ask the question with this number.
        case ask(number: Int)
    }

    private struct Answer {
        let addresses: [String]
        let expires: Instant
    }

    private struct Question {
        let number: Int
        /// Waiters, numbered by arrival.
        var waiters: [ObjectIdentifier: (place: Int, waiter: Waiter)] = [:]
    }

    /// The most answers that are stored.
    package static var capacity: Int { 1_024 }
    /// RFC 8767, 4 advises against a longer time.
    private static var longestLife: Duration { .seconds(7 * 24 * 60 * 60) }

    private var answers: [HostAndPort: Answer] = [:]
    private var questions: [HostAndPort: Question] = [:]
    private var lastNumber = 0
    private var lastPlace = 0

    package init() {}

    package var answerCount: Int { answers.count }

    /// Returns the addresses of a name, or makes `waiter` wait for them.
    package mutating func find(_ name: HostAndPort, for waiter: Waiter, at now: Instant) -> Verdict {
        if let answer = answers[name], now < answer.expires { return .known(answer.addresses) }
        lastPlace += 1
        let entry = (lastPlace, waiter)
        if questions[name] != nil {
            questions[name]?.waiters[ObjectIdentifier(waiter)] = entry
            return .joined
        }
        answers[name] = nil
        lastNumber += 1
        questions[name] = Question(number: lastNumber, waiters: [ObjectIdentifier(waiter): entry])
        return .ask(number: lastNumber)
    }

    /// Returns the last answer for a name, even if it has expired.
    package func newest(_ name: HostAndPort) -> [String]? { answers[name]?.addresses }

    /// Stores the answer to a question, and returns the transfers that wait for it, in the order of their arrival.
    /// `nil` is a failure, which is not stored. Ignores the answer to a question that was dropped.
    package mutating func answered(
        _ name: HostAndPort, number: Int, _ answer: (addresses: [String], timeToLive: Duration)?, at now: Instant
    ) -> [Waiter] {
        guard let question = questions[name], question.number == number else { return [] }
        questions[name] = nil
        if let answer, answer.timeToLive > .zero {
            let life = min(answer.timeToLive, Self.longestLife)
            answers[name] = Answer(addresses: answer.addresses, expires: now.advanced(by: life))
            if answers.count > Self.capacity { makeRoom(at: now) }
        }
        return question.waiters.values.sorted { $0.place < $1.place }.map(\.waiter)
    }

    /// Ends a wait. If it was the last one for its question, drops the question and returns its number. Does nothing if
    /// `waiter` does not wait.
    package mutating func abandoned(_ name: HostAndPort, by waiter: Waiter) -> Int? {
        guard questions[name]?.waiters.removeValue(forKey: ObjectIdentifier(waiter)) != nil,
            let question = questions[name], question.waiters.isEmpty
        else { return nil }
        questions[name] = nil
        return question.number
    }

    /// Removes the answers that have expired, or else the one that expires first.
    private mutating func makeRoom(at now: Instant) {
        answers = answers.filter { now < $0.value.expires }
        guard answers.count > Self.capacity, let first = answers.min(by: { $0.value.expires < $1.value.expires }) else {
            return
        }
        answers[first.key] = nil
    }
}
