public import Foundation
public import FoundationNetworking

/// What to do with a request that has a `Content-Encoding` already.
public enum DuplicateHeaderBehavior: Sendable, Hashable {
    /// Fail with `DuplicateHeaderError`.
    case error
    /// Compress and replace the field.
    case replace
    /// Leave the request as it is.
    case skip
}

/// A request that should be compressed has a `Content-Encoding` already.
public struct DuplicateHeaderError: Error, Hashable {
    public init() {}
}

/// Compresses the bodies of requests with the `deflate` coding (zlib's format).
///
/// Only bodies in the `URLRequest` are compressed, not those of uploads. Use it with servers that are known to
/// understand it: there is no way for a client to find out.
public struct DeflateRequestCompressor: RequestInterceptor {
    public typealias DuplicateHeaderBehavior = Curlew.DuplicateHeaderBehavior
    public typealias DuplicateHeaderError = Curlew.DuplicateHeaderError

    public let duplicateHeaderBehavior: DuplicateHeaderBehavior
    public let shouldCompressBodyData: @Sendable (_ bodyData: Data) -> Bool

    public init(
        duplicateHeaderBehavior: DuplicateHeaderBehavior = .error,
        shouldCompressBodyData: @escaping @Sendable (_ bodyData: Data) -> Bool = { _ in true }
    ) {
        self.duplicateHeaderBehavior = duplicateHeaderBehavior
        self.shouldCompressBodyData = shouldCompressBodyData
    }

    public func adapt(
        _ urlRequest: URLRequest,
        for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        completion(
            Result {
                try BodyCompression(format: .zlib, duplicates: duplicateHeaderBehavior, wants: shouldCompressBodyData)
                    .compressing(urlRequest)
            }
        )
    }
}

/// Compresses the bodies of requests with the `gzip` coding.
public struct GzipRequestCompressor: RequestInterceptor {
    public let duplicateHeaderBehavior: DuplicateHeaderBehavior
    public let shouldCompressBodyData: @Sendable (_ bodyData: Data) -> Bool

    public init(
        duplicateHeaderBehavior: DuplicateHeaderBehavior = .error,
        shouldCompressBodyData: @escaping @Sendable (_ bodyData: Data) -> Bool = { _ in true }
    ) {
        self.duplicateHeaderBehavior = duplicateHeaderBehavior
        self.shouldCompressBodyData = shouldCompressBodyData
    }

    public func adapt(
        _ urlRequest: URLRequest,
        for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        completion(
            Result {
                try BodyCompression(format: .gzip, duplicates: duplicateHeaderBehavior, wants: shouldCompressBodyData)
                    .compressing(urlRequest)
            }
        )
    }
}

/// What both compressors do.
private struct BodyCompression {
    let format: Deflate.Format
    let duplicates: DuplicateHeaderBehavior
    let wants: @Sendable (Data) -> Bool

    func compressing(_ urlRequest: URLRequest) throws -> URLRequest {
        guard let body = urlRequest.httpBody, wants(body) else { return urlRequest }
        if urlRequest.value(forHTTPHeaderField: "Content-Encoding") != nil {
            switch duplicates {
            case .error: throw DuplicateHeaderError()
            case .skip: return urlRequest
            case .replace: break
            }
        }
        var request = urlRequest
        request.httpBody = try Deflate.compressed(body, as: format)
        request.setValue(format.rawValue, forHTTPHeaderField: "Content-Encoding")
        // A length that somebody set by hand is that of the plain body.
        request.setValue(nil, forHTTPHeaderField: "Content-Length")
        return request
    }
}

extension RequestInterceptor where Self == DeflateRequestCompressor {
    public static var deflateCompressor: DeflateRequestCompressor { DeflateRequestCompressor() }

    public static func deflateCompressor(
        duplicateHeaderBehavior: DuplicateHeaderBehavior = .error,
        shouldCompressBodyData: @escaping @Sendable (_ bodyData: Data) -> Bool = { _ in true }
    ) -> DeflateRequestCompressor {
        DeflateRequestCompressor(
            duplicateHeaderBehavior: duplicateHeaderBehavior,
            shouldCompressBodyData: shouldCompressBodyData
        )
    }
}

extension RequestInterceptor where Self == GzipRequestCompressor {
    public static var gzipCompressor: GzipRequestCompressor { GzipRequestCompressor() }

    public static func gzipCompressor(
        duplicateHeaderBehavior: DuplicateHeaderBehavior = .error,
        shouldCompressBodyData: @escaping @Sendable (_ bodyData: Data) -> Bool = { _ in true }
    ) -> GzipRequestCompressor {
        GzipRequestCompressor(
            duplicateHeaderBehavior: duplicateHeaderBehavior,
            shouldCompressBodyData: shouldCompressBodyData
        )
    }
}
