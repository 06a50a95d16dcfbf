internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// A small file that follows something in memory: whole or not at all, readable by this user only.
final class StoredText: Sendable {
    private let url: URL
    private let lane = FileLane.next()
    private let isScheduled = Lock(false)
    /// What the file holds, as far as it was written here. Changed on the lane alone.
    private let written = Lock<String?>(nil)

    init(_ url: URL) { self.url = url }

    /// Writes on a file lane; changes until then go into the same write. The text that was written last is not written again: a
    /// cookie that ends with the session changes memory, not the file.
    func writeSoon(_ text: @escaping @Sendable () -> String) {
        let isFirst = isScheduled.withLock { isScheduled in
            defer { isScheduled = true }
            return !isScheduled
        }
        guard isFirst else { return }
        lane.enqueue { [self] in
            isScheduled.withLock { $0 = false }
            let text = text()
            if written.withLock({ $0 }) != text { try? write(text) }
        }
    }

    func writeNow(_ text: @escaping @Sendable () -> String) async throws(CurlewError) {
        try await lane.run { [self] () throws(CurlewError) in try write(text()) }
    }

    private func write(_ text: String) throws(CurlewError) {
        // Half a write, or none, leaves the file in doubt.
        written.withLock { $0 = nil }
        try Self.write(text, to: url)
        written.withLock { $0 = text }
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
