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
    private let list: MostlyEmpty<HSTSList>
    let file: StoredText?

    /// Creates an empty store that is kept in memory only.
    public init() {
        list = Self.locked(HSTSList())
        file = nil
    }

    /// Creates a store that is kept in a file. If the file does not exist or is damaged, the store is empty.
    public init(file url: URL) {
        let stored = (try? Data(contentsOf: url)).flatMap { try? JSONDecoder().decode(HSTSList.self, from: $0) }
        list = Self.locked(stored ?? HSTSList())
        file = StoredText(url)
    }

    private static func locked(_ list: HSTSList) -> MostlyEmpty<HSTSList> {
        MostlyEmpty(list, isNothing: { $0.entries.isEmpty })
    }

    /// Whether requests to `host` are sent over https only.
    package func contains(_ host: String) -> Bool { list.withLock { $0.contains(host, at: Date()) } }

    /// Removes all hosts.
    public func removeAll() {
        list.withLock { $0.removeAll() }
        changed()
    }

    /// Writes the file at once. Does nothing for a store in memory.
    public func save() async throws(CurlewError) { try await file?.writeNow { self.text } }

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
        if list.withLock({ $0.receive(headers, from: url, at: Date()) }) { changed() }
    }

    private func changed() { file?.writeSoon { self.text } }

    private var text: String {
        let list = list.withLock { $0 }
        return (try? JSONEncoder().encode(list)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
