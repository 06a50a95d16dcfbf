internal import CurlewLocks

/// An append-only list of events that any thread may add to.
package final class Recorded<Element: Sendable>: Sendable {
    private let state = Lock<[Element]>([])

    package init() {}

    package func note(_ element: Element) { state.withLock { $0.append(element) } }

    package var all: [Element] { state.withLock { $0 } }
}
