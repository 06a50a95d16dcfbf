public import Curlew
public import Foundation

// Free functions in the way of Alamofire 4, with the labels of Alamofire 5. They use `Session.default`. Inside a type that
// has a method of the same name, write `CurlewAlamofire.request(…)`.
//
// They are not in the module that every program imports: at the top level of `main.swift`, a program's own function of
// the same name would lose against them. Those that send forms are in Uploads/Session+Multipart.swift.

/// Creates a request with parameters as a dictionary.
public func request(
    _ convertible: any URLConvertible,
    method: HTTPMethod = .get,
    parameters: Parameters? = nil,
    encoding: any ParameterEncoding = URLEncoding.default,
    headers: HTTPHeaders? = nil,
    interceptor: (any Curlew.RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil,
    requestModifier: Session.RequestModifier? = nil
) -> DataRequest {
    Session.default.request(
        convertible,
        method: method,
        parameters: parameters,
        encoding: encoding,
        headers: headers,
        interceptor: interceptor,
        shouldAutomaticallyResume: shouldAutomaticallyResume,
        requestModifier: requestModifier
    )
}

/// Creates a request with parameters as an `Encodable` value.
public func request<P: Encodable & Sendable>(
    _ convertible: any URLConvertible,
    method: HTTPMethod = .get,
    parameters: P? = nil,
    encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default,
    headers: HTTPHeaders? = nil,
    interceptor: (any Curlew.RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil,
    requestModifier: Session.RequestModifier? = nil
) -> DataRequest {
    Session.default.request(
        convertible,
        method: method,
        parameters: parameters,
        encoder: encoder,
        headers: headers,
        interceptor: interceptor,
        shouldAutomaticallyResume: shouldAutomaticallyResume,
        requestModifier: requestModifier
    )
}

/// Creates a request from a value that describes it.
public func request(
    _ convertible: any URLRequestConvertible,
    interceptor: (any Curlew.RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil
) -> DataRequest {
    Session.default.request(
        convertible,
        interceptor: interceptor,
        shouldAutomaticallyResume: shouldAutomaticallyResume
    )
}

/// Creates a download with parameters as a dictionary.
public func download(
    _ convertible: any URLConvertible,
    method: HTTPMethod = .get,
    parameters: Parameters? = nil,
    encoding: any ParameterEncoding = URLEncoding.default,
    headers: HTTPHeaders? = nil,
    interceptor: (any Curlew.RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil,
    requestModifier: Session.RequestModifier? = nil,
    to destination: DownloadRequest.Destination? = nil
) -> DownloadRequest {
    Session.default.download(
        convertible,
        method: method,
        parameters: parameters,
        encoding: encoding,
        headers: headers,
        interceptor: interceptor,
        shouldAutomaticallyResume: shouldAutomaticallyResume,
        requestModifier: requestModifier,
        to: destination
    )
}

/// Creates a download with parameters as an `Encodable` value.
public func download<P: Encodable & Sendable>(
    _ convertible: any URLConvertible,
    method: HTTPMethod = .get,
    parameters: P? = nil,
    encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default,
    headers: HTTPHeaders? = nil,
    interceptor: (any Curlew.RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil,
    requestModifier: Session.RequestModifier? = nil,
    to destination: DownloadRequest.Destination? = nil
) -> DownloadRequest {
    Session.default.download(
        convertible,
        method: method,
        parameters: parameters,
        encoder: encoder,
        headers: headers,
        interceptor: interceptor,
        shouldAutomaticallyResume: shouldAutomaticallyResume,
        requestModifier: requestModifier,
        to: destination
    )
}

/// Creates a download from a value that describes it.
public func download(
    _ convertible: any URLRequestConvertible,
    interceptor: (any Curlew.RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil,
    to destination: DownloadRequest.Destination? = nil
) -> DownloadRequest {
    Session.default.download(
        convertible,
        interceptor: interceptor,
        shouldAutomaticallyResume: shouldAutomaticallyResume,
        to: destination
    )
}

/// Continues an earlier download.
public func download(
    resumingWith data: Data,
    interceptor: (any Curlew.RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil,
    to destination: DownloadRequest.Destination? = nil
) -> DownloadRequest {
    Session.default.download(
        resumingWith: data,
        interceptor: interceptor,
        shouldAutomaticallyResume: shouldAutomaticallyResume,
        to: destination
    )
}

/// Sends bytes.
public func upload(
    _ data: Data,
    to convertible: any URLConvertible,
    method: HTTPMethod = .post,
    headers: HTTPHeaders? = nil,
    interceptor: (any Curlew.RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil,
    fileManager: FileManager = .default,
    requestModifier: Session.RequestModifier? = nil
) -> UploadRequest {
    Session.default.upload(
        data,
        to: convertible,
        method: method,
        headers: headers,
        interceptor: interceptor,
        shouldAutomaticallyResume: shouldAutomaticallyResume,
        fileManager: fileManager,
        requestModifier: requestModifier
    )
}

/// Sends bytes.
public func upload(
    _ data: Data,
    with convertible: any URLRequestConvertible,
    interceptor: (any Curlew.RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil,
    fileManager: FileManager = .default
) -> UploadRequest {
    Session.default.upload(
        data,
        with: convertible,
        interceptor: interceptor,
        shouldAutomaticallyResume: shouldAutomaticallyResume,
        fileManager: fileManager
    )
}

/// Sends a file, with the length that it has when an attempt begins.
public func upload(
    _ fileURL: URL,
    to convertible: any URLConvertible,
    method: HTTPMethod = .post,
    headers: HTTPHeaders? = nil,
    interceptor: (any Curlew.RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil,
    fileManager: FileManager = .default,
    requestModifier: Session.RequestModifier? = nil
) -> UploadRequest {
    Session.default.upload(
        fileURL,
        to: convertible,
        method: method,
        headers: headers,
        interceptor: interceptor,
        shouldAutomaticallyResume: shouldAutomaticallyResume,
        fileManager: fileManager,
        requestModifier: requestModifier
    )
}

/// Sends a file, with the length that it has when an attempt begins.
public func upload(
    _ fileURL: URL,
    with convertible: any URLRequestConvertible,
    interceptor: (any Curlew.RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil,
    fileManager: FileManager = .default
) -> UploadRequest {
    Session.default.upload(
        fileURL,
        with: convertible,
        interceptor: interceptor,
        shouldAutomaticallyResume: shouldAutomaticallyResume,
        fileManager: fileManager
    )
}

/// Sends the bytes of a stream, whose length is unknown. The stream can be read once, so the request cannot be retried
/// and cannot follow a redirect that keeps the body.
public func upload(
    _ stream: sending InputStream,
    to convertible: any URLConvertible,
    method: HTTPMethod = .post,
    headers: HTTPHeaders? = nil,
    interceptor: (any Curlew.RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil,
    fileManager: FileManager = .default,
    requestModifier: Session.RequestModifier? = nil
) -> UploadRequest {
    Session.default.upload(
        stream,
        to: convertible,
        method: method,
        headers: headers,
        interceptor: interceptor,
        shouldAutomaticallyResume: shouldAutomaticallyResume,
        fileManager: fileManager,
        requestModifier: requestModifier
    )
}

/// Sends the bytes of a stream, whose length is unknown. The stream can be read once, so the request cannot be retried
/// and cannot follow a redirect that keeps the body.
public func upload(
    _ stream: sending InputStream,
    with convertible: any URLRequestConvertible,
    interceptor: (any Curlew.RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil,
    fileManager: FileManager = .default
) -> UploadRequest {
    Session.default.upload(
        stream,
        with: convertible,
        interceptor: interceptor,
        shouldAutomaticallyResume: shouldAutomaticallyResume,
        fileManager: fileManager
    )
}

/// Sends the sequence's chunks as fast as the server accepts them. The sequence is read once.
public func upload<S: AsyncSequence & Sendable>(
    _ stream: S,
    to convertible: any URLConvertible,
    method: HTTPMethod = .post,
    headers: HTTPHeaders? = nil,
    interceptor: (any Curlew.RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil,
    requestModifier: Session.RequestModifier? = nil
) -> UploadRequest where S.Element == Data {
    Session.default.upload(
        stream,
        to: convertible,
        method: method,
        headers: headers,
        interceptor: interceptor,
        shouldAutomaticallyResume: shouldAutomaticallyResume,
        requestModifier: requestModifier
    )
}

/// Sends the sequence's chunks as fast as the server accepts them. The sequence is read once.
public func upload<S: AsyncSequence & Sendable>(
    _ stream: S,
    with convertible: any URLRequestConvertible,
    interceptor: (any Curlew.RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil
) -> UploadRequest where S.Element == Data {
    Session.default.upload(
        stream,
        with: convertible,
        interceptor: interceptor,
        shouldAutomaticallyResume: shouldAutomaticallyResume
    )
}

/// Creates a stream with parameters as an `Encodable` value.
public func streamRequest<P: Encodable & Sendable>(
    _ convertible: any URLConvertible,
    method: HTTPMethod = .get,
    parameters: P? = nil,
    encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default,
    headers: HTTPHeaders? = nil,
    automaticallyCancelOnStreamError: Bool = false,
    interceptor: (any Curlew.RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil,
    requestModifier: Session.RequestModifier? = nil
) -> DataStreamRequest {
    Session.default.streamRequest(
        convertible,
        method: method,
        parameters: parameters,
        encoder: encoder,
        headers: headers,
        automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
        interceptor: interceptor,
        shouldAutomaticallyResume: shouldAutomaticallyResume,
        requestModifier: requestModifier
    )
}

/// Creates a stream without parameters.
public func streamRequest(
    _ convertible: any URLConvertible,
    method: HTTPMethod = .get,
    headers: HTTPHeaders? = nil,
    automaticallyCancelOnStreamError: Bool = false,
    interceptor: (any Curlew.RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil,
    requestModifier: Session.RequestModifier? = nil
) -> DataStreamRequest {
    Session.default.streamRequest(
        convertible,
        method: method,
        headers: headers,
        automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
        interceptor: interceptor,
        shouldAutomaticallyResume: shouldAutomaticallyResume,
        requestModifier: requestModifier
    )
}

/// Creates a stream from a value that describes it.
public func streamRequest(
    _ convertible: any URLRequestConvertible,
    automaticallyCancelOnStreamError: Bool = false,
    interceptor: (any Curlew.RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil
) -> DataStreamRequest {
    Session.default.streamRequest(
        convertible,
        automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
        interceptor: interceptor,
        shouldAutomaticallyResume: shouldAutomaticallyResume
    )
}
