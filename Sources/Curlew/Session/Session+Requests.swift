public import CurlewCore
public import Foundation
public import FoundationNetworking

// These functions create requests, synchronously, and do not start them.
extension Session {
    /// A closure that changes the `URLRequest` after the URL, method and headers are set and before parameters are
    /// encoded.
    public typealias RequestModifier = @Sendable (inout URLRequest) throws -> Void

    /// Creates a request with a dictionary of parameters.
    public nonisolated func request(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        parameters: Parameters? = nil,
        encoding: any ParameterEncoding = URLEncoding.default,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        guard let parameters else {
            return make(
                .plain(PlainRequest(url: convertible, method: method, headers: headers, modifier: requestModifier)),
                interceptor,
                shouldAutomaticallyResume
            )
        }
        return request(
            EncodedRequest(
                url: convertible,
                method: method,
                parameters: parameters,
                encoding: encoding,
                headers: headers,
                modifier: requestModifier
            ),
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume
        )
    }

    /// Creates a request with an `Encodable` value as its parameters.
    public nonisolated func request<P: Encodable & Sendable>(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        parameters: P? = nil,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            EncodableRequest(
                url: convertible,
                method: method,
                parameters: parameters,
                encoder: encoder,
                headers: headers,
                modifier: requestModifier
            ),
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume
        )
    }

    /// Creates a request from a value that can be converted to a `URLRequest`.
    public nonisolated func request(
        _ convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataRequest {
        make(.convertible(convertible), interceptor, shouldAutomaticallyResume)
    }

    private nonisolated func make(
        _ source: consuming RequestSource,
        _ interceptor: (any RequestInterceptor)?,
        _ shouldAutomaticallyResume: Bool?
    ) -> DataRequest {
        let request = DataRequest(
            RequestKind(source: consume source),
            session: self,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume
        )
        configuration.requestWasCreated?(request)
        return request
    }
}

/// A request that consists of a URL and a dictionary of parameters.
struct EncodedRequest: URLRequestConvertible {
    let url: any URLConvertible
    let method: HTTPMethod
    let parameters: Parameters?
    let encoding: any ParameterEncoding
    let headers: HTTPHeaders?
    let modifier: Session.RequestModifier?

    func asURLRequest() throws -> URLRequest {
        var request = try URLRequest(url: url, method: method, headers: headers)
        try modifier?(&request)
        guard let parameters else { return request }
        return try encoding.encode(request, with: parameters)
    }
}

/// A request that consists of a URL and an `Encodable` value as its parameters, or none.
struct EncodableRequest<P: Encodable & Sendable>: URLRequestConvertible {
    let url: any URLConvertible
    let method: HTTPMethod
    let parameters: P?
    let encoder: any ParameterEncoder
    let headers: HTTPHeaders?
    let modifier: Session.RequestModifier?

    func asURLRequest() throws -> URLRequest {
        var request = try URLRequest(url: url, method: method, headers: headers)
        try modifier?(&request)
        guard let parameters else { return request }
        return try encoder.encode(parameters, into: request)
    }
}

// Downloads: the body is written to a file. Without a destination it remains in the temporary directory.
extension Session {
    /// Creates a download with a dictionary of parameters.
    public nonisolated func download(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        parameters: Parameters? = nil,
        encoding: any ParameterEncoding = URLEncoding.default,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil,
        to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        download(
            EncodedRequest(
                url: convertible,
                method: method,
                parameters: parameters,
                encoding: encoding,
                headers: headers,
                modifier: requestModifier
            ),
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume,
            to: destination
        )
    }

    /// Creates a download with an `Encodable` value as its parameters.
    public nonisolated func download<P: Encodable & Sendable>(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        parameters: P? = nil,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil,
        to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        download(
            EncodableRequest(
                url: convertible,
                method: method,
                parameters: parameters,
                encoder: encoder,
                headers: headers,
                modifier: requestModifier
            ),
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume,
            to: destination
        )
    }

    /// Creates a download from a value that can be converted to a `URLRequest`.
    public nonisolated func download(
        _ convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        download(.request(convertible), interceptor, shouldAutomaticallyResume, destination)
    }

    /// Creates a download that continues an earlier one.
    public nonisolated func download(
        resumingWith data: Data,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        download(.resumeData(data), interceptor, shouldAutomaticallyResume, destination)
    }

    private nonisolated func download(
        _ downloadable: DownloadRequest.Downloadable,
        _ interceptor: (any RequestInterceptor)?,
        _ shouldAutomaticallyResume: Bool?,
        _ destination: DownloadRequest.Destination?
    ) -> DownloadRequest {
        let request = DownloadRequest(
            downloadable,
            session: self,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume,
            destination: destination
        )
        configuration.requestWasCreated?(request)
        return request
    }
}
