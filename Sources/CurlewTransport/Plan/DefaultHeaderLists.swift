internal import CurlewCore
internal import CurlewLocks

/// The prebuilt header list of each session that uses a transport, by the identity of its headers.
final class DefaultHeaderLists: Sendable {
    private struct Entry {
        // Kept, so that the identity is not given to another object.
        let headers: DefaultHeaders
        let list: HeaderList
    }

    private let entries = Lock<[Entry]>([])
    /// Ends every list. libcurl leaves out a field of its own where a line has its name, and sends no line without a value.
    private let end: HeaderList?

    init(end: HeaderList?) { self.end = end }

    /// A transport has one session, rarely a few.
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
