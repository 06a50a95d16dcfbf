public import Curlew
public import Foundation

// Curlew's functions for forms, with the meaning that `usingThreshold` has in Alamofire. Files that import this module
// prefer them to Curlew's own.
//
// A form whose contents are shorter than the threshold is sent from memory: `uploadable` is `.data`. If the caller
// passes a threshold, a longer form is first written to a temporary file, which only this user can read and which is
// removed with the request: `.file`. Without a threshold, or if a part is an `InputStream` or the form is throttled,
// the form is streamed.
extension Session {
    /// Sends a form.
    public nonisolated func upload(
        multipartFormData: (MultipartFormData) -> Void,
        to url: any URLConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil,
        interceptor: (any Curlew.RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        fileManager: FileManager = .default,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            .filled(by: multipartFormData, fileManager),
            with: PlainRequest(url: url, method: method, headers: headers, modifier: requestModifier),
            storage: .asInAlamofire(below: encodingMemoryThreshold),
            interceptor,
            shouldAutomaticallyResume
        )
    }

    /// Sends a form.
    public nonisolated func upload(
        multipartFormData: (MultipartFormData) -> Void,
        with request: any URLRequestConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        interceptor: (any Curlew.RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        fileManager: FileManager = .default
    ) -> UploadRequest {
        upload(
            .filled(by: multipartFormData, fileManager),
            with: request,
            storage: .asInAlamofire(below: encodingMemoryThreshold),
            interceptor,
            shouldAutomaticallyResume
        )
    }

    /// Sends a form as it is when its first `URLRequest` has been made. Retries send the same form.
    public nonisolated func upload(
        multipartFormData: MultipartFormData,
        to url: any URLConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil,
        interceptor: (any Curlew.RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        fileManager: FileManager = .default,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            multipartFormData,
            with: PlainRequest(url: url, method: method, headers: headers, modifier: requestModifier),
            storage: .asInAlamofire(below: encodingMemoryThreshold),
            interceptor,
            shouldAutomaticallyResume
        )
    }

    /// Sends a form as it is when its first `URLRequest` has been made. Retries send the same form.
    public nonisolated func upload(
        multipartFormData: MultipartFormData,
        with request: any URLRequestConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        interceptor: (any Curlew.RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        fileManager: FileManager = .default
    ) -> UploadRequest {
        upload(
            multipartFormData,
            with: request,
            storage: .asInAlamofire(below: encodingMemoryThreshold),
            interceptor,
            shouldAutomaticallyResume
        )
    }
}

extension FormStorage {
    fileprivate static func asInAlamofire(below threshold: UInt64) -> FormStorage {
        // The default threshold means that the caller did not ask for a file, and streaming needs neither memory nor
        // disk.
        .memory(below: threshold, otherwiseInFile: threshold != MultipartFormData.encodingMemoryThreshold)
    }
}

// The free functions for forms, with `Session.default`: see FreeFunctions.swift.

/// Sends a multipart form.
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

/// Sends a multipart form.
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
