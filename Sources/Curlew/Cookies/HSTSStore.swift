public import CurlewCore
internal import CurlewLocks
public import Foundation

/// Hosts that have asked to be reached by https only (RFC 6797). Requests to them by http go out by https.
///
/// In memory unless made with a file, which is read then and written some time after a change. A host that says the same again
/// changes the file once its expiry has moved by an hour, or by a tenth of a shorter `max-age`; `save()` writes what is known now.
public final class HSTSStore: Sendable {
    private let list: MostlyEmpty<HSTSList>
    let file: StoredText?

    /// Creates an empty store that is kept in memory only.
    public init() {
        list = Self.locked(HSTSList())
        file = nil
    }

    /// A store that is kept in a file. One that does not exist yet, or is damaged, is an empty store.
    public init(file url: URL) {
        let stored = (try? Data(contentsOf: url)).flatMap { try? JSONDecoder().decode(HSTSList.self, from: $0) }
        list = Self.locked(stored ?? HSTSList())
        file = StoredText(url)
    }

    private static func locked(_ list: HSTSList) -> MostlyEmpty<HSTSList> {
        MostlyEmpty(list, isNothing: { $0.entries.isEmpty })
    }

    /// Whether `host` is reached by https only.
    public func contains(_ host: String) -> Bool { list.withLock { $0.contains(host, at: Date()) } }

    /// Forgets every host.
    public func removeAll() {
        list.withLock { $0.removeAll() }
        changed()
    }

    /// Writes the file now; nothing for a store in memory.
    public func save() async throws(CurlewError) { try await file?.writeNow { self.text } }

    // MARK: The pipeline

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
        if list.withLock({ $0.receive(headers, from: url, at: Date()) }) { changed() }
    }

    private func changed() { file?.writeSoon { self.text } }

    private var text: String {
        let list = list.withLock { $0 }
        return (try? JSONEncoder().encode(list)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
