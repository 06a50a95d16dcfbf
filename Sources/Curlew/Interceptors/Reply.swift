public import CurlewCore
internal import CurlewLocks
public import Foundation

/// The response of one exchange, as a middleware receives and returns it.
///
///     return Reply(status: 503, headers: ["Retry-After": "1"])
///
/// A copy shares the stream of the body, which can be read once.
public struct Reply: Sendable {
    /// The body of a reply.
    public enum Body: Sendable {
        /// Bytes in memory.
        case data(Data)
        /// Bytes that arrive while they are read.
        case stream(Stream)
    }

    /// The status and the header fields.
    public var head: ResponseHead
    /// The body, without a content coding that Curlew has undone.
    ///
    /// Setting it removes `Content-Encoding`, and corrects or removes `Content-Length`.
    public var body: Body {
        didSet { head.describeNewBody(length: body.length) }
    }
    private var ownTrailers: HTTPHeaders?
    /// The measurements that a middleware has set.
    private(set) var ownMetrics: TransferMetrics?
    /// The origin of the reply. `nil` if a middleware made it.
    let source: Source?

    /// Creates a reply whose body is in memory.
    public init(status: Int = 200, headers: HTTPHeaders = [:], body: Data = Data()) {
        self.init(head: ResponseHead(status: status, headers: headers), body: .data(body))
    }

    /// Creates a reply.
    public init(
        head: ResponseHead,
        body: Body = .data(Data()),
        trailers: HTTPHeaders? = nil,
        metrics: TransferMetrics? = nil
    ) {
        self.head = head
        self.body = body
        ownTrailers = trailers
        ownMetrics = metrics
        source = nil
    }

    /// Creates the reply of a transfer that may still run.
    init(_ head: ResponseHead, _ body: Body, from source: Source) {
        self.head = head
        self.body = body
        self.source = source
    }

    /// The origin of a reply that no middleware made.
    struct Source: Sendable {
        /// The informational responses before the head, until they are delivered with the reply.
        let informational: Lock<[ResponseHead]>
        /// The outcome of the transfer, once it has ended.
        let outcome: OneShot<Result<TransferOutcome, CurlewError>>
        /// The run that has sent the request: a middleware may return a reply that another run got.
        let run: RunToken
    }

    /// Identifies a run of middleware to the replies of its transfers, which may outlive it.
    final class RunToken: Sendable {}

    /// The trailer fields. Those of a body that is still arriving are empty, and become known at its end.
    public var trailers: HTTPHeaders {
        get { ownTrailers ?? outcome?.trailers ?? [:] }
        set { ownTrailers = newValue }
    }

    /// The measurements of the exchange. `nil` if a middleware made the reply, or while the body is arriving.
    public var metrics: TransferMetrics? {
        get {
            if let ownMetrics { return ownMetrics }
            switch source?.outcome.value {
            case .success(let outcome): return outcome.metrics
            case .failure(let error): return error.metrics
            case nil: return nil
            }
        }
        set { ownMetrics = newValue }
    }

    var outcome: TransferOutcome? { try? source?.outcome.value?.get() }
}

// MARK: The body

extension Reply.Body {
    /// `nil` for a body that arrives while it is read.
    fileprivate var length: Int? { if case .data(let data) = self { data.count } else { nil } }
}

extension Reply {
    /// Returns the whole body, and keeps it: the reply can still be returned, and the body read again.
    ///
    /// Throws `.limitExceeded` for a body above `limit` bytes, of which the rest is not received.
    public func data(upTo limit: Int = 128 * 1024 * 1024) async throws -> Data {
        switch body {
        case .data(let data):
            guard data.count <= limit else { throw CurlewError.bodyTooLarge(limit) }
            return data
        case .stream(let stream): return try await stream.collected(upTo: limit)
        }
    }

    /// Returns the reply with its body changed by a closure: a body in memory at once, a stream chunk by chunk while it
    /// is read. The borders of chunks have no meaning.
    public func mapBody(_ transform: @escaping @Sendable (Data) async throws -> Data) async throws -> Reply {
        var reply = self
        switch body {
        case .data(let data): reply.body = .data(try await transform(data))
        case .stream(let stream): reply.body = .stream(stream.mapChunks(transform))
        }
        return reply
    }

    /// Returns the reply with an unchanged body whose chunks a closure sees: a body in memory at once, a stream while
    /// it is read.
    public func inspectBody(_ inspect: @escaping @Sendable (Data) -> Void) -> Reply {
        switch body {
        case .data(let data):
            inspect(data)
            return self
        case .stream(let stream):
            var reply = self
            reply.body = .stream(
                stream.mapChunks { chunk in
                    inspect(chunk)
                    return chunk
                })
            // The body has the same length and coding.
            reply.head = head
            return reply
        }
    }
}
