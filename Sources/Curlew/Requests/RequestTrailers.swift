public import CurlewCore
internal import CurlewLocks

// Fields that follow a body, in both directions.
extension Request {
    /// The trailer fields of the last response, which follow its body: with HTTP/1.1 chunked bodies and HTTP/2.
    ///
    /// `nil` until the response has ended, and if it did not end completely. Empty if it ended without trailer fields,
    /// and for a response from the cache, which stores none. A stream has them after the last element of its body.
    /// Fields that are needed before the body, such as `Content-Length`, `Set-Cookie` and `WWW-Authenticate`, are
    /// dropped (RFC 9110, 6.5.1).
    public var trailers: HTTPHeaders? { record.withLock { $0.receivedTrailers }.map(TrailerFields.permitted) }

    /// The names of the trailer fields of the last response that were dropped.
    var droppedTrailers: [String] {
        record.withLock { $0.receivedTrailers }?.map(\.name).filter { !TrailerFields.permits($0) } ?? []
    }
}
