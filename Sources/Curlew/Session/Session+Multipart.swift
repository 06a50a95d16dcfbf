public import CurlewCore
internal import CurlewLocks
public import Foundation
internal import FoundationNetworking

// Forms. Every form is streamed with an exact Content-Length; `usingThreshold` is accepted for the sake of code
// written for Alamofire, and has no effect.
extension Session {
    /// Sends a form.
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
        let form = MultipartFormData(fileManager: fileManager)
        multipartFormData(form)
        return upload(
            multipartFormData: form,
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
    public nonisolated func upload(
        multipartFormData: (MultipartFormData) -> Void,
        with request: any URLRequestConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        fileManager: FileManager = .default
    ) -> UploadRequest {
        let form = MultipartFormData(fileManager: fileManager)
        multipartFormData(form)
        return upload(
            multipartFormData: form,
            with: request,
            usingThreshold: encodingMemoryThreshold,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume,
            fileManager: fileManager
        )
    }

    /// Sends a form as it is when its first `URLRequest` has been made; retries send the same.
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
            multipartFormData: multipartFormData,
            with: PlainRequest(url: url, method: method, headers: headers, modifier: requestModifier),
            usingThreshold: encodingMemoryThreshold,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume,
            fileManager: fileManager
        )
    }

    /// Sends a form as it is when its first `URLRequest` has been made; retries send the same.
    public nonisolated func upload(
        multipartFormData: MultipartFormData,
        with request: any URLRequestConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        fileManager: FileManager = .default
    ) -> UploadRequest {
        let body = FormBody(multipartFormData)
        let form = FormRequest(request: request, contentType: multipartFormData.contentType)
        return upload(form, interceptor, shouldAutomaticallyResume) { UploadRequest.Uploadable(try body.source()) }
    }
}

/// A form's body, made once: what was read of a stream cannot be read again.
final class FormBody: Sendable {
    private let form: MultipartFormData
    private let made = Lock<Result<BodySource, CurlewError>?>(nil)

    init(_ form: MultipartFormData) { self.form = form }

    func source() throws(CurlewError) -> BodySource {
        if let made = made.withLock({ $0 }) { return try made.get() }
        // Without the lock: this reads files. A request makes one try after the other.
        let new: Result<BodySource, CurlewError>
        do throws(CurlewError) { new = .success(try form.body()) } catch { new = .failure(error) }
        made.withLock { $0 = $0 ?? new }
        return try new.get()
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
