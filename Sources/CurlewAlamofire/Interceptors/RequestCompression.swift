public import Curlew
public import FoundationNetworking

extension DeflateRequestCompressor: RequestInterceptor {
    /// Compresses the request's body and sets its `Content-Encoding`.
    public func adapt(
        _ urlRequest: URLRequest,
        for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        completion(Result { try compressing(urlRequest) })
    }
}

extension GzipRequestCompressor: RequestInterceptor {
    /// Compresses the request's body and sets its `Content-Encoding`.
    public func adapt(
        _ urlRequest: URLRequest,
        for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        completion(Result { try compressing(urlRequest) })
    }
}
