internal import Dispatch
internal import Foundation

/// Handles Ctrl-C and SIGTERM: the tool answers the first signal, and the second one ends it at once.
///
/// Create it before the work begins. A signal that arrives before `answer` is called is kept for the action.
final class Interruption {
    private let queue = DispatchQueue(label: "curlew.interruption")
    private let first = First()
    private let sources: [any DispatchSourceSignal]

    /// Returns when Dispatch has installed its handlers, which it does on another thread. A signal that arrives earlier
    /// ends the process, because nothing has changed its default action. A signal that arrives later reaches `First`,
    /// even if `answer` has not been called yet.
    init() async {
        sources = [SIGINT, SIGTERM].map { [queue, first] number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { first.signal() }
            return source
        }
        for source in sources {
            await withCheckedContinuation { registered in
                source.setRegistrationHandler { registered.resume() }
                source.resume()
            }
        }
    }

    /// Calls `action` once, on a private queue: with the first signal, or at once if that has already arrived.
    func answer(_ action: @escaping @Sendable () -> Void) {
        queue.async { [first] in first.answer(action) }
    }

    deinit { for source in sources { source.cancel() } }

    /// The first signal, and the action that answers it.
    // SAFETY: only blocks of one serial queue touch it.
    private final class First: @unchecked Sendable {
        private var hasCome = false
        private var action: (@Sendable () -> Void)?

        func signal() {
            guard !hasCome else { _exit(ExitStatus.interrupted.rawValue) }
            hasCome = true
            action?()
        }

        func answer(_ action: @escaping @Sendable () -> Void) {
            self.action = action
            if hasCome { action() }
        }
    }
}
