internal import CurlewCore
internal import CurlewLocks
public import Foundation
internal import FoundationNetworking

/// A request whose response body is kept in memory.
///
///     let user = try await session.request(url).decode(User.self)
///
/// Or with handlers, in Alamofire's way: `session.request(url).validate().responseDecodable(of: User.self) { … }`.
// SAFETY: every stored property is a `let` of a Sendable type; mutable state is protected by locks.
public class DataRequest: Request, @unchecked Sendable {
    /// The description of the request, converted to a `URLRequest` for every attempt.
    public var convertible: any URLRequestConvertible { source.convertible }

    private let source: Source

    /// The user's description of the request.
    enum Source {
        case plain(PlainRequest)
        case other(any URLRequestConvertible)

        var convertible: any URLRequestConvertible {
            switch self {
            case .plain(let plain): plain
            case .other(let convertible): convertible
            }
        }

        /// Returns the description as a plain request, or `nil` if only a `URLRequest` can express it.
        func makePlainRequest(in context: SessionContext) throws -> VisibleRequest? {
            switch self {
            case .plain(let plain):
                try plain.asVisibleRequest(
                    keepsDotSegments: context.configuration.keepsDotSegments, base: context.baseURL)
            case .other: nil
            }
        }
    }

    init(
        _ source: consuming Source,
        session: Session,
        interceptor: __shared (any RequestInterceptor)?,
        shouldAutomaticallyResume: Bool?
    ) {
        self.source = source
        super.init(session: session, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// The part of the body that has arrived. `nil` if there is none.
    public var data: Data? {
        let (incoming, body) = record.withLock { ($0.transfer.incoming, $0.transfer.body) }
        return incoming ?? body.contents
    }

    override func makeURLRequest() throws -> URLRequest {
        switch source {
        case .plain(let plain): try plain.asURLRequest()
        case .other(let convertible): try convertible.asURLRequest()
        }
    }

    override func makePlainRequest() throws -> VisibleRequest? {
        try source.makePlainRequest(in: context)
    }
}
