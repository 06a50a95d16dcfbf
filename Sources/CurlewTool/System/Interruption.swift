internal import Dispatch
internal import Foundation

/// Ctrl-C and SIGTERM: the first one is answered by the tool, the second one ends it at once.
final class Interruption {
    private let sources: [any DispatchSourceSignal]

    /// `onFirst` is called once, on a queue of its own. When this returns, no signal is lost and none ends the tool:
    /// Dispatch has its own handler by then, which it sets on another thread.
    init(onFirst: @escaping @Sendable () -> Void) async {
        let queue = DispatchQueue(label: "curlew.interruption")
        let once = Once()
        sources = [SIGINT, SIGTERM].map { number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                guard once.isFirst() else { _exit(ExitStatus.interrupted.rawValue) }
                onFirst()
            }
            return source
        }
        for source in sources {
            await withCheckedContinuation { registered in
                source.setRegistrationHandler { registered.resume() }
                source.resume()
            }
        }
    }

    deinit { for source in sources { source.cancel() } }

    /// Touched on the interruption's queue only, hence one at a time.
    // SAFETY: `isSpent` is only touched by event handlers of one serial queue.
    private final class Once: @unchecked Sendable {
        private var isSpent = false

        func isFirst() -> Bool {
            defer { isSpent = true }
            return !isSpent
        }
    }
}
