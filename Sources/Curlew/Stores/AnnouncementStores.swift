public import CurlewCore
internal import CurlewLocks
public import Foundation

/// A store of the hosts that asked to be contacted over https only (RFC 6797). Requests to them over http are sent over
/// https.
///
/// It is in memory unless it is created with a file. The file is read at creation and written some time after a change.
/// If a host repeats its announcement, the file is written once its expiry has moved by an hour, or by a tenth of a
/// shorter `max-age`; `save()` writes the current state at once.
public final class HSTSStore: Sendable {
    let stored: StoredList<HSTSList>
    private var list: UsuallyEmptyLock<HSTSList> { stored.list }

    /// Creates an empty store that is kept in memory only.
    public init() { stored = Self.list(in: nil) }

    /// Creates a store that is kept in a file. If the file does not exist or is damaged, the store is empty.
    public init(file url: URL) { stored = Self.list(in: url) }

    private static func list(in file: URL?) -> StoredList<HSTSList> {
        // A closure: a key path of two components is resolved at each call, which costs a microsecond.
        StoredList(HSTSList(), in: file, isEmpty: { $0.entries.isEmpty })
    }

    /// Whether requests to `host` are sent over https only.
    package func contains(_ host: String) -> Bool { list.withLock { $0.contains(host, at: Date()) } }

    /// Removes all hosts.
    public func removeAll() {
        list.withLock { $0.removeAll() }
        stored.saveSoon()
    }

    /// Writes the file at once. Does nothing for a store in memory.
    public func save() async throws(CurlewError) { try await stored.save() }

    // MARK: Requests and responses

    var isEmpty: Bool { list.isEmpty }

    func upgraded(_ url: URL) throws(CurlewError) -> URL {
        let upgraded: Result<URL, CurlewError> = list.withLock { list in
            do throws(CurlewError) { return .success(try list.upgraded(url, at: Date())) } catch {
                return .failure(error)
            }
        }
        return try upgraded.get()
    }

    func receive(_ headers: HTTPHeaders, from url: URL) {
        guard headers.contains(name: "Strict-Transport-Security") else { return }
        if list.withLock({ $0.receive(headers, from: url, at: Date()) }) { stored.saveSoon() }
    }
}

/// A store of the servers that have announced HTTP/3 (`Alt-Svc`, RFC 7838), which also remembers for which of them
/// HTTP/3 fails.
///
/// It is in memory unless it is created with a file. The file is read at creation and written some time after a change.
/// Only sessions with `httpVersion = .automatic` use the store, and only if the running libcurl has HTTP/3.
public final class AlternativeServiceStore: Sendable, NetworkDependent {
    private let stored: StoredList<AlternativeServiceList>
    private var list: UsuallyEmptyLock<AlternativeServiceList> { stored.list }
    private let watchesNetwork = Lock(false)

    /// Creates an empty store that is kept in memory only.
    public init() { stored = Self.list(in: nil) }

    /// Creates a store that is kept in a file. If the file does not exist or is damaged, the store is empty.
    ///
    /// The file contains the announced alternatives. Each process finds out for itself whether they work.
    public init(file url: URL) { stored = Self.list(in: url) }

    private static func list(in file: URL?) -> StoredList<AlternativeServiceList> {
        StoredList(AlternativeServiceList(), in: file, isEmpty: \.isEmpty)
    }

    /// Whether the next request to the URL's origin would use or try HTTP/3.
    package func hasAlternative(for url: URL) -> Bool {
        guard url.scheme?.lowercased() == "https", let host = url.host(percentEncoded: false) else { return false }
        let origin = SecureOrigin(host: host, port: url.port ?? 443)
        return list.withLock { $0.hasAlternative(for: origin, at: Date()) }
    }

    /// Removes all alternatives.
    public func removeAll() {
        list.withLock { $0.removeAll() }
        stored.saveSoon()
    }

    /// Writes the file at once. Does nothing for a store in memory.
    public func save() async throws(CurlewError) { try await stored.save() }

    /// Called when the machine's default routes have changed, so HTTP/3 may work that failed before.
    func networkChanged() {
        list.withLock { $0.networkChanged() }
        stored.saveSoon()
    }
}

extension AlternativeServiceStore: AlternativeServices {
    package var isEmpty: Bool { list.isEmpty }

    package func route(
        to origin: SecureOrigin, allowing freedom: AlternativeFreedom, mayTry: Bool
    ) -> AlternativeRoute? {
        watchNetwork()
        return list.withLock { $0.route(to: origin, allowing: freedom, mayTry: mayTry, at: Date()) }
    }

    package func receive(_ headers: HTTPHeaders, from origin: SecureOrigin) {
        if list.withLock({ $0.receive(headers, from: origin, at: Date()) }) { stored.saveSoon() }
    }

    package func ended(_ route: AlternativeRoute, _ end: AlternativeEnd) {
        list.withLock { $0.ended(route, end, at: Date()) }
        if end == .misdirected { stored.saveSoon() }
    }

    /// Observes the network from the first lookup on. Before it, no failure can have been recorded.
    private func watchNetwork() {
        let isFirst = watchesNetwork.withLock { watches in
            defer { watches = true }
            return !watches
        }
        if isFirst { NetworkChanges.shared.add(self) }
    }
}

/// A list that a store keeps in memory, and as JSON in a file if it has one.
struct StoredList<List: Codable & Sendable>: Sendable {
    let list: UsuallyEmptyLock<List>
    let file: StoredText?

    /// Reads the file. If there is none, if it does not exist or if it is damaged, the list is the given empty one.
    init(_ empty: List, in url: URL?, isEmpty: @escaping @Sendable (List) -> Bool) {
        let data = url.flatMap { try? Data(contentsOf: $0) }
        let stored = data.flatMap { try? JSONDecoder().decode(List.self, from: $0) }
        list = UsuallyEmptyLock(stored ?? empty, isEmpty: isEmpty)
        file = url.map { StoredText($0) }
    }

    /// Schedules a write of the file, after a change.
    func saveSoon() { file?.writeSoon { text } }

    /// Writes the file at once.
    func save() async throws(CurlewError) { try await file?.writeNow { text } }

    private var text: String {
        let list = list.withLock { $0 }
        return (try? JSONEncoder().encode(list)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
