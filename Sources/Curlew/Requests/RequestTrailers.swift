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
    public var trailers: HTTPHeaders? { receivedTrailers.map(TrailerFields.permitted) }

    /// The names of the trailer fields of the last response that were dropped.
    var droppedTrailers: [String] {
        receivedTrailers?.map(\.name).filter { !TrailerFields.permits($0) } ?? []
    }

    private var receivedTrailers: HTTPHeaders? {
        record.withLock { $0.exchange?.withLock { $0.trailers } }
    }

    /// Sends trailer fields behind the body, such as a digest that is complete only with the last byte.
    ///
    ///     session.upload(rows, to: url, headers: ["Trailer": "Content-Digest"])
    ///         .sendingTrailers { ["Content-Digest": digest.field] }
    ///
    /// `make` is called each time the body has been sent to its end, on the transport's thread: it must not block.
    ///
    /// - The body must be streamed, without a length: any other request fails with `.invalidBody` before it is sent.
    /// - libcurl sends trailer fields over HTTP/1.1 alone, so the request uses that; a session that excludes it fails
    ///   the request with `.unsupported`.
    /// - A field that is needed before the body, such as `Content-Length` or `Authorization`, ends the request with
    ///   `.invalidHeader` (RFC 9110, 6.5.1), and so do more than 64 KiB of fields. The server has received an
    ///   incomplete body then.
    /// - A redirect that drops the body drops them as well. The last closure set is used.
    @discardableResult
    public func sendingTrailers(_ make: @escaping @Sendable () -> HTTPHeaders) -> Self {
        let trailers = RequestTrailers(make)
        // The former closure is released without the lock: a `deinit` of an object that it holds may use the request.
        _ = record.withLock { exchange(&$0.ownExtras.options.trailers, with: trailers) }
        return self
    }
}
