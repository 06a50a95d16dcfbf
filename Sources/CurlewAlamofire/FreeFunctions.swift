public import Curlew
public import Foundation

// Alamofire 4's free functions, on `Session.default`. Inside a type that has a method of the same name write
// `CurlewAlamofire.request(…)`.
//
// They are not in the module that every program imports: a program's own function of the same name would lose against
// them at the top level of its `main.swift`.

/// A request with parameters as a dictionary.
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

/// A request with parameters as an `Encodable` value.
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

/// A request that describes itself.
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

/// A download, with parameters as a dictionary.
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

/// A download, with parameters as an `Encodable` value.
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

/// A download that describes itself.
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

/// Goes on with an earlier download.
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

/// Sends a file, as long as it is when a try begins.
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

/// Sends a file, as long as it is when a try begins.
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

/// Sends what the stream gives, of unknown length. It can be read once: no retry, no redirect that keeps the body.
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

/// Sends what the stream gives, of unknown length. It can be read once: no retry, no redirect that keeps the body.
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

/// Sends the sequence's chunks as fast as the server takes them. It is read once.
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

/// Sends the sequence's chunks as fast as the server takes them. It is read once.
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

/// A stream, with parameters as an `Encodable` value.
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

/// A stream without parameters.
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

/// A stream that describes itself.
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

/// Sends a form.
public func upload(
    multipartFormData: (MultipartFormData) -> Void,
    to url: any URLConvertible,
    usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
    method: HTTPMethod = .post,
    headers: HTTPHeaders? = nil,
    interceptor: (any Curlew.RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil,
    fileManager: FileManager = .default,
    requestModifier: Session.RequestModifier? = nil
) -> UploadRequest {
    Session.default.upload(
        multipartFormData: multipartFormData,
        to: url,
        usingThreshold: encodingMemoryThreshold,
        method: method,
        headers: headers,
        interceptor: interceptor,
        shouldAutomaticallyResume: shouldAutomaticallyResume,
        fileManager: fileManager,
        requestModifier: requestModifier
    )
}

/// Sends a form.
public func upload(
    multipartFormData: (MultipartFormData) -> Void,
    with request: any URLRequestConvertible,
    usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
    interceptor: (any Curlew.RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil,
    fileManager: FileManager = .default
) -> UploadRequest {
    Session.default.upload(
        multipartFormData: multipartFormData,
        with: request,
        usingThreshold: encodingMemoryThreshold,
        interceptor: interceptor,
        shouldAutomaticallyResume: shouldAutomaticallyResume,
        fileManager: fileManager
    )
}

/// Sends a form as it is when its first `URLRequest` has been made; retries send the same.
public func upload(
    multipartFormData: MultipartFormData,
    to url: any URLConvertible,
    usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
    method: HTTPMethod = .post,
    headers: HTTPHeaders? = nil,
    interceptor: (any Curlew.RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil,
    fileManager: FileManager = .default,
    requestModifier: Session.RequestModifier? = nil
) -> UploadRequest {
    Session.default.upload(
        multipartFormData: multipartFormData,
        to: url,
        usingThreshold: encodingMemoryThreshold,
        method: method,
        headers: headers,
        interceptor: interceptor,
        shouldAutomaticallyResume: shouldAutomaticallyResume,
        fileManager: fileManager,
        requestModifier: requestModifier
    )
}

/// Sends a form as it is when its first `URLRequest` has been made; retries send the same.
public func upload(
    multipartFormData: MultipartFormData,
    with request: any URLRequestConvertible,
    usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
    interceptor: (any Curlew.RequestInterceptor)? = nil,
    shouldAutomaticallyResume: Bool? = nil,
    fileManager: FileManager = .default
) -> UploadRequest {
    Session.default.upload(
        multipartFormData: multipartFormData,
        with: request,
        usingThreshold: encodingMemoryThreshold,
        interceptor: interceptor,
        shouldAutomaticallyResume: shouldAutomaticallyResume,
        fileManager: fileManager
    )
}
