public import CurlewCore
internal import CurlewLocks
public import Dispatch
public import Foundation
public import FoundationNetworking

/// A request whose response body is written to a file.
///
///     let file = try await session.download(url, to: destination).file()
///
/// The bytes are written to a private file next to the destination. It is renamed in one step once the response was
/// accepted. A failed or cancelled download leaves no file, unless there is resume data, which refers to the received
/// part.
// SAFETY: every stored property is a `let` of a Sendable type; mutable state is protected by locks.
public final class DownloadRequest: Request, @unchecked Sendable {
    /// The starting point of a download.
    public enum Downloadable: Sendable {
        /// A new download, described by its request.
        case request(any URLRequestConvertible)
        /// The resume data of an earlier download.
        case resumeData(Data)
    }

    /// The starting point of this download.
    public let downloadable: Downloadable
    let destination: Destination?
    let downloadRecord: Lock<DownloadRecord>

    init(
        _ downloadable: Downloadable,
        session: Session,
        interceptor: __shared (any RequestInterceptor)?,
        shouldAutomaticallyResume: Bool?,
        destination: Destination?
    ) {
        self.downloadable = downloadable
        self.destination = destination
        var state = DownloadRecord()
        if case .resumeData(let data) = downloadable {
            do throws(CurlewError) {
                state.part = .unexamined(try ResumeData(data))
            } catch {
                state.configurationError = error
            }
        }
        downloadRecord = Lock(state)
        super.init(
            .download, session: session, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// The URL of the complete file. During validation the file still has its temporary name.
    public var fileURL: URL? { record.withLock { $0.body.fileURL } }

    /// The data with which a later request can continue this download. It exists after
    /// `cancel(producingResumeData: true)` and after a lost connection, if the server has identified the version of the
    /// file.
    public var resumeData: Data? { record.withLock { $0.error } == nil ? nil : kind.resumeData?(self) }

    /// The data with which another process could continue this download if this process ended now.
    ///
    /// Save it from time to time to survive a crash. A crash leaves the file that it refers to.
    public var currentResumeData: Data? {
        let written = record.withLock { $0.download.completed }
        guard let part = downloadRecord.withLock({ $0.part.growing }) else { return resumeData }
        let data = part.data(with: max(part.bytesAtStart, written))
        return data.bytesWritten > 0 ? data.encoded : nil
    }

    fileprivate func describedRequest(in run: Run) throws -> URLRequest {
        switch downloadable {
        case .request(let convertible): return try run.resolved(convertible.asURLRequest())
        case .resumeData(let data):
            let data = try ResumeData(data)
            var request = URLRequest(url: data.url)
            request.httpMethod = data.method.rawValue
            for field in data.headers { request.setValue(field.value, forHTTPHeaderField: field.name) }
            return request
        }
    }
}

/// Calls the closures that wait for a download's resume data before response handlers, even if the download has ended
/// without a run.
private struct ResumeDataReader: ResponseReader {
    func untilConsumed(of request: Request) async { await request.asDownload?.deliverResumeData() }
}

extension Request {
    /// The request, if it is a download. The steps of the kind below get a `Request`, but only of downloads.
    var asDownload: DownloadRequest? { self as? DownloadRequest }
}

extension RequestKind {
    fileprivate static let download = RequestKind(
        source: .own { request, run in
            guard let download = request.asDownload else { throw NoDescription() }
            return try download.resuming(download.describedRequest(in: run))
        },
        purpose: .file,
        makeDelegate: { exchange in
            guard let download = exchange.request.asDownload else {
                return DataTaskDelegate(limit: exchange.request.bodyLimit)
            }
            return DownloadTaskDelegate(download)
        },
        reader: ResumeDataReader(),
        cleanUp: { await $0.asDownload?.endParts() },
        resumeData: { request in
            let isCancelled = request.isCancelled
            return request.asDownload?.downloadRecord.withLock { record in
                isCancelled && !record.onCancel.keepsPart ? nil : record.part.resumable?.encoded
            }
        }
    )
}

// Awaiting methods run the download in the awaiting task, by the rules for data requests.
extension DownloadRequest {
    /// Returns the URL of the downloaded file.
    public func file() async throws(CurlewError) -> URL {
        givesFileAway()
        let result = try acceptable(await driveOrJoin(beginAwaiting(), checksStatus: true))
        guard let url = result.body.fileURL else {
            throw CurlewError.fileMissing(in: .decoding).located(in: result)
        }
        return url
    }

    /// Reads the downloaded file into memory. A file that is larger than `maximumBodySize` is an error, as with
    /// `string` and `decode`. If one of these methods fails, a file without a destination is removed.
    public func data() async throws(CurlewError) -> Data {
        try await read { _, data throws(CurlewError) in data }
    }

    /// Reads the downloaded file as text.
    // Disfavoured, so that a program's own `string()` with other parameters is not ambiguous.
    @_disfavoredOverload
    public func string(encoding: String.Encoding? = nil) async throws(CurlewError) -> String {
        try await read { result, data throws(CurlewError) in
            try result.text(from: data, encoding: encoding)
        }
    }

    /// Decodes the downloaded file.
    public func decode<T: Decodable & Sendable>(
        _ type: T.Type = T.self,
        decoder: any DataDecoder = FastJSONDecoder()
    ) async throws(CurlewError) -> T {
        try await read { result, data throws(CurlewError) in
            try result.value(from: data, decoder: decoder)
        }
    }

    /// Returns the whole response, whatever its status. It never throws, and validates only if you added validators. If
    /// another awaiting method has run the request and rejected the status, the file is gone and the result is its
    /// error.
    public func response() async -> DownloadResponse<URL?, CurlewError> {
        givesFileAway()
        let result = await driveOrJoin(beginAwaiting(), checksStatus: false)
        return DownloadResponse(of: result, result: result.unserializedFile)
    }

    /// Returns a value made from the file. If that fails, a file without a destination is removed, unless another call
    /// wants it.
    private func read<Value: Sendable>(
        _ make: @escaping @Sendable (RunResult, Data) throws(CurlewError) -> Value
    ) async throws(CurlewError) -> Value {
        downloadRecord.withLock { $0.reading.begins() }
        do throws(CurlewError) {
            let value = try await serialized { result async throws(CurlewError) in
                do throws(CurlewError) { return try make(result, try await self.contents(of: result)) } catch {
                    self.downloadRecord.withLock { $0.reading.fails() }
                    throw error
                }
            }
            _ = downloadRecord.withLock { $0.reading.ends(withValue: true) }
            return value
        } catch {
            if downloadRecord.withLock({ $0.reading.ends(withValue: false) }) { await dropUnplacedFile() }
            throw error
        }
    }

    private func contents(of result: RunResult) async throws(CurlewError) -> Data {
        let (url, limit) = (result.body.fileURL, bodyLimit)
        return try await FileLane.next().run { () throws(CurlewError) -> Data in
            do {
                return try DownloadedFile.contents(of: url, limit: limit)
            } catch {
                throw ErrorWrapping.serialization(error).located(in: result)
            }
        }
    }
}

// Responses are validated only if a request asks for it; without validations, awaiting methods check the status.
// Validations run in order when the file is complete and before it is moved to its destination; the first failure is
// the result.
extension DownloadRequest {
    /// A closure that validates a response.
    public typealias Validation =
        @Sendable (_ request: URLRequest?, _ response: HTTPURLResponse, _ fileURL: URL?) -> ValidationResult

    /// Adds a validator of your own.
    @discardableResult
    public func validate(_ validation: @escaping Validation) -> Self {
        addValidation { urlRequest, response, body in
            guard let foundationResponse = response.value else { return .success(()) }
            return validation(urlRequest, foundationResponse, body.fileURL)
        }
    }

    /// Accepts only these statuses.
    @discardableResult
    public func validate<S: Sequence & SendableMetatype>(statusCode acceptable: S) -> Self where S.Element == Int {
        acceptStatuses(acceptable)
    }

    /// Accepts only these content types, if there is a body. `*` is a wildcard.
    @discardableResult
    public func validate<S: Sequence & SendableMetatype>(
        contentType acceptable: @escaping @Sendable @autoclosure () -> S
    ) -> Self where S.Element == String {
        acceptContentTypes { _ in acceptable() }
    }

    /// Accepts only statuses in 200..<300 and the content types in the request's `Accept` field.
    @discardableResult
    public func validate() -> Self { acceptUsualResponses() }
}

// Response handlers, as for data requests. Serializers that make values from data read the whole file into memory.
extension DownloadRequest {
    /// Calls the handler with the URL of the downloaded file.
    @discardableResult
    public func response(
        queue: DispatchQueue? = nil,
        completionHandler: @escaping @Sendable (DownloadResponse<URL?, CurlewError>) -> Void
    ) -> Self {
        addUnserialized(CallbackDelivery(queue: queue, of: self), completionHandler)
        return self
    }

    /// Calls the handler with the value that the serializer makes from the file.
    @discardableResult
    public func response<Serializer: DownloadResponseSerializerProtocol>(
        queue: DispatchQueue? = nil,
        responseSerializer: Serializer,
        completionHandler: @escaping @Sendable (DownloadResponse<Serializer.SerializedObject, CurlewError>) -> Void
    ) -> Self {
        addSerialized(CallbackDelivery(queue: queue, of: self), responseSerializer, completionHandler)
        return self
    }

    /// Calls the handler with the value that the serializer makes from the file's bytes.
    @discardableResult
    public func response<Serializer: ResponseSerializer>(
        queue: DispatchQueue? = nil,
        responseSerializer: Serializer,
        completionHandler: @escaping @Sendable (DownloadResponse<Serializer.SerializedObject, CurlewError>) -> Void
    ) -> Self {
        addSerialized(CallbackDelivery(queue: queue, of: self), responseSerializer, completionHandler)
        return self
    }

    /// Calls the handler with the URL of the file. A download without a file is an error.
    @discardableResult
    public func responseURL(
        queue: DispatchQueue? = nil,
        completionHandler: @escaping @Sendable (DownloadResponse<URL, CurlewError>) -> Void
    ) -> Self {
        response(queue: queue, responseSerializer: URLResponseSerializer(), completionHandler: completionHandler)
    }

    /// Calls the handler with the bytes of the file.
    @discardableResult
    public func responseData(
        queue: DispatchQueue? = nil,
        dataPreprocessor: any DataPreprocessor = DataResponseSerializer.defaultDataPreprocessor,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods,
        completionHandler: @escaping @Sendable (DownloadResponse<Data, CurlewError>) -> Void
    ) -> Self {
        response(
            queue: queue,
            responseSerializer: DataResponseSerializer(
                dataPreprocessor: dataPreprocessor,
                emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods
            ),
            completionHandler: completionHandler
        )
    }

    /// Calls the handler with the file's contents as text.
    @discardableResult
    public func responseString(
        queue: DispatchQueue? = nil,
        dataPreprocessor: any DataPreprocessor = StringResponseSerializer.defaultDataPreprocessor,
        encoding: String.Encoding? = nil,
        emptyResponseCodes: Set<Int> = StringResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = StringResponseSerializer.defaultEmptyRequestMethods,
        completionHandler: @escaping @Sendable (DownloadResponse<String, CurlewError>) -> Void
    ) -> Self {
        response(
            queue: queue,
            responseSerializer: StringResponseSerializer(
                dataPreprocessor: dataPreprocessor,
                encoding: encoding,
                emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods
            ),
            completionHandler: completionHandler
        )
    }

    /// Calls the handler with the value decoded from the file.
    @discardableResult
    public func responseDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self,
        queue: DispatchQueue? = nil,
        dataPreprocessor: any DataPreprocessor = DecodableResponseSerializer<Value>.defaultDataPreprocessor,
        decoder: any DataDecoder = FastJSONDecoder(),
        emptyResponseCodes: Set<Int> = DecodableResponseSerializer<Value>.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DecodableResponseSerializer<Value>.defaultEmptyRequestMethods,
        completionHandler: @escaping @Sendable (DownloadResponse<Value, CurlewError>) -> Void
    ) -> Self {
        response(
            queue: queue,
            responseSerializer: DecodableResponseSerializer<Value>(
                dataPreprocessor: dataPreprocessor,
                decoder: decoder,
                emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods
            ),
            completionHandler: completionHandler
        )
    }
}

extension DownloadRequest {
    func addUnserialized(
        _ delivery: CallbackDelivery,
        _ completion: @escaping @Sendable (DownloadResponse<URL?, CurlewError>) -> Void
    ) {
        givesFileAway()
        addHandler(delivery, serializes: false, completion) { (monitor, request: DownloadRequest, response) in
            monitor.request(request, didParseResponse: response, using: nil)
        } make: {
            try $0.unserializedFile.get()
        }
    }

