package import CurlewCore
internal import CurlewLocks
public import Foundation
internal import FoundationNetworking

/// A request that sends a body: data, a file, a stream or a form.
// SAFETY: every stored property is a `let` of a Sendable type; mutable state is protected by locks.
public final class UploadRequest: DataRequest, @unchecked Sendable {
    /// The body of one attempt.
    public enum Uploadable: Sendable {
        /// Bytes in memory.
        case data(Data)
        /// A file. With `shouldRemove` it belongs to Curlew, which removes it when the request has ended, or has made
        /// another body for its next attempt.
        case file(URL, shouldRemove: Bool)
        /// Bytes from a stream. Without a length they are sent in chunks.
        case stream(any BodyStream, length: Int64?)

        package init(_ source: BodySource) {
            switch source {
            case .none: self = .data(Data())
            case .data(let data): self = .data(data)
            case .file(let url, _): self = .file(url, shouldRemove: false)
            case .stream(let stream, let length): self = .stream(stream, length: length)
            }
        }

        var source: BodySource {
            switch self {
            case .data(let data): .data(data)
            case .file(let url, _): .file(url)
            case .stream(let stream, let length): .stream(stream, length: length)
            }
        }
    }

    init(
        _ convertible: any URLRequestConvertible,
        session: Session,
        interceptor: __shared (any RequestInterceptor)?,
        shouldAutomaticallyResume: Bool?,
        preparation: (@Sendable () async -> Void)? = nil,
        uploadable: @escaping @Sendable () throws -> Uploadable
    ) {
        super.init(
            RequestKind(
                source: .convertible(convertible), upload: UploadTaskDelegate(prepare: preparation, make: uploadable)),
            session: session,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume
        )
    }

    /// The body of the last attempt. `nil` before the first one is made.
    public var uploadable: Uploadable? { kind.upload?.uploadable }

    /// Makes the body of every attempt.
    package var makeUploadable: @Sendable () throws -> Uploadable {
        if let upload = kind.upload { return upload.make }
        return { .data(Data()) }
    }
}
