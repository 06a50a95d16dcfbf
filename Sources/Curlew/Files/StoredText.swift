internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// A small file with the text of an object in memory. It is replaced as a whole and readable by this user only.
final class StoredText: Sendable {
    private let url: URL
    private let lane = FileLane.next()
    private let isScheduled = Lock(false)
    /// The text that was last written by this object. Changed on the lane only.
    private let written = Lock<String?>(nil)

    init(_ url: URL) { self.url = url }

    /// Schedules a write on a file lane. Changes until then are part of the same write. An unchanged text is not
    /// written again: a session cookie may change the object but not its file.
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
        // If the write fails, the contents of the file are unknown.
        written.withLock { $0 = nil }
        try Self.write(text, to: url)
        written.withLock { $0 = text }
    }

    /// Waits for all scheduled writes.
    func untilWritten() async { await lane.barrier() }

    /// Replaces the file. With `synchronizing` the text is on the disk before that: a power cut could otherwise leave
    /// an empty file.
    static func write(_ text: String, to url: URL, synchronizing: Bool = false) throws(CurlewError) {
        let path = url.path(percentEncoded: false)
        // A temporary file is private, and removed if an error is thrown before its end.
        let file = try TemporaryFile.create(in: FileSystem.parent(of: path))
        let bytes = Array(text.utf8)
        let result: Result<Void, CurlewError> = bytes.withUnsafeBytes { buffer in
            do throws(CurlewError) { return .success(try file.write(buffer, at: 0)) } catch { return .failure(error) }
        }
        try result.get()
        // The rename replaces the old file in one step, so readers see either the old or the new contents.
        try file.place { file throws(CurlewError) in
            if synchronizing { try file.synchronize() }
            let failure = FileMove.rename(file.path, path, replacing: true)
            guard failure == 0 else { throw FileFailure.error(failure, "moving the text to", path) }
        }
    }
}
