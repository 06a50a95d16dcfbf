public import CurlewCore
internal import CurlewLocks
public import Foundation
public import FoundationNetworking

/// Wraps one exchange: the request on the wire, and its reply.
///
///     struct Timing: RequestMiddleware {
///         func intercept(_ request: URLRequest, next: Next) async throws -> Reply {
///             let start = ContinuousClock.now
///             let reply = try await next(request)
///             print(request.url?.path ?? "", reply.head.status, ContinuousClock.now - start)
///             return reply
///         }
///     }
///
/// A middleware may change the request and the reply, send the request several times, or reply without sending it. It
/// is called for every request on the wire: each attempt, each redirect, each answered challenge, each segment of a
/// download. Redirects, retries, cookies and validation happen around it and use the reply that it returns. The cache
/// is inside: a stored response is a reply like any other. WebSockets are not wrapped.
///
/// - The request may be changed as by an `ExchangeAdapter`. The change applies to this exchange only.
/// - If the body is kept in memory, `next` returns with all of it. The body of a download or a stream arrives while it
///   is read, and slows down the sender if nobody reads. This includes a body that an asynchronous `onHTTPResponse`
///   closure may turn into a file.
/// - Cancelling the request, and its total timeout, cancel the task of the middleware. The request ends when the
///   middleware has returned.
/// - Only the returned reply counts. The `Set-Cookie` and `Strict-Transport-Security` fields, the metrics, the trailers
///   and the informational responses of other replies, such as those before a retry inside the middleware, are lost.
///   The returned reply's informational responses are delivered with it. A reply that was kept from an earlier exchange
///   is delivered without those two fields, because it would set its old cookies again.
///
/// - Warning: It is called for redirects to other origins too, which the server chooses. Curlew drops the secret fields
///   that a request has on such a redirect, but not those that a middleware sets anew. Set keys and tokens in a
///   `RequestAdapter`, or in an `ExchangeAdapter`, which learns of it from `ExchangeInfo.leavesOrigin`.
public protocol RequestMiddleware: Sendable {
    /// Returns the reply. `next` sends a request to the next middleware, or over the network.
    ///
    /// An error that is thrown ends the exchange: a `CurlewError` unchanged, any other error as `.adaptationFailed`.
    func intercept(_ request: URLRequest, next: Next) async throws -> Reply
}

/// The rest of the chain: further middleware, the cache, and the network.
///
/// It may be called several times, also at the same time, or not at all. Every call sends a separate request, and
/// releasing an unused reply ends its transfer. After `intercept` of the session's first middleware has returned, a
/// call throws `.unsupported`.
///
/// A body that can be read only once can be sent only once. No streamed body is sent while another call sends it or
/// receives its response. A call that would do either throws `.bodyUnavailable`.
public struct Next: Sendable {
    private let proceed: @Sendable (URLRequest) async throws -> Reply

    /// Creates the end of a chain, for calling a middleware yourself.
    public init(_ proceed: @escaping @Sendable (URLRequest) async throws -> Reply) { self.proceed = proceed }

    /// Sends the request, and returns its reply when the head has arrived, or with a body in memory.
    public func callAsFunction(_ request: URLRequest) async throws -> Reply { try await proceed(request) }
}

extension Request {
    /// Adds a middleware inside of the session's and the existing ones.
    @discardableResult
    public func middleware(_ middleware: any RequestMiddleware) -> Self {
        record.withLock { $0.ensureExtras().options.middleware.append(middleware) }
        return self
    }
}

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
        /// The run that has sent the request. A middleware may return a reply from another run.
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

extension Reply {
    /// The body of a reply that arrives while it is read.
    ///
    /// It has one reader, and a slow reader slows down the sender. Leaving the loop, or releasing the stream unread,
    /// ends the transfer.
    public struct Stream: AsyncSequence, Sendable {
        /// A chunk of the body.
        public typealias Element = Data

        private let source: ReplySource

        /// Creates a stream of the elements of a sequence.
        public init<Chunks: AsyncSequence & Sendable>(_ chunks: Chunks) where Chunks.Element == Data {
            self.init {
                var iterator = chunks.makeAsyncIterator()
                return { try await iterator.next(isolation: #isolation) }
            }
        }

        /// Creates a stream that is opened by its reader. Releasing the returned function ends the reading.
        init(opening open: @escaping ReplySource.Open) { source = ReplySource(open) }

        /// Claims the stream for the caller.
        public func makeAsyncIterator() -> Iterator { Iterator(next: source.claim()) }

        func claimed() -> ReplySource.Reading { source.claim() }

        /// Hands out one chunk after the other.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let next: ReplySource.Reading

            /// Returns the next chunk; `nil` at the end of the body.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
                try await next()
            }
        }

        /// Returns a stream of the chunks that a closure makes from these.
        func mapChunks(_ transform: @escaping @Sendable (Data) async throws -> Data) -> Stream {
            Stream { [source] in
                let next = source.claim()
                return {
                    guard let chunk = try await next() else { return nil }
                    return try await transform(chunk)
                }
            }
        }

        /// Returns the whole body, and keeps it for other readers.
        func collected(upTo limit: Int) async throws -> Data { try await source.collected(upTo: limit) }
    }
}

extension Reply.Body {
    /// The elements of a sequence, as they arrive.
    public static func stream<Chunks: AsyncSequence & Sendable>(_ chunks: Chunks) -> Reply.Body
    where Chunks.Element == Data {
        .stream(Reply.Stream(chunks))
    }
}

extension Reply.Body {
    /// Claims the body for the caller, who gets its chunks from the returned function.
    func opened() -> ReplySource.Reading {
        switch self {
        case .data(let data):
            var rest: Data? = data
            return { exchange(&rest, with: nil) }
        case .stream(let stream): return stream.claimed()
        }
    }
}

/// The body of a `Reply.Stream`. It can be claimed once, unless it was collected.
final class ReplySource: Sendable {
    /// Returns the next chunk. Used by one task.
    typealias Reading = () async throws -> Data?
    typealias Open = @Sendable () -> Reading

    private enum State {
        case unread(Open)
        case claimed
        case collected(Data)
    }

    private let state: Lock<State>

    init(_ open: @escaping Open) { state = Lock(making: { .unread(open) }) }

    func claim() -> Reading {
        let former = state.withLock { state in
            let former = state
            if case .unread = state { state = .claimed }
            return former
        }
        switch former {
        case .unread(let open): return open()
        case .claimed: return { throw Self.wasRead }
        case .collected(let data):
            var rest: Data? = data
            return { exchange(&rest, with: nil) }
        }
    }

    func collected(upTo limit: Int) async throws -> Data {
        let next = claim()
        var body = Data()
        while true {
            let chunk = try await next()
            // A sequence of the user may end without an error when its task is cancelled: that is not the whole body.
            if Task.isCancelled { throw CurlewError(.cancelled, phase: .receive) }
            guard let chunk else { break }
            guard chunk.count <= limit - body.count else { throw CurlewError.bodyTooLarge(limit) }
            // Without a copy, if the body arrives in one chunk.
            if body.isEmpty { body = chunk } else { body.append(chunk) }
        }
        let whole = body
        state.withLock { $0 = .collected(whole) }
        return whole
    }

    private static let wasRead = CurlewError(
        .bodyUnavailable, phase: .receive, reason: "the body of the reply has been read, or is being read"
    )
}
