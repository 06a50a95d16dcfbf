public import CurlewCore
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
    public var convertible: any URLRequestConvertible {
        switch kind.source {
        case .plain(let plain): plain
        case .convertible(let convertible): convertible
        case .own: UndescribedRequest()
        }
    }

    /// The part of the body that has arrived. `nil` if there is none.
    public var data: Data? {
        let (delivery, body) = record.withLock { record in
            record.exchange?.withLock { ($0.delivery, $0.body) } ?? (.closed, .none)
        }
        if case .delegated(let delegate) = delivery { return (delegate as? DataTaskDelegate)?.bytes }
        return body.contents
    }

    /// The file of the body, if the request was turned into a download: see
    /// `Request.ResponseDisposition.becomeDownload`.
    public var fileURL: URL? { record.withLock { $0.body.fileURL } }

    /// Returns the file of the body. Throws if the request was not turned into a download.
    public func file() async throws(CurlewError) -> URL {
        let result = try judged(await outcome(checksStatus: true))
        guard let url = result.body.fileURL else {
            throw CurlewError.fileMissing(in: .decoding).located(in: result)
        }
        return url
    }
}

/// The description of a data request that has none.
private struct UndescribedRequest: URLRequestConvertible {
    private struct NoDescription: Error {}

    func asURLRequest() throws -> URLRequest { throw CurlewError.requestNotCreated(NoDescription()) }
}
