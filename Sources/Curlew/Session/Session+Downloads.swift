public import CurlewCore
public import Foundation

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
        DownloadRequest(
            downloadable,
            session: self,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume,
            destination: destination
        )
        .wasCreated()
    }
}
