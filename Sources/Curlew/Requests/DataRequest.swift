public import CurlewCore
internal import CurlewLocks
public import Dispatch
public import Foundation
public import FoundationNetworking

/// A request whose response body is kept in memory.
///
///     let user = try await session.request(url).decode(User.self)
///
/// Or with handlers, in Alamofire's way: `session.request(url).validate().responseDecodable(of: User.self) { … }`.
// SAFETY: every stored property is a `let` of a Sendable type; mutable state is protected by locks.
public class DataRequest: Request, @unchecked Sendable {
    /// The description of the request, converted to a `URLRequest` for every attempt.
    public var convertible: any URLRequestConvertible {
        switch kind.source {
        case .plain(let plain): plain
        case .convertible(let convertible): convertible
        case .own: NoDescription()
        }
    }

    /// The part of the body that has arrived. `nil` if there is none.
    public var data: Data? {
        switch record.withLock({ $0.exchange?.withLock { $0.reception } ?? .none }) {
        case .delegated(let delegate): (delegate as? DataTaskDelegate)?.bytes
        case .closed(let body): body.contents
        case .none, .provisional, .asked, .refused: nil
        }
    }

    /// The file of the body, if the request was turned into a download: see
    /// `Request.ResponseDisposition.becomeDownload`.
    public var fileURL: URL? { record.withLock { $0.body.fileURL } }

    /// Returns the file of the body. Throws if the request was not turned into a download.
    public func file() async throws(CurlewError) -> URL {
        let result = try acceptable(await driveOrJoin(beginAwaiting(), checksStatus: true))
        guard let url = result.body.fileURL else {
            throw CurlewError.fileMissing(in: .decoding).located(in: result)
        }
        return url
    }
}

// Awaiting methods run the request in the awaiting task. A status outside 200..<300 is an error unless the request has
// its own `validate(…)` or `acceptingAnyStatus()`. Cancelling the first task that awaits cancels the request; a later
// one only stops waiting.
extension DataRequest {
    /// Returns the body.
    public func data() async throws(CurlewError) -> Data {
        let result = try acceptable(await driveOrJoin(beginAwaiting(), checksStatus: true))
        return result.body.contents ?? Data()
    }

    /// Returns the body as text. Without `encoding`, the charset of the response is used. If it names none, the body is
    /// read as UTF-8, or as ISO Latin 1 if it is not valid UTF-8.
    // Disfavoured, so that a program's own `string()` with other parameters is not ambiguous.
    @_disfavoredOverload
    public func string(encoding: String.Encoding? = nil) async throws(CurlewError) -> String {
        try await serialized { result throws(CurlewError) in
            try result.text(from: result.body.contents, encoding: encoding)
        }
    }

    /// Decodes the body.
    public func decode<T: Decodable & Sendable>(
        _ type: T.Type = T.self,
        decoder: any DataDecoder = FastJSONDecoder()
    ) async throws(CurlewError) -> T {
        try await serialized { result throws(CurlewError) in
            try result.value(from: result.body.contents, decoder: decoder)
        }
    }

    /// Returns the whole response, whatever its status. It never throws, and validates only if you added validators.
    public func response() async -> DataResponse<Data?, CurlewError> {
        let result = await driveOrJoin(beginAwaiting(), checksStatus: false)
        return DataResponse(of: result, result: result.unserializedData)
    }
}

// Responses are validated only if a request asks for it; without validations, awaiting methods check the status.
// Validations run in order when the body is complete, and the first failure is the result.
extension DataRequest {
    /// A closure that validates a response.
    public typealias Validation =
        @Sendable (_ request: URLRequest?, _ response: HTTPURLResponse, _ data: Data?) -> ValidationResult

    /// Adds a validator of your own.
    @discardableResult
    public func validate(_ validation: @escaping Validation) -> Self {
        addValidation { urlRequest, response, body in
            guard let foundationResponse = response.value else { return .success(()) }
            return validation(urlRequest, foundationResponse, body.data)
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

// Response handlers, as in Alamofire. Serializers run in the order in which they were added. When all have run, the
// completions are called in order, each on its queue. Responses are validated only if the request asks for it.
extension DataRequest {
    /// Calls the handler with the body as received.
    @discardableResult
    public func response(
        queue: DispatchQueue? = nil,
        completionHandler: @escaping @Sendable (DataResponse<Data?, CurlewError>) -> Void
    ) -> Self {
        addUnserialized(CallbackDelivery(queue: queue, of: self), completionHandler)
        return self
    }

    /// Calls the handler with the value that the serializer makes from the body.
    @discardableResult
    public func response<Serializer: DataResponseSerializerProtocol>(
        queue: DispatchQueue? = nil,
        responseSerializer: Serializer,
        completionHandler: @escaping @Sendable (DataResponse<Serializer.SerializedObject, CurlewError>) -> Void
    ) -> Self {
        addSerialized(CallbackDelivery(queue: queue, of: self), responseSerializer, completionHandler)
        return self
    }

    /// Calls the handler with the body.
    @discardableResult
    public func responseData(
        queue: DispatchQueue? = nil,
        dataPreprocessor: any DataPreprocessor = DataResponseSerializer.defaultDataPreprocessor,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods,
        completionHandler: @escaping @Sendable (DataResponse<Data, CurlewError>) -> Void
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

    /// Calls the handler with the body as text.
    @discardableResult
    public func responseString(
        queue: DispatchQueue? = nil,
        dataPreprocessor: any DataPreprocessor = StringResponseSerializer.defaultDataPreprocessor,
        encoding: String.Encoding? = nil,
        emptyResponseCodes: Set<Int> = StringResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = StringResponseSerializer.defaultEmptyRequestMethods,
        completionHandler: @escaping @Sendable (DataResponse<String, CurlewError>) -> Void
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

    /// Calls the handler with the value decoded from the body.
    @discardableResult
    public func responseDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self,
        queue: DispatchQueue? = nil,
        dataPreprocessor: any DataPreprocessor = DecodableResponseSerializer<Value>.defaultDataPreprocessor,
        decoder: any DataDecoder = FastJSONDecoder(),
        emptyResponseCodes: Set<Int> = DecodableResponseSerializer<Value>.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DecodableResponseSerializer<Value>.defaultEmptyRequestMethods,
        completionHandler: @escaping @Sendable (DataResponse<Value, CurlewError>) -> Void
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

extension DataRequest {
    func addUnserialized(
        _ delivery: CallbackDelivery,
        _ completion: @escaping @Sendable (DataResponse<Data?, CurlewError>) -> Void
    ) {
        addHandler(delivery, serializes: false, completion) { (monitor, request: DataRequest, response) in
            monitor.request(request, didParseResponse: response, using: nil)
        } make: {
            try $0.unserializedData.get()
        }
    }

    package func addSerialized<Serializer: DataResponseSerializerProtocol>(
        _ delivery: CallbackDelivery,
        _ serializer: Serializer,
        _ completion: @escaping @Sendable (DataResponse<Serializer.SerializedObject, CurlewError>) -> Void
    ) {
        addHandler(delivery, completion) { (monitor, request: DataRequest, response) in
            monitor.request(request, didParseResponse: response, using: serializer)
        } make: {
            try serializer.serialize(
                request: $0.request?.urlRequest, response: $0.response?.value, data: $0.body.contents,
                error: $0.sharedError)
        }
    }
}
