internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// A small file that follows something in memory: whole or not at all, readable by this user only.
final class StoredText: Sendable {
    private let url: URL
    private let lane = FileLane.next()
    private let isScheduled = Lock(false)

    init(_ url: URL) { self.url = url }

    /// Writes on a file lane; changes until then go into the same write.
    func writeSoon(_ text: @escaping @Sendable () -> String) {
        let isFirst = isScheduled.withLock { isScheduled in
            defer { isScheduled = true }
            return !isScheduled
        }
        guard isFirst else { return }
        lane.enqueue { [self] in
            isScheduled.withLock { $0 = false }
            try? Self.write(text(), to: url)
        }
    }

    func writeNow(_ text: @escaping @Sendable () -> String) async throws(CurlewError) {
        let url = url
        try await lane.run { () throws(CurlewError) in try Self.write(text(), to: url) }
    }

    /// Waits until what was to be written before has been.
    func settled() async { await lane.barrier() }

    static func write(_ text: String, to url: URL) throws(CurlewError) {
        let path = url.path(percentEncoded: false)
        let file = try DownloadFile.create(in: FileMove.parent(of: path))
        let bytes = Array(text.utf8)
        // A file from `DownloadFile` is private; moved by rename, readers see the old one or the new one.
        do throws(CurlewError) {
            let result: Result<Void, CurlewError> = bytes.withUnsafeBytes { buffer in
                do throws(CurlewError) { return .success(try file.write(buffer, at: 0)) } catch {
                    return .failure(error)
                }
            }
            try result.get()
            guard FileMove.rename(file.url.path(percentEncoded: false), path, replacing: true) == 0 else {
                throw CurlewError(.moveFailed, phase: .file, reason: "keeping \(path)")
            }
            file.keep()
        } catch {
            file.discard()
            throw error
        }
    }
}
