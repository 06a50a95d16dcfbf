public import Curlew
public import Dispatch
public import Foundation

// Stream handlers, as in Alamofire. Every handler is called with every chunk as it was received, without any framing,
// and last with the completion.
extension DataStreamRequest {
    /// Calls the handler with every chunk.
    @discardableResult
    public func responseStream(
        on queue: DispatchQueue? = nil,
        stream: @escaping Handler<Data, Never>
    ) -> Self {
        consume(delivery(on: queue), stream) { .success($0) }
    }

    /// Calls the handler with the value that the serializer makes from every chunk.
    @discardableResult
    public func responseStream<Serializer: DataStreamSerializer>(
        using serializer: Serializer,
        on queue: DispatchQueue? = nil,
        stream: @escaping Handler<Serializer.SerializedObject, CurlewError>
    ) -> Self {
        consume(serializer, delivery(on: queue), stream)
    }

    @discardableResult
    func consume<Serializer: DataStreamSerializer>(
        _ serializer: Serializer,
        _ delivery: CallbackDelivery,
        backlog: StreamBacklog? = nil,
        _ stream: @escaping Handler<Serializer.SerializedObject, CurlewError>
    ) -> Self {
        consume(delivery, backlog: backlog, stream) { [weak self] chunk in
            let result = Self.serialized { try serializer.serialize(chunk) }
            if let self { self.parsed(result, of: chunk) }
            return result
        }
    }

    /// Calls the handler with every chunk as text. Invalid UTF-8 is replaced.
    @discardableResult
    public func responseStreamString(
        on queue: DispatchQueue? = nil,
        stream: @escaping Handler<String, Never>
    ) -> Self {
        consume(delivery(on: queue), stream) { [weak self] chunk in
            let text = String(decoding: chunk, as: UTF8.self)
            if let self { self.parsed(.success(text), of: chunk) }
            return .success(text)
        }
    }

    /// Calls the handler with the value decoded from every chunk.
    @discardableResult
    public func responseStreamDecodable<T: Decodable & Sendable>(
        of type: T.Type = T.self,
        on queue: DispatchQueue? = nil,
        using decoder: any DataDecoder = FastJSONDecoder(),
        preprocessor: any DataPreprocessor = PassthroughPreprocessor(),
        stream: @escaping Handler<T, CurlewError>
    ) -> Self {
        responseStream(
            using: DecodableStreamSerializer<T>(decoder: decoder, dataPreprocessor: preprocessor),
            on: queue,
            stream: stream
        )
    }

    @discardableResult
    func consume<Success: Sendable, Failure: Error>(
        _ delivery: CallbackDelivery,
        backlog: StreamBacklog? = nil,
        _ handler: @escaping Handler<Success, Failure>,
        _ serialize: @escaping @Sendable (Data) -> Result<Success, Failure>
    ) -> Self {
        let token = CancellationToken(request: self)
        return observe(delivery, backlog: backlog) { chunk in
            let result = serialize(chunk)
            return {
                do {
                    try handler(Stream(event: .stream(result), token: token))
                } catch {
                    token.request?.handlerFailed(error)
                }
            }
        } complete: { outcome in
            let completion = Completion(
                request: outcome.request,
                response: outcome.response,
                metrics: outcome.metrics,
                error: outcome.error
            )
            // The response is final, so an error that the handler throws here has no effect.
            try? handler(Stream(event: .complete(completion), token: token))
        }
    }
}
