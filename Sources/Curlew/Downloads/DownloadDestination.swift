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

    /// A destination in `directory`, under the name that the server suggests.
    public class func suggestedDownloadDestination(in directory: URL, options: Options = []) -> Destination {
        { temporaryURL, response in
            let name = SuggestedFilename.make(for: response) ?? temporaryURL.lastPathComponent
            return (directory.appending(path: name, directoryHint: .notDirectory), options)
        }
    }
}
