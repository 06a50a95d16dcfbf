public import CurlewCore
public import Foundation
internal import FoundationNetworking

// Uploads: the body does not consist of parameters. Files and forms are read while they are sent.
extension Session {
    // MARK: Data

    /// Creates an upload that sends bytes.
    public nonisolated func upload(
        _ data: Data,
        to convertible: any URLConvertible,
        method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        fileManager: FileManager = .default,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            data,
            with: PlainRequest(url: convertible, method: method, headers: headers, modifier: requestModifier),
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume,
            fileManager: fileManager
        )
    }

    /// Creates an upload that sends bytes.
    public nonisolated func upload(
        _ data: Data,
        with convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        fileManager: FileManager = .default
    ) -> UploadRequest {
        upload(convertible, interceptor, shouldAutomaticallyResume) { .data(data) }
    }

    // MARK: Files

    /// Creates an upload that sends a file. Its length is determined when an attempt begins.
    public nonisolated func upload(
        _ fileURL: URL,
        to convertible: any URLConvertible,
        method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        fileManager: FileManager = .default,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            fileURL,
            with: PlainRequest(url: convertible, method: method, headers: headers, modifier: requestModifier),
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume,
            fileManager: fileManager
        )
    }

    /// Creates an upload that sends a file. Its length is determined when an attempt begins.
    public nonisolated func upload(
        _ fileURL: URL,
        with convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        fileManager: FileManager = .default
    ) -> UploadRequest {
        upload(convertible, interceptor, shouldAutomaticallyResume) { .file(fileURL, shouldRemove: false) }
    }

    // MARK: Streams

    /// Creates an upload that sends a stream of unknown length. A stream can be read once: the request is not retried,
    /// and no redirect that keeps the body is followed.
    public nonisolated func upload(
        _ stream: sending InputStream,
        to convertible: any URLConvertible,
        method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        fileManager: FileManager = .default,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            stream,
            with: PlainRequest(url: convertible, method: method, headers: headers, modifier: requestModifier),
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume,
            fileManager: fileManager
        )
    }

    /// Creates an upload that sends a stream of unknown length. A stream can be read once: the request is not retried,
    /// and no redirect that keeps the body is followed.
    public nonisolated func upload(
        _ stream: sending InputStream,
        with convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        fileManager: FileManager = .default
    ) -> UploadRequest {
        let body = UploadRequest.Uploadable(BodySource.inputStream(stream))
        return upload(convertible, interceptor, shouldAutomaticallyResume) { body }
    }

    /// Creates an upload that sends the chunks of a sequence as fast as the server accepts them. The sequence is read
    /// once.
    public nonisolated func upload<S: AsyncSequence & Sendable>(
        _ stream: S,
        to convertible: any URLConvertible,
        method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest where S.Element == Data {
        upload(
            stream,
            with: PlainRequest(url: convertible, method: method, headers: headers, modifier: requestModifier),
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume
        )
    }

    /// Creates an upload that sends the chunks of a sequence as fast as the server accepts them. The sequence is read
    /// once.
    public nonisolated func upload<S: AsyncSequence & Sendable>(
        _ stream: S,
        with convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest where S.Element == Data {
        let body = UploadRequest.Uploadable(BodySource.sequence(stream))
        return upload(convertible, interceptor, shouldAutomaticallyResume) { body }
    }

    package nonisolated func upload(
        _ convertible: any URLRequestConvertible,
        _ interceptor: (any RequestInterceptor)?,
        _ shouldAutomaticallyResume: Bool?,
        uploadable: @escaping @Sendable () throws -> UploadRequest.Uploadable
    ) -> UploadRequest {
        let request = UploadRequest(
            convertible,
            session: self,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume,
            uploadable: uploadable
        )
        configuration.requestWasCreated?(request)
        return request
    }
}

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

    /// Creates an upload that sends a form. `storage` determines where its body is kept.
    package nonisolated func upload(
        _ form: MultipartFormData,
        with request: any URLRequestConvertible,
        storage: FormStorage,
        _ interceptor: (any RequestInterceptor)?,
        _ shouldAutomaticallyResume: Bool?
    ) -> UploadRequest {
        let body = FormBody(form, storage: storage)
        let upload = UploadRequest(
            FormRequest(request: request, contentType: form.contentType),
            session: self,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume,
            preparation: body.preparation
        ) { try body.uploadable() }
        configuration.requestWasCreated?(upload)
        return upload
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
