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

// The `async` methods of URLSession, so that code for `URLSession.shared` works with `Session.default`. As there, no
// status is an error; the methods throw if the exchange failed.
extension Session {
    /// Returns the body and the response, for any status.
    public nonisolated func data(for request: URLRequest) async throws(CurlewError) -> (Data, URLResponse) {
        try await self.request(request).dataAndHead()
    }

    /// Returns the body and the response, for any status.
    public nonisolated func data(from url: URL) async throws(CurlewError) -> (Data, URLResponse) {
        try await request(url).dataAndHead()
    }

    /// Sends bytes and returns the response, for any status.
    public nonisolated func upload(
        for request: URLRequest,
        from bodyData: Data
    ) async throws(CurlewError) -> (Data, URLResponse) {
        try await upload(bodyData, with: request).dataAndHead()
    }

    /// Sends a file and returns the response, for any status.
    public nonisolated func upload(
        for request: URLRequest,
        fromFile fileURL: URL
    ) async throws(CurlewError) -> (Data, URLResponse) {
        try await upload(fileURL, with: request).dataAndHead()
    }

    /// Downloads the body to a temporary file, for any status. You have to remove the file.
    public nonisolated func download(for request: URLRequest) async throws(CurlewError) -> (URL, URLResponse) {
        try await download(request).fileAndHead()
    }

    /// Downloads the body to a temporary file, for any status. You have to remove the file.
    public nonisolated func download(from url: URL) async throws(CurlewError) -> (URL, URLResponse) {
        try await download(url).fileAndHead()
    }

    /// Continues an earlier download.
    public nonisolated func download(resumeFrom resumeData: Data) async throws(CurlewError) -> (URL, URLResponse) {
        try await download(resumingWith: resumeData).fileAndHead()
    }

    /// Returns the bytes of the body while it arrives, for any status. Releasing them cancels the request.
    public nonisolated func bytes(for request: URLRequest) async throws(CurlewError) -> (StreamBytes, URLResponse) {
        let stream = streamRequest(request).acceptingAnyStatus()
        let bytes = StreamBytes(of: stream)
        _ = try await stream.head()
        return (bytes, try stream.response.orMissing())
    }

    /// Returns the bytes of the body while it arrives, for any status. Releasing them cancels the request.
    public nonisolated func bytes(from url: URL) async throws(CurlewError) -> (StreamBytes, URLResponse) {
        try await bytes(for: URLRequest(url: url))
    }
}

extension DataRequest {
    fileprivate func dataAndHead() async throws(CurlewError) -> (Data, URLResponse) {
        let response = await response()
        return (try response.result.get() ?? Data(), try response.response.orMissing())
    }
}

extension DownloadRequest {
    fileprivate func fileAndHead() async throws(CurlewError) -> (URL, URLResponse) {
        let response = await response()
        guard let url = try response.result.get() else { throw Self.nothing }
        return (url, try response.response.orMissing())
    }

    private static var nothing: CurlewError {
        CurlewError(.internal, phase: .receive, reason: "A download without an error has no file.")
    }
}

extension HTTPURLResponse? {
    fileprivate func orMissing() throws(CurlewError) -> URLResponse {
        if let self { return self }
        throw CurlewError(.internal, phase: .receive, reason: "An exchange without an error has no response.")
    }
}
