internal import Curlew

/// Decides when the tool closes a WebSocket: when standard input has ended and the answers are there, on Ctrl-C, or when
/// something failed here.
actor Farewell {
    /// How long the server may be silent after the end of standard input.
    struct Patience: Sendable {
        /// While fewer messages have come than were sent; nil is for ever.
        var whileUnanswered: Duration?
        /// Afterwards.
        var afterAnswers: Duration
    }

    private let patience: Patience
    private let close: @Sendable (WebSocketCloseCode) async -> Void
    private var unanswered = 0
    private var hasInputEnded = false
    private var lastMessage = ContinuousClock.now
    private var timer: Task<Void, Never>?
    private(set) var isInterrupted = false
    /// Why sending ended early.
    private(set) var failure: (any Error)?

    init(_ patience: Patience, close: @escaping @Sendable (WebSocketCloseCode) async -> Void) {
        self.patience = patience
        self.close = close
    }

    /// A line goes out.
    func sends() { unanswered += 1 }

    /// A message has come.
    func received() {
        unanswered -= 1
        lastMessage = .now
        // The shorter patience begins.
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
