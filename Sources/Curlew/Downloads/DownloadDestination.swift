internal import CurlewCore
public import Foundation
public import FoundationNetworking
internal import Glibc

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

/// The file name that a response suggests, safe to append to a directory.
enum SuggestedFilename {
    /// The name from `Content-Disposition`, otherwise the last component of the URL. `nil` if neither is usable.
    static func make(for response: HTTPURLResponse) -> String? {
        make(disposition: response.value(forHTTPHeaderField: "Content-Disposition"), url: response.url)
    }

    static func make(disposition: String?, url: URL?) -> String? {
        if let disposition, let name = ContentDisposition(parsing: disposition).safeFilename { return name }
        guard let last = url?.lastPathComponent, last != "/" else { return nil }
        return SafeFilename.make(last)
    }
}

/// Chooses the directory of a download's temporary file, and creates the destination's directory.
enum DestinationDirectory {
    /// Returns the destination's directory if a file can be created there, so that the final move is a rename.
    /// Otherwise returns the directory for temporary files.
    static func forTemporaryFile(beside destination: URL?) -> String {
        if let destination {
            let parent = FileSystem.parent(of: destination.path(percentEncoded: false))
            if FileSystem.isDirectory(parent), access(parent, W_OK | X_OK) == 0 { return parent }
        }
        return temporary
    }

    /// TMPDIR, or the system's temporary directory.
    static var temporary: String {
        let path = FileManager.default.temporaryDirectory.path(percentEncoded: false)
        return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    /// Creates `path` and its missing parents. Returns the directories that were created, outermost first.
    static func create(_ path: String) throws(CurlewError) -> [String] {
        var missing: [String] = []
        var current = path
        while !FileSystem.exists(current), current != "/", current != "." {
            missing.append(current)
            current = FileSystem.parent(of: current)
        }
        var made: [String] = []
        for directory in missing.reversed() {
            if mkdir(directory, 0o777) == 0 {
                made.append(directory)
            } else if errno != EEXIST {
                let number = errno
                removeIfEmpty(made)
                throw FileFailure.error(number, "making the directory", directory)
            }
        }
        return made
    }

    /// Removes the directories that `create` has made, if they are empty.
    static func removeIfEmpty(_ directories: [String]) {
        for directory in directories.reversed() { rmdir(directory) }
    }
}

extension Request {
    /// Returns the destination of a download. The session's hook takes precedence over the request's own destination.
    func downloadDestination(orElse own: DownloadRequest.Destination?) -> DownloadRequest.Destination? {
        guard let hook = context.configuration.decisions?.downloadDestination else { return own }
        return { [self] url, response in
            hook(self, url, response) ?? own?(url, response) ?? (destinationURL: url, options: [])
        }
    }
}
