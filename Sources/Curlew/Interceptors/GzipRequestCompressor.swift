public import Foundation
public import FoundationNetworking

/// The treatment of a request that already has a `Content-Encoding`.
public enum DuplicateHeaderBehavior: Sendable, Hashable {
    /// Fail with `DuplicateHeaderError`.
    case error
    /// Compress and replace the field.
    case replace
    /// Leave the request as it is.
    case skip
}

/// The error of a request that should be compressed but already has a `Content-Encoding`.
public struct DuplicateHeaderError: Error, Hashable {
    /// Creates the error.
    package init() {}
}

/// Compresses the bodies of requests with the `gzip` coding.
///
/// Only bodies in the `URLRequest` are compressed, not those of uploads. Use it only with servers that are known to
/// understand the coding: a client cannot find out.
public struct GzipRequestCompressor: RequestInterceptor {
    package let compression: BodyCompression

    /// Creates a compressor. By default it compresses every body, and throws if the request already has a
    /// `Content-Encoding`.
    public init(
        duplicateHeaderBehavior: DuplicateHeaderBehavior = .error,
        shouldCompressBodyData: @escaping @Sendable (_ bodyData: Data) -> Bool = { _ in true }
    ) {
        compression = BodyCompression(
            format: .gzip, duplicates: duplicateHeaderBehavior, wants: shouldCompressBodyData)
    }

    /// Compresses the request's body and sets its `Content-Encoding`.
    public func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        try compression.compressing(urlRequest)
    }
}

/// The compression of a request's body, in any coding.
package struct BodyCompression {
    let format: Deflate.Format
    /// The treatment of a request that already has a `Content-Encoding`.
    package let duplicates: DuplicateHeaderBehavior
    /// Whether a body is worth compressing.
    package let wants: @Sendable (Data) -> Bool

    package init(
        format: Deflate.Format, duplicates: DuplicateHeaderBehavior, wants: @escaping @Sendable (Data) -> Bool
    ) {
        self.format = format
        self.duplicates = duplicates
        self.wants = wants
    }

    package func compressing(_ urlRequest: URLRequest) throws -> URLRequest {
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
        // A `Content-Length` that the user has set is the length of the uncompressed body.
        request.setValue(nil, forHTTPHeaderField: "Content-Length")
        return request
    }
}
