public import Curlew
public import Foundation
public import FoundationNetworking

/// Compresses the bodies of requests with the `deflate` coding (zlib's format).
///
/// Only bodies in the `URLRequest` are compressed, not those of uploads. Use it only with servers that are known to
/// understand the coding: a client cannot find out.
public struct DeflateRequestCompressor: RequestInterceptor {
    /// The treatment of a request that already has a `Content-Encoding`.
    public typealias DuplicateHeaderBehavior = Curlew.DuplicateHeaderBehavior
    /// The error of `DuplicateHeaderBehavior.error`.
    public typealias DuplicateHeaderError = Curlew.DuplicateHeaderError

    /// The treatment of a request that already has a `Content-Encoding`.
    public var duplicateHeaderBehavior: DuplicateHeaderBehavior { compression.duplicates }
    /// Whether a body is worth compressing.
    public var shouldCompressBodyData: @Sendable (_ bodyData: Data) -> Bool { compression.wants }

    private let compression: BodyCompression

    /// Creates a compressor. By default it compresses every body, and throws if the request already has a
    /// `Content-Encoding`.
    public init(
        duplicateHeaderBehavior: DuplicateHeaderBehavior = .error,
        shouldCompressBodyData: @escaping @Sendable (_ bodyData: Data) -> Bool = { _ in true }
    ) {
        compression = BodyCompression(
            format: .zlib, duplicates: duplicateHeaderBehavior, wants: shouldCompressBodyData)
    }

    /// Compresses the request's body and sets its `Content-Encoding`.
    public func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        try compression.compressing(urlRequest)
    }

    /// Compresses the request's body and sets its `Content-Encoding`.
    public func adapt(
        _ urlRequest: URLRequest,
        for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        completion(Result { try compression.compressing(urlRequest) })
    }
}

extension GzipRequestCompressor: RequestInterceptor {
    /// Compresses the request's body and sets its `Content-Encoding`.
    public func adapt(
        _ urlRequest: URLRequest,
        for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        completion(Result { try compression.compressing(urlRequest) })
    }
}

extension Curlew.RequestInterceptor where Self == DeflateRequestCompressor {
    /// Compresses bodies with deflate.
    public static var deflateCompressor: DeflateRequestCompressor { DeflateRequestCompressor() }

    /// Compresses with deflate the bodies that the closure chooses.
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

extension Curlew.RequestInterceptor where Self == GzipRequestCompressor {
    /// Compresses bodies with gzip.
    public static var gzipCompressor: GzipRequestCompressor { GzipRequestCompressor() }

    /// Compresses with gzip the bodies that the closure chooses.
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
