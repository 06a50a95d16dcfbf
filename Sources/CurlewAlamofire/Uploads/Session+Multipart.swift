public import Curlew
public import Foundation

// Curlew's functions for forms, in which `usingThreshold` means what it does in Alamofire. They are preferred to Curlew's own
// in files that import this module.
//
// A form whose contents are shorter than the threshold goes out from memory: `uploadable` is `.data`. With a threshold of
// your own a longer one is written into a temporary file first, which only this user can read and which goes with the
// request: `.file`. Without one, and where a part is an `InputStream` or the form is throttled, it is streamed.
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

    /// Sends a form as it is when its first `URLRequest` has been made; retries send the same.
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

    /// Sends a form as it is when its first `URLRequest` has been made; retries send the same.
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
        // A call without a threshold of its own did not ask for a file, and streaming takes neither memory nor disk.
        .memory(below: threshold, otherwiseInFile: threshold != MultipartFormData.encodingMemoryThreshold)
    }
}
