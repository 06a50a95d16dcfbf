public import Foundation
public import FoundationNetworking

extension DownloadRequest {
    /// How a finished download is put into its place.
    public struct Options: OptionSet, Sendable {
        public let rawValue: Int

        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Makes the directories that are missing above the destination.
        public static let createIntermediateDirectories = Options(rawValue: 1 << 0)
        /// Replaces a file at the destination, in one step: a reader sees the old one or the new one.
        /// A directory is not replaced: it is an error, which says so before the body comes.
        public static let removePreviousFile = Options(rawValue: 1 << 1)
        /// Waits until the bytes are on the disk before the file gets its name. Where a previous file is
        /// replaced that is always so.
        public static let synchronize = Options(rawValue: 1 << 2)
    }

    /// Says where the file goes, knowing the response's head and where the bytes are meanwhile.
    ///
    /// It is called when the head has arrived and before the body, on a thread for file work, so that the
    /// temporary file can lie beside its destination. There is no file at the temporary URL yet.
    public typealias Destination =
        @Sendable (
            _ temporaryURL: URL,
            _ response: HTTPURLResponse
        ) -> (destinationURL: URL, options: Options)

    /// A destination in one of the user's directories, under the name that the server suggests.
    ///
    /// The name comes from `Content-Disposition`, else from the URL, and can never leave the directory.
    /// Where there is no usable name the file stays under its temporary one.
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
