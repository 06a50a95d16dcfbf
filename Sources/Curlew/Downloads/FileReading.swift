internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// The calls that want a download's file, or a value made of it.
struct FileReading: Sendable {
    /// So many are making a value, or wait for the file.
    private var readers = 0
    /// One could not make its value.
    private var hasFailed = false
    /// The place of the file is known outside.
    private var isGivenAway = false

    mutating func begins() { readers += 1 }

    mutating func fails() { hasFailed = true }

    mutating func givesAway() { isGivenAway = true }

    /// Whether nothing wants the file any more.
    mutating func ends(withValue: Bool) -> Bool {
        readers -= 1
        // The request still says where the file is.
        if withValue { isGivenAway = true }
        return readers == 0 && hasFailed && !isGivenAway
    }
}

extension DownloadRequest {
    /// The caller, or a handler, is told where the file is.
    func givesFileAway() { download.withLock { $0.reading.givesAway() } }
}

extension Request {
    /// Removes a file whose place was not chosen: nothing is made of it, or another attempt brings its own.
    func dropUnplacedFile() async {
        guard let url = record.withLock({ $0.transfer.body.fileURL }),
            downloadDestination(unless: ownDestination) == nil
        else { return }
        // The result goes without the lock.
        _ = record.withLock { record -> RunResult? in
            record.transfer.body = .none
            guard let result = record.run.result else { return nil }
            record.run = .ended(result.withoutBody)
            return result
        }
        await FileLane.next().carryOut { try? FileManager.default.removeItem(at: url) }
    }
}