    package func addSerialized<Serializer: DownloadResponseSerializerProtocol>(
        _ delivery: CallbackDelivery,
        _ serializer: Serializer,
        _ completion: @escaping @Sendable (DownloadResponse<Serializer.SerializedObject, CurlewError>) -> Void
    ) {
        givesFileAway()
        addHandler(delivery, completion) { (monitor, request: DownloadRequest, response) in
            monitor.request(request, didParseResponse: response, using: serializer)
        } make: { [weak self] result in
            try DownloadedFile.$currentLimit.withValue(self?.bodyLimit) {
                try serializer.serializeDownload(
                    request: result.request?.urlRequest, response: result.response?.value,
                    fileURL: result.body.fileURL, error: result.sharedError)
            }
        }
    }
}

// `cancel()` leaves no file. These methods keep the received part if it can be continued: the server must have
// identified the version of the file by a strong entity tag or a date, and sent it without a content coding.
extension DownloadRequest {
    /// Cancels the download, and keeps the received part for a later request if that is asked for.
    ///
    /// The data is in `resumeData`, and in the response, when the request has ended.
    @discardableResult
    public func cancel(producingResumeData shouldProduceResumeData: Bool) -> Self {
        if shouldProduceResumeData { downloadRecord.withLock { $0.onCancel.keepPart() } }
        return cancel()
    }

