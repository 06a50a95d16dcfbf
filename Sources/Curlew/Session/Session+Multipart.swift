public import CurlewCore
public import Foundation
internal import FoundationNetworking

// Forms. Every form is streamed with an exact Content-Length. `usingThreshold` has no effect, and exists for code that
// was written for Alamofire. CurlewAlamofire has the same functions, which are preferred and observe it.
extension Session {
    /// Creates an upload that sends a form.
    @_disfavoredOverload
    public nonisolated func upload(
        multipartFormData: (MultipartFormData) -> Void,
        to url: any URLConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        fileManager: FileManager = .default,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            .filled(by: multipartFormData, fileManager),
            with: PlainRequest(url: url, method: method, headers: headers, modifier: requestModifier),
            storage: .none,
            interceptor,
            shouldAutomaticallyResume
        )
    }

    /// Creates an upload that sends a form.
    @_disfavoredOverload
    public nonisolated func upload(
        multipartFormData: (MultipartFormData) -> Void,
        with request: any URLRequestConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        fileManager: FileManager = .default
    ) -> UploadRequest {
        upload(
            .filled(by: multipartFormData, fileManager),
            with: request,
            storage: .none,
            interceptor,
            shouldAutomaticallyResume
        )
    }

    /// Creates an upload that sends a form as it is when the first `URLRequest` has been created. Retries send the same
    /// form.
    @_disfavoredOverload
    public nonisolated func upload(
        multipartFormData: MultipartFormData,
        to url: any URLConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        fileManager: FileManager = .default,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            multipartFormData,
            with: PlainRequest(url: url, method: method, headers: headers, modifier: requestModifier),
            storage: .none,
            interceptor,
            shouldAutomaticallyResume
        )
    }

    /// Creates an upload that sends a form as it is when the first `URLRequest` has been created. Retries send the same
    /// form.
    @_disfavoredOverload
    public nonisolated func upload(
        multipartFormData: MultipartFormData,
        with request: any URLRequestConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        fileManager: FileManager = .default
    ) -> UploadRequest {
        upload(
            multipartFormData,
            with: request,
            storage: .none,
            interceptor,
            shouldAutomaticallyResume
        )
    }

    /// Creates an upload that sends a form. `storage` determines the place of its body.
    package nonisolated func upload(
        _ form: MultipartFormData,
        with request: any URLRequestConvertible,
        storage: FormStorage,
        _ interceptor: (any RequestInterceptor)?,
        _ shouldAutomaticallyResume: Bool?
    ) -> UploadRequest {
        let body = FormBody(form, storage: storage)
        return UploadRequest(
            FormRequest(request: request, contentType: form.contentType),
            session: self,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume,
            preparation: body.preparation
        ) { try body.uploadable() }
        .wasCreated()
    }
}

/// A request whose Content-Type names the form's boundary.
struct FormRequest: URLRequestConvertible {
    let request: any URLRequestConvertible
    let contentType: String

    func asURLRequest() throws -> URLRequest {
        var made = try request.asURLRequest()
        made.setValue(contentType, forHTTPHeaderField: "Content-Type")
        return made
    }
}
