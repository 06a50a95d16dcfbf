internal import CurlewCore
internal import CurlewLocks
public import Foundation

/// Which servers can be reached by HTTP/3, as they have announced it (`Alt-Svc`, RFC 7838), and where that works.
///
/// In memory unless made with a file, which is read then and written some time after a change. Used by sessions with
/// `httpVersion = .automatic` where the running libcurl has HTTP/3; others do not touch it.
public final class AlternativeServiceStore: Sendable, NetworkDependent {
    private let list: MostlyEmpty<AlternativeServiceList>
    private let file: StoredText?
    private let watchesNetwork = Lock(false)

    /// Creates an empty store that is kept in memory only.
    public init() {
        list = Self.locked(AlternativeServiceList())
        file = nil
    }

    /// A store that is kept in a file. One that does not exist yet, or is damaged, is an empty store.
    ///
    /// The file says where alternatives are. Whether they work is found out anew by each process.
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

    /// Whether the next request to the URL's origin would go by HTTP/3, or find out whether it can.
    public func hasAlternative(for url: URL) -> Bool {
        guard url.scheme?.lowercased() == "https", let host = url.host(percentEncoded: false) else { return false }
        let origin = SecureOrigin(host: host, port: url.port ?? 443)
        return list.withLock { $0.hasAlternative(for: origin, at: Date()) }
    }

    /// Forgets every alternative.
    public func removeAll() {
        list.withLock { $0.removeAll() }
        changed()
    }

    /// Writes the file now; nothing for a store in memory.
    public func save() async throws(CurlewError) { try await file?.writeNow { self.text } }

    /// The machine is in another network.
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

    package func route(to origin: SecureOrigin, allowing freedom: AlternativeFreedom) -> AlternativeRoute? {
        watchNetwork()
        return list.withLock { $0.route(to: origin, allowing: freedom, at: Date()) }
    }

    package func receive(_ headers: HTTPHeaders, from origin: SecureOrigin) {
        if list.withLock({ $0.receive(headers, from: origin, at: Date()) }) { changed() }
    }

    package func ended(_ route: AlternativeRoute, _ end: AlternativeEnd) {
        list.withLock { $0.ended(route, end, at: Date()) }
        if end == .misdirected { changed() }
    }

    /// From the first alternative on: before that there is nothing to forget.
    private func watchNetwork() {
        let isFirst = watchesNetwork.withLock { watches in
            defer { watches = true }
            return !watches
        }
        if isFirst { NetworkChanges.shared.tell(self) }
    }
}
