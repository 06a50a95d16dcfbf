internal import Dispatch
internal import Foundation

/// Ctrl-C and SIGTERM: the first one is answered by the tool, the second one ends it at once.
///
/// It is made before the work begins: a signal that comes while nothing answers yet is kept for the answer.
final class Interruption {
    private let queue = DispatchQueue(label: "curlew.interruption")
    private let first = First()
    private let sources: [any DispatchSourceSignal]

    /// When this returns, no signal is lost and none ends the tool: Dispatch has its own handler by then, which it sets
    /// on another thread.
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

    /// `action` is called once, on a queue of its own: with the first signal, or now when that one has come already.
    func answer(_ action: @escaping @Sendable () -> Void) {
        queue.async { [first] in first.answer(action) }
    }

    deinit { for source in sources { source.cancel() } }

    /// The first signal, and what answers it.
    // SAFETY: only touched by blocks of one serial queue.
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
