internal import CurlewCore
internal import CurlewLocks
public import Foundation

/// A store of the servers that have announced HTTP/3 (`Alt-Svc`, RFC 7838), which also remembers for which of them
/// HTTP/3 fails.
///
/// It is in memory unless it is created with a file. The file is read at creation and written some time after a change.
/// Only sessions with `httpVersion = .automatic` use the store, and only if the running libcurl has HTTP/3.
public final class AlternativeServiceStore: Sendable, NetworkDependent {
    private let list: MostlyEmpty<AlternativeServiceList>
    private let file: StoredText?
    private let watchesNetwork = Lock(false)

    /// Creates an empty store that is kept in memory only.
    public init() {
        list = Self.locked(AlternativeServiceList())
        file = nil
    }

    /// Creates a store that is kept in a file. If the file does not exist or is damaged, the store is empty.
    ///
    /// The file contains the announced alternatives. Each process finds out for itself whether they work.
    public init(file url: URL) {
        let stored = (try? Data(contentsOf: url)).flatMap {
            try? JSONDecoder().decode(AlternativeServiceList.self, from: $0)
        }
        list = Self.locked(stored ?? AlternativeServiceList())
        file = StoredText(url)
    }

    private static func locked(_ list: AlternativeServiceList) -> MostlyEmpty<AlternativeServiceList> {
        MostlyEmpty(list, isNothing: \.isEmpty)
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
        changed()
    }

    /// Writes the file at once. Does nothing for a store in memory.
    public func save() async throws(CurlewError) { try await file?.writeNow { self.text } }

    /// Called when the machine's default routes have changed, so HTTP/3 may work that failed before.
    func networkChanged() {
        list.withLock { $0.networkChanged() }
        changed()
    }

    private func changed() { file?.writeSoon { self.text } }

    private var text: String {
        let list = list.withLock { $0 }
        return (try? JSONEncoder().encode(list)).map { String(decoding: $0, as: UTF8.self) } ?? ""
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
        if list.withLock({ $0.receive(headers, from: origin, at: Date()) }) { changed() }
    }

    package func ended(_ route: AlternativeRoute, _ end: AlternativeEnd) {
        list.withLock { $0.ended(route, end, at: Date()) }
        if end == .misdirected { changed() }
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