    /// Cancels the download and passes the resume data to a closure; `nil` if the download cannot be continued.
    ///
    /// The closure is called once, on an internal queue, before response handlers.
    @discardableResult
    public func cancel(byProducingResumeData completionHandler: @escaping @Sendable (_ data: Data?) -> Void) -> Self {
        let (lane, isLate) = downloadRecord.withLock { record in
            (record.onCancel.add(completionHandler), record.hasDeliveredResumeData)
        }
        cancel()
        // The run calls the closure, unless it has ended or has already called the closures that were added before.
        if isLate || record.withLock({ $0.lifecycle.result != nil }) { lane.enqueue { [self] in callOnResumeData() } }
        return self
    }

    /// Calls the closures that wait for resume data, and returns after them. Closures that another caller has already
    /// removed from the record are being called on the same lane, so they too have returned by then.
    func deliverResumeData() async {
        let lane = downloadRecord.withLock { record in
            record.hasDeliveredResumeData = true
            return record.onCancel.lane
        }
        await lane?.carryOut { [self] in callOnResumeData() }
    }

    private func callOnResumeData() {
        let closures = downloadRecord.withLock { $0.onCancel.takeClosures() }
        guard !closures.isEmpty else { return }
        let data = resumeData
        for closure in closures { closure(data) }
    }
}
