internal import Curlew

/// Decides when the tool closes a WebSocket: after the end of standard input, when the server's answers have arrived;
/// on Ctrl-C; or after a failure in the tool.
actor Farewell {
    /// The time that the server may be silent after the end of standard input.
    struct Patience: Sendable {
        /// Applies while fewer messages have arrived than were sent. `nil` waits forever.
        var whileUnanswered: Duration?
        /// Applies afterwards.
        var afterAnswers: Duration
    }

    private let patience: Patience
    private let close: @Sendable (WebSocketCloseCode) async -> Void
    private var unanswered = 0
    private var hasInputEnded = false
    private var lastMessage = ContinuousClock.now
    private var timer: Task<Void, Never>?
    private(set) var isInterrupted = false
    /// The failure that ended the sending early.
    private(set) var failure: (any Error)?

    init(_ patience: Patience, close: @escaping @Sendable (WebSocketCloseCode) async -> Void) {
        self.patience = patience
        self.close = close
    }

    /// Called before a line is sent.
    func sends() { unanswered += 1 }

    /// Called after a message has been received.
    func received() {
        unanswered -= 1
        lastMessage = .now
        // The last answer has arrived, so the shorter time begins.
        if hasInputEnded, unanswered == 0 { watch() }
    }

    func inputEnded() {
        hasInputEnded = true
        lastMessage = .now
        watch()
    }

    func failed(_ error: any Error) async {
        failure = failure ?? error
        await close(.normalClosure)
    }

    func interrupt() async {
        isInterrupted = true
        await close(.goingAway)
    }

    private func watch() {
        timer?.cancel()
        timer = Task {
            while let deadline, deadline > .now {
                guard (try? await Task.sleep(until: deadline, clock: .continuous)) != nil else { return }
            }
            guard !Task.isCancelled, deadline != nil else { return }
            await close(.normalClosure)
        }
    }

    private var deadline: ContinuousClock.Instant? {
        (unanswered > 0 ? patience.whileUnanswered : patience.afterAnswers).map { lastMessage + $0 }
    }
}
