internal import CurlewCore
internal import CurlewLocks
public import Foundation
public import FoundationNetworking

extension DownloadRequest {
    /// Options for moving a finished download to its destination.
    public struct Options: OptionSet, Sendable {
        public let rawValue: Int

        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Creates the missing parent directories of the destination.
        public static let createIntermediateDirectories = Options(rawValue: 1 << 0)
        /// Replaces a file at the destination in one step: a reader sees the old file or the new one. A directory is
        /// never replaced; it is an error, which is reported before the body is received.
        public static let removePreviousFile = Options(rawValue: 1 << 1)
        /// Waits until the bytes are on the disk before the file gets its name. A download that replaces a file always
        /// does so.
        public static let synchronize = Options(rawValue: 1 << 2)
    }

    /// Returns the destination of the file, given the response's head and the temporary location.
    ///
    /// Called on a thread for file work when the head has arrived and before the body, so that the temporary file can
    /// be created next to its destination. There is no file at the temporary URL yet.
    public typealias Destination =
        @Sendable (
            _ temporaryURL: URL,
            _ response: HTTPURLResponse
        ) -> (destinationURL: URL, options: Options)

    /// A destination in one of the user's directories, under the name that the server suggests.
    ///
    /// The name is taken from `Content-Disposition`, otherwise from the URL, and can never leave the directory. If
    /// neither has a usable name, the file keeps its temporary one.
    public class func suggestedDownloadDestination(
        for directory: FileManager.SearchPathDirectory = .documentDirectory,
        in domain: FileManager.SearchPathDomainMask = .userDomainMask,
        options: Options = []
    ) -> Destination {
        { temporaryURL, response in
            guard let folder = FileManager.default.urls(for: directory, in: domain).first,
                let name = SuggestedFilename.make(for: response)
            else { return (temporaryURL, options) }
            return (folder.appending(path: name, directoryHint: .notDirectory), options)
        }
    }

    /// A destination in `directory`, under the name that the server suggests. If there is none, the file has its
    /// temporary name there.
    public class func suggestedDownloadDestination(in directory: URL, options: Options = []) -> Destination {
        { temporaryURL, response in
            let name = SuggestedFilename.make(for: response) ?? temporaryURL.lastPathComponent
            return (directory.appending(path: name, directoryHint: .notDirectory), options)
        }
    }
}

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
            record.exchange?.withLock { $0.body = .none }
            return record.lifecycle.replaceResult { $0.withoutBody }
        }
        await FileLane.next().carryOut { try? FileManager.default.removeItem(at: url) }
    }

    /// Returns the destination of a download. The session's hook takes precedence over the request's own destination.
    func downloadDestination(unless own: DownloadRequest.Destination?) -> DownloadRequest.Destination? {
        guard let hook = context.configuration.decisions?.downloadDestination else { return own }
        return { [self] url, response in
            hook(self, url, response) ?? own?(url, response) ?? (destinationURL: url, options: [])
        }
    }
}
