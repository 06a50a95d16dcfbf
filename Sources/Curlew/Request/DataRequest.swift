public import Foundation

/// A request whose response body is kept in memory.
public class DataRequest: Request, @unchecked Sendable {
    // SAFETY: every stored property is a `let` of a Sendable type; what changes sits behind locks.

    /// The body as far as it has come; nil before the first byte.
    public var data: Data? { nil }
}

/// A request that sends a body of its own: data, a file, a stream or a form.
public final class UploadRequest: DataRequest, @unchecked Sendable {
    // SAFETY: every stored property is a `let` of a Sendable type; what changes sits behind locks.
}
