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
    /// Creates the error of a request that has a `Content-Encoding` already.
    public init() {}
}

/// Compresses the bodies of requests with the `deflate` coding (zlib's format).
///
/// Only bodies in the `URLRequest` are compressed, not those of uploads. Use it with servers that are known to
/// understand it: there is no way for a client to find out.
public struct DeflateRequestCompressor: RequestInterceptor {
    /// What to do with a `Content-Encoding` that is there already.
    public typealias DuplicateHeaderBehavior = Curlew.DuplicateHeaderBehavior
    /// The error of `DuplicateHeaderBehavior.error`.
    public typealias DuplicateHeaderError = Curlew.DuplicateHeaderError

    /// What to do with a `Content-Encoding` that is there already.
    public let duplicateHeaderBehavior: DuplicateHeaderBehavior
    /// Whether a body is worth compressing.
    public let shouldCompressBodyData: @Sendable (_ bodyData: Data) -> Bool

    /// Creates a compressor; by default every body is compressed, and a `Content-Encoding` that is there is an error.
    public init(
        duplicateHeaderBehavior: DuplicateHeaderBehavior = .error,
        shouldCompressBodyData: @escaping @Sendable (_ bodyData: Data) -> Bool = { _ in true }
    ) {
        self.duplicateHeaderBehavior = duplicateHeaderBehavior
        self.shouldCompressBodyData = shouldCompressBodyData
    }

    /// Compresses the request's body and names the coding.
    public func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        try compressing(urlRequest)
    }

    package func compressing(_ urlRequest: URLRequest) throws -> URLRequest {
        try BodyCompression(format: .zlib, duplicates: duplicateHeaderBehavior, wants: shouldCompressBodyData)
            .compressing(urlRequest)
    }
}

/// Compresses the bodies of requests with the `gzip` coding.
public struct GzipRequestCompressor: RequestInterceptor {
    /// What to do with a `Content-Encoding` that is there already.
    public let duplicateHeaderBehavior: DuplicateHeaderBehavior
    /// Whether a body is worth compressing.
    public let shouldCompressBodyData: @Sendable (_ bodyData: Data) -> Bool

    /// Creates a compressor; by default every body is compressed, and a `Content-Encoding` that is there is an error.
    public init(
        duplicateHeaderBehavior: DuplicateHeaderBehavior = .error,
        shouldCompressBodyData: @escaping @Sendable (_ bodyData: Data) -> Bool = { _ in true }
    ) {
        self.duplicateHeaderBehavior = duplicateHeaderBehavior
        self.shouldCompressBodyData = shouldCompressBodyData
    }

    /// Compresses the request's body and names the coding.
    public func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        try compressing(urlRequest)
    }

    package func compressing(_ urlRequest: URLRequest) throws -> URLRequest {
        try BodyCompression(format: .gzip, duplicates: duplicateHeaderBehavior, wants: shouldCompressBodyData)
            .compressing(urlRequest)
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
        // A length that was set by hand is that of the plain body.
        request.setValue(nil, forHTTPHeaderField: "Content-Length")
        return request
    }
}

extension RequestInterceptor where Self == DeflateRequestCompressor {
    /// Compresses bodies with deflate.
    public static var deflateCompressor: DeflateRequestCompressor { DeflateRequestCompressor() }

    /// Compresses bodies with deflate, those that the closure chooses.
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
    /// Compresses bodies with gzip.
    public static var gzipCompressor: GzipRequestCompressor { GzipRequestCompressor() }

    /// Compresses bodies with gzip, those that the closure chooses.
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
