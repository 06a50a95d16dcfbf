import CurlewLocks

/// What happened, in order, noted from any thread.
final class Recorded<Element: Sendable>: Sendable {
    private let state = Lock<[Element]>([])

    func note(_ element: Element) { state.withLock { $0.append(element) } }

    var all: [Element] { state.withLock { $0 } }
}
