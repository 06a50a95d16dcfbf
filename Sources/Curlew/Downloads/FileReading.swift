internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Counts the calls that read a download's file, to find out whether it can be removed when they have failed.
struct FileReading: Sendable {
    /// The number of calls that are making a value, or wait for the file.
    private var readers = 0
    /// Whether a call could not make its value.
    private var hasFailed = false
    /// Whether the location of the file has been disclosed.
    private var isGivenAway = false

    mutating func begins() { readers += 1 }

    mutating func fails() { hasFailed = true }

    fileprivate mutating func givesAway() { isGivenAway = true }

    /// Ends a call. Returns whether the file can be removed: a call has failed, and no call has got or awaits it.
    mutating func ends(withValue: Bool) -> Bool {
        readers -= 1
        // The request's `fileURL` still discloses the location.
        if withValue { isGivenAway = true }
        return readers == 0 && hasFailed && !isGivenAway
    }
}

extension DownloadRequest {
    /// Records that the caller, or a handler, learns the location of the file.
    func givesFileAway() { download.withLock { $0.reading.givesAway() } }
}

extension Request {
    /// Removes a file without a chosen destination, because no value can be made of it or another attempt fetches a new
    /// one.
    func dropUnplacedFile() async {
        guard let url = record.withLock({ $0.body.fileURL }),
            downloadDestination(unless: (self as? DownloadRequest)?.destination) == nil
        else { return }
        // The old result is released outside the lock.
        _ = record.withLock { record in
            (
                record.exchange?.withLock { $0.replaceBody(by: .none) },
                record.lifecycle.replaceResult { $0.withoutBody }
            )
        }
        await FileLane.next().carryOut { try? FileManager.default.removeItem(at: url) }
    }
}
