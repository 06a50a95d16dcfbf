public import Foundation

/// A request whose response body goes into a file.
public final class DownloadRequest: Request, @unchecked Sendable {
    // SAFETY: every stored property is a `let` of a Sendable type; what changes sits behind locks.

    /// Where the file is once it is complete.
    public var fileURL: URL? { nil }
    /// What a later request can continue this download with.
    public var resumeData: Data? { nil }
}
