internal import CurlewCore
internal import CurlewLocks

/// Caches the header list of each session that uses a transport. The identity of the session's headers is the key.
final class DefaultHeaderLists: Sendable {
    private struct Entry {
        // Retained, so that no other object can get the same identity.
        let headers: DefaultHeaders
        let list: HeaderList
    }

    private let entries = Lock<[Entry]>([])
    /// The tail of every list; `nil` if there is nothing to suppress. A line without a value keeps libcurl from adding
    /// the field itself, and is not sent.
    private let end: HeaderList?

    init(end: HeaderList?) { self.end = end }

    // Most transports serve one session.
    private static let capacity = 16

    func list(for headers: DefaultHeaders?) throws(CurlewError) -> HeaderList? {
        guard let headers else { return end }
        if let known = entries.withLock({ $0.first { $0.headers === headers }?.list }) { return known }
        let made = HeaderList(lines: try HeaderLines.lines(of: headers.headers), rest: end)
        entries.withLock { entries in
            if entries.count >= Self.capacity { entries.removeFirst() }
            entries.append(Entry(headers: headers, list: made))
        }
        return made
    }
}
